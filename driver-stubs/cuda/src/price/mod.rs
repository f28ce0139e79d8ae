//! What a kernel costs, judged by its name, grid and readable arguments.
//! It runs nothing and reads no device memory; what it cannot judge it prices by grid and block.

use crate::fatbin::KernelInfo;
use ghost_model::cost::Operation;

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
}

/// How a kernel is priced; found once per kernel by its name.
#[derive(Clone, Debug)]
pub struct Class {}

/// Judges a kernel by its name and parameter layout. Called once per kernel.
pub fn classify(kernel: &KernelInfo) -> Class {
    let _ = kernel;
    Class {}
}

/// Prices one launch. `params` is the packed parameter buffer, empty if its layout is unknown. Called at every
/// launch: no allocation.
pub fn operation(class: &Class, geometry: &Geometry, params: &[u8]) -> Operation {
    let _ = (class, params);
    let blocks = geometry.grid.iter().map(|&n| u64::from(n.max(1))).product::<u64>();
    let threads = geometry.block.iter().map(|&n| u64::from(n.max(1))).product::<u64>();
    crate::price::generic(blocks, threads)
}

fn generic(blocks: u64, threads: u64) -> Operation {
    let bytes = blocks * threads * 16;
    Operation::Delay { ns: 2_000 + bytes / 8_000 }
}

/// How many blocks fit on one SM.
pub mod occupancy {
    use ghost_model::profile::CudaAttributes;

    /// Resident blocks of a kernel with these needs.
    pub fn blocks_per_multiprocessor(cuda: &CudaAttributes, registers: u32, shared_bytes: u32, threads: u32) -> u32 {
        let warps = threads.div_ceil(cuda.warp_size).max(1);
        let by_threads = cuda.max_threads_per_multiprocessor / (warps * cuda.warp_size);
        let by_registers = cuda.registers_per_multiprocessor / (registers.max(1) * warps * cuda.warp_size).max(1);
        let by_shared = cuda.shared_bytes_per_multiprocessor / (shared_bytes + cuda.shared_bytes_reserved_per_block);
        by_threads.min(by_registers).min(by_shared).min(cuda.max_blocks_per_multiprocessor)
    }
}
