//! The tray's hardware: the model's machine, its profile, and what wears: counters that outlive single changes.
//! All of it is kept over a restart of ghostd. It publishes nothing and knows no process.

use ghost_engine::layout::{MAX_GPUS, MAX_HCAS, MAX_LINKS};
use ghost_model::{Change, Event, LinkState, Machine, Profile, Rack, Refusal, TrayIndex, XidEffect};
use serde::{Deserialize, Serialize};

/// Counters of one GPU that no fact of the model holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Xids reported since they were last cleared.
    pub xid_count: u64,
    /// Raised by every fault that takes all contexts.
    pub fault_epoch: u64,
    /// The Xid that did it; 0 = none in force.
    pub fault_xid: u32,
    pub links: Vec<LinkWear>,
}

/// Counters of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkWear {
    pub downed: u32,
    pub recovered: u32,
}

/// One tray's hardware.
#[derive(Clone, Debug)]
pub struct Hardware {
    pub profile: &'static Profile,
    pub machine: Machine,
    /// By GPU.
    pub wear: Vec<Wear>,
}

/// The rack has no such tray, or this program cannot play it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant's message is its documentation")]
pub enum Unplayable {
    #[error("--tray {tray}: the rack `{rack}` has trays 0 to {last}", last = trays.saturating_sub(1))]
    NoSuchTray { tray: u16, rack: String, trays: usize },
    #[error("the rack `{rack}` asks for profile `{profile}`; known: {}", Profile::NAMES.join(", "))]
    NoSuchProfile { rack: String, profile: String },
    #[error("tray {tray} has {found} {what}; this version plays at most {most}")]
    TooMany { tray: u16, what: &'static str, found: usize, most: usize },
}

impl Hardware {
    /// A healthy tray.
    pub fn new(rack: &Rack, tray: TrayIndex) -> Result<Hardware, Unplayable> {
        let none = || Unplayable::NoSuchTray { tray: tray.0, rack: rack.name.clone(), trays: rack.trays.len() };
        let facts = rack.trays.get(tray.index()).ok_or_else(none)?;
        let profile = Profile::named(&facts.profile)
            .ok_or_else(|| Unplayable::NoSuchProfile { rack: rack.name.clone(), profile: facts.profile.clone() })?;
        let machine = Machine::new(rack, tray, profile).ok_or_else(none)?;
        let sizes = [
            ("GPUs", machine.gpus.len(), MAX_GPUS),
            ("InfiniBand adapters", machine.hcas.len(), MAX_HCAS),
            ("NVLinks per GPU", usize::from(profile.nvlink.links), MAX_LINKS),
        ];
        if let Some((what, found, most)) = sizes.into_iter().find(|(_, found, most)| found > most) {
            return Err(Unplayable::TooMany { tray: tray.0, what, found, most });
        }
        let wear = machine.gpus.iter().map(|gpu| Wear::new(gpu.links.len())).collect();
        Ok(Hardware { profile, machine, wear })
    }

    /// The same tray: same place, same GPUs.
    pub fn is_same_tray(&self, other: &Machine) -> bool {
        let gpus = |machine: &Machine| -> Vec<_> {
            machine.gpus.iter().map(|g| (g.identity.clone(), g.bus_id, g.links.len())).collect()
        };
        let place = |m: &Machine| (m.tray, m.name.clone(), m.profile.clone(), m.identity.clone(), m.hcas.len());
        let domain = |m: &Machine| (m.domain.gpus.clone(), m.domain.switches, m.domain.ports_per_switch);
        place(&self.machine) == place(other)
            && gpus(&self.machine) == gpus(other)
            && domain(&self.machine) == domain(other)
    }

    /// Makes a change and counts what it wears.
    pub fn apply(&mut self, change: &Change) -> Result<Vec<Event>, Refusal> {
        let events = self.machine.apply(change)?;
        events.iter().for_each(|event| self.wear_out(event));
        Ok(events)
    }

