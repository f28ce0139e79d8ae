//! Copies of one stretch of bytes, between any two places, and to and from variables.
//! A kind only says where to look; whether it is true is the driver's to find out.

use super::wait_for_thread;
use crate::Cudart;
use crate::codes::Error;
use crate::context;
use crate::driver::forward::*;
use crate::driver::*;
use crate::registry::REGISTRY;
use crate::types::*;

ghost_abi::rows! { Cudart;
    fn cudaMemcpy(dst: Ptr, src: Ptr, count: usize, kind: i32) => copy_now;
    fn cudaMemcpy_ptds(dst: Ptr, src: Ptr, count: usize, kind: i32) => copy_now_ptds;
    fn cudaMemcpyAsync(dst: Ptr, src: Ptr, count: usize, kind: i32, stream: Stream) => copy_async;
    fn cudaMemcpyAsync_ptsz(dst: Ptr, src: Ptr, count: usize, kind: i32, stream: PerThread) => copy_async;
    fn cudaMemcpyPeer(dst: Ptr, dst_device: i32, src: Ptr, src_device: i32, count: usize) => copy_peer;
    fn cudaMemcpyPeerAsync(dst: Ptr, dst_device: i32, src: Ptr, src_device: i32, count: usize, stream: Stream) => copy_peer_async;
    fn cudaMemcpyBatchAsync(dsts: *mut Ptr, srcs: *mut Ptr, sizes: *mut usize, count: usize, attrs: Ptr, attrs_idxs: *mut usize, num_attrs: usize, stream: Stream) => cuMemcpyBatchAsync_v2;
    fn cudaMemcpyBatchAsync_ptsz(dsts: *mut Ptr, srcs: *mut Ptr, sizes: *mut usize, count: usize, attrs: Ptr, attrs_idxs: *mut usize, num_attrs: usize, stream: PerThread) => cuMemcpyBatchAsync_v2;
    fn cudaMemcpyWithAttributesAsync(dst: Ptr, src: Ptr, size: usize, attr: Ptr, stream: Stream) => cuMemcpyWithAttributesAsync;
    fn cudaMemcpyWithAttributesAsync_ptsz(dst: Ptr, src: Ptr, size: usize, attr: Ptr, stream: PerThread) => cuMemcpyWithAttributesAsync;
    fn cudaMemcpyToSymbol(symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32) => to_symbol;
    fn cudaMemcpyToSymbol_ptds(symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32) => to_symbol_ptds;
    fn cudaMemcpyToSymbolAsync(symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32, stream: Stream) => to_symbol_async;
    fn cudaMemcpyToSymbolAsync_ptsz(symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: i32, stream: PerThread) => to_symbol_async;
    fn cudaMemcpyFromSymbol(dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32) => from_symbol;
    fn cudaMemcpyFromSymbol_ptds(dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32) => from_symbol_ptds;
    fn cudaMemcpyFromSymbolAsync(dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32, stream: Stream) => from_symbol_async;
    fn cudaMemcpyFromSymbolAsync_ptsz(dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: i32, stream: PerThread) => from_symbol_async;
}

/// `cudaMemcpyKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    /// Host to host, and what the addresses say.
    Unified,
}

impl Kind {
    pub(super) fn of(number: i32) -> Result<Self, Error> {
        match number {
            1 => Ok(Kind::HostToDevice),
            2 => Ok(Kind::DeviceToHost),
            3 => Ok(Kind::DeviceToDevice),
            0 | 4 => Ok(Kind::Unified),
            _ => Err(Error::InvalidMemcpyDirection),
        }
    }
}

fn copy_now(to: Ptr, from: Ptr, bytes: usize, kind: i32) -> Result<(), Error> {
    match Kind::of(kind)? {
        _ if bytes == 0 => Ok(()),
        Kind::HostToDevice => cuMemcpyHtoD_v2(to, from, bytes),
        Kind::DeviceToHost => cuMemcpyDtoH_v2(to, from, bytes),
        Kind::DeviceToDevice => cuMemcpyDtoD_v2(to, from, bytes),
        Kind::Unified => cuMemcpy(to, from, bytes),
    }
}

