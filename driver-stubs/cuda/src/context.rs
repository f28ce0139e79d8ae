//! Contexts: the primary one of a device and those a program makes, the stack each thread keeps, limits and peers.
//! It takes context memory from ghostd and gives it back; it places no work.

use std::collections::HashMap;
use std::ffi::c_void;

use ghost_abi::{MaybeIn, MaybeOut, Out};
use ghost_engine::wire::Message;

use crate::arena::Handle;
use crate::core::{Context, Core, Stream};
use crate::driver::Driver;
use crate::ranges::{self, AddressSpace};
use crate::{Cuda, Error, driver};

ghost_abi::rows! { Cuda;
    since 7000 fn cuDevicePrimaryCtxRetain(context: Out<*mut c_void>, device: i32) => primary_retain;
    since 7000 fn cuDevicePrimaryCtxRelease(device: i32) => primary_release;
    since 11000 fn cuDevicePrimaryCtxRelease_v2(device: i32) => primary_release;
    since 7000 fn cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) => primary_set_flags;
    since 11000 fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) => primary_set_flags;
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) => primary_state;
    since 7000 fn cuDevicePrimaryCtxReset(device: i32) => primary_reset;
    since 11000 fn cuDevicePrimaryCtxReset_v2(device: i32) => primary_reset;
    since 3020 fn cuCtxCreate_v2(context: Out<*mut c_void>, flags: u32, device: i32) => create;
    since 12050 fn cuCtxCreate_v4(context: Out<*mut c_void>, params: MaybeIn<u8>, flags: u32, device: i32) => create_v4;
    since 4000 fn cuCtxDestroy_v2(context: *mut c_void) => destroy;
    since 4000 fn cuCtxPushCurrent_v2(context: *mut c_void) => push;
    since 4000 fn cuCtxPopCurrent_v2(context: MaybeOut<*mut c_void>) => pop;
    fn cuCtxSetCurrent(context: *mut c_void) => set_current;
    fn cuCtxGetCurrent(context: Out<*mut c_void>) => get_current;
    fn cuCtxGetDevice(device: Out<i32>) => get_device;
    since 13000 fn cuCtxGetDevice_v2(device: Out<i32>, context: *mut c_void) => device_of;
    fn cuCtxGetFlags(flags: Out<u32>) => get_flags;
    fn cuCtxSetFlags(flags: u32) => set_flags;
    fn cuCtxGetId(context: *mut c_void, id: Out<u64>) => get_id;
    fn cuCtxSynchronize() => synchronize;
    since 13000 fn cuCtxSynchronize_v2(context: *mut c_void) => synchronize_one;
    fn cuCtxSetLimit(limit: i32, value: usize) => set_limit;
    fn cuCtxGetLimit(value: Out<usize>, limit: i32) => get_limit;
    fn cuCtxGetCacheConfig(config: Out<i32>) => get_cache_config;
    fn cuCtxSetCacheConfig(config: i32) => set_cache_config;
    fn cuCtxGetSharedMemConfig(config: Out<i32>) => get_cache_config;
    fn cuCtxSetSharedMemConfig(config: i32) => set_cache_config;
    fn cuCtxGetApiVersion(context: *mut c_void, version: Out<u32>) => api_version;
    fn cuCtxGetStreamPriorityRange(least: MaybeOut<i32>, greatest: MaybeOut<i32>) => priority_range;
    fn cuCtxResetPersistingL2Cache() => reset_l2;
    fn cuCtxEnablePeerAccess(peer: *mut c_void, flags: u32) => enable_peer;
    fn cuCtxDisablePeerAccess(peer: *mut c_void) => disable_peer;
}

/// The current context and the ordinal of its device.
pub fn current(core: &Core) -> Result<(Handle, usize), Error> {
    let handle = driver::current().ok_or(Error::InvalidContext)?;
    let context = core.contexts.get(handle).ok_or(Error::ContextIsDestroyed)?;
    Ok((handle, context.device))
}

