//! Handles and descriptors that keep one value behind a lock: stale ones are errors, not crashes.
//! It knows no library: each names its own kinds with [`kept!`](crate::kept).

use crate::{Error, Handle, Magic, Slots, Tagged};
use std::sync::{Mutex, PoisonError};

/// What an object keeps. Implemented by [`kept!`](crate::kept).
pub trait Kept: Send + Sized + 'static {
    /// The first word of a live object of this kind.
    const MAGIC: u64;

    /// Where its objects live.
    fn places() -> &'static Slots<Object<Self>>;
}

/// What a handle of a [`Kept`] kind points to.
#[derive(Debug)]
#[repr(C)]
pub struct Object<T> {
    magic: Magic,
    held: Mutex<Option<T>>,
}

/// A handle or descriptor argument of kind `T`.
pub type Of<T> = Handle<Object<T>>;

// SAFETY: `repr(C)`, begins with its magic word, and `Slots` never frees a place.
unsafe impl<T: Kept> Tagged for Object<T> {}

impl<T: Kept> Handle<Object<T>> {
    /// A live object that keeps `value`.
    pub fn create(value: T) -> Self {
        let place = T::places().take(|| Object { magic: Magic::new(Magic::NONE), held: Mutex::new(None) });
        *place.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        place.magic.set(T::MAGIC);
        Handle::of(place)
    }

    /// Looks at, or changes, what it keeps. Do not ask the same object again inside.
    pub fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> Result<R, Error> {
        let object = self.get(T::MAGIC)?;
        let mut held = object.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_mut().map(look).ok_or(Error::NotInitialized)
    }

    /// Whether it is live; for arguments that are only checked.
    pub fn check(&self) -> Result<(), Error> {
        self.get(T::MAGIC).map(|_| ())
    }

    /// Ends it and gives back what it kept; of two threads that end it only one succeeds.
    pub fn destroy(&self) -> Result<T, Error> {
        let object = self.get(T::MAGIC)?;
        let value = object.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        let value = value.ok_or(Error::NotInitialized)?;
        object.magic.set(Magic::NONE);
        T::places().give(object);
        Ok(value)
    }
}

impl<T: Kept + Clone> Handle<Object<T>> {
    /// A copy of what it keeps.
    pub fn read(&self) -> Result<T, Error> {
        self.with(|value| value.clone())
    }
}

/// Names the kinds of object of a library: a type and the eight letters that mark a live one.
#[macro_export]
macro_rules! kept {
    ($($kind:ty: $letters:literal;)*) => { $(
        impl $crate::Kept for $kind {
            const MAGIC: u64 = u64::from_le_bytes(*$letters);

            fn places() -> &'static $crate::Slots<$crate::Object<Self>> {
                static PLACES: $crate::Slots<$crate::Object<$kind>> = $crate::Slots::new();
                &PLACES
            }
        }
    )* };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Lamp(u32);
    #[derive(Debug, Clone, PartialEq)]
    struct Door(u32);

    crate::kept! { Lamp: b"gh.lamp."; Door: b"gh.door."; }

    #[test]
    fn an_object_keeps_its_value_until_it_ends() {
        let lamp = Of::create(Lamp(1));
        assert_eq!(lamp.with(|lamp| lamp.0 += 1), Ok(()));
        assert_eq!(lamp.read(), Ok(Lamp(2)));
        assert_eq!(lamp.destroy(), Ok(Lamp(2)));
        assert_eq!((lamp.read(), lamp.destroy()), (Err(Error::NotInitialized), Err(Error::NotInitialized)));
    }

    #[test]
    fn one_kind_is_not_taken_for_another() {
        let door = Of::create(Door(1));
        let address = std::mem::size_of_val(&door);
        assert_eq!(address, size_of::<usize>());
        // SAFETY: both are one pointer; what it points to is checked before it is used.
        let lamp: Of<Lamp> = unsafe { std::mem::transmute(door) };
        assert_eq!(lamp.check(), Err(Error::NotInitialized));
        assert_eq!(door.check(), Ok(()));
    }
}
