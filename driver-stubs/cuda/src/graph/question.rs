//! Questions about a capture: whether, which, into which graph and after which nodes; and changing those nodes.

use std::ffi::c_void;

use ghost_abi::{InList, MaybeOut, Out};

use super::captured::{Shown, status_of};
use super::edges::edges_of;
use super::modes::implicit;
use super::{Capture, EdgeData, node_handle};
use crate::core::Core;
use crate::stream::Named;
use crate::{Error, driver, stream};

pub fn is_capturing(stream: impl Named, status: Out<i32>) -> Result<(), Error> {
    Question { stream: stream.named(), status, id: None }.answer()
}

pub fn info(stream: impl Named, status: Out<i32>, id: MaybeOut<u64>) -> Result<(), Error> {
    Question { stream: stream.named(), status, id: Some(id) }.answer()
}

/// What is asked about a stream's capture.
struct Question {
    stream: *mut c_void,
    status: Out<i32>,
    id: Option<MaybeOut<u64>>,
}

/// Where the graph and its frontier are to be written.
struct Places {
    graph: MaybeOut<*mut c_void>,
    nodes: MaybeOut<*const c_void>,
    data: Option<MaybeOut<*const c_void>>,
    count: MaybeOut<usize>,
}

impl Question {
    /// Asking the legacy stream while a blocking stream captures is an error, as on hardware.
    fn ask<'a>(&self, core: &'a mut Core) -> Result<Option<&'a mut Capture>, Error> {
        let handle = stream::resolve(core, self.stream)?;
        if implicit(core, handle)? {
            return Err(Error::StreamCaptureImplicit);
        }
        self.status.set(status_of(core, handle)?)?;
        let capture = core.stream_mut(handle)?.capture.as_mut();
        if let (Some(capture), Some(id)) = (&capture, &self.id) {
            id.set(capture.id);
        }
        Ok(capture)
    }

    fn answer(self) -> Result<(), Error> {
        self.ask(&mut driver::get()?.core()).map(|_| ())
    }

    fn answer_in(self, places: &Places) -> Result<(), Error> {
        let mut core = driver::get()?.core();
        let Some(capture) = self.ask(&mut core)? else { return Ok(()) };
        let nodes = capture.frontier.iter().map(|edge| node_handle(capture.graph, edge.from) as u64).collect();
        let data = capture.frontier.iter().map(|edge| edge.data).collect();
        capture.shown = Shown { nodes, data };
        let shown = &capture.shown;
        let or_null = |address| if shown.nodes.is_empty() { std::ptr::null() } else { address };
        places.graph.set(capture.graph.pointer());
        places.nodes.set(or_null(shown.nodes.as_ptr().cast()));
        if let Some(data) = &places.data {
            data.set(or_null(shown.data.as_ptr().cast()));
        }
        places.count.set(shown.nodes.len());
        Ok(())
    }
}

pub fn info_v2(
    stream: impl Named,
    status: Out<i32>,
    id: MaybeOut<u64>,
    graph: MaybeOut<*mut c_void>,
    nodes: MaybeOut<*const c_void>,
    count: MaybeOut<usize>,
) -> Result<(), Error> {
    let places = Places { graph, nodes, data: None, count };
    Question { stream: stream.named(), status, id: Some(id) }.answer_in(&places)
}

pub fn info_v3(
    stream: impl Named,
    status: Out<i32>,
    id: MaybeOut<u64>,
    graph: MaybeOut<*mut c_void>,
    nodes: MaybeOut<*const c_void>,
    data: MaybeOut<*const c_void>,
    count: MaybeOut<usize>,
) -> Result<(), Error> {
    let places = Places { graph, nodes, data: Some(data), count };
    Question { stream: stream.named(), status, id: Some(id) }.answer_in(&places)
}

pub fn update(stream: impl Named, nodes: InList<*mut c_void>, count: usize, flags: u32) -> Result<(), Error> {
    update_on(stream.named(), &nodes, None, count, flags)
}

pub fn update_v2(
    stream: impl Named,
    nodes: InList<*mut c_void>,
    data: InList<EdgeData>,
    count: usize,
    flags: u32,
) -> Result<(), Error> {
    update_on(stream.named(), &nodes, Some(&data), count, flags)
}

/// Flag 0 adds nodes to those the next one comes after, 1 replaces them.
fn update_on(
    stream: *mut c_void,
    nodes: &InList<*mut c_void>,
    data: Option<&InList<EdgeData>>,
    count: usize,
    flags: u32,
) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream)?;
    let capture = core.stream(handle)?.capture.as_ref().ok_or(Error::IllegalState)?;
    if !capture.valid {
        return Err(Error::StreamCaptureInvalidated);
    }
    let new = edges_of(&core, capture.graph, nodes, data, count)?;
    let Some(capture) = core.stream_mut(handle)?.capture.as_mut() else { return Err(Error::IllegalState) };
    match flags {
        0 => capture.join(new),
        1 => capture.frontier = new,
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}
