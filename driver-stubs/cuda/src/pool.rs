//! Stream-ordered memory and its pools. A freed block stays with its pool, so that the next allocation of its size
//! costs no message; what is above the release threshold goes back to the GPU when somebody synchronises.

use std::collections::BTreeMap;
use std::ffi::c_void;

use ghost_abi::{In, InList, Out};
use ghost_engine::wire::Message;

use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::memory;
use crate::ranges::{Memory, Range};
use crate::{Cuda, Error, driver, stream};

ghost_abi::rows! { Cuda;
    since 11020 fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: *mut c_void) => alloc_async;
    since 11020 fn cuMemAllocAsync_ptsz(address: Out<u64>, bytes: usize, stream: *mut c_void) => alloc_async;
    since 11020 fn cuMemFreeAsync(address: u64, stream: *mut c_void) => free_async;
    since 11020 fn cuMemFreeAsync_ptsz(address: u64, stream: *mut c_void) => free_async;
    since 11020 fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: *mut c_void, stream: *mut c_void) => alloc_from_pool;
    since 11020 fn cuMemAllocFromPoolAsync_ptsz(address: Out<u64>, bytes: usize, pool: *mut c_void, stream: *mut c_void) => alloc_from_pool;
    since 11020 fn cuDeviceGetDefaultMemPool(pool: Out<*mut c_void>, device: i32) => default_pool;
    since 11020 fn cuDeviceGetMemPool(pool: Out<*mut c_void>, device: i32) => default_pool;
    since 11020 fn cuDeviceSetMemPool(device: i32, pool: *mut c_void) => set_pool;
    since 11020 fn cuMemPoolTrimTo(pool: *mut c_void, keep: usize) => pool_trim;
    since 11020 fn cuMemPoolSetAttribute(pool: *mut c_void, attribute: i32, value: *const u64) => pool_set_attribute;
    since 11020 fn cuMemPoolGetAttribute(pool: *mut c_void, attribute: i32, value: *mut u64) => pool_get_attribute;
    since 11020 fn cuMemPoolSetAccess(pool: *mut c_void, map: InList<[i32; 3]>, count: usize) => pool_set_access;
    since 11020 fn cuMemPoolCreate(pool: Out<*mut c_void>, props: In<[i32; 6]>) => pool_create;
    since 11020 fn cuMemPoolDestroy(pool: *mut c_void) => pool_destroy;
}

/// A pool: its attributes and the blocks it keeps for later.
#[derive(Debug)]
pub struct Pool {
    pub device: usize,
    pub is_default: bool,
    attributes: [u64; 8],
    /// Kept blocks by size.
    kept: BTreeMap<u64, Vec<u64>>,
    kept_bytes: u64,
    used_bytes: u64,
    high_bytes: u64,
}

const RELEASE_THRESHOLD: usize = 4;

impl Pool {
    fn new(device: usize, is_default: bool) -> Pool {
        // Reuse policies (1..=3) are on by default, the release threshold is 0.
        let attributes = [1, 1, 1, 0, 0, 0, 0, 0];
        let (kept, kept_bytes) = (BTreeMap::new(), 0);
        Pool { device, is_default, attributes, kept, kept_bytes, used_bytes: 0, high_bytes: 0 }
    }

    /// A kept block for `bytes`, at most half as large again.
    fn reuse(&mut self, bytes: u64) -> Option<(u64, u64)> {
        let (&size, blocks) = self.kept.range_mut(bytes..=bytes.saturating_add(bytes / 2)).next()?;
        let address = blocks.pop()?;
        if blocks.is_empty() {
            self.kept.remove(&size);
        }
        self.kept_bytes -= size;
        Some((address, size))
    }

    fn keep(&mut self, range: Range) {
        self.kept.entry(range.bytes).or_default().push(range.base);
        self.kept_bytes += range.bytes;
        self.used_bytes = self.used_bytes.saturating_sub(range.bytes);
    }

    fn used(&mut self, bytes: u64) {
        self.used_bytes += bytes;
        self.high_bytes = self.high_bytes.max(self.used_bytes);
    }

