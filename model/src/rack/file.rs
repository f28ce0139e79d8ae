//! The rack file as written: what may be left out, and what then stands there.
//! Values are checked in check.rs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::Deserialize;

use super::{
    DomainSettings, FabricSettings, IdleSettings, InfiniBand, KernelLog, NvlinkApply, PowerSettings, Rack, SwitchTray,
    Tray,
};
use crate::ids::{BusId, CliqueId};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RackFile {
    name: String,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    kmsg: KernelLog,
    /// Profile of trays that name none.
    #[serde(default = "profile")]
    profile: String,
    #[serde(rename = "tray")]
    trays: Vec<TrayFile>,
    #[serde(default, rename = "switch")]
    switches: Vec<SwitchFile>,
    #[serde(default)]
    domain: DomainSettings,
    #[serde(default)]
    infiniband: InfiniBand,
    #[serde(default)]
    fabric: FabricSettings,
    #[serde(default)]
    power: PowerSettings,
    #[serde(default)]
    idle: IdleSettings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrayFile {
    name: Option<String>,
    gpus: u8,
    profile: Option<String>,
    slot: Option<u8>,
    tray_index: Option<u8>,
    bmc: Option<SocketAddr>,
    exporter: Option<SocketAddr>,
    #[serde(default)]
    bus_ids: Vec<BusId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchFile {
    name: Option<String>,
    #[serde(default = "chips")]
    chips: u16,
    #[serde(default = "ports_per_chip")]
    ports_per_chip: u16,
    slot: Option<u8>,
    bmc: Option<SocketAddr>,
}

/// First port of each kind of listener; the tray or switch is added.
const BMC_PORT: u16 = 9443;
const SWITCH_BMC_PORT: u16 = 9543;
const EXPORTER_PORT: u16 = 9400;

impl RackFile {
    pub(super) fn with_defaults(self) -> Rack {
        let profile = self.profile;
        let trays = self.trays.into_iter().enumerate().map(|(place, tray)| tray.at(place, &profile)).collect();
        let switches = self.switches.into_iter().enumerate().map(|(place, switch)| switch.at(place)).collect();
        Rack {
            name: self.name,
            seed: self.seed,
            kmsg: self.kmsg,
            trays,
            switches,
            domain: self.domain,
            infiniband: self.infiniband,
            fabric: self.fabric,
            power: self.power,
            idle: self.idle,
        }
    }
}

impl TrayFile {
    fn at(self, place: usize, profile: &str) -> Tray {
        Tray {
            name: self.name.unwrap_or_else(|| format!("tray-{place}")),
            gpus: self.gpus,
            profile: self.profile.unwrap_or_else(|| profile.to_owned()),
            slot: self.slot.unwrap_or(small(place).saturating_add(1)),
            tray_index: self.tray_index.unwrap_or(small(place)),
            bmc: self.bmc.unwrap_or(loopback(BMC_PORT, place)),
            exporter: self.exporter.unwrap_or(loopback(EXPORTER_PORT, place)),
            bus_ids: self.bus_ids,
        }
    }
}

impl SwitchFile {
    fn at(self, place: usize) -> SwitchTray {
        SwitchTray {
            name: self.name.unwrap_or_else(|| format!("nvswitch-{place}")),
            chips: self.chips,
            ports_per_chip: self.ports_per_chip,
            slot: self.slot.unwrap_or(small(place).saturating_add(1)),
            bmc: self.bmc.unwrap_or(loopback(SWITCH_BMC_PORT, place)),
        }
    }
}

fn small(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}

fn loopback(first_port: u16, place: usize) -> SocketAddr {
    let port = first_port.saturating_add(u16::from(small(place)));
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn profile() -> String {
    "gb200".to_owned()
}

const fn chips() -> u16 {
    2
}

const fn ports_per_chip() -> u16 {
    72
}

pub(super) const fn default_clique() -> CliqueId {
    CliqueId(32766)
}

pub(super) const fn rate_gbps() -> u32 {
    400
}

pub(super) const fn ib_ports() -> u16 {
    64
}

pub(super) fn fabric_address() -> SocketAddr {
    loopback(9370, 0)
}

pub(super) fn fabric_metrics() -> SocketAddr {
    loopback(9372, 0)
}

impl Default for DomainSettings {
    fn default() -> Self {
        Self { cluster_uuid: None, default_clique: default_clique() }
    }
}

impl Default for InfiniBand {
    fn default() -> Self {
        Self { hcas_per_tray: 0, rate_gbps: rate_gbps(), leaf: Vec::new(), spine: Vec::new() }
    }
}

impl Default for FabricSettings {
    fn default() -> Self {
        Self { address: fabric_address(), metrics: fabric_metrics(), nvlink_apply: NvlinkApply::default() }
    }
}
