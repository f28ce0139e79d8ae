//! Kernel nodes, and nodes of any kind: the runtime's parameters become the driver's.
//! Nodes that need no change are in `node.rs`, copies and fills in `copy.rs`.

use crate::codes::Error;
use crate::driver::*;
use crate::memory::boxes::{Box3d, Driver3d};
use crate::registry::REGISTRY;
use crate::types::*;
use crate::{Cudart, context};
use ghost_abi::{In, Plain, record};
use std::ffi::c_void;

ghost_abi::rows! { Cudart;
    fn cudaGraphAddNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, dependency_data: Ptr, num_dependencies: usize, node_params: Ptr) => add;
    fn cudaGraphNodeSetParams(node: Node, node_params: Ptr) => set;
    fn cudaGraphExecNodeSetParams(graph_exec: GraphExec, node: Node, node_params: Ptr) => set_exec;
    fn cudaGraphAddKernelNode(graph_node: *mut Node, graph: Graph, dependencies: *mut Node, num_dependencies: usize, params: In<KernelParams>) => add_kernel;
    fn cudaGraphKernelNodeSetParams(node: Node, params: In<KernelParams>) => set_kernel;
    fn cudaGraphExecKernelNodeSetParams(graph_exec: GraphExec, node: Node, params: In<KernelParams>) => set_exec_kernel;
    fn cudaGraphKernelNodeGetParams(node: Node, node_params: Ptr);
}

record! {
    /// `cudaKernelNodeParams`.
    pub struct KernelParams: 56 bytes {
        pub function: Ptr, pub grid: Dim3, pub block: Dim3, pub shared_bytes: u32, pub params: Ptr, pub extra: Ptr,
    }
}
record! {
    /// The driver's kernel node parameters.
    pub struct DriverKernel: 72 bytes {
        pub function: Function, pub grid: Dim3, pub block: Dim3, pub shared_bytes: u32, pub params: Ptr,
        pub extra: Ptr, pub kernel: Kernel, pub context: Handle,
    }
}
record! {
    /// A `cudaGraphNodeParams` of whatever kind.
    pub struct AnyNode: 256 bytes { pub kind: i32, pub reserved: [i32; 3], pub body: [u64; 29], pub more: u64 }
}
record! {
    /// A `cudaGraphNodeParams` that is a kernel.
    pub struct KernelNode: 256 bytes {
        pub kind: i32, pub reserved: [i32; 3],
        pub launch: KernelParams, pub context: Handle, pub function_type: i32, pub rest: [u64; 20], pub more: u64,
    }
}
record! {
    /// The driver's `CUgraphNodeParams` that is a kernel.
    pub struct DriverKernelNode: 256 bytes {
        pub kind: i32, pub reserved: [i32; 3], pub launch: DriverKernel, pub rest: [u64; 20], pub more: u64,
    }
}
record! {
    /// A `cudaGraphNodeParams` that is a copy.
    pub struct CopyNode: 256 bytes {
        pub kind: i32, pub reserved: [i32; 3],
        pub flags: i32, pub unused: i32, pub context: Handle, pub copy: Box3d, pub rest: [u64; 7], pub more: u64,
    }
}
record! {
    /// The driver's `CUgraphNodeParams` that is a copy.
    pub struct DriverCopyNode: 256 bytes {
        pub kind: i32, pub reserved: [i32; 3],
        pub flags: i32, pub unused: i32, pub context: Handle, pub copy: Driver3d, pub rest: [u64; 2], pub more: u64,
    }
}

/// `cudaGraphNodeTypeKernel`, which the driver numbers alike.
const KERNEL: i32 = 0;
/// `cudaGraphNodeTypeMemcpy`.
const COPY: i32 = 1;

/// `cudaKernelFunctionType`: the function is a driver's function already.
const IS_FUNCTION: i32 = 3;

