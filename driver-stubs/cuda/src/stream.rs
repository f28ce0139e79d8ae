//! Streams: making them, which one a call means, waiting for them. When work runs is `queue`'s to say.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;

use ghost_abi::{MaybeOut, Out};

use crate::arena::Handle;
use crate::core::{Core, Moment, Stream};
use crate::driver::Driver;
use crate::queue::Action;
use crate::{Cuda, Error, context, driver, graph};

ghost_abi::rows! { Cuda;
    fn cuStreamCreate(stream: Out<*mut c_void>, flags: u32) => create;
    fn cuStreamCreateWithPriority(stream: Out<*mut c_void>, flags: u32, priority: i32) => create_with_priority;
    since 4000 fn cuStreamDestroy_v2(stream: *mut c_void) => destroy;
    fn cuStreamGetPriority(stream: *mut c_void, priority: Out<i32>) => get_priority;
    since 7000 fn cuStreamGetPriority_ptsz(stream: *mut c_void, priority: Out<i32>) => get_priority_ptsz;
    since 12080 fn cuStreamGetDevice(stream: *mut c_void, device: Out<i32>) => get_device;
    since 12080 fn cuStreamGetDevice_ptsz(stream: *mut c_void, device: Out<i32>) => get_device_ptsz;
    fn cuStreamGetFlags(stream: *mut c_void, flags: Out<u32>) => get_flags;
    since 7000 fn cuStreamGetFlags_ptsz(stream: *mut c_void, flags: Out<u32>) => get_flags_ptsz;
    since 12000 fn cuStreamGetId(stream: *mut c_void, id: Out<u64>) => get_id;
    since 12000 fn cuStreamGetId_ptsz(stream: *mut c_void, id: Out<u64>) => get_id_ptsz;
    since 9020 fn cuStreamGetCtx(stream: *mut c_void, context: Out<*mut c_void>) => get_ctx;
    since 9020 fn cuStreamGetCtx_ptsz(stream: *mut c_void, context: Out<*mut c_void>) => get_ctx_ptsz;
    since 12050 fn cuStreamGetCtx_v2(stream: *mut c_void, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) => get_ctx_v2;
    since 12050 fn cuStreamGetCtx_v2_ptsz(stream: *mut c_void, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) => get_ctx_v2_ptsz;
    since 12050 fn cuStreamGetGreenCtx(stream: *mut c_void, green: Out<*mut c_void>) => get_green_ctx;
    fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: u32) => wait_event;
    since 7000 fn cuStreamWaitEvent_ptsz(stream: *mut c_void, event: *mut c_void, flags: u32) => wait_event_ptsz;
    fn cuStreamQuery(stream: *mut c_void) => query;
    since 7000 fn cuStreamQuery_ptsz(stream: *mut c_void) => query_ptsz;
    fn cuStreamSynchronize(stream: *mut c_void) => synchronize;
    since 7000 fn cuStreamSynchronize_ptsz(stream: *mut c_void) => synchronize_ptsz;
    fn cuStreamCopyAttributes(to: *mut c_void, from: *mut c_void) => copy_attributes;
    since 7000 fn cuStreamCopyAttributes_ptsz(to: *mut c_void, from: *mut c_void) => copy_attributes;
    fn cuStreamAttachMemAsync(stream: *mut c_void, address: u64, bytes: usize, flags: u32) => attach_mem;
    since 7000 fn cuStreamAttachMemAsync_ptsz(stream: *mut c_void, address: u64, bytes: usize, flags: u32) => attach_mem;
}

/// What a null stream means to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    Legacy,
    PerThread,
}

const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;
const NON_BLOCKING: u32 = 1;

thread_local! {
    /// This thread's own default stream in each context.
    static OWN: RefCell<HashMap<Handle, Handle>> = RefCell::new(HashMap::new());
}

/// The stream a `CUstream` names: null and 1 are the legacy stream, 2 this thread's own.
#[inline]
pub fn resolve(core: &mut Core, stream: *mut c_void, default: Default) -> Result<Handle, Error> {
    let per_thread = match stream as u64 {
        0 => default == Default::PerThread,
        LEGACY => false,
        PER_THREAD => true,
        _ => {
            let handle = Handle::of(stream);
            core.stream(handle)?;
            return Ok(handle);
        }
    };
    let (handle, device) = context::current(core)?;
    if !per_thread {
        return Ok(core.context(handle)?.legacy);
    }
    let known = OWN.with_borrow(|own| own.get(&handle).copied());
    if let Some(stream) = known.filter(|s| core.streams.get(*s).is_some()) {
        return Ok(stream);
    }
    let id = core.id();
    let stream = core.streams.insert(Stream::new(device, handle, false, 0, id));
    OWN.with_borrow_mut(|own| own.insert(handle, stream));
    Ok(stream)
}

