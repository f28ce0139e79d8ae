//! Which device a thread works on, and giving it that device's primary context.
//! Contexts are the driver's; this remembers only which handles it was given.

use crate::codes::Error;
use crate::driver::{cuCtxGetDevice, cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit};
use crate::guard;
use crate::types::{Handle, null};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// More devices than one process meets.
const DEVICES: usize = 128;

static PRIMARY: [AtomicPtr<c_void>; DEVICES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; DEVICES];

thread_local! {
    static CHOSEN: Cell<i32> = const { Cell::new(0) };
}

/// Starts the driver; once is enough, more do no harm.
pub(crate) fn start() -> Result<(), Error> {
    cuInit(0_u32)?;
    guard::watch();
    Ok(())
}

/// The primary context of a device, created at its first use.
#[inline]
pub(crate) fn primary(device: i32) -> Result<Handle, Error> {
    let slot = slot(device)?;
    let known = slot.load(Ordering::Acquire);
    if known.is_null() { retain(slot, device) } else { Ok(known) }
}

fn slot(device: i32) -> Result<&'static AtomicPtr<c_void>, Error> {
    let index = usize::try_from(device).map_err(|_| Error::InvalidDevice)?;
    PRIMARY.get(index).ok_or(Error::InvalidDevice)
}

#[cold]
fn retain(slot: &AtomicPtr<c_void>, device: i32) -> Result<Handle, Error> {
    start()?;
    let mut context = null();
    cuDevicePrimaryCtxRetain(&raw mut context, device)?;
    slot.store(context, Ordering::Release);
    Ok(context)
}

/// Forgets a context that was destroyed.
pub(crate) fn drop_primary(device: i32) -> Result<(), Error> {
    slot(device)?.store(null(), Ordering::Release);
    cuCtxSetCurrent(null::<c_void>())
}

/// Makes a device this thread's.
#[inline]
pub(crate) fn choose(device: i32) -> Result<(), Error> {
    cuCtxSetCurrent(primary(device)?)?;
    CHOSEN.set(device);
    Ok(())
}

/// Gives a thread without a context the one of the device it chose, device 0 if it never did.
pub(crate) fn attach() -> Result<(), Error> {
    cuCtxSetCurrent(primary(CHOSEN.get())?)
}

/// Gives this thread a context unless it has one.
pub(crate) fn ensure() -> Result<(), Error> {
    let mut device = 0;
    cuCtxGetDevice(&raw mut device).or_else(|_| attach())
}

/// The device of this thread's context, whoever made it current; without one, the chosen device.
#[inline]
pub(crate) fn device() -> Result<i32, Error> {
    let mut device = 0;
    match cuCtxGetDevice(&raw mut device) {
        Ok(()) => Ok(device),
        Err(error) => chosen(error),
    }
}

/// No context is no error, but no driver or no device is.
#[cold]
fn chosen(error: Error) -> Result<i32, Error> {
    match error {
        Error::InsufficientDriver => return Err(error),
        Error::InitializationError => start()?,
        _ => (),
    }
    Ok(CHOSEN.get())
}

/// The primary context of [`device`].
pub(crate) fn current() -> Result<Handle, Error> {
    primary(device()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_no_machine_has_is_invalid_before_the_driver_is_asked() {
        assert_eq!(primary(-1), Err(Error::InvalidDevice));
        assert_eq!(primary(DEVICES as i32), Err(Error::InvalidDevice));
    }
}
