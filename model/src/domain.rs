//! The NVLink domain as every tray sees it: partitions, switch ports, and which port each link ends in.
//! Fabric owns these facts; a tray keeps its view so that it can go on without fabric. Nothing here touches a GPU's facts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::gpu::LinkFault;
use crate::ids::{
    CliqueId, GpuIndex, GpuLocation, LinkIndex, PartitionId, PortIndex, PortRef, SwitchIndex, TrayIndex, Uuid,
};
use crate::rack::{NvlinkApply, Rack};
use crate::refusal::Refusal;

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Unique in the domain.
    pub name: String,
    /// Who belongs to it.
    pub members: BTreeSet<GpuLocation>,
}

/// A switch port that is not simply enabled and sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortFacts {
    /// Which.
    pub port: PortRef,
    /// What was configured.
    pub enabled: bool,
    /// An injected fault.
    pub fault: Option<LinkFault>,
}

impl PortFacts {
    const fn sound(port: PortRef) -> Self {
        Self { port, enabled: true, fault: None }
    }

    /// Whether traffic can flow through it.
    #[must_use]
    pub const fn up(&self) -> bool {
        self.enabled && self.fault.is_none()
    }
}

/// The domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Its UUID.
    pub cluster_uuid: Uuid,
    /// The clique reported for the default partition.
    pub default_clique: CliqueId,
    /// When a GPU takes a new clique.
    pub nvlink_apply: NvlinkApply,
    /// GPUs of each tray.
    pub gpus: Vec<u8>,
    /// Switch chips.
    pub switches: u16,
    /// Ports of one chip.
    pub ports_per_switch: u16,
    /// Partitions; the default one is always there.
    pub partitions: BTreeMap<PartitionId, Partition>,
    /// Ports that are disabled or faulted, in order; every other is enabled and sound.
    pub ports: Vec<PortFacts>,
}

/// The name of the partition that is always there.
const DEFAULT_NAME: &str = "Default Partition";

impl Domain {
    /// The domain of a rack, all of its GPUs in the default partition.
    #[must_use]
    pub fn new(rack: &Rack) -> Self {
        let gpus: Vec<u8> = rack.trays.iter().map(|tray| tray.gpus).collect();
        let mut domain = Self {
            cluster_uuid: rack.cluster_uuid(),
            default_clique: rack.domain.default_clique,
            nvlink_apply: rack.fabric.nvlink_apply,
            gpus,
            switches: rack.switches.iter().map(|switch| switch.chips).sum(),
            ports_per_switch: rack.switches.first().map_or(0, |switch| switch.ports_per_chip),
            partitions: BTreeMap::new(),
            ports: Vec::new(),
        };
        let everyone = Partition { name: DEFAULT_NAME.to_owned(), members: domain.locations().collect() };
        domain.partitions.insert(PartitionId::DEFAULT, everyone);
        domain
    }

    /// Every GPU, tray by tray.
    pub fn locations(&self) -> impl Iterator<Item = GpuLocation> + '_ {
        self.gpus.iter().enumerate().flat_map(|(tray, &gpus)| {
            (0..gpus).map(move |gpu| GpuLocation { tray: TrayIndex(tray as u16), gpu: GpuIndex(gpu) })
        })
    }

    /// The partition a GPU belongs to.
    #[must_use]
    pub fn partition_of(&self, location: GpuLocation) -> Option<PartitionId> {
        self.partitions.iter().find(|(_, partition)| partition.members.contains(&location)).map(|(id, _)| *id)
    }

    /// The clique that goes with a partition.
    #[must_use]
    pub fn clique_of(&self, partition: Option<PartitionId>) -> CliqueId {
        match partition {
            None => CliqueId(0),
            Some(PartitionId::DEFAULT) => self.default_clique,
            Some(partition) => CliqueId(u32::from(partition.get())),
        }
    }

    /// The port that a link ends in: links go round the chips, GPUs take ports in order.
    ///
    /// None where the rack has no switch.
    #[must_use]
    pub fn far_port(&self, location: GpuLocation, link: LinkIndex, links: u8) -> Option<PortRef> {
        if self.switches == 0 {
            return None;
        }
        let before: u16 = self.gpus.iter().take(location.tray.index()).map(|&gpus| u16::from(gpus)).sum();
        let gpu = before + u16::from(location.gpu.0);
        let link = u16::from(link.0);
        let each = u16::from(links).div_ceil(self.switches);
        let port = PortIndex(gpu * each + link / self.switches);
        Some(PortRef { switch: SwitchIndex(link % self.switches), port })
    }

    /// The facts of a port.
    ///
    /// # Errors
    /// If the domain has no such port.
    pub fn port(&self, port: PortRef) -> Result<PortFacts, Refusal> {
        if port.switch.0 >= self.switches || port.port.0 >= self.ports_per_switch {
            return Err(Refusal::NoSuchPort { port });
        }
        let place = self.ports.binary_search_by_key(&port, |facts| facts.port);
        Ok(place.map_or(PortFacts::sound(port), |place| self.ports[place]))
    }

    /// Keeps only what is not simply enabled and sound, so that mending a port restores exactly.
    pub(crate) fn set_port(&mut self, facts: PortFacts) {
        let place = self.ports.binary_search_by_key(&facts.port, |facts| facts.port);
        match (place, facts == PortFacts::sound(facts.port)) {
            (Ok(place), true) => drop(self.ports.remove(place)),
            (Ok(place), false) => self.ports[place] = facts,
            (Err(_), true) => {}
            (Err(place), false) => self.ports.insert(place, facts),
        }
    }

    /// Refuses a place that is not in the rack.
    pub(crate) fn known(&self, location: GpuLocation) -> Result<(), Refusal> {
        match self.gpus.get(location.tray.index()) {
            Some(&gpus) if location.gpu.0 < gpus => Ok(()),
            _ => Err(Refusal::NoSuchLocation { location }),
        }
    }

    /// The lowest id a new partition can have.
    pub(crate) fn free_partition(&self) -> Result<PartitionId, Refusal> {
        (1..=PartitionId::LAST_USER.get())
            .filter_map(PartitionId::new)
            .find(|id| !self.partitions.contains_key(id))
            .ok_or(Refusal::NoFreePartition)
    }
}
