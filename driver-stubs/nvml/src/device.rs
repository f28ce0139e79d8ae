//! Which GPUs there are, their handles, and who each one is.
//! Where they sit in the rack is in `platform`, on PCI in `pcie`.

use ghost_abi::Versioned;
use ghost_abi::{CStrIn, In, Out, Text};

use crate::gpu::Device;
use crate::structs::{Uuid, text};
use crate::{Answer, Error, Gpu, Nvml, session};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetCount(count: Out<u32>) => count;
    fn nvmlDeviceGetCount_v2(count: Out<u32>) => count;
    fn nvmlDeviceGetHandleByIndex(index: u32, gpu: Out<Gpu>) => by_index;
    fn nvmlDeviceGetHandleByIndex_v2(index: u32, gpu: Out<Gpu>) => by_index;
    fn nvmlDeviceGetHandleByUUID(uuid: CStrIn, gpu: Out<Gpu>) => by_uuid;
    fn nvmlDeviceGetHandleByUUIDV(uuid: In<Uuid>, gpu: Out<Gpu>) => by_uuid_v;
    fn nvmlDeviceGetHandleBySerial(serial: CStrIn, gpu: Out<Gpu>) => by_serial;
    fn nvmlDeviceGetHandleByPciBusId(bus_id: CStrIn, gpu: Out<Gpu>) => by_bus_id;
    fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: CStrIn, gpu: Out<Gpu>) => by_bus_id;
    fn nvmlDeviceGetIndex(gpu: Gpu, index: Out<u32>) => index;
    fn nvmlDeviceGetMinorNumber(gpu: Gpu, minor: Out<u32>) => minor;
    fn nvmlDeviceGetName(gpu: Gpu, name: Text, length: u32) => name;
    fn nvmlDeviceGetBrand(gpu: Gpu, brand: Out<u32>) => brand;
    fn nvmlDeviceGetArchitecture(gpu: Gpu, architecture: Out<u32>) => architecture;
    fn nvmlDeviceGetCudaComputeCapability(gpu: Gpu, major: Out<i32>, minor: Out<i32>) => compute_capability;
    fn nvmlDeviceGetNumGpuCores(gpu: Gpu, cores: Out<u32>) => cores;
    fn nvmlDeviceGetUUID(gpu: Gpu, uuid: Text, length: u32) => uuid;
    fn nvmlDeviceGetSerial(gpu: Gpu, serial: Text, length: u32) => serial;
    fn nvmlDeviceGetVbiosVersion(gpu: Gpu, version: Text, length: u32) => vbios;
    fn nvmlDeviceGetBoardPartNumber(gpu: Gpu, number: Text, length: u32) => board_part_number;
    fn nvmlDeviceGetBoardId(gpu: Gpu, id: Out<u32>) => board_id;
    fn nvmlDeviceGetMultiGpuBoard(gpu: Gpu, multi: Out<u32>) => multi_gpu_board;
    fn nvmlDeviceOnSameBoard(gpu: Gpu, other: Gpu, same: Out<i32>) => on_same_board;
    fn nvmlDeviceGetInforomImageVersion(gpu: Gpu, version: Text, length: u32) => inforom_image;
    fn nvmlDeviceGetInforomVersion(gpu: Gpu, object: u32, version: Text, length: u32) => inforom_object;
    fn nvmlDeviceGetInforomConfigurationChecksum(gpu: Gpu, sum: Out<u32>) => inforom_checksum;
    fn nvmlDeviceValidateInforom(gpu: Gpu) => inforom_is_valid;
    fn nvmlDeviceGetGspFirmwareVersion(gpu: Gpu, version: Text) => gsp_version;
    fn nvmlDeviceGetGspFirmwareMode(gpu: Gpu, enabled: Out<u32>, default: Out<u32>) => gsp_mode;
    fn nvmlDeviceGetDisplayMode(gpu: Gpu, mode: Out<u32>) => display_mode;
    fn nvmlDeviceGetDisplayActive(gpu: Gpu, active: Out<u32>) => display_active;
}

/// The GSP version has a buffer of this many bytes and no length argument.
const GSP_VERSION_BYTES: usize = 64;
/// CUDA cores of one multiprocessor, from Ampere's GA10x to Blackwell.
const CORES_PER_MULTIPROCESSOR: u32 = 128;

fn count(count: Out<u32>) -> Answer {
    Ok(count.set(session::live_tray()?.visible().len() as u32)?)
}

/// A GPU off the bus keeps its index but gives no handle.
fn by_index(index: u32, gpu: Out<Gpu>) -> Answer {
    give(Device::at(index)?, &gpu)
}

fn give(device: Device, gpu: &Out<Gpu>) -> Answer {
    gpu.check()?;
    if device.is_lost() {
        return Err(Error::GpuIsLost);
    }
    Ok(gpu.set(device.handle())?)
}

