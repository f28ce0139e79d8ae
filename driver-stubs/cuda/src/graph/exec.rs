//! Executable graphs: what a graph was when it was instantiated, flat, and changes to its single nodes.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{CStrIn, In, InOut, Out};

use super::params::{ChildParams, Fill, HostParams, InstantiateParams, KernelV1, KernelV2, NodeParams};
use super::{Body, NodeId, NodeKind, find, graph, host, kernel, params, transfer, whole};
use crate::arena::Handle;
use crate::core::{Completion, Core};
use crate::driver::Driver;
use crate::{Error, driver};

/// One step of an executable graph: a node, or the end of a child graph.
#[derive(Clone, Debug)]
pub struct Step {
    pub node: NodeId,
    pub graph: Handle,
    pub body: Body,
    /// Earlier steps.
    pub after: Vec<usize>,
    pub enabled: bool,
}

/// An instantiated graph: what it was at that moment.
#[derive(Debug)]
pub struct Exec {
    id: u32,
    flags: u64,
    /// The graph it was made from, which may be gone.
    pub source: Handle,
    pub steps: Arc<Vec<Step>>,
    /// User objects it took over when its graph was destroyed.
    pub objects: Vec<(Handle, u32)>,
    /// End of its latest launch: a graph never runs beside itself.
    pub busy_until_ns: u64,
    /// A launch whose end is not known yet.
    pub pending: Option<Completion>,
}

/// All steps of a graph with its child graphs inline; `InvalidValue` if there is a cycle.
pub fn flatten(core: &Core, of: Handle) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    flatten_into(core, of, None, &mut steps)?;
    Ok(steps)
}

/// Appends the steps of one graph, which all come after `base`; returns those that nothing follows.
fn flatten_into(core: &Core, of: Handle, base: Option<usize>, steps: &mut Vec<Step>) -> Result<Vec<usize>, Error> {
    let graph = graph(core, of)?;
    let mut index_of: HashMap<NodeId, usize> = HashMap::new();
    let (mut ends, mut followed) = (Vec::new(), HashSet::new());
    for index in graph.order().ok_or(Error::InvalidValue)? {
        let node = &graph.nodes[index];
        let mut after: Vec<usize> = node.after.iter().map(|edge| index_of[&edge.from]).collect();
        followed.extend(after.iter().copied());
        if after.is_empty() {
            after.extend(base);
        }
        let step = Step { node: node.id, graph: of, body: node.body.clone(), after, enabled: true };
        let end =
            if let Body::Child(child) = node.body { inline(core, child, step, steps)? } else { push(steps, step) };
        index_of.insert(node.id, end);
        ends.push(end);
    }
    ends.retain(|end| !followed.contains(end));
    Ok(ends)
}

/// A child graph: an entry, its own steps, and an end that stands for the node.
fn inline(core: &Core, child: Handle, node: Step, steps: &mut Vec<Step>) -> Result<usize, Error> {
    let entry = push(steps, Step { body: Body::Empty, ..node.clone() });
    let last = flatten_into(core, child, Some(entry), steps)?;
    let after = if last.is_empty() { vec![entry] } else { last };
    Ok(push(steps, Step { after, ..node }))
}

fn push(steps: &mut Vec<Step>, step: Step) -> usize {
    steps.push(step);
    steps.len() - 1
}

const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const ALL_FLAGS: u64 = 15;

/// Makes an executable graph. Launches from kernels are refused: no kernel runs.
fn make(core: &mut Core, of: *mut c_void, flags: u64) -> Result<Handle, Error> {
    if flags & !ALL_FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(Error::NotSupported);
    }
    let source = Handle::of(of);
    if graph(core, source)?.parent.is_some() || super::capture::is_captured_into(core, source) {
        return Err(Error::InvalidValue);
    }
    let steps = Arc::new(flatten(core, source)?);
    let id = core.id() as u32;
    let flags = flags & !UPLOAD;
    let new = Exec { id, flags, source, steps, objects: Vec::new(), busy_until_ns: 0, pending: None };
    Ok(core.execs.insert(new))
}

