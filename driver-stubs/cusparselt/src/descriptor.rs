//! The handle, matrices and products, and their attributes.
//! It plans no operation.

use crate::records::{ATTRIBUTES, Handle, Marked, Matmul, Matrix, handle as live, read, read_mut};
use crate::{CusparseLt, Error};
use ghost_abi::{In, InOut, Out, Plain};
use ghost_blas::{DataType, Ptr, start_driver};

ghost_abi::rows! { CusparseLt;
    fn cusparseLtInit(handle: Out<Handle>) => init;
    fn cusparseLtDestroy(handle: InOut<Handle>) => destroy;
    fn cusparseLtDenseDescriptorInit(handle: In<Handle>, matrix: Out<Matrix>, rows: i64, cols: i64, ld: i64,
        alignment: u32, kind: DataType, order: i32) => dense;
    fn cusparseLtStructuredDescriptorInit(handle: In<Handle>, matrix: Out<Matrix>, rows: i64, cols: i64, ld: i64,
        alignment: u32, kind: DataType, order: i32, sparsity: i32) => structured;
    fn cusparseLtMatDescriptorDestroy(matrix: InOut<Matrix>) => destroy_matrix;
    fn cusparseLtMatDescSetAttribute(handle: In<Handle>, matrix: InOut<Matrix>, attribute: i32, data: Ptr<u8>,
        bytes: usize) => set_matrix_attribute;
    fn cusparseLtMatDescGetAttribute(handle: In<Handle>, matrix: In<Matrix>, attribute: i32, data: Ptr<u8>,
        bytes: usize) => matrix_attribute;
    fn cusparseLtMatmulDescriptorInit(handle: In<Handle>, matmul: Out<Matmul>, opa: i32, opb: i32, a: In<Matrix>,
        b: In<Matrix>, c: In<Matrix>, d: In<Matrix>, compute: i32) => matmul;
    fn cusparseLtMatmulDescSetAttribute(handle: In<Handle>, matmul: InOut<Matmul>, attribute: i32, data: Ptr<u8>,
        bytes: usize) => set_attribute;
    fn cusparseLtMatmulDescGetAttribute(handle: In<Handle>, matmul: In<Matmul>, attribute: i32, data: Ptr<u8>,
        bytes: usize) => attribute;
}

fn init(handle: Out<Handle>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(Handle { magic: Handle::MAGIC })?)
}

fn destroy(handle: InOut<Handle>) -> Result<(), Error> {
    read_mut(&handle).map_err(|_| Error::NotInitialized)?;
    Ok(handle.set(Handle { magic: 0 })?)
}

fn dense(
    handle: In<Handle>,
    matrix: Out<Matrix>,
    rows: i64,
    cols: i64,
    ld: i64,
    alignment: u32,
    kind: DataType,
    order: i32,
) -> Result<(), Error> {
    live(&handle)?;
    Ok(matrix.set(described([rows, cols, ld], alignment, kind, order)?)?)
}

fn structured(
    handle: In<Handle>,
    matrix: Out<Matrix>,
    rows: i64,
    cols: i64,
    ld: i64,
    alignment: u32,
    kind: DataType,
    order: i32,
    sparsity: i32,
) -> Result<(), Error> {
    live(&handle)?;
    if sparsity != 0 {
        return Err(Error::NotSupported);
    }
    Ok(matrix.set(Matrix { structured: 1, ..described([rows, cols, ld], alignment, kind, order)? })?)
}

/// A checked matrix: types with sparse tensor cores, alignment of 16 bytes and more.
fn described([rows, cols, ld]: [i64; 3], alignment: u32, kind: DataType, order: i32) -> Result<Matrix, Error> {
    let run = match order {
        1 => rows,
        2 => cols,
        _ => return Err(Error::InvalidValue),
    };
    if rows < 1 || cols < 1 || ld < run || alignment == 0 || !alignment.is_multiple_of(16) {
        return Err(Error::InvalidValue);
    }
    // float, half, int8, int32, bfloat16, both eight-bit floats, four-bit float
    if !matches!(kind.0, 0 | 2 | 3 | 10 | 14 | 28 | 29 | 33) {
        return Err(Error::NotSupported);
    }
    let magic = Matrix::MAGIC;
    Ok(Matrix { magic, rows, cols, ld, kind: kind.0, order, batch: 1, alignment, ..Matrix::zeroed() })
}

fn destroy_matrix(matrix: InOut<Matrix>) -> Result<(), Error> {
    let found = read_mut(&matrix)?;
    Ok(matrix.set(Matrix { magic: 0, ..found })?)
}

/// A number of four or eight bytes.
pub fn load(data: Ptr<u8>, bytes: usize, wide: bool) -> Result<u64, Error> {
    if bytes != if wide { 8 } else { 4 } {
        return Err(Error::InvalidValue);
    }
    (0..bytes).try_fold(0, |word, at| Ok(word | u64::from(data.load(at)?) << (8 * at)))
}

/// The same, written.
pub fn store(data: Ptr<u8>, bytes: usize, wide: bool, word: u64) -> Result<(), Error> {
    if bytes != if wide { 8 } else { 4 } {
        return Err(Error::InvalidValue);
    }
    data.check()?;
    // SAFETY: not null, and the caller says how many bytes it lends.
    unsafe { std::ptr::copy_nonoverlapping(word.to_le_bytes().as_ptr(), data.address() as *mut u8, bytes) };
    Ok(())
}

