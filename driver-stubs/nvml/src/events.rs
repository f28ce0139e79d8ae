//! Event sets: who waits for which Xids and ECC errors, and a wait that blocks.
//! Waiting sleeps on the alarm word of the facts page; no thread is started and nothing is sent.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ghost_abi::{Out, Plain};
use ghost_engine::layout::{GpuFacts, XID_RING};
use ghost_engine::{clock, wait};
use parking_lot::Mutex;

use crate::processes::NO_INSTANCE;
use crate::structs::{EventData, EventDataV1};
use crate::{Answer, Error, Gpu, Nvml, session};

ghost_abi::rows! { Nvml;
    fn nvmlEventSetCreate(set: Out<EventSet>) => create;
    fn nvmlEventSetFree(set: EventSet) => free;
    fn nvmlDeviceRegisterEvents(gpu: Gpu, kinds: u64, set: EventSet) => register;
    fn nvmlDeviceGetSupportedEventTypes(gpu: Gpu, kinds: Out<u64>) => supported;
    fn nvmlEventSetWait(set: EventSet, data: Out<EventDataV1>, timeout_ms: u32) => wait_v1;
    fn nvmlEventSetWait_v2(set: EventSet, data: Out<EventData>, timeout_ms: u32) => wait_v2;
}

const CORRECTED_ECC: u64 = 1;
const UNCORRECTED_ECC: u64 = 2;
const XID: u64 = 8;
const SUPPORTED: u64 = CORRECTED_ECC | UNCORRECTED_ECC | XID;
/// Handles are numbers that look like addresses.
const STRIDE: usize = 16;

/// `nvmlEventSet_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct EventSet(*mut c_void);

// SAFETY: an address that is looked up and never followed.
unsafe impl Plain for EventSet {}

type Watches = Arc<Mutex<Vec<Watch>>>;

/// What a set waits for on one GPU, and how far it has told it.
#[derive(Debug)]
struct Watch {
    gpu: Gpu,
    place: usize,
    kinds: u64,
    told: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    xids: u64,
    corrected: u64,
    uncorrected: u64,
}

static SETS: Mutex<(usize, BTreeMap<usize, Watches>)> = Mutex::new((0, BTreeMap::new()));

impl EventSet {
    fn watches(self) -> Result<Watches, Error> {
        SETS.lock().1.get(&(self.0 as usize)).cloned().ok_or(Error::InvalidArgument)
    }
}

impl Counts {
    fn of(facts: &GpuFacts) -> Counts {
        let ecc = &facts.ecc;
        Counts {
            xids: facts.xid_count,
            corrected: ecc.volatile_dram_corrected + ecc.volatile_sram_corrected,
            uncorrected: ecc.volatile_dram_uncorrected + ecc.volatile_sram_uncorrected,
        }
    }
}

impl Watch {
    /// The oldest thing not yet told: kind and data.
    fn next(&mut self, facts: &GpuFacts) -> Option<(u64, u64)> {
        let now = Counts::of(facts);
        // Counters that were cleared, or a ghostd that started again, begin anew.
        self.told.xids = self.told.xids.min(now.xids).max(now.xids.saturating_sub(XID_RING as u64));
        self.told.corrected = self.told.corrected.min(now.corrected);
        self.told.uncorrected = self.told.uncorrected.min(now.uncorrected);
        if self.kinds & XID != 0 && self.told.xids < now.xids {
            let entry = facts.xids[self.told.xids as usize % XID_RING];
            self.told.xids += 1;
            return Some((XID, entry.code.into()));
        }
        if self.kinds & UNCORRECTED_ECC != 0 && self.told.uncorrected < now.uncorrected {
            self.told.uncorrected = now.uncorrected;
            return Some((UNCORRECTED_ECC, 0));
        }
        if self.kinds & CORRECTED_ECC != 0 && self.told.corrected < now.corrected {
            self.told.corrected = now.corrected;
            return Some((CORRECTED_ECC, 0));
        }
        None
    }
}

fn create(set: Out<EventSet>) -> Answer {
    session::live_tray()?;
    set.check()?;
    let mut sets = SETS.lock();
    sets.0 += STRIDE;
    let handle = sets.0;
    sets.1.insert(handle, Watches::default());
    Ok(set.set(EventSet(handle as *mut c_void))?)
}

fn free(set: EventSet) -> Answer {
    SETS.lock().1.remove(&(set.0 as usize)).map(drop).ok_or(Error::InvalidArgument)
}

