//! `cudnnHandle_t`: a stream and nothing that belongs to the device.
//! It runs no operation.

use crate::place::{Handle, destroy};
use crate::work::{Stream, start_driver};
use crate::{Cudnn, Error};
use ghost_abi::{MaybeOut, Out};
use std::ffi::c_void;

/// What a handle points to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Where its operations go.
    pub stream: Stream,
}

kept!(Context, b"gh.cudnn");

ghost_abi::rows! { Cudnn;
    fn cudnnCreate(handle: Out<Handle<Context>>) => create;
    fn cudnnDestroy(handle: Handle<Context>) => destroy;
    fn cudnnSetStream(handle: Handle<Context>, stream: Stream) => set_stream;
    fn cudnnGetStream(handle: Handle<Context>, stream: Out<Stream>) => stream;
    fn cudnnQueryRuntimeError(handle: Handle<Context>, status: Out<i32>, mode: i32, tag: *mut c_void) => query_error;
    fn cudnnSetCallback(mask: u32, user: *mut c_void, callback: *const c_void) => set_callback;
    fn cudnnGetCallback(mask: MaybeOut<u32>, user: MaybeOut<*mut c_void>, callback: MaybeOut<*const c_void>) => callback;
    fn cudnnOpsVersionCheck() => version_check;
    fn cudnnCnnVersionCheck() => version_check;
    fn cudnnAdvVersionCheck() => version_check;
    fn cudnnGraphVersionCheck() => version_check;
}

fn create(handle: Out<Handle<Context>>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(Handle::new(Context::default()))?)
}

fn set_stream(handle: Handle<Context>, stream: Stream) -> Result<(), Error> {
    handle.with(|context| context.stream = stream)
}

fn stream(handle: Handle<Context>, stream: Out<Stream>) -> Result<(), Error> {
    Ok(stream.set(handle.value()?.stream)?)
}

/// No kernel here reports a late error.
fn query_error(handle: Handle<Context>, status: Out<i32>, mode: i32, _tag: *mut c_void) -> Result<(), Error> {
    handle.value()?;
    if !matches!(mode, 0..=2) {
        return Err(Error::BadParam);
    }
    Ok(status.set(0)?)
}

/// Nothing is logged, so the callback is never called and not kept.
fn set_callback(_mask: u32, _user: *mut c_void, _callback: *const c_void) -> Result<(), Error> {
    Ok(())
}

fn callback(mask: MaybeOut<u32>, user: MaybeOut<*mut c_void>, callback: MaybeOut<*const c_void>) -> Result<(), Error> {
    mask.set(0);
    user.set(std::ptr::null_mut());
    callback.set(std::ptr::null());
    Ok(())
}

fn version_check() -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn without_our_driver_no_handle_is_created() {
        assert_eq!(ask(create).err(), Some(Error::NotInitialized));
    }

    #[test]
    fn a_handle_keeps_its_stream_until_it_is_destroyed() {
        let handle = Handle::new(Context::default());
        assert_eq!(set_stream(handle, Stream(77)), Ok(()));
        assert_eq!(ask(|out| stream(handle, out)), Ok(Stream(77)));
        assert_eq!(destroy(handle), Ok(()));
        assert_eq!(set_stream(handle, Stream(1)), Err(Error::BadParam));
    }
}
