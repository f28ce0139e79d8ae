//! How many blocks of a kernel fit one multiprocessor at once: threads, registers and shared memory against its limits.
//! Pure arithmetic; it knows no device.
//!
//! Source: the granularities that NVIDIA documents for compute capability 7.0 and later (CUDA C++ programming guide,
//! compute capabilities): registers are given to a warp in units of 256, warps live in four equal partitions, shared
//! memory is given in units of 128 bytes and each block takes the reserved bytes as well.

use ghost_model::profile::CudaAttributes;

const WARP: u32 = 32;
const PARTITIONS: u32 = 4;
const REGISTER_UNIT: u32 = 256;
const SHARED_UNIT: u32 = 128;

/// Blocks of `threads` threads with `registers` a thread and `shared_bytes` (static and dynamic) a block that fit one
/// multiprocessor; 0 if not one does.
pub fn blocks_per_multiprocessor(cuda: &CudaAttributes, registers: u32, shared_bytes: u32, threads: u32) -> u32 {
    if threads == 0 || threads > cuda.max_threads_per_block || shared_bytes > cuda.shared_bytes_per_block_optin {
        return 0;
    }
    let warps = threads.div_ceil(WARP);
    let by_threads = (cuda.max_threads_per_multiprocessor / WARP) / warps;
    let by_registers = match registers {
        0 => cuda.max_blocks_per_multiprocessor,
        _ => {
            let of_warp = (registers.min(cuda.registers_per_multiprocessor) * WARP).next_multiple_of(REGISTER_UNIT);
            cuda.registers_per_multiprocessor / PARTITIONS / of_warp * PARTITIONS / warps
        }
    };
    let of_block = (shared_bytes + cuda.shared_bytes_reserved_per_block).next_multiple_of(SHARED_UNIT).max(1);
    cuda.max_blocks_per_multiprocessor
        .min(by_threads)
        .min(by_registers)
        .min(cuda.shared_bytes_per_multiprocessor / of_block)
}

/// The greatest block, a multiple of a warp up to `most_threads` (0 = as many as there may be), with which a
/// multiprocessor holds most threads, and how many such blocks it holds. `shared_bytes` says what a block of a size needs.
pub fn best_block(
    cuda: &CudaAttributes,
    registers: u32,
    most_threads: u32,
    shared_bytes: impl Fn(u32) -> u32,
) -> (u32, u32) {
    let most = match most_threads {
        0 => cuda.max_threads_per_block,
        most => most.min(cuda.max_threads_per_block),
    };
    let (mut best, mut held) = ((0, 0), 0);
    for threads in (1..=most / WARP).rev().map(|warps| warps * WARP).chain((most < WARP).then_some(most)) {
        let blocks = blocks_per_multiprocessor(cuda, registers, shared_bytes(threads), threads);
        if blocks * threads > held {
            held = blocks * threads;
            best = (threads, blocks);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gb200() -> &'static CudaAttributes {
        &ghost_model::Profile::named("gb200").unwrap().cuda
    }

    #[test]
    fn threads_registers_and_shared_memory_each_limit() {
        assert_eq!(blocks_per_multiprocessor(gb200(), 16, 0, 32), 32);
        assert_eq!(blocks_per_multiprocessor(gb200(), 32, 0, 512), 4);
        assert_eq!(blocks_per_multiprocessor(gb200(), 64, 0, 256), 4);
        // 255 registers round up to 8192 a warp: two warps in each partition.
        assert_eq!(blocks_per_multiprocessor(gb200(), 255, 0, 256), 1);
        assert_eq!(blocks_per_multiprocessor(gb200(), 255, 0, 128), 2);
        assert_eq!(blocks_per_multiprocessor(gb200(), 32, 48 << 10, 128), 4);
        assert_eq!(blocks_per_multiprocessor(gb200(), 32, 232_448, 128), 1);
    }

    #[test]
    fn a_block_that_cannot_run_fits_nowhere() {
        assert_eq!(blocks_per_multiprocessor(gb200(), 32, 0, 0), 0);
        assert_eq!(blocks_per_multiprocessor(gb200(), 32, 0, 1025), 0);
        assert_eq!(blocks_per_multiprocessor(gb200(), 32, 232_449, 128), 0);
        assert_eq!(blocks_per_multiprocessor(gb200(), 255, 0, 1024), 0);
    }

    #[test]
    fn the_best_block_is_the_greatest_that_fills_most() {
        assert_eq!(best_block(gb200(), 32, 0, |_| 0), (1024, 2));
        assert_eq!(best_block(gb200(), 40, 0, |_| 0), (768, 2));
        assert_eq!(best_block(gb200(), 32, 16, |_| 0), (16, 32));
    }
}
