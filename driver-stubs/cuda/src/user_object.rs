//! User objects: counted references that a program lends to graphs, with a function that runs when the last one goes.

use std::ffi::c_void;

use ghost_abi::Out;

use crate::arena::Handle;
use crate::core::Core;
use crate::host::{HostFunction, User};
use crate::{Cuda, Error, driver};

ghost_abi::rows! { Cuda;
    since 11030 fn cuUserObjectCreate(object: Out<*mut c_void>, pointer: *mut c_void, destroy: Option<HostFunction>, count: u32, flags: u32) => create;
    since 11030 fn cuUserObjectRetain(object: *mut c_void, count: u32) => retain;
    since 11030 fn cuUserObjectRelease(object: *mut c_void, count: u32) => release;
    since 11030 fn cuGraphRetainUserObject(graph: *mut c_void, object: *mut c_void, count: u32, flags: u32) => graph_retain;
    since 11030 fn cuGraphReleaseUserObject(graph: *mut c_void, object: *mut c_void, count: u32) => graph_release;
}

/// An object with its references.
#[derive(Debug)]
pub struct UserObject {
    count: u32,
    destroy: HostFunction,
    user: User,
}

/// The references belong to a graph instead of adding to it.
const MOVE: u32 = 1;
const NO_DESTRUCTOR_SYNC: u32 = 1;

fn create(
    object: Out<*mut c_void>,
    pointer: *mut c_void,
    destroy: Option<HostFunction>,
    count: u32,
    flags: u32,
) -> Result<(), Error> {
    object.check()?;
    let destroy = destroy.filter(|_| count > 0 && flags == NO_DESTRUCTOR_SYNC).ok_or(Error::InvalidValue)?;
    let new = UserObject { count, destroy, user: User(pointer) };
    Ok(object.set(driver::get()?.core().objects.insert(new).pointer())?)
}

fn retain(object: *mut c_void, count: u32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let object = core.objects.get_mut(Handle::of(object)).filter(|_| count > 0).ok_or(Error::InvalidValue)?;
    object.count = object.count.checked_add(count).ok_or(Error::InvalidValue)?;
    Ok(())
}

fn release(object: *mut c_void, count: u32) -> Result<(), Error> {
    let gone = drop_references(&mut driver::get()?.core(), Handle::of(object), count)?;
    destroy(gone);
    Ok(())
}

/// Takes references away; the object itself if none is left.
pub fn drop_references(core: &mut Core, object: Handle, count: u32) -> Result<Option<UserObject>, Error> {
    let state = core.objects.get_mut(object).filter(|o| count > 0 && o.count >= count).ok_or(Error::InvalidValue)?;
    state.count -= count;
    Ok(if state.count == 0 { core.objects.remove(object) } else { None })
}

/// Runs the function of an object nobody refers to any more, without holding the lock.
pub fn destroy(gone: Option<UserObject>) {
    if let Some(object) = gone {
        // SAFETY: the creator promises a function that may be called once with this pointer from any thread.
        unsafe { (object.destroy)(object.user.get()) };
    }
}

fn graph_retain(graph: *mut c_void, object: *mut c_void, count: u32, flags: u32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let (graph, object) = (Handle::of(graph), Handle::of(object));
    if count == 0 || flags > MOVE || core.graphs.get(graph).is_none() {
        return Err(Error::InvalidValue);
    }
    let state = core.objects.get_mut(object).ok_or(Error::InvalidValue)?;
    if flags == MOVE && state.count < count {
        return Err(Error::InvalidValue);
    }
    if flags != MOVE {
        state.count = state.count.checked_add(count).ok_or(Error::InvalidValue)?;
    }
    if let Some(graph) = core.graphs.get_mut(graph) {
        graph.objects.push((object, count));
    }
    Ok(())
}

fn graph_release(graph: *mut c_void, object: *mut c_void, count: u32) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let object = Handle::of(object);
    let graph = core.graphs.get_mut(Handle::of(graph)).ok_or(Error::InvalidValue)?;
    let held = graph.objects.iter().position(|(o, held)| *o == object && *held >= count).ok_or(Error::InvalidValue)?;
    graph.objects[held].1 -= count;
    graph.objects.retain(|(_, held)| *held > 0);
    let gone = drop_references(&mut core, object, count)?;
    drop(core);
    destroy(gone);
    Ok(())
}
