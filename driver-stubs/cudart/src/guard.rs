//! What every call passes: forked children and exiting processes are refused, errors are remembered.
//! It holds no lock, so that a child of a process with locked locks can still be refused.

use crate::trace;
use ghost_abi::Row;
use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// `cudaErrorInitializationError`: the state of a child whose parent used the device.
const FORKED: i32 = 3;
/// `cudaErrorCudartUnloading`: the state while exit handlers run.
const UNLOADING: i32 = 4;

/// Errors that stay with a context: asking for them does not clear them.
const STICKY: [i32; 13] = [214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721];

/// 0, or what every call answers from now on.
static REFUSAL: AtomicI32 = AtomicI32::new(0);

thread_local! {
    static LAST_ERROR: Cell<i32> = const { Cell::new(0) };
}

/// Asked before each row with a status.
#[inline(always)]
pub(crate) fn enter(row: &'static Row) -> i32 {
    let refusal = REFUSAL.load(Relaxed);
    if refusal == 0 {
        trace::enter(row);
    }
    refusal
}

/// Sees each status on its way out.
#[inline(always)]
pub(crate) fn leave(row: &'static Row, status: i32) -> i32 {
    trace::leave(row, status);
    if status != 0 {
        LAST_ERROR.set(status);
    }
    status
}

/// This thread's last error.
pub(crate) fn peek() -> i32 {
    LAST_ERROR.get()
}

/// This thread's last error, cleared unless it is one that stays.
pub(crate) fn take() -> i32 {
    let last = peek();
    if !STICKY.contains(&last) {
        forget();
    }
    last
}

/// Clears this thread's last error, of whatever kind.
pub(crate) fn forget() {
    LAST_ERROR.set(0);
}

/// Whether exit handlers run.
pub(crate) fn is_unloading() -> bool {
    REFUSAL.load(Relaxed) == UNLOADING
}

/// Called once the driver runs: only then has a child something it must not touch, and an exiting
/// process something it must not wait for.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: both handlers store one number and cannot fail; a failed registration changes nothing.
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
            libc::atexit(at_exit);
        }
        trace::watch();
    });
}

unsafe extern "C" fn in_child() {
    REFUSAL.store(FORKED, Relaxed);
}

extern "C" fn at_exit() {
    REFUSAL.store(UNLOADING, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> &'static Row {
        crate::TABLE[0][0]
    }

    #[test]
    fn taking_the_last_error_clears_it_and_peeking_does_not() {
        leave(row(), 1);
        leave(row(), 0);
        assert_eq!((peek(), peek(), take(), take()), (1, 1, 1, 0));
    }

    #[test]
    fn an_error_of_the_context_stays_until_the_device_is_reset() {
        leave(row(), 719);
        assert_eq!((take(), take()), (719, 719));
        forget();
        assert_eq!(take(), 0);
    }

    #[test]
    fn a_thread_does_not_see_the_errors_of_another() {
        leave(row(), 2);
        assert_eq!(std::thread::spawn(take).join().expect("the thread ends"), 0);
        assert_eq!(take(), 2);
    }
}