fn with<T>(stream: *mut c_void, default: Default, read: impl FnOnce(&Core, &Stream) -> T) -> Result<T, Error> {
    let mut core = driver::get()?.core();
    let handle = resolve(&mut core, stream, default)?;
    Ok(read(&core, core.stream(handle)?))
}

fn create(stream: Out<*mut c_void>, flags: u32) -> Result<(), Error> {
    create_with_priority(stream, flags, 0)
}

fn create_with_priority(stream: Out<*mut c_void>, flags: u32, priority: i32) -> Result<(), Error> {
    stream.check()?;
    if flags > NON_BLOCKING {
        return Err(Error::InvalidValue);
    }
    let mut core = driver::get()?.core();
    let (context, device) = context::current(&core)?;
    let id = core.id();
    let new = Stream::new(device, context, flags & NON_BLOCKING != 0, priority.clamp(-5, 0), id);
    Ok(stream.set(core.streams.insert(new).pointer())?)
}

/// Work on a destroyed stream still runs: its tail lives on in the legacy rule, its queue is waited for.
fn destroy(stream: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let handle = Handle::of(stream);
    let mut core = driver.core();
    if core.stream(handle)?.legacy {
        return Err(Error::InvalidHandle);
    }
    if let Moment::Pending(done) = core.end_of(handle)? {
        drop(core);
        driver.wait_for(&Moment::Pending(done))?;
        core = driver.core();
    }
    core.streams.remove(handle).map(|_| ()).ok_or(Error::InvalidHandle)
}

fn get_priority(stream: *mut c_void, priority: Out<i32>) -> Result<(), Error> {
    Ok(priority.set(with(stream, Default::Legacy, |_, s| s.priority)?)?)
}

fn get_priority_ptsz(stream: *mut c_void, priority: Out<i32>) -> Result<(), Error> {
    Ok(priority.set(with(stream, Default::PerThread, |_, s| s.priority)?)?)
}

fn get_device(stream: *mut c_void, device: Out<i32>) -> Result<(), Error> {
    Ok(device.set(with(stream, Default::Legacy, |_, s| s.device as i32)?)?)
}

fn get_device_ptsz(stream: *mut c_void, device: Out<i32>) -> Result<(), Error> {
    Ok(device.set(with(stream, Default::PerThread, |_, s| s.device as i32)?)?)
}

fn get_flags(stream: *mut c_void, flags: Out<u32>) -> Result<(), Error> {
    Ok(flags.set(with(stream, Default::Legacy, |_, s| u32::from(s.non_blocking))?)?)
}

fn get_flags_ptsz(stream: *mut c_void, flags: Out<u32>) -> Result<(), Error> {
    Ok(flags.set(with(stream, Default::PerThread, |_, s| u32::from(s.non_blocking))?)?)
}

fn get_id(stream: *mut c_void, id: Out<u64>) -> Result<(), Error> {
    Ok(id.set(with(stream, Default::Legacy, |_, s| s.id)?)?)
}

fn get_id_ptsz(stream: *mut c_void, id: Out<u64>) -> Result<(), Error> {
    Ok(id.set(with(stream, Default::PerThread, |_, s| s.id)?)?)
}

fn get_ctx(stream: *mut c_void, context: Out<*mut c_void>) -> Result<(), Error> {
    Ok(context.set(with(stream, Default::Legacy, |_, s| s.context.pointer())?)?)
}

fn get_ctx_ptsz(stream: *mut c_void, context: Out<*mut c_void>) -> Result<(), Error> {
    Ok(context.set(with(stream, Default::PerThread, |_, s| s.context.pointer())?)?)
}

fn get_ctx_v2(stream: *mut c_void, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) -> Result<(), Error> {
    green.set(std::ptr::null_mut());
    get_ctx(stream, context)
}

fn get_ctx_v2_ptsz(stream: *mut c_void, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) -> Result<(), Error> {
    green.set(std::ptr::null_mut());
    get_ctx_ptsz(stream, context)
}

