//! A GPU that fell off the bus, and its return.
//! Everything else about it stays, so that recovery restores exactly.

use super::{Outcome, set};
use crate::event::Event;
use crate::ids::GpuIndex;
use crate::machine::Machine;

pub(super) fn lose(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    Ok(set(&mut machine.gpu_mut(gpu)?.lost, true, Event::GpuLost { gpu }))
}

pub(super) fn recover(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    Ok(set(&mut machine.gpu_mut(gpu)?.lost, false, Event::GpuRecovered { gpu }))
}
