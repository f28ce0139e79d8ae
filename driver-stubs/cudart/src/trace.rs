//! Tells the driver's tracer of calls while a profiler listens. One load a call while none does; it keeps no record.

use ghost_abi::Row;
use ghost_table::trace::Domain;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);

/// Follows the driver's tracing from now on; called once the driver runs.
pub(crate) fn watch() {
    if let Some(table) = ghost_table::table() {
        // SAFETY: `switch` may be called at any time.
        unsafe { (table.watch_tracing)(switch) };
    }
}

unsafe extern "C" fn switch(on: u32) {
    ON.store(on != 0, Relaxed);
}

#[inline(always)]
pub(crate) fn enter(row: &'static Row) {
    if ON.load(Relaxed) {
        tell_enter(row);
    }
}

#[inline(always)]
pub(crate) fn leave(row: &'static Row, status: i32) {
    if ON.load(Relaxed) {
        tell_leave(row, status);
    }
}

#[cold]
fn tell_enter(row: &'static Row) {
    if let Some(table) = ghost_table::table() {
        // SAFETY: the row and its name live as long as the library, which is never unloaded.
        unsafe { (table.trace_enter)(key(row), Domain::Runtime as u32, row.c_name().as_ptr()) };
    }
}

#[cold]
fn tell_leave(row: &'static Row, status: i32) {
    if let Some(table) = ghost_table::table() {
        // SAFETY: the row and its name live as long as the library, which is never unloaded.
        unsafe { (table.trace_leave)(key(row), Domain::Runtime as u32, row.c_name().as_ptr(), status) };
    }
}

fn key(row: &'static Row) -> *const c_void {
    std::ptr::from_ref(row).cast()
}
