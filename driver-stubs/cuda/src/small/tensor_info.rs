//! PyTorch's TensorInfo as it lies among kernel parameters (ATen/cuda/detail/TensorInfo.cuh), 32-bit indices.
//! It reads shapes; it moves nothing.

use super::counters::Skipped;
use super::params::Params;

const MAX_DIMS: usize = 25;

/// Pointer, sizes and strides in elements; the last dimension runs fastest.
#[derive(Clone, Debug)]
pub(super) struct TensorInfo {
    pub(super) data: u64,
    dims: usize,
    sizes: [u32; MAX_DIMS],
    strides: [u32; MAX_DIMS],
}

impl TensorInfo {
    pub(super) const BYTES: u32 = 216;

    pub(super) fn read(params: Params<'_>, at: u32) -> Result<TensorInfo, Skipped> {
        let dims = params.u32(at + 208)? as usize;
        if dims > MAX_DIMS {
            return Err(Skipped::UnknownArgument);
        }
        let mut info = TensorInfo { data: params.u64(at)?, dims, sizes: [1; MAX_DIMS], strides: [0; MAX_DIMS] };
        for dim in 0..dims {
            info.sizes[dim] = params.u32(at + 8 + 4 * dim as u32)?.max(1);
            info.strides[dim] = params.u32(at + 108 + 4 * dim as u32)?;
        }
        Ok(info)
    }

    pub(super) fn elements(&self) -> u64 {
        self.sizes[..self.dims].iter().fold(1, |all, &size| all.saturating_mul(size.into()))
    }

    pub(super) fn offset(&self, mut linear: u64) -> i64 {
        let mut offset = 0;
        for dim in (0..self.dims).rev() {
            let size = u64::from(self.sizes[dim]);
            offset += (linear % size) as i64 * i64::from(self.strides[dim]);
            linear /= size;
        }
        offset
    }

    pub(super) fn stride(&self, dim: usize) -> Result<i64, Skipped> {
        self.strides.get(dim).map(|&stride| stride.into()).ok_or(Skipped::UnknownArgument)
    }
}
