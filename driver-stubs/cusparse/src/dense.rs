//! Descriptors of vectors and dense matrices.
//! It plans no operation.

use crate::context::{DnMat, DnVec, SpVec, change, end, give, read, size};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{DataType, Of, Ptr};

ghost_abi::rows! { Cusparse;
    fn cusparseCreateSpVec(vector: Out<Of<SpVec>>, size: i64, nnz: i64, indices: Ptr<u8>, values: Ptr<u8>, index: i32,
        base: i32, kind: DataType) => create_sparse;
    fn cusparseCreateConstSpVec(vector: Out<Of<SpVec>>, size: i64, nnz: i64, indices: Ptr<u8>, values: Ptr<u8>,
        index: i32, base: i32, kind: DataType) => create_sparse;
    fn cusparseDestroySpVec(vector: Of<SpVec>) => destroy_sparse;
    fn cusparseSpVecGet(vector: Of<SpVec>, size: Out<i64>, nnz: Out<i64>, indices: Out<u64>, values: Out<u64>,
        index: Out<i32>, base: Out<i32>, kind: Out<i32>) => get_sparse;
    fn cusparseConstSpVecGet(vector: Of<SpVec>, size: Out<i64>, nnz: Out<i64>, indices: Out<u64>, values: Out<u64>,
        index: Out<i32>, base: Out<i32>, kind: Out<i32>) => get_sparse;
    fn cusparseSpVecGetIndexBase(vector: Of<SpVec>, base: Out<i32>) => sparse_base;
    fn cusparseSpVecGetValues(vector: Of<SpVec>, values: Out<u64>) => sparse_values;
    fn cusparseConstSpVecGetValues(vector: Of<SpVec>, values: Out<u64>) => sparse_values;
    fn cusparseSpVecSetValues(vector: Of<SpVec>, values: Ptr<u8>) => set_sparse_values;
    fn cusparseCreateDnVec(vector: Out<Of<DnVec>>, size: i64, values: Ptr<u8>, kind: DataType) => create_vector;
    fn cusparseCreateConstDnVec(vector: Out<Of<DnVec>>, size: i64, values: Ptr<u8>, kind: DataType) => create_vector;
    fn cusparseDestroyDnVec(vector: Of<DnVec>) => destroy_vector;
    fn cusparseDnVecGet(vector: Of<DnVec>, size: Out<i64>, values: Out<u64>, kind: Out<i32>) => get_vector;
    fn cusparseConstDnVecGet(vector: Of<DnVec>, size: Out<i64>, values: Out<u64>, kind: Out<i32>) => get_vector;
    fn cusparseDnVecGetValues(vector: Of<DnVec>, values: Out<u64>) => vector_values;
    fn cusparseConstDnVecGetValues(vector: Of<DnVec>, values: Out<u64>) => vector_values;
    fn cusparseDnVecSetValues(vector: Of<DnVec>, values: Ptr<u8>) => set_vector_values;
    fn cusparseCreateDnMat(matrix: Out<Of<DnMat>>, rows: i64, cols: i64, ld: i64, values: Ptr<u8>, kind: DataType,
        order: i32) => create_matrix;
    fn cusparseCreateConstDnMat(matrix: Out<Of<DnMat>>, rows: i64, cols: i64, ld: i64, values: Ptr<u8>, kind: DataType,
        order: i32) => create_matrix;
    fn cusparseDestroyDnMat(matrix: Of<DnMat>) => destroy_matrix;
    fn cusparseDnMatGet(matrix: Of<DnMat>, rows: Out<i64>, cols: Out<i64>, ld: Out<i64>, values: Out<u64>,
        kind: Out<i32>, order: Out<i32>) => get_matrix;
    fn cusparseConstDnMatGet(matrix: Of<DnMat>, rows: Out<i64>, cols: Out<i64>, ld: Out<i64>, values: Out<u64>,
        kind: Out<i32>, order: Out<i32>) => get_matrix;
    fn cusparseDnMatGetValues(matrix: Of<DnMat>, values: Out<u64>) => matrix_values;
    fn cusparseConstDnMatGetValues(matrix: Of<DnMat>, values: Out<u64>) => matrix_values;
    fn cusparseDnMatSetValues(matrix: Of<DnMat>, values: Ptr<u8>) => set_matrix_values;
    fn cusparseDnMatSetStridedBatch(matrix: Of<DnMat>, batch: i32, stride: i64) => set_batch;
    fn cusparseDnMatGetStridedBatch(matrix: Of<DnMat>, batch: Out<i32>, stride: Out<i64>) => batch;
}

/// A type that is one.
pub fn known(kind: DataType) -> Result<DataType, Error> {
    kind.bits().map(|_| kind).ok_or(Error::InvalidValue)
}

