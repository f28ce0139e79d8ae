//! From the hardware to the facts page: one assignment per fact, nothing computed that the model can say.
//! What moves by itself (utilisation, power, memory) is not shown here.

use ghost_engine::layout::{self, Facts, GpuFacts, HcaFacts, LinkFacts, XID_RING, XidEntry};
use ghost_model::{ComputeMode, Gpu, LinkFaultKind, LinkState, Machine, PowerState, Profile, RecoveryAction};

use crate::hardware::{Hardware, Wear};

/// NVML: bandwidth full, no route recovery, no unhealthy route, no access timeout recovery.
const FABRIC_HEALTHY_MASK: u32 = 0b1010_1010;
const FABRIC_HEALTHY: u32 = 1;
const FABRIC_NOT_STARTED: u32 = 1;
const FABRIC_COMPLETED: u32 = 3;

/// Shows everything that changes only by a change.
pub fn hardware(hardware: &Hardware, facts: &mut Facts) {
    let Hardware { profile, machine, wear } = hardware;
    tray(profile, machine, facts);
    for ((gpu, wear), shown) in machine.gpus.iter().zip(wear).zip(&mut facts.gpus) {
        identity(profile, gpu, shown);
        modes(gpu, wear, shown);
        ecc(gpu, shown);
        fabric(gpu, machine.power, shown);
        links(profile, gpu, wear, shown);
        xids(gpu, wear, shown);
    }
    for (hca, shown) in machine.hcas.iter().zip(&mut facts.hcas) {
        let up = u32::from(machine.hca_up(hca));
        *shown = HcaFacts { guid: hca.guid, up, speed_gbps: hca.rate_gbps, ..*shown };
        layout::set_text(&mut shown.name, &hca.name);
    }
}

fn tray(profile: &Profile, machine: &Machine, facts: &mut Facts) {
    let tray = &mut facts.tray;
    layout::set_text(&mut tray.name, &machine.name);
    layout::set_text(&mut tray.driver_version, &profile.product.driver_version);
    layout::set_text(&mut tray.chassis_serial, &machine.identity.chassis_serial);
    tray.cuda_version = profile.product.cuda_driver_version;
    tray.tray_index = u32::from(machine.tray_index);
    tray.slot = u32::from(machine.slot);
    tray.host_id = u32::from(profile.product.host_id);
    tray.gpu_count = machine.gpus.len() as u32;
    tray.hca_count = machine.hcas.len() as u32;
    tray.power_on = u32::from(machine.power == PowerState::On);
}

fn identity(profile: &Profile, gpu: &Gpu, shown: &mut GpuFacts) {
    let identity = &mut shown.identity;
    identity.uuid = gpu.identity.uuid.0;
    layout::set_text(&mut identity.serial, &gpu.identity.serial);
    identity.pci_domain = gpu.bus_id.domain;
    identity.pci_bus = u32::from(gpu.bus_id.bus);
    identity.pci_device = u32::from(gpu.bus_id.device);
    identity.minor = u32::from(gpu.index.0);
    identity.module_id = u32::from(gpu.module_id);
    identity.numa_node = profile.topology.numa_nodes.get(gpu.index.index()).copied().map_or(0, u32::from);
    identity.pdi = gpu.identity.pdi;
    identity.fabric_guid = gpu.identity.fabric_guid;
}

fn modes(gpu: &Gpu, wear: &Wear, shown: &mut GpuFacts) {
    let modes = &mut shown.modes;
    let lock = gpu.limits.sm_lock;
    modes.power_limit_milliwatts = gpu.limits.power_milliwatts;
    modes.power_limit_requested_milliwatts = gpu.limits.power_milliwatts;
    modes.locked_graphics_min_mhz = lock.map_or(0, |lock| lock.min_mhz);
    modes.locked_graphics_max_mhz = lock.map_or(0, |lock| lock.max_mhz);
    modes.persistence = u32::from(gpu.modes.persistence);
    modes.compute_mode = match gpu.modes.compute {
        ComputeMode::Default => 0,
        ComputeMode::Prohibited => 2,
        ComputeMode::ExclusiveProcess => 3,
    };
    modes.ecc = u32::from(gpu.ecc.mode.current);
    modes.ecc_pending = u32::from(gpu.ecc.mode.pending);
    modes.lost = u32::from(gpu.lost);
    modes.reset_pending = u32::from(gpu.reset_pending);
    modes.recovery_action = match gpu.recovery_action() {
        RecoveryAction::None => 0,
        RecoveryAction::Reset => 1,
        RecoveryAction::Reboot => 2,
    };
    modes.fault_epoch = wear.fault_epoch;
    modes.fault_xid = u64::from(wear.fault_xid);
}

fn ecc(gpu: &Gpu, shown: &mut GpuFacts) {
    let (ecc, volatile, aggregate) = (&mut shown.ecc, &gpu.ecc.volatile, &gpu.ecc.aggregate);
    ecc.volatile_sram_corrected = volatile.sram_corrected;
    ecc.volatile_sram_uncorrected = volatile.sram_uncorrected;
    ecc.volatile_dram_corrected = volatile.dram_corrected;
    ecc.volatile_dram_uncorrected = volatile.dram_uncorrected;
    ecc.aggregate_sram_corrected = aggregate.sram_corrected;
    ecc.aggregate_sram_uncorrected = aggregate.sram_uncorrected;
    ecc.aggregate_dram_corrected = aggregate.dram_corrected;
    ecc.aggregate_dram_uncorrected = aggregate.dram_uncorrected;
    ecc.remapped_corrected = gpu.rows.corrected;
    ecc.remapped_uncorrected = gpu.rows.uncorrected;
    ecc.remap_pending = u32::from(gpu.rows.pending());
    ecc.remap_failed = u32::from(gpu.rows.failure);
}

