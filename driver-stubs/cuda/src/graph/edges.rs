//! Edges: dependencies between nodes of one graph, listed, added and taken away. They carry their annotation but
//! every edge means the whole node.

use std::ffi::c_void;

use ghost_abi::{InList, InOut, OutList};

use super::node::fill;
use super::{Edge, EdgeData, NodeId, find, graph, graph_mut, node_handle, node_of};
use crate::arena::Handle;
use crate::core::Core;
use crate::{Error, driver};

/// Port and type of an ordinary edge.
const ORDINARY: EdgeData = [0; 8];

/// Edges from the nodes a caller lists. All must be of this graph, and none twice.
pub fn edges_of(
    core: &Core,
    into: Handle,
    nodes: &InList<*mut c_void>,
    data: Option<&InList<EdgeData>>,
    count: usize,
) -> Result<Vec<Edge>, Error> {
    graph(core, into)?;
    let mut edges: Vec<Edge> = Vec::with_capacity(count.min(1024));
    for index in 0..count {
        let (of, from) = find(core, nodes.at(index)?)?;
        if of != into || edges.iter().any(|edge| edge.from == from) {
            return Err(Error::InvalidValue);
        }
        edges.push(Edge { from, data: data_at(data, index)? });
    }
    Ok(edges)
}

fn data_at(data: Option<&InList<EdgeData>>, index: usize) -> Result<EdgeData, Error> {
    let Some(list) = data.filter(|list| !list.is_null()) else { return Ok(ORDINARY) };
    let data = list.at(index)?;
    // From port 0..=2, to port 0, type 0 or 1, the rest zero.
    let plain = data[0] <= 2 && data[1] == 0 && data[2] <= 1 && data[3..] == [0; 5];
    if plain { Ok(data) } else { Err(Error::InvalidValue) }
}

pub fn get_edges(
    graph: *mut c_void,
    from: OutList<*mut c_void>,
    to: OutList<*mut c_void>,
    count: InOut<usize>,
) -> Result<(), Error> {
    list_edges(graph, &from, &to, None, &count)
}

pub fn get_edges_v2(
    graph: *mut c_void,
    from: OutList<*mut c_void>,
    to: OutList<*mut c_void>,
    data: OutList<EdgeData>,
    count: InOut<usize>,
) -> Result<(), Error> {
    list_edges(graph, &from, &to, Some(&data), &count)
}

fn list_edges(
    graph: *mut c_void,
    from: &OutList<*mut c_void>,
    to: &OutList<*mut c_void>,
    data: Option<&OutList<EdgeData>>,
    count: &InOut<usize>,
) -> Result<(), Error> {
    let core = driver::get()?.core();
    let handle = Handle::of(graph);
    let nodes = &super::graph(&core, handle)?.nodes;
    let all: Vec<(Edge, NodeId)> = nodes.iter().flat_map(|n| n.after.iter().map(|e| (*e, n.id))).collect();
    if from.is_null() != to.is_null() {
        return Err(Error::InvalidValue);
    }
    if from.is_null() {
        return Ok(count.set(all.len())?);
    }
    annotate(data, count.get()?, all.iter().map(|(edge, _)| edge.data))?;
    let (capacity, target) = (count.get()?, node_handle);
    to.fill(capacity, all.iter().map(|(_, to)| target(handle, *to)))?;
    fill(from, count, all.iter().map(|(edge, _)| target(handle, edge.from)))
}

/// Writes annotations; a caller who does not take them must not lose any.
fn annotate(
    data: Option<&OutList<EdgeData>>,
    capacity: usize,
    all: impl Iterator<Item = EdgeData> + Clone,
) -> Result<(), Error> {
    match data.filter(|list| !list.is_null()) {
        Some(list) => list.fill(capacity, all).map(|_| ()).map_err(Error::from),
        None if all.clone().any(|data| data != ORDINARY) => Err(Error::NotSupported),
        None => Ok(()),
    }
}

pub fn dependencies(node: *mut c_void, found: OutList<*mut c_void>, count: InOut<usize>) -> Result<(), Error> {
    list_dependencies(node, &found, None, &count)
}

pub fn dependencies_v2(
    node: *mut c_void,
    found: OutList<*mut c_void>,
    data: OutList<EdgeData>,
    count: InOut<usize>,
) -> Result<(), Error> {
    list_dependencies(node, &found, Some(&data), &count)
}

fn list_dependencies(
    node: *mut c_void,
    found: &OutList<*mut c_void>,
    data: Option<&OutList<EdgeData>>,
    count: &InOut<usize>,
) -> Result<(), Error> {
    let core = driver::get()?.core();
    let (handle, _) = find(&core, node)?;
    let after = &node_of(&core, node)?.after;
    if !found.is_null() {
        annotate(data, count.get()?, after.iter().map(|edge| edge.data))?;
    }
    fill(found, count, after.iter().map(|edge| node_handle(handle, edge.from)))
}

