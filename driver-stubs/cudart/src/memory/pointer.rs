//! What a pointer is: host, device, managed, or nothing CUDA knows.
//! It never looks at what the pointer points to.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::cuPointerGetAttributes;
use crate::types::*;
use ghost_abi::{Out, record};

ghost_abi::rows! { Cudart;
    fn cudaPointerGetAttributes(attributes: Out<PointerAttributes>, address: Ptr) => attributes;
}

record! {
    /// `cudaPointerAttributes`. Kind: 0 not CUDA's, 1 host, 2 device, 3 managed; device -2 = none.
    pub struct PointerAttributes: 88 bytes {
        pub kind: i32, pub device: i32, pub device_address: Ptr, pub host_address: Ptr, pub reserved: [u64; 8],
    }
}

const MANAGED: i32 = 3;

/// The driver's numbers of what is asked, in the order of the values below.
const MEMORY_TYPE: i32 = 2;
const DEVICE_POINTER: i32 = 3;
const HOST_POINTER: i32 = 4;
const IS_MANAGED: i32 = 8;
const DEVICE_ORDINAL: i32 = 9;

fn attributes(attributes: Out<PointerAttributes>, address: Ptr) -> Result<(), Error> {
    attributes.check()?;
    let mut asked = [MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, IS_MANAGED, DEVICE_ORDINAL];
    let (mut kind, mut managed, mut device) = (0_i32, 0_i32, -2_i32);
    let (mut device_address, mut host_address): (Ptr, Ptr) = (null(), null());
    let mut values: [Ptr; 5] = [
        (&raw mut kind).cast(),
        (&raw mut device_address).cast(),
        (&raw mut host_address).cast(),
        (&raw mut managed).cast(),
        (&raw mut device).cast(),
    ];
    cuPointerGetAttributes(asked.len() as u32, asked.as_mut_ptr(), values.as_mut_ptr(), address)?;
    if managed & 0xff != 0 {
        kind = MANAGED;
    }
    Ok(attributes.set(PointerAttributes { kind, device, device_address, host_address, reserved: [0; 8] })?)
}
