//! Pruning and compressing a matrix to two of four elements.
//! Results read zero; a check finds every matrix well pruned.

use crate::records::{Handle, Matmul, Matrix, Plan, handle as live, read};
use crate::{CusparseLt, Error};
use ghost_abi::{In, Out};
use ghost_blas::{Ptr, Stream, kernel, submit};
use std::ffi::CStr;

ghost_abi::rows! { CusparseLt;
    fn cusparseLtSpMMAPrune(handle: In<Handle>, matmul: In<Matmul>, from: Ptr<u8>, to: Ptr<u8>, algorithm: i32,
        stream: Stream) => prune;
    fn cusparseLtSpMMAPrune2(handle: In<Handle>, matrix: In<Matrix>, is_a: i32, op: i32, from: Ptr<u8>, to: Ptr<u8>,
        algorithm: i32, stream: Stream) => prune2;
    fn cusparseLtSpMMAPruneCheck(handle: In<Handle>, matmul: In<Matmul>, from: Ptr<u8>, valid: Ptr<i32>,
        stream: Stream) => check;
    fn cusparseLtSpMMAPruneCheck2(handle: In<Handle>, matrix: In<Matrix>, is_a: i32, op: i32, from: Ptr<u8>,
        valid: Ptr<i32>, stream: Stream) => check2;
    fn cusparseLtSpMMACompressedSize(handle: In<Handle>, plan: In<Plan>, bytes: Out<usize>, buffer: Out<usize>)
        => size;
    fn cusparseLtSpMMACompressedSize2(handle: In<Handle>, matrix: In<Matrix>, bytes: Out<usize>, buffer: Out<usize>)
        => size2;
    fn cusparseLtSpMMACompress(handle: In<Handle>, plan: In<Plan>, from: Ptr<u8>, to: Ptr<u8>, buffer: Ptr<u8>,
        stream: Stream) => compress;
    fn cusparseLtSpMMACompress2(handle: In<Handle>, matrix: In<Matrix>, is_a: i32, op: i32, from: Ptr<u8>,
        to: Ptr<u8>, buffer: Ptr<u8>, stream: Stream) => compress2;
}

/// The sparse operand of a product.
fn sparse(matmul: &Matmul) -> Matrix {
    if matmul.a.structured == 1 { matmul.a } else { matmul.b }
}

/// Reads a matrix and writes `written` bytes.
fn pass(
    name: &'static CStr,
    matrix: &Matrix,
    from: Ptr<u8>,
    to: Ptr<u8>,
    written: u64,
    stream: Stream,
) -> Result<(), Error> {
    from.check().and(to.check())?;
    let operation = kernel(name, matrix.data_type(), [matrix.bytes(), written, 0]).writes(to.address(), written);
    Ok(submit(stream, &operation)?)
}

fn prune(
    handle: In<Handle>,
    matmul: In<Matmul>,
    from: Ptr<u8>,
    to: Ptr<u8>,
    algorithm: i32,
    stream: Stream,
) -> Result<(), Error> {
    live(&handle)?;
    pruned(&sparse(&read(&matmul)?), from, to, algorithm, stream)
}

fn prune2(
    handle: In<Handle>,
    matrix: In<Matrix>,
    _is_a: i32,
    op: i32,
    from: Ptr<u8>,
    to: Ptr<u8>,
    algorithm: i32,
    stream: Stream,
) -> Result<(), Error> {
    live(&handle)?;
    let matrix = read(&matrix)?;
    matrix.shape(op)?;
    pruned(&matrix, from, to, algorithm, stream)
}

fn pruned(matrix: &Matrix, from: Ptr<u8>, to: Ptr<u8>, algorithm: i32, stream: Stream) -> Result<(), Error> {
    if !matches!(algorithm, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    pass(c"cusparselt_prune", matrix, from, to, matrix.bytes(), stream)
}

fn check(handle: In<Handle>, matmul: In<Matmul>, from: Ptr<u8>, valid: Ptr<i32>, stream: Stream) -> Result<(), Error> {
    live(&handle)?;
    pass(c"cusparselt_prune_check", &sparse(&read(&matmul)?), from, valid.bytes(), 4, stream)
}

fn check2(
    handle: In<Handle>,
    matrix: In<Matrix>,
    _is_a: i32,
    op: i32,
    from: Ptr<u8>,
    valid: Ptr<i32>,
    stream: Stream,
) -> Result<(), Error> {
    live(&handle)?;
    let matrix = read(&matrix)?;
    matrix.shape(op)?;
    pass(c"cusparselt_prune_check", &matrix, from, valid.bytes(), 4, stream)
}

fn size(handle: In<Handle>, plan: In<Plan>, bytes: Out<usize>, buffer: Out<usize>) -> Result<(), Error> {
    live(&handle)?;
    sizes(&sparse(&read(&plan)?.matmul), &bytes, &buffer)
}

fn size2(handle: In<Handle>, matrix: In<Matrix>, bytes: Out<usize>, buffer: Out<usize>) -> Result<(), Error> {
    live(&handle)?;
    sizes(&read(&matrix)?, &bytes, &buffer)
}

/// Scratch of a compression: the places of the elements once more.
fn sizes(matrix: &Matrix, bytes: &Out<usize>, buffer: &Out<usize>) -> Result<(), Error> {
    bytes.check().and(buffer.check())?;
    bytes.set(matrix.compressed_bytes() as usize)?;
    Ok(buffer.set((matrix.compressed_bytes() - matrix.bytes() / 2) as usize)?)
}

fn compress(
    handle: In<Handle>,
    plan: In<Plan>,
    from: Ptr<u8>,
    to: Ptr<u8>,
    _buffer: Ptr<u8>,
    stream: Stream,
) -> Result<(), Error> {
    live(&handle)?;
    let matrix = sparse(&read(&plan)?.matmul);
    pass(c"cusparselt_compress", &matrix, from, to, matrix.compressed_bytes(), stream)
}

fn compress2(
    handle: In<Handle>,
    matrix: In<Matrix>,
    _is_a: i32,
    op: i32,
    from: Ptr<u8>,
    to: Ptr<u8>,
    _buffer: Ptr<u8>,
    stream: Stream,
) -> Result<(), Error> {
    live(&handle)?;
    let matrix = read(&matrix)?;
    matrix.shape(op)?;
    pass(c"cusparselt_compress", &matrix, from, to, matrix.compressed_bytes(), stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::tests::{handle, lent, matrix};
    use ghost_abi::ask;

    #[test]
    fn both_sizes_are_written() {
        let both = ask(|bytes| {
            let buffer = ask(|buffer| size2(handle(), lent(matrix(128, 128, 1)), bytes, buffer))?;
            assert_eq!(buffer, 128 * 128 / 8);
            Ok::<(), Error>(())
        });
        assert_eq!(both, Ok(128 * 128 * 2 * 9 / 16));
    }
}
