//! Stream capture and graphs: nodes counted, typed and ordered, instantiated and launched as their DAG on the same
//! backlogs as everything else. Conditional nodes and updates of single nodes are not here yet.

use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{InOut, MaybeOut, Out, OutList};
use ghost_engine::timeline::Engine;

use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::queue::{Action, Priced};
use crate::user_object::{self, drop_references};
use crate::{Cuda, Error, driver, stream};

ghost_abi::rows! { Cuda;
    since 10010 fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: i32) => begin;
    since 10010 fn cuStreamBeginCapture_v2_ptsz(stream: *mut c_void, mode: i32) => begin;
    since 10000 fn cuStreamEndCapture(stream: *mut c_void, graph: Out<*mut c_void>) => end;
    since 10000 fn cuStreamEndCapture_ptsz(stream: *mut c_void, graph: Out<*mut c_void>) => end;
    since 10000 fn cuStreamIsCapturing(stream: *mut c_void, status: Out<i32>) => is_capturing;
    since 10000 fn cuStreamIsCapturing_ptsz(stream: *mut c_void, status: Out<i32>) => is_capturing;
    since 11030 fn cuStreamGetCaptureInfo_v2(stream: *mut c_void, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, dependencies: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v2;
    since 12030 fn cuStreamGetCaptureInfo_v3(stream: *mut c_void, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, dependencies: MaybeOut<*const c_void>, edges: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v3;
    since 12030 fn cuStreamGetCaptureInfo_v3_ptsz(stream: *mut c_void, status: Out<i32>, id: MaybeOut<u64>, graph: MaybeOut<*mut c_void>, dependencies: MaybeOut<*const c_void>, edges: MaybeOut<*const c_void>, count: MaybeOut<usize>) => info_v3;
    since 10010 fn cuThreadExchangeStreamCaptureMode(mode: InOut<i32>) => exchange_mode;
    since 10000 fn cuGraphCreate(graph: Out<*mut c_void>, flags: u32) => create;
    since 10000 fn cuGraphDestroy(graph: *mut c_void) => destroy;
    since 10000 fn cuGraphGetNodes(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) => get_nodes;
    since 10000 fn cuGraphGetRootNodes(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) => get_roots;
    since 10000 fn cuGraphNodeGetType(node: *mut c_void, kind: Out<i32>) => node_type;
    since 10000 fn cuGraphAddEmptyNode(node: Out<*mut c_void>, graph: *mut c_void, dependencies: *const *mut c_void, count: usize) => add_empty;
    since 10000 fn cuGraphClone(clone: Out<*mut c_void>, graph: *mut c_void) => clone_graph;
    since 11040 fn cuGraphInstantiateWithFlags(exec: Out<*mut c_void>, graph: *mut c_void, flags: u64) => instantiate;
    since 12000 fn cuGraphInstantiateWithParams(exec: Out<*mut c_void>, graph: *mut c_void, params: *mut c_void) => instantiate_params;
    since 10000 fn cuGraphExecDestroy(exec: *mut c_void) => exec_destroy;
    since 10000 fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) => launch;
    since 10000 fn cuGraphLaunch_ptsz(exec: *mut c_void, stream: *mut c_void) => launch;
    since 11010 fn cuGraphUpload(exec: *mut c_void, stream: *mut c_void) => upload;
}

/// `CUgraphNodeType`, as far as nodes are made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum NodeKind {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Empty = 5,
}

/// What a node does to kept memory at every launch.
pub type Run = Arc<dyn Fn(&mut Core) + Send + Sync>;

/// One node. Dependencies are indices of earlier nodes.
#[derive(Clone)]
pub struct Node {
    kind: NodeKind,
    priced: Option<Priced>,
    run: Option<Run>,
    host: Option<Arc<dyn Fn() + Send + Sync>>,
    after: Vec<usize>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("kind", &self.kind).field("after", &self.after).finish_non_exhaustive()
    }
}

/// A graph, captured or built.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// User objects this graph holds, with how many references.
    pub objects: Vec<(Handle, u32)>,
}

/// An instantiated graph: what it was at that moment.
#[derive(Debug)]
pub struct Exec {
    nodes: Vec<Node>,
    /// End of its latest launch: a graph never runs beside itself.
    busy_until_ns: u64,
}

/// A stream that captures.
#[derive(Clone, Debug)]
pub struct Capture {
    graph: Handle,
    id: u64,
    origin: Handle,
    valid: bool,
    /// Nodes that the next one comes after.
    frontier: Vec<usize>,
}

/// An event recorded inside a capture.
#[derive(Clone, Debug)]
pub struct CapturedEvent {
    graph: Handle,
    frontier: Vec<usize>,
}

