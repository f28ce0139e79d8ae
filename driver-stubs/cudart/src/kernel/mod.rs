//! Kernels: registered, looked up, asked about and launched.
//! What a kernel costs and does is the driver's to say.

pub mod function;
pub mod launch;
pub mod library;
pub mod occupancy;
pub mod register;
pub mod symbol;
