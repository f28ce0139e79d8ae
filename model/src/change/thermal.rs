//! The coolant of the tray.
//! Temperatures follow from it in power.rs.

use super::{Outcome, set};
use crate::event::Event;
use crate::machine::Machine;
use crate::refusal::{Quantity, Refusal};

/// Coolant offsets that can be injected.
const RANGE: std::ops::RangeInclusive<i32> = -20_000..=70_000;

pub(super) fn inlet(machine: &mut Machine, offset_millidegrees: i32) -> Outcome {
    if !RANGE.contains(&offset_millidegrees) {
        return Err(Refusal::OutOfRange {
            quantity: Quantity::InletOffsetMillidegrees,
            found: offset_millidegrees.into(),
            min: (*RANGE.start()).into(),
            max: (*RANGE.end()).into(),
        });
    }
    let event = Event::InletChanged { offset_millidegrees };
    Ok(set(&mut machine.inlet_offset_millidegrees, offset_millidegrees, event))
}
