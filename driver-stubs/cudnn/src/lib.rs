//! Stub of libcudnn: descriptors are kept, graphs are priced and put on a stream, nothing is computed.
//! It owns descriptors only; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

#[macro_use]
mod place;

pub mod about;
pub mod backend;
#[cfg(test)]
mod coverage;
mod data_type;
mod graph;
pub mod handle;
pub mod legacy;
mod names;
mod product;
mod tensor;
mod work;

pub use data_type::DataType;

ghost_abi::library! {
    /// The library `libcudnn.so.9`.
    pub Cudnn { name: "libcudnn", not_supported: 3000, panic: 4000, invalid_argument: 2000, leave: about::remember }
}

ghost_abi::status! {
    /// Why a call failed: a `cudnnStatus_t`.
    pub Error for Cudnn {
        NotInitialized = 1001,
        BadParam = 2000,
        NotSupported = 3000,
        InternalError = 4000,
        AllocFailed = 4003,
        ExecutionFailed = 5000,
    }
    faults: BadParam
}

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[
    about::ROWS,
    handle::ROWS,
    backend::ROWS,
    backend::run::ROWS,
    legacy::tensor::ROWS,
    legacy::filter::ROWS,
    legacy::convolution::ROWS,
    legacy::search::ROWS,
    legacy::norm::ROWS,
    legacy::normalization::ROWS,
    legacy::activation::ROWS,
    legacy::pooling::ROWS,
    legacy::elementwise::ROWS,
    legacy::dropout::ROWS,
    legacy::ctc::ROWS,
    legacy::spatial::ROWS,
    legacy::rnn::ROWS,
    legacy::rnn_data::ROWS,
    legacy::rnn_run::ROWS,
    names::ABSENT,
];
