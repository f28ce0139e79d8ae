//! The texts of /proc/driver/nvidia, as the open kernel module writes them. Only texts: whether
//! they are served from a plain tree or by FUSE is not known here.

use ghost_model::{Gpu, Machine, Profile};

/// A file below `driver/nvidia/` and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcFile {
    pub path: String,
    pub text: String,
}

/// Every file of this tray.
pub fn files(profile: &Profile, machine: &Machine) -> Vec<ProcFile> {
    let version = ProcFile { path: "version".to_owned(), text: version(profile) };
    let gpus = machine
        .gpus
        .iter()
        .map(|gpu| ProcFile { path: format!("gpus/{}/information", gpu.bus_id), text: information(profile, gpu) });
    [version].into_iter().chain(gpus).collect()
}

fn version(profile: &Profile) -> String {
    let driver = &profile.product.driver_version;
    format!(
        "NVRM version: NVIDIA UNIX Open Kernel Module for {}  {driver}  Release Build  (emulated)\nGCC version:\n",
        std::env::consts::ARCH
    )
}

fn information(profile: &Profile, gpu: &Gpu) -> String {
    let product = &profile.product;
    format!(
        "Model: \t\t {}\nIRQ:   \t\t 255\nGPU UUID: \t GPU-{}\nVideo BIOS: \t {}\nBus Type: \t PCIe\n\
         DMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t {}\nDevice Minor: \t {}\n\
         GPU Firmware: \t {}\nGPU Excluded:\t No\n",
        product.name,
        gpu.identity.uuid,
        product.vbios_version.to_lowercase(),
        gpu.bus_id,
        gpu.index,
        product.driver_version,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvl8;

    #[test]
    fn slurm_finds_model_and_minor_where_it_looks_for_them() {
        let hardware = nvl8();
        let files = files(hardware.profile, &hardware.machine);
        assert_eq!(files.len(), 5);
        assert_eq!(files[3].path, "gpus/0018:01:00.0/information");
        assert!(files[3].text.contains("Model: \t\t NVIDIA GB200\n") && files[3].text.contains("Device Minor: \t 2\n"));
        assert!(files[0].text.starts_with("NVRM version: NVIDIA UNIX Open Kernel Module for "));
        assert!(files[0].text.contains("  580.95.05  "));
    }
}
