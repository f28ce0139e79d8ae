//! Reset of one GPU: pending things become current.
//! Whether processes hold the GPU is ghostd's to check before it applies this.

use super::Outcome;
use crate::event::Event;
use crate::ids::GpuIndex;
use crate::machine::Machine;

pub(super) fn gpu(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    let persistence = machine.persistence_default;
    let facts = machine.working_gpu_mut(gpu)?;
    let before = facts.fabric.clique;
    facts.reset(persistence);
    let clique = facts.fabric.clique;
    let mut events = vec![Event::GpuReset { gpu }];
    if clique != before {
        events.push(Event::CliqueChanged { gpu, clique });
    }
    Ok(events)
}