fn create_sparse(
    vector: Out<Of<SpVec>>,
    length: i64,
    nnz: i64,
    indices: Ptr<u8>,
    values: Ptr<u8>,
    index: i32,
    base: i32,
    kind: DataType,
) -> Result<(), Error> {
    if size(nnz)? > size(length)? || !(1..=3).contains(&index) || !matches!(base, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    let (indices, values, kind) = (indices.address(), values.address(), known(kind)?);
    give(&vector, SpVec { size: length, nnz, indices, values, index, base, kind })
}

fn destroy_sparse(vector: Of<SpVec>) -> Result<(), Error> {
    end(vector)
}

fn get_sparse(
    vector: Of<SpVec>,
    size: Out<i64>,
    nnz: Out<i64>,
    indices: Out<u64>,
    values: Out<u64>,
    index: Out<i32>,
    base: Out<i32>,
    kind: Out<i32>,
) -> Result<(), Error> {
    let vector = read(vector)?;
    size.set(vector.size)?;
    nnz.set(vector.nnz)?;
    indices.set(vector.indices)?;
    values.set(vector.values)?;
    index.set(vector.index)?;
    base.set(vector.base)?;
    Ok(kind.set(vector.kind.0)?)
}

fn sparse_base(vector: Of<SpVec>, base: Out<i32>) -> Result<(), Error> {
    Ok(base.set(read(vector)?.base)?)
}

fn sparse_values(vector: Of<SpVec>, values: Out<u64>) -> Result<(), Error> {
    Ok(values.set(read(vector)?.values)?)
}

fn set_sparse_values(vector: Of<SpVec>, values: Ptr<u8>) -> Result<(), Error> {
    change(vector, |vector| vector.values = values.address())
}

fn create_vector(vector: Out<Of<DnVec>>, length: i64, values: Ptr<u8>, kind: DataType) -> Result<(), Error> {
    size(length)?;
    give(&vector, DnVec { size: length, values: values.address(), kind: known(kind)? })
}

fn destroy_vector(vector: Of<DnVec>) -> Result<(), Error> {
    end(vector)
}

fn get_vector(vector: Of<DnVec>, size: Out<i64>, values: Out<u64>, kind: Out<i32>) -> Result<(), Error> {
    let vector = read(vector)?;
    size.set(vector.size)?;
    values.set(vector.values)?;
    Ok(kind.set(vector.kind.0)?)
}

fn vector_values(vector: Of<DnVec>, values: Out<u64>) -> Result<(), Error> {
    Ok(values.set(read(vector)?.values)?)
}

fn set_vector_values(vector: Of<DnVec>, values: Ptr<u8>) -> Result<(), Error> {
    change(vector, |vector| vector.values = values.address())
}

fn create_matrix(
    matrix: Out<Of<DnMat>>,
    rows: i64,
    cols: i64,
    ld: i64,
    values: Ptr<u8>,
    kind: DataType,
    order: i32,
) -> Result<(), Error> {
    let run = match order {
        1 => size(rows)?,
        2 => size(cols)?,
        _ => return Err(Error::InvalidValue),
    };
    if size(ld)? < run || rows.min(cols) < 0 {
        return Err(Error::InvalidValue);
    }
    let values = values.address();
    give(&matrix, DnMat { rows, cols, ld, values, kind: known(kind)?, order, batch: 1, stride: 0 })
}

fn destroy_matrix(matrix: Of<DnMat>) -> Result<(), Error> {
    end(matrix)
}

fn get_matrix(
    matrix: Of<DnMat>,
    rows: Out<i64>,
    cols: Out<i64>,
    ld: Out<i64>,
    values: Out<u64>,
    kind: Out<i32>,
    order: Out<i32>,
) -> Result<(), Error> {
    let matrix = read(matrix)?;
    rows.set(matrix.rows)?;
    cols.set(matrix.cols)?;
    ld.set(matrix.ld)?;
    values.set(matrix.values)?;
    kind.set(matrix.kind.0)?;
    Ok(order.set(matrix.order)?)
}

fn matrix_values(matrix: Of<DnMat>, values: Out<u64>) -> Result<(), Error> {
    Ok(values.set(read(matrix)?.values)?)
}

fn set_matrix_values(matrix: Of<DnMat>, values: Ptr<u8>) -> Result<(), Error> {
    change(matrix, |matrix| matrix.values = values.address())
}

fn set_batch(matrix: Of<DnMat>, batch: i32, stride: i64) -> Result<(), Error> {
    if batch < 1 {
        return Err(Error::InvalidValue);
    }
    change(matrix, |matrix| (matrix.batch, matrix.stride) = (batch, stride))
}

fn batch(matrix: Of<DnMat>, batch: Out<i32>, stride: Out<i64>) -> Result<(), Error> {
    let matrix = read(matrix)?;
    batch.set(matrix.batch)?;
    Ok(stride.set(matrix.stride)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn a_matrix_is_described_and_lies_where_its_order_says() {
        let of = |ld, order| ask(|out| create_matrix(out, 4, 3, ld, at(4096), DataType::R_32F, order));
        assert!(of(3, 1).is_err() && of(2, 2).is_err() && of(4, 3).is_err());
        let row_major = of(8, 2).expect("a matrix");
        assert_eq!(read(row_major).expect("it").range().map(|range| range.bytes), Some((3 * 8 + 3) * 4));
        assert_eq!((set_batch(row_major, 2, 32), set_batch(row_major, 0, 0)), (Ok(()), Err(Error::InvalidValue)));
        assert_eq!(ask(|stride| ask(|batch_out| batch(row_major, batch_out, stride)).map(|_| ())), Ok(32));
        assert_eq!((destroy_matrix(row_major), destroy_matrix(row_major)), (Ok(()), Err(Error::InvalidValue)));
    }

    #[test]
    fn vectors_keep_their_values() {
        let vector = ask(|out| create_vector(out, 5, at(64), DataType::R_64F)).expect("a vector");
        assert_eq!(set_vector_values(vector, at(128)), Ok(()));
        assert_eq!(ask(|out| vector_values(vector, out)), Ok(128));
        let sparse = |nnz| ask(|out| create_sparse(out, 5, nnz, at(64), at(64), 2, 0, DataType::R_32F)).is_ok();
        assert!(sparse(5) && !sparse(6));
    }
}
