//! Stub of libcublasLt: descriptors are kept as the caller set them, a matmul is an operation on a stream.
//! It takes nothing from libcublas but the right to accept its handles.

#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

pub mod absent;
pub mod algorithm;
mod descriptor;
pub mod descriptors;
pub mod emulation;
pub mod helper;
pub mod logger;
pub mod matmul;
pub mod plan;
pub mod transform;

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[
    helper::ROWS,
    logger::ROWS,
    descriptors::ROWS,
    emulation::ROWS,
    algorithm::ROWS,
    matmul::ROWS,
    transform::ROWS,
    absent::ABSENT,
];

#[cfg(test)]
mod coverage;
