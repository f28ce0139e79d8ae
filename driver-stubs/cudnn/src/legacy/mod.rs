//! The older API: a descriptor for each idea, a function for each operation.
//! What operations cost is in `product` and `work`; this only translates.

pub mod tensor;
