//! One tray: its GPUs, its adapters, its view of the domain, and the one way any of it changes.
//! No clock, no load, no processes: what happens from moment to moment is ghostd's.

use serde::{Deserialize, Serialize};

use crate::change::{self, Change};
use crate::domain::Domain;
use crate::event::Event;
use crate::gpu::{
    ComputeMode, Ecc, EccCounts, EccMode, Fabric, Gpu, Limits, Link, LinkState, Modes, RecoveryAction, RowRemap,
};
use crate::identity::TrayIdentity;
use crate::ids::{BusId, GpuIndex, GpuLocation, HcaIndex, LinkIndex, TrayIndex};
use crate::profile::Profile;
use crate::rack::Rack;
use crate::refusal::Refusal;

/// Whether the tray has power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants say it")]
pub enum PowerState {
    On,
    Off,
}

/// What is asked of the tray's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerAction {
    /// Nothing if it is on.
    On,
    /// Nothing if it is off.
    Off,
    /// Off, then on.
    Cycle,
}

/// What an idle GPU of this tray shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {
    /// Performance state (0 = P0).
    pub pstate: u8,
    /// Draw of every GPU; absent = the profile's range.
    pub power_milliwatts: Option<u32>,
}

/// One InfiniBand adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hca {
    /// Its place in the tray.
    pub index: HcaIndex,
    /// `mlx5_0` ...
    pub name: String,
    /// Node GUID.
    pub guid: u64,
    /// Rate of its port, Gbit/s.
    pub rate_gbps: u32,
    /// What was configured; its port is up while the tray is on too.
    pub enabled: bool,
}

/// One tray.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its place in the rack.
    pub tray: TrayIndex,
    /// Its name (and host name).
    pub name: String,
    /// The profile of its GPUs.
    pub profile: String,
    /// Serials and UUID.
    pub identity: TrayIdentity,
    /// Slot in the chassis, as NVML's platform information has it.
    pub slot: u8,
    /// Tray index in the chassis, the same.
    pub tray_index: u8,
    /// Whether it has power.
    pub power: PowerState,
    /// Injected offset of the coolant.
    pub inlet_offset_millidegrees: i32,
    /// What idle looks like.
    pub idle: Idle,
    /// Persistence mode after a reset.
    pub persistence_default: bool,
    /// GPUs, by index.
    pub gpus: Vec<Gpu>,
    /// InfiniBand adapters, by index.
    pub hcas: Vec<Hca>,
    /// The NVLink domain as last told.
    pub domain: Domain,
}

impl Machine {
    /// A healthy tray of this rack, powered on. None where the rack has no such tray.
    #[must_use]
    pub fn new(rack: &Rack, tray: TrayIndex, profile: &Profile) -> Option<Self> {
        let facts = rack.trays.get(tray.index())?;
        let seed = rack.seed();
        let domain = Domain::new(rack);
        let idle = Idle {
            pstate: rack.idle.pstate.unwrap_or(profile.clocks.idle_pstate),
            power_milliwatts: rack.idle.power_milliwatts,
        };
        let hcas = (0..rack.infiniband.hcas_per_tray).map(HcaIndex).map(|index| Hca {
            index,
            name: format!("mlx5_{index}"),
            guid: seed.hca_guid(tray, index),
            rate_gbps: rack.infiniband.rate_gbps,
            enabled: true,
        });
        Some(Self {
            tray,
            name: facts.name.clone(),
            profile: profile.name.clone(),
            identity: seed.tray(tray),
            slot: facts.slot,
            tray_index: facts.tray_index,
            power: PowerState::On,
            inlet_offset_millidegrees: 0,
            idle,
            persistence_default: profile.product.persistence_enabled,
            gpus: (0..facts.gpus).map(|gpu| new_gpu(rack, profile, &domain, tray, GpuIndex(gpu))).collect(),
            hcas: hcas.collect(),
            domain,
        })
    }

    /// Makes one change, or refuses it and stays as it was.
    ///
    /// # Errors
    /// If something named is not there, a value is out of its range, or the tray's state does not allow it.
    pub fn apply(&mut self, change: &Change) -> Result<Vec<Event>, Refusal> {
        let mut events = change::apply(self, change)?;
        self.settle(&mut events);
        Ok(events)
    }

    /// One GPU.
    ///
    /// # Errors
    /// If the tray has no such GPU.
    pub fn gpu(&self, gpu: GpuIndex) -> Result<&Gpu, Refusal> {
        self.gpus.get(gpu.index()).ok_or(self.no_such_gpu(gpu))
    }

    /// Idle draw of one GPU, milliwatts.
    #[must_use]
    pub fn idle_milliwatts(&self, profile: &Profile, gpu: &Gpu) -> u32 {
        self.idle.power_milliwatts.unwrap_or_else(|| crate::power::idle_milliwatts(profile, gpu.variation_milli))
    }

