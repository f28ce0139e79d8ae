//! Copy and fill nodes: the runtime's parameters become the driver's.
//! What a box of bytes looks like to the driver is `memory/boxes.rs`'s.

use super::work::as_ptr;
use crate::codes::Error;
use crate::driver::*;
use crate::memory::boxes::{Box3d, Driver3d};
use crate::memory::copy::within;
use crate::types::*;
use crate::{Cudart, context};
use ghost_abi::In;

ghost_abi::rows! { Cudart;
    fn cudaGraphAddMemcpyNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, params: In<Box3d>) => add_copy;
    fn cudaGraphMemcpyNodeSetParams(node: Node, params: In<Box3d>) => set_copy;
    fn cudaGraphExecMemcpyNodeSetParams(graph_exec: GraphExec, node: Node, params: In<Box3d>) => set_exec_copy;
    fn cudaGraphAddMemcpyNode1D(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, dst: Ptr, src: Ptr, count: usize, kind: i32) => add_line;
    fn cudaGraphMemcpyNodeSetParams1D(node: Node, dst: Ptr, src: Ptr, count: usize, kind: i32) => set_line;
    fn cudaGraphExecMemcpyNodeSetParams1D(graph_exec: GraphExec, node: Node, dst: Ptr, src: Ptr, count: usize, kind: i32) => set_exec_line;
    fn cudaGraphAddMemcpyNodeToSymbol(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32) => add_to_symbol;
    fn cudaGraphAddMemcpyNodeFromSymbol(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32) => add_from_symbol;
    fn cudaGraphAddMemsetNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, memset_params: Ptr) => add_fill;
    fn cudaGraphExecMemsetNodeSetParams(graph_exec: GraphExec, node: Node, node_params: Ptr) => set_exec_fill;
    fn cudaGraphMemcpyNodeSetParamsToSymbol(node: Node, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32) => set_to_symbol;
    fn cudaGraphMemcpyNodeSetParamsFromSymbol(node: Node, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32) => set_from_symbol;
    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(graph_exec: GraphExec, node: Node, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32) => set_exec_to_symbol;
    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(graph_exec: GraphExec, node: Node, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32) => set_exec_from_symbol;
}

/// Where a new node goes.
#[derive(Debug, Clone, Copy)]
struct Place {
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    count: usize,
}

fn put_copy(at: Place, mut copy: Driver3d) -> Result<(), Error> {
    let context = context::current()?;
    cuGraphAddMemcpyNode(at.node, at.graph, at.dependencies, at.count, as_ptr(&raw mut copy), context)
}

fn change_copy(exec: GraphExec, node: Node, mut copy: Driver3d) -> Result<(), Error> {
    cuGraphExecMemcpyNodeSetParams(exec, node, as_ptr(&raw mut copy), context::current()?)
}

fn add_copy(
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    count: usize,
    params: In<Box3d>,
) -> Result<(), Error> {
    put_copy(Place { node, graph, dependencies, count }, Driver3d::of(params.get()?)?)
}

fn set_copy(node: Node, params: In<Box3d>) -> Result<(), Error> {
    let mut copy = Driver3d::of(params.get()?)?;
    cuGraphMemcpyNodeSetParams(node, as_ptr(&raw mut copy))
}

fn set_exec_copy(exec: GraphExec, node: Node, params: In<Box3d>) -> Result<(), Error> {
    change_copy(exec, node, Driver3d::of(params.get()?)?)
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn add_line(
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    count: usize,
    to: Ptr,
    from: Ptr,
    bytes: usize,
    kind: i32,
) -> Result<(), Error> {
    put_copy(Place { node, graph, dependencies, count }, Driver3d::line(to, from, bytes, kind)?)
}

fn set_line(node: Node, to: Ptr, from: Ptr, bytes: usize, kind: i32) -> Result<(), Error> {
    let mut copy = Driver3d::line(to, from, bytes, kind)?;
    cuGraphMemcpyNodeSetParams(node, as_ptr(&raw mut copy))
}

fn set_exec_line(exec: GraphExec, node: Node, to: Ptr, from: Ptr, bytes: usize, kind: i32) -> Result<(), Error> {
    change_copy(exec, node, Driver3d::line(to, from, bytes, kind)?)
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn add_to_symbol(
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    count: usize,
    symbol: Ptr,
    from: Ptr,
    bytes: usize,
    offset: usize,
    kind: i32,
) -> Result<(), Error> {
    let to = within(symbol, offset, bytes)?;
    put_copy(Place { node, graph, dependencies, count }, Driver3d::line(to, from, bytes, kind)?)
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn add_from_symbol(
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    count: usize,
    to: Ptr,
    symbol: Ptr,
    bytes: usize,
    offset: usize,
    kind: i32,
) -> Result<(), Error> {
    let from = within(symbol, offset, bytes)?;
    put_copy(Place { node, graph, dependencies, count }, Driver3d::line(to, from, bytes, kind)?)
}

fn add_fill(node: *mut Node, graph: Graph, dependencies: *mut Node, count: usize, params: Ptr) -> Result<(), Error> {
    cuGraphAddMemsetNode(node, graph, dependencies, count, params, context::current()?)
}

fn set_exec_fill(exec: GraphExec, node: Node, params: Ptr) -> Result<(), Error> {
    cuGraphExecMemsetNodeSetParams(exec, node, params, context::current()?)
}

fn set_to_symbol(node: Node, symbol: Ptr, from: Ptr, bytes: usize, offset: usize, kind: i32) -> Result<(), Error> {
    set_line(node, within(symbol, offset, bytes)?, from, bytes, kind)
}

fn set_from_symbol(node: Node, to: Ptr, symbol: Ptr, bytes: usize, offset: usize, kind: i32) -> Result<(), Error> {
    set_line(node, to, within(symbol, offset, bytes)?, bytes, kind)
}

fn set_exec_to_symbol(
    exec: GraphExec,
    node: Node,
    symbol: Ptr,
    from: Ptr,
    bytes: usize,
    offset: usize,
    kind: i32,
) -> Result<(), Error> {
    set_exec_line(exec, node, within(symbol, offset, bytes)?, from, bytes, kind)
}

fn set_exec_from_symbol(
    exec: GraphExec,
    node: Node,
    to: Ptr,
    symbol: Ptr,
    bytes: usize,
    offset: usize,
    kind: i32,
) -> Result<(), Error> {
    set_exec_line(exec, node, to, within(symbol, offset, bytes)?, bytes, kind)
}
