//! What lies in the caller's 512-byte structs: a magic word, and copies of all that a later call needs.
//! It follows no pointer.

use crate::Error;
use ghost_abi::{In, InOut, Plain, record};
use ghost_blas::DataType;

/// Bytes the caller lends for each struct.
const LENT: usize = 512;

/// How many attributes a product has (`cusparseLtMatmulDescAttribute_t`).
pub const ATTRIBUTES: usize = 20;

record! {
    /// `cusparseLtHandle_t`.
    pub struct Handle: 8 bytes { pub magic: u64 }
}

record! {
    /// `cusparseLtMatDescriptor_t`.
    pub struct Matrix: 64 bytes {
        pub magic: u64,
        pub rows: i64,
        pub cols: i64,
        pub ld: i64,
        pub stride: i64,
        pub kind: i32,
        /// 1 column-major, 2 row-major.
        pub order: i32,
        /// 1 when half of it is zero by structure.
        pub structured: i32,
        pub batch: i32,
        pub alignment: u32,
        pub unused: u32,
    }
}

record! {
    /// `cusparseLtMatmulDescriptor_t`.
    pub struct Matmul: 440 bytes {
        pub magic: u64,
        pub opa: i32,
        pub opb: i32,
        pub compute: i32,
        pub unused: i32,
        pub a: Matrix,
        pub b: Matrix,
        pub c: Matrix,
        pub d: Matrix,
        /// Each value in the low bytes of its word.
        pub attributes: [u64; 20],
    }
}

record! {
    /// `cusparseLtMatmulAlgSelection_t`.
    pub struct Algorithm: 32 bytes {
        pub magic: u64,
        pub config: i32,
        pub iterations: i32,
        pub split_k: i32,
        pub mode: i32,
        pub buffers: i32,
        pub unused: i32,
    }
}

record! {
    /// `cusparseLtMatmulPlan_t`.
    pub struct Plan: 480 bytes { pub magic: u64, pub matmul: Matmul, pub algorithm: Algorithm }
}

const _: () = assert!(size_of::<Plan>() <= LENT && size_of::<Matmul>() <= LENT);

/// A struct that says whether it is one.
pub trait Marked: Plain {
    /// Its first word.
    const MAGIC: u64;

    /// What the first word says.
    fn magic(&self) -> u64;
}

macro_rules! marked {
    ($($kind:ty: $letters:literal;)*) => { $(
        impl Marked for $kind {
            const MAGIC: u64 = u64::from_le_bytes(*$letters);

            fn magic(&self) -> u64 {
                self.magic
            }
        }
    )* };
}

marked! {
    Handle: b"gh.spLt.";
    Matrix: b"gh.spLtm";
    Matmul: b"gh.spLtd";
    Algorithm: b"gh.spLta";
    Plan: b"gh.spLtp";
}

/// A handle that was initialised.
pub fn handle(handle: &In<Handle>) -> Result<(), Error> {
    let live = handle.get().map_err(|_| Error::InvalidValue)?;
    if live.magic == Handle::MAGIC { Ok(()) } else { Err(Error::NotInitialized) }
}

/// The caller's struct, if it is one of this kind.
pub fn read<T: Marked>(place: &In<T>) -> Result<T, Error> {
    Some(place.get()?).filter(|found| found.magic() == T::MAGIC).ok_or(Error::InvalidValue)
}

/// As [`read`], of a struct that will be written.
pub fn read_mut<T: Marked>(place: &InOut<T>) -> Result<T, Error> {
    Some(place.get()?).filter(|found| found.magic() == T::MAGIC).ok_or(Error::InvalidValue)
}

impl Matrix {
    /// Its element type.
    pub fn data_type(&self) -> DataType {
        DataType(self.kind)
    }

    /// Rows and columns as the operation sees them.
    pub fn shape(&self, operation: i32) -> Result<[u64; 2], Error> {
        let [rows, cols] = [self.rows, self.cols].map(|size| size.max(0) as u64);
        match operation {
            0 => Ok([rows, cols]),
            1 | 2 => Ok([cols, rows]),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        let elements = (self.rows.max(0) as u64).saturating_mul(self.cols.max(0) as u64);
        self.data_type().bytes(elements.saturating_mul(self.batch.max(1) as u64))
    }

    /// Bytes when half is left out: half of the elements, and two bits that place each of them.
    pub fn compressed_bytes(&self) -> u64 {
        let elements = (self.rows.max(0) as u64).saturating_mul(self.cols.max(0) as u64);
        (self.bytes() / 2).saturating_add(elements.saturating_mul(self.batch.max(1) as u64) / 8)
    }

    /// Where it lies when it begins at `address`.
    pub fn place(&self, address: u64) -> ghost_blas::Matrix {
        let [rows, cols] = [self.rows, self.cols].map(|size| size.max(0) as u64);
        let (minor, major) = if self.order == 2 { (cols, rows) } else { (rows, cols) };
        let (ld, batch) = (self.ld.max(0) as u64, self.batch.max(1) as u64);
        ghost_blas::Matrix { address, kind: self.data_type(), minor, major, ld, batch, stride: self.stride }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_matrix_has_nine_sixteenths_in_half_precision_and_ten_in_bytes() {
        let of = |kind| Matrix { rows: 128, cols: 128, ld: 128, kind, batch: 1, ..Matrix::zeroed() };
        let half = of(2);
        assert_eq!((half.bytes(), half.compressed_bytes()), (128 * 128 * 2, 128 * 128 * 2 * 9 / 16));
        let byte = of(3);
        assert_eq!((byte.bytes(), byte.compressed_bytes()), (128 * 128, 128 * 128 * 10 / 16));
    }
}
