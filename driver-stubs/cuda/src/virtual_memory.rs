//! Virtual memory: addresses reserved, physical memory made, mapped and unmapped. Sharing it with other processes is
//! not here yet; it holds no bytes.

use std::ffi::c_void;

use ghost_abi::{In, InList, Out};
use ghost_engine::wire::Message;

use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::ranges::{BLOCK, Memory};
use crate::{Cuda, Error, context, driver};

ghost_abi::rows! { Cuda;
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

/// Physical memory made by cuMemCreate, mapped by cuMemMap.
#[derive(Debug)]
pub struct Physical {
    pub device: usize,
    pub bytes: u64,
    pub references: u32,
    pub released: bool,
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

/// The head of `CUmemAllocationProp`: allocation type, handle types, location type, location id. Handles may be asked
/// for; exporting one is refused later.
fn create(handle: Out<u64>, bytes: usize, props: In<[i32; 4]>, _flags: u64) -> Result<(), Error> {
    handle.check()?;
    let bytes = aligned(bytes)?;
    let props = props.get()?;
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
