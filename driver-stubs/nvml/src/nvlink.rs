//! NVLink of one GPU: which links are up, what they can do, what is at their far end, what went wrong on them.
//! Counters of traffic are field values; a link is up when ghostd says so.

use ghost_abi::{AnyVersion, Out};

use crate::structs::{NvLinkInfoV1, NvLinkInfoV2, PciInfo, PciInfoV1, put};
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetNvLinkState(gpu: Gpu, link: u32, active: Out<u32>) => state;
    fn nvmlDeviceGetNvLinkVersion(gpu: Gpu, link: u32, version: Out<u32>) => version;
    fn nvmlDeviceGetNvLinkCapability(gpu: Gpu, link: u32, capability: u32, value: Out<u32>) => capability;
    fn nvmlDeviceGetNvLinkRemotePciInfo(gpu: Gpu, link: u32, info: Out<PciInfoV1>) => remote_v1;
    fn nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu: Gpu, link: u32, info: Out<PciInfo>) => remote;
    fn nvmlDeviceGetNvLinkRemoteDeviceType(gpu: Gpu, link: u32, kind: Out<u32>) => remote_type;
    fn nvmlDeviceGetNvLinkErrorCounter(gpu: Gpu, link: u32, counter: u32, count: Out<u64>) => errors;
    fn nvmlDeviceGetNvLinkInfo(gpu: Gpu, info: AnyVersion) => info;
    fn nvmlSystemGetNvlinkBwMode(mode: Out<u32>) => bandwidth_mode;
}

/// At the far end of every link of a GB200 is an NVSwitch.
const REMOTE_IS_SWITCH: u32 = 2;
/// NVSwitches have no address in a compute tray; the driver answers a domain that no device of the tray has.
const SWITCH_DOMAIN: u32 = 6;

fn state(gpu: Gpu, link: u32, active: Out<u32>) -> Answer {
    let up = gpu.open()?.link(link)?.up != 0;
    Ok(active.set(up.into())?)
}

fn version(gpu: Gpu, link: u32, version: Out<u32>) -> Answer {
    let device = gpu.open()?;
    device.link(link)?;
    Ok(version.set(device.profile().nvlink.version)?)
}

/// 0 P2P, 1 system memory, 2 P2P atomics, 3 system memory atomics, 4 SLI, 5 link supported.
fn capability(gpu: Gpu, link: u32, capability: u32, value: Out<u32>) -> Answer {
    gpu.open()?.link(link)?;
    match capability {
        0..=5 => Ok(value.set((capability != 4).into())?),
        _ => Err(Error::InvalidArgument),
    }
}

/// A link that is down has no far end.
fn far_end(gpu: Gpu, link: u32) -> Answer {
    if gpu.open()?.link(link)?.up != 0 { Ok(()) } else { Err(Error::NotSupported) }
}

fn remote_v1(gpu: Gpu, link: u32, info: Out<PciInfoV1>) -> Answer {
    far_end(gpu, link)?;
    let legacy = put("0006:00:00.0");
    Ok(info.set(PciInfoV1 { legacy, domain: SWITCH_DOMAIN, bus: 0, device: 0, device_id: 0, subsystem_id: 0 })?)
}

fn remote(gpu: Gpu, link: u32, info: Out<PciInfo>) -> Answer {
    far_end(gpu, link)?;
    let (legacy, bus_id) = (put("0006:00:00.0"), put("00000006:00:00.0"));
    Ok(info.set(PciInfo { legacy, domain: SWITCH_DOMAIN, bus: 0, device: 0, device_id: 0, subsystem_id: 0, bus_id })?)
}

fn remote_type(gpu: Gpu, link: u32, kind: Out<u32>) -> Answer {
    gpu.open()?.link(link)?;
    Ok(kind.set(REMOTE_IS_SWITCH)?)
}

/// Counters: 0 replay, 1 recovery, 2 CRC of flits, 3 CRC of data, 4 ECC of data.
fn errors(gpu: Gpu, link: u32, counter: u32, count: Out<u64>) -> Answer {
    let link = gpu.open()?.link(link)?;
    let value = match counter {
        1 => link.recovery_count,
        2 => link.error_count,
        0 | 3 | 4 => 0,
        _ => return Err(Error::InvalidArgument),
    };
    Ok(count.set(value.into())?)
}

/// Not encrypted; firmware versions of the links are not known here, so the list of them is empty.
fn info(gpu: Gpu, info: AnyVersion) -> Answer {
    gpu.open()?;
    info.word()?;
    if let Some(out) = info.of::<NvLinkInfoV1>() {
        return Ok(out.set(NvLinkInfoV1::blank())?);
    }
    let out = info.of::<NvLinkInfoV2>().ok_or(Error::ArgumentVersionMismatch)?;
    Ok(out.set(NvLinkInfoV2::blank())?)
}

/// 0 = full.
fn bandwidth_mode(mode: Out<u32>) -> Answer {
    crate::session::live_tray()?;
    Ok(mode.set(0)?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn a_link_disabled_by_the_bmc_reads_down() {
        testing::tray(|facts| facts.gpus[2].links[3].up = 0);
        assert_eq!(ask(|out| state(Gpu::of(2), 3, out)), Ok(0));
        assert_eq!(ask(|out| state(Gpu::of(2), 4, out)), Ok(1));
        assert_eq!(ask(|out| remote(Gpu::of(2), 3, out)).unwrap_err(), Error::NotSupported);
        assert_eq!(Gpu::of(2).open().unwrap().links_up(), 17);
    }

    #[test]
    fn there_are_eighteen_links_and_no_more() {
        testing::tray(|_| ());
        assert_eq!(ask(|out| state(Gpu::of(0), 17, out)), Ok(1));
        assert_eq!(ask(|out| state(Gpu::of(0), 18, out)), Err(Error::InvalidArgument));
        assert_eq!(ask(|out| version(Gpu::of(0), 0, out)), Ok(7));
        let able = |capability_id| ask(|out| capability(Gpu::of(0), 0, capability_id, out));
        assert_eq!([0, 1, 2, 3, 4, 5].map(able), [Ok(1), Ok(1), Ok(1), Ok(1), Ok(0), Ok(1)]);
    }
}
