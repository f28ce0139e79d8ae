//! Memory: device allocations against ghostd's ledger, pinned and managed host memory, pools, virtual memory.
//! Nothing here copies; bytes are `copy`'s and `small`'s.

use std::ffi::c_void;

use ghost_abi::{In, InList, MaybeOut, Out};
use ghost_engine::wire::Message;

use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::ranges::{BLOCK, Memory, Range};
use crate::{Cuda, Error, context, driver, stream};

ghost_abi::rows! { Cuda;
    since 3020 fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) => get_info;
    since 3020 fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) => alloc;
    since 3020 fn cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) => alloc_pitch;
    since 3020 fn cuMemFree_v2(address: u64) => free;
    since 3020 fn cuMemAllocHost_v2(pointer: Out<*mut c_void>, bytes: usize) => alloc_host;
    fn cuMemHostAlloc(pointer: Out<*mut c_void>, bytes: usize, flags: u32) => host_alloc;
    fn cuMemFreeHost(pointer: *mut c_void) => free_host;
    since 3020 fn cuMemHostGetDevicePointer_v2(address: Out<u64>, pointer: *mut c_void, flags: u32) => host_device_pointer;
    fn cuMemHostGetFlags(flags: Out<u32>, pointer: *mut c_void) => host_flags;
    since 6050 fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: u32) => host_register;
    fn cuMemHostUnregister(pointer: *mut c_void) => host_unregister;
    fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) => alloc_managed;
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
    since 10020 fn cuMemGetAllocationGranularity(bytes: Out<usize>, props: *const c_void, option: i32) => granularity;
    since 10020 fn cuMemAddressReserve(address: Out<u64>, bytes: usize, alignment: usize, hint: u64, flags: u64) => address_reserve;
    since 10020 fn cuMemAddressFree(address: u64, bytes: usize) => address_free;
    since 10020 fn cuMemCreate(handle: Out<u64>, bytes: usize, props: In<[i32; 4]>, flags: u64) => create;
    since 10020 fn cuMemRelease(handle: u64) => release;
    since 10020 fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) => map;
    since 10020 fn cuMemUnmap(address: u64, bytes: usize) => unmap;
    since 10020 fn cuMemSetAccess(address: u64, bytes: usize, access: InList<[i32; 3]>, count: usize) => set_access;
    since 10020 fn cuMemGetAccess(flags: Out<u64>, location: *const c_void, address: u64) => get_access;
}

/// A pool of stream-ordered memory. Blocks go back to the GPU at once, so a pool holds attributes only.
#[derive(Debug)]
pub struct Pool {
    pub device: usize,
    pub is_default: bool,
    pub attributes: [u64; 8],
    pub used_bytes: u64,
    pub high_bytes: u64,
}

/// Physical memory made by cuMemCreate, mapped by cuMemMap.
#[derive(Debug)]
pub struct Physical {
    pub device: usize,
    pub bytes: u64,
    pub references: u32,
    pub released: bool,
}

/// Takes device memory: room in the address space, bytes from ghostd, a range.
pub fn take(driver: &Driver, core: &mut Core, device: usize, bytes: usize) -> Result<u64, Error> {
    if bytes == 0 {
        return Err(Error::InvalidValue);
    }
    let gpu = core.devices[device].gpu as u64;
    let space = core.devices[device].space.as_mut().ok_or(Error::InvalidContext)?;
    let placed = space.place(bytes as u64).ok_or(Error::OutOfMemory)?;
    if placed.taken > 0
        && let Err(error) = driver.ask(Message::MemoryTake, &[gpu, placed.taken])
    {
        space.release(placed.address, placed.bytes);
        return Err(error);
    }
    core.ranges.insert(placed.address, placed.bytes, device, Memory::Device, 0);
    Ok(placed.address)
}

/// Gives device memory back: nothing of it may show again.
fn give(driver: &Driver, core: &mut Core, range: Range) -> Result<(), Error> {
    let gpu = core.devices[range.device].gpu as u64;
    let freed = drop_range(core, range);
    if freed > 0 {
        driver.ask(Message::MemoryGive, &[gpu, freed])?;
    }
    Ok(())
}

