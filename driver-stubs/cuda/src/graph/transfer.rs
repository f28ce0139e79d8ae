//! Copy and fill nodes: boxes of rows, priced as one transfer, moved row by row in kept memory at every launch.

use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{In, InList, Out};
use ghost_model::cost::{self, CopyDirection, HostMemory, Operation};

use super::node::{Place, add, replace};
use super::params::{Copy3d, Fill, Side};
use super::{Body, NodeKind, Params, node_of};
use crate::copy::KEEP_BYTES;
use crate::core::Core;
use crate::driver::Driver;
use crate::ranges::Memory;
use crate::{Error, context, driver};

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Device(usize),
    Pinned,
    Pageable,
}

fn at(core: &Core, address: u64) -> At {
    match core.ranges.find(address) {
        Some(range) if matches!(range.memory, Memory::Device | Memory::Reserved) => At::Device(range.device),
        Some(_) => At::Pinned,
        None => At::Pageable,
    }
}

/// Whether `bytes` from `address` on may be touched: an allocation must hold all of it, and addresses kept for device
/// memory that hold no allocation are nobody's.
fn check(core: &Core, address: u64, bytes: u64) -> Result<(), Error> {
    let spaces = crate::ranges::BASE..crate::ranges::BASE + core.devices.len() as u64 * crate::ranges::DEVICE_SPAN;
    let fits = match core.ranges.find(address) {
        Some(range) if range.memory == Memory::Device => address - range.base + bytes <= range.bytes,
        Some(_) => true,
        None => address != 0 && !spaces.contains(&address),
    };
    if fits { Ok(()) } else { Err(Error::InvalidValue) }
}

const HOST: u32 = 1;
const ARRAY: u32 = 3;

impl Side {
    /// Address of a row.
    fn row(&self, y: usize, z: usize) -> u64 {
        let base = if self.kind == HOST { self.host } else { self.device };
        let rows = (self.z + z).wrapping_mul(self.height).wrapping_add(self.y + y);
        base.wrapping_add(rows.wrapping_mul(self.pitch) as u64).wrapping_add(self.x as u64)
    }
}

impl Copy3d {
    fn bytes(&self) -> Option<u64> {
        self.width.checked_mul(self.height)?.checked_mul(self.depth).map(|bytes| bytes as u64)
    }

    /// Moves what is kept. Runs in stream order under the lock.
    fn apply(&self, core: &mut Core) {
        for z in 0..self.depth {
            for y in 0..self.height {
                row(core, self.from.row(y, z), self.to.row(y, z), self.width as u64);
            }
        }
    }
}

fn row(core: &mut Core, from: u64, to: u64, bytes: u64) {
    match (at(core, from), at(core, to)) {
        (At::Device(_), At::Device(_)) => core.store.copy(to, from, bytes),
        (_, At::Device(_)) if bytes <= KEEP_BYTES => {
            // SAFETY: a node's host memory is the caller's to keep as long as the graph may be launched.
            core.store.write(to, unsafe { std::slice::from_raw_parts(from as *const u8, bytes as usize) });
        }
        (_, At::Device(_)) => core.store.zero(to, Some(bytes)),
        (At::Device(_), _) => {
            // SAFETY: as above.
            core.store.read(from, unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes as usize) });
        }
        // SAFETY: as above; the two may overlap as in memmove.
        _ => unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) },
    }
}

fn operation(from: At, to: At, bytes: u64) -> Operation {
    let (direction, host) = match (from, to) {
        (At::Device(a), At::Device(b)) if a == b => (CopyDirection::DeviceToDevice, At::Pinned),
        (At::Device(_), At::Device(_)) => (CopyDirection::PeerToPeer, At::Pinned),
        (At::Device(_), host) => (CopyDirection::DeviceToHost, host),
        (host, _) => (CopyDirection::HostToDevice, host),
    };
    let host = if host == At::Pageable { HostMemory::Pageable } else { HostMemory::Pinned };
    Operation::Copy(cost::Copy { bytes, direction, host })
}

