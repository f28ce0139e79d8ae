//! Allocation in stream order, the pools behind it and the memory of graphs.
//! Pools are the driver's.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::forward::*;
use crate::driver::*;
use crate::types::*;
use ghost_abi::Out;

ghost_abi::rows! { Cudart;
    fn cudaMallocAsync(dev_ptr: Out<Ptr>, size: usize, stream: Stream) => malloc_async;
    fn cudaMallocAsync_ptsz(dev_ptr: Out<Ptr>, size: usize, stream: PerThread) => malloc_async;
    fn cudaFreeAsync(dev_ptr: Ptr, stream: Stream) => free_async;
    fn cudaFreeAsync_ptsz(dev_ptr: Ptr, stream: PerThread) => free_async;
    fn cudaMallocFromPoolAsync(ptr: *mut Ptr, size: usize, mem_pool: Pool, stream: Stream) => cuMemAllocFromPoolAsync;
    fn cudaMallocFromPoolAsync_ptsz(ptr: *mut Ptr, size: usize, mem_pool: Pool, stream: PerThread) => cuMemAllocFromPoolAsync;
    fn cudaDeviceGetDefaultMemPool(mem_pool: *mut Pool, device: i32) => cuDeviceGetDefaultMemPool;
    fn cudaDeviceGetMemPool(mem_pool: *mut Pool, device: i32) => cuDeviceGetMemPool;
    fn cudaDeviceSetMemPool(device: i32, mem_pool: Pool) => cuDeviceSetMemPool;
    fn cudaMemGetDefaultMemPool(mem_pool: *mut Pool, location: *mut Location, kind: i32) => cuMemGetDefaultMemPool;
    fn cudaMemGetMemPool(mem_pool: *mut Pool, location: *mut Location, kind: i32) => cuMemGetMemPool;
    fn cudaMemSetMemPool(location: *mut Location, kind: i32, mem_pool: Pool) => cuMemSetMemPool;
    fn cudaMemPoolCreate(mem_pool: *mut Pool, pool_props: Ptr) => cuMemPoolCreate;
    fn cudaMemPoolDestroy(mem_pool: Pool) => cuMemPoolDestroy;
    fn cudaMemPoolTrimTo(mem_pool: Pool, min_bytes_to_keep: usize) => cuMemPoolTrimTo;
    fn cudaMemPoolGetAttribute(mem_pool: Pool, attr: i32, value: Ptr) => cuMemPoolGetAttribute;
    fn cudaMemPoolSetAttribute(mem_pool: Pool, attr: i32, value: Ptr) => cuMemPoolSetAttribute;
    fn cudaMemPoolGetAccess(flags: *mut i32, mem_pool: Pool, location: *mut Location) => cuMemPoolGetAccess;
    fn cudaMemPoolSetAccess(mem_pool: Pool, desc_list: Ptr, count: usize) => cuMemPoolSetAccess;
    fn cudaMemPoolExportPointer(export_data: Ptr, ptr: Ptr) => cuMemPoolExportPointer;
    fn cudaMemPoolImportPointer(ptr: *mut Ptr, mem_pool: Pool, export_data: Ptr) => cuMemPoolImportPointer;
    fn cudaMemPoolExportToShareableHandle(shareable_handle: Ptr, mem_pool: Pool, handle_type: i32, flags: u32) => export;
    fn cudaMemPoolImportFromShareableHandle(mem_pool: *mut Pool, shareable_handle: Ptr, handle_type: i32, flags: u32) => import;
    fn cudaDeviceGetGraphMemAttribute(device: i32, attr: i32, value: Ptr) => cuDeviceGetGraphMemAttribute;
    fn cudaDeviceSetGraphMemAttribute(device: i32, attr: i32, value: Ptr) => cuDeviceSetGraphMemAttribute;
    fn cudaDeviceGraphMemTrim(device: i32) => cuDeviceGraphMemTrim;
}

fn malloc_async(address: Out<Ptr>, bytes: usize, stream: impl Arg<Stream>) -> Result<(), Error> {
    address.check()?;
    let mut allocated = null();
    if bytes != 0 {
        cuMemAllocAsync(&raw mut allocated, bytes, stream)?;
    }
    Ok(address.set(allocated)?)
}

fn free_async(address: Ptr, stream: impl Arg<Stream>) -> Result<(), Error> {
    if address.is_null() { Ok(()) } else { cuMemFreeAsync(address, stream) }
}

fn export(handle: Ptr, pool: Pool, kind: i32, flags: u32) -> Result<(), Error> {
    cuMemPoolExportToShareableHandle(handle, pool, kind, u64::from(flags))
}

fn import(pool: *mut Pool, handle: Ptr, kind: i32, flags: u32) -> Result<(), Error> {
    cuMemPoolImportFromShareableHandle(pool, handle, kind, u64::from(flags))
}
