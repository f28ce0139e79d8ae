//! Clocks: what they are, what they may be, why they are not higher.
//! Locking them is in `modes`.

use ghost_abi::{InOut, Out, OutList};

use crate::gpu::Device;
use crate::{Answer, Error, Gpu, Nvml, modes};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetClockInfo(gpu: Gpu, kind: u32, mhz: Out<u32>) => current;
    fn nvmlDeviceGetMaxClockInfo(gpu: Gpu, kind: u32, mhz: Out<u32>) => highest;
    fn nvmlDeviceGetClock(gpu: Gpu, kind: u32, which: u32, mhz: Out<u32>) => clock;
    fn nvmlDeviceGetApplicationsClock(gpu: Gpu, kind: u32, mhz: Out<u32>) => application;
    fn nvmlDeviceGetDefaultApplicationsClock(gpu: Gpu, kind: u32, mhz: Out<u32>) => default_application;
    fn nvmlDeviceGetMaxCustomerBoostClock(gpu: Gpu, kind: u32, mhz: Out<u32>) => customer_boost;
    fn nvmlDeviceGetSupportedMemoryClocks(gpu: Gpu, count: InOut<u32>, list: OutList<u32>) => supported_memory;
    fn nvmlDeviceGetSupportedGraphicsClocks(gpu: Gpu, memory_mhz: u32, count: InOut<u32>, list: OutList<u32>) => supported_graphics;
    fn nvmlDeviceGetPerformanceState(gpu: Gpu, state: Out<u32>) => performance_state;
    fn nvmlDeviceGetPowerState(gpu: Gpu, state: Out<u32>) => performance_state;
    fn nvmlDeviceGetSupportedPerformanceStates(gpu: Gpu, list: OutList<u32>, bytes: u32) => supported_states;
    fn nvmlDeviceGetMinMaxClockOfPState(gpu: Gpu, kind: u32, state: u32, min: Out<u32>, max: Out<u32>) => range_of_state;
    fn nvmlDeviceGetCurrentClocksEventReasons(gpu: Gpu, reasons: Out<u64>) => reasons;
    fn nvmlDeviceGetCurrentClocksThrottleReasons(gpu: Gpu, reasons: Out<u64>) => reasons;
    fn nvmlDeviceGetSupportedClocksEventReasons(gpu: Gpu, reasons: Out<u64>) => supported_reasons;
    fn nvmlDeviceGetSupportedClocksThrottleReasons(gpu: Gpu, reasons: Out<u64>) => supported_reasons;
    fn nvmlDeviceGetAdaptiveClockInfoStatus(gpu: Gpu, status: Out<u32>) => adaptive;
    fn nvmlDeviceGetAutoBoostedClocksEnabled(gpu: Gpu, enabled: Out<u32>, default: Out<u32>) => no_auto_boost;
    fn nvmlDeviceSetAutoBoostedClocksEnabled(gpu: Gpu, enabled: u32) => no_auto_boost_to_set;
}

/// Of a clock: graphics, SM, memory, video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Graphics,
    Sm,
    Memory,
    Video,
}

/// What an unused place of a list of performance states holds.
const NO_STATE: u32 = 32;
/// Idle to display clock setting, nine of them.
const ALL_REASONS: u64 = 0x1ff;

impl Kind {
    fn of(kind: u32) -> Result<Kind, Error> {
        [Kind::Graphics, Kind::Sm, Kind::Memory, Kind::Video].get(kind as usize).copied().ok_or(Error::InvalidArgument)
    }

    fn current(self, device: Device) -> u32 {
        let live = device.live();
        match self {
            Kind::Graphics => live.graphics_clock_mhz,
            Kind::Sm => live.sm_clock_mhz,
            Kind::Memory => live.memory_clock_mhz,
            Kind::Video => live.video_clock_mhz,
        }
    }

    fn highest(self, device: Device) -> u32 {
        let clocks = &device.profile().clocks;
        match self {
            Kind::Graphics | Kind::Sm => clocks.sm_max_mhz,
            Kind::Memory => clocks.memory_mhz,
            Kind::Video => clocks.video_max_mhz,
        }
    }

    fn lowest(self, device: Device) -> u32 {
        let clocks = &device.profile().clocks;
        match self {
            Kind::Graphics | Kind::Sm => clocks.sm_min_mhz,
            Kind::Memory => clocks.memory_mhz,
            Kind::Video => clocks.video_idle_mhz,
        }
    }
}

fn current(gpu: Gpu, kind: u32, mhz: Out<u32>) -> Answer {
    Ok(mhz.set(Kind::of(kind)?.current(gpu.open()?))?)
}

fn highest(gpu: Gpu, kind: u32, mhz: Out<u32>) -> Answer {
    Ok(mhz.set(Kind::of(kind)?.highest(gpu.open()?))?)
}

/// Which: 0 current, 1 applications target, 2 applications default, 3 customer boost.
fn clock(gpu: Gpu, kind: u32, which: u32, mhz: Out<u32>) -> Answer {
    match which {
        0 => current(gpu, kind, mhz),
        1 => application(gpu, kind, mhz),
        2 => default_application(gpu, kind, mhz),
        3 => customer_boost(gpu, kind, mhz),
        _ => Err(Error::InvalidArgument),
    }
}

