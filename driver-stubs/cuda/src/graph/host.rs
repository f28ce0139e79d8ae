//! Nodes without priced work: host functions, child graphs, external events. Kinds that are refused are named in
//! `params`.

use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{In, InList, Out};

use super::node::{Place, add, replace};
use super::params::{ChildParams, HostParams};
use super::{Body, graph, graph_mut, node_of, whole};
use crate::arena::Handle;
use crate::core::Core;
use crate::{Error, driver};

/// A host node; the function and its argument are kept for whoever asks.
pub fn body(params: HostParams) -> Result<Body, Error> {
    let function = params.function.ok_or(Error::InvalidValue)?;
    let user = params.user;
    // SAFETY: the caller promises a function that may be called with this pointer from another thread at every launch.
    let call = Arc::new(move || unsafe { function(user.get()) });
    Ok(Body::Host { call, params: Some(params) })
}

pub fn add_host(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    params: In<HostParams>,
) -> Result<(), Error> {
    let params = params.get()?;
    add(Place { node, graph, after, count }, |_, _| body(params))
}

pub fn get_host(node: *mut c_void, params: Out<HostParams>) -> Result<(), Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Host { params: Some(kept), .. } => Ok(params.set(*kept)?),
        Body::Host { params: None, .. } => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

pub fn set_host(node: *mut c_void, params: In<HostParams>) -> Result<(), Error> {
    let params = params.get()?;
    replace(node, |_, _, _| body(params))
}

pub fn add_empty(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
) -> Result<(), Error> {
    add(Place { node, graph, after, count }, |_, _| Ok(Body::Empty))
}

/// The child is cloned into its parent (0) or becomes the parent's (1).
pub fn child_body(core: &mut Core, params: &ChildParams, parent: Handle) -> Result<Body, Error> {
    let child = Handle::of(params.graph);
    let moved = params.ownership == 1;
    if child == parent || moved && (graph(core, child)?.parent.is_some() || is_inside(core, parent, child)?) {
        return Err(Error::InvalidValue);
    }
    match params.ownership {
        0 => Ok(Body::Child(whole::copy(core, child, Some(parent))?)),
        1 => {
            graph_mut(core, child)?.parent = Some(parent);
            Ok(Body::Child(child))
        }
        _ => Err(Error::InvalidValue),
    }
}

/// Whether a graph is somewhere inside another.
fn is_inside(core: &Core, graph: Handle, of: Handle) -> Result<bool, Error> {
    let mut outer = super::graph(core, graph)?.parent;
    while let Some(handle) = outer.filter(|handle| *handle != of) {
        outer = super::graph(core, handle)?.parent;
    }
    Ok(outer.is_some())
}

pub fn add_child(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    child: *mut c_void,
) -> Result<(), Error> {
    let params = ChildParams { graph: child, ownership: 0 };
    add(Place { node, graph, after, count }, |_, core| child_body(core, &params, Handle::of(graph)))
}

pub fn get_child(node: *mut c_void, child: Out<*mut c_void>) -> Result<(), Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Child(graph) => Ok(child.set(graph.pointer())?),
        _ => Err(Error::InvalidValue),
    }
}

pub fn wait_body(core: &Core, event: *mut c_void) -> Result<Body, Error> {
    let event = Handle::of(event);
    core.event(event).map(|_| Body::Wait(event)).map_err(|_| Error::InvalidValue)
}

pub fn record_body(core: &Core, event: *mut c_void) -> Result<Body, Error> {
    let event = Handle::of(event);
    core.event(event).map(|_| Body::Record(event)).map_err(|_| Error::InvalidValue)
}

pub fn add_record(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    event: *mut c_void,
) -> Result<(), Error> {
    add(Place { node, graph, after, count }, |_, core| record_body(core, event))
}

pub fn add_wait(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    event: *mut c_void,
) -> Result<(), Error> {
    add(Place { node, graph, after, count }, |_, core| wait_body(core, event))
}

pub fn get_record(node: *mut c_void, event: Out<*mut c_void>) -> Result<(), Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Record(kept) => Ok(event.set(kept.pointer())?),
        _ => Err(Error::InvalidValue),
    }
}

pub fn get_wait(node: *mut c_void, event: Out<*mut c_void>) -> Result<(), Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Wait(kept) => Ok(event.set(kept.pointer())?),
        _ => Err(Error::InvalidValue),
    }
}

pub fn set_record(node: *mut c_void, event: *mut c_void) -> Result<(), Error> {
    replace(node, |_, core, _| record_body(core, event))
}

pub fn set_wait(node: *mut c_void, event: *mut c_void) -> Result<(), Error> {
    replace(node, |_, core, _| wait_body(core, event))
}
