//! Streams: making them, which one a call means, waiting for them. When work runs is `queue`'s to say.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;

use ghost_abi::{MaybeOut, Out};
use ghost_table::trace::Wait;

use crate::arena::Handle;
use crate::core::{Core, Moment, Stream};
use crate::driver::Driver;
use crate::queue::Action;
use crate::{Cuda, Error, context, driver, graph, trace};

ghost_abi::rows! { Cuda;
    fn cuStreamCreate(stream: Out<*mut c_void>, flags: u32) => create;
    fn cuStreamCreateWithPriority(stream: Out<*mut c_void>, flags: u32, priority: i32) => create_with_priority;
    since 4000 fn cuStreamDestroy_v2(stream: *mut c_void) => destroy;
    fn cuStreamGetPriority(stream: Legacy, priority: Out<i32>) => get_priority;
    since 7000 fn cuStreamGetPriority_ptsz(stream: PerThread, priority: Out<i32>) => get_priority;
    since 12080 fn cuStreamGetDevice(stream: Legacy, device: Out<i32>) => get_device;
    since 12080 fn cuStreamGetDevice_ptsz(stream: PerThread, device: Out<i32>) => get_device;
    fn cuStreamGetFlags(stream: Legacy, flags: Out<u32>) => get_flags;
    since 7000 fn cuStreamGetFlags_ptsz(stream: PerThread, flags: Out<u32>) => get_flags;
    since 12000 fn cuStreamGetId(stream: Legacy, id: Out<u64>) => get_id;
    since 12000 fn cuStreamGetId_ptsz(stream: PerThread, id: Out<u64>) => get_id;
    since 9020 fn cuStreamGetCtx(stream: Legacy, context: Out<*mut c_void>) => get_ctx;
    since 9020 fn cuStreamGetCtx_ptsz(stream: PerThread, context: Out<*mut c_void>) => get_ctx;
    since 12050 fn cuStreamGetCtx_v2(stream: Legacy, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) => get_ctx_v2;
    since 12050 fn cuStreamGetCtx_v2_ptsz(stream: PerThread, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) => get_ctx_v2;
    since 12050 fn cuStreamGetGreenCtx(stream: *mut c_void, green: Out<*mut c_void>) => get_green_ctx;
    fn cuStreamWaitEvent(stream: Legacy, event: *mut c_void, flags: u32) => wait_event;
    since 7000 fn cuStreamWaitEvent_ptsz(stream: PerThread, event: *mut c_void, flags: u32) => wait_event;
    fn cuStreamQuery(stream: Legacy) => query;
    since 7000 fn cuStreamQuery_ptsz(stream: PerThread) => query;
    fn cuStreamSynchronize(stream: Legacy) => synchronize;
    since 7000 fn cuStreamSynchronize_ptsz(stream: PerThread) => synchronize;
    fn cuStreamCopyAttributes(to: *mut c_void, from: *mut c_void) => copy_attributes;
    since 7000 fn cuStreamCopyAttributes_ptsz(to: *mut c_void, from: *mut c_void) => copy_attributes;
    fn cuStreamAttachMemAsync(stream: *mut c_void, address: u64, bytes: usize, flags: u32) => attach_mem;
    since 7000 fn cuStreamAttachMemAsync_ptsz(stream: *mut c_void, address: u64, bytes: usize, flags: u32) => attach_mem;
}

/// A `CUstream` argument of a plain function: null means the legacy stream.
#[derive(Debug)]
#[repr(transparent)]
pub struct Legacy(*mut c_void);

/// A `CUstream` argument of a `_ptsz` function: null means the thread's own stream.
#[derive(Debug)]
#[repr(transparent)]
pub struct PerThread(*mut c_void);

/// A stream argument whose null has a meaning, so that one handler serves both forms of a function.
pub trait Named {
    /// The same stream with that meaning spelled out.
    fn named(self) -> *mut c_void;
}

impl PerThread {
    /// This thread's own stream, for functions that name none.
    pub fn own() -> *mut c_void {
        OWN_STREAM as *mut c_void
    }
}

impl From<*mut c_void> for PerThread {
    fn from(stream: *mut c_void) -> PerThread {
        PerThread(stream)
    }
}

impl Named for Legacy {
    fn named(self) -> *mut c_void {
        self.0
    }
}

impl Named for PerThread {
    fn named(self) -> *mut c_void {
        if self.0.is_null() { OWN_STREAM as *mut c_void } else { self.0 }
    }
}

const LEGACY_STREAM: u64 = 1;
const OWN_STREAM: u64 = 2;
const NON_BLOCKING: u32 = 1;

