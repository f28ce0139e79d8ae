//! Graphs as wholes: made, instantiated, launched, and the objects they keep alive.
//! Nodes have files of their own.

use crate::Cudart;
use crate::codes::Error;
use crate::context;
use crate::driver::cuGraphConditionalHandleCreate;
use crate::driver::forward::*;
use crate::types::*;
use std::ffi::c_char;

ghost_abi::rows! { Cudart;
    fn cudaGraphCreate(graph: *mut Graph, flags: u32) => cuGraphCreate;
    fn cudaGraphClone(graph_clone: *mut Graph, original_graph: Graph) => cuGraphClone;
    fn cudaGraphDestroy(graph: Graph) => cuGraphDestroy;
    fn cudaGraphDebugDotPrint(graph: Graph, path: *mut c_char, flags: u32) => cuGraphDebugDotPrint;
    fn cudaGraphGetId(graph: Graph, graph_id: *mut u32) => cuGraphGetId;
    fn cudaGraphGetNodes(graph: Graph, nodes: *mut Node, num_nodes: *mut usize) => cuGraphGetNodes;
    fn cudaGraphGetRootNodes(graph: Graph, root_nodes: *mut Node, num_root_nodes: *mut usize) => cuGraphGetRootNodes;
    fn cudaGraphGetEdges(graph: Graph, from: *mut Node, to: *mut Node, edge_data: Ptr, num_edges: *mut usize) => cuGraphGetEdges_v2;
    fn cudaGraphAddDependencies(graph: Graph, from: *mut Node, to: *mut Node, edge_data: Ptr, num_dependencies: usize) => cuGraphAddDependencies_v2;
    fn cudaGraphRemoveDependencies(graph: Graph, from: *mut Node, to: *mut Node, edge_data: Ptr, num_dependencies: usize) => cuGraphRemoveDependencies_v2;
    fn cudaGraphInstantiate(graph_exec: *mut GraphExec, graph: Graph, flags: u64) => cuGraphInstantiateWithFlags;
    fn cudaGraphInstantiateWithFlags(graph_exec: *mut GraphExec, graph: Graph, flags: u64) => cuGraphInstantiateWithFlags;
    fn cudaGraphInstantiateWithParams(graph_exec: *mut GraphExec, graph: Graph, instantiate_params: Ptr) => cuGraphInstantiateWithParams;
    fn cudaGraphInstantiateWithParams_ptsz(graph_exec: *mut GraphExec, graph: Graph, instantiate_params: Ptr) => cuGraphInstantiateWithParams;
    fn cudaGraphUpload(graph_exec: GraphExec, stream: Stream) => cuGraphUpload;
    fn cudaGraphUpload_ptsz(graph_exec: GraphExec, stream: PerThread) => cuGraphUpload;
    fn cudaGraphLaunch(graph_exec: GraphExec, stream: Stream) => cuGraphLaunch;
    fn cudaGraphLaunch_ptsz(graph_exec: GraphExec, stream: PerThread) => cuGraphLaunch;
    fn cudaGraphExecDestroy(graph_exec: GraphExec) => cuGraphExecDestroy;
    fn cudaGraphExecGetFlags(graph_exec: GraphExec, flags: *mut u64) => cuGraphExecGetFlags;
    fn cudaGraphExecGetId(graph_exec: GraphExec, graph_id: *mut u32) => cuGraphExecGetId;
    fn cudaGraphExecUpdate(graph_exec: GraphExec, graph: Graph, result_info: Ptr) => cuGraphExecUpdate_v2;
    fn cudaUserObjectCreate(object_out: *mut UserObject, ptr: Ptr, destroy: Callback, initial_refcount: u32, flags: u32) => cuUserObjectCreate;
    fn cudaUserObjectRetain(object: UserObject, count: u32) => cuUserObjectRetain;
    fn cudaUserObjectRelease(object: UserObject, count: u32) => cuUserObjectRelease;
    fn cudaGraphRetainUserObject(graph: Graph, object: UserObject, count: u32, flags: u32) => cuGraphRetainUserObject;
    fn cudaGraphReleaseUserObject(graph: Graph, object: UserObject, count: u32) => cuGraphReleaseUserObject;
    fn cudaGraphConditionalHandleCreate(handle_out: *mut u64, graph: Graph, default_value: u32, flags: u32) => conditional_handle;
    fn cudaGraphConditionalHandleCreate_v2(handle_out: *mut u64, graph: Graph, context: Handle, default_value: u32, flags: u32) => conditional_handle_in;
}

fn conditional_handle(handle: *mut u64, graph: Graph, default_value: u32, flags: u32) -> Result<(), Error> {
    cuGraphConditionalHandleCreate(handle, graph, context::current()?, default_value, flags)
}

/// Without a context the current one is meant.
fn conditional_handle_in(
    handle: *mut u64,
    graph: Graph,
    context: Handle,
    default_value: u32,
    flags: u32,
) -> Result<(), Error> {
    let context = if context.is_null() { context::current()? } else { context };
    cuGraphConditionalHandleCreate(handle, graph, context, default_value, flags)
}
