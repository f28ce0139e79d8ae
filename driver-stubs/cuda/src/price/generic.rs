//! Kernels of which nothing but the name and the grid is known: written by anyone.
//! A price from here is a guess within a factor of several; small grids end at the floor of a launch, about 2 us.
//!
//! Every thread is taken to read one vector of 16 bytes and to write one; Triton's threads, which usually hold 8 elements
//! of each of two or three operands, to read two. Loops inside a kernel are not seen: too little.

use super::Geometry;
use super::name::Name;
use super::traffic::{Traffic, VECTOR_BYTES};

/// An unknown kernel.
#[derive(Clone, Copy, Debug)]
pub struct Generic {
    vectors_read: u8,
    vectors_written: u8,
}

impl Generic {
    pub fn of(name: &Name) -> Generic {
        let (vectors_read, vectors_written) = match name.base {
            // They exist to be looked up, to wait or to set a flag.
            "EmptyKernel" | "spin_kernel" | "kernel_barrier" | "set_conditional_handle_kernel" => (0, 0),
            base if base.starts_with("triton_") => (2, 1),
            _ => (1, 1),
        };
        Generic { vectors_read, vectors_written }
    }

    /// What a launch moves.
    pub fn traffic(&self, geometry: &Geometry) -> Traffic {
        let vectors = geometry.blocks().saturating_mul(geometry.threads()).saturating_mul(VECTOR_BYTES);
        Traffic {
            bytes_read: vectors.saturating_mul(u64::from(self.vectors_read)),
            bytes_written: vectors.saturating_mul(u64::from(self.vectors_written)),
            flops: vectors / 2 * u64::from(self.vectors_read),
        }
    }
}