fn find(gpu: &Out<Gpu>, is_it: impl Fn(Device) -> bool) -> Answer {
    give(Device::all()?.find(|device| is_it(*device)).ok_or(Error::NotFound)?, gpu)
}

fn uuid_of(device: Device) -> &'static str {
    device.tray().uuid(device.place())
}

fn by_uuid(uuid: CStrIn, gpu: Out<Gpu>) -> Answer {
    let wanted = uuid.get()?.to_string_lossy().into_owned();
    find(&gpu, |device| uuid_of(device).eq_ignore_ascii_case(&wanted))
}

fn by_uuid_v(uuid: In<Uuid>, gpu: Out<Gpu>) -> Answer {
    let uuid = uuid.get()?;
    match (uuid.version, uuid.kind) {
        (Uuid::VERSION, 1) => find(&gpu, |device| uuid_of(device).eq_ignore_ascii_case(text(&uuid.value))),
        (Uuid::VERSION, 2) => find(&gpu, |device| device.identity().uuid == uuid.value[..16]),
        (Uuid::VERSION, _) => Err(Error::InvalidArgument),
        _ => Err(Error::ArgumentVersionMismatch),
    }
}

/// Two GPUs of a superchip share a serial; the first one answers.
fn by_serial(serial: CStrIn, gpu: Out<Gpu>) -> Answer {
    let wanted = serial.get()?.to_string_lossy().into_owned();
    find(&gpu, |device| text(&device.identity().serial) == wanted)
}

fn by_bus_id(bus_id: CStrIn, gpu: Out<Gpu>) -> Answer {
    let wanted = parse_bus_id(&bus_id.get()?.to_string_lossy()).ok_or(Error::InvalidArgument)?;
    find(&gpu, |device| bus_address(device) == (wanted[0], wanted[1], wanted[2]))
}

/// Domain, bus, device.
pub fn bus_address(device: Device) -> (u32, u32, u32) {
    let identity = device.identity();
    (identity.pci_domain, identity.pci_bus, identity.pci_device)
}

/// `[domain:]bus:device.function` in hexadecimal of any case and width: domain, bus, device, function.
pub fn parse_bus_id(text: &str) -> Option<[u32; 4]> {
    let (address, function) = text.trim().split_once('.')?;
    let mut parts = address.rsplit(':');
    let mut number = |default: Option<&'static str>| u32::from_str_radix(parts.next().or(default)?, 16).ok();
    let (device, bus, domain) = (number(None)?, number(None)?, number(Some("0"))?);
    let function = u32::from_str_radix(function, 16).ok()?;
    (parts.next().is_none() && bus < 256 && device < 32 && function < 8).then_some([domain, bus, device, function])
}

fn index(gpu: Gpu, index: Out<u32>) -> Answer {
    Ok(index.set(gpu.open()?.index())?)
}

fn minor(gpu: Gpu, minor: Out<u32>) -> Answer {
    Ok(minor.set(gpu.open()?.identity().minor)?)
}

fn name(gpu: Gpu, name: Text, length: u32) -> Answer {
    Ok(name.set(length as usize, &gpu.open()?.profile().product.name)?)
}

/// 14 = NVIDIA, the brand of parts without another.
fn brand(gpu: Gpu, brand: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(brand.set(14)?)
}

fn architecture(gpu: Gpu, architecture: Out<u32>) -> Answer {
    let number = match gpu.open()?.profile().product.architecture.as_str() {
        "Ampere" => 7,
        "Ada Lovelace" => 8,
        "Hopper" => 9,
        "Blackwell" => 10,
        _ => u32::MAX,
    };
    Ok(architecture.set(number)?)
}

fn compute_capability(gpu: Gpu, major: Out<i32>, minor: Out<i32>) -> Answer {
    let capability = gpu.open()?.profile().product.compute_capability;
    major.check()?;
    minor.set(capability[1].into())?;
    Ok(major.set(capability[0].into())?)
}

fn cores(gpu: Gpu, cores: Out<u32>) -> Answer {
    Ok(cores.set(gpu.open()?.profile().cuda.multiprocessors * CORES_PER_MULTIPROCESSOR)?)
}

fn uuid(gpu: Gpu, uuid: Text, length: u32) -> Answer {
    Ok(uuid.set(length as usize, uuid_of(gpu.open()?))?)
}

fn serial(gpu: Gpu, serial: Text, length: u32) -> Answer {
    Ok(serial.set(length as usize, text(&gpu.open()?.identity().serial))?)
}

fn vbios(gpu: Gpu, version: Text, length: u32) -> Answer {
    Ok(version.set(length as usize, &gpu.open()?.profile().product.vbios_version)?)
}

fn board_part_number(gpu: Gpu, number: Text, length: u32) -> Answer {
    Ok(number.set(length as usize, &gpu.open()?.profile().product.board_part_number)?)
}