fn copy_now_ptds(to: Ptr, from: Ptr, bytes: usize, kind: i32) -> Result<(), Error> {
    wait_for_thread(copy_async(to, from, bytes, kind, PerThread::DEFAULT))
}

fn copy_async(to: Ptr, from: Ptr, bytes: usize, kind: i32, stream: impl Arg<Stream>) -> Result<(), Error> {
    match Kind::of(kind)? {
        _ if bytes == 0 => Ok(()),
        Kind::HostToDevice => cuMemcpyHtoDAsync_v2(to, from, bytes, stream),
        Kind::DeviceToHost => cuMemcpyDtoHAsync_v2(to, from, bytes, stream),
        Kind::DeviceToDevice => cuMemcpyDtoDAsync_v2(to, from, bytes, stream),
        Kind::Unified => cuMemcpyAsync(to, from, bytes, stream),
    }
}

fn copy_peer(to: Ptr, to_device: i32, from: Ptr, from_device: i32, bytes: usize) -> Result<(), Error> {
    cuMemcpyPeer(to, context::primary(to_device)?, from, context::primary(from_device)?, bytes)
}

fn copy_peer_async(
    to: Ptr,
    to_device: i32,
    from: Ptr,
    from_device: i32,
    bytes: usize,
    stream: Stream,
) -> Result<(), Error> {
    cuMemcpyPeerAsync(to, context::primary(to_device)?, from, context::primary(from_device)?, bytes, stream)
}

/// The address `offset` bytes into a variable, if `bytes` more are in it.
pub(crate) fn within(symbol: Ptr, offset: usize, bytes: usize) -> Result<Ptr, Error> {
    let (address, size) = REGISTRY.symbol(symbol)?;
    let end = offset.checked_add(bytes).ok_or(Error::InvalidValue)?;
    if end > size {
        return Err(Error::InvalidValue);
    }
    Ok(address.wrapping_byte_add(offset))
}

fn to_symbol(symbol: Ptr, from: Ptr, bytes: usize, offset: usize, kind: i32) -> Result<(), Error> {
    copy_now(within(symbol, offset, bytes)?, from, bytes, kind)
}

fn to_symbol_ptds(symbol: Ptr, from: Ptr, bytes: usize, offset: usize, kind: i32) -> Result<(), Error> {
    copy_now_ptds(within(symbol, offset, bytes)?, from, bytes, kind)
}

fn to_symbol_async(
    symbol: Ptr,
    from: Ptr,
    bytes: usize,
    offset: usize,
    kind: i32,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    copy_async(within(symbol, offset, bytes)?, from, bytes, kind, stream)
}

fn from_symbol(to: Ptr, symbol: Ptr, bytes: usize, offset: usize, kind: i32) -> Result<(), Error> {
    copy_now(to, within(symbol, offset, bytes)?, bytes, kind)
}

fn from_symbol_ptds(to: Ptr, symbol: Ptr, bytes: usize, offset: usize, kind: i32) -> Result<(), Error> {
    copy_now_ptds(to, within(symbol, offset, bytes)?, bytes, kind)
}

fn from_symbol_async(
    to: Ptr,
    symbol: Ptr,
    bytes: usize,
    offset: usize,
    kind: i32,
    stream: impl Arg<Stream>,
) -> Result<(), Error> {
    copy_async(to, within(symbol, offset, bytes)?, bytes, kind, stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_that_does_not_exist_is_refused_before_the_driver_is_asked() {
        for kind in [-1, 5] {
            assert_eq!(copy_now(null(), null(), 8, kind), Err(Error::InvalidMemcpyDirection));
            assert_eq!(copy_async(null(), null(), 8, kind, null()), Err(Error::InvalidMemcpyDirection));
        }
    }

    #[test]
    fn copying_nothing_needs_no_driver() {
        assert_eq!(copy_now(null(), null(), 0, 1), Ok(()));
    }
}