/// Only what happens from now on is told.
fn register(gpu: Gpu, kinds: u64, set: EventSet) -> Answer {
    let device = gpu.even_lost()?;
    if kinds & !SUPPORTED != 0 {
        return Err(Error::NotSupported);
    }
    let (watches, told) = (set.watches()?, Counts::of(&device.facts().gpu(device.place())));
    let mut watches = watches.lock();
    match watches.iter_mut().find(|watch| watch.gpu == gpu) {
        Some(watch) => watch.kinds |= kinds,
        None => watches.push(Watch { gpu, place: device.place(), kinds, told }),
    }
    Ok(())
}

fn supported(gpu: Gpu, kinds: Out<u64>) -> Answer {
    gpu.open()?;
    Ok(kinds.set(SUPPORTED)?)
}

fn wait_v1(set: EventSet, data: Out<EventDataV1>, timeout_ms: u32) -> Answer {
    data.check()?;
    let (device, kind, value) = wait(set, timeout_ms)?;
    Ok(data.set(EventDataV1 { device, kind, data: value })?)
}

fn wait_v2(set: EventSet, data: Out<EventData>, timeout_ms: u32) -> Answer {
    data.check()?;
    let (device, kind, value) = wait(set, timeout_ms)?;
    let (gpu_instance, compute_instance) = (NO_INSTANCE, NO_INSTANCE);
    Ok(data.set(EventData { device, kind, data: value, gpu_instance, compute_instance })?)
}

/// Blocks until something happens or the time is over. A ghostd that restarts meanwhile is waited for.
fn wait(set: EventSet, timeout_ms: u32) -> Result<(Gpu, u64, u64), Error> {
    let watches = set.watches()?;
    let end_ns = clock::now_ns() + u64::from(timeout_ms) * 1_000_000;
    loop {
        let tray = session::live_tray();
        let facts = tray.or_else(|_| session::tray())?.facts();
        let alarm = facts.alarm().load(Ordering::Acquire);
        if tray.is_ok() {
            let next =
                |watch: &mut Watch| watch.next(&facts.gpu(watch.place)).map(|(kind, data)| (watch.gpu, kind, data));
            if let Some(event) = watches.lock().iter_mut().find_map(next) {
                return Ok(event);
            }
        }
        if clock::now_ns() >= end_ns {
            return Err(tray.err().unwrap_or(Error::Timeout));
        }
        wait::until(end_ns, facts.alarm(), alarm);
    }
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    fn report(bench: &testing::Bench, gpu: usize, code: u32) {
        bench.edit(|facts| {
            let gpu = &mut facts.gpus[gpu];
            gpu.xids[gpu.xid_count as usize % XID_RING].code = code;
            gpu.xid_count += 1;
        });
        bench.alarm();
    }

    #[test]
    fn xids_are_told_in_order_and_once() {
        let bench = testing::tray(|_| ());
        report(&bench, 1, 31);
        let set = ask(create).unwrap();
        register(Gpu::of(1), XID, set).unwrap();
        report(&bench, 1, 13);
        report(&bench, 1, 79);
        report(&bench, 0, 48);
        let next = || ask(|out| wait_v2(set, out, 0)).map(|event| (event.device, event.kind, event.data));
        assert_eq!(next(), Ok((Gpu::of(1), XID, 13)));
        assert_eq!(next(), Ok((Gpu::of(1), XID, 79)));
        assert_eq!(next(), Err(Error::Timeout));
        assert_eq!(free(set), Ok(()));
        assert_eq!(next(), Err(Error::InvalidArgument));
    }

    #[test]
    fn a_waiter_is_woken_by_what_happens_meanwhile() {
        let bench = testing::tray(|_| ());
        let set = ask(create).unwrap();
        register(Gpu::of(0), XID | UNCORRECTED_ECC, set).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bench.edit(|facts| facts.gpus[0].ecc.volatile_dram_uncorrected = 1);
                bench.alarm();
            });
            let event = ask(|out| wait_v1(set, out, 60_000)).unwrap();
            assert_eq!((event.device, event.kind), (Gpu::of(0), UNCORRECTED_ECC));
        });
    }

    #[test]
    fn events_that_do_not_exist_cannot_be_registered() {
        testing::tray(|_| ());
        let set = ask(create).unwrap();
        assert_eq!(register(Gpu::of(0), XID | 4, set), Err(Error::NotSupported));
        assert_eq!(register(Gpu::of(0), XID, EventSet(std::ptr::null_mut())), Err(Error::InvalidArgument));
    }

    #[test]
    fn a_wait_on_a_tray_that_has_gone_says_so_when_its_time_is_over() {
        let bench = testing::tray(|_| ());
        let set = ask(create).unwrap();
        bench.close();
        assert_eq!(ask(|out| wait_v2(set, out, 1)).unwrap_err(), Error::GpuIsLost);
    }
}