fn board_id(gpu: Gpu, id: Out<u32>) -> Answer {
    let (domain, bus, _) = bus_address(gpu.open()?);
    Ok(id.set((domain << 16) | (bus << 8))?)
}

fn multi_gpu_board(gpu: Gpu, multi: Out<u32>) -> Answer {
    Ok(multi.set(gpu.open()?.profile().product.multi_gpu_board.into())?)
}

fn on_same_board(gpu: Gpu, other: Gpu, same: Out<i32>) -> Answer {
    let (gpu, other) = (gpu.open()?, other.open()?);
    Ok(same.set((gpu.place() == other.place()).into())?)
}

fn inforom_image(gpu: Gpu, version: Text, length: u32) -> Answer {
    Ok(version.set(length as usize, &gpu.open()?.profile().product.inforom_image)?)
}

/// Objects: 0 OEM, 1 ECC, 2 power.
fn inforom_object(gpu: Gpu, object: u32, version: Text, length: u32) -> Answer {
    let product = &gpu.open()?.profile().product;
    let value = match object {
        0 => &product.inforom_oem,
        1 => &product.inforom_ecc,
        2 => product.inforom_pwr.as_ref().ok_or(Error::NotSupported)?,
        _ => return Err(Error::InvalidArgument),
    };
    Ok(version.set(length as usize, value)?)
}

fn inforom_checksum(gpu: Gpu, sum: Out<u32>) -> Answer {
    let device = gpu.open()?;
    let letters = device.profile().product.inforom_image.bytes();
    Ok(sum.set(letters.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)))?)
}

fn inforom_is_valid(gpu: Gpu) -> Answer {
    gpu.open().map(drop)
}

fn gsp_version(gpu: Gpu, version: Text) -> Answer {
    Ok(version.set(GSP_VERSION_BYTES, text(&gpu.open()?.facts().tray().driver_version))?)
}

fn gsp_mode(gpu: Gpu, enabled: Out<u32>, default: Out<u32>) -> Answer {
    gpu.open()?;
    enabled.check()?;
    default.set(1)?;
    Ok(enabled.set(1)?)
}

/// Driver 580 answers so; 550 still had it.
fn display_mode(gpu: Gpu, _mode: Out<u32>) -> Answer {
    gpu.open()?;
    Err(Error::Deprecated)
}

fn display_active(gpu: Gpu, active: Out<u32>) -> Answer {
    Ok(active.set(gpu.open()?.profile().product.display_active.into())?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::{ask, ask_text};

    use super::*;
    use crate::testing;

    fn c(text: &std::ffi::CStr) -> CStrIn {
        // SAFETY: a live C string.
        unsafe { CStrIn::from_raw(text.as_ptr()) }
    }

    #[test]
    fn a_gpu_is_found_by_every_way_of_writing_its_address() {
        testing::tray(|_| ());
        for way in [c"0018:01:00.0", c"00000018:01:00.0"] {
            assert_eq!(ask(|out| by_bus_id(c(way), out)), Ok(Gpu::of(2)));
        }
        assert_eq!(ask(|out| by_bus_id(c(c"0018:02:00.0"), out)), Err(Error::NotFound));
        assert_eq!(ask(|out| by_bus_id(c(c"18:xx"), out)), Err(Error::InvalidArgument));
        assert_eq!(parse_bus_id("2A:00.0"), Some([0, 0x2a, 0, 0]));
        assert_eq!(parse_bus_id("0:0:2a:00.0"), None);
    }

    #[test]
    fn a_gpu_is_found_by_its_uuid_and_its_serial() {
        testing::tray(|_| ());
        let uuid = ask_text(80, |text, length| uuid(Gpu::of(3), text, length as u32)).unwrap();
        assert_eq!(uuid, "GPU-03030303-0303-0303-0303-030303030303");
        let wanted = std::ffi::CString::new(uuid).unwrap();
        assert_eq!(ask(|out| by_uuid(c(&wanted), out)), Ok(Gpu::of(3)));
        assert_eq!(ask(|out| by_serial(c(c"1650000000002"), out)), Ok(Gpu::of(2)));
    }

    #[test]
    fn a_buffer_that_is_too_short_is_left_alone() {
        testing::tray(|_| ());
        let asked = ask_text(8, |text, length| name(Gpu::of(0), text, length as u32));
        assert_eq!(asked, Err(Error::InsufficientSize));
    }

    #[test]
    fn a_lost_gpu_is_counted_but_gives_no_handle() {
        testing::tray(|facts| facts.gpus[1].modes.lost = 1);
        assert_eq!(ask(count), Ok(4));
        assert_eq!(ask(|out| by_index(1, out)), Err(Error::GpuIsLost));
        assert_eq!(ask(|out| by_index(4, out)), Err(Error::InvalidArgument));
    }
}
