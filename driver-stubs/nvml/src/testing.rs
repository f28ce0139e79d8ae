//! A tray for unit tests: a facts page published by the test itself, seen by this thread only.
//! No socket, no ghostd, no global state, so tests run side by side.

use std::cell::Cell;
use std::sync::Mutex;

use ghost_engine::facts::{Publisher, Reader};
use ghost_engine::layout::{Facts, set_text};
use ghost_model::Profile;

use crate::session::Tray;

thread_local! {
    static TRAY: Cell<Option<&'static Tray>> = const { Cell::new(None) };
}

/// The tray of this thread's test.
pub fn current() -> Option<&'static Tray> {
    TRAY.get()
}

/// The publishing end.
pub struct Bench {
    publisher: Mutex<Publisher>,
}

impl Bench {
    pub fn edit(&self, edit: impl FnOnce(&mut Facts)) {
        self.publisher.lock().unwrap().publish(edit);
    }

    pub fn alarm(&self) {
        self.publisher.lock().unwrap().alarm();
    }

    /// ghostd goes away in good order.
    pub fn close(&self) {
        self.publisher.lock().unwrap().close();
    }
}

/// An idle GB200 tray of four GPUs, then `edit`.
pub fn tray(edit: impl FnOnce(&mut Facts)) -> Bench {
    tray_seeing(vec![0, 1, 2, 3], edit)
}

/// The same, seen by a process that may open only some nodes.
pub fn tray_seeing(visible: Vec<u8>, edit: impl FnOnce(&mut Facts)) -> Bench {
    let profile = Profile::named("gb200").unwrap();
    let mut publisher = Publisher::new(7, &serde_json::to_string(profile).unwrap()).unwrap();
    publisher.publish(|facts| {
        idle(facts, profile);
        edit(facts);
    });
    let reader = Reader::new(publisher.fd()).unwrap();
    TRAY.set(Some(Box::leak(Box::new(Tray::of_page(reader, visible).unwrap()))));
    Bench { publisher: Mutex::new(publisher) }
}

/// What ghostd publishes of a tray on which nothing runs.
fn idle(facts: &mut Facts, profile: &Profile) {
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
            (link.up, link.admin_up, link.far_end_up, link.speed_mbps) = (1, 1, 1, 53_125);
        }
    }
}
