//! Nodes: adding, replacing, destroying and asking about them. What a kind of node is stands in that kind's file.

use std::ffi::c_void;

use ghost_abi::{In, InList, InOut, Out, OutList};

use super::edges::edges_of;
use super::params::{self, NodeParams};
use super::{Body, EdgeData, NodeId, find, graph, graph_mut, insert, node_handle, node_of};
use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::{Error, driver};

/// Where a new node goes and what it comes after.
#[derive(Debug)]
pub struct Place {
    pub node: Out<*mut c_void>,
    pub graph: *mut c_void,
    pub after: InList<*mut c_void>,
    pub count: usize,
}

/// Adds the node `make` builds.
pub fn add(place: Place, make: impl FnOnce(&Driver, &mut Core) -> Result<Body, Error>) -> Result<(), Error> {
    add_with(place, None, make)
}

/// As [`add`], with annotated edges.
pub fn add_with(
    place: Place,
    data: Option<InList<EdgeData>>,
    make: impl FnOnce(&Driver, &mut Core) -> Result<Body, Error>,
) -> Result<(), Error> {
    place.node.check()?;
    let driver = driver::get()?;
    let mut core = driver.core();
    let into = Handle::of(place.graph);
    let after = edges_of(&core, into, &place.after, data.as_ref(), place.count)?;
    let body = make(driver, &mut core)?;
    let id = insert(&mut core, into, body, after)?;
    Ok(place.node.set(node_handle(into, id))?)
}

/// Gives a node new parameters of its own kind.
pub fn replace(
    node: *mut c_void,
    make: impl FnOnce(&Driver, &mut Core, Handle) -> Result<Body, Error>,
) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let (handle, id) = find(&core, node)?;
    let kind = node_of(&core, node)?.body.kind();
    let body = make(driver, &mut core, handle)?;
    let new_kind = body.kind();
    let node = graph_mut(&mut core, handle)?.node_mut(id).ok_or(Error::InvalidValue)?;
    let unused = if kind == new_kind { std::mem::replace(&mut node.body, body) } else { body };
    super::whole::discard_inside(core, &unused);
    if kind == new_kind { Ok(()) } else { Err(Error::InvalidValue) }
}

pub fn add_node(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    params: In<NodeParams>,
) -> Result<(), Error> {
    let params = params.get()?;
    params::check_kind(params.kind)?;
    let place = Place { node, graph, after, count };
    add(place, |driver, core| params::body(driver, core, &params, Handle::of(graph)))
}

pub fn add_node_v2(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    data: InList<EdgeData>,
    count: usize,
    params: In<NodeParams>,
) -> Result<(), Error> {
    let params = params.get()?;
    params::check_kind(params.kind)?;
    let place = Place { node, graph, after, count };
    add_with(place, Some(data), |driver, core| params::body(driver, core, &params, Handle::of(graph)))
}

/// Destroying a node also takes its edges away.
pub fn destroy_node(node: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let (handle, id) = find(&core, node)?;
    let graph = graph_mut(&mut core, handle)?;
    let index = graph.position(id).ok_or(Error::InvalidValue)?;
    let gone = graph.nodes.remove(index);
    graph.nodes.iter_mut().for_each(|node| node.after.retain(|edge| edge.from != id));
    super::whole::discard_inside(core, &gone.body);
    Ok(())
}

pub fn node_type(node: *mut c_void, kind: Out<i32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(kind.set(node_of(&core, node)?.body.kind() as i32)?)
}

pub fn containing_graph(node: *mut c_void, graph: Out<*mut c_void>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(graph.set(find(&core, node)?.0.pointer())?)
}

pub fn local_id(node: *mut c_void, id: Out<u32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(id.set(node_of(&core, node)?.local)?)
}

pub fn tools_id(node: *mut c_void, id: Out<u64>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(id.set(node_of(&core, node)?.id.0)?)
}

pub fn find_in_clone(node: Out<*mut c_void>, original: *mut c_void, clone: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    let (_, id) = find(&core, original)?;
    let clone = Handle::of(clone);
    let copy = graph(&core, clone)?.nodes.iter().find(|n| n.origin == Some(id)).ok_or(Error::InvalidValue)?;
    Ok(node.set(node_handle(clone, copy.id))?)
}

pub fn get_nodes(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) -> Result<(), Error> {
    list(graph, &nodes, &count, |_| true)
}

pub fn get_roots(graph: *mut c_void, nodes: OutList<*mut c_void>, count: InOut<usize>) -> Result<(), Error> {
    list(graph, &nodes, &count, |node| node.after.is_empty())
}

fn list(
    graph: *mut c_void,
    nodes: &OutList<*mut c_void>,
    count: &InOut<usize>,
    wanted: impl Fn(&super::Node) -> bool,
) -> Result<(), Error> {
    let core = driver::get()?.core();
    let handle = Handle::of(graph);
    let all = &super::graph(&core, handle)?.nodes;
    let found: Vec<NodeId> = all.iter().filter(|node| wanted(node)).map(|node| node.id).collect();
    fill(nodes, count, found.into_iter().map(|id| node_handle(handle, id)))
}

/// Answers a list the way graph queries do: only the length without a buffer, else what fits, the rest null.
pub fn fill(
    places: &OutList<*mut c_void>,
    count: &InOut<usize>,
    found: impl ExactSizeIterator<Item = *mut c_void>,
) -> Result<(), Error> {
    let length = found.len();
    if places.is_null() {
        return Ok(count.set(length)?);
    }
    let room = count.get()?;
    places.fill(room, found.chain(std::iter::repeat(std::ptr::null_mut())))?;
    Ok(count.set(length.min(room))?)
}
