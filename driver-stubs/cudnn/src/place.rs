//! Handles and the places they point to, which stay readable after destruction so that a stale handle is an error.
//! It does not know what a place holds.

use crate::Error;
use ghost_abi::{Out, Plain};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What a handle can point to.
pub trait Kept: Default + Send + 'static {
    /// First word of a live place.
    const MAGIC: u64;

    /// Places of destroyed handles, taken again by the next ones.
    fn free() -> &'static Free<Self>;
}

/// Says that handles point to a type, and by which eight letters a live one is known.
macro_rules! kept {
    ($type:ty, $magic:literal) => {
        impl $crate::place::Kept for $type {
            const MAGIC: u64 = u64::from_le_bytes(*$magic);

            fn free() -> &'static $crate::place::Free<Self> {
                static FREE: $crate::place::Free<$type> = $crate::place::Free::new();
                &FREE
            }
        }
    };
}

/// A place: never given back to the allocator.
#[derive(Debug)]
#[repr(C)]
pub struct Place<T> {
    magic: AtomicU64,
    value: Mutex<T>,
}

/// Unused places.
#[derive(Debug)]
pub struct Free<T: 'static>(Mutex<Vec<&'static Place<T>>>);

impl<T> Free<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> Default for Free<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A handle argument: only C, or [`Handle::new`], makes one.
#[derive(Debug)]
#[repr(transparent)]
pub struct Handle<T>(*const Place<T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

// SAFETY: a pointer may hold anything until somebody follows it.
unsafe impl<T> Plain for Handle<T> {}

// SAFETY: what it points to stays and is behind a lock.
unsafe impl<T: Send> Send for Handle<T> {}

impl<T: Kept> Handle<T> {
    /// No handle.
    pub const fn null() -> Self {
        Self(std::ptr::null())
    }

    /// Whether the caller passed null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// A live handle of `value`.
    pub fn new(value: T) -> Self {
        let old = T::free().0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let place = old.unwrap_or_else(|| {
            Box::leak(Box::new(Place { magic: AtomicU64::new(0), value: Mutex::new(T::default()) }))
        });
        *place.value.lock().unwrap_or_else(PoisonError::into_inner) = value;
        place.magic.store(T::MAGIC, Relaxed);
        // Handles also travel as plain bytes, in arrays of void pointers.
        std::ptr::from_ref(place).expose_provenance();
        Self(place)
    }

    /// A handle in an array of them that arrived as bytes.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(std::ptr::with_exposed_provenance(usize::from_le_bytes(bytes)))
    }

    /// Runs `body` on what the handle points to. Never call it inside another `with` of the same type: callers may
    /// pass one descriptor twice.
    pub fn with<R>(self, body: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        Ok(body(&mut self.place()?.value.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A copy of what the handle points to.
    pub fn value(self) -> Result<T, Error>
    where
        T: Clone,
    {
        self.with(|value| value.clone())
    }

    /// Ends it; its place is used again.
    pub fn end(self) -> Result<(), Error> {
        let place = self.place()?;
        if place.magic.swap(0, Relaxed) != T::MAGIC {
            return Err(Error::BadParam);
        }
        *place.value.lock().unwrap_or_else(PoisonError::into_inner) = T::default();
        T::free().0.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        Ok(())
    }

    fn place(self) -> Result<&'static Place<T>, Error> {
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(Error::BadParam);
        }
        // SAFETY: not null, aligned, and the C caller says it is a handle of ours: those begin with a magic word and
        // stay readable after they are destroyed.
        let magic = unsafe { &*self.0.cast::<AtomicU64>() };
        if magic.load(Relaxed) != T::MAGIC {
            return Err(Error::BadParam);
        }
        // SAFETY: the word says that a place of `T` lives there, and places stay.
        Ok(unsafe { &*self.0 })
    }
}

/// The handler of a `cudnnCreate...Descriptor`.
pub fn create<T: Kept>(handle: Out<Handle<T>>) -> Result<(), Error> {
    handle.check()?;
    Ok(handle.set(Handle::new(T::default()))?)
}

/// The handler of a `cudnnDestroy...Descriptor`; null is nothing to destroy.
pub fn destroy<T: Kept>(handle: Handle<T>) -> Result<(), Error> {
    if handle.is_null() { Ok(()) } else { handle.end() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Clone, PartialEq)]
    struct Number(i32);
    kept!(Number, b"gh.numbr");

    #[derive(Debug, Default)]
    struct Other;
    kept!(Other, b"gh.other");

    #[test]
    fn a_destroyed_null_or_foreign_handle_is_a_bad_parameter() {
        let handle = Handle::new(Number(7));
        assert_eq!(handle.value(), Ok(Number(7)));
        let foreign = Handle::<Other>(handle.0.cast());
        assert_eq!(foreign.end(), Err(Error::BadParam));
        assert_eq!(handle.end(), Ok(()));
        assert_eq!(handle.value(), Err(Error::BadParam));
        assert_eq!(handle.end(), Err(Error::BadParam));
        assert_eq!(
            (Handle::<Number>::null().value(), destroy(Handle::<Number>::null())),
            (Err(Error::BadParam), Ok(()))
        );
    }

    #[test]
    fn a_new_handle_starts_afresh_in_an_old_place() {
        let first = Handle::new(Other);
        assert_eq!(first.end(), Ok(()));
        assert!(ghost_abi::ask(create::<Other>).and_then(Handle::end).is_ok());
    }
}
