//! Products and solves with special matrices: symmetric, triangular, diagonal; sums of matrices.
//! Their price is that of a plain product with as many operations.

use crate::check::{choice, leading, left, present, size, step, transposed};
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use ghost_blas::{ComputeType, Cublas, DataType, Error, Gemm, Matrix, Ptr, first_pointers, kernel};

family! {
    symm (handle: Handle, side: i32, uplo: i32, m: I, n: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, b: Ptr<T>, ldb: I,
          beta: Ptr<T>, c: Ptr<T>, ldc: I) {
        f32: cublasSsymm_v2 cublasSsymm_v2_64;
        f64: cublasDsymm_v2 cublasDsymm_v2_64;
        Complex32: cublasCsymm_v2 cublasCsymm_v2_64;
        Complex64: cublasZsymm_v2 cublasZsymm_v2_64;
        Complex32: cublasChemm_v2 cublasChemm_v2_64;
        Complex64: cublasZhemm_v2 cublasZhemm_v2_64;
    }
    trsm (handle: Handle, side: i32, uplo: i32, trans: i32, diag: i32, m: I, n: I, alpha: Ptr<T>, a: Ptr<T>, lda: I,
          b: Ptr<T>, ldb: I) {
        f32: cublasStrsm_v2 cublasStrsm_v2_64;
        f64: cublasDtrsm_v2 cublasDtrsm_v2_64;
        Complex32: cublasCtrsm_v2 cublasCtrsm_v2_64;
        Complex64: cublasZtrsm_v2 cublasZtrsm_v2_64;
    }
    trsm_batched (handle: Handle, side: i32, uplo: i32, trans: i32, diag: i32, m: I, n: I, alpha: Ptr<T>,
                  a: Ptr<*const T>, lda: I, b: Ptr<*const T>, ldb: I, batch: I) {
        f32: cublasStrsmBatched cublasStrsmBatched_64;
        f64: cublasDtrsmBatched cublasDtrsmBatched_64;
        Complex32: cublasCtrsmBatched cublasCtrsmBatched_64;
        Complex64: cublasZtrsmBatched cublasZtrsmBatched_64;
    }
    trmm (handle: Handle, side: i32, uplo: i32, trans: i32, diag: i32, m: I, n: I, alpha: Ptr<T>, a: Ptr<T>, lda: I,
          b: Ptr<T>, ldb: I, c: Ptr<T>, ldc: I) {
        f32: cublasStrmm_v2 cublasStrmm_v2_64;
        f64: cublasDtrmm_v2 cublasDtrmm_v2_64;
        Complex32: cublasCtrmm_v2 cublasCtrmm_v2_64;
        Complex64: cublasZtrmm_v2 cublasZtrmm_v2_64;
    }
    geam (handle: Handle, transa: i32, transb: i32, m: I, n: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, beta: Ptr<T>,
          b: Ptr<T>, ldb: I, c: Ptr<T>, ldc: I) {
        f32: cublasSgeam cublasSgeam_64;
        f64: cublasDgeam cublasDgeam_64;
        Complex32: cublasCgeam cublasCgeam_64;
        Complex64: cublasZgeam cublasZgeam_64;
    }
    dgmm (handle: Handle, side: i32, m: I, n: I, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I, c: Ptr<T>, ldc: I) {
        f32: cublasSdgmm cublasSdgmm_64;
        f64: cublasDdgmm cublasDdgmm_64;
        Complex32: cublasCdgmm cublasCdgmm_64;
        Complex64: cublasZdgmm cublasZdgmm_64;
    }
}

/// An output matrix of columns `ld` elements apart.
pub fn columns<T>(matrix: Ptr<T>, kind: DataType, rows: u64, columns: u64, ld: u64) -> Matrix {
    Matrix { address: matrix.address(), kind, minor: rows, major: columns, ld, batch: 1, stride: 0 }
}

/// The plain product with as many operations, writing `output`.
pub fn product(
    context: &Context,
    kind: DataType,
    compute: ComputeType,
    mnk: [u64; 3],
    output: Matrix,
) -> Result<Gemm, Error> {
    let input = kind.priced().ok_or(Error::NotSupported)?;
    let arithmetic = context.effective(compute).arithmetic(input).ok_or(Error::NotSupported)?;
    let [m, n, k] = mnk;
    Ok(Gemm { m, n, k, batch: output.batch, input, arithmetic, output })
}

fn symm<T: Element, I: Into<i64>>(
    handle: Handle,
    side: i32,
    uplo: i32,
    m: I,
    n: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    b: Ptr<T>,
    ldb: I,
    beta: Ptr<T>,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    choice(uplo).and(alpha.check()).and(beta.check())?;
    let (is_left, m, n) = (left(side)?, size(m)?, size(n)?);
    let k = if is_left { m } else { n };
    leading(lda, k).and(leading(ldb, m))?;
    let ldc = leading(ldc, m)?;
    present(m > 0 && n > 0, &[a.address(), b.address(), c.address()])?;
    let output = columns(c, T::KIND, m, n, ldc);
    context.run(product(context, T::KIND, T::COMPUTE, [m, n, k], output)?.operation())
}

/// The checked shape of a call with a triangular matrix.
struct Triangle {
    m: u64,
    n: u64,
    /// Rows of the triangle.
    k: u64,
    ldb: u64,
}

impl Triangle {
    fn check(options: [i32; 4], m: i64, n: i64, lda: i64, ldb: i64) -> Result<Triangle, Error> {
        let [side, uplo, trans, diag] = options;
        choice(uplo).and(choice(diag))?;
        transposed(trans)?;
        let (m, n) = (size(m)?, size(n)?);
        let k = if left(side)? { m } else { n };
        leading(lda, k)?;
        Ok(Triangle { m, n, k, ldb: leading(ldb, m)? })
    }

