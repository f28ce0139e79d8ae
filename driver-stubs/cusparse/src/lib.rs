//! Stub of libcusparse: every product and conversion is kernels on a stream, nothing is computed.
//! It owns handles and descriptors only; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

use ghost_abi::{Out, Texts, Version};
use std::ffi::{c_char, c_void};

pub mod blocks;
mod context;
pub mod convert;
pub mod dense;
pub mod descriptor;
pub mod gather;
pub mod helper;
pub mod matrix;
mod names;
pub mod product;
pub mod solve;
pub mod spgemm;
mod work;

ghost_abi::library! {
    /// The library `libcusparse.so.12`.
    pub Cusparse { name: "libcusparse", not_supported: 10, panic: 7, invalid_argument: 3 }
}

ghost_abi::status! {
    /// Why a call failed: a `cusparseStatus_t`.
    pub Error for Cusparse {
        NotInitialized = 1,
        AllocFailed = 2,
        InvalidValue = 3,
        ArchMismatch = 4,
        ExecutionFailed = 6,
        InternalError = 7,
        NotSupported = 10,
        InsufficientResources = 11,
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
pub static TABLE: ghost_abi::Table = &[
    ROWS,
    helper::ROWS,
    descriptor::ROWS,
    dense::ROWS,
    matrix::ROWS,
    product::ROWS,
    gather::ROWS,
    spgemm::ROWS,
    solve::ROWS,
    convert::ROWS,
    convert::TYPED,
    blocks::TYPED,
    names::ABSENT,
];

/// The version torch 2.15 was built with.
const VERSION: Version = Version { major: 12, minor: 7, patch: 10 };

ghost_abi::rows! { Cusparse;
    fn cusparseGetVersion(handle: *const c_void, version: Out<i32>) => get_version;
    fn cusparseGetProperty(kind: i32, value: Out<i32>) => property;
    fn cusparseGetErrorName(status: i32) -> *const c_char => error_name;
    fn cusparseGetErrorString(status: i32) -> *const c_char => error_string;
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
mod coverage;

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(|version| get_version(std::ptr::null(), version)), Ok(12_710));
        assert_eq!(ask(|value| property(1, value)), Ok(7));
    }
}
