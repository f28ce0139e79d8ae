//! What the library says about itself: versions and the names of its codes.
//! It does nothing.

use crate::{Cudnn, Error};
use ghost_abi::{Out, Row, Text, Texts, Version};
use std::cell::Cell;
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

thread_local! {
    /// The last call of this thread that failed.
    static FAILED: Cell<Option<(&'static Row, i32)>> = const { Cell::new(None) };
}

/// Sees every status on its way out.
pub fn remember(row: &'static Row, status: i32) -> i32 {
    if status != 0 {
        FAILED.set(Some((row, status)));
    }
    status
}

/// A void function: a null buffer is simply not written. A failure is told once, as NVIDIA's function does.
fn last_error_string(message: Text, capacity: usize) {
    let text = match FAILED.take() {
        None => String::new(),
        Some((row, _)) if !row.is_implemented() => format!("{} is not emulated", row.name()),
        Some((row, status)) => format!("{}: {}", row.name(), name(status)),
    };
    let _ = message.set_truncated(capacity, &text);
}

fn name(status: i32) -> &'static str {
    let known = TEXTS.known.iter().find(|(code, _)| *code == status);
    known.map_or(TEXTS.other, |(_, text)| text).to_str().unwrap_or_default()
}

static TEXTS: Texts = Texts {
    known: &[
        (0, c"CUDNN_STATUS_SUCCESS"),
        (1001, c"CUDNN_STATUS_NOT_INITIALIZED"),
        (1002, c"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"),
        (1003, c"CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH"),
        (1004, c"CUDNN_STATUS_DEPRECATED"),
        (1005, c"CUDNN_STATUS_LICENSE_ERROR"),
        (1006, c"CUDNN_STATUS_RUNTIME_IN_PROGRESS"),
        (1007, c"CUDNN_STATUS_RUNTIME_FP_OVERFLOW"),
        (1008, c"CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"),
        (2000, c"CUDNN_STATUS_BAD_PARAM"),
        (2002, c"CUDNN_STATUS_BAD_PARAM_NULL_POINTER"),
        (2003, c"CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER"),
        (2004, c"CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"),
        (2005, c"CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND"),
        (2006, c"CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT"),
        (2007, c"CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH"),
        (2008, c"CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"),
        (3000, c"CUDNN_STATUS_NOT_SUPPORTED"),
        (3001, c"CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN"),
        (3002, c"CUDNN_STATUS_NOT_SUPPORTED_SHAPE"),
        (3003, c"CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE"),
        (3004, c"CUDNN_STATUS_NOT_SUPPORTED_LAYOUT"),
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
    fn a_failure_is_told_once_with_the_name_of_its_function() {
        let told = || {
            ghost_abi::ask_text(80, |text, capacity| {
                last_error_string(text, capacity);
                Ok::<_, Error>(())
            })
        };
        let row = |name| ghost_abi::find(crate::TABLE, name).expect("exported");
        remember(row("cudnnCreate"), 2000);
        assert_eq!(told().as_deref(), Ok("cudnnCreate: CUDNN_STATUS_BAD_PARAM"));
        remember(row("cudnnIm2Col"), 3000);
        assert_eq!(told().as_deref(), Ok("cudnnIm2Col is not emulated"));
        assert_eq!(told().as_deref(), Ok(""));
    }

    #[test]
    fn every_code_has_a_name() {
        for error in Error::ALL {
            assert!(TEXTS.known.iter().any(|(code, _)| *code == error.code()), "{}", error.name());
        }
    }
}
