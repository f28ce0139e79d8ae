//! Device memory arguments, and running an operation that writes some of them.
//! It follows no address.

use crate::Error;
use crate::handle::Context;
use crate::place::Handle;
use crate::work::Work;
use ghost_table::Range;

/// `void *` of device memory, or of host memory that is never read here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Address(pub u64);

// SAFETY: a number.
unsafe impl ghost_abi::Plain for Address {}

impl Address {
    /// So many bytes from here; nothing when there is no memory.
    pub fn range(self, bytes: u64) -> Option<Range> {
        (self.0 != 0 && bytes != 0).then_some(Range { address: self.0, bytes })
    }

    /// Fails when the caller passed null.
    pub fn check(self) -> Result<(), Error> {
        if self.0 == 0 { Err(Error::BadParam) } else { Ok(()) }
    }
}

/// Runs `work` on the handle's stream; what it writes reads zero afterwards.
pub fn run(handle: Handle<Context>, work: &Work, writes: &[(Address, u64)]) -> Result<(), Error> {
    let stream = handle.value()?.stream;
    let ranges: Vec<Range> = writes.iter().filter_map(|&(address, bytes)| address.range(bytes)).collect();
    work.run(stream, &ranges)
}
