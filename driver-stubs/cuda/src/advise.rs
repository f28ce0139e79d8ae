//! Hints on managed memory: checked, and otherwise without effect, because managed memory stays on the host here.

use std::ffi::c_void;

use crate::{Cuda, Error, driver, stream};

ghost_abi::rows! { Cuda;
    since 8000 fn cuMemAdvise(address: u64, bytes: usize, advice: i32, device: i32) => advise;
    since 12020 fn cuMemAdvise_v2(address: u64, bytes: usize, advice: i32, location: u64) => advise_at;
    since 8000 fn cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: *mut c_void) => prefetch;
    since 8000 fn cuMemPrefetchAsync_ptsz(address: u64, bytes: usize, device: i32, stream: *mut c_void) => prefetch;
    since 12020 fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, location: u64, flags: u32, stream: *mut c_void) => prefetch_at;
    since 12020 fn cuMemPrefetchAsync_v2_ptsz(address: u64, bytes: usize, location: u64, flags: u32, stream: *mut c_void) => prefetch_at;
}

/// `CU_MEM_ADVISE_*`.
const ADVICES: std::ops::RangeInclusive<i32> = 1..=6;

fn known(address: u64, bytes: usize) -> Result<(), Error> {
    let core = driver::get()?.core();
    let range = core.ranges.find(address).ok_or(Error::InvalidValue)?;
    let fits = (address - range.base).checked_add(bytes as u64).is_some_and(|end| end <= range.bytes);
    if bytes == 0 || !fits { Err(Error::InvalidValue) } else { Ok(()) }
}

fn advise(address: u64, bytes: usize, advice: i32, device: i32) -> Result<(), Error> {
    known(address, bytes)?;
    if !ADVICES.contains(&advice) {
        return Err(Error::InvalidValue);
    }
    // -1 = the host.
    if device == -1 { Ok(()) } else { driver::get()?.core().device(device).map(|_| ()) }
}

/// The location is two ints in one register: kind and id.
fn advise_at(address: u64, bytes: usize, advice: i32, _location: u64) -> Result<(), Error> {
    advise(address, bytes, advice, -1)
}

fn prefetch(address: u64, bytes: usize, device: i32, stream: *mut c_void) -> Result<(), Error> {
    advise(address, bytes, 1, device)?;
    stream::resolve(&mut driver::get()?.core(), stream).map(|_| ())
}

fn prefetch_at(address: u64, bytes: usize, _location: u64, flags: u32, stream: *mut c_void) -> Result<(), Error> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    prefetch(address, bytes, -1, stream)
}