/// Forgets a range in this process; returns the bytes of blocks that are free again.
pub fn drop_range(core: &mut Core, range: Range) -> u64 {
    core.ranges.remove(range.base);
    match range.memory {
        Memory::Device => {
            core.store.forget(range.base, range.bytes);
            core.devices[range.device].space.as_mut().map_or(0, |space| space.release(range.base, range.bytes))
        }
        Memory::HostAllocated | Memory::Managed => {
            // SAFETY: the range was mapped by `map_host` with this length and is forgotten above.
            unsafe { libc::munmap(range.base as *mut c_void, range.bytes as usize) };
            0
        }
        Memory::HostRegistered | Memory::Reserved => 0,
    }
}

fn get_info(free: Out<usize>, total: Out<usize>) -> Result<(), Error> {
    let driver = driver::get()?;
    let (_, device) = context::current(&driver.core())?;
    let gpu = driver.core().devices[device].gpu as u64;
    let reply = driver.ask(Message::MemoryInfo, &[gpu])?;
    free.set(reply.head.args[0] as usize)?;
    Ok(total.set(reply.head.args[1] as usize)?)
}

fn alloc(address: Out<u64>, bytes: usize) -> Result<(), Error> {
    address.check()?;
    let driver = driver::get()?;
    driver.faults()?;
    let mut core = driver.core();
    let (_, device) = context::current(&core)?;
    Ok(address.set(take(driver, &mut core, device, bytes)?)?)
}

fn alloc_pitch(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) -> Result<(), Error> {
    pitch.check()?;
    if !matches!(element, 4 | 8 | 16) {
        return Err(Error::InvalidValue);
    }
    let row = width.checked_next_multiple_of(512).ok_or(Error::InvalidValue)?;
    alloc(address, row.checked_mul(height).ok_or(Error::OutOfMemory)?)?;
    Ok(pitch.set(row)?)
}

/// cudaFree waits for the device.
fn free(address: u64) -> Result<(), Error> {
    let driver = driver::get()?;
    if address == 0 {
        return Ok(());
    }
    let range = driver.core().ranges.at(address);
    let range = range.filter(|r| matches!(r.memory, Memory::Device | Memory::Managed)).ok_or(Error::InvalidValue)?;
    stream::drain(driver, range.device)?;
    let mut core = driver.core();
    match core.ranges.at(address) {
        Some(range) => give(driver, &mut core, range),
        None => Err(Error::InvalidValue),
    }
}

fn alloc_host(pointer: Out<*mut c_void>, bytes: usize) -> Result<(), Error> {
    host_alloc(pointer, bytes, 0)
}

/// Flags: 1 portable, 2 mapped, 4 write-combined.
fn host_alloc(pointer: Out<*mut c_void>, bytes: usize, flags: u32) -> Result<(), Error> {
    pointer.check()?;
    if bytes == 0 || flags & !7 != 0 {
        return Err(Error::InvalidValue);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let (_, device) = context::current(&core)?;
    let base = map_host(bytes)?;
    let bytes = page_multiple(bytes)?;
    core.ranges.insert(base, bytes, device, Memory::HostAllocated, flags);
    core.pinned_bytes += bytes;
    Ok(pointer.set(base as *mut c_void)?)
}

fn page_multiple(bytes: usize) -> Result<u64, Error> {
    (bytes as u64).checked_next_multiple_of(4096).ok_or(Error::OutOfMemory)
}

fn map_host(bytes: usize) -> Result<u64, Error> {
    let bytes = page_multiple(bytes)? as usize;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping where the kernel likes.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED { Err(Error::OutOfMemory) } else { Ok(base as u64) }
}

fn free_host(pointer: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let range = driver.core().ranges.at(pointer as u64);
    let range = range.filter(|r| r.memory == Memory::HostAllocated).ok_or(Error::InvalidValue)?;
    stream::drain(driver, range.device)?;
    let mut core = driver.core();
    core.pinned_bytes = core.pinned_bytes.saturating_sub(range.bytes);
    drop_range(&mut core, range);
    Ok(())
}

fn host_device_pointer(address: Out<u64>, pointer: *mut c_void, flags: u32) -> Result<(), Error> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    let core = driver::get()?.core();
    let range = core.ranges.find(pointer as u64).ok_or(Error::InvalidValue)?;
    if range.memory == Memory::Device {
        return Err(Error::InvalidValue);
    }
    Ok(address.set(pointer as u64)?)
}

fn host_flags(flags: Out<u32>, pointer: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    let range = core.ranges.find(pointer as u64).filter(|r| r.memory != Memory::Device).ok_or(Error::InvalidValue)?;
    // Every pinned allocation is mapped under unified addressing.
    Ok(flags.set(range.flags | 2)?)
}

