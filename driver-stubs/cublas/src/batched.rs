//! Batches of products: a stride apart, or behind arrays of pointers.
//! Their plan is `gemm::plan`.

use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element, Half};
use crate::gemm::{Layout, Operand, Product, run};
use crate::products::check;
use ghost_blas::{ComputeType, Cublas, DataType, Error, Ptr};

family! {
    strided (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I,
             stride_a: i64, b: Ptr<T>, ldb: I, stride_b: i64, beta: Ptr<T>, c: Ptr<T>, ldc: I, stride_c: i64,
             batch: I) {
        f32: cublasSgemmStridedBatched cublasSgemmStridedBatched_64;
        f64: cublasDgemmStridedBatched cublasDgemmStridedBatched_64;
        Complex32: cublasCgemmStridedBatched cublasCgemmStridedBatched_64;
        Complex64: cublasZgemmStridedBatched cublasZgemmStridedBatched_64;
        Half: cublasHgemmStridedBatched cublasHgemmStridedBatched_64;
        Complex32: cublasCgemm3mStridedBatched cublasCgemm3mStridedBatched_64;
    }
    pointers (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<T>, a: Ptr<*const T>, lda: I,
              b: Ptr<*const T>, ldb: I, beta: Ptr<T>, c: Ptr<*const T>, ldc: I, batch: I) {
        f32: cublasSgemmBatched cublasSgemmBatched_64;
        f64: cublasDgemmBatched cublasDgemmBatched_64;
        Complex32: cublasCgemmBatched cublasCgemmBatched_64;
        Complex64: cublasZgemmBatched cublasZgemmBatched_64;
        Half: cublasHgemmBatched cublasHgemmBatched_64;
        Complex32: cublasCgemm3mBatched cublasCgemm3mBatched_64;
    }
    strided_ex (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<u8>, a: Ptr<u8>,
                atype: DataType, lda: I, stride_a: i64, b: Ptr<u8>, btype: DataType, ldb: I, stride_b: i64,
                beta: Ptr<u8>, c: Ptr<u8>, ctype: DataType, ldc: I, stride_c: i64, batch: I, compute: ComputeType,
                algorithm: i32) {
        f32: cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64;
    }
    pointers_ex (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<u8>, a: Ptr<u8>,
                 atype: DataType, lda: I, b: Ptr<u8>, btype: DataType, ldb: I, beta: Ptr<u8>, c: Ptr<u8>,
                 ctype: DataType, ldc: I, batch: I, compute: ComputeType, algorithm: i32) {
        f32: cublasGemmBatchedEx cublasGemmBatchedEx_64;
    }
}

fn strided<T: Element, I: Into<i64>>(
    handle: Handle,
    transa: i32,
    transb: i32,
    m: I,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    stride_a: i64,
    b: Ptr<T>,
    ldb: I,
    stride_b: i64,
    beta: Ptr<T>,
    c: Ptr<T>,
    ldc: I,
    stride_c: i64,
    batch: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let product = Product {
        transposed: [transa, transb],
        sizes: [m.into(), n.into(), k.into()],
        a: Operand::of(a, lda).every(stride_a),
        b: Operand::of(b, ldb).every(stride_b),
        c: Operand::of(c, ldc).every(stride_c),
        batch: batch.into(),
        layout: Layout::Strided,
    };
    run(context, &product, T::COMPUTE)
}

fn pointers<T: Element, I: Into<i64>>(
    handle: Handle,
    transa: i32,
    transb: i32,
    m: I,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<*const T>,
    lda: I,
    b: Ptr<*const T>,
    ldb: I,
    beta: Ptr<T>,
    c: Ptr<*const T>,
    ldc: I,
    batch: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let product = Product {
        transposed: [transa, transb],
        sizes: [m.into(), n.into(), k.into()],
        a: Operand::at(a.bytes(), T::KIND, lda),
        b: Operand::at(b.bytes(), T::KIND, ldb),
        c: Operand::at(c.bytes(), T::KIND, ldc),
        batch: batch.into(),
        layout: Layout::Pointers,
    };
    run(context, &product, T::COMPUTE)
}

fn strided_ex<I: Into<i64>>(
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
    stride_a: i64,
    b: Ptr<u8>,
    btype: DataType,
    ldb: I,
    stride_b: i64,
    beta: Ptr<u8>,
    c: Ptr<u8>,
    ctype: DataType,
    ldc: I,
    stride_c: i64,
    batch: I,
    compute: ComputeType,
    _algorithm: i32,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    check(compute, [atype, btype, ctype])?;
    let product = Product {
        transposed: [transa, transb],
        sizes: [m.into(), n.into(), k.into()],
        a: Operand::at(a, atype, lda).every(stride_a),
        b: Operand::at(b, btype, ldb).every(stride_b),
        c: Operand::at(c, ctype, ldc).every(stride_c),
        batch: batch.into(),
        layout: Layout::Strided,
    };
    run(context, &product, compute)
}

fn pointers_ex<I: Into<i64>>(
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
    batch: I,
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
        batch: batch.into(),
        layout: Layout::Pointers,
    };
    run(context, &product, compute)
}
