//! Products of a sparse with a dense operand, sampled products, and changes between sparse and dense storage.
//! Results read zero. A gathered operand counts once for each stored element, as for a pattern without reuse.

use crate::context::{Context, DnMat, DnVec, Handle, SpMat, change, context, read, transposed};
use crate::work::{range, run};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{DataType, Of, Ptr};

ghost_abi::rows! { Cusparse;
    fn cusparseSpMV_bufferSize(handle: Handle, op: i32, alpha: Ptr<u8>, a: Of<SpMat>, x: Of<DnVec>, beta: Ptr<u8>,
        y: Of<DnVec>, compute: DataType, algorithm: i32, bytes: Out<usize>) => spmv_size;
    fn cusparseSpMV_preprocess(handle: Handle, op: i32, alpha: Ptr<u8>, a: Of<SpMat>, x: Of<DnVec>, beta: Ptr<u8>,
        y: Of<DnVec>, compute: DataType, algorithm: i32, buffer: Ptr<u8>) => spmv_check;
    fn cusparseSpMV(handle: Handle, op: i32, alpha: Ptr<u8>, a: Of<SpMat>, x: Of<DnVec>, beta: Ptr<u8>, y: Of<DnVec>,
        compute: DataType, algorithm: i32, buffer: Ptr<u8>) => spmv;
    fn cusparseSpMM_bufferSize(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<DnMat>,
        beta: Ptr<u8>, c: Of<DnMat>, compute: DataType, algorithm: i32, bytes: Out<usize>) => spmm_size;
    fn cusparseSpMM_preprocess(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<DnMat>,
        beta: Ptr<u8>, c: Of<DnMat>, compute: DataType, algorithm: i32, buffer: Ptr<u8>) => spmm_check;
    fn cusparseSpMM(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<DnMat>, beta: Ptr<u8>,
        c: Of<DnMat>, compute: DataType, algorithm: i32, buffer: Ptr<u8>) => spmm;
    fn cusparseSDDMM_bufferSize(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<DnMat>, b: Of<DnMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, bytes: Out<usize>) => sddmm_size;
    fn cusparseSDDMM_preprocess(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<DnMat>, b: Of<DnMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, buffer: Ptr<u8>) => sddmm_check;
    fn cusparseSDDMM(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<DnMat>, b: Of<DnMat>, beta: Ptr<u8>,
        c: Of<SpMat>, compute: DataType, algorithm: i32, buffer: Ptr<u8>) => sddmm;
    fn cusparseSparseToDense_bufferSize(handle: Handle, a: Of<SpMat>, b: Of<DnMat>, algorithm: i32, bytes: Out<usize>)
        => sparse_to_dense_size;
    fn cusparseSparseToDense(handle: Handle, a: Of<SpMat>, b: Of<DnMat>, algorithm: i32, buffer: Ptr<u8>)
        => sparse_to_dense;
    fn cusparseDenseToSparse_bufferSize(handle: Handle, a: Of<DnMat>, b: Of<SpMat>, algorithm: i32, bytes: Out<usize>)
        => dense_to_sparse_size;
    fn cusparseDenseToSparse_analysis(handle: Handle, a: Of<DnMat>, b: Of<SpMat>, algorithm: i32, buffer: Ptr<u8>)
        => dense_to_sparse_analysis;
    fn cusparseDenseToSparse_convert(handle: Handle, a: Of<DnMat>, b: Of<SpMat>, algorithm: i32, buffer: Ptr<u8>)
        => dense_to_sparse;
}

/// Bytes of scratch of a routine over `a`: one offset a row.
fn scratch(a: &SpMat) -> usize {
    (a.rows.max(0) as usize).saturating_mul(size_of::<i32>())
}

