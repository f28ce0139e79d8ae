//! What setters say: each one is a `Change`, applied by ghostd alone.
//! Nothing is checked here that ghostd checks; permission is the kernel's word about the caller, not ours.

use ghost_model::{Change, ComputeMode};

use crate::gpu::Device;
use crate::{Answer, Error};

pub fn power_limit(device: Device, milliwatts: u32) -> Answer {
    device.tray().apply(&Change::PowerLimit { gpu: device.model_index(), milliwatts })
}

pub fn lock_clocks(device: Device, min_mhz: u32, max_mhz: u32) -> Answer {
    device.tray().apply(&Change::ClocksLock { gpu: device.model_index(), min_mhz, max_mhz })
}

pub fn free_clocks(device: Device) -> Answer {
    device.tray().apply(&Change::ClocksReset { gpu: device.model_index() })
}

pub fn persistence(device: Device, enabled: bool) -> Answer {
    device.tray().apply(&Change::Persistence { gpu: device.model_index(), enabled })
}

/// 0 default, 2 prohibited, 3 exclusive process; exclusive thread (1) is no more.
pub fn compute_mode(device: Device, mode: u32) -> Answer {
    let mode = match mode {
        0 => ComputeMode::Default,
        1 => return Err(Error::NotSupported),
        2 => ComputeMode::Prohibited,
        3 => ComputeMode::ExclusiveProcess,
        _ => return Err(Error::InvalidArgument),
    };
    device.tray().apply(&Change::ComputeMode { gpu: device.model_index(), mode })
}

pub fn ecc_mode(device: Device, enabled: bool) -> Answer {
    device.tray().apply(&Change::EccMode { gpu: device.model_index(), enabled })
}

pub fn clear_ecc(device: Device) -> Answer {
    device.tray().apply(&Change::EccClear { gpu: device.model_index() })
}

pub fn reset(device: Device) -> Answer {
    device.tray().apply(&Change::GpuReset { gpu: device.model_index() })
}