pub fn instantiate(exec: Out<*mut c_void>, graph: *mut c_void, flags: u64) -> Result<(), Error> {
    exec.check()?;
    let mut core = driver::get()?.core();
    Ok(exec.set(make(&mut core, graph, flags)?.pointer())?)
}

/// The forms before 11.4. Callers of the newest form under the old name pass flags where the node is, so nothing is
/// written there.
pub fn instantiate_v2(
    exec: Out<*mut c_void>,
    graph: *mut c_void,
    _node: *mut c_void,
    _log: *mut c_void,
    _bytes: usize,
) -> Result<(), Error> {
    instantiate(exec, graph, 0)
}

pub fn instantiate_params(
    exec: Out<*mut c_void>,
    graph: *mut c_void,
    params: InOut<InstantiateParams>,
) -> Result<(), Error> {
    exec.check()?;
    let asked = params.get()?;
    let mut core = driver::get()?.core();
    let is_graph = core.graphs.get(Handle::of(graph)).is_some();
    let made = make(&mut core, graph, asked.flags);
    let result = match made {
        Ok(_) => 0,
        Err(Error::InvalidValue) if is_graph && asked.flags & !ALL_FLAGS == 0 => 2,
        Err(Error::NotSupported) => 3,
        Err(_) => 1,
    };
    params.set(InstantiateParams { result, error_node: std::ptr::null_mut(), ..asked })?;
    Ok(exec.set(made?.pointer())?)
}

pub fn exec_destroy(exec: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let exec = core.execs.remove(Handle::of(exec)).ok_or(Error::InvalidValue)?;
    let gone = whole::release(&mut core, exec.source, exec.objects);
    drop(core);
    whole::run_destructors(gone);
    Ok(())
}

fn exec_of(core: &Core, exec: *mut c_void) -> Result<&Exec, Error> {
    core.execs.get(Handle::of(exec)).ok_or(Error::InvalidValue)
}

pub fn get_flags(exec: *mut c_void, flags: Out<u64>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(flags.set(exec_of(&core, exec)?.flags)?)
}

pub fn get_id(exec: *mut c_void, id: Out<u32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    Ok(id.set(exec_of(&core, exec)?.id)?)
}

pub fn upload(exec: *mut c_void, _stream: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    exec_of(&core, exec).map(|_| ())
}

/// The step of a node of the graph that the executable graph was made from. A child graph's is its end.
fn step_of(core: &Core, exec: *mut c_void, node: *mut c_void) -> Result<usize, Error> {
    let (_, id) = find(core, node)?;
    exec_of(core, exec)?.steps.iter().rposition(|step| step.node == id).ok_or(Error::InvalidValue)
}

fn edit(core: &mut Core, exec: *mut c_void, index: usize, change: impl FnOnce(&mut Step)) -> Result<(), Error> {
    let exec = core.execs.get_mut(Handle::of(exec)).ok_or(Error::InvalidValue)?;
    change(&mut Arc::make_mut(&mut exec.steps)[index]);
    Ok(())
}

/// Changes one node of an executable graph, for launches from now on. The kind must stay.
fn change(
    exec: *mut c_void,
    node: *mut c_void,
    make: impl FnOnce(&Driver, &mut Core) -> Result<Body, Error>,
) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let index = step_of(&core, exec, node)?;
    let body = make(driver, &mut core)?;
    if exec_of(&core, exec)?.steps[index].body.kind() != body.kind() {
        return Err(Error::InvalidValue);
    }
    edit(&mut core, exec, index, |step| step.body = body)
}

pub fn set_kernel(exec: *mut c_void, node: *mut c_void, asked: In<KernelV1>) -> Result<(), Error> {
    let asked = asked.get()?.into();
    change(exec, node, |driver, core| kernel::body(driver, core, &asked))
}

pub fn set_kernel_v2(exec: *mut c_void, node: *mut c_void, asked: In<KernelV2>) -> Result<(), Error> {
    let asked = asked.get()?;
    change(exec, node, |driver, core| kernel::body(driver, core, &asked))
}

