//! Power of the tray.
//! Stopping and starting processes is the supervisor's; here only the facts follow.

use super::Outcome;
use crate::event::Event;
use crate::machine::{Machine, PowerAction, PowerState};

pub(super) fn tray(machine: &mut Machine, action: PowerAction) -> Outcome {
    let mut events = Vec::new();
    if action != PowerAction::On && machine.power == PowerState::On {
        machine.power = PowerState::Off;
        events.push(Event::PowerChanged { state: PowerState::Off });
    }
    if action != PowerAction::Off && machine.power == PowerState::Off {
        boot(machine, &mut events);
    }
    Ok(events)
}

fn boot(machine: &mut Machine, events: &mut Vec<Event>) {
    machine.power = PowerState::On;
    events.push(Event::PowerChanged { state: PowerState::On });
    for gpu in &mut machine.gpus {
        let clique = gpu.fabric.clique;
        gpu.boot(machine.persistence_default);
        if gpu.fabric.clique != clique {
            events.push(Event::CliqueChanged { gpu: gpu.index, clique: gpu.fabric.clique });
        }
    }
}
