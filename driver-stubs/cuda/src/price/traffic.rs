//! What a launch moves and computes, before it becomes an operation of the model.
//! Sizes beyond what any device holds are cut here, so that a misread parameter cannot stop a stream for hours.

use ghost_model::cost::{DType, Kernel, Operation};

use super::Geometry;

/// Most that one block is believed to read, and to write.
const BLOCK_BYTES: u64 = 1 << 30;
/// Most arithmetic of one block: tens of milliseconds of one multiprocessor.
const BLOCK_FLOPS: u64 = 1 << 34;
/// More than the memory of any emulated GPU.
const MOST_BYTES: u64 = 1 << 38;
/// A fraction of a second of vector arithmetic.
const MOST_FLOPS: u64 = 1 << 44;
/// Bytes that a thread of an unknown kernel is taken to read, and to write: one vector of 16 bytes.
pub const VECTOR_BYTES: u64 = 16;

/// Bytes and arithmetic of one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub flops: u64,
}

impl Traffic {
    /// A kernel of which nothing but its grid is known: every thread reads one vector and writes one.
    pub fn by_grid(geometry: &Geometry) -> Traffic {
        let bytes = geometry.blocks().saturating_mul(geometry.threads()).saturating_mul(VECTOR_BYTES);
        Traffic { bytes_read: bytes, bytes_written: bytes, flops: bytes / 2 }
    }

    /// As an operation of the model in single precision.
    pub fn operation(self, geometry: &Geometry) -> Operation {
        let most_bytes = geometry.blocks().saturating_mul(BLOCK_BYTES).min(MOST_BYTES);
        Operation::Kernel(Kernel {
            bytes_read: self.bytes_read.min(most_bytes),
            bytes_written: self.bytes_written.min(most_bytes),
            flops: self.flops.min(geometry.blocks().saturating_mul(BLOCK_FLOPS).min(MOST_FLOPS)),
            dtype: DType::Fp32,
            grid_blocks: geometry.blocks(),
            threads_per_block: u32::try_from(geometry.threads()).unwrap_or(u32::MAX),
            blocks_per_sm: 0,
        })
    }
}
