//! Telling the process's owner library that an unimplemented function was called.
//! It never prints, and a miss that nobody takes is only counted.

use crate::Row;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Takes one first miss: library name and function name, both NUL-terminated and `'static`.
pub type Reporter = unsafe extern "C" fn(library: *const c_char, name: *const c_char);

static REPORTER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Installs where misses of this library go. Without it they go to `ghostrack_note_missing` of
/// the loaded libcuda, if there is one.
pub fn set_reporter(reporter: Reporter) {
    REPORTER.store(reporter as *mut c_void, Ordering::Release);
}

/// Counts a miss and reports a row's first one. Where nobody could be told, later misses try
/// again, each time after twice as many.
pub(crate) fn note(library: &CStr, row: &'static Row) {
    let nth = row.count() + 1;
    if row.reported.load(Ordering::Relaxed) || !nth.is_power_of_two() {
        return;
    }
    let Some(report) = reporter() else { return };
    if !row.reported.swap(true, Ordering::Relaxed) {
        // SAFETY: a reporter takes two NUL-terminated strings; both live as long as the library.
        unsafe { report(library.as_ptr(), row.c_name().as_ptr()) }
    }
}

fn reporter() -> Option<Reporter> {
    let mut address = REPORTER.load(Ordering::Acquire);
    if address.is_null() {
        address = from_libcuda();
        REPORTER.store(address, Ordering::Release);
    }
    // SAFETY: the pointer is null or was a `Reporter` in `set_reporter`, or is libcuda's function
    // of that signature; a null pointer is `None` of an optional function pointer.
    unsafe { std::mem::transmute::<*mut c_void, Option<Reporter>>(address) }
}

/// The handle is kept: a libcuda that was found must stay loaded.
fn from_libcuda() -> *mut c_void {
    // SAFETY: both strings are NUL-terminated; RTLD_NOLOAD runs no foreign code.
    unsafe {
        let libcuda = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if libcuda.is_null() {
            return ptr::null_mut();
        }
        libc::dlsym(libcuda, c"ghostrack_note_missing".as_ptr())
    }
}