pub fn set_copy(
    exec: *mut c_void,
    node: *mut c_void,
    asked: In<params::Copy3d>,
    _context: *mut c_void,
) -> Result<(), Error> {
    let asked = asked.get()?;
    change(exec, node, |driver, core| transfer::copy_body(driver, core, &asked))
}

pub fn set_fill(exec: *mut c_void, node: *mut c_void, asked: In<Fill>, _context: *mut c_void) -> Result<(), Error> {
    let asked = asked.get()?;
    change(exec, node, |driver, core| transfer::fill_body(driver, core, &asked))
}

pub fn set_host(exec: *mut c_void, node: *mut c_void, asked: In<HostParams>) -> Result<(), Error> {
    let asked = asked.get()?;
    change(exec, node, |_, _| host::body(asked))
}

pub fn set_record(exec: *mut c_void, node: *mut c_void, event: *mut c_void) -> Result<(), Error> {
    change(exec, node, |_, core| host::record_body(core, event))
}

pub fn set_wait(exec: *mut c_void, node: *mut c_void, event: *mut c_void) -> Result<(), Error> {
    change(exec, node, |_, core| host::wait_body(core, event))
}

/// Takes over the parameters of a child graph of the same shape.
pub fn set_child(exec: *mut c_void, node: *mut c_void, child: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let end = step_of(&core, exec, node)?;
    let steps = &exec_of(&core, exec)?.steps;
    let id = steps[end].node;
    let entry = steps.iter().position(|step| step.node == id).ok_or(Error::InvalidValue)?;
    let new = flatten(&core, Handle::of(child))?;
    let inner: Vec<Step> = steps[entry + 1..end].iter().map(|step| shifted(step, entry + 1)).collect();
    super::update::compare(&inner, &new).map_err(|_| Error::InvalidValue)?;
    for (offset, step) in new.into_iter().enumerate() {
        edit(&mut core, exec, entry + 1 + offset, |old| old.body = step.body)?;
    }
    Ok(())
}

/// A step of a child graph as it would stand in that graph alone.
fn shifted(step: &Step, by: usize) -> Step {
    let after = step.after.iter().filter_map(|index| index.checked_sub(by)).collect();
    Step { after, ..step.clone() }
}

pub fn set_params(exec: *mut c_void, node: *mut c_void, asked: In<NodeParams>) -> Result<(), Error> {
    let asked = asked.get()?;
    params::check_kind(asked.kind)?;
    if asked.kind == NodeKind::Child as i32 {
        return set_child(exec, node, asked.read::<ChildParams>().graph);
    }
    let nowhere = Handle::of(std::ptr::null_mut());
    change(exec, node, |driver, core| params::body(driver, core, &asked, nowhere))
}

/// Kernels, copies and fills can be switched off.
fn switch_of(core: &Core, exec: *mut c_void, node: *mut c_void) -> Result<usize, Error> {
    let index = step_of(core, exec, node)?;
    let kind = exec_of(core, exec)?.steps[index].body.kind();
    let can = matches!(kind, NodeKind::Kernel | NodeKind::Memcpy | NodeKind::Memset);
    if can { Ok(index) } else { Err(Error::InvalidValue) }
}

pub fn set_enabled(exec: *mut c_void, node: *mut c_void, enabled: u32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let index = switch_of(&core, exec, node)?;
    edit(&mut core, exec, index, |step| step.enabled = enabled != 0)
}

pub fn get_enabled(exec: *mut c_void, node: *mut c_void, enabled: Out<u32>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let index = switch_of(&core, exec, node)?;
    Ok(enabled.set(exec_of(&core, exec)?.steps[index].enabled.into())?)
}

/// `cuGraphDebugDotPrint`.
pub fn debug_dot(graph: *mut c_void, path: CStrIn, flags: u32) -> Result<(), Error> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::path::PathBuf::from(std::ffi::OsStr::from_bytes(path.get()?.to_bytes()));
    let text = super::dot::text(&driver::get()?.core(), Handle::of(graph), flags)?;
    std::fs::write(path, text).map_err(|_| Error::OperatingSystem)
}