fn begin(stream: *mut c_void, mode: i32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream)?;
    let state = core.stream(handle)?;
    if !(0..=2).contains(&mode) {
        return Err(Error::InvalidValue);
    }
    if state.legacy {
        return Err(Error::StreamCaptureUnsupported);
    }
    if state.capture.is_some() {
        return Err(Error::IllegalState);
    }
    let graph = core.graphs.insert(Graph::default());
    let id = core.id();
    core.stream_mut(handle)?.capture = Some(Capture { graph, id, origin: handle, valid: true, frontier: Vec::new() });
    Ok(())
}

fn end(stream: *mut c_void, graph: Out<*mut c_void>) -> Result<(), Error> {
    graph.check()?;
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream)?;
    let capture = core.stream(handle)?.capture.clone().ok_or(Error::IllegalState)?;
    if capture.origin != handle {
        return Err(Error::StreamCaptureUnmatched);
    }
    let unjoined = core.streams.iter().any(|(other, s)| {
        let open = s.capture.as_ref().filter(|c| other != handle && c.graph == capture.graph);
        open.is_some_and(|c| !reached(&core, &capture, &c.frontier))
    });
    for (_, s) in core.streams.iter_mut() {
        if s.capture.as_ref().is_some_and(|c| c.graph == capture.graph) {
            s.capture = None;
        }
    }
    if !capture.valid || unjoined {
        core.graphs.remove(capture.graph);
        graph.set(std::ptr::null_mut())?;
        return Err(if unjoined { Error::StreamCaptureUnjoined } else { Error::StreamCaptureInvalidated });
    }
    Ok(graph.set(capture.graph.pointer())?)
}

/// Whether the origin's frontier comes after all of `nodes`.
fn reached(core: &Core, origin: &Capture, nodes: &[usize]) -> bool {
    let Some(graph) = core.graphs.get(origin.graph) else { return true };
    let mut seen = vec![false; graph.nodes.len()];
    let mut open = origin.frontier.clone();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut seen[index], true) {
            open.extend(&graph.nodes[index].after);
        }
    }
    nodes.iter().all(|index| seen[*index])
}

fn is_capturing(stream: *mut c_void, status: Out<i32>) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream)?;
    Ok(status.set(status_of(&core, handle)?)?)
}

/// 0 none, 1 active, 2 invalidated.
pub fn status_of(core: &Core, stream: Handle) -> Result<i32, Error> {
    Ok(core.stream(stream)?.capture.as_ref().map_or(0, |c| if c.valid { 1 } else { 2 }))
}

fn info_v2(
    stream: *mut c_void,
    status: Out<i32>,
    id: MaybeOut<u64>,
    graph: MaybeOut<*mut c_void>,
    dependencies: MaybeOut<*const c_void>,
    count: MaybeOut<usize>,
) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream)?;
    status.set(status_of(&core, handle)?)?;
    let Some(capture) = core.stream(handle)?.capture.clone() else { return Ok(()) };
    id.set(capture.id);
    graph.set(capture.graph.pointer());
    dependencies.set(std::ptr::null());
    count.set(0);
    Ok(())
}

fn info_v3(
    stream: *mut c_void,
    status: Out<i32>,
    id: MaybeOut<u64>,
    graph: MaybeOut<*mut c_void>,
    dependencies: MaybeOut<*const c_void>,
    edges: MaybeOut<*const c_void>,
    count: MaybeOut<usize>,
) -> Result<(), Error> {
    edges.set(std::ptr::null());
    info_v2(stream, status, id, graph, dependencies, count)
}

thread_local! {
    static MODE: std::cell::Cell<i32> = const { std::cell::Cell::new(0) };
}

fn exchange_mode(mode: InOut<i32>) -> Result<(), Error> {
    let new = mode.get()?;
    if !(0..=2).contains(&new) {
        return Err(Error::InvalidValue);
    }
    Ok(mode.set(MODE.replace(new))?)
}

/// Marks a capture as broken; returns the error that says so.
pub fn invalidate(core: &mut Core, stream: Handle) -> Error {
    let graph = core.stream(stream).ok().and_then(|s| s.capture.as_ref()).map(|c| c.graph);
    for (_, s) in core.streams.iter_mut() {
        if let Some(capture) = s.capture.as_mut().filter(|c| Some(c.graph) == graph) {
            capture.valid = false;
        }
    }
    Error::StreamCaptureUnsupported
}

/// Waiting for or asking a capturing stream breaks its capture.
pub fn forbid_capture(core: &mut Core, stream: Handle) -> Result<(), Error> {
    if core.stream(stream)?.capture.is_some() { Err(invalidate(core, stream)) } else { Ok(()) }
}

