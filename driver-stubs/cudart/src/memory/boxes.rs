//! Copies of rectangles and boxes: the runtime's parameters become the driver's.
//! CUDA arrays are not emulated: a copy that names one is not supported.

use super::copy::Kind;
use super::wait_for_thread;
use crate::Cudart;
use crate::codes::Error;
use crate::context;
use crate::driver::*;
use crate::types::*;
use ghost_abi::{In, Plain, record};

ghost_abi::rows! { Cudart;
    fn cudaMemcpy2D(dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: i32) => copy_2d;
    fn cudaMemcpy2D_ptds(dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: i32) => copy_2d_ptds;
    fn cudaMemcpy2DAsync(dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: i32, stream: Stream) => copy_2d_async;
    fn cudaMemcpy2DAsync_ptsz(dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: i32, stream: PerThread) => copy_2d_async;
    fn cudaMemcpy3D(params: In<Box3d>) => copy_3d;
    fn cudaMemcpy3D_ptds(params: In<Box3d>) => copy_3d_ptds;
    fn cudaMemcpy3DAsync(params: In<Box3d>, stream: Stream) => copy_3d_async;
    fn cudaMemcpy3DAsync_ptsz(params: In<Box3d>, stream: PerThread) => copy_3d_async;
    fn cudaMemcpy3DPeer(params: In<PeerBox3d>) => copy_3d_peer;
    fn cudaMemcpy3DPeer_ptds(params: In<PeerBox3d>) => copy_3d_peer_ptds;
    fn cudaMemcpy3DPeerAsync(params: In<PeerBox3d>, stream: Stream) => copy_3d_peer_async;
    fn cudaMemcpy3DPeerAsync_ptsz(params: In<PeerBox3d>, stream: PerThread) => copy_3d_peer_async;
}

record! {
    /// `cudaMemcpy3DParms`.
    pub struct Box3d: 160 bytes {
        pub from_array: Handle, pub from_position: Position, pub from: Pitched,
        pub to_array: Handle, pub to_position: Position, pub to: Pitched,
        pub extent: Extent, pub kind: i32,
    }
}
record! {
    /// `cudaMemcpy3DPeerParms`.
    pub struct PeerBox3d: 168 bytes {
        pub from_array: Handle, pub from_position: Position, pub from: Pitched, pub from_device: i32,
        pub to_array: Handle, pub to_position: Position, pub to: Pitched, pub to_device: i32,
        pub extent: Extent,
    }
}
record! {
    /// One end of the driver's `CUDA_MEMCPY2D`.
    pub struct End2d: 56 bytes {
        pub x_bytes: usize, pub y: usize, pub memory: u32, pub host: Ptr, pub device: Ptr, pub array: Handle,
        pub pitch: usize,
    }
}
record! {
    /// The driver's `CUDA_MEMCPY2D`.
    pub struct Driver2d: 128 bytes { pub from: End2d, pub to: End2d, pub width: usize, pub height: usize }
}
record! {
    /// One end of the driver's `CUDA_MEMCPY3D`, or of its peer form, which puts a context in `context`.
    pub struct End3d: 88 bytes {
        pub x_bytes: usize, pub y: usize, pub z: usize, pub level: usize, pub memory: u32,
        pub host: Ptr, pub device: Ptr, pub array: Handle, pub context: Handle, pub pitch: usize, pub height: usize,
    }
}
record! {
    /// The driver's `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
    pub struct Driver3d: 200 bytes { pub from: End3d, pub to: End3d, pub extent: Extent }
}

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const UNIFIED: u32 = 4;

/// The memory types of source and destination.
fn memory_types(kind: i32) -> Result<(u32, u32), Error> {
    Ok(match Kind::of(kind)? {
        Kind::HostToDevice => (HOST, DEVICE),
        Kind::DeviceToHost => (DEVICE, HOST),
        Kind::DeviceToDevice => (DEVICE, DEVICE),
        Kind::Unified => (UNIFIED, UNIFIED),
    })
}

/// The address in the field its memory type is read from: (host, device).
fn by_type(memory: u32, address: Ptr) -> (Ptr, Ptr) {
    if memory == HOST { (address, null()) } else { (null(), address) }
}

fn end_2d(memory: u32, address: Ptr, pitch: usize) -> End2d {
    let (host, device) = by_type(memory, address);
    End2d { memory, host, device, pitch, ..End2d::zeroed() }
}

fn end_3d(memory: u32, pitched: Pitched, at: Position) -> End3d {
    let (host, device) = by_type(memory, pitched.address);
    let (pitch, height) = (pitched.pitch, pitched.height);
    End3d { x_bytes: at.x, y: at.y, z: at.z, memory, host, device, pitch, height, ..End3d::zeroed() }
}

impl Driver3d {
    /// The driver's form of a box.
    pub(crate) fn of(params: Box3d) -> Result<Self, Error> {
        if !params.from_array.is_null() || !params.to_array.is_null() {
            return Err(Error::NotSupported);
        }
        let (from, to) = memory_types(params.kind)?;
        Ok(Self {
            from: end_3d(from, params.from, params.from_position),
            to: end_3d(to, params.to, params.to_position),
            extent: params.extent,
        })
    }

