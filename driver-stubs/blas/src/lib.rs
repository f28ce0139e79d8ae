//! What the stubs of the mathematical libraries share: types, shapes, handles and the way to a stream.
//! It exports no C function and keeps no state: each library has its own copy of it.

mod element;
mod gemm;
mod handle;
mod matrix;
mod object;
mod pointer;
mod submit;
mod types;

pub use element::{Complex32, Complex64, Element};
pub use gemm::{Gemm, kernel};
pub use handle::{Handle, Magic, Slots, Tagged};
pub use matrix::{Matrix, vector};
pub use object::{Kept, Object, Of};
pub use pointer::Ptr;
pub use submit::{Stream, copy_rows, first_pointers, multiprocessors, start_driver, submit, wait, write_sequence};
pub use types::{ComputeType, DataType};

ghost_abi::library! {
    /// The library `libcublas.so.13`.
    pub Cublas { name: "libcublas", not_supported: 15, panic: 14, invalid_argument: 7 }
}

ghost_abi::library! {
    /// The library `libcublasLt.so.13`.
    pub CublasLt { name: "libcublasLt", not_supported: 15, panic: 14, invalid_argument: 7 }
}

ghost_abi::status! {
    /// Why a call failed: a `cublasStatus_t`.
    pub Error for Cublas {
        NotInitialized = 1,
        AllocFailed = 3,
        InvalidValue = 7,
        ArchMismatch = 8,
        MappingError = 11,
        ExecutionFailed = 13,
        InternalError = 14,
        NotSupported = 15,
        LicenseError = 16,
    }
    faults: InvalidValue
}

impl ghost_abi::Status<CublasLt> for Error {
    fn status(self) -> i32 {
        self.code()
    }
}

/// The version both libraries report: major, minor, patch.
pub const VERSION: [i32; 3] = [13, 4, 1];

/// [`VERSION`] as one number.
pub const VERSION_NUMBER: i32 = VERSION[0] * 10_000 + VERSION[1] * 100 + VERSION[2];

/// The CUDA runtime both libraries say they were built with.
pub const CUDART_VERSION: usize = 13_020;

/// The C name of a status and a sentence about it.
pub fn status_texts(status: i32) -> [&'static std::ffi::CStr; 2] {
    match status {
        0 => [c"CUBLAS_STATUS_SUCCESS", c"success"],
        1 => [c"CUBLAS_STATUS_NOT_INITIALIZED", c"the library was not initialized"],
        3 => [c"CUBLAS_STATUS_ALLOC_FAILED", c"the resource allocation failed"],
        7 => [c"CUBLAS_STATUS_INVALID_VALUE", c"an unsupported value or parameter was passed to the function"],
        8 => [c"CUBLAS_STATUS_ARCH_MISMATCH", c"the function requires an architectural feature absent from the device"],
        11 => [c"CUBLAS_STATUS_MAPPING_ERROR", c"an access to GPU memory space failed"],
        13 => [c"CUBLAS_STATUS_EXECUTION_FAILED", c"the GPU program failed to execute"],
        14 => [c"CUBLAS_STATUS_INTERNAL_ERROR", c"an internal operation failed"],
        15 => [c"CUBLAS_STATUS_NOT_SUPPORTED", c"the functionality requested is not supported"],
        16 => [c"CUBLAS_STATUS_LICENSE_ERROR", c"an error was detected when checking the current licensing"],
        _ => [c"CUBLAS_STATUS_UNKNOWN", c"unknown status code"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_name() {
        for error in Error::ALL {
            assert_ne!(status_texts(error.code())[0], c"CUBLAS_STATUS_UNKNOWN", "{}", error.name());
        }
        assert_eq!(VERSION_NUMBER, 130_401);
    }
}