fn append(core: &mut Core, stream: Handle, mut node: Node) -> Result<(), Error> {
    let capture = core.stream(stream)?.capture.clone().ok_or(Error::IllegalState)?;
    if !capture.valid {
        return Err(Error::StreamCaptureInvalidated);
    }
    let graph = core.graphs.get_mut(capture.graph).ok_or(Error::IllegalState)?;
    node.after = capture.frontier;
    graph.nodes.push(node);
    let index = graph.nodes.len() - 1;
    if let Some(capture) = core.stream_mut(stream)?.capture.as_mut() {
        capture.frontier = vec![index];
    }
    Ok(())
}

/// Adds priced work to a capturing stream's graph.
pub fn capture_work(core: &mut Core, stream: Handle, kind: NodeKind, priced: Priced, run: Run) -> Result<(), Error> {
    append(core, stream, Node { kind, priced: Some(priced), run: Some(run), host: None, after: Vec::new() })
}

/// Adds a host function to a capturing stream's graph.
pub fn capture_host(core: &mut Core, stream: Handle, run: Arc<dyn Fn() + Send + Sync>) -> Result<(), Error> {
    append(core, stream, Node { kind: NodeKind::Host, priced: None, run: None, host: Some(run), after: Vec::new() })
}

/// Records an event inside a capture: it stands for the nodes so far.
pub fn capture_record(core: &mut Core, stream: Handle, event: Handle) -> Result<(), Error> {
    let capture = core.stream(stream)?.capture.clone().ok_or(Error::IllegalState)?;
    let event = core.event_mut(event)?;
    event.recorded = None;
    event.captured = Some(CapturedEvent { graph: capture.graph, frontier: capture.frontier });
    Ok(())
}

/// Makes a stream wait for a captured event: it joins that capture. False if no capture is involved.
pub fn capture_wait(core: &mut Core, stream: Handle, event: Handle) -> Result<bool, Error> {
    let captured = core.event(event)?.captured.clone();
    let own = core.stream(stream)?.capture.clone();
    let (Some(captured), own) = (captured, own) else {
        let inside = core.stream(stream)?.capture.is_some();
        return if inside { Err(isolation(core, stream)) } else { Ok(false) };
    };
    if own.as_ref().is_some_and(|c| c.graph != captured.graph) {
        return Err(isolation(core, stream));
    }
    let origin =
        core.streams.iter().find_map(|(_, s)| s.capture.as_ref().filter(|c| c.graph == captured.graph).cloned());
    let Some(origin) = origin else { return Err(Error::CapturedEvent) };
    let state = core.stream_mut(stream)?;
    let capture = state.capture.get_or_insert_with(|| Capture { frontier: Vec::new(), ..origin });
    for index in captured.frontier {
        if !capture.frontier.contains(&index) {
            capture.frontier.push(index);
        }
    }
    Ok(true)
}

fn isolation(core: &mut Core, stream: Handle) -> Error {
    invalidate(core, stream);
    Error::StreamCaptureIsolation
}

fn create(graph: Out<*mut c_void>, flags: u32) -> Result<(), Error> {
    graph.check()?;
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    Ok(graph.set(driver::get()?.core().graphs.insert(Graph::default()).pointer())?)
}

fn destroy(graph: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let graph = core.graphs.remove(Handle::of(graph)).ok_or(Error::InvalidValue)?;
    let held = graph.objects.into_iter();
    let gone: Vec<_> = held.map(|(object, count)| drop_references(&mut core, object, count)).collect();
    drop(core);
    gone.into_iter().flatten().for_each(user_object::destroy);
    Ok(())
}

fn clone_graph(clone: Out<*mut c_void>, graph: *mut c_void) -> Result<(), Error> {
    clone.check()?;
    let mut core = driver::get()?.core();
    let nodes = core.graphs.get(Handle::of(graph)).ok_or(Error::InvalidValue)?.nodes.clone();
    let copy = Graph { nodes, objects: Vec::new() };
    Ok(clone.set(core.graphs.insert(copy).pointer())?)
}

/// Node handles carry graph slot and node index; they are good while the graph is.
fn node_handle(graph: Handle, index: usize) -> *mut c_void {
    let kind = crate::arena::Kind::GraphNode as u64;
    (kind << 56 | (graph.0 & 0xff_ffff) << 32 | index as u64) as *mut c_void
}

fn node_of(core: &Core, node: *mut c_void) -> Result<&Node, Error> {
    let (slot, index) = (node as u64 >> 32 & 0xff_ffff, node as u64 & 0xffff_ffff);
    let graph = core.graphs.iter().find(|(handle, _)| handle.0 & 0xff_ffff == slot).map(|(_, graph)| graph);
    let kind = crate::arena::Kind::GraphNode as u64;
    graph.filter(|_| node as u64 >> 56 == kind).and_then(|g| g.nodes.get(index as usize)).ok_or(Error::InvalidHandle)
}

fn get_nodes(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) -> Result<(), Error> {
    list(graph, &nodes, &count, |_| true)
}