    fn wear_out(&mut self, event: &Event) {
        match *event {
            Event::LinkChanged { gpu, link, state } => {
                let link = self.wear.get_mut(gpu.index()).and_then(|w| w.links.get_mut(link.index()));
                if let Some(link) = link {
                    match state {
                        LinkState::Down => link.downed = link.downed.saturating_add(1),
                        LinkState::Up => link.recovered = link.recovered.saturating_add(1),
                    }
                }
            }
            Event::Xid { gpu, code, .. } => self.on(gpu.index(), |wear| {
                wear.xid_count += 1;
                if matches!(XidEffect::of(code), XidEffect::Gpu | XidEffect::Bus) {
                    wear.fault_epoch += 1;
                    wear.fault_xid = code;
                }
            }),
            Event::XidsCleared { gpu } => self.on(gpu.index(), |wear| {
                wear.xid_count = 0;
                wear.fault_xid = 0;
            }),
            Event::GpuLost { gpu } => self.on(gpu.index(), |wear| wear.fault_epoch += 1),
            Event::GpuReset { gpu } => self.on(gpu.index(), |wear| wear.fault_xid = 0),
            Event::PowerChanged { .. } => self.wear.iter_mut().for_each(|wear| {
                wear.fault_epoch += 1;
                wear.fault_xid = 0;
            }),
            _ => {}
        }
        self.wear.iter_mut().zip(&self.machine.gpus).for_each(|(wear, gpu)| {
            wear.xid_count = wear.xid_count.max(gpu.xids.len() as u64);
            if gpu.xids.is_empty() {
                wear.xid_count = 0;
            }
        });
    }

    fn on(&mut self, gpu: usize, edit: impl FnOnce(&mut Wear)) {
        if let Some(wear) = self.wear.get_mut(gpu) {
            edit(wear);
        }
    }
}

impl Wear {
    pub fn new(links: usize) -> Wear {
        Wear { links: vec![LinkWear::default(); links], ..Wear::default() }
    }
}

/// Whether processes must look up: something took their contexts, or the way between GPUs is another.
pub fn is_alarming(event: &Event) -> bool {
    match event {
        Event::Xid { code, .. } => XidEffect::of(*code) != XidEffect::None,
        Event::GpuReset { .. } | Event::GpuLost { .. } | Event::PowerChanged { .. } | Event::LinkChanged { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
pub(crate) fn nvl8() -> Hardware {
    let rack = Rack::parse(Rack::embedded("nvl8").unwrap(), "nvl8").unwrap();
    Hardware::new(&rack, TrayIndex(0)).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_model::GpuIndex;

    const GPU: GpuIndex = GpuIndex(1);

    fn xid(code: u32) -> Change {
        Change::Xid { gpu: GPU, code, pid: None, time_ns: 1 }
    }

    #[test]
    fn a_tray_that_is_not_in_the_rack_is_refused_by_number() {
        let rack = Rack::parse(Rack::embedded("nvl8").unwrap(), "nvl8").unwrap();
        let refused = Hardware::new(&rack, TrayIndex(7)).unwrap_err().to_string();
        assert_eq!(refused, "--tray 7: the rack `nvl8` has trays 0 to 1");
    }

    #[test]
    fn a_fatal_xid_starts_a_new_epoch_and_a_harmless_one_does_not() {
        let mut hardware = nvl8();
        hardware.apply(&xid(63)).unwrap();
        assert_eq!((hardware.wear[1].xid_count, hardware.wear[1].fault_epoch), (1, 0));
        hardware.apply(&xid(95)).unwrap();
        assert_eq!((hardware.wear[1].xid_count, hardware.wear[1].fault_epoch, hardware.wear[1].fault_xid), (2, 1, 95));
        hardware.apply(&Change::GpuReset { gpu: GPU }).unwrap();
        assert_eq!((hardware.wear[1].fault_epoch, hardware.wear[1].fault_xid), (1, 0));
        assert_eq!(hardware.wear[0], Wear::new(18));
    }

    #[test]
    fn cleared_xids_are_not_counted_on() {
        let mut hardware = nvl8();
        (0..70).for_each(|_| drop(hardware.apply(&xid(63)).unwrap()));
        assert_eq!(hardware.wear[1].xid_count, 70);
        hardware.apply(&Change::XidClear { gpu: GPU }).unwrap();
        assert_eq!(hardware.wear[1].xid_count, 0);
    }

    #[test]
    fn a_link_counts_its_downs_and_recoveries() {
        let mut hardware = nvl8();
        let far_end = |up| Change::LinkFarEnd { gpu: GPU, link: ghost_model::LinkIndex(3), up };
        hardware.apply(&far_end(false)).unwrap();
        hardware.apply(&far_end(true)).unwrap();
        assert_eq!(hardware.wear[1].links[3], LinkWear { downed: 1, recovered: 1 });
    }
}
