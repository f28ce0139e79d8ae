//! Device memory, the BAR1 window and the (empty) protected memory.
//! Who uses the memory is in `processes`.

use ghost_abi::{AnyVersion, Out};

use crate::gpu::Device;
use crate::structs::{Memory, MemoryV2};
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetMemoryInfo(gpu: Gpu, memory: Out<Memory>) => info;
    fn nvmlDeviceGetMemoryInfo_v2(gpu: Gpu, memory: AnyVersion) => info_v2;
    fn nvmlDeviceGetBAR1MemoryInfo(gpu: Gpu, memory: Out<Memory>) => bar1;
    fn nvmlDeviceGetConfComputeProtectedMemoryUsage(gpu: Gpu, memory: Out<Memory>) => protected;
    fn nvmlDeviceGetMemoryBusWidth(gpu: Gpu, bits: Out<u32>) => bus_width;
}

/// Total, reserved and used bytes; used excludes reserved.
fn ledger(device: Device) -> (u64, u64, u64) {
    let memory = &device.profile().memory;
    (memory.total_bytes(), memory.reserved_bytes(), device.live().memory_used_bytes)
}

/// The first version counts reserved memory as used.
fn info(gpu: Gpu, memory: Out<Memory>) -> Answer {
    let (total, reserved, used) = ledger(gpu.open()?);
    let used = used + reserved;
    Ok(memory.set(Memory { total, free: total.saturating_sub(used), used })?)
}

fn info_v2(gpu: Gpu, memory: AnyVersion) -> Answer {
    let device = gpu.open()?;
    memory.word()?;
    let out = memory.of::<MemoryV2>().ok_or(Error::ArgumentVersionMismatch)?;
    let (total, reserved, used) = ledger(device);
    let free = total.saturating_sub(used + reserved);
    Ok(out.set(MemoryV2 { total, reserved, free, used, ..MemoryV2::blank() })?)
}

fn bar1(gpu: Gpu, memory: Out<Memory>) -> Answer {
    let device = gpu.open()?;
    let (total, used) = (device.profile().memory.bar1_mib << 20, device.live().bar1_used_bytes);
    Ok(memory.set(Memory { total, free: total.saturating_sub(used), used })?)
}

fn protected(gpu: Gpu, memory: Out<Memory>) -> Answer {
    gpu.open()?;
    Ok(memory.set(Memory { total: 0, free: 0, used: 0 })?)
}

fn bus_width(gpu: Gpu, bits: Out<u32>) -> Answer {
    Ok(bits.set(gpu.open()?.profile().memory.bus_width_bits)?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_two_versions_agree_on_what_is_free() {
        testing::tray(|facts| facts.gpus[1].live.memory_used_bytes = 512 * MIB);
        let first = ask(|out| info(Gpu::of(1), out)).unwrap();
        let mut second = MemoryV2::blank();
        // SAFETY: borrows a live struct of the version its word says.
        let lens = unsafe { AnyVersion::from_raw((&raw mut second).cast()) };
        info_v2(Gpu::of(1), lens).unwrap();
        assert_eq!((first.total, first.free), (second.total, second.free));
        assert_eq!(first.used, second.used + second.reserved);
        assert_eq!((second.total / MIB, second.reserved / MIB, second.used / MIB), (189_471, 742, 512));
    }

    #[test]
    fn an_unknown_version_is_refused_and_nothing_is_written() {
        testing::tray(|_| ());
        let mut second = MemoryV2 { version: 0, ..MemoryV2::blank() };
        // SAFETY: as above; only the word is read.
        let lens = unsafe { AnyVersion::from_raw((&raw mut second).cast()) };
        assert_eq!(info_v2(Gpu::of(0), lens), Err(Error::ArgumentVersionMismatch));
        assert_eq!(second.total, 0);
    }
}
