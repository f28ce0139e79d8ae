//! Logging switches: a callback is kept and handed back, nothing is ever logged.
//! It opens no file.

use ghost_abi::{CStrIn, Out};
use ghost_blas::{Cublas, Error};
use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

ghost_abi::rows! { Cublas;
    fn cublasLoggerConfigure(on: i32, to_stdout: i32, to_stderr: i32, file: CStrIn) => configure;
    fn cublasSetLoggerCallback(callback: usize) => set_callback;
    fn cublasGetLoggerCallback(callback: Out<usize>) => callback;
    fn cublasXerbla(name: *const c_char, info: i32) -> () => xerbla;
}

static CALLBACK: AtomicUsize = AtomicUsize::new(0);

fn configure(_on: i32, _to_stdout: i32, _to_stderr: i32, _file: CStrIn) -> Result<(), Error> {
    Ok(())
}

fn set_callback(callback: usize) -> Result<(), Error> {
    CALLBACK.store(callback, Relaxed);
    Ok(())
}

fn callback(callback: Out<usize>) -> Result<(), Error> {
    Ok(callback.set(CALLBACK.load(Relaxed))?)
}

fn xerbla(_name: *const c_char, _info: i32) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_handed_back() {
        assert_eq!(set_callback(0x1234), Ok(()));
        assert_eq!(ghost_abi::ask(callback), Ok(0x1234));
    }
}
