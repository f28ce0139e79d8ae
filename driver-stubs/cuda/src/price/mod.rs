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
