//! Allocating and freeing, of the device and of the host, and what it is told about an allocation later.
//! Pools and stream order are in `pool.rs`.

use crate::Cudart;
use crate::codes::Error;
use crate::context;
use crate::driver::forward::*;
use crate::driver::*;
use crate::types::*;
use ghost_abi::Out;

ghost_abi::rows! { Cudart;
    fn cudaMalloc(dev_ptr: Out<Ptr>, size: usize) => malloc;
    fn cudaFree(dev_ptr: Ptr) => free;
    fn cudaMallocHost(ptr: Out<Ptr>, size: usize) => malloc_host;
    fn cudaHostAlloc(host: Out<Ptr>, size: usize, flags: u32) => host_alloc;
    fn cudaFreeHost(ptr: Ptr) => free_host;
    fn cudaMallocManaged(dev_ptr: *mut Ptr, size: usize, flags: u32) => cuMemAllocManaged;
    fn cudaMallocPitch(dev_ptr: *mut Ptr, pitch: *mut usize, width: usize, height: usize) => malloc_pitch;
    fn cudaMalloc3D(pitched: Out<Pitched>, extent: Extent) => malloc_3d;
    fn cudaHostRegister(ptr: Ptr, size: usize, flags: u32) => cuMemHostRegister_v2;
    fn cudaHostUnregister(ptr: Ptr) => cuMemHostUnregister;
    fn cudaHostGetDevicePointer(device: *mut Ptr, host: Ptr, flags: u32) => cuMemHostGetDevicePointer_v2;
    fn cudaHostGetFlags(flags: *mut u32, host: Ptr) => cuMemHostGetFlags;
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) => cuMemGetInfo_v2;
    fn cudaMemAdvise(dev_ptr: Ptr, count: usize, advice: i32, location: Location) => cuMemAdvise_v2;
    fn cudaMemPrefetchAsync(dev_ptr: Ptr, count: usize, location: Location, flags: u32, stream: Stream) => cuMemPrefetchAsync_v2;
    fn cudaMemPrefetchAsync_ptsz(dev_ptr: Ptr, count: usize, location: Location, flags: u32, stream: PerThread) => cuMemPrefetchAsync_v2;
    fn cudaMemPrefetchBatchAsync(dptrs: *mut Ptr, sizes: *mut usize, count: usize, prefetch_locs: *mut Location, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: Stream) => cuMemPrefetchBatchAsync;
    fn cudaMemPrefetchBatchAsync_ptsz(dptrs: *mut Ptr, sizes: *mut usize, count: usize, prefetch_locs: *mut Location, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: PerThread) => cuMemPrefetchBatchAsync;
    fn cudaMemDiscardBatchAsync(dptrs: *mut Ptr, sizes: *mut usize, count: usize, flags: u64, stream: Stream) => cuMemDiscardBatchAsync;
    fn cudaMemDiscardBatchAsync_ptsz(dptrs: *mut Ptr, sizes: *mut usize, count: usize, flags: u64, stream: PerThread) => cuMemDiscardBatchAsync;
    fn cudaMemDiscardAndPrefetchBatchAsync(dptrs: *mut Ptr, sizes: *mut usize, count: usize, prefetch_locs: *mut Location, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: Stream) => cuMemDiscardAndPrefetchBatchAsync;
    fn cudaMemDiscardAndPrefetchBatchAsync_ptsz(dptrs: *mut Ptr, sizes: *mut usize, count: usize, prefetch_locs: *mut Location, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: PerThread) => cuMemDiscardAndPrefetchBatchAsync;
    fn cudaMemRangeGetAttribute(data: Ptr, data_size: usize, attribute: i32, dev_ptr: Ptr, count: usize) => cuMemRangeGetAttribute;
    fn cudaMemRangeGetAttributes(data: *mut Ptr, data_sizes: *mut usize, attributes: *mut i32, num_attributes: usize, dev_ptr: Ptr, count: usize) => cuMemRangeGetAttributes;
    fn cudaIpcGetMemHandle(handle: *mut IpcHandle, dev_ptr: Ptr) => cuIpcGetMemHandle;
    fn cudaIpcOpenMemHandle(dev_ptr: *mut Ptr, handle: IpcHandle, flags: u32) => cuIpcOpenMemHandle_v2;
    fn cudaIpcCloseMemHandle(dev_ptr: Ptr) => cuIpcCloseMemHandle;
}

/// No bytes are no allocation, and no error.
fn malloc(address: Out<Ptr>, bytes: usize) -> Result<(), Error> {
    address.check()?;
    let mut allocated = null();
    if bytes != 0 {
        cuMemAlloc_v2(&raw mut allocated, bytes)?;
    }
    Ok(address.set(allocated)?)
}

/// `cudaFree(nullptr)` is how programs ask for the context early.
fn free(address: Ptr) -> Result<(), Error> {
    if address.is_null() {
        return context::ensure();
    }
    cuMemFree_v2(address)
}

fn malloc_host(address: Out<Ptr>, bytes: usize) -> Result<(), Error> {
    host_alloc(address, bytes, 0)
}

fn host_alloc(address: Out<Ptr>, bytes: usize, flags: u32) -> Result<(), Error> {
    address.check()?;
    let mut allocated = null();
    if bytes != 0 {
        cuMemHostAlloc(&raw mut allocated, bytes, flags)?;
    }
    Ok(address.set(allocated)?)
}

fn free_host(address: Ptr) -> Result<(), Error> {
    if address.is_null() {
        return context::ensure();
    }
    cuMemFreeHost(address)
}

/// The widest elements the driver aligns rows for.
const ELEMENT_BYTES: u32 = 16;

fn malloc_pitch(address: *mut Ptr, pitch: *mut usize, width: usize, height: usize) -> Result<(), Error> {
    cuMemAllocPitch_v2(address, pitch, width, height, ELEMENT_BYTES)
}

fn malloc_3d(pitched: Out<Pitched>, extent: Extent) -> Result<(), Error> {
    pitched.check()?;
    let rows = extent.height.checked_mul(extent.depth).ok_or(Error::InvalidValue)?;
    let (mut address, mut pitch) = (null(), 0);
    cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, extent.width, rows, ELEMENT_BYTES)?;
    Ok(pitched.set(Pitched { address, pitch, width: extent.width, height: extent.height })?)
}