/// What the caller lent as a node's parameters, read as one kind of them.
fn lent<T: Plain>(params: Ptr) -> Result<T, Error> {
    // SAFETY: the C caller lends a `cudaGraphNodeParams`; every `T` asked for is one of its forms and as large.
    let params: In<T> = unsafe { In::from_raw(params.cast()) };
    Ok(params.get()?)
}

fn driver_kernel(params: KernelParams) -> Result<DriverKernel, Error> {
    let mut function = null();
    cuKernelGetFunction(&raw mut function, REGISTRY.kernel(params.function)?)?;
    Ok(with_function(params, function))
}

fn with_function(params: KernelParams, function: Function) -> DriverKernel {
    let KernelParams { grid, block, shared_bytes, params, extra, .. } = params;
    DriverKernel { function, grid, block, shared_bytes, params, extra, kernel: null(), context: null() }
}

/// Hands a node's parameters on in the driver's form. Kinds with the same form stay where they
/// are, for the driver writes its answers (an address, a body graph) into them.
fn in_drivers_form(params: Ptr, then: impl FnOnce(Ptr) -> Result<(), Error>) -> Result<(), Error> {
    match lent::<AnyNode>(params)?.kind {
        KERNEL => {
            let mut node = driver_kernel_node(lent(params)?)?;
            then((&raw mut node).cast())
        }
        COPY => {
            let mut node = driver_copy_node(lent(params)?)?;
            then((&raw mut node).cast())
        }
        _ => then(params),
    }
}

fn driver_kernel_node(node: KernelNode) -> Result<DriverKernelNode, Error> {
    let mut launch = if node.function_type == IS_FUNCTION {
        with_function(node.launch, node.launch.function)
    } else {
        driver_kernel(node.launch)?
    };
    launch.context = node.context;
    Ok(DriverKernelNode { kind: KERNEL, reserved: node.reserved, launch, rest: [0; 20], more: node.more })
}

fn driver_copy_node(node: CopyNode) -> Result<DriverCopyNode, Error> {
    let context = if node.context.is_null() { context::current()? } else { node.context };
    let (flags, copy) = (node.flags, Driver3d::of(node.copy)?);
    Ok(DriverCopyNode {
        kind: COPY,
        reserved: node.reserved,
        flags,
        unused: 0,
        context,
        copy,
        rest: [0; 2],
        more: node.more,
    })
}

fn add(
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    edges: Ptr,
    count: usize,
    params: Ptr,
) -> Result<(), Error> {
    in_drivers_form(params, |params| cuGraphAddNode_v2(node, graph, dependencies, edges, count, params))
}

fn set(node: Node, params: Ptr) -> Result<(), Error> {
    in_drivers_form(params, |params| cuGraphNodeSetParams(node, params))
}

fn set_exec(exec: GraphExec, node: Node, params: Ptr) -> Result<(), Error> {
    in_drivers_form(params, |params| cuGraphExecNodeSetParams(exec, node, params))
}

fn add_kernel(
    node: *mut Node,
    graph: Graph,
    dependencies: *mut Node,
    count: usize,
    params: In<KernelParams>,
) -> Result<(), Error> {
    let mut kernel = driver_kernel(params.get()?)?;
    cuGraphAddKernelNode_v2(node, graph, dependencies, count, as_ptr(&raw mut kernel))
}

fn set_kernel(node: Node, params: In<KernelParams>) -> Result<(), Error> {
    let mut kernel = driver_kernel(params.get()?)?;
    cuGraphKernelNodeSetParams_v2(node, as_ptr(&raw mut kernel))
}

fn set_exec_kernel(exec: GraphExec, node: Node, params: In<KernelParams>) -> Result<(), Error> {
    let mut kernel = driver_kernel(params.get()?)?;
    cuGraphExecKernelNodeSetParams_v2(exec, node, as_ptr(&raw mut kernel))
}

pub(super) fn as_ptr<T>(params: *mut T) -> *mut c_void {
    params.cast()
}
