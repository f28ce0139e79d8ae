//! Lenses: pointer arguments as C passes them, with safe methods.
//! Nothing else in a library follows a caller's pointer for data.
//!
//! One contract for all of them: *the C caller lends storage for what the argument's type says,
//! for the length of the call*. Only C, or [`ask`] in a test, can make a lens. Reads and writes
//! allow any alignment: Python callers hand out packed buffers.

use crate::{Plain, Versioned};
use std::ffi::{CStr, c_char};

/// What can be wrong with a lent pointer. Each library maps it in [`status!`](crate::status).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The pointer is null.
    Null,
    /// The caller's buffer is too short.
    Short,
    /// The version word names no struct we know.
    Version,
}

macro_rules! lens {
    ($(#[$meta:meta])* $name:ident <$t:ident>, $ptr:ty) => {
        $(#[$meta])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name<$t>($ptr);

        impl<$t> $name<$t> {
            /// # Safety
            /// `pointer` is null or lends storage as the lens says while it lives.
            pub const unsafe fn from_raw(pointer: $ptr) -> Self {
                Self(pointer)
            }

            /// Whether the caller passed null.
            pub fn is_null(&self) -> bool {
                self.0.is_null()
            }

            /// Fails when the caller passed null; for checks that come before any effect.
            pub fn check(&self) -> Result<(), Fault> {
                if self.0.is_null() { Err(Fault::Null) } else { Ok(()) }
            }
        }
    };
}

lens! {
    /// `T *out`: storage for one value, written and never read.
    Out<T>, *mut T
}
lens! {
    /// `T *out` that may be null when the caller does not want the value.
    MaybeOut<T>, *mut T
}
lens! {
    /// `const T *in`: one value, read and never written.
    In<T>, *const T
}
lens! {
    /// `const T *in` that may be null.
    MaybeIn<T>, *const T
}
lens! {
    /// `T *inout`: one value, read and then written.
    InOut<T>, *mut T
}
lens! {
    /// `const T *list`: as many values as another argument says.
    InList<T>, *const T
}
lens! {
    /// `T *list`: storage for as many values as another argument says.
    OutList<T>, *mut T
}

impl<T> Out<T> {
    /// Writes the value.
    pub fn set(&self, value: T) -> Result<(), Fault> {
        self.check()?;
        // SAFETY: not null, and the caller lends storage for one `T`.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }
}

impl<T> MaybeOut<T> {
    /// Writes the value if it is wanted.
    pub fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, and the caller lends storage for one `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

impl<T: Copy> In<T> {
    /// The caller's value.
    pub fn get(&self) -> Result<T, Fault> {
        self.check()?;
        // SAFETY: not null, and the caller lends one `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }
}

impl<T: Copy> MaybeIn<T> {
    /// The caller's value, if there is one.
    pub fn get(&self) -> Option<T> {
        // SAFETY: not null, and the caller lends one `T`.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
}

impl<T: Copy> InOut<T> {
    /// The caller's value.
    pub fn get(&self) -> Result<T, Fault> {
        self.check()?;
        // SAFETY: not null, and the caller lends one `T`.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Writes the answer.
    pub fn set(&self, value: T) -> Result<(), Fault> {
        self.check()?;
        // SAFETY: not null, and the caller lends storage for one `T`.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }
}

impl<T: Versioned> InOut<T> {
    /// The caller's struct once its version word is `T`'s; before that only the word is read.
    pub fn checked(&self) -> Result<T, Fault> {
        self.check()?;
        // SAFETY: not null; a versioned struct begins with its `u32` word.
        let word = unsafe { self.0.cast::<u32>().read_unaligned() };
        if word == T::VERSION { self.get() } else { Err(Fault::Version) }
    }
}

impl<T: Copy> InList<T> {
    /// The first `count` values; null is allowed when `count` is 0.
    pub fn get(&self, count: usize) -> Result<Vec<T>, Fault> {
        (0..count).map(|index| self.at(index)).collect()
    }

    /// One value; `index` is below the count the caller declared.
    pub fn at(&self, index: usize) -> Result<T, Fault> {
        self.check()?;
        // SAFETY: not null, and the caller lends as many values as it declared.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }
}

impl<T> OutList<T> {
    /// Writes all of `values`; `capacity` is what the caller declared. Too few places write
    /// nothing and are `Short`. Null is allowed when there is nothing to write.
    pub fn set(&self, capacity: usize, values: impl ExactSizeIterator<Item = T>) -> Result<(), Fault> {
        if values.len() > capacity {
            return Err(Fault::Short);
        }
        self.fill(capacity, values).map(|_| ())
    }

    /// Writes the values that fit and says how many.
    pub fn fill(&self, capacity: usize, values: impl Iterator<Item = T>) -> Result<usize, Fault> {
        let mut written = 0;
        for value in values.take(capacity) {
            self.check()?;
            // SAFETY: not null, and `written` is below the places the caller declared.
            unsafe { self.0.add(written).write_unaligned(value) };
            written += 1;
        }
        Ok(written)
    }
}

/// `char *text` beside a length argument.
#[derive(Debug)]
#[repr(transparent)]
pub struct Text(OutList<u8>);

impl Text {
    /// # Safety
    /// `pointer` is null or lends as many bytes as are later named as its capacity.
    pub const unsafe fn from_raw(pointer: *mut c_char) -> Self {
        // SAFETY: the same contract.
        Self(unsafe { OutList::from_raw(pointer.cast()) })
    }

    /// Fails when the caller passed null.
    pub fn check(&self) -> Result<(), Fault> {
        self.0.check()
    }

    /// Writes the text and its NUL, or nothing and `Short`.
    pub fn set(&self, capacity: usize, text: &str) -> Result<(), Fault> {
        self.check()?;
        let bytes = text.as_bytes();
        if bytes.len() >= capacity {
            return Err(Fault::Short);
        }
        self.0.fill(capacity, bytes.iter().copied().chain([0])).map(|_| ())
    }

    /// Writes as much as fits with its NUL, for functions that truncate.
    pub fn set_truncated(&self, capacity: usize, text: &str) -> Result<(), Fault> {
        self.check()?;
        let Some(room) = capacity.checked_sub(1) else {
            return Ok(());
        };
        self.0.fill(capacity, text.bytes().take(room).chain([0])).map(|_| ())
    }
}

/// `const char *text`, NUL-terminated.
#[derive(Debug)]
#[repr(transparent)]
pub struct CStrIn(*const c_char);

impl CStrIn {
    /// # Safety
    /// `pointer` is null or lends a NUL-terminated string.
    pub const unsafe fn from_raw(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    /// Whether the caller passed null.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The caller's string.
    pub fn get(&self) -> Result<&CStr, Fault> {
        if self.0.is_null() {
            return Err(Fault::Null);
        }
        // SAFETY: not null, and the caller lends a NUL-terminated string for the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// `T *` where several versions of `T` exist: look at the word, then choose.
#[derive(Debug)]
#[repr(transparent)]
pub struct AnyVersion(*mut u32);

impl AnyVersion {
    /// # Safety
    /// `pointer` is null or lends the struct its first word names.
    pub const unsafe fn from_raw(pointer: *mut u32) -> Self {
        Self(pointer)
    }

    /// The version word.
    pub fn word(&self) -> Result<u32, Fault> {
        if self.0.is_null() {
            return Err(Fault::Null);
        }
        // SAFETY: not null, and every versioned struct begins with this word.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The struct as `T`, if the caller's word says it is one.
    pub fn of<T: Versioned>(&self) -> Option<InOut<T>> {
        (self.word() == Ok(T::VERSION)).then_some(InOut(self.0.cast()))
    }
}

/// Calls a handler with storage for its answer and returns what it wrote. For tests: the storage
/// is leaked, so that no lens can outlive it.
pub fn ask<T: Plain, E>(handler: impl FnOnce(Out<T>) -> Result<(), E>) -> Result<T, E> {
    let place: *mut T = Box::leak(Box::new(T::zeroed()));
    handler(Out(place))?;
    // SAFETY: leaked above, and nobody else reads or writes it now.
    Ok(unsafe { place.read() })
}

/// As [`ask`], for a text of up to `capacity` bytes with its NUL.
pub fn ask_text<E>(capacity: usize, handler: impl FnOnce(Text, usize) -> Result<(), E>) -> Result<String, E> {
    let place: *mut u8 = vec![0_u8; capacity.max(1)].leak().as_mut_ptr();
    handler(Text(OutList(place)), capacity)?;
    // SAFETY: leaked above, all of it initialised, and its last byte is at least reachable.
    let bytes = unsafe { std::slice::from_raw_parts(place, capacity.max(1)) };
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}
