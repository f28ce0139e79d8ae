//! Updates of a symmetric or Hermitian matrix by products of rank k.
//! One triangle is computed: half a product's price.

use crate::check::{choice, leading, present, size, transposed};
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use crate::level3::{columns, product};
use crate::products::check;
use ghost_blas::{ComputeType, Cublas, DataType, Error, Ptr};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_update_computes_one_triangle() {
        let update = Update::check(0, 1, 8, 16, 16, 8).expect("good arguments");
        assert_eq!((update.rows, rank_k(update.n, update.k, 2)), (16, [8, 4, 32]));
        assert_eq!(Update::check(0, 1, 8, 16, 15, 8).err(), Some(Error::InvalidValue));
    }
}
