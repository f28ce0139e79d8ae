//! Stub of libcublas: every product is an operation on a stream, nothing is multiplied.
//! It owns handles only; streams, memory and prices are libcuda's.
#![allow(clippy::too_many_arguments, reason = "handlers take what C passes")]

#[macro_use]
mod family;

pub mod absent;
pub mod batched;
mod check;
mod context;
pub mod copy;
mod element;
pub mod gemm;
pub mod gemv;
pub mod grouped;
pub mod helper;
pub mod lapack;
pub mod legacy;
pub mod level1;
pub mod level2;
pub mod level3;
pub mod logger;
pub mod products;
pub mod rank;
pub mod reduce;
pub mod rotation;

/// Every function of the library.
pub static TABLE: ghost_abi::Table = &[
    helper::ROWS,
    logger::ROWS,
    copy::ROWS,
    level1::ROWS,
    reduce::ROWS,
    rotation::ROWS,
    gemv::ROWS,
    level2::ROWS,
    rank::ROWS,
    level3::ROWS,
    gemm::ROWS,
    products::ROWS,
    batched::ROWS,
    grouped::ROWS,
    lapack::ROWS,
    legacy::ROWS,
    absent::ABSENT,
];

#[cfg(test)]
mod coverage;
