//! Products whose element types are arguments: the `Ex` functions for one pair of matrices.
//! Their plan is `gemm::plan`.

use crate::context::{Context, Handle};
use crate::element::Complex32;
use crate::gemm::{Layout, Operand, Product, run};
use ghost_blas::{ComputeType, Cublas, DataType, Error, Ptr};

family! {
    gemm_ex (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<u8>, a: Ptr<u8>, atype: DataType,
             lda: I, b: Ptr<u8>, btype: DataType, ldb: I, beta: Ptr<u8>, c: Ptr<u8>, ctype: DataType, ldc: I,
             compute: ComputeType, algorithm: i32) {
        f32: cublasGemmEx cublasGemmEx_64;
    }
    gemm_single (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<T>, a: Ptr<u8>,
                 atype: DataType, lda: I, b: Ptr<u8>, btype: DataType, ldb: I, beta: Ptr<T>, c: Ptr<u8>,
                 ctype: DataType, ldc: I) {
        f32: cublasSgemmEx cublasSgemmEx_64;
        Complex32: cublasCgemmEx cublasCgemmEx_64;
        Complex32: cublasCgemm3mEx cublasCgemm3mEx_64;
    }
}

/// Refuses what is no compute type, and types it cannot multiply. The algorithm is a hint; any value is taken.
pub fn check(compute: ComputeType, [a, b, c]: [DataType; 3]) -> Result<(), Error> {
    if !compute.is_known() {
        return Err(Error::InvalidValue);
    }
    if compute.multiplies(a, b, c) { Ok(()) } else { Err(Error::NotSupported) }
}

fn gemm_ex<I: Into<i64>>(
    handle: Handle,
    transa: i32,
    transb: i32,
    m: I,
    n: I,
    k: I,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    atype: DataType,
    lda: I,
    b: Ptr<u8>,
    btype: DataType,
    ldb: I,
    beta: Ptr<u8>,
    c: Ptr<u8>,
    ctype: DataType,
    ldc: I,
    compute: ComputeType,
    _algorithm: i32,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    check(compute, [atype, btype, ctype])?;
    let product = Product {
        transposed: [transa, transb],
        sizes: [m.into(), n.into(), k.into()],
        a: Operand::at(a, atype, lda),
        b: Operand::at(b, btype, ldb),
        c: Operand::at(c, ctype, ldc),
        batch: 1,
        layout: Layout::Strided,
    };
    run(context, &product, compute)
}

fn gemm_single<T, I: Into<i64>>(
    handle: Handle,
    transa: i32,
    transb: i32,
    m: I,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<u8>,
    atype: DataType,
    lda: I,
    b: Ptr<u8>,
    btype: DataType,
    ldb: I,
    beta: Ptr<T>,
    c: Ptr<u8>,
    ctype: DataType,
    ldc: I,
) -> Result<(), Error> {
    let (alpha, beta) = (alpha.bytes(), beta.bytes());
    let compute = ComputeType::F32;
    gemm_ex(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc, compute, -1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_compute_types_and_unsupported_mixes_are_told_apart() {
        let half = [DataType::R_16F; 3];
        assert_eq!(check(ComputeType::F32, half), Ok(()));
        assert_eq!(check(ComputeType(5), half), Err(Error::InvalidValue));
        assert_eq!(check(ComputeType::I32, half), Err(Error::NotSupported));
    }
}
