//! Start, versions and error texts. Attaching itself is `driver`'s.

use std::ffi::{CStr, c_char};

use ghost_abi::{CStrIn, Out};

use crate::error::TEXTS;
use crate::{Cuda, Error, driver};

ghost_abi::rows! { Cuda;
    fn cuInit(flags: u32) => init;
    fn cuDriverGetVersion(version: Out<i32>) => version;
    fn cuGetErrorString(code: i32, text: Out<*const c_char>) => error_string;
    fn cuGetErrorName(code: i32, text: Out<*const c_char>) => error_name;
    fn cuProfilerStart() => profiler;
    fn cuProfilerStop() => profiler;
    fn ghostrack_note_missing(library: CStrIn, function: CStrIn) -> () => note_missing;
}

fn init(flags: u32) -> Result<(), Error> {
    if flags != 0 {
        return Err(Error::InvalidValue);
    }
    driver::attach().map(|_| ())
}

/// Answers without cuInit, as the driver does; 13000 when no tray is there to ask.
fn version(version: Out<i32>) -> Result<(), Error> {
    let known = driver::get().map_or(13_000, |d| d.profile.product.cuda_driver_version as i32);
    Ok(version.set(known)?)
}

fn error_string(code: i32, text: Out<*const c_char>) -> Result<(), Error> {
    look_up(code, text, |(_, _, string)| string)
}

fn error_name(code: i32, text: Out<*const c_char>) -> Result<(), Error> {
    look_up(code, text, |(_, name, _)| name)
}

type Text = (i32, &'static CStr, &'static CStr);

fn look_up(code: i32, text: Out<*const c_char>, pick: fn(&Text) -> &'static CStr) -> Result<(), Error> {
    let found = TEXTS.iter().find(|(number, _, _)| *number == code);
    text.set(found.map_or(std::ptr::null(), |row| pick(row).as_ptr()))?;
    found.map(|_| ()).ok_or(Error::InvalidValue)
}

fn profiler() -> Result<(), Error> {
    driver::get().map(|_| ())
}

fn note_missing(library: CStrIn, function: CStrIn) {
    if let (Ok(library), Ok(function)) = (library.get(), function.get()) {
        crate::table::note_missing_names(library, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_this_library_answers_has_a_name_and_a_text() {
        for error in Error::ALL {
            assert!(TEXTS.iter().any(|(code, _, _)| *code == error.code()), "{error:?}");
        }
    }

    #[test]
    fn an_unknown_code_has_no_text() {
        assert!(ghost_abi::ask(|out| error_name(12_345, out).or(Ok::<(), Error>(()))).unwrap().is_null());
    }
}