fn set_matrix_attribute(
    handle: In<Handle>,
    matrix: InOut<Matrix>,
    attribute: i32,
    data: Ptr<u8>,
    bytes: usize,
) -> Result<(), Error> {
    live(&handle)?;
    let mut found = read_mut(&matrix)?;
    match attribute {
        0 => found.batch = load(data, bytes, false)? as i32,
        1 => found.stride = load(data, bytes, true)? as i64,
        _ => return Err(Error::InvalidValue),
    }
    if found.batch < 1 {
        return Err(Error::InvalidValue);
    }
    Ok(matrix.set(found)?)
}

fn matrix_attribute(
    handle: In<Handle>,
    matrix: In<Matrix>,
    attribute: i32,
    data: Ptr<u8>,
    bytes: usize,
) -> Result<(), Error> {
    live(&handle)?;
    let found = read(&matrix)?;
    match attribute {
        0 => store(data, bytes, false, found.batch as u64),
        1 => store(data, bytes, true, found.stride as u64),
        _ => Err(Error::InvalidValue),
    }
}

fn matmul(
    handle: In<Handle>,
    matmul: Out<Matmul>,
    opa: i32,
    opb: i32,
    a: In<Matrix>,
    b: In<Matrix>,
    c: In<Matrix>,
    d: In<Matrix>,
    compute: i32,
) -> Result<(), Error> {
    live(&handle)?;
    let (a, b, c, d) = (read(&a)?, read(&b)?, read(&c)?, read(&d)?);
    let ([m, k], [inner, n]) = (a.shape(opa)?, b.shape(opb)?);
    let fits = k == inner && d.shape(0)? == [m, n] && c.shape(0)? == [m, n];
    if !fits || !(0..=2).contains(&compute) || a.structured + b.structured != 1 {
        return Err(Error::InvalidValue);
    }
    let magic = Matmul::MAGIC;
    Ok(matmul.set(Matmul { magic, opa, opb, compute, unused: 0, a, b, c, d, attributes: [0; ATTRIBUTES] })?)
}

/// The place of an attribute and whether it is eight bytes wide: a stride or a pointer.
fn place(attribute: i32) -> Result<(usize, bool), Error> {
    let index = usize::try_from(attribute).ok().filter(|&index| index < ATTRIBUTES).ok_or(Error::InvalidValue)?;
    Ok((index, matches!(attribute, 7..=9 | 15..=19)))
}

fn set_attribute(
    handle: In<Handle>,
    matmul: InOut<Matmul>,
    attribute: i32,
    data: Ptr<u8>,
    bytes: usize,
) -> Result<(), Error> {
    live(&handle)?;
    let (index, wide) = place(attribute)?;
    let mut found = read_mut(&matmul)?;
    found.attributes[index] = load(data, bytes, wide)?;
    Ok(matmul.set(found)?)
}

fn attribute(handle: In<Handle>, matmul: In<Matmul>, attribute: i32, data: Ptr<u8>, bytes: usize) -> Result<(), Error> {
    live(&handle)?;
    let (index, wide) = place(attribute)?;
    store(data, bytes, wide, read(&matmul)?.attributes[index])
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A live handle.
    pub fn handle() -> In<Handle> {
        lent(Handle { magic: Handle::MAGIC })
    }

    /// A value that outlives the test.
    pub fn lent<T>(value: T) -> In<T> {
        // SAFETY: the place is leaked.
        unsafe { In::from_raw(Box::leak(Box::new(value))) }
    }

    /// A half precision matrix.
    pub fn matrix(rows: i64, cols: i64, structured: i32) -> Matrix {
        let dense = described([rows, cols, cols], 16, DataType::R_16F, 2).expect("a matrix");
        Matrix { structured, ..dense }
    }

    /// A product of matrices.
    pub fn product(a: Matrix, b: Matrix, d: Matrix) -> Result<Matmul, Error> {
        ghost_abi::ask(|out| matmul(handle(), out, 0, 0, lent(a), lent(b), lent(d), lent(d), 2))
    }

    #[test]
    fn exactly_one_operand_is_sparse_and_shapes_agree() {
        let (a, b, d) = (matrix(64, 32, 1), matrix(32, 48, 0), matrix(64, 48, 0));
        assert!(product(a, b, d).is_ok());
        assert_eq!(product(Matrix { structured: 0, ..a }, b, d).err(), Some(Error::InvalidValue));
        assert_eq!(product(a, matrix(31, 48, 0), d).err(), Some(Error::InvalidValue));
        assert_eq!(product(Matrix { magic: 0, ..a }, b, d).err(), Some(Error::InvalidValue));
    }

    #[test]
    fn an_attribute_is_kept_at_its_width() {
        let mut product = product(matrix(64, 32, 1), matrix(32, 48, 0), matrix(64, 48, 0)).expect("a product");
        let mut bias = 0x1234_5678_9ABC_u64;
        // SAFETY: both outlive the calls.
        let (data, place) = unsafe { (Ptr::from_raw((&raw mut bias).cast()), InOut::from_raw(&raw mut product)) };
        assert_eq!(set_attribute(handle(), place, 8, data, 8), Ok(()));
        // SAFETY: as above.
        let place = unsafe { InOut::from_raw(&raw mut product) };
        assert_eq!(set_attribute(handle(), place, 8, data, 4), Err(Error::InvalidValue));
        assert_eq!(product.attributes[8], 0x1234_5678_9ABC);
    }

    #[test]
    fn an_uninitialised_handle_is_refused() {
        let dead = lent(Handle { magic: 0 });
        let made = ghost_abi::ask(|out| dense(dead, out, 8, 8, 8, 16, DataType::R_16F, 2)).map(|_| ());
        assert_eq!(made, Err(Error::NotInitialized));
        assert!(
            described([8, 8, 8], 8, DataType::R_16F, 2).is_err()
                && described([8, 8, 7], 16, DataType::R_16F, 2).is_err()
        );
    }
}