fn fabric(gpu: &Gpu, power: PowerState, shown: &mut GpuFacts) {
    let fabric = &mut shown.fabric;
    let registered = gpu.fabric.partition.is_some() && !gpu.lost && power == PowerState::On;
    fabric.cluster_uuid = gpu.fabric.cluster_uuid.0;
    fabric.clique = gpu.fabric.clique.0;
    fabric.clique_pending = gpu.fabric.pending_clique.map_or(0, |clique| clique.0);
    fabric.partition = gpu.fabric.partition.map_or(0, |partition| u32::from(partition.get()));
    fabric.state = if registered { FABRIC_COMPLETED } else { FABRIC_NOT_STARTED };
    fabric.health_mask = FABRIC_HEALTHY_MASK;
    fabric.health_summary = FABRIC_HEALTHY;
}

fn links(profile: &Profile, gpu: &Gpu, wear: &Wear, shown: &mut GpuFacts) {
    // link_megabytes_per_second and NVML's speed share their unit, MB/s
    let speed_mbps = u32::try_from(profile.nvlink.link_megabytes_per_second).unwrap_or(u32::MAX);
    for ((link, worn), shown) in gpu.links.iter().zip(&wear.links).zip(&mut shown.links) {
        *shown = LinkFacts {
            up: u32::from(link.state == LinkState::Up),
            admin_up: u32::from(link.enabled),
            fault: link.fault.map_or(0, |fault| match fault.kind {
                LinkFaultKind::Training => 1,
                LinkFaultKind::SignalLoss => 2,
                LinkFaultKind::BitErrors => 3,
            }),
            far_end_up: u32::from(link.far_end_up),
            speed_mbps,
            downed_count: worn.downed,
            recovery_count: worn.recovered,
            ..*shown
        };
    }
}

/// The ring holds the model's last Xids, the newest at `(count - 1) % XID_RING`.
fn xids(gpu: &Gpu, wear: &Wear, shown: &mut GpuFacts) {
    let blank = XidEntry { at_ns: 0, code: 0, pid: 0 };
    shown.xids = [blank; XID_RING];
    shown.xid_count = wear.xid_count.max(gpu.xids.len() as u64);
    let first = shown.xid_count - gpu.xids.len() as u64;
    for (xid, place) in gpu.xids.iter().zip(first..) {
        let entry = XidEntry { at_ns: xid.time_ns, code: xid.code, pid: xid.pid.unwrap_or(0) };
        shown.xids[(place % XID_RING as u64) as usize] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvl8;
    use ghost_model::{Change, GpuIndex, LinkIndex};

    const GPU: GpuIndex = GpuIndex(2);

    fn shown(hardware: &Hardware) -> Box<Facts> {
        let mut facts = Box::new(Facts::ZERO);
        super::hardware(hardware, &mut facts);
        facts
    }

    #[test]
    fn a_healthy_tray_reads_as_the_capture_does() {
        let facts = shown(&nvl8());
        assert_eq!((facts.tray.gpu_count, facts.tray.hca_count, facts.tray.power_on), (4, 4, 1));
        assert_eq!(layout::text(&facts.tray.driver_version), "580.95.05");
        let gpu = &facts.gpus[2];
        assert_eq!((gpu.identity.pci_domain, gpu.identity.pci_bus, gpu.identity.module_id), (0x18, 1, 4));
        assert_eq!((gpu.modes.power_limit_milliwatts, gpu.modes.ecc, gpu.fabric.state), (1_200_000, 1, 3));
        assert_eq!(gpu.links.iter().filter(|link| link.up == 1 && link.speed_mbps == 50_000).count(), 18);
    }

    #[test]
    fn a_fault_that_is_cleared_leaves_the_facts_as_they_were_but_for_its_counters() {
        let mut hardware = nvl8();
        let before = shown(&hardware);
        let fault = |up| Change::LinkFarEnd { gpu: GPU, link: LinkIndex(3), up };
        hardware.apply(&fault(false)).unwrap();
        let broken = shown(&hardware).gpus[2].links[3];
        assert_eq!((broken.up, broken.far_end_up, broken.admin_up), (0, 0, 1));
        hardware.apply(&fault(true)).unwrap();
        let after = shown(&hardware).gpus[2].links[3];
        assert_eq!((after.up, after.downed_count), (before.gpus[2].links[3].up, 1));
    }

    #[test]
    fn the_newest_xid_is_where_readers_look_for_it() {
        let mut hardware = nvl8();
        for code in 0..100 {
            hardware.apply(&Change::Xid { gpu: GPU, code: 1000 + code, pid: Some(7), time_ns: 5 }).unwrap();
        }
        let gpu = &shown(&hardware).gpus[2];
        let newest = gpu.xids[((gpu.xid_count - 1) % XID_RING as u64) as usize];
        assert_eq!((gpu.xid_count, newest.code, newest.pid), (100, 1099, 7));
    }
}
