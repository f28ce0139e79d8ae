//! Events: a moment on a stream. Elapsed time is the difference of simulated moments. It places no work.

use std::ffi::c_void;

use ghost_abi::Out;

use crate::arena::Handle;
use crate::core::{Core, Event, Moment};
use crate::queue::Action;
use crate::stream::{Legacy, Named, PerThread};
use crate::{Cuda, Error, context, driver, graph, stream};

ghost_abi::rows! { Cuda;
    fn cuEventCreate(event: Out<*mut c_void>, flags: u32) => create;
    fn cuEventRecord(event: *mut c_void, stream: Legacy) => record;
    since 7000 fn cuEventRecord_ptsz(event: *mut c_void, stream: PerThread) => record;
    since 11010 fn cuEventRecordWithFlags(event: *mut c_void, stream: Legacy, flags: u32) => record_with_flags;
    since 11010 fn cuEventRecordWithFlags_ptsz(event: *mut c_void, stream: PerThread, flags: u32) => record_with_flags;
    fn cuEventQuery(event: *mut c_void) => query;
    fn cuEventSynchronize(event: *mut c_void) => synchronize;
    since 4000 fn cuEventDestroy_v2(event: *mut c_void) => destroy;
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: *mut c_void, end: *mut c_void) => elapsed;
    since 12080 fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: *mut c_void, end: *mut c_void) => elapsed;
}

const BLOCKING_SYNC: u32 = 1;
const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

fn create(event: Out<*mut c_void>, flags: u32) -> Result<(), Error> {
    event.check()?;
    if flags & !7 != 0 || flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0 {
        return Err(Error::InvalidValue);
    }
    let mut core = driver::get()?.core();
    let (context, device) = context::current(&core)?;
    let handle = core.events.insert(Event {
        device,
        context,
        timing: flags & DISABLE_TIMING == 0,
        blocking_sync: flags & BLOCKING_SYNC != 0,
        interprocess: flags & INTERPROCESS != 0,
        recorded: None,
        captured: None,
    });
    Ok(event.set(handle.pointer())?)
}

fn record(event: *mut c_void, stream: impl Named) -> Result<(), Error> {
    record_with_flags(event, stream, 0)
}

const EXTERNAL: u32 = 1;

/// An external record is a node that a capture's graph does at every launch; outside a capture the flag changes nothing.
fn record_with_flags(event: *mut c_void, stream: impl Named, flags: u32) -> Result<(), Error> {
    if flags & !EXTERNAL != 0 {
        return Err(Error::InvalidValue);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let handle = Handle::of(event);
    let stream = stream::resolve(&mut core, stream.named())?;
    let on = core.stream(stream)?.device;
    if core.event(handle)?.device != on {
        return Err(Error::InvalidHandle);
    }
    if core.stream(stream)?.capture.is_some() {
        let external = flags & EXTERNAL != 0;
        let capture = if external { graph::capture_external_record } else { graph::capture_record };
        return capture(&mut core, stream, handle);
    }
    graph::forbid_legacy(&mut core, stream)?;
    let moment = if core.queued > 0 && core.must_queue(stream)? {
        let done = core.push(stream, Vec::new(), Action::Mark)?;
        driver.moved.notify_all();
        Moment::Pending(done)
    } else {
        Moment::Known(core.ready_ns(stream)?.max(ghost_engine::clock::now_ns()))
    };
    let event = core.event_mut(handle)?;
    event.recorded = Some(moment);
    event.captured = None;
    Ok(())
}

/// An event that may be waited for now: not a captured one, and not while somebody's capture forbids it.
fn asked(core: &mut Core, event: *mut c_void) -> Result<&Event, Error> {
    let handle = Handle::of(event);
    if core.event(handle)?.captured.is_some() {
        return Err(Error::CapturedEvent);
    }
    graph::forbid_unsafe(core)?;
    core.event(handle)
}

fn query(event: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let event = asked(&mut core, event)?;
    let Some(moment) = &event.recorded else { return Ok(()) };
    match moment.known() {
        Some(at) if at <= ghost_engine::clock::now_ns() => Ok(()),
        _ => {
            drop(core);
            driver.look_up_sometimes()?;
            Err(Error::NotReady)
        }
    }
}

fn synchronize(event: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let Some(moment) = asked(&mut core, event)?.recorded.clone() else { return Ok(()) };
    drop(core);
    driver.wait_for(&moment)?;
    driver.look_up_sometimes()
}

fn destroy(event: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().events.remove(Handle::of(event)).map(|_| ()).ok_or(Error::InvalidHandle)
}

fn elapsed(milliseconds: Out<f32>, start: *mut c_void, end: *mut c_void) -> Result<(), Error> {
    milliseconds.check()?;
    let core = driver::get()?.core();
    let (start, end) = (core.event(Handle::of(start))?, core.event(Handle::of(end))?);
    if start.captured.is_some() || end.captured.is_some() || !start.timing || !end.timing {
        return Err(Error::InvalidHandle);
    }
    let (Some(from), Some(to)) = (&start.recorded, &end.recorded) else { return Err(Error::InvalidHandle) };
    let now = ghost_engine::clock::now_ns();
    match (from.known(), to.known()) {
        (Some(from), Some(to)) if from <= now && to <= now => {
            Ok(milliseconds.set((to as f64 - from as f64) as f32 / 1e6)?)
        }
        _ => Err(Error::NotReady),
    }
}
