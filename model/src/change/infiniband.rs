//! InfiniBand adapters of this tray.
//! Switches and subnets are not this tray's.

use super::{Outcome, set};
use crate::event::Event;
use crate::ids::HcaIndex;
use crate::machine::Machine;
use crate::refusal::Refusal;

pub(super) fn admin(machine: &mut Machine, hca: HcaIndex, enabled: bool) -> Outcome {
    let missing = Refusal::NoSuchHca { hca, hcas: machine.hcas.len() as u8 };
    let facts = machine.hcas.get_mut(hca.index()).ok_or(missing)?;
    Ok(set(&mut facts.enabled, enabled, Event::HcaChanged { hca, up: enabled }))
}
