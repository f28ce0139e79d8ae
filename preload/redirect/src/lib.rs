//! `libghostrack-redirect.so`, loaded by LD_AUDIT: the dynamic linker asks it where a library is,
//! and for the names of the emulated libraries it answers "beside me".
//! It uses no libc and allocates nothing: it lives in every process, before everything else.
//!
//! Built under the cargo profile `bare` (panic = abort) it has no standard library. Under the
//! other profiles it is an ordinary crate, so that check, clippy and test work on the workspace.

#![cfg_attr(panic = "abort", no_std)]

mod directory;
mod memory;
mod names;
mod syscall;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_uint};
use directory::Directory;

/// The newest audit interface known here. An older glibc (before 2.35) offers 1.
const INTERFACE: c_uint = 2;

/// `LA_SER_ORIG`: the name as the program, or a library's NEEDED entry, gave it. The later calls
/// are the linker's own candidates for the same name.
const AS_ASKED: c_uint = 1;

/// State of this process's copy. The dynamic linker calls us under its load lock only, and
/// `la_version` before any other thread exists.
#[derive(Debug)]
struct State(UnsafeCell<Directory>);

// SAFETY: see the type: the load lock serialises every access.
unsafe impl Sync for State {}

static STATE: State = State(UnsafeCell::new(Directory::unknown()));

/// The linker's first call: which interface we speak. The directory is found now, because later
/// the program may have lost /proc by chroot.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn la_version(offered: c_uint) -> c_uint {
    // SAFETY: the first call into this library; nothing else runs.
    let state = unsafe { &mut *STATE.0.get() };
    state.locate(la_version as *const () as usize);
    offered.min(INTERFACE)
}

/// The linker looks for `name`; the answer is the path to open, or `name` itself.
///
/// # Safety
/// `name` is a NUL-terminated string, as the audit interface promises.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn la_objsearch(name: *mut c_char, _cookie: *mut usize, flag: c_uint) -> *mut c_char {
    if flag != AS_ASKED || name.is_null() {
        return name;
    }
    // SAFETY: not null, and NUL-terminated by the function's contract.
    let asked = unsafe { CStr::from_ptr(name) };
    let Some(stub) = names::stub_of(asked.to_bytes()) else { return name };
    // SAFETY: the load lock is held, and the linker copies a path before it asks for the next.
    let state = unsafe { &mut *STATE.0.get() };
    match state.file(stub) {
        Some(path) => path.as_ptr().cast_mut(),
        None => name,
    }
}

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    syscall::abort()
}
