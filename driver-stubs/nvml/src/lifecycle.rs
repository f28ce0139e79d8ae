//! Initialise, shut down, and what an error is called.
//! Which tray is attached, and how, is `session`'s business.

use std::ffi::c_char;

use crate::{Answer, Nvml, session};

ghost_abi::rows! { Nvml;
    fn nvmlInit() => init;
    fn nvmlInit_v2() => init;
    fn nvmlInitWithFlags(flags: u32) => init_with_flags;
    fn nvmlShutdown() => shutdown;
    fn nvmlErrorString(status: i32) -> *const c_char => error_string;
}

fn init() -> Answer {
    session::start()
}

/// Flags say what to do about GPUs that cannot be attached; every GPU of a tray can.
fn init_with_flags(_flags: u32) -> Answer {
    session::start()
}

fn shutdown() -> Answer {
    session::stop()
}

/// The real library's words: clients print them as they are.
fn error_string(status: i32) -> *const c_char {
    let words = match status {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"GPU access blocked by the operating system",
        18 => c"Driver/library version mismatch",
        19 => c"In use by another client",
        20 => c"Insufficient Memory",
        21 => c"No data",
        22 => c"vGPU ECC not supported",
        23 => c"Insufficient Resources",
        24 => c"Invalid Frequency",
        25 => c"Argument version mismatch",
        26 => c"Requested functionality has been deprecated",
        27 => c"System is not in ready state",
        28 => c"No supported GPUs were found",
        29 => c"Resource not in correct state to perform requested operation",
        _ => c"Unknown Error",
    };
    words.as_ptr()
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use crate::Error;

    #[test]
    fn a_library_without_a_tray_says_that_no_driver_is_loaded() {
        assert_eq!(super::shutdown(), Err(Error::Uninitialized));
        assert_eq!(crate::Gpu::of(0).open().unwrap_err(), Error::Uninitialized);
    }

    #[test]
    fn every_code_has_words() {
        for error in Error::ALL {
            // SAFETY: `error_string` returns static C strings.
            let words = unsafe { CStr::from_ptr(super::error_string(error.code())) };
            assert_eq!(words == c"Unknown Error", *error == Error::Unknown);
        }
    }
}
