//! A pointer argument whose address matters as much as what is behind it: device memory, or host memory by mode.
//! Only [`Ptr::load`] and [`Ptr::store`] follow it, and their callers know that it is host memory.

use crate::Error;
use ghost_abi::Plain;

/// `T *` of a BLAS function: device memory, or one host value where the pointer mode says so. The contract of the
/// lenses in `ghost_abi` holds: *the C caller lends storage for what the argument's type says, for the call*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ptr<T>(*mut T);

impl<T> Ptr<T> {
    /// # Safety
    /// The pointer is never followed, or lends host storage for the values that `load` and `store` are asked for.
    pub const unsafe fn from_raw(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// The address as a number.
    pub fn address(&self) -> u64 {
        self.0 as u64
    }

    /// Whether the caller passed null.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The same address as bytes.
    pub fn bytes(&self) -> Ptr<u8> {
        Ptr(self.0.cast())
    }

    /// The pointer `count` values further on.
    pub fn at(&self, count: usize) -> Ptr<T> {
        Ptr(self.0.wrapping_add(count))
    }

    /// Fails when the caller passed null.
    pub fn check(&self) -> Result<(), Error> {
        if self.0.is_null() { Err(Error::InvalidValue) } else { Ok(()) }
    }
}

impl<T: Plain> Ptr<T> {
    /// The value at `index` of host memory.
    pub fn load(&self, index: usize) -> Result<T, Error> {
        self.check()?;
        // SAFETY: not null, and the caller lends as many values as its other arguments say.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// Writes one host value.
    pub fn store(&self, value: T) -> Result<(), Error> {
        self.check()?;
        // SAFETY: not null, and the caller lends storage for one value.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }
}

impl Ptr<u8> {
    /// Writes `bytes` zeros to host memory.
    pub fn clear(&self, bytes: usize) -> Result<(), Error> {
        self.check()?;
        // SAFETY: not null, and the caller lends as many bytes as its type argument says.
        unsafe { self.0.write_bytes(0, bytes) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_pointer_is_an_invalid_value() {
        // SAFETY: null is never followed.
        let null = unsafe { Ptr::<f32>::from_raw(std::ptr::null_mut()) };
        assert_eq!((null.load(0), null.store(1.0)), (Err(Error::InvalidValue), Err(Error::InvalidValue)));
    }

    #[test]
    fn a_host_value_is_read_and_written() {
        let mut value = [1_i32, 2];
        // SAFETY: `value` outlives the pointer.
        let pointer = unsafe { Ptr::from_raw(value.as_mut_ptr()) };
        assert_eq!((pointer.load(1), pointer.store(7)), (Ok(2), Ok(())));
        assert_eq!(value, [7, 2]);
    }
}