    /// Takes out kept blocks until at most `keep` bytes are left.
    fn surplus(&mut self, keep: u64) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        while self.kept_bytes > keep
            && let Some((bytes, mut blocks)) = self.kept.pop_last()
        {
            while self.kept_bytes > keep
                && let Some(address) = blocks.pop()
            {
                self.kept_bytes -= bytes;
                out.push((address, bytes));
            }
            if !blocks.is_empty() {
                self.kept.insert(bytes, blocks);
            }
        }
        out
    }
}

/// Allocates from a pool: a kept block, else new memory, else new memory after every pool has given up its surplus.
fn allocate(driver: &Driver, core: &mut Core, pool: Handle, bytes: usize) -> Result<u64, Error> {
    if bytes == 0 {
        return Err(Error::InvalidValue);
    }
    let state = core.pools.get_mut(pool).ok_or(Error::InvalidValue)?;
    let device = state.device;
    let wanted = crate::ranges::rounded(bytes as u64).ok_or(Error::OutOfMemory)?;
    if let Some((address, size)) = state.reuse(wanted) {
        state.used(size);
        core.store.forget(address, size);
        core.ranges.insert(address, size, device, Memory::Device, 0);
        return Ok(address);
    }
    let address = match memory::take(driver, core, device, bytes) {
        Err(Error::OutOfMemory) => {
            trim_all(driver, core, |_| 0)?;
            memory::take(driver, core, device, bytes)?
        }
        other => other?,
    };
    let size = core.ranges.at(address).map_or(0, |range| range.bytes);
    if let Some(state) = core.pools.get_mut(pool) {
        state.used(size);
    }
    Ok(address)
}

/// Gives memory back to the GPU from every pool that keeps more than `keep` says.
fn trim_all(driver: &Driver, core: &mut Core, keep: impl Fn(&Pool) -> u64) -> Result<(), Error> {
    let mut freed: BTreeMap<usize, u64> = BTreeMap::new();
    let mut gone = Vec::new();
    for (_, pool) in core.pools.iter_mut() {
        let keep = keep(pool);
        gone.extend(pool.surplus(keep).into_iter().map(|(address, bytes)| (pool.device, address, bytes)));
    }
    for (device, address, bytes) in gone {
        let space = core.devices[device].space.as_mut();
        *freed.entry(device).or_default() += space.map_or(0, |space| space.release(address, bytes));
    }
    for (device, bytes) in freed.into_iter().filter(|(_, bytes)| *bytes > 0) {
        driver.ask(Message::MemoryGive, &[core.devices[device].gpu as u64, bytes])?;
    }
    Ok(())
}

/// At a synchronisation, what is above the release thresholds goes back.
pub fn release_surplus(driver: &Driver, core: &mut Core) -> Result<(), Error> {
    let threshold = |pool: &Pool| pool.attributes[RELEASE_THRESHOLD - 1];
    if core.pools.iter().all(|(_, pool)| pool.kept_bytes <= threshold(pool)) {
        return Ok(());
    }
    trim_all(driver, core, threshold)
}

/// A context is gone, and its memory with it: pools of the device keep nothing.
pub fn forget_device(core: &mut Core, device: usize) {
    core.pools.remove_if(|pool| pool.device == device);
}

fn alloc_async(address: Out<u64>, bytes: usize, stream: *mut c_void) -> Result<(), Error> {
    address.check()?;
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = stream::resolve(&mut core, stream)?;
    let device = core.stream(stream)?.device;
    let pool = default_of(&mut core, device);
    Ok(address.set(allocate(driver, &mut core, pool, bytes)?)?)
}

fn free_async(address: u64, stream: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    stream::resolve(&mut core, stream)?;
    let range = core.ranges.at(address).filter(|r| r.memory == Memory::Device).ok_or(Error::InvalidValue)?;
    core.ranges.remove(range.base);
    core.store.forget(range.base, range.bytes);
    let pool = default_of(&mut core, range.device);
    if let Some(pool) = core.pools.get_mut(pool) {
        pool.keep(range);
    }
    Ok(())
}

fn alloc_from_pool(address: Out<u64>, bytes: usize, pool: *mut c_void, stream: *mut c_void) -> Result<(), Error> {
    address.check()?;
    let driver = driver::get()?;
    let mut core = driver.core();
    stream::resolve(&mut core, stream)?;
    Ok(address.set(allocate(driver, &mut core, Handle::of(pool), bytes)?)?)
}

