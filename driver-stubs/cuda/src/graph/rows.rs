//! The rows of graphs and stream capture, in one table because a room of the library has one. Handlers are elsewhere.

use std::ffi::c_void;

use ghost_abi::{CStrIn, In, InList, InOut, MaybeOut, Out, OutList};

use super::EdgeData;
use super::capture::*;
use super::edges::*;
use super::exec::{
    debug_dot, exec_destroy, get_enabled, get_flags as exec_flags, get_id as exec_id, instantiate, instantiate_params,
    instantiate_v2, set_child as exec_set_child, set_copy as exec_set_copy, set_enabled, set_fill as exec_set_fill,
    set_host as exec_set_host, set_kernel as exec_set_kernel, set_kernel_v2 as exec_set_kernel_v2,
    set_params as exec_set_params, set_record as exec_set_record, set_wait as exec_set_wait, upload,
};
use super::host::{
    add_child, add_empty, add_host, add_record, add_wait, get_child, get_host, get_record, get_wait, set_host,
    set_record, set_wait,
};
use super::kernel::{
    add_kernel, add_kernel_v2, copy_attributes, get_attribute, get_kernel, get_kernel_v2, set_attribute, set_kernel,
    set_kernel_v2,
};
use super::launch::launch;
use super::modes::exchange_mode;
use super::node::{
    add_node, add_node_v2, containing_graph, destroy_node, find_in_clone, get_nodes, get_roots, local_id, node_type,
    tools_id,
};
use super::params::{
    Copy3d, Fill, HostParams, InstantiateParams, KernelV1, KernelV2, NodeParams, UpdateResult, get as node_get_params,
    set as node_set_params,
};
use super::question::{info, info_v2, info_v3, is_capturing, update, update_v2};
use super::transfer::{add_copy, add_fill, get_copy, get_fill, set_copy, set_fill};
use super::update::{update as exec_update, update_v2 as exec_update_v2};
use super::whole::{clone_graph, create, destroy, get_memory, graph_id, set_memory, trim};
use crate::Cuda;
use crate::stream::{Legacy, PerThread};

