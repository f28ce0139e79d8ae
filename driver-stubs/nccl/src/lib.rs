//! `libnccl.so.2`, load-only: it says its version and explains its codes; nothing communicates.
//! Every name exists twice, as `nccl*` and as `pnccl*`, as in the real library.

#![forbid(unsafe_code)]

use ghost_abi::{Out, Texts};
use std::ffi::{c_char, c_void};

mod names;

ghost_abi::library! {
    /// The library. It has no not-supported code; invalid usage comes nearest.
    pub Nccl { name: "libnccl", not_supported: 5, panic: 3, invalid_argument: 4 }
}

ghost_abi::status! {
    /// Codes of `ncclResult_t` that are answered here.
    pub Error for Nccl { InvalidArgument = 4 } faults: InvalidArgument
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, names::ABSENT];

/// 2.30.7, counted as major * 10000 + minor * 100 + patch.
const VERSION: i32 = 23_007;

ghost_abi::rows! { Nccl;
    fn ncclGetVersion(version: Out<i32>) => get_version;
    fn pncclGetVersion(version: Out<i32>) => get_version;
    fn ncclGetErrorString(status: i32) -> *const c_char => error_string;
    fn pncclGetErrorString(status: i32) -> *const c_char => error_string;
    fn ncclGetLastError(comm: *mut c_void) -> *const c_char => last_error;
    fn pncclGetLastError(comm: *mut c_void) -> *const c_char => last_error;
    fn ncclResetDebugInit() -> () => nothing;
    fn pncclResetDebugInit() -> () => nothing;
    fn ncclParamDumpAll() -> ();
    fn pncclParamDumpAll() -> ();
}

fn get_version(version: Out<i32>) -> Result<(), Error> {
    Ok(version.set(VERSION)?)
}

fn error_string(status: i32) -> *const c_char {
    TEXTS.of(status)
}

fn last_error(_comm: *mut c_void) -> *const c_char {
    c"NCCL is not emulated yet".as_ptr()
}

/// Debug output is read anew: there is none.
fn nothing() {}

static TEXTS: Texts = Texts {
    known: &[
        (0, c"no error"),
        (1, c"unhandled cuda error"),
        (2, c"unhandled system error"),
        (3, c"internal error"),
        (4, c"invalid argument"),
        (5, c"invalid usage"),
        (6, c"remote process exited or there was a network error"),
        (7, c"operation in progress"),
        (8, c"timeout"),
    ],
    other: c"unknown result code",
};

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(get_version), Ok(23_007));
    }
}