pub fn dependents(node: *mut c_void, found: OutList<*mut c_void>, count: InOut<usize>) -> Result<(), Error> {
    list_dependents(node, &found, None, &count)
}

pub fn dependents_v2(
    node: *mut c_void,
    found: OutList<*mut c_void>,
    data: OutList<EdgeData>,
    count: InOut<usize>,
) -> Result<(), Error> {
    list_dependents(node, &found, Some(&data), &count)
}

fn list_dependents(
    node: *mut c_void,
    found: &OutList<*mut c_void>,
    data: Option<&OutList<EdgeData>>,
    count: &InOut<usize>,
) -> Result<(), Error> {
    let core = driver::get()?.core();
    let (handle, id) = find(&core, node)?;
    let nodes = graph(&core, handle)?.nodes.iter();
    let behind = |node: &super::Node| node.after.iter().find(|edge| edge.from == id).map(|edge| (node.id, edge.data));
    let all: Vec<(NodeId, EdgeData)> = nodes.filter_map(behind).collect();
    if !found.is_null() {
        annotate(data, count.get()?, all.iter().map(|(_, data)| *data))?;
    }
    fill(found, count, all.iter().map(|(id, _)| node_handle(handle, *id)))
}

pub fn add_dependencies(
    graph: *mut c_void,
    from: InList<*mut c_void>,
    to: InList<*mut c_void>,
    count: usize,
) -> Result<(), Error> {
    connect(Handle::of(graph), &from, &to, None, count)
}

pub fn add_dependencies_v2(
    graph: *mut c_void,
    from: InList<*mut c_void>,
    to: InList<*mut c_void>,
    data: InList<EdgeData>,
    count: usize,
) -> Result<(), Error> {
    connect(Handle::of(graph), &from, &to, Some(&data), count)
}

/// The pairs a caller lists, checked before anything changes.
fn pairs(
    core: &Core,
    of: Handle,
    from: &InList<*mut c_void>,
    to: &InList<*mut c_void>,
    data: Option<&InList<EdgeData>>,
    count: usize,
) -> Result<Vec<(Edge, NodeId)>, Error> {
    let pair = |index| {
        let (first, from) = find(core, from.at(index)?)?;
        let (second, to) = find(core, to.at(index)?)?;
        if first != of || second != of || from == to {
            return Err(Error::InvalidValue);
        }
        Ok((Edge { from, data: data_at(data, index)? }, to))
    };
    (0..count).map(pair).collect()
}

fn connect(
    of: Handle,
    from: &InList<*mut c_void>,
    to: &InList<*mut c_void>,
    data: Option<&InList<EdgeData>>,
    count: usize,
) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    graph(&core, of)?;
    let new = pairs(&core, of, from, to, data, count)?;
    let graph = graph_mut(&mut core, of)?;
    let exists = |(edge, to): &(Edge, NodeId)| {
        graph.node(*to).is_some_and(|node| node.after.iter().any(|old| old.from == edge.from))
    };
    if new.iter().any(exists) {
        return Err(Error::InvalidValue);
    }
    for (edge, to) in new {
        graph.node_mut(to).ok_or(Error::InvalidValue)?.after.push(edge);
    }
    Ok(())
}

pub fn remove_dependencies(
    graph: *mut c_void,
    from: InList<*mut c_void>,
    to: InList<*mut c_void>,
    count: usize,
) -> Result<(), Error> {
    disconnect(Handle::of(graph), &from, &to, None, count)
}

pub fn remove_dependencies_v2(
    graph: *mut c_void,
    from: InList<*mut c_void>,
    to: InList<*mut c_void>,
    data: InList<EdgeData>,
    count: usize,
) -> Result<(), Error> {
    disconnect(Handle::of(graph), &from, &to, Some(&data), count)
}

fn disconnect(
    of: Handle,
    from: &InList<*mut c_void>,
    to: &InList<*mut c_void>,
    data: Option<&InList<EdgeData>>,
    count: usize,
) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    graph(&core, of)?;
    let gone = pairs(&core, of, from, to, data, count)?;
    let graph = graph_mut(&mut core, of)?;
    let missing = |(edge, to): &(Edge, NodeId)| graph.node(*to).is_none_or(|node| !node.after.contains(edge));
    if gone.iter().any(missing) {
        return Err(Error::InvalidValue);
    }
    for (edge, to) in gone {
        graph.node_mut(to).ok_or(Error::InvalidValue)?.after.retain(|old| *old != edge);
    }
    Ok(())
}
