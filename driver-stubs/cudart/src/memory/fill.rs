//! Filling memory with a byte, in lines, rectangles and boxes.
//! A box is filled slice by slice; the driver knows no boxes.

use super::wait_for_thread;
use crate::Cudart;
use crate::codes::Error;
use crate::driver::*;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaMemset(dev_ptr: Ptr, value: i32, count: usize) => fill;
    fn cudaMemset_ptds(dev_ptr: Ptr, value: i32, count: usize) => fill_ptds;
    fn cudaMemsetAsync(dev_ptr: Ptr, value: i32, count: usize, stream: Stream) => fill_async;
    fn cudaMemsetAsync_ptsz(dev_ptr: Ptr, value: i32, count: usize, stream: PerThread) => fill_async;
    fn cudaMemset2D(dev_ptr: Ptr, pitch: usize, value: i32, width: usize, height: usize) => fill_2d;
    fn cudaMemset2D_ptds(dev_ptr: Ptr, pitch: usize, value: i32, width: usize, height: usize) => fill_2d_ptds;
    fn cudaMemset2DAsync(dev_ptr: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: Stream) => fill_2d_async;
    fn cudaMemset2DAsync_ptsz(dev_ptr: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: PerThread) => fill_2d_async;
    fn cudaMemset3D(pitched_dev_ptr: Pitched, value: i32, extent: Extent) => fill_3d;
    fn cudaMemset3D_ptds(pitched_dev_ptr: Pitched, value: i32, extent: Extent) => fill_3d_ptds;
    fn cudaMemset3DAsync(pitched_dev_ptr: Pitched, value: i32, extent: Extent, stream: Stream) => fill_3d_async;
    fn cudaMemset3DAsync_ptsz(pitched_dev_ptr: Pitched, value: i32, extent: Extent, stream: PerThread) => fill_3d_async;
}

/// As `memset` takes it: the low byte counts.
fn byte(value: i32) -> u8 {
    value as u8
}

fn fill(address: Ptr, value: i32, bytes: usize) -> Result<(), Error> {
    if bytes == 0 { Ok(()) } else { cuMemsetD8_v2(address, byte(value), bytes) }
}

fn fill_ptds(address: Ptr, value: i32, bytes: usize) -> Result<(), Error> {
    wait_for_thread(fill_async(address, value, bytes, PerThread::DEFAULT))
}

fn fill_async(address: Ptr, value: i32, bytes: usize, stream: impl Arg<Stream>) -> Result<(), Error> {
    if bytes == 0 { Ok(()) } else { cuMemsetD8Async(address, byte(value), bytes, stream) }
}

fn fill_2d(address: Ptr, pitch: usize, value: i32, width: usize, height: usize) -> Result<(), Error> {
    cuMemsetD2D8_v2(address, pitch, byte(value), width, height)
}

fn fill_2d_ptds(address: Ptr, pitch: usize, value: i32, width: usize, height: usize) -> Result<(), Error> {
    wait_for_thread(fill_2d_async(address, pitch, value, width, height, PerThread::DEFAULT))
}

fn fill_2d_async(
    address: Ptr,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    cuMemsetD2D8Async(address, pitch, byte(value), width, height, stream)
}

fn fill_3d(pitched: Pitched, value: i32, extent: Extent) -> Result<(), Error> {
    slices(pitched, extent).try_for_each(|slice| fill_2d(slice, pitched.pitch, value, extent.width, extent.height))
}

fn fill_3d_ptds(pitched: Pitched, value: i32, extent: Extent) -> Result<(), Error> {
    wait_for_thread(fill_3d_async(pitched, value, extent, PerThread::DEFAULT))
}

fn fill_3d_async(pitched: Pitched, value: i32, extent: Extent, stream: impl Arg<Stream>) -> Result<(), Error> {
    let stream = stream.pass();
    slices(pitched, extent)
        .try_for_each(|slice| fill_2d_async(slice, pitched.pitch, value, extent.width, extent.height, stream))
}

/// Where each slice of a box begins.
fn slices(pitched: Pitched, extent: Extent) -> impl Iterator<Item = Ptr> {
    let slice_bytes = pitched.pitch.wrapping_mul(pitched.height);
    (0..extent.depth).map(move |z| pitched.address.wrapping_byte_add(z.wrapping_mul(slice_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_as_far_apart_as_rows_and_pitch_say() {
        let pitched = Pitched { address: std::ptr::without_provenance_mut(0x1000), pitch: 0x100, width: 8, height: 4 };
        let starts: Vec<usize> =
            slices(pitched, Extent { width: 8, height: 2, depth: 3 }).map(|slice| slice.addr()).collect();
        assert_eq!(starts, [0x1000, 0x1400, 0x1800]);
    }
}
