//! Stub of libcufile: files are read and written through host memory, as the compatible mode of the real one does.
//! There is no nvidia-fs driver here; what needs one answers "platform not supported" and is counted.

use ghost_abi::Out;

pub mod driver;
pub mod file;
mod names;

ghost_abi::library! {
    /// The library `libcufile.so.0`. A status is the first half of a `CUfileError_t`, returned in one register whose
    /// second half, the driver's code, is 0.
    pub CuFile { name: "libcufile", not_supported: 5007, panic: 5030, invalid_argument: 5022 }
}

ghost_abi::status! {
    /// Why a call failed: a `CUfileOpError`.
    pub Error for CuFile {
        DriverNotInitialized = 5001,
        DriverError = 5011,
        PointerInvalid = 5012,
        PointerRange = 5014,
        InvalidFileType = 5018,
        InvalidValue = 5022,
        AlreadyRegistered = 5023,
        NotRegistered = 5024,
        PermissionDenied = 5025,
        HandleNotRegistered = 5027,
        InternalError = 5030,
        NotSupported = 5007,
    }
    faults: InvalidValue
}

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, driver::ROWS, file::ROWS, names::ROWS, names::ABSENT];

/// As `cuFileGetVersion` of CUDA 13.2 counts it: major * 1000 + minor * 10.
const VERSION: i32 = 1170;

ghost_abi::rows! { CuFile;
    fn cuFileGetVersion(version: Out<i32>) => get_version;
}

fn get_version(version: Out<i32>) -> Result<(), Error> {
    Ok(version.set(VERSION)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn a_version_is_answered() {
        assert_eq!(ask(get_version), Ok(VERSION));
    }
}