    /// A triangle is half a square: half as deep.
    fn mnk(&self) -> [u64; 3] {
        [self.m, self.n, self.k.div_ceil(2)]
    }
}

fn trsm<T: Element, I: Into<i64>>(
    handle: Handle,
    side: i32,
    uplo: i32,
    trans: i32,
    diag: i32,
    m: I,
    n: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    b: Ptr<T>,
    ldb: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check()?;
    let shape = Triangle::check([side, uplo, trans, diag], m.into(), n.into(), lda.into(), ldb.into())?;
    present(shape.m > 0 && shape.n > 0, &[a.address(), b.address()])?;
    let output = columns(b, T::KIND, shape.m, shape.n, shape.ldb);
    context.run(product(context, T::KIND, T::COMPUTE, shape.mnk(), output)?.operation())
}

fn trsm_batched<T: Element, I: Into<i64>>(
    handle: Handle,
    side: i32,
    uplo: i32,
    trans: i32,
    diag: i32,
    m: I,
    n: I,
    alpha: Ptr<T>,
    a: Ptr<*const T>,
    lda: I,
    b: Ptr<*const T>,
    ldb: I,
    batch: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check()?;
    let shape = Triangle::check([side, uplo, trans, diag], m.into(), n.into(), lda.into(), ldb.into())?;
    let batch = size(batch)?;
    present(shape.m > 0 && shape.n > 0 && batch > 0, &[a.address(), b.address()])?;
    let one = columns(b, T::KIND, shape.m, shape.n, shape.ldb);
    let output = Matrix { address: 0, batch, ..one };
    let Some(operation) = product(context, T::KIND, T::COMPUTE, shape.mnk(), output)?.operation() else {
        return Ok(());
    };
    let ranges = first_pointers(b.address(), batch).map(|address| Matrix { address, ..one }.range());
    let written = ranges.into_iter().flatten();
    context.run(Some(written.fold(operation, |operation, range| operation.writes(range.address, range.bytes))))
}

fn trmm<T: Element, I: Into<i64>>(
    handle: Handle,
    side: i32,
    uplo: i32,
    trans: i32,
    diag: i32,
    m: I,
    n: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    b: Ptr<T>,
    ldb: I,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check()?;
    let shape = Triangle::check([side, uplo, trans, diag], m.into(), n.into(), lda.into(), ldb.into())?;
    let ldc = leading(ldc, shape.m)?;
    present(shape.m > 0 && shape.n > 0, &[a.address(), b.address(), c.address()])?;
    let output = columns(c, T::KIND, shape.m, shape.n, ldc);
    context.run(product(context, T::KIND, T::COMPUTE, shape.mnk(), output)?.operation())
}

fn geam<T: Element, I: Into<i64>>(
    handle: Handle,
    transa: i32,
    transb: i32,
    m: I,
    n: I,
    alpha: Ptr<T>,
    _a: Ptr<T>,
    lda: I,
    beta: Ptr<T>,
    _b: Ptr<T>,
    ldb: I,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let (m, n) = (size(m)?, size(n)?);
    leading(lda, if transposed(transa)? { n } else { m })?;
    leading(ldb, if transposed(transb)? { n } else { m })?;
    let ldc = leading(ldc, m)?;
    // A null A or B is allowed where its factor is zero; factors are not read here.
    present(m > 0 && n > 0, &[c.address()])?;
    elementwise(context, T::KIND, 2, columns(c, T::KIND, m, n, ldc))
}

fn dgmm<T: Element, I: Into<i64>>(
    handle: Handle,
    side: i32,
    m: I,
    n: I,
    a: Ptr<T>,
    lda: I,
    x: Ptr<T>,
    incx: I,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let (_, m, n) = (left(side)?, size(m)?, size(n)?);
    leading(lda, m).and(step(incx).map(|_| 0))?;
    let ldc = leading(ldc, m)?;
    present(m > 0 && n > 0, &[a.address(), x.address(), c.address()])?;
    elementwise(context, T::KIND, 1, columns(c, T::KIND, m, n, ldc))
}

/// A kernel that reads `inputs` matrices of the output's shape.
fn elementwise(context: &Context, kind: DataType, inputs: u64, output: Matrix) -> Result<(), Error> {
    let Some(range) = output.range() else { return Ok(()) };
    let elements = output.minor.saturating_mul(output.major);
    let bytes = kind.bytes(elements);
    let operation = kernel(c"cublas_elementwise", kind, [inputs * bytes, bytes, inputs * elements]);
    context.run(Some(operation.writes(range.address, range.bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangular_solve_costs_half_a_square_product() {
        let shape = Triangle::check([0, 0, 0, 0], 64, 10, 64, 64).expect("good arguments");
        assert_eq!(shape.mnk(), [64, 10, 32]);
        let right = Triangle::check([1, 1, 2, 1], 64, 10, 10, 64).expect("good arguments");
        assert_eq!(right.mnk(), [64, 10, 5]);
    }

    #[test]
    fn a_triangle_wider_than_its_leading_dimension_is_refused() {
        assert_eq!(Triangle::check([0, 0, 0, 0], 64, 10, 63, 64).err(), Some(Error::InvalidValue));
        assert_eq!(Triangle::check([0, 2, 0, 0], 64, 10, 64, 64).err(), Some(Error::InvalidValue));
        assert_eq!(Triangle::check([0, 0, 0, 0], 64, 10, 64, 63).err(), Some(Error::InvalidValue));
    }
}
