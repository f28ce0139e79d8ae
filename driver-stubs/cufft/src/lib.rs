//! Stub of libcufft: every transform is kernels on a stream, nothing is transformed.
//! It owns plans only; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

use ghost_abi::{Out, Version};

pub mod exec;
mod names;
pub mod plan;
pub mod simple;
mod store;
mod transform;

ghost_abi::library! {
    /// The library `libcufft.so.12`.
    pub Cufft { name: "libcufft", not_supported: 16, panic: 5, invalid_argument: 4 }
}

ghost_abi::status! {
    /// Why a call failed: a `cufftResult`.
    pub Error for Cufft {
        InvalidPlan = 1,
        AllocFailed = 2,
        InvalidType = 3,
        InvalidValue = 4,
        InternalError = 5,
        ExecFailed = 6,
        SetupFailed = 7,
        InvalidSize = 8,
        InvalidDevice = 11,
        NotSupported = 16,
    }
    faults: InvalidValue
}

impl From<ghost_blas::Error> for Error {
    fn from(error: ghost_blas::Error) -> Error {
        match error {
            ghost_blas::Error::NotInitialized => Error::SetupFailed,
            ghost_blas::Error::AllocFailed => Error::AllocFailed,
            ghost_blas::Error::InvalidValue => Error::InvalidValue,
            ghost_blas::Error::NotSupported => Error::NotSupported,
            _ => Error::ExecFailed,
        }
    }
}

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, plan::ROWS, simple::ROWS, exec::ROWS, names::ABSENT];

/// The version torch 2.15 was built with.
const VERSION: Version = Version { major: 12, minor: 2, patch: 0 };

ghost_abi::rows! { Cufft;
    fn cufftGetVersion(version: Out<i32>) => get_version;
    fn cufftGetProperty(kind: i32, value: Out<i32>) => property;
}

fn get_version(version: Out<i32>) -> Result<(), Error> {
    let Version { major, minor, patch } = VERSION;
    Ok(version.set(major * 1000 + minor * 100 + patch)?)
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::InvalidValue)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(get_version), Ok(12_200));
        assert_eq!(ask(|value| property(0, value)), Ok(12));
    }

    #[test]
    fn all_that_torch_imports_is_implemented() {
        for name in [
            "cufftCreate",
            "cufftDestroy",
            "cufftSetAutoAllocation",
            "cufftSetStream",
            "cufftSetWorkArea",
            "cufftXtExec",
            "cufftXtMakePlanMany",
        ] {
            assert!(ghost_abi::find(TABLE, name).is_some_and(ghost_abi::Row::is_implemented), "{name}");
        }
    }
}
