//! libcuda.so.1: contexts, streams, memory and launches of one process. It alone owns in-process state; the other
//! stubs take it from the private table (`ghost-table`). Nothing is computed; it never prints.

pub mod fatbin;
pub mod price;
pub mod small;
