//! Where in the rack a GPU sits, how it shares addresses with its CPU, and small facts of the whole platform.
//! PCI is in `pcie`, NVLink membership in `fabric`.

use ghost_abi::{AnyVersion, InOut, Out};
use ghost_model::profile::AddressingMode as Addressing;

use crate::structs::{AddressingMode, Capabilities, GpmSupport, Pdi, PlatformInfoV1, PlatformInfoV2, put, text};
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetPlatformInfo(gpu: Gpu, info: AnyVersion) => info;
    fn nvmlDeviceGetModuleId(gpu: Gpu, module: Out<u32>) => module;
    fn nvmlDeviceGetPdi(gpu: Gpu, pdi: InOut<Pdi>) => pdi;
    fn nvmlDeviceGetC2cModeInfoV(gpu: Gpu, enabled: Out<u32>) => c2c;
    fn nvmlDeviceGetAddressingMode(gpu: Gpu, mode: InOut<AddressingMode>) => addressing_mode;
    fn nvmlDeviceGetCapabilities(gpu: Gpu, capabilities: InOut<Capabilities>) => capabilities;
    fn nvmlDeviceGetVirtualizationMode(gpu: Gpu, mode: Out<u32>) => virtualization;
    fn nvmlDeviceGetHostVgpuMode(gpu: Gpu, mode: Out<u32>) => no_vgpu;
    fn nvmlDeviceGetVgpuHeterogeneousMode(gpu: Gpu, mode: *mut u32) => no_vgpu_struct;
    fn nvmlDeviceGetGridLicensableFeatures(gpu: Gpu, features: *mut u32) => no_vgpu_struct;
    fn nvmlDeviceGetGridLicensableFeatures_v2(gpu: Gpu, features: *mut u32) => no_vgpu_struct;
    fn nvmlDeviceGetGridLicensableFeatures_v3(gpu: Gpu, features: *mut u32) => no_vgpu_struct;
    fn nvmlDeviceGetGridLicensableFeatures_v4(gpu: Gpu, features: *mut u32) => no_vgpu_struct;
    fn nvmlDeviceGetVgpuCapabilities(gpu: Gpu, capability: u32, value: *mut u32) => no_vgpu_capability;
    fn nvmlDeviceGetDriverModel(gpu: Gpu, current: Out<u32>, pending: Out<u32>) => windows_only;
    fn nvmlDeviceGetDriverModel_v2(gpu: Gpu, current: Out<u32>, pending: Out<u32>) => windows_only;
    fn nvmlDeviceGetGpuOperationMode(gpu: Gpu, current: Out<u32>, pending: Out<u32>) => no_operation_mode;
    fn nvmlDeviceGetLastBBXFlushTime(gpu: Gpu, at: Out<u64>, duration_us: Out<u64>) => no_black_box;
    fn nvmlGpmQueryDeviceSupport(gpu: Gpu, support: InOut<GpmSupport>) => gpm_support;
}

/// Peer type: 0 direct, 1 through a switch.
const PEER_IS_SWITCH: u8 = 1;

fn info(gpu: Gpu, info: AnyVersion) -> Answer {
    let device = gpu.open()?;
    let (identity, tray) = (device.identity(), device.facts().tray());
    let mut guid = [0; 16];
    guid[8..].copy_from_slice(&identity.fabric_guid.to_be_bytes());
    let (chassis, slot, host) = (put(text(&tray.chassis_serial)), tray.slot as u8, tray.host_id as u8);
    let (tray, module) = (tray.tray_index as u8, identity.module_id as u8);
    let peer = PEER_IS_SWITCH;
    info.word()?;
    if let Some(out) = info.of::<PlatformInfoV1>() {
        let blank = PlatformInfoV1::blank();
        return Ok(out.set(PlatformInfoV1 { guid, chassis, slot, tray, host, peer, module, ..blank })?);
    }
    let out = info.of::<PlatformInfoV2>().ok_or(Error::ArgumentVersionMismatch)?;
    let blank = PlatformInfoV2::blank();
    Ok(out.set(PlatformInfoV2 { guid, chassis, slot, tray, host, peer, module, ..blank })?)
}

fn module(gpu: Gpu, module: Out<u32>) -> Answer {
    Ok(module.set(gpu.open()?.identity().module_id)?)
}

fn pdi(gpu: Gpu, pdi: InOut<Pdi>) -> Answer {
    let device = gpu.open()?;
    let asked = pdi.checked()?;
    Ok(pdi.set(Pdi { value: device.identity().pdi, ..asked })?)
}

/// The struct of this call is one word without a version.
fn c2c(gpu: Gpu, enabled: Out<u32>) -> Answer {
    Ok(enabled.set(gpu.open()?.profile().topology.c2c_enabled.into())?)
}

/// 0 none, 1 HMM, 2 ATS.
pub fn addressing_number(mode: Addressing) -> u32 {
    match mode {
        Addressing::None => 0,
        Addressing::Hmm => 1,
        Addressing::Ats => 2,
    }
}

fn addressing_mode(gpu: Gpu, mode: InOut<AddressingMode>) -> Answer {
    let device = gpu.open()?;
    let asked = mode.checked()?;
    let value = addressing_number(device.profile().topology.addressing_mode);
    Ok(mode.set(AddressingMode { value, ..asked })?)
}

fn capabilities(gpu: Gpu, capabilities: InOut<Capabilities>) -> Answer {
    let device = gpu.open()?;
    let asked = capabilities.checked()?;
    let mask = device.profile().topology.egm_enabled.into();
    Ok(capabilities.set(Capabilities { mask, ..asked })?)
}

/// 0 = none: bare metal.
fn virtualization(gpu: Gpu, mode: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(mode.set(0)?)
}

fn not_here(gpu: Gpu) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

fn no_vgpu(gpu: Gpu, _mode: Out<u32>) -> Answer {
    not_here(gpu)
}

fn no_vgpu_struct(gpu: Gpu, _features: *mut u32) -> Answer {
    not_here(gpu)
}

fn no_vgpu_capability(gpu: Gpu, _capability: u32, _value: *mut u32) -> Answer {
    not_here(gpu)
}

fn windows_only(gpu: Gpu, _current: Out<u32>, _pending: Out<u32>) -> Answer {
    not_here(gpu)
}

fn no_operation_mode(gpu: Gpu, _current: Out<u32>, _pending: Out<u32>) -> Answer {
    not_here(gpu)
}

fn no_black_box(gpu: Gpu, _at: Out<u64>, _duration_us: Out<u64>) -> Answer {
    not_here(gpu)
}

/// GPM's metrics are not emulated; saying so makes clients fall back to utilisation.
fn gpm_support(gpu: Gpu, support: InOut<GpmSupport>) -> Answer {
    gpu.open()?;
    let asked = support.checked()?;
    Ok(support.set(GpmSupport { supported: 0, ..asked })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_gpu_knows_its_place_in_the_rack() {
        testing::tray(|_| ());
        let mut place = PlatformInfoV2::blank();
        // SAFETY: borrows a live struct of the version its word says.
        let lens = unsafe { AnyVersion::from_raw((&raw mut place).cast()) };
        info(Gpu::of(2), lens).unwrap();
        assert_eq!((place.slot, place.tray, place.host, place.peer, place.module), (14, 4, 1, 1, 4));
        assert_eq!((text(&place.chassis), place.guid[15]), ("1820000000001", 0x22));
    }
}
