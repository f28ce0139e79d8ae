//! Stub of libnvjpeg: headers are really read, pictures read zero, nothing is encoded.
//! It owns handles only; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

use ghost_abi::{Out, Version};

pub mod bitstream;
pub mod decode;
pub mod encoder;
mod header;
mod image;
pub mod objects;

ghost_abi::library! {
    /// The library `libnvjpeg.so.13`.
    pub Nvjpeg { name: "libnvjpeg", not_supported: 9, panic: 8, invalid_argument: 2 }
}

ghost_abi::status! {
    /// Why a call failed: a `nvjpegStatus_t`.
    pub Error for Nvjpeg {
        NotInitialized = 1,
        InvalidParameter = 2,
        BadJpeg = 3,
        JpegNotSupported = 4,
        AllocatorFailure = 5,
        ExecutionFailed = 6,
        ArchMismatch = 7,
        InternalError = 8,
        NotSupported = 9,
        IncompleteBitstream = 10,
    }
    faults: InvalidParameter
}

impl From<ghost_blas::Error> for Error {
    fn from(error: ghost_blas::Error) -> Error {
        match error {
            ghost_blas::Error::NotInitialized => Error::NotInitialized,
            ghost_blas::Error::AllocFailed => Error::AllocatorFailure,
            ghost_blas::Error::InvalidValue => Error::InvalidParameter,
            ghost_blas::Error::ArchMismatch => Error::ArchMismatch,
            ghost_blas::Error::NotSupported => Error::NotSupported,
            _ => Error::ExecutionFailed,
        }
    }
}

/// Every function of the library.
pub static TABLE: ghost_abi::Table =
    &[ROWS, objects::ROWS, bitstream::ROWS, decode::ROWS, encoder::ROWS, encoder::ABSENT];

/// The version of CUDA 13.2, and of the runtime it was built with.
const VERSION: Version = Version { major: 13, minor: 3, patch: 2 };
const CUDART: Version = Version { major: 13, minor: 2, patch: 0 };

ghost_abi::rows! { Nvjpeg;
    fn nvjpegGetProperty(kind: i32, value: Out<i32>) => property;
    fn nvjpegGetCudartProperty(kind: i32, value: Out<i32>) => cudart_property;
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::InvalidParameter)?)?)
}

fn cudart_property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(CUDART.property(kind).ok_or(Error::InvalidParameter)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_told_in_parts() {
        assert_eq!([0, 1, 2].map(|kind| ask(|value| property(kind, value))), [Ok(13), Ok(3), Ok(2)]);
        assert_eq!(ask(|value| property(3, value)), Err(Error::InvalidParameter));
    }

    #[test]
    fn every_name_is_exported_once() {
        let mut names: Vec<_> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), count), (81, 81));
    }
}
