//! A product with a structured sparse operand: a dense one of half the depth.
//! The result reads zero. A search runs the product once and keeps the configuration.

use crate::records::{Handle, Matmul, Plan, handle as live, read};
use crate::{CusparseLt, Error};
use ghost_abi::{In, InList};
use ghost_blas::{Gemm, Ptr, Stream, submit};
use ghost_table::Type;

ghost_abi::rows! { CusparseLt;
    fn cusparseLtMatmul(handle: In<Handle>, plan: In<Plan>, alpha: Ptr<u8>, a: Ptr<u8>, b: Ptr<u8>, beta: Ptr<u8>,
        c: Ptr<u8>, d: Ptr<u8>, workspace: Ptr<u8>, streams: InList<Stream>, count: i32) => matmul;
    fn cusparseLtMatmulSearch(handle: In<Handle>, plan: In<Plan>, alpha: Ptr<u8>, a: Ptr<u8>, b: Ptr<u8>,
        beta: Ptr<u8>, c: Ptr<u8>, d: Ptr<u8>, workspace: Ptr<u8>, streams: InList<Stream>, count: i32) => matmul;
}

fn matmul(
    handle: In<Handle>,
    plan: In<Plan>,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    b: Ptr<u8>,
    beta: Ptr<u8>,
    c: Ptr<u8>,
    d: Ptr<u8>,
    _workspace: Ptr<u8>,
    streams: InList<Stream>,
    count: i32,
) -> Result<(), Error> {
    live(&handle)?;
    let plan = read(&plan)?;
    for pointer in [alpha, a, b, beta, c, d] {
        pointer.check()?;
    }
    let stream = if count > 0 { streams.at(0)? } else { Stream::default() };
    match product(&plan.matmul, d.address())?.operation() {
        Some(operation) => Ok(submit(stream, &operation)?),
        None => Ok(()),
    }
}

/// Sparse tensor cores skip half of the depth at the rate of dense ones.
fn product(matmul: &Matmul, d: u64) -> Result<Gemm, Error> {
    let ([m, k], [_, n]) = (matmul.a.shape(matmul.opa)?, matmul.b.shape(matmul.opb)?);
    let input = matmul.a.data_type().priced().unwrap_or(Type::F16);
    // Single precision has sparse tensor cores as TF32 only.
    let arithmetic = if input == Type::F32 { Type::Tf32 } else { input };
    let batch = matmul.d.batch.max(1) as u64;
    Ok(Gemm { m, n, k: k.div_ceil(2), batch, input, arithmetic, output: matmul.d.place(d) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::tests::{matrix, product as described};

    #[test]
    fn a_sparse_product_has_half_the_depth() {
        let matmul = described(matrix(64, 32, 1), matrix(32, 48, 0), matrix(64, 48, 0)).expect("a product");
        let gemm = product(&matmul, 4096).expect("a product");
        assert_eq!((gemm.m, gemm.n, gemm.k, gemm.arithmetic), (64, 48, 16, Type::F16));
        assert_eq!(gemm.output.range().map(|range| range.bytes), Some(64 * 48 * 2));
    }
}
