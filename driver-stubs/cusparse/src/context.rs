//! What the handles and descriptors of the library keep.
//! It plans no operation.

use crate::Error;
use ghost_blas::{DataType, Kept, Object, Of, Stream, kept};

/// A `cusparseHandle_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    pub stream: Stream,
    /// 0 host, 1 device.
    pub pointer_mode: i32,
}

/// A `cusparseMatDescr_t` of the interface before the generic one.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatDescr {
    pub kind: i32,
    pub fill: i32,
    pub diagonal: i32,
    pub base: i32,
}

/// The info object of a routine that keeps its analysis on the device; nothing is analysed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Info;

/// A sparse vector.
#[derive(Clone, Copy, Debug)]
pub struct SpVec {
    pub size: i64,
    pub nnz: i64,
    pub indices: u64,
    pub values: u64,
    pub index: i32,
    pub base: i32,
    pub kind: DataType,
}

/// A dense vector.
#[derive(Clone, Copy, Debug)]
pub struct DnVec {
    pub size: i64,
    pub values: u64,
    pub kind: DataType,
}

/// A dense matrix.
#[derive(Clone, Copy, Debug)]
pub struct DnMat {
    pub rows: i64,
    pub cols: i64,
    pub ld: i64,
    pub values: u64,
    pub kind: DataType,
    /// 1 column-major, 2 row-major.
    pub order: i32,
    pub batch: i32,
    pub stride: i64,
}

/// A sparse matrix of any format.
#[derive(Clone, Copy, Debug)]
pub struct SpMat {
    /// A `cusparseFormat_t`.
    pub format: i32,
    pub rows: i64,
    pub cols: i64,
    /// Stored elements.
    pub nnz: i64,
    /// Rows and columns of a block; width of an ELL row for blocked ELL.
    pub block: [i64; 2],
    pub ell_cols: i64,
    /// Offsets (or row indices), column indices, values.
    pub pointers: [u64; 3],
    /// `cusparseIndexType_t` of the first two.
    pub index: [i32; 2],
    pub base: i32,
    pub kind: DataType,
    pub fill: i32,
    pub diagonal: i32,
    pub batch: i32,
}

/// A product of two sparse matrices under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spgemm {
    pub products: i64,
}

/// A triangular solve under way; the library has one kind for vectors and one for matrices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spsv;

/// As [`Spsv`], for matrices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spsm;

kept! {
    Context: b"gh.csprs";
    MatDescr: b"gh.csmat";
    Info: b"gh.csinf";
    SpVec: b"gh.csspv";
    DnVec: b"gh.csdnv";
    DnMat: b"gh.csdnm";
    SpMat: b"gh.csspm";
    Spgemm: b"gh.csgem";
    Spsv: b"gh.cssv.";
    Spsm: b"gh.cssm.";
}

/// A handle argument.
pub type Handle = Of<Context>;

/// The context of a handle.
pub fn context(handle: Handle) -> Result<Context, Error> {
    Ok(handle.read()?)
}

/// What a descriptor says; a dead one is an invalid value.
pub fn read<T: Kept + Clone>(descriptor: Of<T>) -> Result<T, Error> {
    descriptor.read().map_err(|_| Error::InvalidValue)
}

/// Changes what a descriptor says.
pub fn change<T: Kept>(descriptor: Of<T>, change: impl FnOnce(&mut T)) -> Result<(), Error> {
    descriptor.with(change).map_err(|_| Error::InvalidValue)
}

/// Ends a descriptor; null is allowed.
pub fn end<T: Kept>(descriptor: Of<T>) -> Result<(), Error> {
    if descriptor.is_null() {
        return Ok(());
    }
    descriptor.destroy().map(|_| ()).map_err(|_| Error::InvalidValue)
}

/// Writes a new descriptor.
pub fn give<T: Kept>(place: &ghost_abi::Out<Of<T>>, value: T) -> Result<(), Error> {
    place.check()?;
    Ok(place.set(ghost_blas::Handle::<Object<T>>::create(value))?)
}

/// A size: not negative.
pub fn size(value: impl Into<i64>) -> Result<u64, Error> {
    u64::try_from(value.into()).map_err(|_| Error::InvalidValue)
}

/// `cusparseOperation_t`: whether the operand is transposed.
pub fn transposed(operation: i32) -> Result<bool, Error> {
    match operation {
        0 => Ok(false),
        1 | 2 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

impl SpMat {
    /// Bytes of an index of a `cusparseIndexType_t`.
    fn index_bytes(index: i32) -> u64 {
        match index {
            1 => 2,
            3 => 8,
            _ => 4,
        }
    }

    /// Bytes of all that is stored: indices, offsets and values of every batch.
    pub fn bytes(&self) -> u64 {
        let [offsets, indices] = self.index.map(SpMat::index_bytes);
        let [rows, nnz, cols] = [self.rows, self.nnz, self.cols].map(|size| size.max(0) as u64);
        let area = (self.block[0].max(1) * self.block[1].max(1)) as u64;
        let outer = match self.format {
            2 => (cols + 1) * offsets,
            3 => nnz * offsets,
            _ => (rows / self.block[0].max(1) as u64 + 1) * offsets,
        };
        (outer + nnz / area * indices + self.kind.bytes(nnz)) * self.batch.max(1) as u64
    }

    /// Rows and columns as the operation sees them.
    pub fn shape(&self, transposed: bool) -> [u64; 2] {
        let [rows, cols] = [self.rows, self.cols].map(|size| size.max(0) as u64);
        if transposed { [cols, rows] } else { [rows, cols] }
    }
}

impl DnMat {
    /// Rows and columns as the operation sees them.
    pub fn shape(&self, transposed: bool) -> [u64; 2] {
        let [rows, cols] = [self.rows, self.cols].map(|size| size.max(0) as u64);
        if transposed { [cols, rows] } else { [rows, cols] }
    }

    /// Where it lies.
    pub fn range(&self) -> Option<ghost_table::Range> {
        let [rows, cols] = self.shape(self.order == 2);
        let (ld, batch) = (self.ld.max(0) as u64, self.batch.max(1) as u64);
        ghost_blas::Matrix {
            address: self.values,
            kind: self.kind,
            minor: rows,
            major: cols,
            ld,
            batch,
            stride: self.stride,
        }
        .range()
    }
}
