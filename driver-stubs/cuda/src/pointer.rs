//! What a pointer is: device, pinned, managed or unknown. Answers come from `ranges`; nothing changes here.

use std::ffi::c_void;

use ghost_abi::{InList, MaybeOut, Out};

use crate::core::Core;
use crate::ranges::{Memory, Range};
use crate::{Cuda, Error, driver, memory};

ghost_abi::rows! { Cuda;
    fn cuPointerGetAttribute(data: *mut c_void, attribute: i32, address: u64) => get_attribute;
    fn cuPointerGetAttributes(count: u32, attributes: InList<i32>, data: InList<*mut c_void>, address: u64) => get_attributes;
    fn cuPointerSetAttribute(value: *const c_void, attribute: i32, address: u64) => set_attribute;
    since 3020 fn cuMemGetAddressRange_v2(base: MaybeOut<u64>, bytes: MaybeOut<usize>, address: u64) => address_range;
}

const HOST: u32 = 1;
const DEVICE: u32 = 2;

/// The answer to one attribute, by its width.
enum Value {
    Word(u32),
    Long(u64),
}

impl Value {
    /// # Safety
    /// `data` is null or lends storage of this value's width.
    unsafe fn put(self, data: *mut c_void) -> Result<(), Error> {
        match self {
            // SAFETY: the caller's contract.
            Value::Word(value) => unsafe { Out::<u32>::from_raw(data.cast()) }.set(value)?,
            // SAFETY: the caller's contract.
            Value::Long(value) => unsafe { Out::<u64>::from_raw(data.cast()) }.set(value)?,
        }
        Ok(())
    }
}

fn value(core: &Core, attribute: i32, range: &Range, address: u64) -> Option<Value> {
    let device = range.memory == Memory::Device || range.memory == Memory::Reserved;
    let context = core.devices[range.device].primary.map_or(0, |handle| handle.0);
    Some(match attribute {
        1 => Value::Long(context),
        2 => Value::Word(if device || range.memory == Memory::Managed { DEVICE } else { HOST }),
        3 => Value::Long(address),
        4 if device => return None,
        4 => Value::Long(address),
        6 => Value::Word(1),
        7 | 20 => Value::Long(range.id),
        8 => Value::Word(u32::from(range.memory == Memory::Managed)),
        9 => Value::Word(range.device as u32),
        10 => Value::Word(u32::from(range.memory == Memory::Device)),
        11 | 19 => Value::Long(range.base),
        12 | 18 => Value::Long(range.bytes),
        13 => Value::Word(1),
        14 => Value::Long(0),
        15 | 21 => Value::Word(0),
        16 => Value::Word(3),
        17 => Value::Long(0),
        _ => return None,
    })
}

/// What cuPointerGetAttributes says of an address nobody knows: zeros, and -2 as ordinal.
fn unknown(attribute: i32) -> Option<Value> {
    Some(match attribute {
        2 | 6 | 8 | 10 | 13 | 15 | 16 | 21 => Value::Word(0),
        9 => Value::Word(-2_i32 as u32),
        1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => Value::Long(0),
        _ => return None,
    })
}

fn get_attribute(data: *mut c_void, attribute: i32, address: u64) -> Result<(), Error> {
    let core = driver::get()?.core();
    let range = core.ranges.find(address).ok_or(Error::InvalidValue)?;
    let value = value(&core, attribute, &range, address).ok_or(Error::InvalidValue)?;
    // SAFETY: the caller lends storage of the width this attribute has in the driver API.
    unsafe { value.put(data) }
}

fn get_attributes(count: u32, attributes: InList<i32>, data: InList<*mut c_void>, address: u64) -> Result<(), Error> {
    let core = driver::get()?.core();
    let range = core.ranges.find(address);
    for index in 0..count as usize {
        let (attribute, place) = (attributes.at(index)?, data.at(index)?);
        let known = range.as_ref().and_then(|r| value(&core, attribute, r, address));
        let value = known.or_else(|| unknown(attribute)).ok_or(Error::InvalidValue)?;
        // SAFETY: the caller lends storage of the width this attribute has in the driver API.
        unsafe { value.put(place) }?;
    }
    Ok(())
}

/// Only CU_POINTER_ATTRIBUTE_SYNC_MEMOPS can be set; synchronous operations already are.
fn set_attribute(value: *const c_void, attribute: i32, address: u64) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.ranges.find(address).ok_or(Error::InvalidValue)?;
    if value.is_null() || attribute != 6 { Err(Error::InvalidValue) } else { Ok(()) }
}

fn address_range(base: MaybeOut<u64>, bytes: MaybeOut<usize>, address: u64) -> Result<(), Error> {
    memory::address_range(address, &base, &bytes)
}
