//! Graphs: what a graph, a node and an executable graph are, and how nodes are found. When a launch runs is
//! `launch`'s, how streams become graphs is `capture`'s; nothing here prices or places work.

mod capture;
mod captured;
mod dot;
mod edges;
mod exec;
mod host;
mod kernel;
mod launch;
mod modes;
mod node;
mod pack;
mod params;
mod question;
mod rows;
#[cfg(test)]
mod tests;
mod transfer;
mod update;
mod whole;

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

pub use capture::Capture;
pub use captured::{
    CapturedEvent, capture_external_record, capture_external_wait, capture_host, capture_kernel, capture_record,
    capture_wait, capture_with, capture_work, status_of,
};
pub use exec::Exec;
pub use kernel::Kernel;
pub use modes::{forbid_capture, forbid_device, forbid_legacy, forbid_unsafe, invalidate};
pub use params::{Copy3d, Fill};
pub use rows::ROWS;

use crate::Error;
use crate::arena::{Handle, Kind};
use crate::core::Core;
use crate::queue::Priced;

/// `CUgraphNodeType`, as far as nodes are made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum NodeKind {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Child = 4,
    Empty = 5,
    WaitEvent = 6,
    RecordEvent = 7,
}

/// What a node does to kept memory at every launch.
pub type Run = Arc<dyn Fn(&mut Core) + Send + Sync>;

/// A host function with what it is called with.
pub type HostCall = Arc<dyn Fn() + Send + Sync>;

/// Names a node in this process; never used twice. Its low 24 bits stand in the node's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

const SERIAL_BITS: u64 = 0xff_ffff;

/// `CUgraphEdgeData`: from port, to port, type, five reserved bytes.
pub type EdgeData = [u8; 8];

/// A dependency on another node of the same graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: NodeId,
    pub data: EdgeData,
}

/// Parameters as they were given, for whoever asks for them.
#[derive(Clone, Debug)]
pub enum Params {
    /// Captured work of another library.
    Unknown,
    Kernel(Arc<kernel::Kernel>),
    Copy(Box<params::Copy3d>),
    Fill(params::Fill),
}

/// What a node is.
#[derive(Clone)]
pub enum Body {
    Work { kind: NodeKind, priced: Priced, run: Run, params: Params },
    Host { call: HostCall, params: Option<params::HostParams> },
    Child(Handle),
    Empty,
    Wait(Handle),
    Record(Handle),
}

impl Body {
    pub fn kind(&self) -> NodeKind {
        match self {
            Body::Work { kind, .. } => *kind,
            Body::Host { .. } => NodeKind::Host,
            Body::Child(_) => NodeKind::Child,
            Body::Empty => NodeKind::Empty,
            Body::Wait(_) => NodeKind::WaitEvent,
            Body::Record(_) => NodeKind::RecordEvent,
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.kind())
    }
}

/// One node.
#[derive(Clone, Debug)]
pub struct Node {
    pub id: NodeId,
    /// Number within its graph.
    pub local: u32,
    pub body: Body,
    pub after: Vec<Edge>,
    /// Launch attributes of a kernel node, 64 bytes each.
    pub attributes: HashMap<u32, [u64; 8]>,
    /// The node this one was cloned from.
    pub origin: Option<NodeId>,
}

/// A graph, captured or built.
#[derive(Debug, Default)]
pub struct Graph {
    /// What `cuGraphGetId` answers.
    id: u32,
    /// In order of creation, so by id.
    nodes: Vec<Node>,
    next_local: u32,
    /// The graph that has this one as a child.
    parent: Option<Handle>,
    /// User objects this graph holds, with how many references.
    pub objects: Vec<(Handle, u32)>,
}

impl Graph {
    /// An empty graph.
    pub fn new(id: u64, parent: Option<Handle>) -> Graph {
        Graph { id: id as u32, parent, ..Graph::default() }
    }

    fn position(&self, id: NodeId) -> Option<usize> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok()
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.position(id).map(|index| &self.nodes[index])
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.position(id).map(|index| &mut self.nodes[index])
    }

    /// Appends a node; `id` is newer than all ids in this graph.
    fn push(&mut self, id: NodeId, body: Body, after: Vec<Edge>) {
        let local = self.next_local;
        self.next_local += 1;
        self.nodes.push(Node { id, local, body, after, attributes: HashMap::new(), origin: None });
    }

    /// Nodes in an order that respects every dependency, by creation otherwise; `None` if there is a cycle.
    fn order(&self) -> Option<Vec<usize>> {
        let mut open: Vec<usize> = self.nodes.iter().map(|node| node.after.len()).collect();
        let mut followers = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            for edge in &node.after {
                followers[self.position(edge.from)?].push(index);
            }
        }
        let mut free: std::collections::BTreeSet<usize> = (0..open.len()).filter(|i| open[*i] == 0).collect();
        let mut order = Vec::with_capacity(open.len());
        while let Some(index) = free.pop_first() {
            order.push(index);
            for &next in &followers[index] {
                open[next] -= 1;
                if open[next] == 0 {
                    free.insert(next);
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }
}

/// Node handles carry the graph's slot and the low bits of the node's id; they are good while the node is.
fn node_handle(graph: Handle, id: NodeId) -> *mut c_void {
    ((Kind::GraphNode as u64) << 56 | (id.0 & SERIAL_BITS) << 32 | graph.0 & 0xffff_ffff) as *mut c_void
}

/// The graph and the id a node handle names.
fn find(core: &Core, node: *mut c_void) -> Result<(Handle, NodeId), Error> {
    let (slot, serial) = (node as u64 & 0xffff_ffff, node as u64 >> 32 & SERIAL_BITS);
    let mut graphs = core.graphs.iter();
    let found = graphs.find(|(handle, _)| handle.0 & 0xffff_ffff == slot);
    let (handle, graph) = found.filter(|_| node as u64 >> 56 == Kind::GraphNode as u64).ok_or(Error::InvalidValue)?;
    let first = graph.nodes.first().ok_or(Error::InvalidValue)?.id.0;
    let id = NodeId(first + (serial.wrapping_sub(first) & SERIAL_BITS));
    graph.position(id).map(|_| (handle, id)).ok_or(Error::InvalidValue)
}

fn graph(core: &Core, handle: Handle) -> Result<&Graph, Error> {
    core.graphs.get(handle).ok_or(Error::InvalidValue)
}

fn graph_mut(core: &mut Core, handle: Handle) -> Result<&mut Graph, Error> {
    core.graphs.get_mut(handle).ok_or(Error::InvalidValue)
}

/// The node a handle names.
fn node_of(core: &Core, node: *mut c_void) -> Result<&Node, Error> {
    let (handle, id) = find(core, node)?;
    graph(core, handle)?.node(id).ok_or(Error::InvalidValue)
}

fn node_of_mut(core: &mut Core, node: *mut c_void) -> Result<&mut Node, Error> {
    let (handle, id) = find(core, node)?;
    graph_mut(core, handle)?.node_mut(id).ok_or(Error::InvalidValue)
}

/// Adds a node to a graph.
fn insert(core: &mut Core, into: Handle, body: Body, after: Vec<Edge>) -> Result<NodeId, Error> {
    let id = NodeId(core.id());
    graph_mut(core, into)?.push(id, body, after);
    Ok(id)
}
