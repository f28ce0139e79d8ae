//! The driver functions this library stands on, each looked up once by name.
//! It keeps no state but addresses; what to do without a context is `context.rs`'s business.
//!
//! One contract for all of them: *pointers among the arguments were lent by the C caller of this
//! library, or point to live variables of a handler*. The driver follows them, we do not.

use crate::codes::Error;
use crate::context;
use crate::types::*;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

const NOT_INITIALIZED: i32 = 3;
const INVALID_CONTEXT: i32 = 201;

/// The address of one driver function.
struct Address {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Address {
    const fn new(name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { panic!("the macro ends a name with a NUL") };
        Self { name, found: AtomicPtr::new(std::ptr::null_mut()) }
    }

    #[inline(always)]
    fn get(&self) -> Result<*mut c_void, Error> {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.look_up() } else { Ok(found) }
    }

    #[cold]
    fn look_up(&self) -> Result<*mut c_void, Error> {
        let found = ghost_table::symbol(self.name).ok_or_else(missing)?;
        self.found.store(found, Ordering::Relaxed);
        Ok(found)
    }
}

/// Without a driver everything fails alike; a driver without a function lacks just that.
fn missing() -> Error {
    if ghost_table::symbol(c"cuInit").is_some() { Error::NotSupported } else { Error::InsufficientDriver }
}

/// A driver's code as this library's. They share their numbers; what the runtime has no name for is unknown.
#[cold]
fn failed(code: i32) -> Error {
    Error::from_code(code).unwrap_or(Error::Unknown)
}

/// Asks again after starting the driver or giving the thread its device's context, as the runtime
/// does for a caller that never mentions either. The usual call pays nothing for it.
#[cold]
fn rescue(mut code: i32, again: impl Fn() -> i32) -> Result<(), Error> {
    if code == NOT_INITIALIZED {
        context::start()?;
        code = again();
    }
    if code == INVALID_CONTEXT {
        context::attach()?;
        code = again();
    }
    if code == 0 { Ok(()) } else { Err(failed(code)) }
}

macro_rules! driver {
    ($otherwise:ident: $( fn $name:ident($($arg:ident: $ty:ty),*); )*) => { $(
        #[inline(always)]
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "a C name and signature")]
        pub(crate) fn $name($($arg: impl Arg<$ty>),*) -> Result<(), Error> {
            static ADDRESS: Address = Address::new(concat!(stringify!($name), "\0"));
            let address = ADDRESS.get()?;
            $(let $arg: $ty = $arg.pass();)*
            let call = || {
                // SAFETY: the driver exports a function of this name and this C signature, and the
                // arguments keep the file's contract.
                unsafe {
                    let function: unsafe extern "C" fn($($ty),*) -> i32 = std::mem::transmute(address);
                    function($($arg),*)
                }
            };
            match call() {
                0 => Ok(()),
                code => $otherwise(code, call),
            }
        }
    )* };
}

/// What it says is final: for the functions that `context.rs` needs itself.
#[cold]
fn plain(code: i32, _again: impl Fn() -> i32) -> Result<(), Error> {
    Err(failed(code))
}

driver! { plain:
    fn cuInit(flags: u32);
    fn cuCtxGetDevice(device: *mut i32);
    fn cuCtxSetCurrent(context: Handle);
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32);
}

