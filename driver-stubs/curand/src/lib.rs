//! Stub of libcurand: device numbers are kernels on a stream and read zero; host numbers are random.
//! Its sequences are not NVIDIA's. It owns generators only; streams, memory and prices are libcuda's.

use ghost_abi::{Out, Version};

pub mod generate;
pub mod generator;
mod host;

ghost_abi::library! {
    /// The library `libcurand.so.10`. It has no code for "not supported": 999 is its internal error.
    pub Curand { name: "libcurand", not_supported: 999, panic: 999, invalid_argument: 104 }
}

ghost_abi::status! {
    /// Why a call failed: a `curandStatus_t`.
    pub Error for Curand {
        NotInitialized = 101,
        AllocationFailed = 102,
        TypeError = 103,
        OutOfRange = 104,
        LengthNotMultiple = 105,
        LaunchFailure = 201,
        InitializationFailed = 203,
        ArchMismatch = 204,
        InternalError = 999,
    }
    faults: OutOfRange
}

impl From<ghost_blas::Error> for Error {
    fn from(error: ghost_blas::Error) -> Error {
        match error {
            ghost_blas::Error::NotInitialized => Error::NotInitialized,
            ghost_blas::Error::AllocFailed => Error::AllocationFailed,
            ghost_blas::Error::InvalidValue => Error::OutOfRange,
            ghost_blas::Error::ArchMismatch => Error::ArchMismatch,
            _ => Error::LaunchFailure,
        }
    }
}

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, generator::ROWS, generate::ROWS, ABSENT];

// Tables of direction vectors and scramble constants: nothing here is quasi-random.
ghost_abi::absent! { Curand;
    curandGetDirectionVectors32 curandGetDirectionVectors64 curandGetScrambleConstants32 curandGetScrambleConstants64
}

/// The version of CUDA 13.2.
const VERSION: Version = Version { major: 10, minor: 4, patch: 5 };

ghost_abi::rows! { Curand;
    fn curandGetVersion(version: Out<i32>) => get_version;
    fn curandGetProperty(kind: i32, value: Out<i32>) => property;
}

fn get_version(version: Out<i32>) -> Result<(), Error> {
    let Version { major, minor, patch } = VERSION;
    Ok(version.set(major * 1000 + minor * 100 + patch)?)
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::OutOfRange)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_that_of_cuda_13_2() {
        assert_eq!(ask(get_version), Ok(10_405));
        assert_eq!((ask(|value| property(2, value)), ask(|value| property(3, value))), (Ok(5), Err(Error::OutOfRange)));
    }

    #[test]
    fn every_name_is_exported_once() {
        let mut names: Vec<_> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), TABLE.iter().copied().flatten().count()), (27, 27));
    }
}
