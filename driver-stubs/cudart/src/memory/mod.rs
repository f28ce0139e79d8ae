//! Memory: allocating, copying, filling and asking what a pointer is.
//! The driver owns all of it; nothing here remembers an address.

pub mod alloc;
pub mod boxes;
pub mod copy;
pub mod fill;
pub mod pointer;
pub mod pool;

use crate::codes::Error;
use crate::driver::forward::cuStreamSynchronize;
use crate::types::PerThread;

/// Ends a blocking call that was put on the thread's default stream.
fn wait_for_thread(put: Result<(), Error>) -> Result<(), Error> {
    put?;
    cuStreamSynchronize(PerThread::DEFAULT)
}
