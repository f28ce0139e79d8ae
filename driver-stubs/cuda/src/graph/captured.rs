//! How a capture grows: work, host functions, events and graph launches become nodes behind the stream's last ones.

use super::exec::Step;
use super::kernel::{self, Kernel};
use super::modes::invalidate;
use super::{Body, Capture, Edge, EdgeData, Graph, HostCall, NodeId, NodeKind, Params, Run, insert, whole};
use crate::Error;
use crate::arena::Handle;
use crate::core::Core;
use crate::queue::Priced;

/// Node handles and edge annotations as C reads them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub nodes: Vec<u64>,
    pub data: Vec<EdgeData>,
}

/// An event recorded inside a capture.
#[derive(Clone, Debug)]
pub struct CapturedEvent {
    id: u64,
    frontier: Vec<Edge>,
}

impl Capture {
    /// The next node comes after these, too.
    pub fn join(&mut self, nodes: Vec<Edge>) {
        for edge in nodes {
            if !self.frontier.iter().any(|old| old.from == edge.from) {
                self.frontier.push(edge);
            }
        }
    }
}

/// 0 none, 1 active, 2 invalidated.
pub fn status_of(core: &Core, stream: Handle) -> Result<i32, Error> {
    Ok(core.stream(stream)?.capture.as_ref().map_or(0, |c| if c.valid { 1 } else { 2 }))
}

/// The capture a stream is in, if it is not broken.
fn whole_capture(core: &mut Core, stream: Handle) -> Result<&mut Capture, Error> {
    let capture = core.stream_mut(stream)?.capture.as_mut().ok_or(Error::IllegalState)?;
    if capture.valid { Ok(capture) } else { Err(Error::StreamCaptureInvalidated) }
}

/// Adds a node behind a stream's last ones; it is the last one from then on.
fn append(core: &mut Core, stream: Handle, body: Body) -> Result<(), Error> {
    let capture = whole_capture(core, stream)?;
    let (into, after) = (capture.graph, capture.frontier.clone());
    let id = insert(core, into, body, after).map_err(|_| Error::StreamCaptureInvalidated)?;
    whole_capture(core, stream)?.frontier = vec![Edge { from: id, data: [0; 8] }];
    Ok(())
}

/// Adds priced work to a capturing stream's graph.
pub fn capture_work(core: &mut Core, stream: Handle, kind: NodeKind, priced: Priced, run: Run) -> Result<(), Error> {
    append(core, stream, Body::Work { kind, priced, run, params: Params::Unknown })
}

/// As [`capture_work`], with the parameters the node answers when it is asked.
pub fn capture_with(
    core: &mut Core,
    stream: Handle,
    kind: NodeKind,
    priced: Priced,
    run: Run,
    params: Params,
) -> Result<(), Error> {
    append(core, stream, Body::Work { kind, priced, run, params })
}

/// Adds a launch with its arguments to a capturing stream's graph.
pub fn capture_kernel(core: &mut Core, stream: Handle, priced: Priced, kernel: Kernel) -> Result<(), Error> {
    append(core, stream, kernel::work(priced, kernel))
}

/// Adds a host function to a capturing stream's graph.
pub fn capture_host(core: &mut Core, stream: Handle, call: HostCall) -> Result<(), Error> {
    append(core, stream, Body::Host { call, params: None })
}

/// A launch inside a capture is a child graph.
pub fn capture_launch(core: &mut Core, stream: Handle, steps: &[Step]) -> Result<(), Error> {
    let into = whole_capture(core, stream)?.graph;
    let id = core.id();
    let child = core.graphs.insert(Graph::new(id, Some(into)));
    let mut ids: Vec<NodeId> = Vec::with_capacity(steps.len());
    for step in steps {
        let after = step.after.iter().map(|index| Edge { from: ids[*index], data: [0; 8] }).collect();
        let body = match &step.body {
            Body::Child(_) => Body::Empty,
            Body::Work { .. } if !step.enabled => Body::Empty,
            other => other.clone(),
        };
        ids.push(insert(core, child, body, after)?);
    }
    append(core, stream, Body::Child(child)).inspect_err(|_| {
        whole::discard(core, child);
    })
}

/// Records an event inside a capture: it stands for the nodes so far.
pub fn capture_record(core: &mut Core, stream: Handle, event: Handle) -> Result<(), Error> {
    let capture = whole_capture(core, stream)?;
    let captured = CapturedEvent { id: capture.id, frontier: capture.frontier.clone() };
    let event = core.event_mut(event)?;
    event.recorded = None;
    event.captured = Some(captured);
    Ok(())
}

/// Records an event at every launch of the graph that is being captured.
pub fn capture_external_record(core: &mut Core, stream: Handle, event: Handle) -> Result<(), Error> {
    core.event(event)?;
    append(core, stream, Body::Record(event))
}

/// Waits for an event at every launch of the graph that is being captured.
pub fn capture_external_wait(core: &mut Core, stream: Handle, event: Handle) -> Result<(), Error> {
    core.event(event)?;
    append(core, stream, Body::Wait(event))
}

/// Makes a stream wait for a captured event: it joins that capture. False if no capture is involved.
pub fn capture_wait(core: &mut Core, stream: Handle, event: Handle) -> Result<bool, Error> {
    let captured = core.event(event)?.captured.clone();
    let own = core.stream(stream)?.capture.as_ref().map(|capture| capture.id);
    let Some(captured) = captured else {
        return if own.is_some() { Err(isolation(core, stream)) } else { Ok(false) };
    };
    if own.is_some_and(|id| id != captured.id) {
        return Err(isolation(core, stream));
    }
    if core.stream(stream)?.legacy {
        return Err(Error::StreamCaptureImplicit);
    }
    let open = core.streams.iter().find_map(|(_, s)| s.capture.as_ref().filter(|c| c.id == captured.id));
    let joined = Capture { frontier: Vec::new(), ..open.cloned().ok_or(Error::CapturedEvent)? };
    if !joined.valid {
        return Err(Error::StreamCaptureInvalidated);
    }
    core.stream_mut(stream)?.capture.get_or_insert(joined).join(captured.frontier);
    Ok(true)
}

fn isolation(core: &mut Core, stream: Handle) -> Error {
    invalidate(core, stream);
    Error::StreamCaptureIsolation
}
