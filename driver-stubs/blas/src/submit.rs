//! The way from a library to a stream: libcuda's table, with its answers as cuBLAS statuses.
//! Nothing else in the two libraries talks to libcuda.

use crate::Error;
use ghost_table::{Operation, Table, table};
use std::ffi::{c_int, c_void};

/// A `cudaStream_t` or `CUstream`, never followed here; 0 is the legacy stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stream(pub usize);

impl Stream {
    fn raw(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

/// Puts an operation on a stream; in a capturing stream it becomes a node.
pub fn submit(stream: Stream, operation: &Operation) -> Result<(), Error> {
    let table = driver()?;
    // SAFETY: libcuda checks the stream and reads the operation before it returns.
    answer(unsafe { (table.enqueue)(stream.raw(), operation) })
}

/// Sees that this thread has a context on a device, as creating a handle does.
pub fn start_driver() -> Result<(), Error> {
    let table = driver()?;
    let mut count = 0;
    // SAFETY: `count` lives through the call.
    let status = unsafe { (table.device_count)(&mut count) };
    if status != 0 || count == 0 {
        return Err(Error::NotInitialized);
    }
    // SAFETY: takes no pointers.
    if unsafe { (table.current_device)() } >= 0 {
        return Ok(());
    }
    // SAFETY: takes no pointers.
    answer(unsafe { (table.use_device)(0) })
}

/// Waits for all that is on a stream, as a function does that returns a result to the host. A capturing stream has
/// nothing to wait for and refuses.
pub fn wait(stream: Stream) -> Result<(), Error> {
    let Some(synchronize) = ghost_table::symbol(c"cuStreamSynchronize") else {
        return Err(Error::NotInitialized);
    };
    // SAFETY: the name fixes the signature: it takes a stream and returns a `CUresult`.
    let synchronize: unsafe extern "C" fn(*mut c_void) -> c_int = unsafe { std::mem::transmute(synchronize) };
    // SAFETY: libcuda checks the stream.
    answer(unsafe { synchronize(stream.raw()) })
}

/// The first pointers of an array of `count` in device memory, as far as its bytes are kept; the rest are 0.
/// An operation names at most four outputs, so more would not be used.
pub fn first_pointers(array: u64, count: u64) -> [u64; 4] {
    let mut bytes = [0_u8; 32];
    let length = count.min(4) as usize * 8;
    if let Some(table) = table() {
        // SAFETY: `bytes` has room for `length` bytes; libcuda checks the address.
        let status = unsafe { (table.read_backed)(array, bytes.as_mut_ptr(), length) };
        if status != 0 {
            bytes = [0; 32];
        }
    }
    let (words, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

fn driver() -> Result<&'static Table, Error> {
    table().ok_or(Error::NotInitialized)
}

/// A `CUresult` as a cuBLAS status.
fn answer(result: i32) -> Result<(), Error> {
    match result {
        0 => Ok(()),
        1 => Err(Error::InvalidValue),
        2 => Err(Error::AllocFailed),
        3 | 4 | 100 | 201 => Err(Error::NotInitialized),
        _ => Err(Error::ExecutionFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_results_become_statuses() {
        assert_eq!(answer(0), Ok(()));
        assert_eq!(answer(2), Err(Error::AllocFailed));
        assert_eq!(answer(3), Err(Error::NotInitialized));
        assert_eq!(answer(719), Err(Error::ExecutionFailed));
    }
}