    /// Whether an adapter's port is up.
    #[must_use]
    pub fn hca_up(&self, hca: &Hca) -> bool {
        hca.enabled && self.power == PowerState::On
    }

    /// A GPU for a change that may find it lost or without power.
    pub(crate) fn gpu_mut(&mut self, gpu: GpuIndex) -> Result<&mut Gpu, Refusal> {
        let missing = self.no_such_gpu(gpu);
        self.gpus.get_mut(gpu.index()).ok_or(missing)
    }

    /// A GPU for a change that the driver has to make.
    pub(crate) fn working_gpu_mut(&mut self, gpu: GpuIndex) -> Result<&mut Gpu, Refusal> {
        let off = self.power == PowerState::Off;
        let facts = self.gpu_mut(gpu)?;
        match (off, facts.lost) {
            (true, _) => Err(Refusal::TrayOff),
            (false, true) => Err(Refusal::GpuLost { gpu }),
            (false, false) => Ok(facts),
        }
    }

    fn no_such_gpu(&self, gpu: GpuIndex) -> Refusal {
        Refusal::NoSuchGpu { gpu, gpus: self.gpus.len() as u8 }
    }

    /// Brings what follows from the facts up to date, and tells what became different.
    fn settle(&mut self, events: &mut Vec<Event>) {
        let on = self.power == PowerState::On;
        for gpu in &mut self.gpus {
            for (index, link) in gpu.links.iter_mut().enumerate() {
                let state = link_state(&self.domain, link, on && !gpu.lost);
                if state != link.state {
                    link.state = state;
                    events.push(Event::LinkChanged { gpu: gpu.index, link: LinkIndex(index as u8), state });
                }
            }
            let pending = gpu.needs_reset();
            if pending != gpu.reset_pending {
                gpu.reset_pending = pending;
                events.push(Event::ResetPendingChanged { gpu: gpu.index, pending });
            }
        }
    }
}

/// A link is up while both ends are enabled and sound, its GPU is there and its tray is on.
fn link_state(domain: &Domain, link: &Link, gpu_there: bool) -> LinkState {
    let far_up = link.far.is_none_or(|port| domain.port(port).is_ok_and(|port| port.up()));
    if gpu_there && link.enabled && link.fault.is_none() && link.far_end_up && far_up {
        LinkState::Up
    } else {
        LinkState::Down
    }
}

fn new_gpu(rack: &Rack, profile: &Profile, domain: &Domain, tray: TrayIndex, index: GpuIndex) -> Gpu {
    let location = GpuLocation { tray, gpu: index };
    let partition = domain.partition_of(location);
    let seed = rack.seed();
    let link = |link| Link {
        state: LinkState::Up,
        enabled: true,
        fault: None,
        far: domain.far_port(location, LinkIndex(link), profile.nvlink.links),
        far_end_up: true,
    };
    Gpu {
        index,
        identity: seed.gpu(tray, index, profile.topology.gpus_per_superchip),
        bus_id: rack.bus_id(tray, index, profile).unwrap_or(BusId {
            domain: 0,
            bus: 1 + index.0,
            device: 0,
            function: 0,
        }),
        module_id: profile.topology.module_ids.get(index.index()).copied().unwrap_or(index.0 + 1),
        variation_milli: seed.variation_milli(tray, index),
        modes: Modes { persistence: profile.product.persistence_enabled, compute: ComputeMode::Default },
        limits: new_limits(profile),
        links: (0..profile.nvlink.links).map(link).collect(),
        fabric: Fabric {
            cluster_uuid: domain.cluster_uuid,
            clique: domain.clique_of(partition),
            pending_clique: None,
            partition,
        },
        xids: Vec::new(),
        xid_recovery: RecoveryAction::None,
        ecc: Ecc {
            mode: EccMode { current: profile.memory.ecc_enabled, pending: profile.memory.ecc_enabled },
            volatile: EccCounts::default(),
            aggregate: EccCounts::default(),
        },
        rows: RowRemap::default(),
        reset_pending: false,
        lost: false,
    }
}

fn new_limits(profile: &Profile) -> Limits {
    let (power, clocks) = (&profile.power, &profile.clocks);
    Limits {
        power_min_milliwatts: power.limit_min_milliwatts,
        power_default_milliwatts: power.limit_default_milliwatts,
        power_max_milliwatts: power.limit_max_milliwatts,
        power_milliwatts: power.limit_default_milliwatts,
        sm_min_mhz: clocks.sm_min_mhz,
        sm_max_mhz: clocks.sm_max_mhz,
        sm_lock: None,
    }
}

#[cfg(test)]
mod tests;