fn host_register(pointer: *mut c_void, bytes: usize, flags: u32) -> Result<(), Error> {
    if pointer.is_null() || bytes == 0 || flags & !15 != 0 {
        return Err(Error::InvalidValue);
    }
    let mut core = driver::get()?.core();
    let (_, device) = context::current(&core)?;
    if core.ranges.overlaps(pointer as u64, bytes as u64) {
        return Err(Error::HostMemoryAlreadyRegistered);
    }
    core.ranges.insert(pointer as u64, bytes as u64, device, Memory::HostRegistered, flags);
    core.pinned_bytes += bytes as u64;
    Ok(())
}

fn host_unregister(pointer: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let range = core.ranges.at(pointer as u64).filter(|r| r.memory == Memory::HostRegistered);
    let range = range.ok_or(Error::HostMemoryNotRegistered)?;
    core.pinned_bytes = core.pinned_bytes.saturating_sub(range.bytes);
    drop_range(&mut core, range);
    Ok(())
}

/// Managed memory is host memory here: it can be read and written, kernels leave it as it is.
fn alloc_managed(address: Out<u64>, bytes: usize, flags: u32) -> Result<(), Error> {
    address.check()?;
    if bytes == 0 || !matches!(flags, 1 | 2) {
        return Err(Error::InvalidValue);
    }
    let mut core = driver::get()?.core();
    let (_, device) = context::current(&core)?;
    let base = map_host(bytes)?;
    core.ranges.insert(base, page_multiple(bytes)?, device, Memory::Managed, flags);
    Ok(address.set(base)?)
}

fn alloc_async(address: Out<u64>, bytes: usize, stream: *mut c_void) -> Result<(), Error> {
    address.check()?;
    let driver = driver::get()?;
    let mut core = driver.core();
    let stream = stream::resolve(&mut core, stream, stream::Default::Legacy)?;
    let device = core.stream(stream)?.device;
    Ok(address.set(take(driver, &mut core, device, bytes)?)?)
}

fn free_async(address: u64, stream: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    stream::resolve(&mut core, stream, stream::Default::Legacy)?;
    let range = core.ranges.at(address).filter(|r| r.memory == Memory::Device).ok_or(Error::InvalidValue)?;
    give(driver, &mut core, range)
}

fn alloc_from_pool(address: Out<u64>, bytes: usize, pool: *mut c_void, stream: *mut c_void) -> Result<(), Error> {
    address.check()?;
    let driver = driver::get()?;
    let mut core = driver.core();
    stream::resolve(&mut core, stream, stream::Default::Legacy)?;
    let device = core.pools.get(Handle::of(pool)).ok_or(Error::InvalidValue)?.device;
    Ok(address.set(take(driver, &mut core, device, bytes)?)?)
}

fn default_pool(pool: Out<*mut c_void>, device: i32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    core.device(device)?;
    let device = device as usize;
    let known = core.pools.iter().find(|(_, p)| p.is_default && p.device == device).map(|(handle, _)| handle);
    let handle = known.unwrap_or_else(|| core.pools.insert(Pool::new(device, true)));
    Ok(pool.set(handle.pointer())?)
}

impl Pool {
    fn new(device: usize, is_default: bool) -> Pool {
        // Reuse policies (1..=3) are on by default.
        Pool { device, is_default, attributes: [0, 1, 1, 1, 0, 0, 0, 0], used_bytes: 0, high_bytes: 0 }
    }
}

fn set_pool(device: i32, pool: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.device(device)?;
    core.pools.get(Handle::of(pool)).map(|_| ()).ok_or(Error::InvalidValue)
}

fn pool_trim(pool: *mut c_void, _keep: usize) -> Result<(), Error> {
    driver::get()?.core().pools.get(Handle::of(pool)).map(|_| ()).ok_or(Error::InvalidValue)
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
    driver::get()?.core().pools.remove(Handle::of(pool)).map(|_| ()).ok_or(Error::InvalidValue)
}

