//! Graphs without a driver: order, handles, shapes.

use super::exec::flatten;
use super::update::{Reason, compare};
use super::*;

fn core() -> Core {
    Core::new(Vec::new())
}

fn empty_graph(core: &mut Core) -> Handle {
    let id = core.id();
    core.graphs.insert(Graph::new(id, None))
}

fn node(core: &mut Core, graph: Handle, after: &[NodeId]) -> NodeId {
    let after = after.iter().map(|from| Edge { from: *from, data: [0; 8] }).collect();
    insert(core, graph, Body::Empty, after).expect("a graph")
}

#[test]
fn a_node_handle_is_good_while_its_node_and_its_graph_are() {
    let mut core = core();
    let graph = empty_graph(&mut core);
    let (first, second) = (node(&mut core, graph, &[]), node(&mut core, graph, &[]));
    let (one, two) = (node_handle(graph, first), node_handle(graph, second));
    assert_eq!(find(&core, two).map(|found| found.1), Ok(second));
    core.graphs.get_mut(graph).expect("a graph").nodes.remove(0);
    assert!(find(&core, one).is_err() && find(&core, two).is_ok());
    whole::discard(&mut core, graph);
    let again = empty_graph(&mut core);
    node(&mut core, again, &[]);
    assert!(find(&core, two).is_err(), "another graph in the same slot has other nodes");
    assert!(find(&core, std::ptr::null_mut()).is_err());
}

#[test]
fn steps_come_in_an_order_that_respects_late_dependencies() {
    let mut core = core();
    let graph = empty_graph(&mut core);
    let first = node(&mut core, graph, &[]);
    let second = node(&mut core, graph, &[]);
    let edge = Edge { from: second, data: [0; 8] };
    core.graphs.get_mut(graph).expect("a graph").node_mut(first).expect("a node").after.push(edge);
    let steps = flatten(&core, graph).expect("no cycle");
    assert_eq!(steps.iter().map(|step| step.node).collect::<Vec<_>>(), [second, first]);
    assert_eq!(steps[1].after, [0]);
}

#[test]
fn a_cycle_is_refused() {
    let mut core = core();
    let graph = empty_graph(&mut core);
    let first = node(&mut core, graph, &[]);
    let second = node(&mut core, graph, &[first]);
    let edge = Edge { from: second, data: [0; 8] };
    core.graphs.get_mut(graph).expect("a graph").node_mut(first).expect("a node").after.push(edge);
    assert!(flatten(&core, graph).is_err());
}

#[test]
fn a_child_graph_stands_inline_between_its_neighbours() {
    let mut core = core();
    let (graph, child) = (empty_graph(&mut core), empty_graph(&mut core));
    node(&mut core, child, &[]);
    node(&mut core, child, &[]);
    let first = node(&mut core, graph, &[]);
    let after = vec![Edge { from: first, data: [0; 8] }];
    let inside = insert(&mut core, graph, Body::Child(child), after).expect("a graph");
    node(&mut core, graph, &[inside]);
    let steps = flatten(&core, graph).expect("no cycle");
    let after: Vec<&[usize]> = steps.iter().map(|step| &step.after[..]).collect();
    assert_eq!(after, [&[][..], &[0], &[1], &[1], &[2, 3], &[4]]);
}

#[test]
fn a_clone_has_nodes_of_its_own_and_the_same_shape() {
    let mut core = core();
    let graph = empty_graph(&mut core);
    let first = node(&mut core, graph, &[]);
    node(&mut core, graph, &[first]);
    let clone = whole::copy(&mut core, graph, None).expect("a graph");
    let (old, new) = (flatten(&core, graph).expect("a graph"), flatten(&core, clone).expect("a graph"));
    assert_eq!(compare(&old, &new), Ok(()));
    assert_ne!(old[0].node, new[0].node);
    assert_eq!(core.graphs.get(clone).expect("a graph").nodes[0].origin, Some(first));
}

#[test]
fn another_shape_is_told_with_the_node_where_it_differs() {
    let mut core = core();
    let (old, new) = (empty_graph(&mut core), empty_graph(&mut core));
    let first = node(&mut core, old, &[]);
    node(&mut core, old, &[first]);
    node(&mut core, new, &[]);
    let shorter = flatten(&core, new).expect("a graph");
    node(&mut core, new, &[]);
    let (old, loose) = (flatten(&core, old).expect("a graph"), flatten(&core, new).expect("a graph"));
    assert_eq!(compare(&old, &shorter), Err((Reason::TopologyChanged, None, None)));
    assert_eq!(compare(&old, &loose), Err((Reason::TopologyChanged, Some(1), None)));
    let mut host = loose.clone();
    host[0].body = Body::Wait(Handle(0));
    assert_eq!(compare(&old, &host), Err((Reason::KindChanged, Some(0), None)));
}

#[test]
fn a_graph_cannot_be_moved_into_what_is_inside_it() {
    let mut core = core();
    let outer = empty_graph(&mut core);
    let inner = whole::copy(&mut core, outer, Some(outer)).expect("a graph");
    let moved = params::ChildParams { graph: outer.pointer(), ownership: 1 };
    assert!(host::child_body(&mut core, &moved, inner).is_err());
    assert!(host::child_body(&mut core, &moved, outer).is_err());
    let alone = empty_graph(&mut core);
    let moved = params::ChildParams { graph: alone.pointer(), ownership: 1 };
    assert!(host::child_body(&mut core, &moved, inner).is_ok());
    assert!(host::child_body(&mut core, &moved, outer).is_err(), "a graph has one parent");
}
