//! What concerns the process as a whole: versions, driver entry points, logs, the profiler switch.
//! No device is touched.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::forward::*;
use crate::driver::{cuDriverGetVersion, cuGetProcAddress_v2};
use crate::types::*;
use ghost_abi::{MaybeOut, Out};
use std::ffi::c_char;

/// CUDA 13.2, as the wheels that load this library expect.
const RUNTIME_VERSION: i32 = 13020;

ghost_abi::rows! { Cudart;
    fn cudaDriverGetVersion(version: Out<i32>) => driver_version;
    fn cudaRuntimeGetVersion(version: Out<i32>) => runtime_version;
    fn cudaProfilerStart() => profiler;
    fn cudaProfilerStop() => profiler;
    fn cudaGetDriverEntryPoint(symbol: *mut c_char, function: Out<Ptr>, flags: u64, found: MaybeOut<i32>) => entry_point;
    fn cudaGetDriverEntryPoint_ptsz(symbol: *mut c_char, function: Out<Ptr>, flags: u64, found: MaybeOut<i32>) => entry_point_ptsz;
    fn cudaGetDriverEntryPointByVersion(symbol: *mut c_char, function: Out<Ptr>, version: u32, flags: u64, found: MaybeOut<i32>) => entry_point_by_version;
    fn cudaGetDriverEntryPointByVersion_ptsz(symbol: *mut c_char, function: Out<Ptr>, version: u32, flags: u64, found: MaybeOut<i32>) => entry_point_by_version_ptsz;
    fn cudaLogsRegisterCallback(callback_func: Callback, user_data: Ptr, callback_out: *mut Handle) => cuLogsRegisterCallback;
    fn cudaLogsUnregisterCallback(callback: Handle) => cuLogsUnregisterCallback;
    fn cudaLogsCurrent(iterator_out: *mut u32, flags: u32) => cuLogsCurrent;
    fn cudaLogsDumpToFile(iterator: *mut u32, path_to_file: *mut c_char, flags: u32) => cuLogsDumpToFile;
    fn cudaLogsDumpToMemory(iterator: *mut u32, buffer: *mut c_char, size: *mut usize, flags: u32) => cuLogsDumpToMemory;
}

/// No driver is version 0, not an error.
fn driver_version(version: Out<i32>) -> Result<(), Error> {
    version.set(0)?;
    let mut known = 0;
    match cuDriverGetVersion(&raw mut known) {
        Err(error) if error != Error::InsufficientDriver => Err(error),
        _ => Ok(version.set(known)?),
    }
}

fn runtime_version(version: Out<i32>) -> Result<(), Error> {
    Ok(version.set(RUNTIME_VERSION)?)
}

/// There is no profiler to switch.
fn profiler() -> Result<(), Error> {
    Ok(())
}

/// `cudaEnablePerThreadDefaultStream`.
const PER_THREAD: u64 = 2;

fn entry_point(symbol: *mut c_char, function: Out<Ptr>, flags: u64, found: MaybeOut<i32>) -> Result<(), Error> {
    entry_point_by_version(symbol, function, RUNTIME_VERSION as u32, flags, found)
}

fn entry_point_ptsz(symbol: *mut c_char, function: Out<Ptr>, flags: u64, found: MaybeOut<i32>) -> Result<(), Error> {
    entry_point(symbol, function, default_to_thread(flags), found)
}

fn entry_point_by_version_ptsz(
    symbol: *mut c_char,
    function: Out<Ptr>,
    version: u32,
    flags: u64,
    found: MaybeOut<i32>,
) -> Result<(), Error> {
    entry_point_by_version(symbol, function, version, default_to_thread(flags), found)
}

fn default_to_thread(flags: u64) -> u64 {
    if flags == 0 { PER_THREAD } else { flags }
}

/// A function the driver lacks is a null pointer and a status, not an error; without a place for
/// the status it is an error.
fn entry_point_by_version(
    symbol: *mut c_char,
    function: Out<Ptr>,
    version: u32,
    flags: u64,
    found: MaybeOut<i32>,
) -> Result<(), Error> {
    function.check()?;
    let version = i32::try_from(version).map_err(|_| Error::InvalidValue)?;
    let (mut address, mut status) = (null(), 0_i32);
    cuGetProcAddress_v2(symbol, &raw mut address, version, flags, &raw mut status)?;
    function.set(if status == 0 { address } else { null() })?;
    found.set(status);
    if status != 0 && found.is_null() { Err(Error::SymbolNotFound) } else { Ok(()) }
}
