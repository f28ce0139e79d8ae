//! What the library says about itself: versions and the names of its codes.
//! It does nothing.

use crate::{Cudnn, Error};
use ghost_abi::{Out, Text, Texts, Version};
use std::ffi::c_char;

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

/// A void function: a null buffer is simply not written. No text is kept: the code says all there is.
fn last_error_string(message: Text, capacity: usize) {
    let _ = message.set_truncated(capacity, "");
}

static TEXTS: Texts = Texts {
    known: &[
        (0, c"CUDNN_STATUS_SUCCESS"),
        (1001, c"CUDNN_STATUS_NOT_INITIALIZED"),
        (2000, c"CUDNN_STATUS_BAD_PARAM"),
        (2002, c"CUDNN_STATUS_BAD_PARAM_NULL_POINTER"),
        (2004, c"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"),
        (3000, c"CUDNN_STATUS_NOT_SUPPORTED"),
        (4000, c"CUDNN_STATUS_INTERNAL_ERROR"),
        (4003, c"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
        (5000, c"CUDNN_STATUS_EXECUTION_FAILED"),
    ],
    other: c"CUDNN_UNKNOWN_STATUS",
};

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(version(), 92_600);
        assert_eq!(ask(|value| property(1, value)), Ok(26));
        assert_eq!(ask(|value| property(3, value)), Err(Error::BadParam));
    }

    #[test]
    fn every_code_has_a_name() {
        for error in Error::ALL {
            assert!(TEXTS.known.iter().any(|(code, _)| *code == error.code()), "{}", error.name());
        }
    }
}