/// The default pool of a device, made at first need.
fn default_of(core: &mut Core, device: usize) -> Handle {
    let known = core.pools.iter().find(|(_, p)| p.is_default && p.device == device).map(|(handle, _)| handle);
    known.unwrap_or_else(|| core.pools.insert(Pool::new(device, true)))
}

fn default_pool(pool: Out<*mut c_void>, device: i32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    core.device(device)?;
    let handle = default_of(&mut core, device as usize);
    Ok(pool.set(handle.pointer())?)
}

fn set_pool(device: i32, pool: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.device(device)?;
    core.pools.get(Handle::of(pool)).map(|_| ()).ok_or(Error::InvalidValue)
}

fn pool_trim(pool: *mut c_void, keep: usize) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let wanted = core.pools.get(Handle::of(pool)).ok_or(Error::InvalidValue)?;
    let (device, is_default) = (wanted.device, wanted.is_default);
    trim_all(
        driver,
        &mut core,
        |p| if p.device == device && p.is_default == is_default { keep as u64 } else { u64::MAX },
    )
}

/// Attributes 1..=3 are 32-bit switches, the others 64-bit sizes.
fn pool_set_attribute(pool: *mut c_void, attribute: i32, value: *const u64) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let pool = core.pools.get_mut(Handle::of(pool)).ok_or(Error::InvalidValue)?;
    let at = usize::try_from(attribute).ok().filter(|a| (1..=8).contains(a)).ok_or(Error::InvalidValue)?;
    pool.attributes[at - 1] = if at <= 3 {
        // SAFETY: for a switch the caller lends one `int`.
        u64::from(unsafe { In::<u32>::from_raw(value.cast()) }.get()?)
    } else {
        // SAFETY: for the others the caller lends one `cuuint64_t`.
        unsafe { In::<u64>::from_raw(value) }.get()?
    };
    Ok(())
}

fn pool_get_attribute(pool: *mut c_void, attribute: i32, value: *mut u64) -> Result<(), Error> {
    let core = driver::get()?.core();
    let pool = core.pools.get(Handle::of(pool)).ok_or(Error::InvalidValue)?;
    let at = usize::try_from(attribute).ok().filter(|a| (1..=8).contains(a)).ok_or(Error::InvalidValue)?;
    if at <= 3 {
        // SAFETY: for a switch the caller lends storage for one `int`.
        let switch: Out<u32> = unsafe { Out::from_raw(value.cast()) };
        return Ok(switch.set(pool.attributes[at - 1] as u32)?);
    }
    // SAFETY: for the others the caller lends storage for one `cuuint64_t`.
    let size: Out<u64> = unsafe { Out::from_raw(value) };
    Ok(size.set(match at {
        5 => pool.kept_bytes + pool.used_bytes,
        6 => pool.kept_bytes + pool.high_bytes,
        7 => pool.used_bytes,
        8 => pool.high_bytes,
        _ => pool.attributes[at - 1],
    })?)
}

fn pool_set_access(pool: *mut c_void, map: InList<[i32; 3]>, count: usize) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.pools.get(Handle::of(pool)).ok_or(Error::InvalidValue)?;
    for entry in map.get(count)? {
        core.device(entry[1])?;
    }
    Ok(())
}

/// The head of `CUmemPoolProps`: allocation type, handle types, location type, location id.
fn pool_create(pool: Out<*mut c_void>, props: In<[i32; 6]>) -> Result<(), Error> {
    pool.check()?;
    let mut core = driver::get()?.core();
    let device = props.get()?[3];
    core.device(device)?;
    Ok(pool.set(core.pools.insert(Pool::new(device as usize, false)).pointer())?)
}

fn pool_destroy(pool: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let handle = Handle::of(pool);
    let state = core.pools.get_mut(handle).filter(|p| !p.is_default).ok_or(Error::InvalidValue)?;
    // Blocks still in use go to the device's default pool when they are freed.
    state.attributes[RELEASE_THRESHOLD - 1] = 0;
    release_surplus(driver, &mut core)?;
    core.pools.remove(handle);
    Ok(())
}