thread_local! {
    /// This thread's own default stream in each context.
    static OWN: RefCell<HashMap<Handle, Handle>> = RefCell::new(HashMap::new());
}

/// The stream a `CUstream` names: null and 1 are the legacy stream, 2 this thread's own.
#[inline]
pub fn resolve(core: &mut Core, stream: *mut c_void) -> Result<Handle, Error> {
    let per_thread = match stream as u64 {
        0 | LEGACY_STREAM => false,
        OWN_STREAM => true,
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
    let known = OWN.try_with(|own| own.borrow().get(&handle).copied()).ok().flatten();
    if let Some(stream) = known.filter(|s| core.streams.get(*s).is_some()) {
        return Ok(stream);
    }
    let id = core.id();
    let stream = core.streams.insert(Stream::new(device, handle, false, 0, id));
    let _ = OWN.try_with(|own| own.borrow_mut().insert(handle, stream));
    Ok(stream)
}

fn with<T>(stream: *mut c_void, read: impl FnOnce(&Core, &Stream) -> T) -> Result<T, Error> {
    let mut core = driver::get()?.core();
    let handle = resolve(&mut core, stream)?;
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

fn get_priority(stream: impl Named, priority: Out<i32>) -> Result<(), Error> {
    Ok(priority.set(with(stream.named(), |_, s| s.priority)?)?)
}

fn get_device(stream: impl Named, device: Out<i32>) -> Result<(), Error> {
    Ok(device.set(with(stream.named(), |_, s| s.device as i32)?)?)
}

fn get_flags(stream: impl Named, flags: Out<u32>) -> Result<(), Error> {
    Ok(flags.set(with(stream.named(), |_, s| u32::from(s.non_blocking))?)?)
}

fn get_id(stream: impl Named, id: Out<u64>) -> Result<(), Error> {
    Ok(id.set(with(stream.named(), |_, s| s.id)?)?)
}

fn get_ctx(stream: impl Named, context: Out<*mut c_void>) -> Result<(), Error> {
    Ok(context.set(with(stream.named(), |_, s| s.context.pointer())?)?)
}

fn get_ctx_v2(stream: impl Named, context: Out<*mut c_void>, green: MaybeOut<*mut c_void>) -> Result<(), Error> {
    green.set(std::ptr::null_mut());
    get_ctx(stream, context)
}

/// No stream belongs to a green context yet.
fn get_green_ctx(stream: *mut c_void, green: Out<*mut c_void>) -> Result<(), Error> {
    with(stream, |_, _| ())?;
    Ok(green.set(std::ptr::null_mut())?)
}

fn copy_attributes(to: *mut c_void, from: *mut c_void) -> Result<(), Error> {
    with(to, |_, _| ())?;
    with(from, |_, _| ())
}

fn attach_mem(stream: *mut c_void, address: u64, _bytes: usize, _flags: u32) -> Result<(), Error> {
    with(stream, |core, _| core.ranges.find(address)).and_then(|r| r.map(|_| ()).ok_or(Error::InvalidValue))
}

/// Inside a capture: a node that waits at every launch.
const EXTERNAL: u32 = 1;

/// Binds to the record made before this call; an event never recorded is complete.
fn wait_event(stream: impl Named, event: *mut c_void, flags: u32) -> Result<(), Error> {
    if flags > EXTERNAL {
        return Err(Error::InvalidValue);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = resolve(&mut core, stream.named())?;
    if flags == EXTERNAL && core.stream(stream)?.capture.is_some() {
        return graph::capture_external_wait(&mut core, stream, Handle::of(event));
    }
    if graph::capture_wait(&mut core, stream, Handle::of(event))? {
        return Ok(());
    }
    graph::forbid_legacy(&mut core, stream)?;
    if trace::on() {
        trace::wait(&core, stream, Wait::StreamForEvent, ghost_engine::clock::now_ns());
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

fn query(stream: impl Named) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = resolve(&mut core, stream.named())?;
    graph::forbid_capture(&mut core, stream)?;
    graph::forbid_unsafe(&mut core)?;
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

fn synchronize(stream: impl Named) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = resolve(&mut core, stream.named())?;
    graph::forbid_capture(&mut core, stream)?;
    graph::forbid_unsafe(&mut core)?;
    drop(core);
    let start_ns = if trace::on() { ghost_engine::clock::now_ns() } else { 0 };
    let waited = wait(driver, stream);
    if start_ns != 0 {
        trace::wait(&driver.core(), stream, Wait::Stream, start_ns);
    }
    waited
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
