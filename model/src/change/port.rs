//! Ports of the domain's switches, as this tray sees them.
//! Links that end in a port follow it in machine.rs; other trays are told by fabric.

use super::Outcome;
use crate::domain::PortFacts;
use crate::event::Event;
use crate::gpu::LinkFault;
use crate::ids::PortRef;
use crate::machine::Machine;

pub(super) fn admin(machine: &mut Machine, port: PortRef, enabled: bool) -> Outcome {
    let before = machine.domain.port(port)?;
    Ok(set(machine, before, PortFacts { enabled, ..before }))
}

pub(super) fn fault(machine: &mut Machine, port: PortRef, fault: Option<LinkFault>) -> Outcome {
    let before = machine.domain.port(port)?;
    Ok(set(machine, before, PortFacts { fault, ..before }))
}

fn set(machine: &mut Machine, before: PortFacts, after: PortFacts) -> Vec<Event> {
    machine.domain.set_port(after);
    if before == after { Vec::new() } else { vec![Event::PortChanged { port: after.port, up: after.up() }] }
}
