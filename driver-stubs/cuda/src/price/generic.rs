//! Kernels of which nothing but the name and the grid is known: compiled by Triton, or by anyone.
//! A price from here is a guess within a factor of several; small grids end at the floor of a launch, about 2 us.
//!
//! Every thread is taken to read one vector of 16 bytes and to write one. Triton's pointwise and reduction kernels give
//! each thread 4 to 8 elements of each operand (Inductor's usual XBLOCK of 512 to 1024 on 4 warps, two or three
//! operands), so they are taken to read two vectors; loops over a reduction dimension are not seen: too little.

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
            base if base.starts_with("triton_red") || base.starts_with("triton_per") => (2, 0),
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
