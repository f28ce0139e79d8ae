//! How many blocks or clusters of a kernel fit. The driver counts; it takes a kernel for a function here.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::*;
use crate::registry::REGISTRY;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: Ptr, block_size: i32, shared_bytes: usize) => blocks;
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut i32, function: Ptr, block_size: i32, shared_bytes: usize, flags: u32) => blocks_with_flags;
    fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: Ptr, blocks: i32, block_size: i32) => shared_bytes;
    fn cudaOccupancyMaxActiveClusters(clusters: *mut i32, function: Ptr, config: Ptr) => clusters;
    fn cudaOccupancyMaxPotentialClusterSize(size: *mut i32, function: Ptr, config: Ptr) => cluster_size;
}

fn blocks(blocks: *mut i32, function: Ptr, block_size: i32, shared_bytes: usize) -> Result<(), Error> {
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, REGISTRY.kernel(function)?, block_size, shared_bytes)
}

fn blocks_with_flags(
    blocks: *mut i32,
    function: Ptr,
    block_size: i32,
    shared_bytes: usize,
    flags: u32,
) -> Result<(), Error> {
    let kernel = REGISTRY.kernel(function)?;
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, block_size, shared_bytes, flags)
}

fn shared_bytes(bytes: *mut usize, function: Ptr, blocks: i32, block_size: i32) -> Result<(), Error> {
    cuOccupancyAvailableDynamicSMemPerBlock(bytes, REGISTRY.kernel(function)?, blocks, block_size)
}

fn clusters(clusters: *mut i32, function: Ptr, config: Ptr) -> Result<(), Error> {
    cuOccupancyMaxActiveClusters(clusters, REGISTRY.kernel(function)?, config)
}

fn cluster_size(size: *mut i32, function: Ptr, config: Ptr) -> Result<(), Error> {
    cuOccupancyMaxPotentialClusterSize(size, REGISTRY.kernel(function)?, config)
}