driver! { rescue:
    fn cuDriverGetVersion(version: *mut i32);
    fn cuGetProcAddress_v2(symbol: *mut c_char, function: *mut Ptr, version: i32, flags: u64, status: *mut i32);
    fn cuDeviceGetCount(count: *mut i32);
    fn cuDeviceGetName(name: *mut c_char, length: i32, device: i32);
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: i32);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32);
    fn cuDevicePrimaryCtxReset_v2(device: i32);
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    fn cuCtxDisablePeerAccess(peer: Handle);
    fn cuCtxEnablePeerAccess(peer: Handle, flags: u32);
    fn cuCtxGetLimit(value: *mut usize, limit: i32);
    fn cuGraphAddKernelNode_v2(node: *mut Node, graph: Graph, dependencies: *mut Node, count: usize, params: Ptr);
    fn cuGraphAddMemcpyNode(node: *mut Node, graph: Graph, dependencies: *mut Node, count: usize, params: Ptr, context: Handle);
    fn cuGraphAddMemsetNode(node: *mut Node, graph: Graph, dependencies: *mut Node, count: usize, params: Ptr, context: Handle);
    fn cuGraphAddNode_v2(node: *mut Node, graph: Graph, dependencies: *mut Node, edges: Ptr, count: usize, params: Ptr);
    fn cuGraphConditionalHandleCreate(handle: *mut u64, graph: Graph, context: Handle, default_value: u32, flags: u32);
    fn cuGraphExecKernelNodeSetParams_v2(exec: GraphExec, node: Node, params: Ptr);
    fn cuGraphExecMemcpyNodeSetParams(exec: GraphExec, node: Node, params: Ptr, context: Handle);
    fn cuGraphExecMemsetNodeSetParams(exec: GraphExec, node: Node, params: Ptr, context: Handle);
    fn cuGraphExecNodeSetParams(exec: GraphExec, node: Node, params: Ptr);
    fn cuGraphKernelNodeSetParams_v2(node: Node, params: Ptr);
    fn cuGraphMemcpyNodeSetParams(node: Node, params: Ptr);
    fn cuGraphNodeSetParams(node: Node, params: Ptr);
    fn cuKernelGetAttribute(value: *mut i32, attribute: i32, kernel: Kernel, device: i32);
    fn cuKernelGetFunction(function: *mut Function, kernel: Kernel);
    fn cuKernelGetName(name: *mut *mut c_char, kernel: Kernel);
    fn cuKernelGetParamCount(kernel: Kernel, count: *mut usize);
    fn cuKernelGetParamInfo(kernel: Kernel, index: usize, offset: *mut usize, size: *mut usize);
    fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: Kernel, device: i32);
    fn cuKernelSetCacheConfig(kernel: Kernel, config: i32, device: i32);
    fn cuLaunchCooperativeKernel(function: Function, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared_bytes: u32, stream: Stream, params: *mut Ptr);
    fn cuLaunchKernel(function: Function, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared_bytes: u32, stream: Stream, params: *mut Ptr, extra: *mut Ptr);
    fn cuLaunchKernelEx(config: Ptr, function: Function, params: *mut Ptr, extra: *mut Ptr);
    fn cuLibraryEnumerateKernels(kernels: *mut Kernel, count: u32, library: Module);
    fn cuLibraryGetKernel(kernel: *mut Kernel, library: Module, name: *mut c_char);
    fn cuMemAllocAsync(address: *mut Ptr, bytes: usize, stream: Stream);
    fn cuMemAllocPitch_v2(address: *mut Ptr, pitch: *mut usize, width: usize, height: usize, element_bytes: u32);
    fn cuMemAlloc_v2(address: *mut Ptr, bytes: usize);
    fn cuMemFreeAsync(address: Ptr, stream: Stream);
    fn cuMemFreeHost(address: Ptr);
    fn cuMemFree_v2(address: Ptr);
    fn cuMemHostAlloc(address: *mut Ptr, bytes: usize, flags: u32);
    fn cuMemPoolExportToShareableHandle(handle: Ptr, pool: Pool, kind: i32, flags: u64);
    fn cuMemPoolImportFromShareableHandle(pool: *mut Pool, handle: Ptr, kind: i32, flags: u64);
    fn cuMemcpy(to: Ptr, from: Ptr, bytes: usize);
    fn cuMemcpy2DAsync_v2(copy: Ptr, stream: Stream);
    fn cuMemcpy2DUnaligned_v2(copy: Ptr);
    fn cuMemcpy3DAsync_v2(copy: Ptr, stream: Stream);
    fn cuMemcpy3DPeer(copy: Ptr);
    fn cuMemcpy3DPeerAsync(copy: Ptr, stream: Stream);
    fn cuMemcpy3D_v2(copy: Ptr);
    fn cuMemcpyAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream);
    fn cuMemcpyDtoDAsync_v2(to: Ptr, from: Ptr, bytes: usize, stream: Stream);
    fn cuMemcpyDtoD_v2(to: Ptr, from: Ptr, bytes: usize);
    fn cuMemcpyDtoHAsync_v2(to: Ptr, from: Ptr, bytes: usize, stream: Stream);
    fn cuMemcpyDtoH_v2(to: Ptr, from: Ptr, bytes: usize);
    fn cuMemcpyHtoDAsync_v2(to: Ptr, from: Ptr, bytes: usize, stream: Stream);
    fn cuMemcpyHtoD_v2(to: Ptr, from: Ptr, bytes: usize);
    fn cuMemcpyPeer(to: Ptr, to_context: Handle, from: Ptr, from_context: Handle, bytes: usize);
    fn cuMemcpyPeerAsync(to: Ptr, to_context: Handle, from: Ptr, from_context: Handle, bytes: usize, stream: Stream);
    fn cuMemsetD2D8Async(address: Ptr, pitch: usize, value: u8, width: usize, height: usize, stream: Stream);
    fn cuMemsetD2D8_v2(address: Ptr, pitch: usize, value: u8, width: usize, height: usize);
    fn cuMemsetD8Async(address: Ptr, value: u8, bytes: usize, stream: Stream);
    fn cuMemsetD8_v2(address: Ptr, value: u8, bytes: usize);
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: Function, blocks: i32, block_size: i32);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: Function, block_size: i32, shared_bytes: usize);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut i32, function: Function, block_size: i32, shared_bytes: usize, flags: u32);
    fn cuOccupancyMaxActiveClusters(clusters: *mut i32, function: Function, config: Ptr);
    fn cuOccupancyMaxPotentialClusterSize(size: *mut i32, function: Function, config: Ptr);
    fn cuPointerGetAttributes(count: u32, attributes: *mut i32, values: *mut Ptr, address: Ptr);
}

