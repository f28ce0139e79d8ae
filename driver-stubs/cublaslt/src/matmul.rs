//! The matmul itself: one operation on the caller's stream.
//! Its plan is `plan::plan`; the price knows the product, not the epilogue's traffic.

use crate::algorithm::{Algorithm, planned};
use crate::descriptor::Desc;
use crate::descriptors::{Layout, Matmul, batch_mode};
use crate::helper::{Handle, check};
use ghost_blas::{CublasLt, Error, Ptr, Stream, first_pointers, submit};

ghost_abi::rows! { CublasLt;
    fn cublasLtMatmul(handle: Handle, matmul: Desc<Matmul>, alpha: Ptr<u8>, a: Ptr<u8>, alayout: Desc<Layout>, b: Ptr<u8>, blayout: Desc<Layout>, beta: Ptr<u8>, c: Ptr<u8>, clayout: Desc<Layout>, d: Ptr<u8>, dlayout: Desc<Layout>, algorithm: Desc<Algorithm>, workspace: Ptr<u8>, workspace_bytes: usize, stream: Stream) => matmul;
}

/// `CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO`: there is no beta.
const BETA_ZERO: i32 = 3;

fn matmul(
    handle: Handle,
    matmul: Desc<Matmul>,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    alayout: Desc<Layout>,
    b: Ptr<u8>,
    blayout: Desc<Layout>,
    beta: Ptr<u8>,
    _c: Ptr<u8>,
    clayout: Desc<Layout>,
    d: Ptr<u8>,
    dlayout: Desc<Layout>,
    _algorithm: Desc<Algorithm>,
    _workspace: Ptr<u8>,
    _workspace_bytes: usize,
    stream: Stream,
) -> Result<(), Error> {
    check(handle)?;
    // Without C its layout may be missing too: D's serves.
    let clayout = if clayout.is_null() { dlayout } else { clayout };
    let (matmul, plan) = planned(matmul, [alayout, blayout, clayout, dlayout])?;
    alpha.check()?;
    if matmul.pointer_mode != BETA_ZERO {
        beta.check()?;
    }
    let are_pointers = plan.batch_mode == batch_mode::POINTERS;
    let gemm = plan.at(if are_pointers { 0 } else { d.address() });
    let Some(mut operation) = gemm.operation() else { return Ok(()) };
    a.check().and(b.check()).and(d.check())?;
    let first = if are_pointers { first_pointers(d.address(), gemm.batch) } else { [0; 4] };
    let matrices = first.map(|address| ghost_blas::Matrix { address, batch: 1, stride: 0, ..gemm.output }.range());
    for range in plan.beside.into_iter().chain(matrices).flatten() {
        operation = operation.writes(range.address, range.bytes);
    }
    submit(stream, &operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null<T>() -> Ptr<T> {
        // SAFETY: null is never followed.
        unsafe { Ptr::from_raw(std::ptr::null_mut()) }
    }

    #[test]
    fn a_null_handle_comes_first() {
        let matmul_of = Desc::create(Matmul::default());
        let layout = Desc::create(Layout::default());
        let algorithm = Desc::create(Algorithm::default());
        let none = null();
        let answer = matmul(
            Handle::null(),
            matmul_of,
            none,
            none,
            layout,
            none,
            layout,
            none,
            none,
            layout,
            none,
            layout,
            algorithm,
            none,
            0,
            Stream(0),
        );
        assert_eq!(answer, Err(Error::NotInitialized));
    }
}
