//! Stub of libcusolver: every factorisation is kernels on a stream, nothing is factorised.
//! It owns handles only; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

use ghost_abi::{Out, Version};

mod check;
mod context;
pub mod eigen;
pub mod factor;
mod flops;
pub mod general;
pub mod general_eigen;
pub mod helper;
pub mod jacobi;
mod names;
pub mod orthogonal;
pub mod solve;
pub mod svd;
mod work;

ghost_abi::library! {
    /// The library `libcusolver.so.12`.
    pub Cusolver { name: "libcusolver", not_supported: 9, panic: 7, invalid_argument: 3 }
}

ghost_abi::status! {
    /// Why a call failed: a `cusolverStatus_t`.
    pub Error for Cusolver {
        NotInitialized = 1,
        AllocFailed = 2,
        InvalidValue = 3,
        ArchMismatch = 4,
        ExecutionFailed = 6,
        InternalError = 7,
        NotSupported = 9,
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
    factor::TYPED,
    solve::TYPED,
    orthogonal::TYPED,
    eigen::TYPED,
    jacobi::TYPED,
    svd::TYPED,
    general::ROWS,
    general_eigen::ROWS,
    names::ABSENT,
];

/// The version torch 2.15 was built with.
const VERSION: Version = Version { major: 12, minor: 2, patch: 0 };

ghost_abi::rows! { Cusolver;
    fn cusolverGetVersion(version: Out<i32>) => get_version;
    fn cusolverGetProperty(kind: i32, value: Out<i32>) => property;
}

fn get_version(version: Out<i32>) -> Result<(), Error> {
    let Version { major, minor, patch } = VERSION;
    Ok(version.set(major * 1000 + minor * 100 + patch)?)
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::InvalidValue)?)?)
}

#[cfg(test)]
mod coverage;

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(get_version), Ok(12_200));
        assert_eq!(ask(|value| property(0, value)), Ok(12));
    }
}
