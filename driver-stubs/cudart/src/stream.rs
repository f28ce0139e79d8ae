//! Streams: the driver's, under the runtime's names.
//! Only the one with default flags needs a word of ours.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::forward::*;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaStreamCreate(stream: *mut Stream) => create;
    fn cudaStreamCreateWithFlags(stream: *mut Stream, flags: u32) => cuStreamCreate;
    fn cudaStreamCreateWithPriority(stream: *mut Stream, flags: u32, priority: i32) => cuStreamCreateWithPriority;
    fn cudaStreamDestroy(stream: Stream) => cuStreamDestroy_v2;
    fn cudaStreamQuery(stream: Stream) => cuStreamQuery;
    fn cudaStreamQuery_ptsz(stream: PerThread) => cuStreamQuery;
    fn cudaStreamSynchronize(stream: Stream) => cuStreamSynchronize;
    fn cudaStreamSynchronize_ptsz(stream: PerThread) => cuStreamSynchronize;
    fn cudaStreamWaitEvent(stream: Stream, event: Event, flags: u32) => cuStreamWaitEvent;
    fn cudaStreamWaitEvent_ptsz(stream: PerThread, event: Event, flags: u32) => cuStreamWaitEvent;
    fn cudaStreamAddCallback(stream: Stream, callback: Callback, user_data: Ptr, flags: u32) => cuStreamAddCallback;
    fn cudaStreamAddCallback_ptsz(stream: PerThread, callback: Callback, user_data: Ptr, flags: u32) => cuStreamAddCallback;
    fn cudaStreamAttachMemAsync(stream: Stream, dev_ptr: Ptr, length: usize, flags: u32) => cuStreamAttachMemAsync;
    fn cudaStreamAttachMemAsync_ptsz(stream: PerThread, dev_ptr: Ptr, length: usize, flags: u32) => cuStreamAttachMemAsync;
    fn cudaStreamGetPriority(stream: Stream, priority: *mut i32) => cuStreamGetPriority;
    fn cudaStreamGetPriority_ptsz(stream: PerThread, priority: *mut i32) => cuStreamGetPriority;
    fn cudaStreamGetFlags(stream: Stream, flags: *mut u32) => cuStreamGetFlags;
    fn cudaStreamGetFlags_ptsz(stream: PerThread, flags: *mut u32) => cuStreamGetFlags;
    fn cudaStreamGetId(stream: Stream, stream_id: *mut u64) => cuStreamGetId;
    fn cudaStreamGetId_ptsz(stream: PerThread, stream_id: *mut u64) => cuStreamGetId;
    fn cudaStreamGetDevice(stream: Stream, device: *mut i32) => cuStreamGetDevice;
    fn cudaStreamGetDevice_ptsz(stream: PerThread, device: *mut i32) => cuStreamGetDevice;
    fn cudaStreamGetAttribute(stream: Stream, attr: i32, value_out: Ptr) => cuStreamGetAttribute;
    fn cudaStreamGetAttribute_ptsz(stream: PerThread, attr: i32, value_out: Ptr) => cuStreamGetAttribute;
    fn cudaStreamSetAttribute(stream: Stream, attr: i32, value: Ptr) => cuStreamSetAttribute;
    fn cudaStreamSetAttribute_ptsz(stream: PerThread, attr: i32, value: Ptr) => cuStreamSetAttribute;
    fn cudaStreamCopyAttributes(dst: Stream, src: Stream) => cuStreamCopyAttributes;
    fn cudaStreamCopyAttributes_ptsz(dst: PerThread, src: PerThread) => cuStreamCopyAttributes;
    fn cudaStreamGetDevResource(stream: Stream, resource: Ptr, kind: i32) => cuStreamGetDevResource;
    fn cudaStreamGetDevResource_ptsz(stream: PerThread, resource: Ptr, kind: i32) => cuStreamGetDevResource;
    fn cudaLaunchHostFunc(stream: Stream, function: Callback, user_data: Ptr) => cuLaunchHostFunc;
    fn cudaLaunchHostFunc_ptsz(stream: PerThread, function: Callback, user_data: Ptr) => cuLaunchHostFunc;
    fn cudaLaunchHostFunc_v2(stream: Stream, function: Callback, user_data: Ptr, sync_mode: u32) => cuLaunchHostFunc_v2;
    fn cudaLaunchHostFunc_v2_ptsz(stream: PerThread, function: Callback, user_data: Ptr, sync_mode: u32) => cuLaunchHostFunc_v2;
    fn cudaDeviceGetStreamPriorityRange(least_priority: *mut i32, greatest_priority: *mut i32) => cuCtxGetStreamPriorityRange;
}

fn create(stream: *mut Stream) -> Result<(), Error> {
    cuStreamCreate(stream, 0_u32)
}
