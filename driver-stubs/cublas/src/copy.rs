//! Vectors and matrices to and from device memory: libcuda's own copies, so that small ones keep their bytes.
//! It follows no pointer.

use crate::check::{leading, size, step};
use ghost_blas::{Cublas, Error, Ptr, Stream, copy_rows};

family! {
    vector (n: I, element_bytes: I, x: Ptr<u8>, incx: I, y: Ptr<u8>, incy: I) {
        f32: cublasSetVector cublasSetVector_64;
        f32: cublasGetVector cublasGetVector_64;
    }
    vector_async (n: I, element_bytes: I, x: Ptr<u8>, incx: I, y: Ptr<u8>, incy: I, stream: Stream) {
        f32: cublasSetVectorAsync cublasSetVectorAsync_64;
        f32: cublasGetVectorAsync cublasGetVectorAsync_64;
    }
    matrix (rows: I, columns: I, element_bytes: I, a: Ptr<u8>, lda: I, b: Ptr<u8>, ldb: I) {
        f32: cublasSetMatrix cublasSetMatrix_64;
        f32: cublasGetMatrix cublasGetMatrix_64;
    }
    matrix_async (rows: I, columns: I, element_bytes: I, a: Ptr<u8>, lda: I, b: Ptr<u8>, ldb: I, stream: Stream) {
        f32: cublasSetMatrixAsync cublasSetMatrixAsync_64;
        f32: cublasGetMatrixAsync cublasGetMatrixAsync_64;
    }
}

/// Runs of bytes: how many, how long, and from one to the next at the source and the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Runs {
    count: u64,
    bytes: u64,
    pitches: [u64; 2],
}

/// A vector is one run where its elements touch, else as many runs as elements.
fn vector_runs(n: i64, element_bytes: i64, incx: i64, incy: i64) -> Result<Runs, Error> {
    let (n, width) = (size(n)?, size(element_bytes)?);
    let (incx, incy) = (size(step(incx)?)?, size(step(incy)?)?);
    if width == 0 {
        return Err(Error::InvalidValue);
    }
    Ok(match (incx, incy) {
        (1, 1) => Runs { count: n.min(1), bytes: n.saturating_mul(width), pitches: [n.saturating_mul(width); 2] },
        _ => Runs { count: n, bytes: width, pitches: [incx, incy].map(|step| step.saturating_mul(width)) },
    })
}

fn matrix_runs(rows: i64, columns: i64, element_bytes: i64, lda: i64, ldb: i64) -> Result<Runs, Error> {
    let (rows, columns, width) = (size(rows)?, size(columns)?, size(element_bytes)?);
    let pitches = [leading(lda, rows)?, leading(ldb, rows)?].map(|ld| ld.saturating_mul(width));
    if width == 0 {
        return Err(Error::InvalidValue);
    }
    Ok(Runs { count: columns, bytes: rows.saturating_mul(width), pitches })
}

/// Copies; without a stream it returns when the copy is done.
fn transfer(runs: Runs, from: Ptr<u8>, to: Ptr<u8>, stream: Option<Stream>) -> Result<(), Error> {
    if runs.count == 0 || runs.bytes == 0 {
        return Ok(());
    }
    from.check().and(to.check())?;
    copy_rows([from.address(), to.address()], runs.pitches, runs.bytes, runs.count, stream)
}

fn vector<I: Into<i64>>(n: I, bytes: I, x: Ptr<u8>, incx: I, y: Ptr<u8>, incy: I) -> Result<(), Error> {
    transfer(vector_runs(n.into(), bytes.into(), incx.into(), incy.into())?, x, y, None)
}

fn vector_async<I: Into<i64>>(
    n: I,
    bytes: I,
    x: Ptr<u8>,
    incx: I,
    y: Ptr<u8>,
    incy: I,
    stream: Stream,
) -> Result<(), Error> {
    transfer(vector_runs(n.into(), bytes.into(), incx.into(), incy.into())?, x, y, Some(stream))
}

fn matrix<I: Into<i64>>(rows: I, columns: I, bytes: I, a: Ptr<u8>, lda: I, b: Ptr<u8>, ldb: I) -> Result<(), Error> {
    transfer(matrix_runs(rows.into(), columns.into(), bytes.into(), lda.into(), ldb.into())?, a, b, None)
}

fn matrix_async<I: Into<i64>>(
    rows: I,
    columns: I,
    bytes: I,
    a: Ptr<u8>,
    lda: I,
    b: Ptr<u8>,
    ldb: I,
    stream: Stream,
) -> Result<(), Error> {
    transfer(matrix_runs(rows.into(), columns.into(), bytes.into(), lda.into(), ldb.into())?, a, b, Some(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_vector_is_one_run_and_a_strided_one_many() {
        assert_eq!(vector_runs(10, 4, 1, 1), Ok(Runs { count: 1, bytes: 40, pitches: [40, 40] }));
        assert_eq!(vector_runs(10, 4, 1, 3), Ok(Runs { count: 10, bytes: 4, pitches: [4, 12] }));
    }

    #[test]
    fn a_matrix_is_a_run_for_each_column() {
        assert_eq!(matrix_runs(3, 5, 8, 4, 3), Ok(Runs { count: 5, bytes: 24, pitches: [32, 24] }));
        assert_eq!(matrix_runs(3, 5, 8, 2, 3), Err(Error::InvalidValue));
        assert_eq!(vector_runs(3, 0, 1, 1), Err(Error::InvalidValue));
    }
}