/// Refuses operands whose inner sizes differ.
fn agree(pairs: &[(u64, u64)]) -> Result<(), Error> {
    if pairs.iter().all(|(a, b)| a == b) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// The operands of a product with a vector, checked.
fn vector_operands(
    handle: Handle,
    op: i32,
    [alpha, beta]: [Ptr<u8>; 2],
    a: Of<SpMat>,
    x: Of<DnVec>,
    y: Of<DnVec>,
) -> Result<(Context, SpMat, DnVec, DnVec), Error> {
    let context = context(handle)?;
    alpha.check().and(beta.check())?;
    let (a, x, y) = (read(a)?, read(x)?, read(y)?);
    let [rows, cols] = a.shape(transposed(op)?);
    agree(&[(cols, x.size as u64), (rows, y.size as u64)])?;
    Ok((context, a, x, y))
}

fn spmv_size(
    handle: Handle,
    op: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    x: Of<DnVec>,
    beta: Ptr<u8>,
    y: Of<DnVec>,
    _compute: DataType,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (_, a, ..) = vector_operands(handle, op, [alpha, beta], a, x, y)?;
    Ok(bytes.set(scratch(&a))?)
}

fn spmv_check(
    handle: Handle,
    op: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    x: Of<DnVec>,
    beta: Ptr<u8>,
    y: Of<DnVec>,
    _compute: DataType,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    vector_operands(handle, op, [alpha, beta], a, x, y).map(|_| ())
}

fn spmv(
    handle: Handle,
    op: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    x: Of<DnVec>,
    beta: Ptr<u8>,
    y: Of<DnVec>,
    _compute: DataType,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, a, x, y) = vector_operands(handle, op, [alpha, beta], a, x, y)?;
    let nnz = a.nnz.max(0) as u64;
    let written = y.kind.bytes(y.size as u64);
    let gathered = x.kind.bytes(nnz);
    run(&context, c"cusparse_spmv", y.kind, [a.bytes() + gathered, written, 2 * nnz], &[range(y.values, written)])
}

/// The operands of a product with a matrix, checked.
fn matrix_operands(
    handle: Handle,
    [opa, opb]: [i32; 2],
    [alpha, beta]: [Ptr<u8>; 2],
    a: Of<SpMat>,
    b: Of<DnMat>,
    c: Of<DnMat>,
) -> Result<(Context, SpMat, DnMat, DnMat), Error> {
    let context = context(handle)?;
    alpha.check().and(beta.check())?;
    let (a, b, c) = (read(a)?, read(b)?, read(c)?);
    let ([m, k], [inner, n]) = (a.shape(transposed(opa)?), b.shape(transposed(opb)?));
    agree(&[(k, inner), (m, c.rows as u64), (n, c.cols as u64)])?;
    Ok((context, a, b, c))
}

fn spmm_size(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<DnMat>,
    beta: Ptr<u8>,
    c: Of<DnMat>,
    _compute: DataType,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (_, a, ..) = matrix_operands(handle, [opa, opb], [alpha, beta], a, b, c)?;
    Ok(bytes.set(scratch(&a))?)
}

fn spmm_check(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<DnMat>,
    beta: Ptr<u8>,
    c: Of<DnMat>,
    _compute: DataType,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    matrix_operands(handle, [opa, opb], [alpha, beta], a, b, c).map(|_| ())
}

fn spmm(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<DnMat>,
    beta: Ptr<u8>,
    c: Of<DnMat>,
    _compute: DataType,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, a, b, c) = matrix_operands(handle, [opa, opb], [alpha, beta], a, b, c)?;
    let batch = u64::from(c.batch.max(a.batch).max(1).unsigned_abs());
    let products = (a.nnz.max(0) as u64).saturating_mul(c.cols as u64).saturating_mul(batch);
    let written = c.kind.bytes((c.rows as u64).saturating_mul(c.cols as u64).saturating_mul(batch));
    let gathered = b.kind.bytes(products);
    let cost = [a.bytes().saturating_add(gathered), written, products.saturating_mul(2)];
    run(&context, c"cusparse_spmm", c.kind, cost, &[c.range()])
}

/// The operands of a sampled product, checked.
fn sampled_operands(
    handle: Handle,
    [opa, opb]: [i32; 2],
    [alpha, beta]: [Ptr<u8>; 2],
    a: Of<DnMat>,
    b: Of<DnMat>,
    c: Of<SpMat>,
) -> Result<(Context, u64, DnMat, SpMat), Error> {
    let context = context(handle)?;
    alpha.check().and(beta.check())?;
    let (a, b, c) = (read(a)?, read(b)?, read(c)?);
    let ([m, k], [inner, n]) = (a.shape(transposed(opa)?), b.shape(transposed(opb)?));
    agree(&[(k, inner), (m, c.rows as u64), (n, c.cols as u64)])?;
    Ok((context, k, a, c))
}

fn sddmm_size(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<DnMat>,
    b: Of<DnMat>,
    beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (.., c) = sampled_operands(handle, [opa, opb], [alpha, beta], a, b, c)?;
    Ok(bytes.set(scratch(&c))?)
}

fn sddmm_check(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<DnMat>,
    b: Of<DnMat>,
    beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    sampled_operands(handle, [opa, opb], [alpha, beta], a, b, c).map(|_| ())
}