/// The functions a row of this library hands its arguments to as they are.
pub(crate) mod forward {
    use super::*;

    driver! { rescue:
        fn cuCtxGetCacheConfig(cache_config: *mut i32);
        fn cuCtxGetStreamPriorityRange(least_priority: *mut i32, greatest_priority: *mut i32);
        fn cuCtxResetPersistingL2Cache();
        fn cuCtxSetCacheConfig(cache_config: i32);
        fn cuCtxSetLimit(limit: i32, value: usize);
        fn cuCtxSynchronize();
        fn cuDeviceCanAccessPeer(can_access_peer: *mut i32, device: i32, peer_device: i32);
        fn cuDeviceGetAttribute(value: *mut i32, attr: i32, device: i32);
        fn cuDeviceGetByPCIBusId(device: *mut i32, pci_bus_id: *mut c_char);
        fn cuDeviceGetDefaultMemPool(mem_pool: *mut Pool, device: i32);
        fn cuDeviceGetGraphMemAttribute(device: i32, attr: i32, value: Ptr);
        fn cuDeviceGetHostAtomicCapabilities(capabilities: *mut u32, operations: *mut i32, count: u32, device: i32);
        fn cuDeviceGetMemPool(mem_pool: *mut Pool, device: i32);
        fn cuDeviceGetP2PAtomicCapabilities(capabilities: *mut u32, operations: *mut i32, count: u32, src_device: i32, dst_device: i32);
        fn cuDeviceGetP2PAttribute(value: *mut i32, attr: i32, src_device: i32, dst_device: i32);
        fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: i32, device: i32);
        fn cuDeviceGraphMemTrim(device: i32);
        fn cuDeviceRegisterAsyncNotification(device: i32, callback_func: Handle, user_data: Ptr, callback: Ptr);
        fn cuDeviceSetGraphMemAttribute(device: i32, attr: i32, value: Ptr);
        fn cuDeviceSetMemPool(device: i32, mem_pool: Pool);
        fn cuDeviceUnregisterAsyncNotification(device: i32, callback: Handle);
        fn cuEventCreate(event: *mut Event, flags: u32);
        fn cuEventDestroy_v2(event: Event);
        fn cuEventElapsedTime_v2(ms: *mut f32, start: Event, end: Event);
        fn cuEventQuery(event: Event);
        fn cuEventRecord(event: Event, stream: Stream);
        fn cuEventRecordWithFlags(event: Event, stream: Stream, flags: u32);
        fn cuEventSynchronize(event: Event);
        fn cuFlushGPUDirectRDMAWrites(target: i32, scope: i32);
        fn cuGraphAddChildGraphNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, child_graph: Graph);
        fn cuGraphAddDependencies_v2(graph: Graph, from: *mut Node, to: *mut Node, edge_data: Ptr, num_dependencies: usize);
        fn cuGraphAddEmptyNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize);
        fn cuGraphAddEventRecordNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, event: Event);
        fn cuGraphAddEventWaitNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, event: Event);
        fn cuGraphAddHostNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, node_params: Ptr);
        fn cuGraphAddMemAllocNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, node_params: Ptr);
        fn cuGraphAddMemFreeNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, dptr: Ptr);
        fn cuGraphChildGraphNodeGetGraph(node: Node, graph: *mut Graph);
        fn cuGraphClone(graph_clone: *mut Graph, original_graph: Graph);
        fn cuGraphCreate(graph: *mut Graph, flags: u32);
        fn cuGraphDebugDotPrint(graph: Graph, path: *mut c_char, flags: u32);
        fn cuGraphDestroy(graph: Graph);
        fn cuGraphDestroyNode(node: Node);
        fn cuGraphEventRecordNodeGetEvent(node: Node, event_out: *mut Event);
        fn cuGraphEventRecordNodeSetEvent(node: Node, event: Event);
        fn cuGraphEventWaitNodeGetEvent(node: Node, event_out: *mut Event);
        fn cuGraphEventWaitNodeSetEvent(node: Node, event: Event);
        fn cuGraphExecChildGraphNodeSetParams(graph_exec: GraphExec, node: Node, child_graph: Graph);
        fn cuGraphExecDestroy(graph_exec: GraphExec);
        fn cuGraphExecEventRecordNodeSetEvent(graph_exec: GraphExec, node: Node, event: Event);
        fn cuGraphExecEventWaitNodeSetEvent(graph_exec: GraphExec, node: Node, event: Event);
        fn cuGraphExecGetFlags(graph_exec: GraphExec, flags: *mut u64);
        fn cuGraphExecGetId(graph_exec: GraphExec, graph_id: *mut u32);
        fn cuGraphExecHostNodeSetParams(graph_exec: GraphExec, node: Node, node_params: Ptr);
        fn cuGraphExecUpdate_v2(graph_exec: GraphExec, graph: Graph, result_info: Ptr);
        fn cuGraphGetEdges_v2(graph: Graph, from: *mut Node, to: *mut Node, edge_data: Ptr, num_edges: *mut usize);
        fn cuGraphGetId(graph: Graph, graph_id: *mut u32);
        fn cuGraphGetNodes(graph: Graph, nodes: *mut Node, num_nodes: *mut usize);
        fn cuGraphGetRootNodes(graph: Graph, root_nodes: *mut Node, num_root_nodes: *mut usize);
        fn cuGraphHostNodeGetParams(node: Node, node_params: Ptr);
        fn cuGraphHostNodeSetParams(node: Node, node_params: Ptr);
        fn cuGraphInstantiateWithFlags(graph_exec: *mut GraphExec, graph: Graph, flags: u64);
        fn cuGraphInstantiateWithParams(graph_exec: *mut GraphExec, graph: Graph, instantiate_params: Ptr);
        fn cuGraphKernelNodeCopyAttributes(dst: Node, src: Node);
        fn cuGraphKernelNodeGetAttribute(node: Node, attr: i32, value_out: Ptr);
        fn cuGraphKernelNodeSetAttribute(node: Node, attr: i32, value: Ptr);
        fn cuGraphLaunch(graph_exec: GraphExec, stream: Stream);
        fn cuGraphMemAllocNodeGetParams(node: Node, params_out: Ptr);
        fn cuGraphMemFreeNodeGetParams(node: Node, dptr_out: Ptr);
        fn cuGraphMemsetNodeGetParams(node: Node, node_params: Ptr);
        fn cuGraphMemsetNodeSetParams(node: Node, node_params: Ptr);
        fn cuGraphNodeFindInClone(node: *mut Node, original_node: Node, cloned_graph: Graph);
        fn cuGraphNodeGetContainingGraph(node: Node, graph: *mut Graph);
        fn cuGraphNodeGetDependencies_v2(node: Node, dependencies: *mut Node, edge_data: Ptr, num_dependencies: *mut usize);
        fn cuGraphNodeGetDependentNodes_v2(node: Node, dependent_nodes: *mut Node, edge_data: Ptr, num_dependent_nodes: *mut usize);
        fn cuGraphNodeGetEnabled(graph_exec: GraphExec, node: Node, is_enabled: *mut u32);
        fn cuGraphNodeGetLocalId(node: Node, node_id: *mut u32);
        fn cuGraphNodeGetToolsId(node: Node, tools_node_id: *mut u64);
        fn cuGraphNodeGetType(node: Node, kind: *mut i32);
        fn cuGraphNodeSetEnabled(graph_exec: GraphExec, node: Node, is_enabled: u32);
        fn cuGraphReleaseUserObject(graph: Graph, object: UserObject, count: u32);
        fn cuGraphRemoveDependencies_v2(graph: Graph, from: *mut Node, to: *mut Node, edge_data: Ptr, num_dependencies: usize);
        fn cuGraphRetainUserObject(graph: Graph, object: UserObject, count: u32, flags: u32);
        fn cuGraphUpload(graph_exec: GraphExec, stream: Stream);
        fn cuIpcCloseMemHandle(dev_ptr: Ptr);
        fn cuIpcGetEventHandle(handle: *mut IpcHandle, event: Event);
        fn cuIpcGetMemHandle(handle: *mut IpcHandle, dev_ptr: Ptr);
        fn cuIpcOpenEventHandle(event: *mut Event, handle: IpcHandle);
        fn cuIpcOpenMemHandle_v2(dev_ptr: *mut Ptr, handle: IpcHandle, flags: u32);
        fn cuLaunchHostFunc(stream: Stream, function: Callback, user_data: Ptr);
        fn cuLaunchHostFunc_v2(stream: Stream, function: Callback, user_data: Ptr, sync_mode: u32);
        fn cuLibraryGetGlobal(dptr: *mut Ptr, bytes: *mut usize, library: Module, name: *mut c_char);
        fn cuLibraryGetKernelCount(count: *mut u32, lib: Module);
        fn cuLibraryGetManaged(dptr: *mut Ptr, bytes: *mut usize, library: Module, name: *mut c_char);
        fn cuLibraryGetUnifiedFunction(fptr: *mut Ptr, library: Module, symbol: *mut c_char);
        fn cuLibraryLoadData(library: *mut Module, code: Ptr, jit_options: *mut i32, jit_options_values: *mut Ptr, num_jit_options: u32, library_options: *mut i32, library_option_values: *mut Ptr, num_library_options: u32);
        fn cuLibraryLoadFromFile(library: *mut Module, file_name: *mut c_char, jit_options: *mut i32, jit_options_values: *mut Ptr, num_jit_options: u32, library_options: *mut i32, library_option_values: *mut Ptr, num_library_options: u32);
        fn cuLibraryUnload(library: Module);
        fn cuLogsCurrent(iterator_out: *mut u32, flags: u32);
        fn cuLogsDumpToFile(iterator: *mut u32, path_to_file: *mut c_char, flags: u32);
        fn cuLogsDumpToMemory(iterator: *mut u32, buffer: *mut c_char, size: *mut usize, flags: u32);
        fn cuLogsRegisterCallback(callback_func: Callback, user_data: Ptr, callback_out: *mut Handle);
        fn cuLogsUnregisterCallback(callback: Handle);
        fn cuMemAdvise_v2(dev_ptr: Ptr, count: usize, advice: i32, location: Location);
        fn cuMemAllocFromPoolAsync(ptr: *mut Ptr, size: usize, mem_pool: Pool, stream: Stream);
        fn cuMemAllocManaged(dev_ptr: *mut Ptr, size: usize, flags: u32);
        fn cuMemDiscardAndPrefetchBatchAsync(dptrs: *mut Ptr, sizes: *mut usize, count: usize, prefetch_locs: *mut Location, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: Stream);
        fn cuMemDiscardBatchAsync(dptrs: *mut Ptr, sizes: *mut usize, count: usize, flags: u64, stream: Stream);
        fn cuMemGetDefaultMemPool(mem_pool: *mut Pool, location: *mut Location, kind: i32);
        fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        fn cuMemGetMemPool(mem_pool: *mut Pool, location: *mut Location, kind: i32);
        fn cuMemHostGetDevicePointer_v2(device: *mut Ptr, host: Ptr, flags: u32);
        fn cuMemHostGetFlags(flags: *mut u32, host: Ptr);
        fn cuMemHostRegister_v2(ptr: Ptr, size: usize, flags: u32);
        fn cuMemHostUnregister(ptr: Ptr);
        fn cuMemPoolCreate(mem_pool: *mut Pool, pool_props: Ptr);
        fn cuMemPoolDestroy(mem_pool: Pool);
        fn cuMemPoolExportPointer(export_data: Ptr, ptr: Ptr);
        fn cuMemPoolGetAccess(flags: *mut i32, mem_pool: Pool, location: *mut Location);
        fn cuMemPoolGetAttribute(mem_pool: Pool, attr: i32, value: Ptr);
        fn cuMemPoolImportPointer(ptr: *mut Ptr, mem_pool: Pool, export_data: Ptr);
        fn cuMemPoolSetAccess(mem_pool: Pool, desc_list: Ptr, count: usize);
        fn cuMemPoolSetAttribute(mem_pool: Pool, attr: i32, value: Ptr);
        fn cuMemPoolTrimTo(mem_pool: Pool, min_bytes_to_keep: usize);
        fn cuMemPrefetchAsync_v2(dev_ptr: Ptr, count: usize, location: Location, flags: u32, stream: Stream);
        fn cuMemPrefetchBatchAsync(dptrs: *mut Ptr, sizes: *mut usize, count: usize, prefetch_locs: *mut Location, prefetch_loc_idxs: *mut usize, num_prefetch_locs: usize, flags: u64, stream: Stream);
        fn cuMemRangeGetAttribute(data: Ptr, data_size: usize, attribute: i32, dev_ptr: Ptr, count: usize);
        fn cuMemRangeGetAttributes(data: *mut Ptr, data_sizes: *mut usize, attributes: *mut i32, num_attributes: usize, dev_ptr: Ptr, count: usize);
        fn cuMemSetMemPool(location: *mut Location, kind: i32, mem_pool: Pool);
        fn cuMemcpyBatchAsync_v2(dsts: *mut Ptr, srcs: *mut Ptr, sizes: *mut usize, count: usize, attrs: Ptr, attrs_idxs: *mut usize, num_attrs: usize, stream: Stream);
        fn cuMemcpyWithAttributesAsync(dst: Ptr, src: Ptr, size: usize, attr: Ptr, stream: Stream);
        fn cuStreamAddCallback(stream: Stream, callback: Callback, user_data: Ptr, flags: u32);
        fn cuStreamAttachMemAsync(stream: Stream, dev_ptr: Ptr, length: usize, flags: u32);
        fn cuStreamBeginCaptureToGraph(stream: Stream, graph: Graph, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, mode: i32);
        fn cuStreamBeginCapture_v2(stream: Stream, mode: i32);
        fn cuStreamCopyAttributes(dst: Stream, src: Stream);
        fn cuStreamCreate(stream: *mut Stream, flags: u32);
        fn cuStreamCreateWithPriority(stream: *mut Stream, flags: u32, priority: i32);
        fn cuStreamDestroy_v2(stream: Stream);
        fn cuStreamEndCapture(stream: Stream, graph: *mut Graph);
        fn cuStreamGetAttribute(stream: Stream, attr: i32, value_out: Ptr);
        fn cuStreamGetCaptureInfo_v3(stream: Stream, capture_status_out: *mut i32, id_out: *mut u64, graph_out: *mut Graph, dependencies_out: *mut *mut Node, edge_data_out: *mut Ptr, num_dependencies_out: *mut usize);
        fn cuStreamGetDevResource(stream: Stream, resource: Ptr, kind: i32);
        fn cuStreamGetDevice(stream: Stream, device: *mut i32);
        fn cuStreamGetFlags(stream: Stream, flags: *mut u32);
        fn cuStreamGetId(stream: Stream, stream_id: *mut u64);
        fn cuStreamGetPriority(stream: Stream, priority: *mut i32);
        fn cuStreamIsCapturing(stream: Stream, capture_status: *mut i32);
        fn cuStreamQuery(stream: Stream);
        fn cuStreamSetAttribute(stream: Stream, attr: i32, value: Ptr);
        fn cuStreamSynchronize(stream: Stream);
        fn cuStreamUpdateCaptureDependencies_v2(stream: Stream, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, flags: u32);
        fn cuStreamWaitEvent(stream: Stream, event: Event, flags: u32);
        fn cuThreadExchangeStreamCaptureMode(mode: *mut i32);
        fn cuUserObjectCreate(object_out: *mut UserObject, ptr: Ptr, destroy: Callback, initial_refcount: u32, flags: u32);
        fn cuUserObjectRelease(object: UserObject, count: u32);
        fn cuUserObjectRetain(object: UserObject, count: u32);
    }
}
