//! Parameters of nodes as C lays them out (`cuda.h`: CUDA_*_NODE_PARAMS, CUgraphNodeParams), and reading the union by
//! its type. It makes no node.

use std::ffi::c_void;

use ghost_abi::{In, Out, Plain};

use super::{Body, NodeKind, Params, node_of};
use crate::core::Core;
use crate::driver::Driver;
use crate::host::{HostFunction, User};
use crate::{Error, driver};

ghost_abi::record! {
    /// `CUDA_KERNEL_NODE_PARAMS_v1`.
    pub struct KernelV1: 56 bytes {
        pub function: *mut c_void, pub grid: [u32; 3], pub block: [u32; 3], pub shared_bytes: u32,
        pub params: *const *const u8, pub extra: *const *mut c_void,
    }
}

ghost_abi::record! {
    /// `CUDA_KERNEL_NODE_PARAMS_v2` and `_v3`.
    pub struct KernelV2: 72 bytes { pub first: KernelV1, pub kernel: *mut c_void, pub context: *mut c_void }
}

ghost_abi::record! {
    /// One side of a `CUDA_MEMCPY3D_v2`.
    pub struct Side: 88 bytes {
        pub x: usize, pub y: usize, pub z: usize, pub lod: usize, pub kind: u32,
        pub host: u64, pub device: u64, pub array: u64, pub reserved: u64, pub pitch: usize, pub height: usize,
    }
}

ghost_abi::record! {
    /// `CUDA_MEMCPY3D_v2`.
    pub struct Copy3d: 200 bytes {
        pub from: Side, pub to: Side, pub width: usize, pub height: usize, pub depth: usize,
    }
}

ghost_abi::record! {
    /// `CUDA_MEMCPY_NODE_PARAMS`.
    pub struct CopyInUnion: 216 bytes { pub flags: i32, pub reserved: i32, pub context: *mut c_void, pub copy: Copy3d }
}

ghost_abi::record! {
    /// `CUDA_MEMSET_NODE_PARAMS_v1`, which is how the second version begins.
    pub struct Fill: 40 bytes {
        pub to: u64, pub pitch: usize, pub value: u32, pub element: u32, pub width: usize, pub height: usize,
    }
}

ghost_abi::record! {
    /// `CUDA_CHILD_GRAPH_NODE_PARAMS`.
    pub struct ChildParams: 16 bytes { pub graph: *mut c_void, pub ownership: i32 }
}

ghost_abi::record! {
    /// `CUgraphNodeParams`: a type and a union by that type.
    pub struct NodeParams: 256 bytes { pub kind: i32, pub zero: [i32; 3], pub union: [u64; 29], pub tail: u64 }
}

ghost_abi::record! {
    /// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
    pub struct InstantiateParams: 32 bytes {
        pub flags: u64, pub stream: *mut c_void, pub error_node: *mut c_void, pub result: i32,
    }
}

ghost_abi::record! {
    /// `CUgraphExecUpdateResultInfo_v1`.
    pub struct UpdateResult: 24 bytes { pub result: i32, pub node: *mut c_void, pub from: *mut c_void }
}

/// `CUDA_HOST_NODE_PARAMS_v1`, which is how the second version begins.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostParams {
    pub function: Option<HostFunction>,
    pub user: User,
}

// SAFETY: a null function is `None`, any other value is one the caller says can be called; the rest is a pointer.
unsafe impl Plain for HostParams {}

impl Side {
    /// A row of bytes, on a device or of the host.
    fn flat(address: u64, on_device: bool) -> Side {
        let (host, device, kind) = if on_device { (0, address, 2) } else { (address, 0, 1) };
        Side { kind, host, device, ..Side::zeroed() }
    }
}

impl Copy3d {
    /// A copy of one row of bytes.
    pub fn flat(from: (u64, bool), to: (u64, bool), bytes: usize) -> Copy3d {
        let (from, to) = (Side::flat(from.0, from.1), Side::flat(to.0, to.1));
        Copy3d { from, to, width: bytes, height: 1, depth: 1 }
    }
}

