//! The edge every C call crosses: count, guard, catch a panic, map the answer.
//! It allocates nothing and takes no lock unless something went wrong.

use crate::{Answer, Blank, Library, Row, missing};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// Panics caught at this library's edge so far.
pub fn panics() -> u64 {
    PANICS.load(Relaxed)
}

/// An implemented row that returns a status.
#[inline(always)]
pub fn status<L: Library, A: Answer<L>>(row: &'static Row, in_test: bool, handler: impl FnOnce() -> A) -> i32 {
    arrive(row, in_test);
    let call = || match L::enter(row) {
        0 => handler().answer(),
        refused => refused,
    };
    leave::<L>(row, caught(call).unwrap_or(L::PANIC))
}

/// An implemented row that returns anything else.
#[inline(always)]
pub fn value<R: Blank>(row: &'static Row, in_test: bool, handler: impl FnOnce() -> R) -> R {
    arrive(row, in_test);
    caught(handler).unwrap_or(R::BLANK)
}

/// A status row without a handler.
#[cold]
pub fn missing_status<L: Library>(row: &'static Row) -> i32 {
    missing::note(L::NAME, row);
    leave::<L>(row, L::NOT_SUPPORTED)
}

/// Any other row without a handler.
#[cold]
pub fn missing_value<L: Library, R: Blank>(row: &'static Row) -> R {
    missing::note(L::NAME, row);
    R::BLANK
}

/// A row without a handler that says itself what to answer.
#[cold]
pub fn missing_as<L: Library, R>(row: &'static Row, answer: R) -> R {
    missing::note(L::NAME, row);
    answer
}

#[inline(always)]
fn arrive(row: &'static Row, in_test: bool) {
    if row.count() == 0 && !in_test {
        silence();
    }
}

#[inline(always)]
fn leave<L: Library>(row: &'static Row, status: i32) -> i32 {
    caught(|| L::leave(row, status)).unwrap_or(status)
}

#[inline(always)]
fn caught<R>(call: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(value) => Some(value),
        Err(payload) => {
            panicked(payload);
            None
        }
    }
}

/// The payload is leaked: its destructor could panic again.
#[cold]
fn panicked(payload: Box<dyn std::any::Any + Send>) {
    PANICS.fetch_add(1, Relaxed);
    std::mem::forget(payload);
}

/// A library in somebody else's process does not print, so std's panic message goes unless
/// GHOSTRACK_LOG asks for it. std is linked into each library by itself: this is our copy's hook.
#[cold]
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("GHOSTRACK_LOG").is_none() {
            std::panic::set_hook(Box::new(|_| ()));
        }
    });
}
