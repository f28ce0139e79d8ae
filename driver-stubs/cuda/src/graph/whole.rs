//! Whole graphs: making, cloning and destroying them, with the graphs and user objects they hold, and the memory
//! attributes of graphs (no graph allocates here, so they are zero).

use std::collections::HashMap;
use std::ffi::c_void;

use ghost_abi::{In, Out};
use parking_lot::MutexGuard;

use super::{Body, Graph, Node, NodeId, graph, graph_mut};
use crate::arena::Handle;
use crate::core::Core;
use crate::user_object::{self, UserObject, drop_references};
use crate::{Error, driver};

pub fn create(graph: Out<*mut c_void>, flags: u32) -> Result<(), Error> {
    graph.check()?;
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    let mut core = driver::get()?.core();
    let id = core.id();
    Ok(graph.set(core.graphs.insert(Graph::new(id, None)).pointer())?)
}

/// A graph inside another one goes only with it.
pub fn destroy(graph: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let handle = Handle::of(graph);
    if super::graph(&core, handle)?.parent.is_some() {
        return Err(Error::InvalidValue);
    }
    let gone = discard(&mut core, handle);
    drop(core);
    run_destructors(gone);
    Ok(())
}

/// Runs what user objects leave to run; for callers that hold no lock.
pub fn run_destructors(gone: Vec<UserObject>) {
    gone.into_iter().for_each(|object| user_object::destroy(Some(object)));
}

/// Forgets the graph inside a node that is no more, and gives the lock back.
pub fn discard_inside(mut core: MutexGuard<'_, Core>, body: &Body) {
    let Body::Child(child) = body else { return };
    let gone = discard(&mut core, *child);
    drop(core);
    run_destructors(gone);
}

/// Forgets a graph and the graphs inside it; returns user objects that nobody refers to any more.
pub fn discard(core: &mut Core, handle: Handle) -> Vec<UserObject> {
    let Some(graph) = core.graphs.remove(handle) else { return Vec::new() };
    let mut gone = release(core, handle, graph.objects);
    for node in graph.nodes {
        if let Body::Child(child) = node.body {
            gone.extend(discard(core, child));
        }
    }
    gone
}

/// User objects of a graph live on with the executable graphs made from it.
pub fn release(core: &mut Core, source: Handle, objects: Vec<(Handle, u32)>) -> Vec<UserObject> {
    if let Some((_, exec)) = core.execs.iter_mut().find(|(_, exec)| exec.source == source) {
        exec.objects.extend(objects);
        return Vec::new();
    }
    objects.into_iter().filter_map(|(object, count)| drop_references(core, object, count).ok().flatten()).collect()
}

pub fn clone_graph(clone: Out<*mut c_void>, graph: *mut c_void) -> Result<(), Error> {
    clone.check()?;
    let mut core = driver::get()?.core();
    Ok(clone.set(copy(&mut core, Handle::of(graph), None)?.pointer())?)
}

/// A copy of a graph with new nodes, and of the graphs inside it.
pub fn copy(core: &mut Core, of: Handle, parent: Option<Handle>) -> Result<Handle, Error> {
    let (nodes, next_local) = (graph(core, of)?.nodes.clone(), graph(core, of)?.next_local);
    let id = core.id();
    let new = core.graphs.insert(Graph::new(id, parent));
    let ids: HashMap<NodeId, NodeId> = nodes.iter().map(|node| (node.id, NodeId(core.id()))).collect();
    let mut copies = Vec::with_capacity(nodes.len());
    for mut node in nodes {
        if let Body::Child(child) = node.body {
            node.body = Body::Child(copy(core, child, Some(new))?);
        }
        copies.push(renamed(node, &ids));
    }
    let graph = graph_mut(core, new)?;
    (graph.nodes, graph.next_local) = (copies, next_local);
    Ok(new)
}

fn renamed(mut node: Node, ids: &HashMap<NodeId, NodeId>) -> Node {
    node.origin = Some(node.id);
    node.id = ids[&node.id];
    node.after.iter_mut().for_each(|edge| edge.from = ids[&edge.from]);
    node
}

pub fn graph_id(graph: *mut c_void, id: Out<u32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(id.set(super::graph(&core, Handle::of(graph))?.id)?)
}

pub fn trim(device: i32) -> Result<(), Error> {
    driver::get()?.core().device(device).map(|_| ())
}

/// Used and reserved bytes, each current and high.
pub fn get_memory(device: i32, attribute: i32, value: Out<u64>) -> Result<(), Error> {
    trim(device)?;
    if (0..=3).contains(&attribute) { Ok(value.set(0)?) } else { Err(Error::InvalidValue) }
}

/// Only the high marks can be set, and only to zero.
pub fn set_memory(device: i32, attribute: i32, value: In<u64>) -> Result<(), Error> {
    trim(device)?;
    let resets = matches!(attribute, 1 | 3) && value.get()? == 0;
    if resets { Ok(()) } else { Err(Error::InvalidValue) }
}
