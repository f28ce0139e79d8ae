//! Updating an executable graph from a graph of the same shape: parameters are taken over, anything else is refused
//! with the reason and the node.

use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{MaybeOut, Out};

use super::exec::{Step, flatten};
use super::node_handle;
use super::params::UpdateResult;
use crate::arena::Handle;
use crate::core::Core;
use crate::{Error, driver};

/// Why a graph does not fit, as `CUgraphExecUpdateResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Reason {
    Error = 1,
    TopologyChanged = 2,
    KindChanged = 3,
}

/// A graph that does not fit: the reason, the step of the new graph, and the step its odd edge comes from.
pub type Misfit = (Reason, Option<usize>, Option<usize>);

/// Whether two graphs have the same shape, step by step.
pub fn compare(old: &[Step], new: &[Step]) -> Result<(), Misfit> {
    if old.len() != new.len() {
        return Err((Reason::TopologyChanged, None, None));
    }
    for (index, (old, new)) in old.iter().zip(new).enumerate() {
        if old.body.kind() != new.body.kind() {
            return Err((Reason::KindChanged, Some(index), None));
        }
        let odd = new.after.iter().find(|step| !old.after.contains(step)).copied();
        if odd.is_some() || old.after.len() != new.after.len() {
            return Err((Reason::TopologyChanged, Some(index), odd));
        }
    }
    Ok(())
}

/// Takes the new parameters over; nodes keep their names and stay switched off if they were.
fn take_over(core: &mut Core, exec: Handle, new: Vec<Step>) -> Result<(), Error> {
    let exec = core.execs.get_mut(exec).ok_or(Error::InvalidValue)?;
    for (old, new) in Arc::make_mut(&mut exec.steps).iter_mut().zip(new) {
        old.body = new.body;
    }
    Ok(())
}

fn run(exec: *mut c_void, graph: *mut c_void) -> Result<(), (Error, UpdateResult)> {
    let plain = |error| (error, UpdateResult { result: Reason::Error as i32, node: null(), from: null() });
    let driver = driver::get().map_err(plain)?;
    let mut core = driver.core();
    let (exec, graph) = (Handle::of(exec), Handle::of(graph));
    let old = core.execs.get(exec).ok_or(plain(Error::InvalidValue))?.steps.clone();
    let new = flatten(&core, graph).map_err(plain)?;
    if let Err((reason, node, from)) = compare(&old, &new) {
        let name = |step: Option<usize>| step.map_or(null(), |index| node_handle(new[index].graph, new[index].node));
        let result = UpdateResult { result: reason as i32, node: name(node), from: name(from) };
        return Err((Error::GraphExecUpdateFailure, result));
    }
    take_over(&mut core, exec, new).map_err(plain)
}

fn null() -> *mut c_void {
    std::ptr::null_mut()
}

pub fn update(
    exec: *mut c_void,
    graph: *mut c_void,
    node: MaybeOut<*mut c_void>,
    result: Out<i32>,
) -> Result<(), Error> {
    result.check()?;
    let (answer, told) = match run(exec, graph) {
        Ok(()) => (Ok(()), UpdateResult { result: 0, node: null(), from: null() }),
        Err((error, told)) => (Err(error), told),
    };
    node.set(told.node);
    result.set(told.result)?;
    answer
}

pub fn update_v2(exec: *mut c_void, graph: *mut c_void, result: Out<UpdateResult>) -> Result<(), Error> {
    result.check()?;
    let (answer, told) = match run(exec, graph) {
        Ok(()) => (Ok(()), UpdateResult { result: 0, node: null(), from: null() }),
        Err((error, told)) => (Err(error), told),
    };
    result.set(told)?;
    answer
}
