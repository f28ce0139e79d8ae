//! Handles, streams, pointer modes and the logger.
//! It plans no operation.

use crate::context::{Context, Handle, context, give};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{Ptr, Stream, start_driver};

ghost_abi::rows! { Cusparse;
    fn cusparseCreate(handle: Out<Handle>) => create;
    fn cusparseDestroy(handle: Handle) => destroy;
    fn cusparseSetStream(handle: Handle, stream: Stream) => set_stream;
    fn cusparseGetStream(handle: Handle, stream: Out<Stream>) => stream;
    fn cusparseSetPointerMode(handle: Handle, mode: i32) => set_pointer_mode;
    fn cusparseGetPointerMode(handle: Handle, mode: Out<i32>) => pointer_mode;
    fn cusparseLoggerSetCallback(callback: Ptr<u8>) => logger_pointer;
    fn cusparseLoggerSetFile(file: Ptr<u8>) => logger_pointer;
    fn cusparseLoggerOpenFile(name: Ptr<u8>) => logger_pointer;
    fn cusparseLoggerSetLevel(level: i32) => logger_number;
    fn cusparseLoggerSetMask(mask: i32) => logger_number;
    fn cusparseLoggerForceDisable() => logger_off;
}

fn create(handle: Out<Handle>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    give(&handle, Context::default())
}

fn destroy(handle: Handle) -> Result<(), Error> {
    Ok(handle.destroy().map(|_| ())?)
}

fn set_stream(handle: Handle, stream: Stream) -> Result<(), Error> {
    Ok(handle.with(|context| context.stream = stream)?)
}

fn stream(handle: Handle, stream: Out<Stream>) -> Result<(), Error> {
    Ok(stream.set(context(handle)?.stream)?)
}

fn set_pointer_mode(handle: Handle, mode: i32) -> Result<(), Error> {
    handle.check()?;
    if !matches!(mode, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    Ok(handle.with(|context| context.pointer_mode = mode)?)
}

fn pointer_mode(handle: Handle, mode: Out<i32>) -> Result<(), Error> {
    Ok(mode.set(context(handle)?.pointer_mode)?)
}

/// Nothing is logged: a library in somebody else's process does not print.
fn logger_pointer(_pointer: Ptr<u8>) -> Result<(), Error> {
    Ok(())
}

fn logger_number(_number: i32) -> Result<(), Error> {
    Ok(())
}

fn logger_off() -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;
    use ghost_blas::Of;

    #[test]
    fn a_mode_is_kept_and_a_dead_handle_refused() {
        let handle = Of::create(Context::default());
        assert_eq!((set_pointer_mode(handle, 1), set_pointer_mode(handle, 2)), (Ok(()), Err(Error::InvalidValue)));
        assert_eq!(ask(|out| pointer_mode(handle, out)), Ok(1));
        assert_eq!((destroy(handle), destroy(handle)), (Ok(()), Err(Error::NotInitialized)));
        assert_eq!(ask(create).err(), Some(Error::NotInitialized));
    }
}