fn get_roots(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) -> Result<(), Error> {
    list(graph, &nodes, &count, |node| node.after.is_empty())
}

fn list(
    graph: *mut c_void,
    nodes: &OutList<*mut c_void>,
    count: &InOut<usize>,
    wanted: impl Fn(&Node) -> bool,
) -> Result<(), Error> {
    let core = driver::get()?.core();
    let handle = Handle::of(graph);
    let graph = core.graphs.get(handle).ok_or(Error::InvalidValue)?;
    let found: Vec<usize> = (0..graph.nodes.len()).filter(|i| wanted(&graph.nodes[*i])).collect();
    if nodes.is_null() {
        return Ok(count.set(found.len())?);
    }
    let written = nodes.fill(count.get()?, found.into_iter().map(|index| node_handle(handle, index)))?;
    Ok(count.set(written)?)
}

fn node_type(node: *mut c_void, kind: Out<i32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(kind.set(node_of(&core, node)?.kind as i32)?)
}

fn add_empty(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
) -> Result<(), Error> {
    node.check()?;
    let mut core = driver::get()?.core();
    let handle = Handle::of(graph);
    // SAFETY: the caller lends `count` node handles.
    let after: Vec<usize> = (0..count).map(|i| unsafe { dependencies.add(i).read() } as usize & 0xffff_ffff).collect();
    let graph = core.graphs.get_mut(handle).ok_or(Error::InvalidValue)?;
    if after.iter().any(|index| *index >= graph.nodes.len()) {
        return Err(Error::InvalidValue);
    }
    graph.nodes.push(Node { kind: NodeKind::Empty, priced: None, run: None, host: None, after });
    Ok(node.set(node_handle(handle, graph.nodes.len() - 1))?)
}

fn instantiate(exec: Out<*mut c_void>, graph: *mut c_void, _flags: u64) -> Result<(), Error> {
    exec.check()?;
    let mut core = driver::get()?.core();
    let nodes = core.graphs.get(Handle::of(graph)).ok_or(Error::InvalidValue)?.nodes.clone();
    Ok(exec.set(core.execs.insert(Exec { nodes, busy_until_ns: 0 }).pointer())?)
}

fn instantiate_params(exec: Out<*mut c_void>, graph: *mut c_void, _params: *mut c_void) -> Result<(), Error> {
    instantiate(exec, graph, 0)
}

fn exec_destroy(exec: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().execs.remove(Handle::of(exec)).map(|_| ()).ok_or(Error::InvalidValue)
}

fn upload(exec: *mut c_void, _stream: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().execs.get(Handle::of(exec)).map(|_| ()).ok_or(Error::InvalidValue)
}

fn launch(exec: *mut c_void, stream: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.faults()?;
    let mut core = driver.core();
    let stream = stream::resolve(&mut core, stream)?;
    let exec = Handle::of(exec);
    let nodes = core.execs.get(exec).ok_or(Error::InvalidValue)?.nodes.clone();
    if core.queued > 0 && core.must_queue(stream)? || nodes.iter().any(|n| n.host.is_some()) {
        return enqueue_in_order(driver, core, stream, nodes);
    }
    let now = ghost_engine::clock::now_ns();
    let busy_until = core.execs.get(exec).map_or(0, |e| e.busy_until_ns);
    let start = core.ready_ns(stream)?.max(now).max(busy_until);
    let mut ends: Vec<u64> = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let ready = node.after.iter().map(|i| ends[*i]).fold(start, u64::max);
        let end = match node.priced {
            Some(priced) => driver.place_at(&mut core, now, stream, ready, priced)?,
            None => ready,
        };
        if let Some(run) = &node.run {
            run(&mut core);
        }
        ends.push(end);
    }
    let end = ends.into_iter().fold(start, u64::max);
    if let Some(exec) = core.execs.get_mut(exec) {
        exec.busy_until_ns = end;
    }
    core.advance_tail(stream, end)
}

/// Behind unknown work, and for graphs with host functions, nodes go one after another into the stream's queue.
fn enqueue_in_order(
    driver: &'static Driver,
    mut core: parking_lot::MutexGuard<'_, Core>,
    stream: Handle,
    nodes: Vec<Node>,
) -> Result<(), Error> {
    let nothing = Priced { engine: Engine::Compute, cost_ns: 0, share_milli: 1, memory_ns: 0, energy_nanojoules: 0 };
    for node in nodes {
        let action = match (node.host, node.run) {
            (Some(host), _) => Action::Host(Some(Box::new(move || host()))),
            (None, Some(run)) => {
                Action::Work(node.priced.unwrap_or(nothing), Box::new(move |core: &mut Core| run(core)))
            }
            (None, None) => Action::Join,
        };
        core.push(stream, Vec::new(), action)?;
    }
    drop(core);
    crate::host::wake(driver);
    Ok(())
}
