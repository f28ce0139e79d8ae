//! `libcufile.so.0`, load-only: it says its version.
//! Everything else answers not supported and is counted.

#![forbid(unsafe_code)]

use ghost_abi::Out;
use std::ffi::{c_long, c_void};

mod names;

ghost_abi::library! {
    /// The library.
    pub CuFile { name: "libcufile", not_supported: 5007, panic: 5030, invalid_argument: 5022 }
}

ghost_abi::status! {
    /// Codes that are answered here.
    pub Error for CuFile { InvalidValue = 5022 } faults: InvalidValue
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, names::ABSENT];

/// As `cuFileGetVersion` of CUDA 13.2 counts it: major * 1000 + minor * 10.
const VERSION: i32 = 1170;

/// A transfer answers bytes, or minus a `CUfileOpError`: IO not supported.
const FAILED: isize = -5008;

ghost_abi::rows! { CuFile;
    fn cuFileGetVersion(version: Out<i32>) => get_version;
    fn cuFileHandleDeregister(file: *mut c_void) -> ();
    fn cuFileRead(file: *mut c_void, base: *mut c_void, size: usize, offset: i64, within: i64) -> isize = FAILED;
    fn cuFileWrite(file: *mut c_void, base: *const c_void, size: usize, offset: i64, within: i64) -> isize = FAILED;
    fn cuFileUseCount() -> c_long;
    fn cuFileBatchIODestroy(batch: *mut c_void) -> ();
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
