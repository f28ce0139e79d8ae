//! PCI: addresses, ids, link and traffic.
//! The address text of the first versions has a domain of four digits, later ones of eight, upper case.

use ghost_abi::{InOut, Out};

use crate::gpu::Device;
use crate::structs::{BUS_ID_BYTES, PciInfo, PciInfoExt, PciInfoV1, put};
use crate::{Answer, Error, Gpu, Nvml, hex};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetPciInfo(gpu: Gpu, info: Out<PciInfoV1>) => info_v1;
    fn nvmlDeviceGetPciInfo_v2(gpu: Gpu, info: Out<PciInfoV1>) => info_v1;
    fn nvmlDeviceGetPciInfo_v3(gpu: Gpu, info: Out<PciInfo>) => info;
    fn nvmlDeviceGetPciInfoExt(gpu: Gpu, info: InOut<PciInfoExt>) => info_ext;
    fn nvmlDeviceGetBusType(gpu: Gpu, kind: Out<u32>) => bus_type;
    fn nvmlDeviceGetCurrPcieLinkGeneration(gpu: Gpu, generation: Out<u32>) => generation;
    fn nvmlDeviceGetMaxPcieLinkGeneration(gpu: Gpu, generation: Out<u32>) => max_generation;
    fn nvmlDeviceGetGpuMaxPcieLinkGeneration(gpu: Gpu, generation: Out<u32>) => gpu_max_generation;
    fn nvmlDeviceGetCurrPcieLinkWidth(gpu: Gpu, width: Out<u32>) => width;
    fn nvmlDeviceGetMaxPcieLinkWidth(gpu: Gpu, width: Out<u32>) => max_width;
    fn nvmlDeviceGetPcieLinkMaxSpeed(gpu: Gpu, speed: Out<u32>) => max_speed;
    fn nvmlDeviceGetPcieSpeed(gpu: Gpu, speed: Out<u32>) => speed;
    fn nvmlDeviceGetPcieThroughput(gpu: Gpu, counter: u32, kilobytes_per_second: Out<u32>) => throughput;
    fn nvmlDeviceGetPcieReplayCounter(gpu: Gpu, count: Out<u32>) => replays;
    fn nvmlDeviceGetBridgeChipInfo(gpu: Gpu, hierarchy: *mut u8) => no_bridge_chip;
}

/// PCI Express.
const BUS_TYPE_PCIE: u32 = 2;

/// `0008:01:00.0`.
pub fn legacy_bus_id(device: Device) -> String {
    address_text(device, 4)
}

/// `00000008:01:00.0`.
pub fn bus_id(device: Device) -> String {
    address_text(device, 8)
}

fn address_text(device: Device, domain_digits: u32) -> String {
    let id = device.identity();
    let mut text = String::with_capacity(BUS_ID_BYTES);
    hex::upper(&mut text, id.pci_domain, domain_digits);
    text.push(':');
    hex::upper(&mut text, id.pci_bus, 2);
    text.push(':');
    hex::upper(&mut text, id.pci_device, 2);
    text.push_str(".0");
    text
}

fn info_v1(gpu: Gpu, info: Out<PciInfoV1>) -> Answer {
    let device = gpu.open()?;
    let (id, pci) = (device.identity(), &device.profile().pci);
    Ok(info.set(PciInfoV1 {
        legacy: put(&legacy_bus_id(device)),
        domain: id.pci_domain,
        bus: id.pci_bus,
        device: id.pci_device,
        device_id: pci.device_id,
        subsystem_id: pci.subsystem_id,
    })?)
}

fn info(gpu: Gpu, info: Out<PciInfo>) -> Answer {
    let device = gpu.open()?;
    let (id, pci) = (device.identity(), &device.profile().pci);
    Ok(info.set(PciInfo {
        legacy: put(&legacy_bus_id(device)),
        domain: id.pci_domain,
        bus: id.pci_bus,
        device: id.pci_device,
        device_id: pci.device_id,
        subsystem_id: pci.subsystem_id,
        bus_id: put(&bus_id(device)),
    })?)
}

fn info_ext(gpu: Gpu, info: InOut<PciInfoExt>) -> Answer {
    let device = gpu.open()?;
    let asked = info.checked()?;
    let (id, pci) = (device.identity(), &device.profile().pci);
    Ok(info.set(PciInfoExt {
        domain: id.pci_domain,
        bus: id.pci_bus,
        device: id.pci_device,
        device_id: pci.device_id,
        subsystem_id: pci.subsystem_id,
        base_class: pci.base_class.into(),
        sub_class: pci.sub_class.into(),
        bus_id: put(&bus_id(device)),
        ..asked
    })?)
}

fn bus_type(gpu: Gpu, kind: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(kind.set(BUS_TYPE_PCIE)?)
}

fn generation(gpu: Gpu, generation: Out<u32>) -> Answer {
    Ok(generation.set(gpu.open()?.profile().pci.link_gen.into())?)
}

fn max_generation(gpu: Gpu, generation: Out<u32>) -> Answer {
    Ok(generation.set(gpu.open()?.profile().pci.link_gen_max.into())?)
}

fn gpu_max_generation(gpu: Gpu, generation: Out<u32>) -> Answer {
    Ok(generation.set(gpu.open()?.profile().pci.device_gen_max.into())?)
}

fn width(gpu: Gpu, width: Out<u32>) -> Answer {
    Ok(width.set(gpu.open()?.profile().pci.link_width.into())?)
}

fn max_width(gpu: Gpu, width: Out<u32>) -> Answer {
    Ok(width.set(gpu.open()?.profile().pci.link_width_max.into())?)
}

/// Megatransfers a second of a lane: 2500, 5000, then doubling from 8000.
fn lane_speed(generation: u8) -> u32 {
    match generation {
        0 | 1 => 2500,
        2 => 5000,
        later => 8000 << (later - 3).min(4),
    }
}

fn max_speed(gpu: Gpu, speed: Out<u32>) -> Answer {
    Ok(speed.set(lane_speed(gpu.open()?.profile().pci.link_gen_max))?)
}

fn speed(gpu: Gpu, speed: Out<u32>) -> Answer {
    Ok(speed.set(lane_speed(gpu.open()?.profile().pci.link_gen))?)
}

/// Counter 0: sent by the GPU, 1: received.
fn throughput(gpu: Gpu, counter: u32, kilobytes_per_second: Out<u32>) -> Answer {
    let live = gpu.open()?.live();
    let value = match counter {
        0 => live.pcie_tx_kbps,
        1 => live.pcie_rx_kbps,
        _ => return Err(Error::InvalidArgument),
    };
    Ok(kilobytes_per_second.set(value)?)
}

fn replays(gpu: Gpu, count: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

fn no_bridge_chip(gpu: Gpu, _hierarchy: *mut u8) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::structs::text;
    use crate::testing;

    #[test]
    fn the_two_texts_of_an_address_differ_in_the_width_of_the_domain() {
        testing::tray(|facts| facts.gpus[0].identity.pci_bus = 0x2a);
        let info = ask(|out| info(Gpu::of(0), out)).unwrap();
        assert_eq!((text(&info.legacy), text(&info.bus_id)), ("0008:2A:00.0", "00000008:2A:00.0"));
        assert_eq!((info.device_id, info.subsystem_id), (0x2941_10DE, 0x2046_10DE));
    }

    #[test]
    fn a_generation_five_lane_moves_32_gigatransfers() {
        assert_eq!([1, 2, 3, 4, 5, 6].map(lane_speed), [2500, 5000, 8000, 16000, 32000, 64000]);
    }
}
