//! How an operation of a library shows to a profiler: the call it stands for, its label, the shape of its grid.
//! It prices nothing; grids are those of common tile sizes, since no kernel of the library exists to be asked.

use std::ffi::CStr;

use ghost_table::trace::{Direction, Memory, What};
use ghost_table::{Kind, Operation};

use crate::label::{self, Label};

/// Rows and columns of the result that a block of a product computes, and its threads.
const TILE: u64 = 128;
const TILE_THREADS: u32 = 384;
/// Query rows that a block of attention takes.
const QUERY_ROWS: u64 = 128;

/// The runtime function the real library would call.
pub fn runtime_call(kind: u32) -> &'static CStr {
    match kind {
        k if k == Kind::Memset as u32 => c"cudaMemsetAsync",
        k if k == Kind::Copy as u32 => c"cudaMemcpyAsync",
        k if k == Kind::Collective as u32 || k == Kind::Delay as u32 => c"cudaLaunchKernelExC",
        _ => c"cudaLaunchKernel",
    }
}

/// The number of an operation's label.
#[cold]
pub fn label(operation: &Operation) -> u32 {
    let [a, b, c, d, e, ..] = operation.dims;
    let is = |kind: Kind| operation.kind == kind as u32;
    if is(Kind::Memset) {
        return label::fill(Memory::Device, 0, a);
    }
    if is(Kind::Copy) {
        let host = if c != 0 { Memory::Pinned } else { Memory::Pageable };
        return match b {
            0 => label::copy(Direction::HostToDevice, host, Memory::Device, a),
            1 => label::copy(Direction::DeviceToHost, Memory::Device, host, a),
            2 => label::copy(Direction::DeviceToDevice, Memory::Device, Memory::Device, a),
            _ => label::copy(Direction::PeerToPeer, Memory::Device, Memory::Device, a),
        };
    }
    let (grid, threads) = if is(Kind::Gemm) {
        ([a.div_ceil(TILE), b.div_ceil(TILE), d], TILE_THREADS)
    } else if is(Kind::Attention) {
        ([c.div_ceil(QUERY_ROWS), b, a], TILE_THREADS)
    } else if is(Kind::Kernel) {
        ([d, 1, 1], e.clamp(1, 1024) as u32)
    } else {
        ([1; 3], TILE_THREADS)
    };
    let grid = grid.map(|blocks| blocks.clamp(1, i32::MAX as u64) as u32);
    let label = Label { grid, block: [threads, 1, 1], ..Label::new(What::Kernel) };
    label::number(label.named(name(operation)))
}

fn name(operation: &Operation) -> &CStr {
    if operation.name.is_null() {
        return match operation.kind {
            k if k == Kind::Gemm as u32 => c"gemm",
            k if k == Kind::Attention as u32 => c"attention",
            k if k == Kind::Collective as u32 => c"ncclDevKernel",
            k if k == Kind::Delay as u32 => c"delay",
            _ => c"kernel",
        };
    }
    // SAFETY: an operation's name is null or a string that lives until the call returns.
    unsafe { CStr::from_ptr(operation.name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_table::Type;

    #[test]
    fn a_product_without_a_name_is_a_gemm_and_a_copy_is_no_kernel() {
        let gemm = Operation::new(Kind::Gemm, Type::F32, Type::F32, &[1, 2, 3, 1]);
        assert_eq!(name(&gemm), c"gemm");
        assert_eq!(name(&gemm.named(c"sm100_gemm")), c"sm100_gemm");
        assert_eq!(label(&gemm), label(&gemm));
        let copy = Operation::new(Kind::Copy, Type::I8, Type::I8, &[64, 0, 1]);
        assert_eq!(label(&copy), label::copy(Direction::HostToDevice, Memory::Pinned, Memory::Device, 64));
        assert_eq!(runtime_call(Kind::Copy as u32), c"cudaMemcpyAsync");
    }
}
