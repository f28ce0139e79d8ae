//! Stream capture: how it begins and ends. How it grows and what can be asked about it is `captured`'s and
//! `question`'s, which calls break it is `modes`'s.

use std::ffi::c_void;
use std::thread::ThreadId;

use ghost_abi::{InList, Out};

use super::captured::Shown;
use super::edges::edges_of;
use super::modes::Mode;
use super::{Edge, EdgeData, Graph, NodeId, modes, whole};
use crate::arena::Handle;
use crate::core::Core;
use crate::stream::Named;
use crate::{Error, driver, stream};

/// A stream that captures.
#[derive(Clone, Debug)]
pub struct Capture {
    pub graph: Handle,
    pub id: u64,
    pub mode: Mode,
    /// Who began it.
    pub thread: ThreadId,
    pub valid: bool,
    pub origin: Handle,
    /// The graph was there before, and stays if the capture fails.
    pub into: bool,
    /// Nodes that the next one comes after.
    pub frontier: Vec<Edge>,
    /// What the last question about this capture was answered with; the caller may read it until the next.
    pub shown: Shown,
}

pub fn begin(stream: impl Named, mode: i32) -> Result<(), Error> {
    begin_on(stream.named(), mode, None)
}

/// The form of CUDA 10.0, which knew only the global mode.
pub fn begin_v1(stream: impl Named) -> Result<(), Error> {
    begin_on(stream.named(), 0, None)
}

/// A graph to capture into, and what the first node comes after.
struct Into {
    graph: *mut c_void,
    after: InList<*mut c_void>,
    data: InList<EdgeData>,
    count: usize,
}

pub fn begin_to_graph(
    stream: impl Named,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    data: InList<EdgeData>,
    count: usize,
    mode: i32,
) -> Result<(), Error> {
    begin_on(stream.named(), mode, Some(Into { graph, after, data, count }))
}

fn begin_on(stream: *mut c_void, mode: i32, into: Option<Into>) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let origin = stream::resolve(&mut core, stream)?;
    let mode = Mode::of(mode)?;
    let state = core.stream(origin)?;
    if state.legacy {
        return Err(Error::StreamCaptureUnsupported);
    }
    if state.capture.is_some() {
        return Err(Error::IllegalState);
    }
    let (graph, frontier) = target(&mut core, into.as_ref())?;
    let (id, thread) = (core.id(), std::thread::current().id());
    let (into, shown) = (into.is_some(), Shown::default());
    let capture = Capture { graph, id, mode, thread, valid: true, origin, into, frontier, shown };
    core.stream_mut(origin)?.capture = Some(capture);
    modes::opened();
    Ok(())
}

fn target(core: &mut Core, into: Option<&Into>) -> Result<(Handle, Vec<Edge>), Error> {
    let Some(into) = into else {
        let id = core.id();
        return Ok((core.graphs.insert(Graph::new(id, None)), Vec::new()));
    };
    let graph = Handle::of(into.graph);
    let frontier = edges_of(core, graph, &into.after, Some(&into.data), into.count)?;
    if is_captured_into(core, graph) { Err(Error::InvalidValue) } else { Ok((graph, frontier)) }
}

/// Whether a stream captures into this graph now.
pub fn is_captured_into(core: &Core, graph: Handle) -> bool {
    core.streams.iter().any(|(_, s)| s.capture.as_ref().is_some_and(|c| c.graph == graph))
}

pub fn end(stream: impl Named, graph: Out<*mut c_void>) -> Result<(), Error> {
    graph.check()?;
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream.named())?;
    let capture = core.stream(handle)?.capture.clone().ok_or(Error::IllegalState)?;
    if capture.origin != handle {
        return Err(Error::StreamCaptureUnmatched);
    }
    if capture.mode != Mode::Relaxed && capture.thread != std::thread::current().id() {
        return Err(Error::StreamCaptureWrongThread);
    }
    let outcome = close(&mut core, handle, &capture);
    let whole = outcome.is_ok().then_some(capture.graph);
    if whole.is_none() && !capture.into {
        whole::discard(&mut core, capture.graph);
    }
    graph.set(whole.map_or(std::ptr::null_mut(), Handle::pointer))?;
    outcome
}

/// Ends the capture on every stream that joined it; an error if it is broken or one of them never came back.
fn close(core: &mut Core, origin: Handle, capture: &Capture) -> Result<(), Error> {
    let unjoined = core.streams.iter().any(|(other, s)| {
        let open = s.capture.as_ref().filter(|c| other != origin && c.id == capture.id);
        open.is_some_and(|c| !reached(core, capture, &c.frontier))
    });
    for (_, s) in core.streams.iter_mut() {
        s.capture.take_if(|c| c.id == capture.id);
    }
    modes::closed();
    let valid = capture.valid && core.graphs.get(capture.graph).is_some();
    match (valid, unjoined) {
        (false, _) => Err(Error::StreamCaptureInvalidated),
        (true, true) => Err(Error::StreamCaptureUnjoined),
        (true, false) => Ok(()),
    }
}

/// Whether the origin's frontier comes after all of `nodes`.
fn reached(core: &Core, origin: &Capture, nodes: &[Edge]) -> bool {
    let Some(graph) = core.graphs.get(origin.graph) else { return true };
    let mut seen = std::collections::HashSet::new();
    let mut open: Vec<NodeId> = origin.frontier.iter().map(|edge| edge.from).collect();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(graph.node(id).into_iter().flat_map(|node| node.after.iter().map(|edge| edge.from)));
        }
    }
    nodes.iter().all(|edge| seen.contains(&edge.from))
}
