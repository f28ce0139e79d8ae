//! The rack file: trays, switches, networks, addresses and seed, as every daemon reads it.
//! The text comes from the caller; a bad one is refused with file, line, key, what was found and what would be accepted.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::identity::Seed;
use crate::ids::{BusId, CliqueId, GpuIndex, TrayIndex, Uuid};
use crate::profile::Profile;

mod check;
mod error;
mod file;

pub use error::RackError;

/// Trays a rack can have.
pub const TRAYS_MAX: usize = 64;
/// GPUs a tray can have.
pub const GPUS_MAX: u8 = 16;

/// When a GPU takes a new clique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NvlinkApply {
    /// As soon as its partition changes.
    #[default]
    Immediate,
    /// At the next GPU reset or power cycle, as hardware does.
    Reset,
}

/// Where Xids are written besides the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelLog {
    /// Nowhere.
    #[default]
    Off,
    /// A tray's own view of the kernel log.
    File,
    /// The host's real /dev/kmsg.
    Host,
}

/// A rack, with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rack {
    /// Its name.
    pub name: String,
    /// Every identity follows from this.
    pub seed: u64,
    /// Kernel log.
    pub kmsg: KernelLog,
    /// Compute trays.
    pub trays: Vec<Tray>,
    /// NVSwitch trays.
    pub switches: Vec<SwitchTray>,
    /// NVLink domain.
    pub domain: DomainSettings,
    /// InfiniBand.
    pub infiniband: InfiniBand,
    /// The fabric daemon.
    pub fabric: FabricSettings,
    /// Power of trays.
    pub power: PowerSettings,
    /// What idle looks like.
    pub idle: IdleSettings,
}

/// A compute tray.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tray {
    /// Its name and host name, unique in the rack.
    pub name: String,
    /// How many GPUs.
    pub gpus: u8,
    /// Their profile.
    pub profile: String,
    /// Slot in the chassis, from 1.
    pub slot: u8,
    /// Tray index in the chassis, from 0.
    pub tray_index: u8,
    /// Where its BMC listens.
    pub bmc: SocketAddr,
    /// Where its exporter listens.
    pub exporter: SocketAddr,
    /// PCI addresses by GPU; empty = the profile's.
    pub bus_ids: Vec<BusId>,
}

/// An NVSwitch tray.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchTray {
    /// Its name, unique in the rack.
    pub name: String,
    /// Switch chips on it.
    pub chips: u16,
    /// Ports of one chip.
    pub ports_per_chip: u16,
    /// Slot in the chassis, from 1.
    pub slot: u8,
    /// Where its BMC listens.
    pub bmc: SocketAddr,
}

/// The NVLink domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainSettings {
    /// Its UUID; absent = derived from the seed.
    #[serde(default)]
    pub cluster_uuid: Option<Uuid>,
    /// The clique reported for the default partition.
    #[serde(default = "file::default_clique")]
    pub default_clique: CliqueId,
}

/// The InfiniBand network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InfiniBand {
    /// Adapters of each tray.
    #[serde(default)]
    pub hcas_per_tray: u8,
    /// Rate of a port, Gbit/s.
    #[serde(default = "file::rate_gbps")]
    pub rate_gbps: u32,
    /// Switches that trays are cabled to.
    #[serde(default)]
    pub leaf: Vec<IbSwitch>,
    /// Switches that leaves are cabled to.
    #[serde(default)]
    pub spine: Vec<IbSwitch>,
}

/// One InfiniBand switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IbSwitch {
    /// Its name, unique in the rack.
    pub name: String,
    /// Its ports.
    #[serde(default = "file::ib_ports")]
    pub ports: u16,
}

/// The fabric daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricSettings {
    /// Where it serves gRPC.
    #[serde(default = "file::fabric_address")]
    pub address: SocketAddr,
    /// Where it serves metrics.
    #[serde(default = "file::fabric_metrics")]
    pub metrics: SocketAddr,
    /// When GPUs take a new clique.
    #[serde(default)]
    pub nvlink_apply: NvlinkApply,
}

/// Power of trays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSettings {
    /// Command a BMC runs as `HOOK TRAY on|off|cycle` instead of asking the supervisor.
    #[serde(default)]
    pub hook: Option<String>,
}

/// What an idle GPU shows, where it differs from the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleSettings {
    /// Performance state, 0 to 15.
    #[serde(default)]
    pub pstate: Option<u8>,
    /// Draw of every GPU.
    #[serde(default)]
    pub power_milliwatts: Option<u32>,
}

const NVL8: &str = include_str!("../racks/nvl8.toml");
const NVL72: &str = include_str!("../racks/nvl72.toml");

impl Rack {
    /// Racks that ship with the project: name and text.
    pub const EMBEDDED: &'static [(&'static str, &'static str)] = &[("nvl8", NVL8), ("nvl72", NVL72)];

    /// The text of a rack that ships with the project.
    #[must_use]
    pub fn embedded(name: &str) -> Option<&'static str> {
        Self::EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Reads a rack file; `file_name` is for messages.
    ///
    /// # Errors
    /// If the text is not TOML, a key is unknown, missing or wrong, or values contradict one another.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, RackError> {
        let parsed: file::RackFile =
            toml::from_str(text).map_err(|error| RackError::from_toml(file_name, text, &error))?;
        let rack = parsed.with_defaults();
        match check::first_fault(&rack) {
            None => Ok(rack),
            Some(fault) => Err(RackError::from_fault(file_name, text, fault)),
        }
    }

    /// The seed, from which identities are derived.
    #[must_use]
    pub const fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    /// UUID of the NVLink domain.
    #[must_use]
    pub fn cluster_uuid(&self) -> Uuid {
        self.domain.cluster_uuid.unwrap_or_else(|| self.seed().cluster_uuid())
    }

    /// Where a GPU sits on PCI.
    #[must_use]
    pub fn bus_id(&self, tray: TrayIndex, gpu: GpuIndex, profile: &Profile) -> Option<BusId> {
        let own = self.trays.get(tray.index()).and_then(|tray| tray.bus_ids.get(gpu.index()));
        own.copied().or_else(|| profile.bus_id(gpu))
    }

    /// The tray of this name.
    #[must_use]
    pub fn tray_named(&self, name: &str) -> Option<TrayIndex> {
        self.trays.iter().position(|tray| tray.name == name).map(|place| TrayIndex(place as u16))
    }
}

#[cfg(test)]
mod tests;
