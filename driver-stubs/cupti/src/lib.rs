//! `libcupti.so.13`, load-only: a profiler can open and close it, and nothing is recorded.
//! What a profiler needs beyond that answers not supported and is counted.

#![cfg_attr(not(test), forbid(unsafe_code))]

use ghost_abi::{Out, Texts};
use std::ffi::c_char;

mod activity;
mod names;

ghost_abi::library! {
    /// The library.
    pub Cupti { name: "libcupti", not_supported: 27, panic: 999, invalid_argument: 1 }
}

ghost_abi::status! {
    /// Codes that are answered here.
    pub Error for Cupti {
        InvalidParameter = 1, MaxLimitReached = 12, QueueEmpty = 18, InvalidKind = 21, MultipleSubscribers = 39,
    }
    faults: InvalidParameter
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, activity::ROWS, names::ABSENT];

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
        (12, c"CUPTI_ERROR_MAX_LIMIT_REACHED"),
        (15, c"CUPTI_ERROR_NOT_INITIALIZED"),
        (18, c"CUPTI_ERROR_QUEUE_EMPTY"),
        (21, c"CUPTI_ERROR_INVALID_KIND"),
        (27, c"CUPTI_ERROR_NOT_SUPPORTED"),
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
