//! Graphs. The driver keeps them; the runtime's parameter structs become the driver's here.
//! No graph is looked into.

pub mod capture;
pub mod copy;
pub mod node;
pub mod whole;
pub mod work;
