//! Xids: a ring of the last ones, and what they call for.
//! Failing the contexts that an Xid kills is the engine's.

use super::{Outcome, lost};
use crate::event::Event;
use crate::gpu::{Gpu, RecoveryAction};
use crate::ids::GpuIndex;
use crate::machine::Machine;
use crate::xid::{Xid, XidEffect};

pub(super) fn report(machine: &mut Machine, gpu: GpuIndex, code: u32, pid: Option<u32>, time_ns: u64) -> Outcome {
    let effect = XidEffect::of(code);
    let facts = machine.working_gpu_mut(gpu)?;
    if facts.xids.len() >= Gpu::XIDS {
        facts.xids.remove(0);
    }
    facts.xids.push(Xid { code, time_ns, pid });
    let mut events = vec![Event::Xid { gpu, code, pid, time_ns }];
    match effect {
        XidEffect::Gpu => facts.xid_recovery = effect.recovery(),
        XidEffect::Bus => events.extend(lost::lose(machine, gpu)?),
        XidEffect::Process | XidEffect::None => {}
    }
    Ok(events)
}

pub(super) fn clear(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    let facts = machine.gpu_mut(gpu)?;
    if facts.xids.is_empty() && facts.xid_recovery == RecoveryAction::None {
        return Ok(Vec::new());
    }
    facts.xids.clear();
    facts.xid_recovery = RecoveryAction::None;
    Ok(vec![Event::XidsCleared { gpu }])
}