/// The primary context of a device, made at first need, retained once more if `retain`.
pub fn primary(driver: &Driver, ordinal: usize, retain: bool) -> Result<Handle, Error> {
    let mut core = driver.core();
    core.device(ordinal as i32)?;
    let handle = match core.devices[ordinal].primary {
        Some(handle) => handle,
        None => {
            let flags = core.devices[ordinal].flags;
            let handle = make(driver, &mut core, ordinal, true, flags)?;
            core.devices[ordinal].primary = Some(handle);
            handle
        }
    };
    core.devices[ordinal].retained += u32::from(retain);
    Ok(handle)
}

fn make(driver: &Driver, core: &mut Core, ordinal: usize, primary: bool, flags: u32) -> Result<Handle, Error> {
    let gpu = core.devices[ordinal].gpu;
    let modes = driver.client.facts().modes(gpu);
    if modes.lost != 0 {
        return Err(Error::DeviceUnavailable);
    }
    if core.devices[ordinal].space.is_none() {
        core.devices[ordinal].space = Some(AddressSpace::new(reserve(ordinal)?, ranges::DEVICE_SPAN));
    }
    driver.ask(Message::ContextOpen, &[gpu as u64])?;
    let id = core.id();
    let context = Context {
        device: ordinal,
        primary,
        flags,
        id,
        legacy: Handle(0),
        per_thread_flags: 0,
        peers: Vec::new(),
        fault_epoch: modes.fault_epoch,
        xid_count: driver.client.facts().gpu(gpu).xid_count,
        limits: HashMap::new(),
    };
    let handle = core.contexts.insert(context);
    let stream_id = core.id();
    let mut legacy = Stream::new(ordinal, handle, false, 0, stream_id);
    legacy.legacy = true;
    let legacy = core.streams.insert(legacy);
    if let Some(context) = core.contexts.get_mut(handle) {
        context.legacy = legacy;
    }
    Ok(handle)
}

/// Address space for one device: fixed places first, so that sanitisers and readers recognise a device pointer.
fn reserve(ordinal: usize) -> Result<u64, Error> {
    let wanted = ranges::BASE + ordinal as u64 * ranges::DEVICE_SPAN;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    for (hint, fixed) in [(wanted, libc::MAP_FIXED_NOREPLACE), (0, 0)] {
        let len = ranges::DEVICE_SPAN as usize;
        // SAFETY: a PROT_NONE reservation; NOREPLACE never covers an existing mapping.
        let got = unsafe { libc::mmap(hint as *mut c_void, len, libc::PROT_NONE, flags | fixed, -1, 0) };
        if got != libc::MAP_FAILED {
            // SAFETY: the range was just mapped by us.
            unsafe { libc::madvise(got, len, libc::MADV_DONTDUMP) };
            note_range(got as u64);
            return Ok(got as u64);
        }
    }
    Err(Error::OutOfMemory)
}

/// Tells the store of kept bytes where device pointers lie now.
fn note_range(base: u64) {
    static SEEN: parking_lot::Mutex<Option<std::ops::Range<u64>>> = parking_lot::Mutex::new(None);
    let mut seen = SEEN.lock();
    let end = base + ranges::DEVICE_SPAN;
    let range = seen.take().map_or(base..end, |known| known.start.min(base)..known.end.max(end));
    crate::small::set_device_range(range.clone());
    *seen = Some(range);
}

