//! What a kernel is: its attributes, its name, its parameters.
//! The driver answers; this translates a host function into a kernel and numbers into a struct.

use crate::Cudart;
use crate::codes::Error;
use crate::context;
use crate::driver::*;
use crate::registry::REGISTRY;
use crate::types::*;
use ghost_abi::{Out, Plain, record};
use std::ffi::c_char;

ghost_abi::rows! { Cudart;
    fn cudaFuncGetAttributes(attributes: Out<FuncAttributes>, function: Ptr) => attributes;
    fn cudaFuncSetAttribute(function: Ptr, attribute: i32, value: i32) => set_attribute;
    fn cudaKernelSetAttributeForDevice(kernel: Kernel, attribute: i32, value: i32, device: i32) => set_on_device;
    fn cudaFuncSetCacheConfig(function: Ptr, config: i32) => set_cache_config;
    fn cudaFuncSetSharedMemConfig(function: Ptr, config: i32) => set_shared_config;
    fn cudaFuncGetName(name: *mut *mut c_char, function: Ptr) => name;
    fn cudaFuncGetParamCount(function: Ptr, count: *mut usize) => param_count;
    fn cudaFuncGetParamInfo(function: Ptr, index: usize, offset: *mut usize, bytes: *mut usize) => param_info;
    fn cudaGetKernel(kernel: Out<Kernel>, function: Ptr) => kernel;
    fn cudaGetFuncBySymbol(driver_function: *mut Function, function: Ptr) => driver_function;
}

record! {
    /// `cudaFuncAttributes`.
    pub struct FuncAttributes: 144 bytes {
        pub shared_bytes: usize, pub const_bytes: usize, pub local_bytes: usize,
        pub max_threads_per_block: i32, pub registers: i32, pub ptx_version: i32, pub binary_version: i32,
        pub cache_mode_ca: i32, pub max_dynamic_shared_bytes: i32, pub preferred_shared_carveout: i32,
        pub cluster_dim_must_be_set: i32, pub required_cluster: [i32; 3],
        pub cluster_scheduling_policy: i32, pub non_portable_cluster_size_allowed: i32,
        pub reserved: [i32; 16],
    }
}

fn attributes(attributes: Out<FuncAttributes>, function: Ptr) -> Result<(), Error> {
    attributes.check()?;
    let (kernel, device) = (REGISTRY.kernel(function)?, context::device()?);
    let required = |number: i32| -> Result<i32, Error> {
        let mut value = 0;
        cuKernelGetAttribute(&raw mut value, number, kernel, device)?;
        Ok(value)
    };
    let optional = |number: i32| required(number).unwrap_or(0);
    Ok(attributes.set(FuncAttributes {
        max_threads_per_block: required(0)?,
        shared_bytes: required(1)? as usize,
        const_bytes: required(2)? as usize,
        local_bytes: required(3)? as usize,
        registers: required(4)?,
        ptx_version: required(5)?,
        binary_version: required(6)?,
        cache_mode_ca: optional(7),
        max_dynamic_shared_bytes: optional(8),
        preferred_shared_carveout: optional(9),
        cluster_dim_must_be_set: optional(10),
        required_cluster: [optional(11), optional(12), optional(13)],
        non_portable_cluster_size_allowed: optional(14),
        cluster_scheduling_policy: optional(15),
        ..FuncAttributes::zeroed()
    })?)
}

fn set_attribute(function: Ptr, attribute: i32, value: i32) -> Result<(), Error> {
    cuKernelSetAttribute(attribute, value, REGISTRY.kernel(function)?, context::device()?)
}

fn set_on_device(kernel: Kernel, attribute: i32, value: i32, device: i32) -> Result<(), Error> {
    cuKernelSetAttribute(attribute, value, kernel, device)
}

fn set_cache_config(function: Ptr, config: i32) -> Result<(), Error> {
    cuKernelSetCacheConfig(REGISTRY.kernel(function)?, config, context::device()?)
}

/// Bank width has not been a choice since Kepler: accepted and without effect.
fn set_shared_config(function: Ptr, _config: i32) -> Result<(), Error> {
    REGISTRY.kernel(function).map(drop)
}

fn name(name: *mut *mut c_char, function: Ptr) -> Result<(), Error> {
    cuKernelGetName(name, REGISTRY.kernel(function)?)
}

fn param_count(function: Ptr, count: *mut usize) -> Result<(), Error> {
    cuKernelGetParamCount(REGISTRY.kernel(function)?, count)
}

fn param_info(function: Ptr, index: usize, offset: *mut usize, bytes: *mut usize) -> Result<(), Error> {
    cuKernelGetParamInfo(REGISTRY.kernel(function)?, index, offset, bytes)
}

fn kernel(kernel: Out<Kernel>, function: Ptr) -> Result<(), Error> {
    kernel.check()?;
    Ok(kernel.set(REGISTRY.kernel(function)?)?)
}

fn driver_function(driver_function: *mut Function, function: Ptr) -> Result<(), Error> {
    cuKernelGetFunction(driver_function, REGISTRY.kernel(function)?)
}
