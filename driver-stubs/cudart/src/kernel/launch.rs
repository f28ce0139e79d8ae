//! Launches. The hot path of the library: one table look-up at most, none for `__cudaLaunchKernel`.
//! Nothing is allocated and no context is looked at: a kernel handle serves every device.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::{cuLaunchCooperativeKernel, cuLaunchKernel, cuLaunchKernelEx};
use crate::registry::REGISTRY;
use crate::types::*;
use ghost_abi::{In, Out, record};

ghost_abi::rows! { Cudart;
    fn __cudaGetKernel(kernel: Out<Kernel>, host: Ptr) => find;
    fn __cudaLaunchKernel(kernel: Kernel, grid: Dim3, block: Dim3, args: *mut Ptr, shared_bytes: usize, stream: Stream) => launch;
    fn __cudaLaunchKernel_ptsz(kernel: Kernel, grid: Dim3, block: Dim3, args: *mut Ptr, shared_bytes: usize, stream: PerThread) => launch;
    fn cudaLaunchKernel(function: Ptr, grid: Dim3, block: Dim3, args: *mut Ptr, shared_bytes: usize, stream: Stream) => launch_symbol;
    fn cudaLaunchKernel_ptsz(function: Ptr, grid: Dim3, block: Dim3, args: *mut Ptr, shared_bytes: usize, stream: PerThread) => launch_symbol;
    fn cudaLaunchCooperativeKernel(function: Ptr, grid: Dim3, block: Dim3, args: *mut Ptr, shared_bytes: usize, stream: Stream) => launch_cooperative;
    fn cudaLaunchCooperativeKernel_ptsz(function: Ptr, grid: Dim3, block: Dim3, args: *mut Ptr, shared_bytes: usize, stream: PerThread) => launch_cooperative;
    fn cudaLaunchKernelExC(config: In<LaunchConfig>, function: Ptr, args: *mut Ptr) => launch_config;
    fn cudaLaunchKernelExC_ptsz(config: In<LaunchConfig>, function: Ptr, args: *mut Ptr) => launch_config_ptsz;
}

record! {
    /// `cudaLaunchConfig_t`. The driver's has 32 bits of shared memory in the same place.
    pub struct LaunchConfig: 56 bytes {
        pub grid: Dim3, pub block: Dim3, pub shared_bytes: usize, pub stream: Stream,
        pub attributes: Ptr, pub attribute_count: u32,
    }
}

fn find(kernel: Out<Kernel>, host: Ptr) -> Result<(), Error> {
    kernel.check()?;
    Ok(kernel.set(REGISTRY.kernel(host)?)?)
}

#[inline(always)]
fn launch(
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    args: *mut Ptr,
    shared_bytes: usize,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    if kernel.is_null() {
        return Err(Error::InvalidDeviceFunction);
    }
    let shared = u32::try_from(shared_bytes).map_err(|_| Error::InvalidValue)?;
    let (g, b) = (grid, block);
    cuLaunchKernel(kernel, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, args, null::<Ptr>())
        .map_err(|error| named(error, grid, block))
}

fn launch_symbol(
    function: Ptr,
    grid: Dim3,
    block: Dim3,
    args: *mut Ptr,
    shared_bytes: usize,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    launch(REGISTRY.kernel(function)?, grid, block, args, shared_bytes, stream)
}

fn launch_cooperative(
    function: Ptr,
    grid: Dim3,
    block: Dim3,
    args: *mut Ptr,
    shared_bytes: usize,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    let kernel = REGISTRY.kernel(function)?;
    let shared = u32::try_from(shared_bytes).map_err(|_| Error::InvalidValue)?;
    let (g, b) = (grid, block);
    cuLaunchCooperativeKernel(kernel, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, args)
        .map_err(|error| named(error, grid, block))
}

fn launch_config(config: In<LaunchConfig>, function: Ptr, args: *mut Ptr) -> Result<(), Error> {
    launch_configured(config.get()?, function, args)
}

fn launch_config_ptsz(config: In<LaunchConfig>, function: Ptr, args: *mut Ptr) -> Result<(), Error> {
    let mut config = config.get()?;
    config.stream = PerThread(config.stream).pass();
    launch_configured(config, function, args)
}

fn launch_configured(mut config: LaunchConfig, function: Ptr, args: *mut Ptr) -> Result<(), Error> {
    let kernel = REGISTRY.kernel(function)?;
    if u32::try_from(config.shared_bytes).is_err() {
        return Err(Error::InvalidValue);
    }
    let config = &raw mut config;
    cuLaunchKernelEx(config.cast(), kernel, args, null::<Ptr>())
        // SAFETY: `config` points to the parameter above.
        .map_err(|error| unsafe { named(error, (*config).grid, (*config).block) })
}

/// Where the driver finds an argument invalid, the runtime says which: the shape, if it is impossible.
#[cold]
fn named(error: Error, grid: Dim3, block: Dim3) -> Error {
    if error == Error::InvalidValue && is_impossible(grid, block) { Error::InvalidConfiguration } else { error }
}

fn is_impossible(grid: Dim3, block: Dim3) -> bool {
    let volume = |d: Dim3| u64::from(d.x) * u64::from(d.y) * u64::from(d.z);
    let threads = volume(block);
    volume(grid) == 0
        || threads == 0
        || threads > 1024
        || block.z > 64
        || grid.x > i32::MAX as u32
        || grid.y.max(grid.z) > 65535
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: fn(u32) -> Dim3 = |x| Dim3 { x, y: 1, z: 1 };

    #[test]
    fn a_shape_no_device_runs_is_an_invalid_configuration() {
        for (grid, block) in [(0, 1), (1, 0), (1, 1025)] {
            assert_eq!(named(Error::InvalidValue, LINE(grid), LINE(block)), Error::InvalidConfiguration);
        }
        assert_eq!(named(Error::InvalidValue, LINE(1), LINE(1024)), Error::InvalidValue);
        assert_eq!(named(Error::LaunchFailure, LINE(0), LINE(0)), Error::LaunchFailure);
    }

    #[test]
    fn a_function_nobody_registered_is_an_invalid_device_function() {
        let nobody = std::ptr::without_provenance_mut(0x99);
        assert_eq!(launch_symbol(nobody, LINE(1), LINE(1), null(), 0, null()), Err(Error::InvalidDeviceFunction));
        assert_eq!(launch(null(), LINE(1), LINE(1), null(), 0, null()), Err(Error::InvalidDeviceFunction));
    }
}
