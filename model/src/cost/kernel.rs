//! Kernels described by their traffic, arithmetic and grid: a roofline with an L2 tier and waves of blocks.
//! What a kernel is called is not known here; whoever launches it works out bytes and flops.

use serde::{Deserialize, Serialize};

use super::shape::{self, Parts, Work};
use super::{Cost, DType, State};
use crate::Profile;

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Bytes read, each counted once.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Type of the arithmetic.
    pub dtype: DType,
    /// Blocks of the grid.
    pub grid_blocks: u64,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks that fit one SM at once (from occupancy); 0 = work it out from the threads.
    pub blocks_per_sm: u32,
}

pub(super) fn cost(profile: &Profile, kernel: &Kernel, state: &State) -> Cost {
    let fill = fill(profile, kernel);
    let bytes = kernel.bytes_read as f64 + kernel.bytes_written as f64;
    let (memory_ns, hbm_bytes) = shape::stream(profile, bytes);
    let flops = kernel.flops as f64;
    let compute_ns = flops / shape::flops_per_ns(profile, kernel.dtype, state);
    let memory = &profile.cost.memory;
    // Memory time holds while a quarter of the SMs has work: fewer cannot keep enough reads in flight.
    let parts = Parts {
        floor_ns: profile.cost.launch_floor_ns as f64
            + (fill.waves - 1.0).clamp(0.0, 1.0) * memory.block_hide_ns as f64,
        compute_ns: compute_ns / fill.sm_share,
        memory_ns: memory_ns / (fill.sm_share * 4.0).min(1.0),
        p_norm: memory.p_norm,
    };
    let work = Work { dtype: kernel.dtype, flops, hbm_bytes, sm_share: fill.sm_share };
    shape::compute(profile, state, &parts, &work)
}

struct Fill {
    sm_share: f64,
    waves: f64,
}

fn fill(profile: &Profile, kernel: &Kernel) -> Fill {
    let cuda = &profile.cuda;
    let fits = cuda.max_threads_per_multiprocessor / kernel.threads_per_block.max(1);
    let resident = if kernel.blocks_per_sm > 0 { kernel.blocks_per_sm } else { fits };
    let resident = resident.clamp(1, cuda.max_blocks_per_multiprocessor);
    let blocks = kernel.grid_blocks.max(1) as f64;
    let sms = f64::from(cuda.multiprocessors);
    // Blocks spread over SMs before they share one.
    Fill { sm_share: (blocks / sms).min(1.0), waves: blocks / (sms * f64::from(resident)) }
}
