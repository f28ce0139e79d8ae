//! Persistence, compute and ECC mode of a GPU.
//! Who may set them is for each door to know.

use super::{Outcome, set};
use crate::event::Event;
use crate::gpu::ComputeMode;
use crate::ids::GpuIndex;
use crate::machine::Machine;

pub(super) fn persistence(machine: &mut Machine, gpu: GpuIndex, enabled: bool) -> Outcome {
    let modes = &mut machine.working_gpu_mut(gpu)?.modes;
    Ok(set(&mut modes.persistence, enabled, Event::ModeChanged { gpu }))
}

pub(super) fn compute(machine: &mut Machine, gpu: GpuIndex, mode: ComputeMode) -> Outcome {
    let modes = &mut machine.working_gpu_mut(gpu)?.modes;
    Ok(set(&mut modes.compute, mode, Event::ModeChanged { gpu }))
}

pub(super) fn ecc(machine: &mut Machine, gpu: GpuIndex, enabled: bool) -> Outcome {
    let ecc = &mut machine.working_gpu_mut(gpu)?.ecc;
    Ok(set(&mut ecc.mode.pending, enabled, Event::ModeChanged { gpu }))
}
