//! Events: the driver's, under the runtime's names.
//! Only the one with default flags needs a word of ours.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::forward::*;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaEventCreate(event: *mut Event) => create;
    fn cudaEventCreateWithFlags(event: *mut Event, flags: u32) => cuEventCreate;
    fn cudaEventDestroy(event: Event) => cuEventDestroy_v2;
    fn cudaEventElapsedTime(ms: *mut f32, start: Event, end: Event) => cuEventElapsedTime_v2;
    fn cudaEventQuery(event: Event) => cuEventQuery;
    fn cudaEventRecord(event: Event, stream: Stream) => cuEventRecord;
    fn cudaEventRecord_ptsz(event: Event, stream: PerThread) => cuEventRecord;
    fn cudaEventRecordWithFlags(event: Event, stream: Stream, flags: u32) => cuEventRecordWithFlags;
    fn cudaEventRecordWithFlags_ptsz(event: Event, stream: PerThread, flags: u32) => cuEventRecordWithFlags;
    fn cudaEventSynchronize(event: Event) => cuEventSynchronize;
    fn cudaIpcGetEventHandle(handle: *mut IpcHandle, event: Event) => cuIpcGetEventHandle;
    fn cudaIpcOpenEventHandle(event: *mut Event, handle: IpcHandle) => cuIpcOpenEventHandle;
}

fn create(event: *mut Event) -> Result<(), Error> {
    cuEventCreate(event, 0_u32)
}
