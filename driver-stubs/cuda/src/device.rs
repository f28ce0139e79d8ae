//! Devices: how many, who they are, what they can. Answers come from profile and facts page; nothing changes here.

use std::ffi::{c_char, c_void};

use ghost_abi::{CStrIn, Out, OutList, Text};

use crate::driver::Driver;
use crate::{Cuda, Error, driver};

ghost_abi::rows! { Cuda;
    fn cuDeviceGet(device: Out<i32>, ordinal: i32) => get;
    fn cuDeviceGetCount(count: Out<i32>) => count;
    fn cuDeviceGetName(name: Text, len: i32, device: i32) => name;
    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) => uuid;
    since 11040 fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) => uuid;
    since 3020 fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) => total_mem;
    fn cuDeviceGetAttribute(value: Out<i32>, attribute: i32, device: i32) => attribute;
    fn cuDeviceGetPCIBusId(text: Text, len: i32, device: i32) => pci_bus_id;
    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: CStrIn) => by_pci_bus_id;
    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) => can_access_peer;
    fn cuDeviceGetP2PAttribute(value: Out<i32>, attribute: i32, source: i32, destination: i32) => p2p_attribute;
    fn cuDeviceGetLuid(luid: *mut c_char, mask: *mut u32, device: i32);
    fn cuDeviceGetExecAffinitySupport(value: Out<i32>, kind: i32, device: i32) => exec_affinity;
    fn cuDeviceGetTexture1DLinearMaxWidth(width: Out<usize>, format: i32, channels: u32, device: i32) => texture_width;
    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) => capability;
    fn cuDeviceGetProperties(properties: OutList<i32>, device: i32) => properties;
    fn cuDeviceGetNvSciSyncAttributes(list: *mut c_void, device: i32, flags: i32);
}

fn get(device: Out<i32>, ordinal: i32) -> Result<(), Error> {
    driver::get()?.core().device(ordinal)?;
    Ok(device.set(ordinal)?)
}

fn count(count: Out<i32>) -> Result<(), Error> {
    Ok(count.set(driver::get()?.core().devices.len() as i32)?)
}

fn name(name: Text, len: i32, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.core().device(device)?;
    let capacity = usize::try_from(len).map_err(|_| Error::InvalidValue)?;
    Ok(name.set_truncated(capacity, &driver.profile.product.name)?)
}

fn uuid(uuid: Out<[u8; 16]>, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let gpu = driver.core().device(device)?.gpu;
    Ok(uuid.set(driver.client.facts().identity(gpu).uuid)?)
}

fn total_mem(bytes: Out<usize>, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.core().device(device)?;
    Ok(bytes.set(driver.profile.memory.usable_bytes() as usize)?)
}

fn capability(major: Out<i32>, minor: Out<i32>, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.core().device(device)?;
    let [a, b] = driver.profile.product.compute_capability;
    major.set(a.into())?;
    Ok(minor.set(b.into())?)
}

/// The pre-5.0 property struct: ten integers beginning with the threads per block.
fn properties(properties: OutList<i32>, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let gpu = driver.core().device(device)?.gpu;
    let read = |id| attribute_value(driver, gpu, id).unwrap_or(0);
    let order = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    properties.fill(order.len(), order.into_iter().map(read))?;
    Ok(())
}

fn exec_affinity(value: Out<i32>, _kind: i32, device: i32) -> Result<(), Error> {
    driver::get()?.core().device(device)?;
    Ok(value.set(0)?)
}

fn texture_width(width: Out<usize>, _format: i32, channels: u32, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.core().device(device)?;
    if channels == 0 {
        return Err(Error::InvalidValue);
    }
    Ok(width.set(1 << 28)?)
}

fn pci_bus_id(text: Text, len: i32, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let gpu = driver.core().device(device)?.gpu;
    let at = driver.client.facts().identity(gpu);
    let capacity = usize::try_from(len).map_err(|_| Error::InvalidValue)?;
    Ok(text.set(capacity, &format!("{:04X}:{:02X}:{:02X}.0", at.pci_domain, at.pci_bus, at.pci_device))?)
}