/// No stream belongs to a green context yet.
fn get_green_ctx(stream: *mut c_void, green: Out<*mut c_void>) -> Result<(), Error> {
    with(stream, Default::Legacy, |_, _| ())?;
    Ok(green.set(std::ptr::null_mut())?)
}

fn copy_attributes(to: *mut c_void, from: *mut c_void) -> Result<(), Error> {
    with(to, Default::Legacy, |_, _| ())?;
    with(from, Default::Legacy, |_, _| ())
}

fn attach_mem(stream: *mut c_void, address: u64, _bytes: usize, _flags: u32) -> Result<(), Error> {
    with(stream, Default::Legacy, |core, _| core.ranges.find(address))
        .and_then(|r| r.map(|_| ()).ok_or(Error::InvalidValue))
}

fn wait_event(stream: *mut c_void, event: *mut c_void, flags: u32) -> Result<(), Error> {
    wait_event_on(stream, event, flags, Default::Legacy)
}

fn wait_event_ptsz(stream: *mut c_void, event: *mut c_void, flags: u32) -> Result<(), Error> {
    wait_event_on(stream, event, flags, Default::PerThread)
}

/// Binds to the record made before this call; an event never recorded is complete.
fn wait_event_on(stream: *mut c_void, event: *mut c_void, flags: u32, default: Default) -> Result<(), Error> {
    if flags > 1 {
        return Err(Error::InvalidValue);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = resolve(&mut core, stream, default)?;
    if graph::capture_wait(&mut core, stream, Handle::of(event))? {
        return Ok(());
    }
    let Some(moment) = core.event(Handle::of(event))?.recorded.clone() else { return Ok(()) };
    let queue = core.must_queue(stream)?;
    match (moment, queue) {
        (Moment::Known(at), false) => core.advance_tail(stream, at),
        (Moment::Known(at), true) => {
            let known = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(at));
            core.push(stream, vec![known], Action::Join).map(|_| ())
        }
        (Moment::Pending(done), _) => {
            core.push(stream, vec![done], Action::Join)?;
            driver.moved.notify_all();
            crate::host::wake(driver);
            Ok(())
        }
    }
}

fn query(stream: *mut c_void) -> Result<(), Error> {
    query_on(stream, Default::Legacy)
}

fn query_ptsz(stream: *mut c_void) -> Result<(), Error> {
    query_on(stream, Default::PerThread)
}

fn query_on(stream: *mut c_void, default: Default) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = resolve(&mut core, stream, default)?;
    graph::forbid_capture(&mut core, stream)?;
    match core.end_of(stream)?.known() {
        Some(end) if end <= ghost_engine::clock::now_ns() => {
            drop(core);
            driver.faults()
        }
        _ => {
            drop(core);
            driver.look_up_sometimes()?;
            Err(Error::NotReady)
        }
    }
}

fn synchronize(stream: *mut c_void) -> Result<(), Error> {
    synchronize_on(stream, Default::Legacy)
}

fn synchronize_ptsz(stream: *mut c_void) -> Result<(), Error> {
    synchronize_on(stream, Default::PerThread)
}

fn synchronize_on(stream: *mut c_void, default: Default) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = resolve(&mut core, stream, default)?;
    graph::forbid_capture(&mut core, stream)?;
    drop(core);
    wait(driver, stream)
}

/// Waits until everything on a stream is over.
pub fn wait(driver: &Driver, stream: Handle) -> Result<(), Error> {
    loop {
        let moment = driver.core().end_of(stream)?;
        driver.wait_for(&moment)?;
        if matches!(moment, Moment::Known(_)) {
            crate::pool::release_surplus(driver, &mut driver.core())?;
            return driver.look_up_sometimes();
        }
    }
}

/// Waits until everything on a device is over.
pub fn drain(driver: &Driver, device: usize) -> Result<(), Error> {
    let streams: Vec<Handle> = {
        let core = driver.core();
        core.streams.iter().filter(|(_, s)| s.device == device).map(|(handle, _)| handle).collect()
    };
    for stream in streams {
        match wait(driver, stream) {
            Err(Error::InvalidHandle) => {}
            other => other?,
        }
    }
    let drained = driver.core().devices[device].backlogs.drained_ns();
    driver.sleep_until(drained)
}