/// Destroys a context with all it owns, after its work is over.
fn unmake(driver: &Driver, handle: Handle) -> Result<(), Error> {
    let device = driver.core().context(handle)?.device;
    crate::stream::drain(driver, device)?;
    let mut core = driver.core();
    let Some(context) = core.contexts.remove(handle) else { return Err(Error::InvalidContext) };
    core.streams.remove_if(|s| s.context == handle);
    core.events.remove_if(|e| e.context == handle);
    core.modules.remove_if(|m| m.context == Some(handle));
    let gpu = core.devices[context.device].gpu;
    if core.devices[context.device].primary == Some(handle) {
        core.devices[context.device].primary = None;
    }
    if core.contexts.iter().any(|(_, c)| c.device == context.device) {
        return Ok(());
    }
    crate::pool::forget_device(&mut core, context.device);
    for range in core.ranges.of_device(context.device) {
        crate::memory::drop_range(&mut core, range);
    }
    core.mapped.clear();
    core.physical.remove_if(|physical| physical.device == context.device);
    if let Some(space) = core.devices[context.device].space.as_mut() {
        space.reset();
    }
    driver.ask(Message::ContextClose, &[gpu as u64]).map(|_| ())
}

fn primary_retain(context: Out<*mut c_void>, device: i32) -> Result<(), Error> {
    context.check()?;
    let driver = driver::get()?;
    driver.core().device(device)?;
    Ok(context.set(primary(driver, device as usize, true)?.pointer())?)
}

fn primary_release(device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    core.device(device)?;
    let state = &mut core.devices[device as usize];
    if state.retained == 0 {
        return Err(Error::InvalidContext);
    }
    state.retained -= 1;
    let last = (state.retained == 0).then_some(state.primary).flatten();
    drop(core);
    last.map_or(Ok(()), |handle| unmake(driver, handle))
}

fn primary_set_flags(device: i32, flags: u32) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    core.device(device)?;
    core.devices[device as usize].flags = flags;
    Ok(())
}

fn primary_state(device: i32, flags: Out<u32>, active: Out<i32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let state = core.device(device)?;
    flags.set(state.flags)?;
    Ok(active.set(i32::from(state.primary.is_some()))?)
}

fn primary_reset(device: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let handle = driver.core().device(device)?.primary;
    handle.map_or(Ok(()), |handle| unmake(driver, handle))
}

fn create(context: Out<*mut c_void>, flags: u32, device: i32) -> Result<(), Error> {
    context.check()?;
    let driver = driver::get()?;
    let mut core = driver.core();
    core.device(device)?;
    let handle = make(driver, &mut core, device as usize, false, flags)?;
    driver::push_current(handle);
    Ok(context.set(handle.pointer())?)
}

/// Execution affinity and CIG parameters are not emulated: asking for them is refused.
fn create_v4(context: Out<*mut c_void>, params: MaybeIn<u8>, flags: u32, device: i32) -> Result<(), Error> {
    if !params.is_null() {
        return Err(Error::NotSupported);
    }
    create(context, flags, device)
}

fn destroy(context: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let handle = Handle::of(context);
    if driver.core().context(handle)?.primary {
        return Err(Error::InvalidContext);
    }
    unmake(driver, handle)?;
    if driver::current() == Some(handle) {
        driver::pop_current();
    }
    Ok(())
}

fn push(context: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().context(Handle::of(context))?;
    driver::push_current(Handle::of(context));
    Ok(())
}

fn pop(context: MaybeOut<*mut c_void>) -> Result<(), Error> {
    driver::get()?;
    let handle = driver::pop_current().ok_or(Error::InvalidContext)?;
    context.set(handle.pointer());
    Ok(())
}

fn set_current(context: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    if context.is_null() {
        driver::set_current(None);
        return Ok(());
    }
    driver.core().context(Handle::of(context))?;
    driver::set_current(Some(Handle::of(context)));
    Ok(())
}

fn get_current(context: Out<*mut c_void>) -> Result<(), Error> {
    driver::get()?;
    Ok(context.set(driver::current().map_or(std::ptr::null_mut(), Handle::pointer))?)
}

fn get_device(device: Out<i32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(device.set(current(&core)?.1 as i32)?)
}

fn device_of(device: Out<i32>, context: *mut c_void) -> Result<(), Error> {
    if context.is_null() {
        return get_device(device);
    }
    let core = driver::get()?.core();
    Ok(device.set(core.context(Handle::of(context))?.device as i32)?)
}

