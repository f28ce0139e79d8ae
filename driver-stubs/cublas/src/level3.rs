//! Products and solves with special matrices: symmetric, triangular, diagonal; sums of matrices.
//! Their price is that of a plain product with as many operations.

use crate::check::{choice, leading, left, present, size, step, transposed};
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use crate::products::check;
use ghost_blas::{ComputeType, Cublas, DataType, Error, Gemm, Matrix, Ptr, first_pointers, kernel};

family! {
    syrk (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, beta: Ptr<T>,
          c: Ptr<T>, ldc: I) {
        f32: cublasSsyrk_v2 cublasSsyrk_v2_64;
        f64: cublasDsyrk_v2 cublasDsyrk_v2_64;
        Complex32: cublasCsyrk_v2 cublasCsyrk_v2_64;
        Complex64: cublasZsyrk_v2 cublasZsyrk_v2_64;
    }
    syrk (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<R>, a: Ptr<T>, lda: I, beta: Ptr<R>,
          c: Ptr<T>, ldc: I) {
        Complex32: cublasCherk_v2 cublasCherk_v2_64;
        Complex64: cublasZherk_v2 cublasZherk_v2_64;
    }
    syrk_ex (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<u8>, a: Ptr<u8>, atype: DataType, lda: I,
             beta: Ptr<u8>, c: Ptr<u8>, ctype: DataType, ldc: I) {
        Complex32: cublasCsyrkEx cublasCsyrkEx_64;
        Complex32: cublasCsyrk3mEx cublasCsyrk3mEx_64;
        Complex32: cublasCherkEx cublasCherkEx_64;
        Complex32: cublasCherk3mEx cublasCherk3mEx_64;
    }
    syr2k (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, b: Ptr<T>, ldb: I,
           beta: Ptr<T>, c: Ptr<T>, ldc: I) {
        f32: cublasSsyr2k_v2 cublasSsyr2k_v2_64;
        f64: cublasDsyr2k_v2 cublasDsyr2k_v2_64;
        Complex32: cublasCsyr2k_v2 cublasCsyr2k_v2_64;
        Complex64: cublasZsyr2k_v2 cublasZsyr2k_v2_64;
    }
    syr2k (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, b: Ptr<T>, ldb: I,
           beta: Ptr<R>, c: Ptr<T>, ldc: I) {
        Complex32: cublasCher2k_v2 cublasCher2k_v2_64;
        Complex64: cublasZher2k_v2 cublasZher2k_v2_64;
    }
    syrkx (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, b: Ptr<T>, ldb: I,
           beta: Ptr<T>, c: Ptr<T>, ldc: I) {
        f32: cublasSsyrkx cublasSsyrkx_64;
        f64: cublasDsyrkx cublasDsyrkx_64;
        Complex32: cublasCsyrkx cublasCsyrkx_64;
        Complex64: cublasZsyrkx cublasZsyrkx_64;
    }
    syrkx (handle: Handle, uplo: i32, trans: i32, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, b: Ptr<T>, ldb: I,
           beta: Ptr<R>, c: Ptr<T>, ldc: I) {
        Complex32: cublasCherkx cublasCherkx_64;
        Complex64: cublasZherkx cublasZherkx_64;
    }
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
fn columns<T>(matrix: Ptr<T>, kind: DataType, rows: u64, columns: u64, ld: u64) -> Matrix {
    Matrix { address: matrix.address(), kind, minor: rows, major: columns, ld, batch: 1, stride: 0 }
}

/// The plain product with as many operations, writing `output`.
fn product(
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

/// n x n of depth k where only a triangle is computed: half as wide. `passes` products are added.
fn rank_k(n: u64, k: u64, passes: u64) -> [u64; 3] {
    [n, n.div_ceil(2), k.saturating_mul(passes)]
}

/// The arguments all rank-k updates have.
struct Update {
    n: u64,
    k: u64,
    ldc: u64,
    /// Elements of a column of A (and B).
    rows: u64,
}

impl Update {
    fn check(uplo: i32, trans: i32, n: i64, k: i64, lda: i64, ldc: i64) -> Result<Update, Error> {
        choice(uplo)?;
        let (is_transposed, n, k) = (transposed(trans)?, size(n)?, size(k)?);
        let rows = if is_transposed { k } else { n };
        leading(lda, rows)?;
        Ok(Update { n, k, ldc: leading(ldc, n)?, rows })
    }
}

fn syrk<T: Element, S, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    n: I,
    k: I,
    alpha: Ptr<S>,
    a: Ptr<T>,
    lda: I,
    beta: Ptr<S>,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    let (alpha, beta, kind) = (alpha.bytes(), beta.bytes(), T::KIND);
    rank_update(handle, uplo, trans, n, k, alpha, a.bytes(), kind, lda, beta, c.bytes(), kind, ldc, T::COMPUTE)
}

fn syrk_ex<I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    n: I,
    k: I,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    atype: DataType,
    lda: I,
    beta: Ptr<u8>,
    c: Ptr<u8>,
    ctype: DataType,
    ldc: I,
) -> Result<(), Error> {
    rank_update(handle, uplo, trans, n, k, alpha, a, atype, lda, beta, c, ctype, ldc, ComputeType::F32)
}

