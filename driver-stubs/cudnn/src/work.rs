//! What goes onto a stream: an operation's kind, shape and name, and the way to libcuda's table.
//! Nothing else in the library talks to libcuda.

use crate::{DataType, Error};
use ghost_table::{Kind, Operation, Range, Table, Type, table};
use std::ffi::{CStr, c_void};

/// A `cudaStream_t`, never followed here; 0 is the legacy stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stream(pub usize);

// SAFETY: a number.
unsafe impl ghost_abi::Plain for Stream {}

/// One operation without the memory it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub kind: Kind,
    pub input: Type,
    pub compute: Type,
    /// As [`Kind`] says.
    pub dims: [u64; 7],
    /// What profilers show.
    pub name: &'static CStr,
}

impl Work {
    /// A kernel that reads and writes so many bytes and does so many floating point operations.
    pub fn kernel(name: &'static CStr, of: DataType, [read, written, flops]: [u64; 3]) -> Work {
        /// What a block of 256 threads handles: four 16-byte accesses a thread.
        const BLOCK_BYTES: u64 = 16 * 1024;
        const THREADS: u64 = 256;
        let blocks = read.max(written).div_ceil(BLOCK_BYTES).max(1);
        let compute = match of.priced() {
            Type::F64 => Type::F64,
            _ => Type::F32,
        };
        Work {
            kind: Kind::Kernel,
            input: of.priced(),
            compute,
            dims: [read, written, flops, blocks, THREADS, 0, 0],
            name,
        }
    }

    /// `batch` products of m x k by k x n.
    pub fn product(name: &'static CStr, [m, n, k, batch]: [u64; 4], input: Type, compute: Type) -> Work {
        Work { kind: Kind::Gemm, input, compute, dims: [m, n, k, batch, 0, 0, 0], name }
    }

    fn operation(&self) -> Operation {
        let mut operation = Operation::new(self.kind, self.input, self.compute, &self.dims);
        operation.name = self.name.as_ptr();
        operation
    }

    /// Nanoseconds it would take alone on the current device as it is now.
    pub fn price_ns(&self) -> Result<u64, Error> {
        let table = table().ok_or(Error::NotInitialized)?;
        let mut cost_ns = 0;
        // SAFETY: both places live through the call.
        answer(unsafe { (table.price)(&self.operation(), &mut cost_ns) })?;
        Ok(cost_ns)
    }

    /// Puts it on a stream; afterwards `ranges` read zero. In a capturing stream it becomes a node.
    pub fn run(&self, stream: Stream, ranges: &[Range]) -> Result<(), Error> {
        let mut chunks = ranges.chunks(4);
        submit(stream, &writing(self.operation(), chunks.next().unwrap_or_default()))?;
        // An operation names at most four ranges: the rest follow with operations that take no time.
        for chunk in chunks {
            let rest = Work { kind: Kind::Delay, dims: [0; 7], ..*self };
            submit(stream, &writing(rest.operation(), chunk))?;
        }
        Ok(())
    }
}

fn writing(operation: Operation, ranges: &[Range]) -> Operation {
    ranges.iter().fold(operation, |operation, range| operation.writes(range.address, range.bytes))
}

fn submit(stream: Stream, operation: &Operation) -> Result<(), Error> {
    let table = table().ok_or(Error::NotInitialized)?;
    let raw: *mut c_void = std::ptr::with_exposed_provenance_mut(stream.0);
    // SAFETY: libcuda checks the stream and reads the operation before it returns.
    answer(unsafe { (table.enqueue)(raw, operation) })
}

/// Sees that this thread has a context on a device, as creating a handle does.
pub fn start_driver() -> Result<(), Error> {
    let table: &Table = table().ok_or(Error::NotInitialized)?;
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

/// A `CUresult` as a cuDNN status.
fn answer(result: i32) -> Result<(), Error> {
    match result {
        0 => Ok(()),
        1 => Err(Error::BadParam),
        2 => Err(Error::AllocFailed),
        3 | 4 | 100 | 201 => Err(Error::NotInitialized),
        _ => Err(Error::ExecutionFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_carries_its_name_shape_and_memory() {
        let work = Work::product(c"conv", [1, 2, 3, 4], Type::Bf16, Type::Bf16);
        let operation = writing(work.operation(), &[Range { address: 64, bytes: 8 }]);
        assert_eq!((operation.kind, operation.dims[3], operation.output_count), (Kind::Gemm as u32, 4, 1));
    }

    #[test]
    fn driver_results_become_statuses() {
        assert_eq!(
            [0, 1, 2, 3, 719].map(answer),
            [
                Ok(()),
                Err(Error::BadParam),
                Err(Error::AllocFailed),
                Err(Error::NotInitialized),
                Err(Error::ExecutionFailed)
            ]
        );
    }
}
