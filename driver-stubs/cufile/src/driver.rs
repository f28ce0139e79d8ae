//! Opening the library, its properties, and registered buffers.
//! It moves no data.

use crate::{CuFile, Error};
use ghost_abi::{Out, Plain, record};
use ghost_blas::Ptr;
use std::collections::BTreeSet;
use std::ffi::c_long;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

ghost_abi::rows! { CuFile;
    fn cuFileDriverOpen() => open;
    fn cuFileDriverClose() => close;
    fn cuFileDriverClose_v2() => close;
    fn cuFileUseCount() -> c_long => use_count;
    fn cuFileDriverGetProperties(properties: Out<Properties>) => properties;
    fn cuFileBufRegister(base: Ptr<u8>, bytes: usize, flags: i32) => register;
    fn cuFileBufDeregister(base: Ptr<u8>) => deregister;
}

record! {
    /// `CUfileDrvProps_t`.
    pub struct Properties: 56 bytes {
        pub major: u32,
        pub minor: u32,
        pub poll_threshold: usize,
        pub max_direct_io_kib: usize,
        pub status_flags: u32,
        /// Bit 1: the compatible mode is allowed.
        pub control_flags: u32,
        pub features: u32,
        pub max_cache_kib: u32,
        pub per_buffer_cache_kib: u32,
        pub max_pinned_kib: u32,
        pub max_batch: u32,
        pub batch_timeout_ms: u32,
    }
}

static USES: AtomicI64 = AtomicI64::new(0);
static BUFFERS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Needs libcuda, as everything that copies does.
fn open() -> Result<(), Error> {
    ghost_blas::start_driver().map_err(|_| Error::DriverNotInitialized)?;
    USES.fetch_add(1, Relaxed);
    Ok(())
}

fn close() -> Result<(), Error> {
    match USES.fetch_update(Relaxed, Relaxed, |uses| (uses > 0).then_some(uses - 1)) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::DriverNotInitialized),
    }
}

fn use_count() -> c_long {
    USES.load(Relaxed)
}

/// Versions of 0: the kernel driver is not there. Sizes are the defaults of `cufile.json`.
fn properties(properties: Out<Properties>) -> Result<(), Error> {
    const COMPATIBLE: u32 = 1 << 1;
    let defaults = Properties {
        max_direct_io_kib: 16 * 1024,
        control_flags: COMPATIBLE,
        max_cache_kib: 131_072,
        per_buffer_cache_kib: 1024,
        max_pinned_kib: 33_554_432,
        max_batch: 128,
        ..Properties::zeroed()
    };
    Ok(properties.set(defaults)?)
}

fn register(base: Ptr<u8>, bytes: usize, _flags: i32) -> Result<(), Error> {
    base.check().map_err(|_| Error::InvalidValue)?;
    let table = ghost_table::table().ok_or(Error::DriverNotInitialized)?;
    let mut owner = ghost_table::Owner::default();
    // SAFETY: `owner` lives through the call.
    if unsafe { (table.owner)(base.address(), &mut owner) } != 0 || owner.memory == 0 {
        return Err(Error::PointerInvalid);
    }
    let within = base.address() - owner.base;
    if bytes == 0 || within.saturating_add(bytes as u64) > owner.bytes {
        return Err(Error::PointerRange);
    }
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    if buffers.insert(base.address()) { Ok(()) } else { Err(Error::AlreadyRegistered) }
}

fn deregister(base: Ptr<u8>) -> Result<(), Error> {
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    if buffers.remove(&base.address()) { Ok(()) } else { Err(Error::NotRegistered) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn without_a_driver_nothing_opens_and_nothing_closes() {
        assert_eq!(
            (open(), close(), use_count()),
            (Err(Error::DriverNotInitialized), Err(Error::DriverNotInitialized), 0)
        );
        assert_eq!(register(at(4096), 64, 0), Err(Error::DriverNotInitialized));
        assert_eq!((register(at(0), 64, 0), deregister(at(64))), (Err(Error::InvalidValue), Err(Error::NotRegistered)));
    }

    #[test]
    fn the_compatible_mode_is_announced() {
        assert_eq!(ask(properties).map(|found| (found.major, found.control_flags)), Ok((0, 2)));
    }
}
