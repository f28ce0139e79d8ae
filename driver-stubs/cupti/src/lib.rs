//! `libcupti.so.13`: activity records of kernels, copies, fills, waits and calls, as profilers ask for them.
//! libcuda says what happened and when; here it gets NVIDIA's shape. Counters, sampling and replay are not supported:
//! no hardware exists to be counted.
//!
//! - [`activity`], [`correlation`], [`callback`], [`identity`]: the functions
//! - [`collect`]: what is heard and kept; [`buffer`]: where it goes; [`clock`]: in whose time
//! - [`mod@record`], [`shape`], [`function`], `generated`: layouts and numbers; [`bits`]: sets of numbers

use ghost_abi::{Out, Texts};
use std::ffi::c_char;

mod activity;
mod bits;
mod buffer;
mod callback;
mod clock;
mod collect;
mod correlation;
mod function;
mod generated;
mod identity;
mod names;
mod record;
mod shape;

ghost_abi::library! {
    /// The library.
    pub Cupti { name: "libcupti", not_supported: 27, panic: 999, invalid_argument: 1 }
}

ghost_abi::status! {
    /// Codes that are answered here.
    pub Error for Cupti {
        InvalidParameter = 1, InvalidDevice = 2, InvalidContext = 3, MaxLimitReached = 12, NotInitialized = 15,
        QueueEmpty = 18, InvalidStream = 20, InvalidKind = 21, MultipleSubscribers = 39,
    }
    faults: InvalidParameter
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table =
    &[ROWS, activity::ROWS, callback::ROWS, correlation::ROWS, identity::ROWS, names::ABSENT];

/// `CUPTI_API_VERSION` of CUDA 13.2.
const VERSION: u32 = 130_202;

ghost_abi::rows! { Cupti;
    fn cuptiGetVersion(version: Out<u32>) => get_version;
    fn cuptiGetResultString(status: i32, text: Out<*const c_char>) => result_string;
    fn cuptiGetErrorMessage(status: i32, text: Out<*const c_char>) => result_string;
    fn cuptiGetLastError() => last_error;
}

fn get_version(version: Out<u32>) -> Result<(), Error> {
    Ok(version.set(VERSION)?)
}

fn result_string(status: i32, text: Out<*const c_char>) -> Result<(), Error> {
    Ok(text.set(TEXTS.of(status))?)
}

/// Nothing here fails but by its own answer.
fn last_error() -> i32 {
    0
}

static TEXTS: Texts = Texts {
    known: &[
        (0, c"CUPTI_SUCCESS"),
        (1, c"CUPTI_ERROR_INVALID_PARAMETER"),
        (2, c"CUPTI_ERROR_INVALID_DEVICE"),
        (3, c"CUPTI_ERROR_INVALID_CONTEXT"),
        (7, c"CUPTI_ERROR_INVALID_OPERATION"),
        (8, c"CUPTI_ERROR_OUT_OF_MEMORY"),
        (10, c"CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"),
        (11, c"CUPTI_ERROR_API_NOT_IMPLEMENTED"),
        (12, c"CUPTI_ERROR_MAX_LIMIT_REACHED"),
        (15, c"CUPTI_ERROR_NOT_INITIALIZED"),
        (18, c"CUPTI_ERROR_QUEUE_EMPTY"),
        (19, c"CUPTI_ERROR_INVALID_HANDLE"),
        (20, c"CUPTI_ERROR_INVALID_STREAM"),
        (21, c"CUPTI_ERROR_INVALID_KIND"),
        (26, c"CUPTI_ERROR_HARDWARE_BUSY"),
        (27, c"CUPTI_ERROR_NOT_SUPPORTED"),
        (35, c"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
        (38, c"CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED"),
        (39, c"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"),
        (999, c"CUPTI_ERROR_UNKNOWN"),
    ],
    other: c"CUPTI_ERROR_UNKNOWN",
};

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(get_version), Ok(130_202));
    }
}
