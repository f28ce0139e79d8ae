//! The tray's hardware as ghostd needs it. A stand-in until the model's machine is here.

use ghost_engine::layout::{self, Facts, MAX_GPUS};

#[derive(Debug)]
pub struct Machine {
    gpus: usize,
    tray: u32,
}

const MIB: u64 = 1 << 20;

impl Machine {
    pub fn new(tray: u32) -> Machine {
        Machine { gpus: 4, tray }
    }

    pub fn gpu_count(&self) -> usize {
        self.gpus
    }

    pub fn profile_json(&self) -> String {
        "{}".to_owned()
    }

    pub fn usable_bytes(&self) -> [u64; MAX_GPUS] {
        [(189_471 - 742) * MIB; MAX_GPUS]
    }

    pub fn context_bytes(&self) -> u64 {
        600 * MIB
    }

    pub fn link_count(&self) -> usize {
        18
    }

    pub fn fill(&self, facts: &mut Facts) {
        layout::set_text(&mut facts.tray.name, &format!("tray-{}", self.tray));
        layout::set_text(&mut facts.tray.driver_version, "580.95.05");
        facts.tray.cuda_version = 13000;
        facts.tray.tray_index = self.tray;
        facts.tray.gpu_count = self.gpus as u32;
        facts.tray.power_on = 1;
        for (i, gpu) in facts.gpus.iter_mut().take(self.gpus).enumerate() {
            gpu.identity.uuid = [(self.tray as u8) << 4 | i as u8 | 0x40; 16];
            layout::set_text(&mut gpu.identity.serial, "1650000000000");
            gpu.identity.pci_domain = [8, 9, 0x18, 0x19][i];
            gpu.identity.pci_bus = 1;
            gpu.identity.minor = i as u32;
            gpu.identity.module_id = [2, 1, 4, 3][i];
            gpu.modes.power_limit_milliwatts = 1_200_000;
            gpu.modes.power_limit_requested_milliwatts = 1_200_000;
            gpu.modes.persistence = 1;
            gpu.modes.ecc = 1;
            gpu.modes.ecc_pending = 1;
            for link in gpu.links.iter_mut().take(18) {
                (link.up, link.admin_up, link.far_end_up, link.speed_mbps) = (1, 1, 1, 50_000);
            }
        }
    }
}
