//! Stub of libcusparseLt: structured sparse products are operations on a stream, nothing is multiplied.
//! Its handles and descriptors are the caller's storage; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

use ghost_abi::{Out, Texts, Version};
use std::ffi::{c_char, c_void};

pub mod compress;
pub mod descriptor;
pub mod matmul;
pub mod plan;
mod records;

ghost_abi::library! {
    /// The library `libcusparseLt.so.0`.
    pub CusparseLt { name: "libcusparseLt", not_supported: 10, panic: 7, invalid_argument: 3 }
}

ghost_abi::status! {
    /// Why a call failed: a `cusparseStatus_t`.
    pub Error for CusparseLt {
        NotInitialized = 1,
        AllocFailed = 2,
        InvalidValue = 3,
        ArchMismatch = 4,
        ExecutionFailed = 6,
        InternalError = 7,
        NotSupported = 10,
    }
    faults: InvalidValue
}

impl From<ghost_blas::Error> for Error {
    fn from(error: ghost_blas::Error) -> Error {
        match error {
            ghost_blas::Error::NotInitialized => Error::NotInitialized,
            ghost_blas::Error::AllocFailed => Error::AllocFailed,
            ghost_blas::Error::InvalidValue => Error::InvalidValue,
            ghost_blas::Error::ArchMismatch => Error::ArchMismatch,
            ghost_blas::Error::NotSupported => Error::NotSupported,
            _ => Error::ExecutionFailed,
        }
    }
}

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, descriptor::ROWS, plan::ROWS, compress::ROWS, matmul::ROWS];

/// The version torch 2.15 was built with.
const VERSION: Version = Version { major: 0, minor: 8, patch: 1 };

ghost_abi::rows! { CusparseLt;
    fn cusparseLtGetVersion(handle: *const c_void, version: Out<i32>) => get_version;
    fn cusparseLtGetProperty(kind: i32, value: Out<i32>) => property;
    fn cusparseLtGetErrorName(status: i32) -> *const c_char => error_name;
    fn cusparseLtGetErrorString(status: i32) -> *const c_char => error_string;
}

/// The handle is not looked at.
fn get_version(_handle: *const c_void, version: Out<i32>) -> Result<(), Error> {
    let Version { major, minor, patch } = VERSION;
    Ok(version.set(major * 1000 + minor * 100 + patch)?)
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::InvalidValue)?)?)
}

fn error_name(status: i32) -> *const c_char {
    NAMES.of(status)
}

fn error_string(status: i32) -> *const c_char {
    TEXTS.of(status)
}

static NAMES: Texts = Texts {
    known: &[
        (0, c"CUSPARSE_STATUS_SUCCESS"),
        (1, c"CUSPARSE_STATUS_NOT_INITIALIZED"),
        (2, c"CUSPARSE_STATUS_ALLOC_FAILED"),
        (3, c"CUSPARSE_STATUS_INVALID_VALUE"),
        (4, c"CUSPARSE_STATUS_ARCH_MISMATCH"),
        (5, c"CUSPARSE_STATUS_MAPPING_ERROR"),
        (6, c"CUSPARSE_STATUS_EXECUTION_FAILED"),
        (7, c"CUSPARSE_STATUS_INTERNAL_ERROR"),
        (8, c"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED"),
        (9, c"CUSPARSE_STATUS_ZERO_PIVOT"),
        (10, c"CUSPARSE_STATUS_NOT_SUPPORTED"),
        (11, c"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"),
    ],
    other: c"unrecognized error code",
};

static TEXTS: Texts = Texts {
    known: &[
        (0, c"success"),
        (1, c"not initialised"),
        (2, c"allocation failed"),
        (3, c"invalid value"),
        (4, c"the device lacks a needed feature"),
        (5, c"mapping error"),
        (6, c"execution failed"),
        (7, c"internal error"),
        (8, c"matrix type not supported"),
        (9, c"zero pivot"),
        (10, c"operation not supported"),
        (11, c"insufficient resources"),
    ],
    other: c"unrecognized error code",
};

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(|version| get_version(std::ptr::null(), version)), Ok(801));
        assert_eq!(ask(|value| property(1, value)), Ok(8));
    }

    #[test]
    fn every_function_has_a_handler() {
        assert!(TABLE.iter().copied().flatten().all(|row| row.is_implemented()));
        assert_eq!(TABLE.iter().copied().flatten().count(), 31);
    }
}