impl From<KernelV1> for KernelV2 {
    fn from(first: KernelV1) -> KernelV2 {
        KernelV2 { first, ..KernelV2::zeroed() }
    }
}

impl NodeParams {
    /// The union as one of its members.
    pub fn read<T: Plain>(&self) -> T {
        const { assert!(size_of::<T>() <= 232) };
        // SAFETY: the union is as long as its longest member, and any bytes are a `T`.
        unsafe { self.union.as_ptr().cast::<T>().read() }
    }

    fn with<T: Plain>(kind: NodeKind, member: T) -> NodeParams {
        const { assert!(size_of::<T>() <= 232) };
        let mut all = NodeParams { kind: kind as i32, ..NodeParams::zeroed() };
        // SAFETY: as in `read`; the union is this function's own.
        unsafe { all.union.as_mut_ptr().cast::<T>().write(member) };
        all
    }
}

/// Kinds of the union that no node is made of here, with the name they are counted under.
fn refused(kind: i32) -> Option<&'static std::ffi::CStr> {
    Some(match kind {
        8 => c"cuGraphAddNode(external semaphore signal)",
        9 => c"cuGraphAddNode(external semaphore wait)",
        10 => c"cuGraphAddNode(memory allocation)",
        11 => c"cuGraphAddNode(memory free)",
        12 => c"cuGraphAddNode(batch memory operation)",
        13 => c"cuGraphAddNode(conditional)",
        _ => return None,
    })
}

/// Refuses what cannot be a node here; for callers that hold no lock, because it tells ghostd.
pub fn check_kind(kind: i32) -> Result<(), Error> {
    if let Some(name) = refused(kind) {
        crate::table::note_missing_names(c"libcuda", name);
        return Err(Error::NotSupported);
    }
    if (0..=13).contains(&kind) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// What a node of these parameters is. A child graph is cloned or moved here.
pub fn body(
    driver: &Driver,
    core: &mut Core,
    params: &NodeParams,
    parent: crate::arena::Handle,
) -> Result<Body, Error> {
    match params.kind {
        0 => super::kernel::body(driver, core, &params.read()),
        1 => super::transfer::copy_body(driver, core, &params.read::<CopyInUnion>().copy),
        2 => super::transfer::fill_body(driver, core, &params.read()),
        3 => super::host::body(params.read()),
        4 => super::host::child_body(core, &params.read(), parent),
        5 => Ok(Body::Empty),
        6 => super::host::wait_body(core, params.read()),
        7 => super::host::record_body(core, params.read()),
        _ => Err(Error::NotSupported),
    }
}

/// `cuGraphNodeGetParams`.
pub fn get(node: *mut c_void, params: Out<NodeParams>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(params.set(of(&node_of(&core, node)?.body)?)?)
}

fn of(body: &Body) -> Result<NodeParams, Error> {
    let kind = body.kind();
    Ok(match body {
        Body::Work { params: Params::Kernel(kernel), .. } => NodeParams::with(kind, kernel.params()),
        Body::Work { params: Params::Copy(copy), .. } => {
            NodeParams::with(kind, CopyInUnion { copy: **copy, ..CopyInUnion::zeroed() })
        }
        Body::Work { params: Params::Fill(fill), .. } => NodeParams::with(kind, *fill),
        Body::Work { params: Params::Unknown, .. } | Body::Host { params: None, .. } => {
            return Err(Error::NotSupported);
        }
        Body::Host { params: Some(host), .. } => NodeParams::with(kind, *host),
        Body::Child(graph) => NodeParams::with(kind, ChildParams { graph: graph.pointer(), ownership: -1 }),
        Body::Empty => NodeParams::with(kind, 0_u64),
        Body::Wait(event) | Body::Record(event) => NodeParams::with(kind, event.0),
    })
}

/// `cuGraphNodeSetParams`.
pub fn set(node: *mut c_void, params: In<NodeParams>) -> Result<(), Error> {
    let params = params.get()?;
    check_kind(params.kind)?;
    super::node::replace(node, |driver, core, graph| body(driver, core, &params, graph))
}