fn by_pci_bus_id(device: Out<i32>, text: CStrIn) -> Result<(), Error> {
    let driver = driver::get()?;
    let wanted = text.get()?.to_str().ok().and_then(parse_bus_id).ok_or(Error::InvalidValue)?;
    let core = driver.core();
    let place = |gpu: usize| {
        let at = driver.client.facts().identity(gpu);
        (at.pci_domain, at.pci_bus, at.pci_device)
    };
    let found = core.devices.iter().position(|d| place(d.gpu) == wanted);
    Ok(device.set(found.ok_or(Error::InvalidDevice)? as i32)?)
}

/// `[domain:]bus:device[.function]`, hexadecimal.
fn parse_bus_id(text: &str) -> Option<(u32, u32, u32)> {
    let text = text.split('.').next()?;
    let parts: Vec<u32> = text.split(':').map(|p| u32::from_str_radix(p, 16).ok()).collect::<Option<_>>()?;
    match parts[..] {
        [domain, bus, device] => Some((domain, bus, device)),
        [bus, device] => Some((0, bus, device)),
        _ => None,
    }
}

fn can_access_peer(can: Out<i32>, device: i32, peer: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let core = driver.core();
    let (a, b) = (core.device(device)?.gpu, core.device(peer)?.gpu);
    Ok(can.set(i32::from(a != b && linked(driver, a, b)))?)
}

/// Two GPUs reach each other over NVLink when they are in one clique and each has a link up.
fn linked(driver: &Driver, a: usize, b: usize) -> bool {
    let facts = driver.client.facts();
    let up = |gpu| facts.gpu(gpu).links.iter().any(|l| l.up != 0);
    facts.fabric(a).clique == facts.fabric(b).clique && up(a) && up(b)
}

fn p2p_attribute(value: Out<i32>, attribute: i32, source: i32, destination: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let core = driver.core();
    let (a, b) = (core.device(source)?.gpu, core.device(destination)?.gpu);
    if a == b {
        return Err(Error::InvalidDevice);
    }
    let reach = i32::from(linked(driver, a, b));
    // 1 performance rank, 2 access, 3 native atomics, 4 array access, 5 only partial atomics
    Ok(value.set(match attribute {
        1 => 0,
        2..=4 => reach,
        5 => 0,
        _ => return Err(Error::InvalidValue),
    })?)
}

fn attribute(value: Out<i32>, attribute: i32, device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let gpu = driver.core().device(device)?.gpu;
    Ok(value.set(attribute_value(driver, gpu, attribute).ok_or(Error::InvalidValue)?)?)
}

/// A device attribute by its number in the driver API reference (`CUdevice_attribute`).
fn attribute_value(driver: &Driver, gpu: usize, attribute: i32) -> Option<i32> {
    let profile = &driver.profile;
    let identity = driver.client.facts().identity(gpu);
    let modes = driver.client.facts().modes(gpu);
    Some(match attribute {
        13 => profile.clocks.sm_max_mhz as i32 * 1000,
        20 => modes.compute_mode as i32,
        32 => modes.ecc as i32,
        33 => identity.pci_bus as i32,
        34 => identity.pci_device as i32,
        36 => profile.clocks.memory_mhz as i32 * 1000,
        37 => profile.memory.bus_width_bits as i32,
        50 => identity.pci_domain as i32,
        75 => profile.product.compute_capability[0].into(),
        76 => profile.product.compute_capability[1].into(),
        131 => identity.numa_node as i32,
        134 => (gpu / 2) as i32,
        139 => profile.pci.device_id as i32,
        140 => profile.pci.subsystem_id as i32,
        _ => return limit(&profile.cuda, attribute).or_else(|| capable(attribute)),
    })
}

