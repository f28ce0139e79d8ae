//! Handles that stay readable after they are destroyed, so that a stale one is an error and not a crash.
//! What a handle means is its library's business.

use crate::Error;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The first word of every handle and descriptor of the two libraries. cuBLASLt takes a cuBLAS handle for its own.
#[derive(Debug)]
#[repr(transparent)]
pub struct Magic(AtomicU64);

impl Magic {
    /// A live `cublasHandle_t`.
    pub const CUBLAS: u64 = u64::from_le_bytes(*b"gh.cubla");
    /// A live `cublasLtHandle_t`.
    pub const CUBLAS_LT: u64 = u64::from_le_bytes(*b"gh.cblLt");
    /// Nothing lives here.
    pub const NONE: u64 = 0;

    /// A word that says `word`.
    pub const fn new(word: u64) -> Magic {
        Magic(AtomicU64::new(word))
    }

    /// What it says now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Makes it say something else.
    pub fn set(&self, word: u64) {
        self.0.store(word, Relaxed);
    }
}

/// A `repr(C)` struct that a handle points to.
///
/// # Safety
/// The type is `repr(C)`, its first field is a [`Magic`], and its places are never given back to the allocator.
pub unsafe trait Tagged: Sync + 'static {}

/// A handle argument. Only C, or [`Handle::of`], makes one.
#[derive(Debug)]
#[repr(transparent)]
pub struct Handle<T>(*const T);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

// SAFETY: a handle is one pointer, and any bits are one until it is checked.
unsafe impl<T> ghost_abi::Plain for Handle<T> {}

impl<T: Tagged> Handle<T> {
    /// The handle of a place.
    pub const fn of(place: &'static T) -> Self {
        Self(place)
    }

    /// No handle.
    pub const fn null() -> Self {
        Self(std::ptr::null())
    }

    /// Whether the caller passed null.
    pub const fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// What the first word says; null and misaligned pointers are no handles.
    pub fn magic(&self) -> Result<u64, Error> {
        if self.0.is_null() || !self.0.cast::<Magic>().is_aligned() {
            return Err(Error::NotInitialized);
        }
        // SAFETY: not null, aligned, and the C caller says it is a handle of ours: those begin with a magic word and
        // stay readable after they are destroyed.
        Ok(unsafe { &*self.0.cast::<Magic>() }.get())
    }

    /// What it points to, if its first word says `magic`.
    pub fn get(&self, magic: u64) -> Result<&'static T, Error> {
        if self.magic()? != magic {
            return Err(Error::NotInitialized);
        }
        // SAFETY: the word says that a `T` lives there, and `Tagged` that its place stays.
        Ok(unsafe { &*self.0 })
    }
}

/// Places of destroyed handles, taken again by the next ones; a place is never given back to the allocator.
#[derive(Debug)]
pub struct Slots<T: 'static>(Mutex<Vec<&'static T>>);

impl<T: Sync> Slots<T> {
    /// No places yet.
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// A place: an old one, or `fresh` in a new one.
    pub fn take(&self, fresh: impl FnOnce() -> T) -> &'static T {
        let old = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        old.unwrap_or_else(|| Box::leak(Box::new(fresh())))
    }

    /// Gives a place back.
    pub fn give(&self, place: &'static T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(place);
    }
}

impl<T: Sync> Default for Slots<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SAFETY: a `Magic` begins with itself, and the tests' places are never freed.
    unsafe impl Tagged for Magic {}

    #[test]
    fn null_crooked_and_destroyed_handles_are_refused() {
        assert_eq!(Handle::<Magic>::null().magic(), Err(Error::NotInitialized));
        assert_eq!(Handle::<Magic>(std::ptr::without_provenance(0x1001)).magic(), Err(Error::NotInitialized));
        let place: &'static Magic = Box::leak(Box::new(Magic::new(Magic::CUBLAS)));
        let handle = Handle::of(place);
        assert!(handle.get(Magic::CUBLAS).is_ok() && handle.get(Magic::CUBLAS_LT).is_err());
        place.set(Magic::NONE);
        assert!(handle.get(Magic::CUBLAS).is_err());
    }

    #[test]
    fn a_place_given_back_is_taken_next() {
        let slots = Slots::new();
        let first = slots.take(|| 1);
        let second = slots.take(|| 2);
        slots.give(first);
        assert_eq!((*slots.take(|| 3), *second, *slots.take(|| 4)), (1, 2, 4));
    }
}
