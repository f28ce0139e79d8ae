//! Nodes that are the same for runtime and driver, and what holds for every node.
//! Kernel, copy and fill nodes, which differ, are in `work.rs`.

use crate::Cudart;
use crate::driver::forward::*;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaGraphAddEmptyNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize) => cuGraphAddEmptyNode;
    fn cudaGraphAddChildGraphNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, child_graph: Graph) => cuGraphAddChildGraphNode;
    fn cudaGraphChildGraphNodeGetGraph(node: Node, graph: *mut Graph) => cuGraphChildGraphNodeGetGraph;
    fn cudaGraphExecChildGraphNodeSetParams(graph_exec: GraphExec, node: Node, child_graph: Graph) => cuGraphExecChildGraphNodeSetParams;
    fn cudaGraphAddEventRecordNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, event: Event) => cuGraphAddEventRecordNode;
    fn cudaGraphEventRecordNodeGetEvent(node: Node, event_out: *mut Event) => cuGraphEventRecordNodeGetEvent;
    fn cudaGraphEventRecordNodeSetEvent(node: Node, event: Event) => cuGraphEventRecordNodeSetEvent;
    fn cudaGraphExecEventRecordNodeSetEvent(graph_exec: GraphExec, node: Node, event: Event) => cuGraphExecEventRecordNodeSetEvent;
    fn cudaGraphAddEventWaitNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, event: Event) => cuGraphAddEventWaitNode;
    fn cudaGraphEventWaitNodeGetEvent(node: Node, event_out: *mut Event) => cuGraphEventWaitNodeGetEvent;
    fn cudaGraphEventWaitNodeSetEvent(node: Node, event: Event) => cuGraphEventWaitNodeSetEvent;
    fn cudaGraphExecEventWaitNodeSetEvent(graph_exec: GraphExec, node: Node, event: Event) => cuGraphExecEventWaitNodeSetEvent;
    fn cudaGraphAddHostNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, node_params: Ptr) => cuGraphAddHostNode;
    fn cudaGraphHostNodeGetParams(node: Node, node_params: Ptr) => cuGraphHostNodeGetParams;
    fn cudaGraphHostNodeSetParams(node: Node, node_params: Ptr) => cuGraphHostNodeSetParams;
    fn cudaGraphExecHostNodeSetParams(graph_exec: GraphExec, node: Node, node_params: Ptr) => cuGraphExecHostNodeSetParams;
    fn cudaGraphAddMemAllocNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, node_params: Ptr) => cuGraphAddMemAllocNode;
    fn cudaGraphMemAllocNodeGetParams(node: Node, params_out: Ptr) => cuGraphMemAllocNodeGetParams;
    fn cudaGraphAddMemFreeNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, dptr: Ptr) => cuGraphAddMemFreeNode;
    fn cudaGraphMemFreeNodeGetParams(node: Node, dptr_out: Ptr) => cuGraphMemFreeNodeGetParams;
    fn cudaGraphMemsetNodeGetParams(node: Node, node_params: Ptr) => cuGraphMemsetNodeGetParams;
    fn cudaGraphMemsetNodeSetParams(node: Node, node_params: Ptr) => cuGraphMemsetNodeSetParams;
    fn cudaGraphKernelNodeCopyAttributes(dst: Node, src: Node) => cuGraphKernelNodeCopyAttributes;
    fn cudaGraphKernelNodeGetAttribute(node: Node, attr: i32, value_out: Ptr) => cuGraphKernelNodeGetAttribute;
    fn cudaGraphKernelNodeSetAttribute(node: Node, attr: i32, value: Ptr) => cuGraphKernelNodeSetAttribute;
    fn cudaGraphDestroyNode(node: Node) => cuGraphDestroyNode;
    fn cudaGraphNodeFindInClone(node: *mut Node, original_node: Node, cloned_graph: Graph) => cuGraphNodeFindInClone;
    fn cudaGraphNodeGetContainingGraph(node: Node, graph: *mut Graph) => cuGraphNodeGetContainingGraph;
    fn cudaGraphNodeGetDependencies(node: Node, dependencies: *mut Node, edge_data: Ptr, num_dependencies: *mut usize) => cuGraphNodeGetDependencies_v2;
    fn cudaGraphNodeGetDependentNodes(node: Node, dependent_nodes: *mut Node, edge_data: Ptr, num_dependent_nodes: *mut usize) => cuGraphNodeGetDependentNodes_v2;
    fn cudaGraphNodeGetEnabled(graph_exec: GraphExec, node: Node, is_enabled: *mut u32) => cuGraphNodeGetEnabled;
    fn cudaGraphNodeSetEnabled(graph_exec: GraphExec, node: Node, is_enabled: u32) => cuGraphNodeSetEnabled;
    fn cudaGraphNodeGetLocalId(node: Node, node_id: *mut u32) => cuGraphNodeGetLocalId;
    fn cudaGraphNodeGetToolsId(node: Node, tools_node_id: *mut u64) => cuGraphNodeGetToolsId;
    fn cudaGraphNodeGetType(node: Node, kind: *mut i32) => cuGraphNodeGetType;
}