/// Applications clocks are the upper end of the lock; without one, the default.
fn application(gpu: Gpu, kind: u32, mhz: Out<u32>) -> Answer {
    let device = gpu.open()?;
    match Kind::of(kind)? {
        Kind::Graphics | Kind::Sm => Ok(mhz.set(modes::clock_ceiling(device))?),
        _ => default_application(gpu, kind, mhz),
    }
}

fn default_application(gpu: Gpu, kind: u32, mhz: Out<u32>) -> Answer {
    let device = gpu.open()?;
    match Kind::of(kind)? {
        Kind::Video => Err(Error::NotSupported),
        kind => Ok(mhz.set(kind.highest(device))?),
    }
}

fn customer_boost(gpu: Gpu, kind: u32, mhz: Out<u32>) -> Answer {
    let device = gpu.open()?;
    match Kind::of(kind)? {
        kind @ (Kind::Graphics | Kind::Sm) => Ok(mhz.set(kind.highest(device))?),
        Kind::Memory | Kind::Video => Err(Error::NotSupported),
    }
}

fn supported_memory(gpu: Gpu, count: InOut<u32>, list: OutList<u32>) -> Answer {
    let mhz = gpu.open()?.profile().clocks.memory_mhz;
    fill(&count, &list, &[mhz])
}

fn supported_graphics(gpu: Gpu, memory_mhz: u32, count: InOut<u32>, list: OutList<u32>) -> Answer {
    let clocks = &gpu.open()?.profile().clocks;
    if memory_mhz != clocks.memory_mhz {
        return Err(Error::NotFound);
    }
    fill(&count, &list, &clocks.supported_sm_mhz().collect::<Vec<_>>())
}

/// Writes how many there are, and all of them or none.
fn fill(count: &InOut<u32>, list: &OutList<u32>, values: &[u32]) -> Answer {
    let capacity = count.get()? as usize;
    count.set(values.len() as u32)?;
    if capacity < values.len() || list.is_null() {
        return Err(Error::InsufficientSize);
    }
    Ok(list.set(capacity, values.iter().copied())?)
}

fn performance_state(gpu: Gpu, state: Out<u32>) -> Answer {
    Ok(state.set(gpu.open()?.live().performance_state)?)
}

fn supported_states(gpu: Gpu, list: OutList<u32>, bytes: u32) -> Answer {
    gpu.open()?;
    list.check()?;
    let places = bytes as usize / size_of::<u32>();
    list.fill(places, std::iter::once(0).chain(std::iter::repeat(NO_STATE)).take(places))?;
    Ok(())
}

fn range_of_state(gpu: Gpu, kind: u32, state: u32, min: Out<u32>, max: Out<u32>) -> Answer {
    let (device, kind) = (gpu.open()?, Kind::of(kind)?);
    if state != 0 {
        return Err(Error::NotSupported);
    }
    min.check()?;
    max.set(kind.highest(device))?;
    Ok(min.set(kind.lowest(device))?)
}

fn reasons(gpu: Gpu, reasons: Out<u64>) -> Answer {
    Ok(reasons.set(gpu.open()?.live().clocks_event_reasons)?)
}

fn supported_reasons(gpu: Gpu, reasons: Out<u64>) -> Answer {
    gpu.open()?;
    Ok(reasons.set(ALL_REASONS)?)
}

fn adaptive(gpu: Gpu, status: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(status.set(0)?)
}

fn no_auto_boost(gpu: Gpu, _enabled: Out<u32>, _default: Out<u32>) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

fn no_auto_boost_to_set(gpu: Gpu, _enabled: u32) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    fn graphics_list(room: u32) -> (Answer, u32, Vec<u32>) {
        let (mut count, mut list) = (room, vec![0_u32; room as usize]);
        // SAFETY: both borrow live variables; the list has as many places as the count says.
        let (c, l) = unsafe { (InOut::from_raw(&raw mut count), OutList::from_raw(list.as_mut_ptr())) };
        (supported_graphics(Gpu::of(0), 3996, c, l), count, list)
    }

    #[test]
    fn a_short_list_learns_the_count_and_a_long_one_gets_all() {
        testing::tray(|_| ());
        let (answer, count, list) = graphics_list(256);
        assert_eq!((answer, count, list[0]), (Err(Error::InsufficientSize), 260, 0));
        let (answer, count, list) = graphics_list(300);
        assert_eq!((answer, count, list[0], list[259]), (Ok(()), 260, 2062, 120));
    }

    #[test]
    fn each_kind_of_clock_has_its_reading_and_its_maximum() {
        testing::tray(|_| ());
        let read = |kind| ask(|out| current(Gpu::of(0), kind, out)).unwrap();
        assert_eq!([0, 1, 2, 3].map(read), [120, 120, 3996, 600]);
        let most = |kind| ask(|out| highest(Gpu::of(0), kind, out)).unwrap();
        assert_eq!([0, 1, 2, 3].map(most), [2062, 2062, 3996, 1890]);
        assert_eq!(ask(|out| current(Gpu::of(0), 4, out)), Err(Error::InvalidArgument));
    }
}
