//! Memory: device allocations against ghostd's ledger, pinned and managed host memory. Pools are `pool`'s, virtual
//! addresses `virtual_memory`'s. Nothing here copies; bytes are `copy`'s and `small`'s.

use std::ffi::c_void;

use ghost_abi::{MaybeOut, Out};
use ghost_engine::wire::Message;

use crate::core::Core;
use crate::driver::Driver;
use crate::ranges::{Memory, Range};
use crate::{Cuda, Error, context, driver, graph, stream};

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
    // Work queued on memory that was freed since may have written here.
    core.store.forget(placed.address, placed.bytes);
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
    graph::forbid_unsafe(&mut core)?;
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
    graph::forbid_unsafe(&mut driver.core())?;
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
    graph::forbid_unsafe(&mut core)?;
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
    graph::forbid_unsafe(&mut driver.core())?;
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
    graph::forbid_unsafe(&mut core)?;
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
    graph::forbid_unsafe(&mut core)?;
    let (_, device) = context::current(&core)?;
    let base = map_host(bytes)?;
    core.ranges.insert(base, page_multiple(bytes)?, device, Memory::Managed, flags);
    Ok(address.set(base)?)
}

/// Base and length of the allocation an address lies in; used by `pointer`.
pub fn address_range(address: u64, base: &MaybeOut<u64>, bytes: &MaybeOut<usize>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let range = core.ranges.find(address).filter(|r| r.memory != Memory::HostRegistered).ok_or(Error::NotFound)?;
    base.set(range.base);
    bytes.set(range.bytes as usize);
    Ok(())
}
