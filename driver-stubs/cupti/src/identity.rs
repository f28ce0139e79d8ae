//! Numbers of devices, contexts and streams as records have them. libcuda knows; this asks it.

use crate::{Cupti, Error};
use ghost_abi::Out;
use ghost_table::trace::LEGACY_STREAM;
use std::ffi::{CStr, c_void};

ghost_abi::rows! { Cupti;
    fn cuptiGetDeviceId(context: *mut c_void, device: Out<u32>) => device;
    fn cuptiGetContextId(context: *mut c_void, number: Out<u32>) => context;
    fn cuptiGetStreamId(context: *mut c_void, stream: *mut c_void, number: Out<u32>) => stream;
    fn cuptiGetStreamIdEx(context: *mut c_void, stream: *mut c_void, per_thread: u8, number: Out<u32>) => stream_ex;
    fn cuptiDeviceSupported(device: i32, support: Out<i32>) => device_supported;
    fn cuptiComputeCapabilitySupported(major: i32, minor: i32, support: Out<i32>) => capability_supported;
}

/// The driver's names for the two default streams.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// Calls a function of libcuda with the C signature `F`.
fn driver<F: Copy>(name: &CStr, call: impl FnOnce(F) -> i32, otherwise: Error) -> Result<(), Error> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = ghost_table::symbol(name).ok_or(Error::NotInitialized)?;
    // SAFETY: callers name a function pointer type that is the named function's.
    let function = unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) };
    if call(function) == 0 { Ok(()) } else { Err(otherwise) }
}

type GetInt = unsafe extern "C" fn(*mut i32) -> i32;
type GetIntOf = unsafe extern "C" fn(*mut i32, *mut c_void) -> i32;
type GetNumberOf = unsafe extern "C" fn(*mut c_void, *mut u64) -> i32;

fn device(context: *mut c_void, device: Out<u32>) -> Result<(), Error> {
    device.check()?;
    let mut ordinal = 0;
    if context.is_null() {
        // SAFETY: `cuCtxGetDevice` writes one int.
        driver::<GetInt>(c"cuCtxGetDevice", |get| unsafe { get(&raw mut ordinal) }, Error::InvalidContext)?;
    } else {
        let get = |get: GetIntOf| {
            // SAFETY: `cuCtxGetDevice_v2` writes one int and checks the handle.
            unsafe { get(&raw mut ordinal, context) }
        };
        driver(c"cuCtxGetDevice_v2", get, Error::InvalidContext)?;
    }
    Ok(device.set(ordinal as u32)?)
}

fn number_of(name: &CStr, of: *mut c_void, otherwise: Error) -> Result<u32, Error> {
    let mut number = 0;
    // SAFETY: both functions asked by this write one 64-bit number and check the handle.
    driver::<GetNumberOf>(name, |get| unsafe { get(of, &raw mut number) }, otherwise)?;
    Ok(number as u32)
}

fn context(context: *mut c_void, number: Out<u32>) -> Result<(), Error> {
    number.check()?;
    Ok(number.set(number_of(c"cuCtxGetId", context, Error::InvalidContext)?)?)
}

fn stream(context: *mut c_void, stream: *mut c_void, number: Out<u32>) -> Result<(), Error> {
    stream_ex(context, stream, 0, number)
}

fn stream_ex(_context: *mut c_void, stream: *mut c_void, per_thread: u8, number: Out<u32>) -> Result<(), Error> {
    number.check()?;
    let stream = match stream as usize {
        0 if per_thread != 0 => std::ptr::without_provenance_mut(PER_THREAD),
        0 | LEGACY => return Ok(number.set(LEGACY_STREAM)?),
        _ => stream,
    };
    let own = number_of(c"cuStreamGetId", stream, Error::InvalidStream)?;
    Ok(number.set(LEGACY_STREAM.wrapping_add(own))?)
}

/// Every device there is can be recorded.
fn device_supported(device: i32, support: Out<i32>) -> Result<(), Error> {
    support.check()?;
    let mut count = 0;
    let table = ghost_table::table().ok_or(Error::NotInitialized)?;
    // SAFETY: `count` is a place for one int.
    if unsafe { (table.device_count)(&raw mut count) } != 0 || !(0..count).contains(&device) {
        return Err(Error::InvalidDevice);
    }
    Ok(support.set(1)?)
}

/// CUDA 13 begins with compute capability 7.5.
fn capability_supported(major: i32, minor: i32, support: Out<i32>) -> Result<(), Error> {
    Ok(support.set(((major, minor) >= (7, 5)).into())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_legacy_stream_has_the_number_it_has_in_records() {
        let null = std::ptr::null_mut();
        assert_eq!(ask(|out| stream(null, null, out)), Ok(7));
        assert_eq!(ask(|out| stream(null, std::ptr::without_provenance_mut(LEGACY), out)), Ok(7));
    }

    #[test]
    fn what_is_older_than_turing_is_not_supported() {
        assert_eq!(ask(|out| capability_supported(7, 0, out)), Ok(0));
        assert_eq!(ask(|out| capability_supported(10, 0, out)), Ok(1));
    }
}
