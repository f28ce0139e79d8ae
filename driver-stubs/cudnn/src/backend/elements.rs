//! `arrayOfElements` of a getter: bytes that are written, or handles of the caller's descriptors that are read.
//! It knows no type.

use ghost_abi::Fault;

/// `void *arrayOfElements`. The contract of the lenses in `ghost_abi` holds: the C caller lends storage for as many
/// elements as it asks for, for the length of the call.
#[derive(Debug)]
#[repr(transparent)]
pub struct Elements(*mut u8);

impl Elements {
    /// # Safety
    /// `pointer` is null or lends storage for the elements that are asked for.
    pub const unsafe fn from_raw(pointer: *mut u8) -> Self {
        Self(pointer)
    }

    /// Whether the caller passed null.
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes bytes to its begin; none to null.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        if self.0.is_null() && !bytes.is_empty() {
            return Err(Fault::Null);
        }
        if !bytes.is_empty() {
            // SAFETY: not null, and the caller lends storage for the elements it asked for.
            unsafe { self.0.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        Ok(())
    }

    /// The handle at `index`, below the count the caller asked for.
    pub fn word(&self, index: usize) -> Result<[u8; 8], Fault> {
        if self.0.is_null() {
            return Err(Fault::Null);
        }
        // SAFETY: not null, and the caller's array has handles for as many descriptors as it asked for.
        Ok(unsafe { self.0.cast::<[u8; 8]>().add(index).read_unaligned() })
    }
}
