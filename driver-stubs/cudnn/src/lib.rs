//! `libcudnn.so.9`, load-only: it says its version and explains its codes; nothing computes.
//! Creating a handle fails as not supported, so no other call can follow.

#![forbid(unsafe_code)]

use ghost_abi::{Out, Text, Texts, Version};
use std::ffi::c_char;

mod names;

ghost_abi::library! {
    /// The library.
    pub Cudnn { name: "libcudnn", not_supported: 3000, panic: 4000, invalid_argument: 2000 }
}

ghost_abi::status! {
    /// Codes of `cudnnStatus_t` that are answered here.
    pub Error for Cudnn { BadParam = 2000 } faults: BadParam
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, names::ABSENT];

/// The version torch 2.15 was built with; it refuses an older one.
const VERSION: Version = Version { major: 9, minor: 26, patch: 0 };

/// The CUDA runtime that version was built with.
const CUDART_VERSION: usize = 13_020;

ghost_abi::rows! { Cudnn;
    fn cudnnGetVersion() -> usize => version;
    fn cudnnGetMaxDeviceVersion() -> usize => version;
    fn cudnnGetCudartVersion() -> usize => cudart_version;
    fn cudnnGetProperty(kind: i32, value: Out<i32>) => property;
    fn cudnnGetErrorString(status: i32) -> *const c_char => error_string;
    fn cudnnGetLastErrorString(message: Text, capacity: usize) -> () => last_error_string;
}

fn version() -> usize {
    let Version { major, minor, patch } = VERSION;
    usize::try_from(major * 10_000 + minor * 100 + patch).unwrap_or_default()
}

fn cudart_version() -> usize {
    CUDART_VERSION
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::BadParam)?)?)
}

fn error_string(status: i32) -> *const c_char {
    TEXTS.of(status)
}

/// A void function: a null buffer is simply not written.
fn last_error_string(message: Text, capacity: usize) {
    let _ = message.set_truncated(capacity, "cuDNN is not emulated yet");
}

static TEXTS: Texts = Texts {
    known: &[
        (0, c"CUDNN_STATUS_SUCCESS"),
        (1001, c"CUDNN_STATUS_NOT_INITIALIZED"),
        (2000, c"CUDNN_STATUS_BAD_PARAM"),
        (3000, c"CUDNN_STATUS_NOT_SUPPORTED"),
        (4000, c"CUDNN_STATUS_INTERNAL_ERROR"),
    ],
    other: c"CUDNN_UNKNOWN_STATUS",
};

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::{ask, find};

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(version(), 92_600);
        assert_eq!(ask(|value| property(1, value)), Ok(26));
        assert_eq!(ask(|value| property(3, value)), Err(Error::BadParam));
    }

    #[test]
    fn a_handle_cannot_be_created() {
        // Names-only rows take no arguments in Rust; C passes one and it stays untouched.
        let row = find(TABLE, "cudnnCreate").expect("exported");
        assert!(!row.is_implemented());
    }
}
