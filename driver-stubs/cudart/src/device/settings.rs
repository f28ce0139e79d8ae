//! Attributes, limits and settings of a device: the driver's, under the runtime's names.
//! What hardware has given up (shared memory bank widths) is accepted and has no effect.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::cuCtxGetLimit;
use crate::driver::forward::*;
use crate::types::*;
use ghost_abi::Out;

ghost_abi::rows! { Cudart;
    fn cudaDeviceGetAttribute(value: *mut i32, attr: i32, device: i32) => cuDeviceGetAttribute;
    fn cudaDeviceGetLimit(value: *mut usize, limit: i32) => cuCtxGetLimit;
    fn cudaDeviceSetLimit(limit: i32, value: usize) => cuCtxSetLimit;
    fn cudaDeviceGetCacheConfig(cache_config: *mut i32) => cuCtxGetCacheConfig;
    fn cudaDeviceSetCacheConfig(cache_config: i32) => cuCtxSetCacheConfig;
    fn cudaDeviceGetSharedMemConfig(config: Out<i32>) => get_shared_config;
    fn cudaDeviceSetSharedMemConfig(config: i32) => set_shared_config;
    fn cudaCtxResetPersistingL2Cache() => cuCtxResetPersistingL2Cache;
    fn cudaDeviceFlushGPUDirectRDMAWrites(target: i32, scope: i32) => cuFlushGPUDirectRDMAWrites;
    fn cudaDeviceGetHostAtomicCapabilities(capabilities: *mut u32, operations: *mut i32, count: u32, device: i32) => cuDeviceGetHostAtomicCapabilities;
    fn cudaDeviceRegisterAsyncNotification(device: i32, callback_func: Handle, user_data: Ptr, callback: Ptr) => cuDeviceRegisterAsyncNotification;
    fn cudaDeviceUnregisterAsyncNotification(device: i32, callback: Handle) => cuDeviceUnregisterAsyncNotification;
}

/// `cudaSharedMemBankSizeFourByte`.
const FOUR_BYTES: i32 = 1;

fn get_shared_config(config: Out<i32>) -> Result<(), Error> {
    Ok(config.set(FOUR_BYTES)?)
}

fn set_shared_config(config: i32) -> Result<(), Error> {
    if (0..=2).contains(&config) { Ok(()) } else { Err(Error::InvalidValue) }
}