ghost_abi::rows! { Cuda;
    since 10010 fn cuStreamBeginCapture_v2(stream: Legacy, mode: i32) => begin;
    since 10010 fn cuStreamBeginCapture_v2_ptsz(stream: PerThread, mode: i32) => begin;
    since 10000 fn cuStreamBeginCapture(stream: Legacy) => begin_v1;
    since 10000 fn cuStreamBeginCapture_ptsz(stream: PerThread) => begin_v1;
    since 12030 fn cuStreamBeginCaptureToGraph(stream: Legacy, graph: *mut c_void, after: InList<*mut c_void>, data: InList<EdgeData>, count: usize, mode: i32) => begin_to_graph;
    since 12030 fn cuStreamBeginCaptureToGraph_ptsz(stream: PerThread, graph: *mut c_void, after: InList<*mut c_void>, data: InList<EdgeData>, count: usize, mode: i32) => begin_to_graph;
    since 10000 fn cuStreamEndCapture(stream: Legacy, graph: Out<*mut c_void>) => end;
    since 10000 fn cuStreamEndCapture_ptsz(stream: PerThread, graph: Out<*mut c_void>) => end;
    since 10000 fn cuStreamIsCapturing(stream: Legacy, status: Out<i32>) => is_capturing;
    since 10000 fn cuStreamIsCapturing_ptsz(stream: PerThread, status: Out<i32>) => is_capturing;
    since 10010 fn cuStreamGetCaptureInfo(stream: Legacy, status: Out<i32>, id: MaybeOut<u64>) => info;
    since 10010 fn cuStreamGetCaptureInfo_ptsz(stream: PerThread, status: Out<i32>, id: MaybeOut<u64>) => info;
    since 11030 fn cuStreamGetCaptureInfo_v2(stream: Legacy, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, nodes: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v2;
    since 11030 fn cuStreamGetCaptureInfo_v2_ptsz(stream: PerThread, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, nodes: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v2;
    since 12030 fn cuStreamGetCaptureInfo_v3(stream: Legacy, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, nodes: MaybeOut<*const c_void>, data: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v3;
    since 12030 fn cuStreamGetCaptureInfo_v3_ptsz(stream: PerThread, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, nodes: MaybeOut<*const c_void>, data: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v3;
    since 11030 fn cuStreamUpdateCaptureDependencies(stream: Legacy, nodes: InList<*mut c_void>, count: usize, flags: u32) => update;
    since 11030 fn cuStreamUpdateCaptureDependencies_ptsz(stream: PerThread, nodes: InList<*mut c_void>, count: usize, flags: u32) => update;
    since 12030 fn cuStreamUpdateCaptureDependencies_v2(stream: Legacy, nodes: InList<*mut c_void>, data: InList<EdgeData>, count: usize, flags: u32) => update_v2;
    since 12030 fn cuStreamUpdateCaptureDependencies_v2_ptsz(stream: PerThread, nodes: InList<*mut c_void>, data: InList<EdgeData>, count: usize, flags: u32) => update_v2;
    since 10010 fn cuThreadExchangeStreamCaptureMode(mode: InOut<i32>) => exchange_mode;
    since 10000 fn cuGraphCreate(graph: Out<*mut c_void>, flags: u32) => create;
    since 10000 fn cuGraphDestroy(graph: *mut c_void) => destroy;
    since 10000 fn cuGraphClone(clone: Out<*mut c_void>, graph: *mut c_void) => clone_graph;
    since 13000 fn cuGraphGetId(graph: *mut c_void, id: Out<u32>) => graph_id;
    since 11030 fn cuGraphDebugDotPrint(graph: *mut c_void, path: CStrIn, flags: u32) => debug_dot;
    since 10000 fn cuGraphGetNodes(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) => get_nodes;
    since 10000 fn cuGraphGetRootNodes(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) => get_roots;
    since 10000 fn cuGraphGetEdges(graph: *mut c_void, from: OutList<*mut c_void>, to: OutList<*mut c_void>, count: InOut<usize>) => get_edges;
    since 12030 fn cuGraphGetEdges_v2(graph: *mut c_void, from: OutList<*mut c_void>, to: OutList<*mut c_void>, data: OutList<EdgeData>, count: InOut<usize>) => get_edges_v2;
    since 10000 fn cuGraphNodeGetDependencies(node: *mut c_void, found: OutList<*mut c_void>, count: InOut<usize>) => dependencies;
    since 12030 fn cuGraphNodeGetDependencies_v2(node: *mut c_void, found: OutList<*mut c_void>, data: OutList<EdgeData>, count: InOut<usize>) => dependencies_v2;
    since 10000 fn cuGraphNodeGetDependentNodes(node: *mut c_void, found: OutList<*mut c_void>, count: InOut<usize>) => dependents;
    since 12030 fn cuGraphNodeGetDependentNodes_v2(node: *mut c_void, found: OutList<*mut c_void>, data: OutList<EdgeData>, count: InOut<usize>) => dependents_v2;
    since 10000 fn cuGraphAddDependencies(graph: *mut c_void, from: InList<*mut c_void>, to: InList<*mut c_void>, count: usize) => add_dependencies;
    since 12030 fn cuGraphAddDependencies_v2(graph: *mut c_void, from: InList<*mut c_void>, to: InList<*mut c_void>, data: InList<EdgeData>, count: usize) => add_dependencies_v2;
    since 10000 fn cuGraphRemoveDependencies(graph: *mut c_void, from: InList<*mut c_void>, to: InList<*mut c_void>, count: usize) => remove_dependencies;
    since 12030 fn cuGraphRemoveDependencies_v2(graph: *mut c_void, from: InList<*mut c_void>, to: InList<*mut c_void>, data: InList<EdgeData>, count: usize) => remove_dependencies_v2;
    since 10000 fn cuGraphDestroyNode(node: *mut c_void) => destroy_node;
    since 10000 fn cuGraphNodeGetType(node: *mut c_void, kind: Out<i32>) => node_type;
    since 10000 fn cuGraphNodeFindInClone(node: Out<*mut c_void>, original: *mut c_void, clone: *mut c_void) => find_in_clone;
    since 13000 fn cuGraphNodeGetContainingGraph(node: *mut c_void, graph: Out<*mut c_void>) => containing_graph;
    since 13000 fn cuGraphNodeGetLocalId(node: *mut c_void, id: Out<u32>) => local_id;
    since 13000 fn cuGraphNodeGetToolsId(node: *mut c_void, id: Out<u64>) => tools_id;
    since 12020 fn cuGraphAddNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, params: In<NodeParams>) => add_node;
    since 12030 fn cuGraphAddNode_v2(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, data: InList<EdgeData>, count: usize, params: In<NodeParams>) => add_node_v2;
    since 12020 fn cuGraphNodeSetParams(node: *mut c_void, params: In<NodeParams>) => node_set_params;
    since 13020 fn cuGraphNodeGetParams(node: *mut c_void, params: Out<NodeParams>) => node_get_params;
    since 10000 fn cuGraphAddKernelNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, params: In<KernelV1>) => add_kernel;
    since 12000 fn cuGraphAddKernelNode_v2(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, params: In<KernelV2>) => add_kernel_v2;
    since 10000 fn cuGraphKernelNodeGetParams(node: *mut c_void, params: Out<KernelV1>) => get_kernel;
    since 12000 fn cuGraphKernelNodeGetParams_v2(node: *mut c_void, params: Out<KernelV2>) => get_kernel_v2;
    since 10000 fn cuGraphKernelNodeSetParams(node: *mut c_void, params: In<KernelV1>) => set_kernel;
    since 12000 fn cuGraphKernelNodeSetParams_v2(node: *mut c_void, params: In<KernelV2>) => set_kernel_v2;
    since 11000 fn cuGraphKernelNodeGetAttribute(node: *mut c_void, attribute: u32, value: Out<[u64; 8]>) => get_attribute;
    since 11000 fn cuGraphKernelNodeSetAttribute(node: *mut c_void, attribute: u32, value: In<[u64; 8]>) => set_attribute;
    since 11000 fn cuGraphKernelNodeCopyAttributes(to: *mut c_void, from: *mut c_void) => copy_attributes;
    since 10000 fn cuGraphAddMemcpyNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, params: In<Copy3d>, context: *mut c_void) => add_copy;
    since 10000 fn cuGraphMemcpyNodeGetParams(node: *mut c_void, params: Out<Copy3d>) => get_copy;
    since 10000 fn cuGraphMemcpyNodeSetParams(node: *mut c_void, params: In<Copy3d>) => set_copy;
    since 10000 fn cuGraphAddMemsetNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, params: In<Fill>, context: *mut c_void) => add_fill;
    since 10000 fn cuGraphMemsetNodeGetParams(node: *mut c_void, params: Out<Fill>) => get_fill;
    since 10000 fn cuGraphMemsetNodeSetParams(node: *mut c_void, params: In<Fill>) => set_fill;
    since 10000 fn cuGraphAddHostNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, params: In<HostParams>) => add_host;
    since 10000 fn cuGraphHostNodeGetParams(node: *mut c_void, params: Out<HostParams>) => get_host;
    since 10000 fn cuGraphHostNodeSetParams(node: *mut c_void, params: In<HostParams>) => set_host;
    since 10000 fn cuGraphAddEmptyNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize) => add_empty;
    since 10000 fn cuGraphAddChildGraphNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, child: *mut c_void) => add_child;
    since 10000 fn cuGraphChildGraphNodeGetGraph(node: *mut c_void, child: Out<*mut c_void>) => get_child;
    since 11010 fn cuGraphAddEventRecordNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, event: *mut c_void) => add_record;
    since 11010 fn cuGraphEventRecordNodeGetEvent(node: *mut c_void, event: Out<*mut c_void>) => get_record;
    since 11010 fn cuGraphEventRecordNodeSetEvent(node: *mut c_void, event: *mut c_void) => set_record;
    since 11010 fn cuGraphAddEventWaitNode(node: Out<*mut c_void>, graph: *mut c_void, after: InList<*mut c_void>, count: usize, event: *mut c_void) => add_wait;
    since 11010 fn cuGraphEventWaitNodeGetEvent(node: *mut c_void, event: Out<*mut c_void>) => get_wait;
    since 11010 fn cuGraphEventWaitNodeSetEvent(node: *mut c_void, event: *mut c_void) => set_wait;
    since 10000 fn cuGraphInstantiate(exec: Out<*mut c_void>, graph: *mut c_void, node: *mut c_void, log: *mut c_void, bytes: usize) => instantiate_v2;
    since 11000 fn cuGraphInstantiate_v2(exec: Out<*mut c_void>, graph: *mut c_void, node: *mut c_void, log: *mut c_void, bytes: usize) => instantiate_v2;
    since 11040 fn cuGraphInstantiateWithFlags(exec: Out<*mut c_void>, graph: *mut c_void, flags: u64) => instantiate;
    since 12000 fn cuGraphInstantiateWithParams(exec: Out<*mut c_void>, graph: *mut c_void, params: InOut<InstantiateParams>) => instantiate_params;
    since 12000 fn cuGraphInstantiateWithParams_ptsz(exec: Out<*mut c_void>, graph: *mut c_void, params: InOut<InstantiateParams>) => instantiate_params;
    since 10000 fn cuGraphExecDestroy(exec: *mut c_void) => exec_destroy;
    since 12000 fn cuGraphExecGetFlags(exec: *mut c_void, flags: Out<u64>) => exec_flags;
    since 13000 fn cuGraphExecGetId(exec: *mut c_void, id: Out<u32>) => exec_id;
    since 10000 fn cuGraphLaunch(exec: *mut c_void, stream: Legacy) => launch;
    since 10000 fn cuGraphLaunch_ptsz(exec: *mut c_void, stream: PerThread) => launch;
    since 11010 fn cuGraphUpload(exec: *mut c_void, stream: *mut c_void) => upload;
    since 11010 fn cuGraphUpload_ptsz(exec: *mut c_void, stream: *mut c_void) => upload;
    since 10020 fn cuGraphExecUpdate(exec: *mut c_void, graph: *mut c_void, node: MaybeOut<*mut c_void>, result: Out<i32>) => exec_update;
    since 12000 fn cuGraphExecUpdate_v2(exec: *mut c_void, graph: *mut c_void, result: Out<UpdateResult>) => exec_update_v2;
    since 12020 fn cuGraphExecNodeSetParams(exec: *mut c_void, node: *mut c_void, params: In<NodeParams>) => exec_set_params;
    since 10010 fn cuGraphExecKernelNodeSetParams(exec: *mut c_void, node: *mut c_void, params: In<KernelV1>) => exec_set_kernel;
    since 12000 fn cuGraphExecKernelNodeSetParams_v2(exec: *mut c_void, node: *mut c_void, params: In<KernelV2>) => exec_set_kernel_v2;
    since 10020 fn cuGraphExecMemcpyNodeSetParams(exec: *mut c_void, node: *mut c_void, params: In<Copy3d>, context: *mut c_void) => exec_set_copy;
    since 10020 fn cuGraphExecMemsetNodeSetParams(exec: *mut c_void, node: *mut c_void, params: In<Fill>, context: *mut c_void) => exec_set_fill;
    since 10020 fn cuGraphExecHostNodeSetParams(exec: *mut c_void, node: *mut c_void, params: In<HostParams>) => exec_set_host;
    since 11010 fn cuGraphExecChildGraphNodeSetParams(exec: *mut c_void, node: *mut c_void, child: *mut c_void) => exec_set_child;
    since 11010 fn cuGraphExecEventRecordNodeSetEvent(exec: *mut c_void, node: *mut c_void, event: *mut c_void) => exec_set_record;
    since 11010 fn cuGraphExecEventWaitNodeSetEvent(exec: *mut c_void, node: *mut c_void, event: *mut c_void) => exec_set_wait;
    since 11060 fn cuGraphNodeSetEnabled(exec: *mut c_void, node: *mut c_void, enabled: u32) => set_enabled;
    since 11060 fn cuGraphNodeGetEnabled(exec: *mut c_void, node: *mut c_void, enabled: Out<u32>) => get_enabled;
    since 11040 fn cuDeviceGraphMemTrim(device: i32) => trim;
    since 11040 fn cuDeviceGetGraphMemAttribute(device: i32, attribute: i32, value: Out<u64>) => get_memory;
    since 11040 fn cuDeviceSetGraphMemAttribute(device: i32, attribute: i32, value: In<u64>) => set_memory;
}