/// Sizes and counts.
fn limit(cuda: &ghost_model::profile::CudaAttributes, attribute: i32) -> Option<i32> {
    let value = match attribute {
        1 => cuda.max_threads_per_block,
        2..=4 => cuda.max_block_dim[attribute as usize - 2],
        5..=7 => cuda.max_grid_dim[attribute as usize - 5],
        8 => cuda.shared_bytes_per_block,
        9 => cuda.constant_bytes,
        10 => cuda.warp_size,
        11 => cuda.max_pitch_bytes,
        12 => cuda.registers_per_block,
        14 => cuda.texture_alignment_bytes,
        16 => cuda.multiprocessors,
        21 | 55 => cuda.max_texture_1d,
        22 | 23 | 56 | 57 => cuda.max_texture_2d[(attribute as usize - 22) % 2],
        24..=26 => cuda.max_texture_3d[attribute as usize - 24],
        27 | 28 | 42 | 45 | 46 | 52 | 53 | 61 | 63 | 64 | 66 | 67 | 73 | 74 | 77 => 32_768,
        29 | 43 | 62 | 65 => 2_048,
        30 => cuda.surface_alignment_bytes,
        38 => cuda.l2_bytes,
        39 => cuda.max_threads_per_multiprocessor,
        40 => cuda.async_engines,
        47 | 48 => 8_192,
        49 => 32_768,
        51 => cuda.texture_pitch_alignment_bytes,
        54 | 68 => 2_046,
        58..=60 => 16_384,
        69 => 1 << 28,
        70 | 71 => 131_072,
        72 => 2_097_120,
        81 => cuda.shared_bytes_per_multiprocessor,
        82 => cuda.registers_per_multiprocessor,
        87 => cuda.single_to_double_ratio,
        97 => cuda.shared_bytes_per_block_optin,
        106 => cuda.max_blocks_per_multiprocessor,
        108 => cuda.persisting_l2_bytes,
        109 => cuda.max_access_policy_window_bytes,
        111 => cuda.shared_bytes_reserved_per_block,
        126 => 4,
        _ => return None,
    };
    Some(value.min(i32::MAX as u32) as i32)
}

/// What a GB200 under Linux can (1) and cannot (0). Conditional graph handles, CIG, KMT handles and such cannot.
fn capable(attribute: i32) -> Option<i32> {
    const CAN: &[i32] = &[
        15, 19, 31, 41, 44, 78, 79, 80, 83, 86, 88, 89, 90, 91, 95, 98, 99, 100, 101, 102, 103, 107, 110, 112, 113,
        114, 115, 116, 120, 121, 122, 123, 124, 125, 127, 128, 129, 132, 141, 142, 144, 145,
    ];
    match attribute {
        // flush-writes options: host; writes ordering: all devices; pool handle types: posix fd and fabric
        117 => Some(1),
        118 => Some(200),
        119 => Some(9),
        130 => Some(0),
        1..=148 => Some(i32::from(CAN.contains(&attribute))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_id_may_come_with_or_without_domain_and_function() {
        assert_eq!(parse_bus_id("0018:01:00.0"), Some((0x18, 1, 0)));
        assert_eq!(parse_bus_id("00000008:01:00.0"), Some((8, 1, 0)));
        assert_eq!(parse_bus_id("2a:00"), Some((0, 0x2a, 0)));
        assert_eq!(parse_bus_id("nonsense"), None);
    }

    #[test]
    fn every_attribute_of_the_reference_has_an_answer_that_fits() {
        let cuda = &ghost_model::Profile::named("gb200").unwrap().cuda;
        for attribute in 1..=148 {
            let value = limit(cuda, attribute).or_else(|| capable(attribute));
            assert!(value.is_some_and(|v| v >= 0), "{attribute}");
        }
        assert_eq!(limit(cuda, 16), Some(152));
        assert_eq!(capable(149), None);
    }
}
