//! Reading a packed parameter buffer, and the shape that PyTorch's OffsetCalculator holds in it.
//! It trusts nothing: a word that is not there or a shape that does not fit is an error, never a panic.

use super::counters::Skipped;

/// Most dimensions of an OffsetCalculator (ATen/cuda/detail/OffsetCalculator.cuh).
const MAX_DIMS: usize = 25;
/// Most tensors of one calculator that are followed.
pub(super) const MAX_TENSORS: usize = 4;

/// The packed parameters of one launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params<'a>(pub(super) &'a [u8]);

impl<'a> Params<'a> {
    pub(super) fn bytes(self, at: u32, count: usize) -> Result<&'a [u8], Skipped> {
        let at = at as usize;
        self.0.get(at..at.saturating_add(count)).ok_or(Skipped::NoParameters)
    }

    pub(super) fn u8(self, at: u32) -> Result<u8, Skipped> {
        self.bytes(at, 1).map(|bytes| bytes[0])
    }

    pub(super) fn u32(self, at: u32) -> Result<u32, Skipped> {
        let mut word = [0; 4];
        word.copy_from_slice(self.bytes(at, 4)?);
        Ok(u32::from_le_bytes(word))
    }

    pub(super) fn u64(self, at: u32) -> Result<u64, Skipped> {
        let mut word = [0; 8];
        word.copy_from_slice(self.bytes(at, 8)?);
        Ok(u64::from_le_bytes(word))
    }
}

/// Bytes of an `OffsetCalculator<tensors, uint32_t>`: dims, 25 dividers of 12 bytes, 25 rows of strides.
pub(super) const fn calculator_bytes(tensors: u32) -> u32 {
    4 + MAX_DIMS as u32 * (12 + 4 * if tensors == 0 { 1 } else { tensors })
}

/// A shape that several tensors share, each with its strides; the first dimension runs fastest.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    dims: usize,
    sizes: [u32; MAX_DIMS],
    strides: [[u32; MAX_TENSORS]; MAX_DIMS],
}

impl Grid {
    /// Reads the calculator at `at`; its magic numbers must agree with its sizes, else it is something else.
    pub(super) fn read(params: Params<'_>, at: u32, tensors: u32) -> Result<Grid, Skipped> {
        let dims = params.u32(at)? as usize;
        if dims > MAX_DIMS || tensors as usize > MAX_TENSORS {
            return Err(Skipped::UnknownArgument);
        }
        let mut grid = Grid { dims, sizes: [1; MAX_DIMS], strides: [[0; MAX_TENSORS]; MAX_DIMS] };
        for dim in 0..dims {
            let divider = at + 4 + 12 * dim as u32;
            let size = params.u32(divider)?;
            if !divides(size, params.u32(divider + 4)?, params.u32(divider + 8)?) {
                return Err(Skipped::UnknownArgument);
            }
            grid.sizes[dim] = size;
            let row = at + 4 + 12 * MAX_DIMS as u32 + 4 * tensors.max(1) * dim as u32;
            for tensor in 0..tensors {
                grid.strides[dim][tensor as usize] = params.u32(row + 4 * tensor)?;
            }
        }
        Ok(grid)
    }

    pub(super) fn elements(&self) -> u64 {
        self.sizes[..self.dims].iter().fold(1, |all, &size| all.saturating_mul(size.into()))
    }

    /// Byte offset (if the strides are in bytes) of the farthest element of a tensor.
    pub(super) fn farthest(&self, tensor: usize) -> u64 {
        let far = |dim: usize| u64::from(self.sizes[dim] - 1) * u64::from(self.strides[dim][tensor]);
        (0..self.dims).map(far).sum()
    }

    /// Like `offset`, for strides that may be negative.
    pub(super) fn signed_offset(&self, mut linear: u64, tensor: usize) -> i64 {
        let mut offset = 0;
        for dim in 0..self.dims {
            let size = u64::from(self.sizes[dim]);
            offset += (linear % size) as i64 * i64::from(self.strides[dim][tensor] as i32);
            linear /= size;
        }
        offset
    }

    pub(super) fn offset(&self, mut linear: u64, tensor: usize) -> usize {
        let mut offset = 0;
        for dim in 0..self.dims {
            let size = u64::from(self.sizes[dim]);
            offset += linear % size * u64::from(self.strides[dim][tensor]);
            linear /= size;
        }
        offset as usize
    }
}

/// Whether the divider's magic number and shift are those of `size` (ATen/cuda/detail/IntegerDivider.cuh).
fn divides(size: u32, magic: u32, shift: u32) -> bool {
    if size == 0 || size > i32::MAX as u32 {
        return false;
    }
    let wanted = 32 - (size - 1).leading_zeros();
    let factor = ((1u64 << 32) * ((1u64 << wanted) - u64::from(size))) / u64::from(size) + 1;
    shift == wanted && u64::from(magic) == factor
}

#[cfg(test)]
pub(super) mod build {
    //! Parameter buffers as PyTorch lays them out, for tests.

    use super::*;

    /// An OffsetCalculator of these sizes; `strides[dim][tensor]`.
    pub(crate) fn calculator(sizes: &[u32], strides: &[&[u32]], tensors: usize) -> Vec<u8> {
        let mut out = (sizes.len() as u32).to_le_bytes().to_vec();
        for dim in 0..MAX_DIMS {
            let size = sizes.get(dim).copied().unwrap_or(0);
            let shift = if size > 0 { 32 - (size - 1).leading_zeros() } else { 0 };
            let magic =
                if size > 0 { ((1u64 << 32) * ((1u64 << shift) - u64::from(size))) / u64::from(size) + 1 } else { 0 };
            for word in [size, magic as u32, shift] {
                out.extend(word.to_le_bytes());
            }
        }
        for dim in 0..MAX_DIMS {
            for tensor in 0..tensors.max(1) {
                let stride = strides.get(dim).and_then(|row| row.get(tensor)).copied().unwrap_or(0);
                out.extend(stride.to_le_bytes());
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calculator_reads_back_and_finds_elements() {
        let bytes = build::calculator(&[3, 2], &[&[4, 8], &[12, 0]], 2);
        assert_eq!(bytes.len() as u32, calculator_bytes(2));
        let grid = Grid::read(Params(&bytes), 0, 2).unwrap();
        assert_eq!((grid.elements(), grid.farthest(0), grid.farthest(1)), (6, 20, 16));
        assert_eq!((grid.offset(4, 0), grid.offset(4, 1)), (16, 8));
    }

    #[test]
    fn anything_else_is_not_taken_for_a_calculator() {
        let mut bytes = build::calculator(&[3, 2], &[&[4], &[12]], 1);
        bytes[9] ^= 1;
        assert_eq!(Grid::read(Params(&bytes), 0, 1).unwrap_err(), Skipped::UnknownArgument);
        assert_eq!(Grid::read(Params(&bytes[..8]), 0, 1).unwrap_err(), Skipped::NoParameters);
    }
}
