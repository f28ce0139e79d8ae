//! Which device a thread works on, and the life of its context.
//! Contexts themselves are `context.rs`'s.

use crate::codes::Error;
use crate::driver::forward::*;
use crate::driver::*;
use crate::types::*;
use crate::{Cudart, context, guard};
use ghost_abi::{InList, Out};
use std::ffi::c_char;

ghost_abi::rows! { Cudart;
    fn cudaGetDeviceCount(count: Out<i32>) => count;
    fn cudaGetDevice(device: Out<i32>) => get;
    fn cudaSetDevice(device: i32) => set;
    fn cudaSetValidDevices(devices: InList<i32>, len: i32) => set_valid;
    fn cudaInitDevice(device: i32, device_flags: u32, flags: u32) => init;
    fn cudaDeviceReset() => reset;
    fn cudaDeviceSynchronize() => cuCtxSynchronize;
    fn cudaGetDeviceFlags(flags: Out<u32>) => get_flags;
    fn cudaSetDeviceFlags(flags: u32) => set_flags;
    fn cudaChooseDevice(device: Out<i32>, prop: Ptr) => choose;
    fn cudaDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: i32, device: i32) => cuDeviceGetPCIBusId;
    fn cudaDeviceGetByPCIBusId(device: *mut i32, pci_bus_id: *mut c_char) => cuDeviceGetByPCIBusId;
}

/// An error comes with a count of 0, so that callers who ignore it see no device.
fn count(count: Out<i32>) -> Result<(), Error> {
    count.set(0)?;
    Ok(count.set(devices()?)?)
}

fn devices() -> Result<i32, Error> {
    context::start()?;
    let mut devices = 0;
    cuDeviceGetCount(&raw mut devices)?;
    if devices == 0 { Err(Error::NoDevice) } else { Ok(devices) }
}

fn get(device: Out<i32>) -> Result<(), Error> {
    Ok(device.set(context::device()?)?)
}

fn set(device: i32) -> Result<(), Error> {
    context::choose(device)
}

/// The list only orders the search of a thread that never chooses; the first device decides.
fn set_valid(devices: InList<i32>, count: i32) -> Result<(), Error> {
    match count {
        0 => Ok(()),
        1.. if count <= self::devices()? => context::choose(devices.at(0)?),
        _ => Err(Error::InvalidValue),
    }
}

fn init(device: i32, device_flags: u32, flags: u32) -> Result<(), Error> {
    const FLAGS_ARE_VALID: u32 = 1;
    if flags & FLAGS_ARE_VALID != 0 {
        cuDevicePrimaryCtxSetFlags_v2(device, device_flags)?;
    }
    context::primary(device).map(drop)
}

fn reset() -> Result<(), Error> {
    let device = context::device()?;
    cuDevicePrimaryCtxReset_v2(device)?;
    guard::forget();
    context::drop_primary(device)
}

fn get_flags(flags: Out<u32>) -> Result<(), Error> {
    flags.check()?;
    let (mut set, mut active) = (0, 0);
    cuDevicePrimaryCtxGetState(context::device()?, &raw mut set, &raw mut active)?;
    Ok(flags.set(set)?)
}

fn set_flags(flags: u32) -> Result<(), Error> {
    cuDevicePrimaryCtxSetFlags_v2(context::device()?, flags)
}

/// The devices of a rack are alike: any wish is met best by the first.
fn choose(device: Out<i32>, wish: Ptr) -> Result<(), Error> {
    if wish.is_null() {
        return Err(Error::InvalidValue);
    }
    devices()?;
    Ok(device.set(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> InList<i32> {
        // SAFETY: null lends nothing.
        unsafe { InList::from_raw(std::ptr::null()) }
    }

    #[test]
    fn a_count_of_valid_devices_is_bounded_before_the_list_is_read() {
        assert_eq!(set_valid(none(), -1), Err(Error::InvalidValue));
        assert_eq!(set_valid(none(), 0), Ok(()));
        assert!(set_valid(none(), i32::MAX).is_err());
    }
}