fn rank_update<I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    n: I,
    k: I,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    atype: DataType,
    lda: I,
    beta: Ptr<u8>,
    c: Ptr<u8>,
    ctype: DataType,
    ldc: I,
    compute: ComputeType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    check(compute, [atype, atype, ctype])?;
    let Update { n, k, ldc, .. } = Update::check(uplo, trans, n.into(), k.into(), lda.into(), ldc.into())?;
    present(n > 0, &[c.address()]).and(present(n > 0 && k > 0, &[a.address()]))?;
    let output = columns(c, ctype, n, n, ldc);
    context.run(product(context, atype, compute, rank_k(n, k, 1), output)?.operation())
}

fn syr2k<T: Element, B, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    b: Ptr<T>,
    ldb: I,
    beta: Ptr<B>,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    rank_2k(
        handle,
        uplo,
        trans,
        [n.into(), k.into()],
        [a, b, c],
        [lda.into(), ldb.into(), ldc.into()],
        [alpha.bytes(), beta.bytes()],
        2,
    )
}

fn syrkx<T: Element, B, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    b: Ptr<T>,
    ldb: I,
    beta: Ptr<B>,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    rank_2k(
        handle,
        uplo,
        trans,
        [n.into(), k.into()],
        [a, b, c],
        [lda.into(), ldb.into(), ldc.into()],
        [alpha.bytes(), beta.bytes()],
        1,
    )
}

/// A rank update from two matrices: `passes` is 2 where the transposed product is added.
fn rank_2k<T: Element>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    [n, k]: [i64; 2],
    [a, b, c]: [Ptr<T>; 3],
    [lda, ldb, ldc]: [i64; 3],
    scalars: [Ptr<u8>; 2],
    passes: u64,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    scalars.iter().try_for_each(Ptr::check)?;
    let Update { n, k, ldc, rows } = Update::check(uplo, trans, n, k, lda, ldc)?;
    leading(ldb, rows)?;
    present(n > 0, &[c.address()]).and(present(n > 0 && k > 0, &[a.address(), b.address()]))?;
    let output = columns(c, T::KIND, n, n, ldc);
    context.run(product(context, T::KIND, T::COMPUTE, rank_k(n, k, passes), output)?.operation())
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

    #[test]
    fn a_rank_update_computes_one_triangle() {
        let update = Update::check(0, 1, 8, 16, 16, 8).expect("good arguments");
        assert_eq!((update.rows, rank_k(update.n, update.k, 2)), (16, [8, 4, 32]));
        assert_eq!(Update::check(0, 1, 8, 16, 15, 8).err(), Some(Error::InvalidValue));
    }
}
