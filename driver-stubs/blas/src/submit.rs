//! The way from a library to a stream: libcuda's table, with its answers as cuBLAS statuses.
//! Nothing else in the two libraries talks to libcuda.

use crate::Error;
use ghost_table::{Operation, Table, table};
use std::ffi::{c_int, c_void};

/// A `cudaStream_t` or `CUstream`, never followed here; 0 is the legacy stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stream(pub usize);

// SAFETY: a stream is a number here, and any bits are one.
unsafe impl ghost_abi::Plain for Stream {}

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

/// libcuda's description of a two-dimensional copy, `CUDA_MEMCPY2D_v2`.
#[derive(Debug, Default)]
#[repr(C)]
struct Copy2d {
    from: Side,
    to: Side,
    width_bytes: usize,
    height: usize,
}

/// One side of it.
#[derive(Debug, Default)]
#[repr(C)]
struct Side {
    x_bytes: usize,
    y: usize,
    /// A `CUmemorytype`.
    memory: u32,
    host: usize,
    device: u64,
    array: usize,
    pitch_bytes: usize,
}

/// Copies `count` runs of `bytes` bytes between two addresses of any memory; without a stream it waits.
pub fn copy_rows(
    [from, to]: [u64; 2],
    pitches: [u64; 2],
    bytes: u64,
    count: u64,
    stream: Option<Stream>,
) -> Result<(), Error> {
    /// `CU_MEMORYTYPE_UNIFIED`: the address tells.
    const UNIFIED: u32 = 4;
    let side = |address, pitch: u64| Side {
        memory: UNIFIED,
        device: address,
        pitch_bytes: pitch.max(bytes) as usize,
        ..Side::default()
    };
    let [from_pitch, to_pitch] = pitches;
    let (from, to) = (side(from, from_pitch), side(to, to_pitch));
    let copy = Copy2d { from, to, width_bytes: bytes as usize, height: count as usize };
    let name = if stream.is_some() { c"cuMemcpy2DAsync_v2" } else { c"cuMemcpy2DUnaligned_v2" };
    let call = ghost_table::symbol(name).ok_or(Error::NotInitialized)?;
    let result = match stream {
        Some(stream) => {
            // SAFETY: the name fixes the signature.
            let call: unsafe extern "C" fn(*const Copy2d, *mut c_void) -> c_int = unsafe { std::mem::transmute(call) };
            // SAFETY: `copy` lives through the call; the caller of the library lends the memory it names.
            unsafe { call(&copy, stream.raw()) }
        }
        None => {
            // SAFETY: the name fixes the signature.
            let call: unsafe extern "C" fn(*const Copy2d) -> c_int = unsafe { std::mem::transmute(call) };
            // SAFETY: as above.
            unsafe { call(&copy) }
        }
    };
    if result == 0 { Ok(()) } else { Err(Error::MappingError) }
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

/// Writes `first`, `first + 1` and so on, `count` numbers of `bytes` (4 or 8) each, into device memory: pivots of a
/// factorisation that exchanges no rows, or a permutation that moves nothing. They are indices, so code that follows
/// them on the host must not find zeros. Comes at once, not in a stream's order; more than is kept reads zero.
pub fn write_sequence(address: u64, first: i64, count: u64, bytes: usize) {
    /// Bytes libcuda keeps of one operation; the rest would be built for nothing.
    const KEPT: u64 = 1 << 20;
    let Some(table) = table().filter(|_| address != 0 && count > 0) else { return };
    let length = count.saturating_mul(bytes as u64);
    if length > KEPT {
        // SAFETY: takes no pointer of ours; libcuda checks the address.
        unsafe { (table.write_zero)(address, length) };
        return;
    }
    let numbers = (first..).take(count as usize);
    let data: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes().into_iter().take(bytes)).collect();
    // SAFETY: `data` lives through the call; libcuda checks the address.
    unsafe { (table.write_backed)(address, data.as_ptr(), data.len()) };
}

/// Multiprocessors of this thread's device, as the driver tells; 1 without one.
pub fn multiprocessors() -> u32 {
    /// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
    const COUNT: c_int = 16;
    let (Some(table), Some(attribute)) = (table(), ghost_table::symbol(c"cuDeviceGetAttribute")) else {
        return 1;
    };
    // SAFETY: the name fixes the signature.
    let attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int = unsafe { std::mem::transmute(attribute) };
    let mut count = 1;
    // SAFETY: takes no pointers.
    let device = unsafe { (table.current_device)() };
    // SAFETY: `count` lives through the call.
    let result = unsafe { attribute(&mut count, COUNT, device.max(0)) };
    if result == 0 { count.max(1) as u32 } else { 1 }
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
    fn a_two_dimensional_copy_is_laid_out_as_libcuda_reads_it() {
        assert_eq!((size_of::<Copy2d>(), std::mem::offset_of!(Side, host)), (128, 24));
    }

    #[test]
    fn driver_results_become_statuses() {
        assert_eq!(answer(0), Ok(()));
        assert_eq!(answer(2), Err(Error::AllocFailed));
        assert_eq!(answer(3), Err(Error::NotInitialized));
        assert_eq!(answer(719), Err(Error::ExecutionFailed));
    }
}
