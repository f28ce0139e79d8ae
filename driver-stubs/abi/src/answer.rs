//! What a handler may return, and what a function without one returns.
//! It decides no code: codes belong to the library.

use crate::{Fault, Library};

/// An error with a number in library `L`.
pub trait Status<L: Library> {
    /// The number C callers see; never the success value.
    fn status(self) -> i32;
}

impl<L: Library> Status<L> for Fault {
    fn status(self) -> i32 {
        match self {
            Fault::Null => L::INVALID_ARGUMENT,
            Fault::Short => L::TOO_SHORT,
            Fault::Version => L::VERSION_MISMATCH,
        }
    }
}

/// What the handler of a status row returns: `Result<(), E>`, or a status as it is.
pub trait Answer<L: Library> {
    /// The status C callers see.
    fn answer(self) -> i32;
}

impl<L: Library, E: Status<L>> Answer<L> for Result<(), E> {
    #[inline]
    fn answer(self) -> i32 {
        match self {
            Ok(()) => 0,
            Err(error) => error.status(),
        }
    }
}

impl<L: Library> Answer<L> for i32 {
    #[inline]
    fn answer(self) -> i32 {
        self
    }
}

/// What a row with an explicit return type answers without a handler and after a panic: null,
/// nothing, zero. A function whose zero means success must be a status row instead.
pub trait Blank {
    /// The value.
    const BLANK: Self;
}

impl<T> Blank for *const T {
    const BLANK: Self = std::ptr::null();
}

impl<T> Blank for *mut T {
    const BLANK: Self = std::ptr::null_mut();
}

impl<T> Blank for Option<T> {
    const BLANK: Self = None;
}

impl Blank for () {
    const BLANK: Self = ();
}

macro_rules! blank {
    ($($number:ty),*) => { $(impl Blank for $number { const BLANK: Self = 0 as $number; })* };
}
blank!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);
