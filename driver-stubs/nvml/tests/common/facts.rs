//! What ghostd publishes of an idle GB200 tray; for unit tests, integration tests and the example.
//! Nothing here moves by itself.

use ghost_engine::layout::{Facts, set_text};
use ghost_model::Profile;

/// What ghostd publishes of a tray on which nothing runs.
pub fn idle(facts: &mut Facts, profile: &Profile) {
    set_text(&mut facts.tray.driver_version, &profile.product.driver_version);
    set_text(&mut facts.tray.chassis_serial, "1820000000001");
    (facts.tray.cuda_version, facts.tray.gpu_count, facts.tray.power_on) = (13000, 4, 1);
    (facts.tray.slot, facts.tray.tray_index, facts.tray.host_id) = (14, 4, 1);
    for (place, gpu) in facts.gpus.iter_mut().take(4).enumerate() {
        let bus = profile.topology.bus_ids[place];
        gpu.identity.uuid = [place as u8; 16];
        set_text(&mut gpu.identity.serial, ["1650000000001", "1650000000002"][place / 2]);
        (gpu.identity.pci_domain, gpu.identity.pci_bus) = (bus.domain, bus.bus.into());
        (gpu.identity.minor, gpu.identity.module_id) = (place as u32, profile.topology.module_ids[place].into());
        gpu.identity.numa_node = profile.topology.numa_nodes[place].into();
        (gpu.identity.pdi, gpu.identity.fabric_guid) = (0x10 + place as u64, 0x20 + place as u64);
        gpu.live.power_average_milliwatts = 165_930;
        gpu.live.power_instant_milliwatts = 166_100;
        (gpu.live.memory_power_milliwatts, gpu.live.module_power_milliwatts) = (30_260, 467_170);
        (gpu.live.temperature_millicelsius, gpu.live.memory_temperature_millicelsius) = (27_400, 27_000);
        (gpu.live.graphics_clock_mhz, gpu.live.sm_clock_mhz) = (120, 120);
        (gpu.live.memory_clock_mhz, gpu.live.video_clock_mhz) = (3996, 600);
        gpu.live.clocks_event_reasons = 1;
        gpu.modes.power_limit_milliwatts = 1_200_000;
        gpu.modes.power_limit_requested_milliwatts = 1_200_000;
        (gpu.modes.persistence, gpu.modes.ecc, gpu.modes.ecc_pending) = (1, 1, 1);
        (gpu.fabric.cluster_uuid, gpu.fabric.clique, gpu.fabric.state) = ([9; 16], 32766, 3);
        (gpu.fabric.health_mask, gpu.fabric.health_summary) = (0b1010_1010, 1);
        for link in &mut gpu.links {
            (link.up, link.admin_up, link.far_end_up, link.speed_mbps) = (1, 1, 1, 50_000);
        }
    }
}
