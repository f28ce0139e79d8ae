//! Tensor maps: descriptors of tiled device memory, encoded on the host and handed to kernels as a parameter.
//! The 128 bytes are this project's own; only kernels read them on hardware, and no kernel runs here.

use std::ffi::c_void;

use ghost_abi::{InList, InOut, Out};

use crate::{Cuda, Error, driver};

ghost_abi::rows! { Cuda;
    since 12000 fn cuTensorMapEncodeTiled(map: Out<TensorMap>, kind: u32, rank: u32, address: u64, dims: InList<u64>, strides: InList<u64>, box_dims: InList<u32>, steps: InList<u32>, interleave: u32, swizzle: u32, promotion: u32, fill: u32) => tiled;
    since 12000 fn cuTensorMapEncodeIm2col(map: Out<TensorMap>, kind: u32, rank: u32, address: u64, dims: InList<u64>, strides: InList<u64>, lower: InList<i32>, upper: InList<i32>, channels: u32, pixels: u32, steps: InList<u32>, interleave: u32, swizzle: u32, promotion: u32, fill: u32) => im2col;
    since 12080 fn cuTensorMapEncodeIm2colWide(map: *mut c_void, kind: u32, rank: u32, address: u64);
    since 12000 fn cuTensorMapReplaceAddress(map: InOut<TensorMap>, address: u64) => replace_address;
}

/// A descriptor: what this project keeps of it, in the size and alignment the driver API gives.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMap {
    magic: u64,
    address: u64,
    kind: u32,
    rank: u32,
    dims: [u64; 5],
    rest: [u64; 8],
}

const _: () = assert!(size_of::<TensorMap>() == 128);

const MAGIC: u64 = u64::from_le_bytes(*b"ghosttma");
const TYPES: u32 = 16;

/// What both encodings refuse: an unknown type, a rank out of range, an address that is not 16-byte aligned (null is allowed:
/// kernels put the address in later),
/// a dimension of zero or above 2^32, a stride that is not a multiple of 16.
fn encode(
    kind: u32,
    ranks: std::ops::RangeInclusive<u32>,
    rank: u32,
    address: u64,
    dims: &InList<u64>,
    strides: &InList<u64>,
) -> Result<TensorMap, Error> {
    driver::get()?;
    if kind >= TYPES || !ranks.contains(&rank) || !address.is_multiple_of(16) {
        return Err(Error::InvalidValue);
    }
    let mut map = TensorMap { magic: MAGIC, address, kind, rank, dims: [0; 5], rest: [0; 8] };
    for (index, place) in map.dims.iter_mut().take(rank as usize).enumerate() {
        *place = dims.at(index)?;
        if *place == 0 || *place > 1 << 32 {
            return Err(Error::InvalidValue);
        }
    }
    for index in 0..rank as usize - 1 {
        let stride = strides.at(index)?;
        if !stride.is_multiple_of(16) || stride >= 1 << 40 {
            return Err(Error::InvalidValue);
        }
    }
    Ok(map)
}

#[expect(clippy::too_many_arguments, reason = "a C signature")]
fn tiled(
    map: Out<TensorMap>,
    kind: u32,
    rank: u32,
    address: u64,
    dims: InList<u64>,
    strides: InList<u64>,
    box_dims: InList<u32>,
    steps: InList<u32>,
    interleave: u32,
    swizzle: u32,
    _promotion: u32,
    fill: u32,
) -> Result<(), Error> {
    map.check()?;
    let encoded = encode(kind, 1..=5, rank, address, &dims, &strides)?;
    for index in 0..rank as usize {
        let (side, step) = (box_dims.at(index)?, steps.at(index)?);
        if side == 0 || side > 256 || step == 0 || step > 8 {
            return Err(Error::InvalidValue);
        }
    }
    if interleave > 2 || swizzle > 6 || fill > 1 {
        return Err(Error::InvalidValue);
    }
    Ok(map.set(encoded)?)
}

#[expect(clippy::too_many_arguments, reason = "a C signature")]
fn im2col(
    map: Out<TensorMap>,
    kind: u32,
    rank: u32,
    address: u64,
    dims: InList<u64>,
    strides: InList<u64>,
    lower: InList<i32>,
    upper: InList<i32>,
    channels: u32,
    pixels: u32,
    _steps: InList<u32>,
    interleave: u32,
    swizzle: u32,
    _promotion: u32,
    fill: u32,
) -> Result<(), Error> {
    map.check()?;
    lower.check()?;
    upper.check()?;
    let encoded = encode(kind, 3..=5, rank, address, &dims, &strides)?;
    if channels == 0 || channels > 256 || pixels == 0 || pixels > 1024 || interleave > 2 || swizzle > 6 || fill > 1 {
        return Err(Error::InvalidValue);
    }
    Ok(map.set(encoded)?)
}

fn replace_address(map: InOut<TensorMap>, address: u64) -> Result<(), Error> {
    let known = map.get()?;
    if known.magic != MAGIC || address == 0 || !address.is_multiple_of(16) {
        return Err(Error::InvalidValue);
    }
    Ok(map.set(TensorMap { address, ..known })?)
}
