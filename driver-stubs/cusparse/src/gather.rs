//! Sparse vectors with dense ones: products, sums, gather, scatter and rotation.
//! Results read zero; a host result is written when the stream is done.

use crate::context::{Context, DnVec, Handle, SpVec, context, read};
use crate::work::{range, run};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{DataType, Of, Ptr, wait};

ghost_abi::rows! { Cusparse;
    fn cusparseAxpby(handle: Handle, alpha: Ptr<u8>, x: Of<SpVec>, beta: Ptr<u8>, y: Of<DnVec>) => axpby;
    fn cusparseGather(handle: Handle, y: Of<DnVec>, x: Of<SpVec>) => gather;
    fn cusparseScatter(handle: Handle, x: Of<SpVec>, y: Of<DnVec>) => scatter;
    fn cusparseRot(handle: Handle, c: Ptr<u8>, s: Ptr<u8>, x: Of<SpVec>, y: Of<DnVec>) => rot;
    fn cusparseSpVV_bufferSize(handle: Handle, op: i32, x: Of<SpVec>, y: Of<DnVec>, result: Ptr<u8>, compute: DataType,
        bytes: Out<usize>) => spvv_size;
    fn cusparseSpVV(handle: Handle, op: i32, x: Of<SpVec>, y: Of<DnVec>, result: Ptr<u8>, compute: DataType,
        buffer: Ptr<u8>) => spvv;
}

fn operands(handle: Handle, x: Of<SpVec>, y: Of<DnVec>) -> Result<(Context, SpVec, DnVec, u64), Error> {
    let context = context(handle)?;
    let (x, y) = (read(x)?, read(y)?);
    if x.size != y.size {
        return Err(Error::InvalidValue);
    }
    let nnz = x.nnz.max(0) as u64;
    Ok((context, x, y, nnz))
}

fn axpby(handle: Handle, alpha: Ptr<u8>, x: Of<SpVec>, beta: Ptr<u8>, y: Of<DnVec>) -> Result<(), Error> {
    alpha.check().and(beta.check())?;
    let (context, x, y, nnz) = operands(handle, x, y)?;
    let all = y.kind.bytes(y.size as u64);
    let cost = [x.kind.bytes(nnz) + 4 * nnz + all, all, 2 * nnz];
    run(&context, c"cusparse_axpby", y.kind, cost, &[range(y.values, all)])
}

fn gather(handle: Handle, y: Of<DnVec>, x: Of<SpVec>) -> Result<(), Error> {
    let (context, x, y, nnz) = operands(handle, x, y)?;
    let bytes = x.kind.bytes(nnz);
    run(&context, c"cusparse_gather", y.kind, [bytes + 4 * nnz, bytes, 0], &[range(x.values, bytes)])
}

fn scatter(handle: Handle, x: Of<SpVec>, y: Of<DnVec>) -> Result<(), Error> {
    let (context, x, y, nnz) = operands(handle, x, y)?;
    let bytes = x.kind.bytes(nnz);
    let all = y.kind.bytes(y.size as u64);
    run(&context, c"cusparse_scatter", y.kind, [bytes + 4 * nnz, bytes, 0], &[range(y.values, all)])
}

fn rot(handle: Handle, c: Ptr<u8>, s: Ptr<u8>, x: Of<SpVec>, y: Of<DnVec>) -> Result<(), Error> {
    c.check().and(s.check())?;
    let (context, x, y, nnz) = operands(handle, x, y)?;
    let (bytes, all) = (x.kind.bytes(nnz), y.kind.bytes(y.size as u64));
    let outputs = [range(x.values, bytes), range(y.values, all)];
    run(&context, c"cusparse_rot", y.kind, [2 * bytes + 4 * nnz, 2 * bytes, 6 * nnz], &outputs)
}

fn spvv_size(
    handle: Handle,
    _op: i32,
    x: Of<SpVec>,
    y: Of<DnVec>,
    _result: Ptr<u8>,
    _compute: DataType,
    bytes: Out<usize>,
) -> Result<(), Error> {
    operands(handle, x, y)?;
    Ok(bytes.set(0)?)
}

fn spvv(
    handle: Handle,
    _op: i32,
    x: Of<SpVec>,
    y: Of<DnVec>,
    result: Ptr<u8>,
    compute: DataType,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, x, _, nnz) = operands(handle, x, y)?;
    result.check()?;
    let bytes = compute.bytes(1);
    let cost = [2 * x.kind.bytes(nnz) + 4 * nnz, bytes, 2 * nnz];
    if context.pointer_mode == 1 {
        return run(&context, c"cusparse_spvv", compute, cost, &[range(result.address(), bytes)]);
    }
    run(&context, c"cusparse_spvv", compute, cost, &[])?;
    wait(context.stream)?;
    Ok(result.clear(bytes as usize)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_different_sizes_do_not_meet() {
        let handle = Of::create(Context::default());
        let kind = DataType::R_32F;
        let x = Of::create(SpVec { size: 8, nnz: 2, indices: 64, values: 64, index: 2, base: 0, kind });
        let y = Of::create(DnVec { size: 9, values: 64, kind });
        assert_eq!((gather(handle, y, x), scatter(handle, x, y)), (Err(Error::InvalidValue), Err(Error::InvalidValue)));
    }
}