/// A copy node. Arrays are refused, because there are none.
pub fn copy_body(driver: &Driver, core: &mut Core, copy: &Copy3d) -> Result<Body, Error> {
    if copy.from.kind == ARRAY || copy.to.kind == ARRAY {
        return Err(Error::NotSupported);
    }
    let bytes = copy.bytes().filter(|bytes| *bytes > 0).ok_or(Error::InvalidValue)?;
    let width = copy.width as u64;
    let last = (copy.height - 1, copy.depth - 1);
    for side in [&copy.from, &copy.to] {
        check(core, side.row(0, 0), width)?;
        check(core, side.row(last.0, last.1), width)?;
    }
    let (_, device) = context::current(core)?;
    let operation = operation(at(core, copy.from.row(0, 0)), at(core, copy.to.row(0, 0)), bytes);
    let priced = driver.price(core, device, &operation, bytes);
    let copy = *copy;
    let run = Arc::new(move |core: &mut Core| copy.apply(core));
    Ok(Body::Work { kind: NodeKind::Memcpy, priced, run, params: Params::Copy(Box::new(copy)) })
}

impl Fill {
    fn apply(&self, core: &mut Core) {
        for index in 0..self.height {
            let to = self.to + (index * self.pitch) as u64;
            match at(core, to) {
                At::Device(_) => core.store.fill(to, self.element, self.value, self.width as u64),
                At::Pinned => self.fill_host(to),
                At::Pageable => {}
            }
        }
    }

    fn fill_host(&self, to: u64) {
        let (bytes, element) = (self.value.to_ne_bytes(), self.element as usize);
        for index in 0..self.width {
            let to = (to + (index * element) as u64) as *mut u8;
            // SAFETY: pinned or managed memory of this process, which the caller says is `width` elements long.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, element) };
        }
    }
}

/// A fill node.
pub fn fill_body(driver: &Driver, core: &mut Core, fill: &Fill) -> Result<Body, Error> {
    let fill = *fill;
    let aligned = matches!(fill.element, 1 | 2 | 4) && fill.to.is_multiple_of(u64::from(fill.element));
    let row = fill.width.checked_mul(fill.element as usize).ok_or(Error::InvalidValue)?;
    let total = row.checked_mul(fill.height).ok_or(Error::InvalidValue)? as u64;
    if !aligned || total == 0 || fill.height > 1 && fill.pitch < row || at(core, fill.to) == At::Pageable {
        return Err(Error::InvalidValue);
    }
    check(core, fill.to, (fill.pitch * (fill.height - 1) + row) as u64)?;
    let (_, device) = context::current(core)?;
    let priced = driver.price(core, device, &Operation::Memset(cost::Memset { bytes: total }), total);
    let run = Arc::new(move |core: &mut Core| fill.apply(core));
    Ok(Body::Work { kind: NodeKind::Memset, priced, run, params: Params::Fill(fill) })
}

pub fn add_copy(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    params: In<Copy3d>,
    _context: *mut c_void,
) -> Result<(), Error> {
    let params = params.get()?;
    add(Place { node, graph, after, count }, |driver, core| copy_body(driver, core, &params))
}

pub fn add_fill(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    params: In<Fill>,
    _context: *mut c_void,
) -> Result<(), Error> {
    let params = params.get()?;
    add(Place { node, graph, after, count }, |driver, core| fill_body(driver, core, &params))
}

pub fn get_copy(node: *mut c_void, params: Out<Copy3d>) -> Result<(), Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Work { params: Params::Copy(copy), .. } => Ok(params.set(**copy)?),
        Body::Work { kind: NodeKind::Memcpy, .. } => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

pub fn get_fill(node: *mut c_void, params: Out<Fill>) -> Result<(), Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Work { params: Params::Fill(fill), .. } => Ok(params.set(*fill)?),
        Body::Work { kind: NodeKind::Memset, .. } => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

pub fn set_copy(node: *mut c_void, params: In<Copy3d>) -> Result<(), Error> {
    let params = params.get()?;
    replace(node, |driver, core, _| copy_body(driver, core, &params))
}

pub fn set_fill(node: *mut c_void, params: In<Fill>) -> Result<(), Error> {
    let params = params.get()?;
    replace(node, |driver, core, _| fill_body(driver, core, &params))
}
