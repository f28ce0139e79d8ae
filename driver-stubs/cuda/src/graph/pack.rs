//! Arguments and limits of kernel nodes: as a launch packs and checks them, here for nodes that are built by hand.

use std::ffi::c_void;

use super::params::KernelV1;
use crate::Error;
use crate::driver::Driver;
use crate::module::{Function, Loaded};
use crate::price::Geometry;

/// What the hardware refuses: empty or oversized grids and blocks, too much shared memory, too many registers.
pub fn check(driver: &Driver, function: &Function, geometry: &Geometry) -> Result<(), Error> {
    let cuda = &driver.profile.cuda;
    let over = |given: [u32; 3], most: [u32; 3]| given.iter().zip(most).any(|(g, m)| *g == 0 || *g > m);
    let info = &function.loaded.info;
    let most = if info.max_threads == 0 { cuda.max_threads_per_block } else { info.max_threads };
    let threads = geometry.threads();
    let too_large = over(geometry.grid, cuda.max_grid_dim)
        || over(geometry.block, cuda.max_block_dim)
        || threads > u64::from(cuda.max_threads_per_block.min(most))
        || geometry.shared_bytes > function.max_dynamic_shared_bytes;
    if too_large {
        return Err(Error::InvalidValue);
    }
    let registers = u64::from(info.registers) * threads;
    if registers > u64::from(cuda.registers_per_block) { Err(Error::LaunchOutOfResources) } else { Ok(()) }
}

/// Copies the arguments into one buffer, as the image lays them out; empty if the image does not say.
pub fn pack(loaded: &Loaded, asked: &KernelV1) -> Result<Vec<u8>, Error> {
    if !asked.extra.is_null() {
        return unpack_extra(asked.extra);
    }
    let info = &loaded.info;
    if info.params.is_empty() {
        return Ok(Vec::new());
    }
    if asked.params.is_null() {
        return Err(Error::InvalidValue);
    }
    let mut packed = vec![0; info.param_bytes as usize];
    for (index, param) in info.params.iter().enumerate() {
        // SAFETY: the caller lends one pointer for each parameter of the kernel.
        let from = unsafe { asked.params.add(index).read_unaligned() };
        let range = param.offset as usize..param.offset as usize + param.bytes as usize;
        let to = packed.get_mut(range).filter(|_| !from.is_null()).ok_or(Error::InvalidValue)?;
        // SAFETY: each pointer leads to as many bytes as the kernel declares for its parameter.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }
    Ok(packed)
}

/// `extra`: pairs of tag and value; 1 = buffer, 2 = pointer to its size, 0 = end.
fn unpack_extra(extra: *const *mut c_void) -> Result<Vec<u8>, Error> {
    let (mut buffer, mut bytes) = (std::ptr::null::<u8>(), 0);
    for pair in 0..8 {
        // SAFETY: the caller ends the list with a zero tag; eight pairs is more than there are tags.
        let tag = unsafe { extra.add(2 * pair).read_unaligned() } as usize;
        if tag == 0 {
            break;
        }
        // SAFETY: every tag but the end is followed by a value.
        let value = unsafe { extra.add(2 * pair + 1).read_unaligned() };
        match tag {
            1 => buffer = value.cast(),
            // SAFETY: tag 2 is followed by a pointer to a size.
            2 if !value.is_null() => bytes = unsafe { value.cast::<usize>().read_unaligned() },
            _ => return Err(Error::InvalidValue),
        }
    }
    if bytes == 0 {
        return Ok(Vec::new());
    }
    if buffer.is_null() || bytes > 1 << 16 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the caller lends a buffer of the size it names.
    Ok(unsafe { std::slice::from_raw_parts(buffer, bytes) }.to_vec())
}