fn granularity(bytes: Out<usize>, _props: *const c_void, option: i32) -> Result<(), Error> {
    driver::get()?;
    if !matches!(option, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    Ok(bytes.set(BLOCK as usize)?)
}

fn aligned(bytes: usize) -> Result<u64, Error> {
    let bytes = bytes as u64;
    if bytes == 0 || !bytes.is_multiple_of(BLOCK) { Err(Error::InvalidValue) } else { Ok(bytes) }
}

fn address_reserve(address: Out<u64>, bytes: usize, alignment: usize, _hint: u64, flags: u64) -> Result<(), Error> {
    address.check()?;
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    let bytes = aligned(bytes)?;
    let mut core = driver::get()?.core();
    let (_, device) = context::current(&core)?;
    let space = core.devices[device].space.as_mut().ok_or(Error::InvalidContext)?;
    let base = space.reserve(bytes, alignment as u64).ok_or(Error::OutOfMemory)?;
    Ok(address.set(base)?)
}

fn address_free(address: u64, bytes: usize) -> Result<(), Error> {
    let bytes = aligned(bytes)?;
    let mut core = driver::get()?.core();
    if core.ranges.overlaps(address, bytes) {
        return Err(Error::InvalidValue);
    }
    let (_, device) = context::current(&core)?;
    core.devices[device].space.as_mut().map(|space| space.release(address, bytes));
    Ok(())
}

/// The head of `CUmemAllocationProp`: allocation type, handle types, location type, location id.
fn create(handle: Out<u64>, bytes: usize, props: In<[i32; 4]>, _flags: u64) -> Result<(), Error> {
    handle.check()?;
    let bytes = aligned(bytes)?;
    let props = props.get()?;
    if props[1] != 0 {
        return Err(Error::NotSupported);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let gpu = core.device(props[3])?.gpu as u64;
    driver.ask(Message::MemoryTake, &[gpu, bytes])?;
    let physical = Physical { device: props[3] as usize, bytes, references: 0, released: false };
    Ok(handle.set(core.physical.insert(physical).0)?)
}

fn release(handle: u64) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    core.physical.get_mut(Handle(handle)).filter(|p| !p.released).ok_or(Error::InvalidValue)?.released = true;
    settle(driver, &mut core, Handle(handle))
}

/// Gives physical memory back once it is released and mapped nowhere.
fn settle(driver: &Driver, core: &mut Core, handle: Handle) -> Result<(), Error> {
    let Some(physical) = core.physical.get(handle) else { return Ok(()) };
    if !physical.released || physical.references > 0 {
        return Ok(());
    }
    let (gpu, bytes) = (core.devices[physical.device].gpu as u64, physical.bytes);
    core.physical.remove(handle);
    driver.ask(Message::MemoryGive, &[gpu, bytes]).map(|_| ())
}

fn map(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> Result<(), Error> {
    let bytes = aligned(bytes)?;
    let mut core = driver::get()?.core();
    if flags != 0 || offset != 0 || core.ranges.overlaps(address, bytes) {
        return Err(Error::InvalidValue);
    }
    let physical = core.physical.get_mut(Handle(handle)).ok_or(Error::InvalidValue)?;
    if bytes > physical.bytes {
        return Err(Error::InvalidValue);
    }
    physical.references += 1;
    let device = physical.device;
    core.ranges.insert(address, bytes, device, Memory::Reserved, 0);
    core.mapped.insert(address, Handle(handle));
    Ok(())
}

fn unmap(address: u64, bytes: usize) -> Result<(), Error> {
    let end = address.checked_add(aligned(bytes)?).ok_or(Error::InvalidValue)?;
    let driver = driver::get()?;
    let mut core = driver.core();
    let gone: Vec<u64> = core.mapped.range(address..end).map(|(base, _)| *base).collect();
    if gone.is_empty() {
        return Err(Error::InvalidValue);
    }
    for base in gone {
        let Some(handle) = core.mapped.remove(&base) else { continue };
        if let Some(range) = core.ranges.remove(base) {
            core.store.forget(range.base, range.bytes);
        }
        if let Some(physical) = core.physical.get_mut(handle) {
            physical.references = physical.references.saturating_sub(1);
        }
        settle(driver, &mut core, handle)?;
    }
    Ok(())
}

fn set_access(address: u64, _bytes: usize, access: InList<[i32; 3]>, count: usize) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.ranges.find(address).ok_or(Error::InvalidValue)?;
    for entry in access.get(count)? {
        core.device(entry[1])?;
    }
    Ok(())
}

fn get_access(flags: Out<u64>, _location: *const c_void, address: u64) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.ranges.find(address).ok_or(Error::InvalidValue)?;
    Ok(flags.set(3)?)
}

/// Base and length of the allocation an address lies in; used by `pointer`.
pub fn address_range(address: u64, base: &MaybeOut<u64>, bytes: &MaybeOut<usize>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let range = core.ranges.find(address).filter(|r| r.memory != Memory::HostRegistered).ok_or(Error::NotFound)?;
    base.set(range.base);
    bytes.set(range.bytes as usize);
    Ok(())
}
