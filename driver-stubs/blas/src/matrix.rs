//! Where a matrix or a vector lies in device memory.
//! It reads nothing: addresses are numbers here.

use crate::DataType;
use ghost_table::Range;

/// A matrix of `major` runs of `minor` elements each, `ld` elements apart, repeated `batch` times `stride` apart.
/// Column-major means a run is a column, row-major a row; memory does not care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    pub address: u64,
    pub kind: DataType,
    /// Elements of a run.
    pub minor: u64,
    /// Runs.
    pub major: u64,
    /// Elements from one run to the next.
    pub ld: u64,
    pub batch: u64,
    /// Elements from one matrix to the next; may be negative.
    pub stride: i64,
}

impl Matrix {
    /// The one stretch that covers it, with the gaps between its runs: an operation names at most four stretches,
    /// and what lies in a gap is as a rule a neighbour of the same tensor. `None` when it has no element.
    pub fn range(&self) -> Option<Range> {
        if self.address == 0 || self.minor == 0 || self.major == 0 || self.batch == 0 {
            return None;
        }
        let last_run = (self.major - 1).saturating_mul(self.ld);
        let one = last_run.saturating_add(self.minor);
        let hops = self.stride.unsigned_abs().saturating_mul(self.batch - 1);
        let start = match self.stride < 0 {
            true => self.address.checked_sub(self.kind.bytes(hops))?,
            false => self.address,
        };
        Some(Range { address: start, bytes: self.kind.bytes(one.saturating_add(hops)) })
    }
}

/// A vector of `n` elements, each `step` elements after the one before; a negative step walks the same memory.
pub fn vector(address: u64, kind: DataType, n: u64, step: i64) -> Option<Range> {
    Matrix { address, kind, minor: 1, major: n, ld: step.unsigned_abs(), batch: 1, stride: 0 }.range()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(minor: u64, major: u64, ld: u64) -> Matrix {
        Matrix { address: 0x1000, kind: DataType::R_32F, minor, major, ld, batch: 1, stride: 0 }
    }

    #[test]
    fn the_last_run_ends_with_its_last_element() {
        assert_eq!(matrix(3, 4, 8).range(), Some(Range { address: 0x1000, bytes: (3 * 8 + 3) * 4 }));
        assert_eq!(matrix(8, 4, 8).range(), Some(Range { address: 0x1000, bytes: 128 }));
    }

    #[test]
    fn a_batch_reaches_to_its_last_matrix_in_either_direction() {
        let batched = Matrix { batch: 3, stride: 100, ..matrix(8, 4, 8) };
        assert_eq!(batched.range(), Some(Range { address: 0x1000, bytes: 800 + 128 }));
        let backwards = Matrix { batch: 3, stride: -100, ..matrix(8, 4, 8) };
        assert_eq!(backwards.range(), Some(Range { address: 0x1000 - 800, bytes: 800 + 128 }));
        let same = Matrix { batch: 3, stride: 0, ..matrix(8, 4, 8) };
        assert_eq!(same.range(), Some(Range { address: 0x1000, bytes: 128 }));
    }

    #[test]
    fn an_empty_matrix_lies_nowhere() {
        assert_eq!(matrix(0, 4, 8).range(), None);
        assert_eq!(Matrix { address: 0, ..matrix(1, 1, 1) }.range(), None);
    }

    #[test]
    fn a_vector_spans_its_steps() {
        assert_eq!(vector(64, DataType::R_64F, 3, -2), Some(Range { address: 64, bytes: 5 * 8 }));
        assert_eq!(vector(64, DataType::R_64F, 3, 0), Some(Range { address: 64, bytes: 8 }));
    }
}
