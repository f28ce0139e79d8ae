//! Whether devices reach each other's memory.
//! The links and partitions behind the answer are the driver's business.

use crate::codes::Error;
use crate::driver::forward::*;
use crate::driver::{cuCtxDisablePeerAccess, cuCtxEnablePeerAccess};
use crate::{Cudart, context};

ghost_abi::rows! { Cudart;
    fn cudaDeviceCanAccessPeer(can_access_peer: *mut i32, device: i32, peer_device: i32) => cuDeviceCanAccessPeer;
    fn cudaDeviceEnablePeerAccess(peer_device: i32, flags: u32) => enable;
    fn cudaDeviceDisablePeerAccess(peer_device: i32) => disable;
    fn cudaDeviceGetP2PAttribute(value: *mut i32, attr: i32, src_device: i32, dst_device: i32) => cuDeviceGetP2PAttribute;
    fn cudaDeviceGetP2PAtomicCapabilities(capabilities: *mut u32, operations: *mut i32, count: u32, src_device: i32, dst_device: i32) => cuDeviceGetP2PAtomicCapabilities;
}

fn enable(peer: i32, flags: u32) -> Result<(), Error> {
    cuCtxEnablePeerAccess(context::primary(peer)?, flags)
}

fn disable(peer: i32) -> Result<(), Error> {
    cuCtxDisablePeerAccess(context::primary(peer)?)
}
