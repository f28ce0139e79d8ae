//! The older API: a descriptor for each idea, a function for each operation.
//! What operations cost is in `product` and `work`; this only translates.

pub mod activation;
pub mod convolution;
pub mod ctc;
pub mod dropout;
pub mod elementwise;
pub mod filter;
pub mod memory;
mod network;
pub mod norm;
pub mod normalization;
pub mod pooling;
pub mod rnn;
pub mod rnn_data;
pub mod rnn_run;
pub mod search;
pub mod spatial;
pub mod tensor;