    /// The driver's form of one stretch of bytes.
    pub(crate) fn line(to: Ptr, from: Ptr, bytes: usize, kind: i32) -> Result<Self, Error> {
        let line = |address| Pitched { address, pitch: bytes, width: bytes, height: 1 };
        let extent = Extent { width: bytes, height: 1, depth: 1 };
        Self::of(Box3d { from: line(from), to: line(to), extent, kind, ..Box3d::zeroed() })
    }

    fn peer(params: PeerBox3d) -> Result<Self, Error> {
        let mut copy = Self::of(Box3d {
            from_array: params.from_array,
            from_position: params.from_position,
            from: params.from,
            to_array: params.to_array,
            to_position: params.to_position,
            to: params.to,
            extent: params.extent,
            kind: 3,
        })?;
        copy.from.context = context::primary(params.from_device)?;
        copy.to.context = context::primary(params.to_device)?;
        Ok(copy)
    }
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn driver_2d(
    to: Ptr,
    to_pitch: usize,
    from: Ptr,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Result<Driver2d, Error> {
    if width > to_pitch.min(from_pitch) {
        return Err(Error::InvalidPitchValue);
    }
    let (from_type, to_type) = memory_types(kind)?;
    Ok(Driver2d { from: end_2d(from_type, from, from_pitch), to: end_2d(to_type, to, to_pitch), width, height })
}

fn copy_2d(
    to: Ptr,
    to_pitch: usize,
    from: Ptr,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Result<(), Error> {
    let mut copy = driver_2d(to, to_pitch, from, from_pitch, width, height, kind)?;
    cuMemcpy2DUnaligned_v2((&raw mut copy).cast::<std::ffi::c_void>())
}

fn copy_2d_ptds(
    to: Ptr,
    to_pitch: usize,
    from: Ptr,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> Result<(), Error> {
    wait_for_thread(copy_2d_async(to, to_pitch, from, from_pitch, width, height, kind, PerThread::DEFAULT))
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn copy_2d_async(
    to: Ptr,
    to_pitch: usize,
    from: Ptr,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    let mut copy = driver_2d(to, to_pitch, from, from_pitch, width, height, kind)?;
    cuMemcpy2DAsync_v2((&raw mut copy).cast::<std::ffi::c_void>(), stream)
}

fn copy_3d(params: In<Box3d>) -> Result<(), Error> {
    let mut copy = Driver3d::of(params.get()?)?;
    cuMemcpy3D_v2((&raw mut copy).cast::<std::ffi::c_void>())
}

fn copy_3d_ptds(params: In<Box3d>) -> Result<(), Error> {
    wait_for_thread(copy_3d_async(params, PerThread::DEFAULT))
}

fn copy_3d_async(params: In<Box3d>, stream: impl Arg<Stream>) -> Result<(), Error> {
    let mut copy = Driver3d::of(params.get()?)?;
    cuMemcpy3DAsync_v2((&raw mut copy).cast::<std::ffi::c_void>(), stream)
}

fn copy_3d_peer(params: In<PeerBox3d>) -> Result<(), Error> {
    let mut copy = Driver3d::peer(params.get()?)?;
    cuMemcpy3DPeer((&raw mut copy).cast::<std::ffi::c_void>())
}

fn copy_3d_peer_ptds(params: In<PeerBox3d>) -> Result<(), Error> {
    wait_for_thread(copy_3d_peer_async(params, PerThread::DEFAULT))
}

fn copy_3d_peer_async(params: In<PeerBox3d>, stream: impl Arg<Stream>) -> Result<(), Error> {
    let mut copy = Driver3d::peer(params.get()?)?;
    cuMemcpy3DPeerAsync((&raw mut copy).cast::<std::ffi::c_void>(), stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> Ptr {
        std::ptr::without_provenance_mut(address)
    }

    #[test]
    fn the_kind_decides_which_field_holds_an_address() {
        let down = driver_2d(at(1), 8, at(2), 16, 4, 3, 2).expect("a copy");
        assert_eq!((down.from.memory, down.from.device, down.from.host), (DEVICE, at(2), null()));
        assert_eq!((down.to.memory, down.to.host, down.to.pitch), (HOST, at(1), 8));
        let either = Driver3d::line(at(1), at(2), 64, 4).expect("a copy");
        assert_eq!((either.from.memory, either.from.device, either.extent.width), (UNIFIED, at(2), 64));
    }

    #[test]
    fn a_row_wider_than_its_pitch_is_an_invalid_pitch() {
        assert_eq!(driver_2d(at(1), 8, at(2), 16, 9, 1, 1).err(), Some(Error::InvalidPitchValue));
    }

    #[test]
    fn a_copy_with_an_array_is_not_supported() {
        let params = Box3d { to_array: at(8), kind: 1, ..Box3d::zeroed() };
        assert_eq!(Driver3d::of(params).err(), Some(Error::NotSupported));
    }
}
