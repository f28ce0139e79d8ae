//! Logging switches: accepted, and nothing is ever logged.
//! It opens and writes no file.

use ghost_abi::CStrIn;
use ghost_blas::{CublasLt, Error, Ptr};

ghost_abi::rows! { CublasLt;
    fn cublasLtLoggerSetCallback(callback: usize) => set_callback;
    fn cublasLtLoggerSetFile(file: Ptr<u8>) => set_file;
    fn cublasLtLoggerOpenFile(path: CStrIn) => open_file;
    fn cublasLtLoggerSetLevel(level: i32) => set_level;
    fn cublasLtLoggerSetMask(mask: i32) => set_mask;
    fn cublasLtLoggerForceDisable() => disable;
}

fn set_callback(_callback: usize) -> Result<(), Error> {
    Ok(())
}

fn set_file(_file: Ptr<u8>) -> Result<(), Error> {
    Ok(())
}

fn open_file(path: CStrIn) -> Result<(), Error> {
    path.get()?;
    Ok(())
}

/// 0 (off) to 5 (every call).
fn set_level(level: i32) -> Result<(), Error> {
    if matches!(level, 0..=5) { Ok(()) } else { Err(Error::InvalidValue) }
}

fn set_mask(_mask: i32) -> Result<(), Error> {
    Ok(())
}

fn disable() -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_out_of_range_is_refused() {
        assert_eq!(
            (set_level(5), set_level(6), set_level(-1)),
            (Ok(()), Err(Error::InvalidValue), Err(Error::InvalidValue))
        );
    }
}