fn sddmm(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<DnMat>,
    b: Of<DnMat>,
    beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, k, a, c) = sampled_operands(handle, [opa, opb], [alpha, beta], a, b, c)?;
    let batch = u64::from(c.batch.max(1).unsigned_abs());
    let products = (c.nnz.max(0) as u64).saturating_mul(k).saturating_mul(batch);
    let written = c.kind.bytes((c.nnz.max(0) as u64).saturating_mul(batch));
    // A row and a column for each element.
    let gathered = a.kind.bytes(products).saturating_mul(2);
    let cost = [c.bytes().saturating_add(gathered), written, products.saturating_mul(2)];
    run(&context, c"cusparse_sddmm", c.kind, cost, &[range(c.pointers[2], written)])
}

/// A sparse and a dense matrix of one shape, and the bytes of the dense one.
fn same_shape(handle: Handle, sparse: Of<SpMat>, dense: Of<DnMat>) -> Result<(Context, SpMat, DnMat, u64), Error> {
    let context = context(handle)?;
    let (sparse, dense) = (read(sparse)?, read(dense)?);
    agree(&[(sparse.rows as u64, dense.rows as u64), (sparse.cols as u64, dense.cols as u64)])?;
    let bytes = dense.kind.bytes((dense.rows as u64).saturating_mul(dense.cols as u64));
    Ok((context, sparse, dense, bytes))
}

fn sparse_to_dense_size(
    handle: Handle,
    a: Of<SpMat>,
    b: Of<DnMat>,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    same_shape(handle, a, b)?;
    Ok(bytes.set(0)?)
}

fn sparse_to_dense(handle: Handle, a: Of<SpMat>, b: Of<DnMat>, _algorithm: i32, _buffer: Ptr<u8>) -> Result<(), Error> {
    let (context, a, b, bytes) = same_shape(handle, a, b)?;
    run(&context, c"cusparse_sparse_to_dense", b.kind, [a.bytes(), bytes, 0], &[b.range()])
}

fn dense_to_sparse_size(
    handle: Handle,
    a: Of<DnMat>,
    b: Of<SpMat>,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (_, b, ..) = same_shape(handle, b, a)?;
    Ok(bytes.set(scratch(&b))?)
}

/// Counts the elements: a matrix that reads zero has none, as `nonzero` finds.
fn dense_to_sparse_analysis(
    handle: Handle,
    a: Of<DnMat>,
    b: Of<SpMat>,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, sparse, dense, bytes) = same_shape(handle, b, a)?;
    change(b, |b| b.nnz = 0)?;
    let offsets = range(sparse.pointers[0], scratch(&sparse) as u64);
    run(&context, c"cusparse_dense_to_sparse", dense.kind, [bytes, scratch(&sparse) as u64, 0], &[offsets])
}

fn dense_to_sparse(handle: Handle, a: Of<DnMat>, b: Of<SpMat>, _algorithm: i32, _buffer: Ptr<u8>) -> Result<(), Error> {
    let (context, sparse, dense, bytes) = same_shape(handle, b, a)?;
    run(&context, c"cusparse_dense_to_sparse", dense.kind, [bytes, sparse.bytes(), 0], &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense;
    use crate::matrix::tests::csr;
    use ghost_abi::ask;

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    fn vector(size: i64) -> Of<DnVec> {
        Of::create(DnVec { size, values: 64, kind: DataType::R_32F })
    }

    #[test]
    fn sizes_that_do_not_agree_are_refused() {
        let handle = Of::create(Context::default());
        let a = csr(10, 20, 30).expect("a matrix");
        let of = |op, x, y| {
            let (x, y) = (vector(x), vector(y));
            ask(|out| spmv_size(handle, op, at(1), a, x, at(1), y, DataType::R_32F, 0, out))
        };
        assert_eq!((of(0, 20, 10), of(1, 10, 20)), (Ok(40), Ok(40)));
        assert_eq!((of(1, 20, 10), of(5, 20, 10)), (Err(Error::InvalidValue), Err(Error::InvalidValue)));
        let nobody =
            ask(|out| spmv_size(Of::null(), 0, at(1), a, vector(20), at(1), vector(10), DataType::R_32F, 0, out));
        assert_eq!(nobody, Err(Error::NotInitialized));
    }

    #[test]
    fn a_dense_matrix_that_reads_zero_has_no_elements() {
        assert_eq!(dense::known(DataType(99)), Err(Error::InvalidValue));
        let b = csr(4, 4, 4).expect("a matrix");
        let a = Of::create(DnMat {
            rows: 4,
            cols: 4,
            ld: 4,
            values: 64,
            kind: DataType::R_32F,
            order: 1,
            batch: 1,
            stride: 0,
        });
        let handle = Of::create(Context::default());
        // There is no driver in a unit test; the count comes first.
        assert_eq!(dense_to_sparse_analysis(handle, a, b, 0, at(0)), Err(Error::NotInitialized));
        assert_eq!(read(b).map(|b| b.nnz), Ok(0));
    }
}
