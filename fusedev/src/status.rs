//! The tray in words: what `ghostrack status --json` shows. It changes nothing.

use ghost_engine::clock::now_ns;
use ghost_engine::layout::{self, GpuFacts};
use serde::Serialize;

use crate::tray::Tray;

/// A tray's status. Fields may be added, never renamed.
#[derive(Debug, Serialize)]
pub struct TrayStatus {
    pub tray: u32,
    pub name: String,
    /// How far up the ladder of device nodes this tray got.
    pub rung: &'static str,
    /// Why it is not higher.
    pub rung_reason: &'static str,
    pub version: &'static str,
    pub pid: u32,
    /// Sixteen hexadecimal digits, new at every start.
    pub boot_id: String,
    pub uptime_seconds: u64,
    pub driver_version: String,
    /// How far the telemetry tick lags behind its schedule.
    pub host_behind_milliseconds: u64,
    pub power_on: bool,
    pub gpus: Vec<GpuStatus>,
    pub holders: Vec<HolderStatus>,
    /// Different functions without an implementation that programs have called.
    pub missing_count: usize,
    /// Why the last change could not be saved; such changes are refused.
    pub save_error: Option<String>,
    /// Programs that could not be redirected.
    pub unredirected: Vec<String>,
}

/// One GPU.
#[derive(Debug, Serialize)]
pub struct GpuStatus {
    pub index: usize,
    pub uuid: String,
    pub serial: String,
    pub bus_id: String,
    pub module_id: u32,
    pub lost: bool,
    pub reset_pending: bool,
    pub recovery_action: u32,
    pub compute_mode: u32,
    pub power_limit_milliwatts: u32,
    pub memory_used_bytes: u64,
    pub memory_usable_bytes: u64,
    pub gpu_utilization_percent: u32,
    pub power_milliwatts: u32,
    pub temperature_millicelsius: i32,
    pub sm_clock_mhz: u32,
    pub energy_millijoules: u64,
    pub cluster_uuid: String,
    pub clique: u32,
    pub partition: u32,
    pub links_up: usize,
    pub links: Vec<LinkStatus>,
    pub xid_count: u64,
    pub last_xid: Option<u32>,
}

/// One NVLink.
#[derive(Debug, Serialize)]
pub struct LinkStatus {
    pub up: bool,
    pub admin_up: bool,
    pub far_end_up: bool,
    pub fault: u32,
}

/// One process on one GPU.
#[derive(Debug, Serialize)]
pub struct HolderStatus {
    pub gpu: usize,
    pub pid: u32,
    pub uid: u32,
    pub name: String,
    pub used_bytes: u64,
    pub gpu_utilization_percent: u32,
}

impl Tray {
    pub(crate) fn status_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.status()).unwrap_or_default()
    }

    /// The status now.
    pub fn status(&self) -> TrayStatus {
        let facts = self.publisher.draft();
        TrayStatus {
            tray: u32::from(self.hardware.machine.tray.0),
            name: layout::text(&facts.tray.name).to_owned(),
            rung: "plain-tree",
            rung_reason: "device nodes by FUSE are not part of this version",
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            boot_id: format!("{:016x}", self.boot_id),
            uptime_seconds: now_ns().saturating_sub(self.started_ns) / 1_000_000_000,
            driver_version: layout::text(&facts.tray.driver_version).to_owned(),
            host_behind_milliseconds: facts.tray.host_behind_ns / 1_000_000,
            power_on: facts.tray.power_on == 1,
            gpus: facts.gpus[..self.gpus.len()].iter().enumerate().map(|(i, gpu)| self.gpu_status(i, gpu)).collect(),
            holders: self.holder_status(),
            missing_count: self.calls.missing_count(),
            save_error: self.save_error.clone(),
            unredirected: self.calls.programs().to_vec(),
        }
    }

    fn gpu_status(&self, index: usize, gpu: &GpuFacts) -> GpuStatus {
        let id = &gpu.identity;
        let links: Vec<LinkStatus> = gpu.links[..usize::from(self.hardware.profile.nvlink.links)]
            .iter()
            .map(|l| LinkStatus {
                up: l.up == 1,
                admin_up: l.admin_up == 1,
                far_end_up: l.far_end_up == 1,
                fault: l.fault,
            })
            .collect();
        let last = gpu.xid_count.checked_sub(1).map(|i| gpu.xids[(i % gpu.xids.len() as u64) as usize].code);
        GpuStatus {
            index,
            uuid: format!("GPU-{}", uuid(&id.uuid)),
            serial: layout::text(&id.serial).to_owned(),
            bus_id: format!("{:04x}:{:02x}:{:02x}.0", id.pci_domain, id.pci_bus, id.pci_device),
            module_id: id.module_id,
            lost: gpu.modes.lost == 1,
            reset_pending: gpu.modes.reset_pending == 1,
            recovery_action: gpu.modes.recovery_action,
            compute_mode: gpu.modes.compute_mode,
            power_limit_milliwatts: gpu.modes.power_limit_milliwatts,
            memory_used_bytes: gpu.live.memory_used_bytes,
            memory_usable_bytes: self.hardware.profile.memory.usable_bytes(),
            gpu_utilization_percent: gpu.live.gpu_utilization,
            power_milliwatts: gpu.live.power_average_milliwatts,
            temperature_millicelsius: gpu.live.temperature_millicelsius,
            sm_clock_mhz: gpu.live.sm_clock_mhz,
            energy_millijoules: gpu.live.energy_millijoules,
            cluster_uuid: uuid(&gpu.fabric.cluster_uuid),
            clique: gpu.fabric.clique,
            partition: gpu.fabric.partition,
            links_up: links.iter().filter(|l| l.up).count(),
            links,
            xid_count: gpu.xid_count,
            last_xid: last,
        }
    }

    fn holder_status(&self) -> Vec<HolderStatus> {
        let facts = self.publisher.draft();
        let utilization = |pid, gpu| {
            let mut listed = facts.processes[..facts.tray.process_count as usize].iter();
            listed.find(|p| p.pid == pid && p.gpu as usize == gpu).map_or(0, |p| p.gpu_utilization)
        };
        self.ledger
            .contexts()
            .filter_map(|(id, gpu, account)| {
                let holder = self.holders.get(id)?;
                Some(HolderStatus {
                    gpu,
                    pid: holder.peer.pid,
                    uid: holder.peer.uid,
                    name: holder.name.clone(),
                    used_bytes: account.used_bytes(),
                    gpu_utilization_percent: utilization(holder.peer.pid, gpu),
                })
            })
            .collect()
    }
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
