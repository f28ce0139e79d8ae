//! Modes of a GPU and locked clocks: read from the facts, set by a `Change`.
//! Power limits are in `power`, ECC mode is here with the other modes.

use ghost_abi::Out;

use crate::gpu::Device;
use crate::{Answer, Error, Gpu, Nvml, change};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetPersistenceMode(gpu: Gpu, mode: Out<u32>) => persistence;
    fn nvmlDeviceSetPersistenceMode(gpu: Gpu, mode: u32) => set_persistence;
    fn nvmlDeviceGetComputeMode(gpu: Gpu, mode: Out<u32>) => compute_mode;
    fn nvmlDeviceSetComputeMode(gpu: Gpu, mode: u32) => set_compute_mode;
    fn nvmlDeviceGetEccMode(gpu: Gpu, current: Out<u32>, pending: Out<u32>) => ecc_mode;
    fn nvmlDeviceGetDefaultEccMode(gpu: Gpu, mode: Out<u32>) => default_ecc_mode;
    fn nvmlDeviceSetEccMode(gpu: Gpu, mode: u32) => set_ecc_mode;
    fn nvmlDeviceSetGpuLockedClocks(gpu: Gpu, min_mhz: u32, max_mhz: u32) => lock_clocks;
    fn nvmlDeviceResetGpuLockedClocks(gpu: Gpu) => free_clocks;
    fn nvmlDeviceSetMemoryLockedClocks(gpu: Gpu, min_mhz: u32, max_mhz: u32) => one_memory_clock;
    fn nvmlDeviceResetMemoryLockedClocks(gpu: Gpu) => one_memory_clock_already;
    fn nvmlDeviceSetApplicationsClocks(gpu: Gpu, memory_mhz: u32, graphics_mhz: u32) => set_applications_clocks;
    fn nvmlDeviceResetApplicationsClocks(gpu: Gpu) => free_clocks;
    fn nvmlDeviceGetAPIRestriction(gpu: Gpu, api: u32, restricted: Out<u32>) => restriction;
    fn nvmlDeviceGetAccountingMode(gpu: Gpu, mode: Out<u32>) => accounting_mode;
    fn nvmlDeviceGetAccountingBufferSize(gpu: Gpu, size: Out<u32>) => accounting_buffer;
}

/// Processes the accounting buffer holds (oracle capture).
const ACCOUNTING_BUFFER: u32 = 4000;
/// To ask for the lowest or highest clock without knowing it.
const LIMIT_TDP: u32 = u32::MAX;

fn persistence(gpu: Gpu, mode: Out<u32>) -> Answer {
    Ok(mode.set(gpu.open()?.modes().persistence)?)
}

fn set_persistence(gpu: Gpu, mode: u32) -> Answer {
    change::persistence(gpu.open()?, on_off(mode)?)
}

fn on_off(mode: u32) -> Result<bool, Error> {
    match mode {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::InvalidArgument),
    }
}

fn compute_mode(gpu: Gpu, mode: Out<u32>) -> Answer {
    Ok(mode.set(gpu.open()?.modes().compute_mode)?)
}

fn set_compute_mode(gpu: Gpu, mode: u32) -> Answer {
    change::compute_mode(gpu.open()?, mode)
}

fn ecc_mode(gpu: Gpu, current: Out<u32>, pending: Out<u32>) -> Answer {
    let modes = gpu.open()?.modes();
    current.check()?;
    pending.set(modes.ecc_pending)?;
    Ok(current.set(modes.ecc)?)
}

fn default_ecc_mode(gpu: Gpu, mode: Out<u32>) -> Answer {
    Ok(mode.set(gpu.open()?.profile().memory.ecc_enabled.into())?)
}

fn set_ecc_mode(gpu: Gpu, mode: u32) -> Answer {
    change::ecc_mode(gpu.open()?, on_off(mode)?)
}

/// All ones and zero mean the limits.
fn lock_clocks(gpu: Gpu, min_mhz: u32, max_mhz: u32) -> Answer {
    let device = gpu.open()?;
    let clocks = &device.profile().clocks;
    let within = |mhz: u32| match mhz {
        0 => clocks.sm_min_mhz,
        LIMIT_TDP => clocks.sm_max_mhz,
        mhz => mhz.clamp(clocks.sm_min_mhz, clocks.sm_max_mhz),
    };
    if min_mhz > max_mhz {
        return Err(Error::InvalidArgument);
    }
    change::lock_clocks(device, within(min_mhz), within(max_mhz))
}

fn free_clocks(gpu: Gpu) -> Answer {
    change::free_clocks(gpu.open()?)
}

/// The memory has one clock, so there is nothing to lock.
fn one_memory_clock(gpu: Gpu, _min_mhz: u32, _max_mhz: u32) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

fn one_memory_clock_already(gpu: Gpu) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

/// Applications clocks are an upper bound: the lock leaves the lower end free.
fn set_applications_clocks(gpu: Gpu, memory_mhz: u32, graphics_mhz: u32) -> Answer {
    let device = gpu.open()?;
    let clocks = &device.profile().clocks;
    if memory_mhz != clocks.memory_mhz || !clocks.supported_sm_mhz().any(|mhz| mhz == graphics_mhz) {
        return Err(Error::InvalidArgument);
    }
    change::lock_clocks(device, clocks.sm_min_mhz, graphics_mhz)
}

/// The highest clock the lock leaves.
pub fn clock_ceiling(device: Device) -> u32 {
    match device.modes().locked_graphics_max_mhz {
        0 => device.profile().clocks.sm_max_mhz,
        mhz => mhz,
    }
}

/// 0 applications clocks, 1 auto boost: both for root only.
fn restriction(gpu: Gpu, api: u32, restricted: Out<u32>) -> Answer {
    gpu.open()?;
    match api {
        0 => Ok(restricted.set(1)?),
        1 => Err(Error::NotSupported),
        _ => Err(Error::InvalidArgument),
    }
}

fn accounting_mode(gpu: Gpu, mode: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(mode.set(0)?)
}

fn accounting_buffer(gpu: Gpu, size: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(size.set(ACCOUNTING_BUFFER)?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn a_mode_that_does_not_exist_is_refused() {
        testing::tray(|_| ());
        assert_eq!(set_persistence(Gpu::of(0), 2), Err(Error::InvalidArgument));
        assert_eq!(set_compute_mode(Gpu::of(0), 1), Err(Error::NotSupported));
        assert_eq!(lock_clocks(Gpu::of(0), 1500, 1000), Err(Error::InvalidArgument));
        assert_eq!(set_applications_clocks(Gpu::of(0), 3996, 2061), Err(Error::InvalidArgument));
    }

    #[test]
    fn pending_ecc_is_told_apart_from_current() {
        testing::tray(|facts| facts.gpus[0].modes.ecc_pending = 0);
        let answer = ask(|pending| ask(|current| ecc_mode(Gpu::of(0), current, pending)).map(|on| assert_eq!(on, 1)));
        assert_eq!(answer, Ok(0));
    }
}
