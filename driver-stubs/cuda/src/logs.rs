//! The driver's error log: callbacks may be registered, and there is never an entry to tell them.
//! Errors are told by their codes alone.

use std::ffi::{c_char, c_void};

use ghost_abi::{CStrIn, InOut, MaybeOut, Out};

use crate::arena::Handle;
use crate::{Cuda, Error, driver};

ghost_abi::rows! { Cuda;
    since 12090 fn cuLogsRegisterCallback(callback: Option<Callback>, user: *mut c_void, handle: MaybeOut<*mut c_void>) => register;
    since 12090 fn cuLogsUnregisterCallback(handle: *mut c_void) => unregister;
    since 12090 fn cuLogsCurrent(iterator: Out<u32>, flags: u32) => current;
    since 12090 fn cuLogsDumpToFile(iterator: MaybeOut<u32>, path: CStrIn, flags: u32) => dump_to_file;
    since 12090 fn cuLogsDumpToMemory(iterator: MaybeOut<u32>, buffer: *mut c_char, bytes: InOut<usize>, flags: u32) => dump_to_memory;
}

/// `CUlogsCallback`.
pub type Callback = unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char, bytes: usize);

fn register(callback: Option<Callback>, _user: *mut c_void, handle: MaybeOut<*mut c_void>) -> Result<(), Error> {
    let callback = callback.ok_or(Error::InvalidValue)?;
    handle.set(driver::get()?.core().loggers.insert(callback).pointer());
    Ok(())
}

fn unregister(handle: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().loggers.remove(Handle::of(handle)).map(|_| ()).ok_or(Error::InvalidValue)
}

fn current(iterator: Out<u32>, flags: u32) -> Result<(), Error> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    Ok(iterator.set(0)?)
}

fn dump_to_file(_iterator: MaybeOut<u32>, path: CStrIn, flags: u32) -> Result<(), Error> {
    use std::os::unix::ffi::OsStrExt;
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path.get()?.to_bytes()));
    std::fs::write(path, b"").map_err(|_| Error::InvalidValue)
}

fn dump_to_memory(_iterator: MaybeOut<u32>, buffer: *mut c_char, bytes: InOut<usize>, flags: u32) -> Result<(), Error> {
    if flags != 0 || buffer.is_null() {
        return Err(Error::InvalidValue);
    }
    if bytes.get()? > 0 {
        // SAFETY: the caller lends `bytes` at `buffer`, at least one.
        unsafe { buffer.write(0) };
    }
    Ok(bytes.set(0)?)
}