fn get_flags(flags: Out<u32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let (handle, _) = current(&core)?;
    Ok(flags.set(core.context(handle)?.flags)?)
}

fn set_flags(flags: u32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let (handle, _) = current(&core)?;
    core.contexts.get_mut(handle).ok_or(Error::InvalidContext)?.flags = flags;
    Ok(())
}

fn get_id(context: *mut c_void, id: Out<u64>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let handle = if context.is_null() { current(&core)?.0 } else { Handle::of(context) };
    Ok(id.set(core.context(handle)?.id)?)
}

fn synchronize() -> Result<(), Error> {
    let driver = driver::get()?;
    let (_, device) = current(&driver.core())?;
    wait(driver, device)
}

fn synchronize_one(context: *mut c_void) -> Result<(), Error> {
    if context.is_null() {
        return synchronize();
    }
    let driver = driver::get()?;
    let device = driver.core().context(Handle::of(context))?.device;
    wait(driver, device)
}

fn wait(driver: &Driver, device: usize) -> Result<(), Error> {
    crate::graph::forbid_device(&mut driver.core(), device)?;
    crate::stream::drain(driver, device)
}

/// Defaults of the limits by `CUlimit`: stack, printf fifo, malloc heap, sync depth, pending launches, L2 fetch,
/// persisting L2, shared memory, CIG.
const LIMITS: [u64; 7] = [1024, 7 << 20, 8 << 20, 2, 2048, 64, 0];

fn set_limit(limit: i32, value: usize) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let (handle, _) = current(&core)?;
    let known = usize::try_from(limit).is_ok_and(|l| l < LIMITS.len());
    if !known {
        return Err(Error::UnsupportedLimit);
    }
    let context = core.contexts.get_mut(handle).ok_or(Error::InvalidContext)?;
    context.limits.insert(limit as u32, value as u64);
    Ok(())
}

fn get_limit(value: Out<usize>, limit: i32) -> Result<(), Error> {
    let core = driver::get()?.core();
    let (handle, _) = current(&core)?;
    let default = usize::try_from(limit).ok().and_then(|l| LIMITS.get(l)).ok_or(Error::UnsupportedLimit)?;
    let set = core.context(handle)?.limits.get(&(limit as u32)).unwrap_or(default);
    Ok(value.set(*set as usize)?)
}

fn get_cache_config(config: Out<i32>) -> Result<(), Error> {
    current(&driver::get()?.core())?;
    Ok(config.set(0)?)
}

fn set_cache_config(_config: i32) -> Result<(), Error> {
    current(&driver::get()?.core()).map(|_| ())
}

fn api_version(context: *mut c_void, version: Out<u32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    if !context.is_null() {
        core.context(Handle::of(context))?;
    }
    Ok(version.set(3020)?)
}

fn priority_range(least: MaybeOut<i32>, greatest: MaybeOut<i32>) -> Result<(), Error> {
    current(&driver::get()?.core())?;
    least.set(0);
    greatest.set(-5);
    Ok(())
}

fn reset_l2() -> Result<(), Error> {
    current(&driver::get()?.core()).map(|_| ())
}

fn enable_peer(peer: *mut c_void, flags: u32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let (handle, device) = current(&core)?;
    let other = core.context(Handle::of(peer))?.device;
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    if other == device {
        return Err(Error::InvalidDevice);
    }
    let context = core.contexts.get_mut(handle).ok_or(Error::InvalidContext)?;
    if context.peers.contains(&other) {
        return Err(Error::PeerAccessAlreadyEnabled);
    }
    context.peers.push(other);
    Ok(())
}

fn disable_peer(peer: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let (handle, _) = current(&core)?;
    let other = core.context(Handle::of(peer))?.device;
    let context = core.contexts.get_mut(handle).ok_or(Error::InvalidContext)?;
    let found = context.peers.iter().position(|&p| p == other).ok_or(Error::PeerAccessNotEnabled)?;
    context.peers.swap_remove(found);
    Ok(())
}
