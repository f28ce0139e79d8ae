//! Power limit of a GPU.
//! What the limit does to clocks is worked out in cost and power, from the fact alone.

use super::{Outcome, set};
use crate::event::Event;
use crate::ids::GpuIndex;
use crate::machine::Machine;
use crate::refusal::{Quantity, Refusal};

pub(super) fn set_limit(machine: &mut Machine, gpu: GpuIndex, milliwatts: u32) -> Outcome {
    let limits = &mut machine.working_gpu_mut(gpu)?.limits;
    let (min, max) = (limits.power_min_milliwatts, limits.power_max_milliwatts);
    if !(min..=max).contains(&milliwatts) {
        return Err(Refusal::OutOfRange {
            quantity: Quantity::PowerLimitMilliwatts,
            found: milliwatts.into(),
            min: min.into(),
            max: max.into(),
        });
    }
    Ok(set(&mut limits.power_milliwatts, milliwatts, Event::PowerLimitChanged { gpu, milliwatts }))
}

pub(super) fn reset(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    let default = machine.gpu(gpu)?.limits.power_default_milliwatts;
    set_limit(machine, gpu, default)
}
