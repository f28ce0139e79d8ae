//! Locked SM clocks of a GPU.
//! The clock that is shown at a moment is worked out in power.rs.

use super::{Outcome, set};
use crate::event::Event;
use crate::gpu::ClockLock;
use crate::ids::GpuIndex;
use crate::machine::Machine;
use crate::refusal::{Quantity, Refusal};

pub(super) fn lock(machine: &mut Machine, gpu: GpuIndex, min_mhz: u32, max_mhz: u32) -> Outcome {
    let limits = &mut machine.working_gpu_mut(gpu)?.limits;
    let (lowest, highest) = (limits.sm_min_mhz, limits.sm_max_mhz);
    let refused = |found: u32, min: u32, max: u32| Refusal::OutOfRange {
        quantity: Quantity::SmClockMhz,
        found: found.into(),
        min: min.into(),
        max: max.into(),
    };
    if !(lowest..=highest).contains(&min_mhz) {
        return Err(refused(min_mhz, lowest, highest));
    }
    if !(min_mhz..=highest).contains(&max_mhz) {
        return Err(refused(max_mhz, min_mhz, highest));
    }
    let lock = ClockLock { min_mhz, max_mhz };
    Ok(set(&mut limits.sm_lock, Some(lock), Event::ClocksChanged { gpu, min_mhz, max_mhz }))
}

pub(super) fn reset(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    let limits = &mut machine.working_gpu_mut(gpu)?.limits;
    let (min_mhz, max_mhz) = (limits.sm_min_mhz, limits.sm_max_mhz);
    Ok(set(&mut limits.sm_lock, None, Event::ClocksChanged { gpu, min_mhz, max_mhz }))
}
