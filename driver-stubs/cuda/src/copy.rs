//! Copies and memsets: which way they go, what they cost, what they leave in kept memory.
//! Host memory is touched only here and in `small`; large device data reads zero.

use std::ffi::c_void;

use ghost_abi::In;
use ghost_model::cost::{self, CopyDirection, HostMemory, Operation};
use ghost_table::trace::{Direction, Memory as Traced};

use crate::arena::Handle;
use crate::core::{Core, Moment};
use crate::driver::Driver;
use crate::ranges::Memory;
use crate::stream::{Legacy, Named, PerThread};
use crate::{Cuda, Error, driver, graph, label, stream, trace};

ghost_abi::rows! { Cuda;
    since 4000 fn cuMemcpy(to: u64, from: u64, bytes: usize) => copy;
    since 7000 fn cuMemcpy_ptds(to: u64, from: u64, bytes: usize) => copy_ptds;
    since 4000 fn cuMemcpyPeer(to: u64, to_ctx: *mut c_void, from: u64, from_ctx: *mut c_void, bytes: usize) => copy_peer;
    since 7000 fn cuMemcpyPeer_ptds(to: u64, to_ctx: *mut c_void, from: u64, from_ctx: *mut c_void, bytes: usize) => copy_peer;
    since 3020 fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) => copy_in;
    since 7000 fn cuMemcpyHtoD_v2_ptds(to: u64, from: *const c_void, bytes: usize) => copy_in_ptds;
    since 3020 fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) => copy_out;
    since 7000 fn cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: u64, bytes: usize) => copy_out_ptds;
    since 3020 fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) => copy;
    since 7000 fn cuMemcpyDtoD_v2_ptds(to: u64, from: u64, bytes: usize) => copy_ptds;
    since 4000 fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Legacy) => copy_async;
    since 7000 fn cuMemcpyAsync_ptsz(to: u64, from: u64, bytes: usize, stream: PerThread) => copy_async;
    since 4000 fn cuMemcpyPeerAsync(to: u64, to_ctx: *mut c_void, from: u64, from_ctx: *mut c_void, bytes: usize, stream: Legacy) => copy_peer_async;
    since 7000 fn cuMemcpyPeerAsync_ptsz(to: u64, to_ctx: *mut c_void, from: u64, from_ctx: *mut c_void, bytes: usize, stream: PerThread) => copy_peer_async;
    since 3020 fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Legacy) => copy_in_async;
    since 7000 fn cuMemcpyHtoDAsync_v2_ptsz(to: u64, from: *const c_void, bytes: usize, stream: PerThread) => copy_in_async;
    since 3020 fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Legacy) => copy_out_async;
    since 7000 fn cuMemcpyDtoHAsync_v2_ptsz(to: *mut c_void, from: u64, bytes: usize, stream: PerThread) => copy_out_async;
    since 3020 fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Legacy) => copy_async;
    since 7000 fn cuMemcpyDtoDAsync_v2_ptsz(to: u64, from: u64, bytes: usize, stream: PerThread) => copy_async;
    since 3020 fn cuMemcpy2D_v2(plan: In<Plan2d>) => copy_2d;
    since 7000 fn cuMemcpy2D_v2_ptds(plan: In<Plan2d>) => copy_2d;
    since 3020 fn cuMemcpy2DUnaligned_v2(plan: In<Plan2d>) => copy_2d;
    since 7000 fn cuMemcpy2DUnaligned_v2_ptds(plan: In<Plan2d>) => copy_2d;
    since 3020 fn cuMemcpy2DAsync_v2(plan: In<Plan2d>, stream: Legacy) => copy_2d_async;
    since 7000 fn cuMemcpy2DAsync_v2_ptsz(plan: In<Plan2d>, stream: PerThread) => copy_2d_async;
    since 3020 fn cuMemsetD8_v2(to: u64, value: u8, count: usize) => set_8;
    since 7000 fn cuMemsetD8_v2_ptds(to: u64, value: u8, count: usize) => set_8;
    since 3020 fn cuMemsetD16_v2(to: u64, value: u16, count: usize) => set_16;
    since 7000 fn cuMemsetD16_v2_ptds(to: u64, value: u16, count: usize) => set_16;
    since 3020 fn cuMemsetD32_v2(to: u64, value: u32, count: usize) => set_32;
    since 7000 fn cuMemsetD32_v2_ptds(to: u64, value: u32, count: usize) => set_32;
    since 3020 fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Legacy) => set_8_async;
    since 7000 fn cuMemsetD8Async_ptsz(to: u64, value: u8, count: usize, stream: PerThread) => set_8_async;
    since 3020 fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Legacy) => set_16_async;
    since 7000 fn cuMemsetD16Async_ptsz(to: u64, value: u16, count: usize, stream: PerThread) => set_16_async;
    since 3020 fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Legacy) => set_32_async;
    since 7000 fn cuMemsetD32Async_ptsz(to: u64, value: u32, count: usize, stream: PerThread) => set_32_async;
    since 3020 fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, height: usize) => set_2d_8;
    since 3020 fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, height: usize) => set_2d_16;
    since 3020 fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: u32, width: usize, height: usize) => set_2d_32;
    since 3020 fn cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: *mut c_void) => set_2d_8_async;
    since 3020 fn cuMemsetD2D16Async(to: u64, pitch: usize, value: u16, width: usize, height: usize, stream: *mut c_void) => set_2d_16_async;
    since 3020 fn cuMemsetD2D32Async(to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: *mut c_void) => set_2d_32_async;
}

/// Copies up to this size keep their bytes; longer ones are timed and read back zero.
pub const KEEP_BYTES: u64 = crate::small::OPERATION_LIMIT_BYTES;

/// `CUDA_MEMCPY2D` of the driver API.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Plan2d {
    from_x: usize,
    from_y: usize,
    from_kind: u32,
    from_host: u64,
    from_device: u64,
    from_array: u64,
    from_pitch: usize,
    to_x: usize,
    to_y: usize,
    to_kind: u32,
    to_host: u64,
    to_device: u64,
    to_array: u64,
    to_pitch: usize,
    width: usize,
    height: usize,
}

const _: () = assert!(size_of::<Plan2d>() == 128);

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Device(usize),
    Pinned,
    Pageable,
}

impl Place {
    fn traced(self) -> Traced {
        match self {
            Place::Device(_) => Traced::Device,
            Place::Pinned => Traced::Pinned,
            Place::Pageable => Traced::Pageable,
        }
    }
}

fn place(core: &Core, address: u64) -> Place {
    match core.ranges.find(address) {
        Some(range) if matches!(range.memory, Memory::Device | Memory::Reserved) => Place::Device(range.device),
        Some(_) => Place::Pinned,
        None => Place::Pageable,
    }
}

/// Whether `[address, address + bytes)` may be touched: what we allocated must hold all of it. Registered memory may be
/// part of a larger piece, and mappings may lie side by side.
fn check(core: &Core, address: u64, bytes: u64, at: Place) -> Result<(), Error> {
    if bytes > isize::MAX as u64 || address.checked_add(bytes).is_none() {
        return Err(Error::InvalidValue);
    }
    match (at, core.ranges.find(address)) {
        (_, Some(range)) if matches!(range.memory, Memory::Device | Memory::HostAllocated | Memory::Managed) => {
            let fits = bytes <= range.bytes - (address - range.base);
            if fits { Ok(()) } else { Err(Error::InvalidValue) }
        }
        (Place::Pageable, _) if address == 0 || in_device_space(core, address) => Err(Error::InvalidValue),
        _ => Ok(()),
    }
}

/// Addresses reserved for device memory that hold no allocation: reading them as host memory would crash.
fn in_device_space(core: &Core, address: u64) -> bool {
    let base = crate::ranges::BASE;
    (base..base + core.devices.len() as u64 * crate::ranges::DEVICE_SPAN).contains(&address)
}

fn operation(from: Place, to: Place, bytes: u64) -> Operation {
    let (direction, host) = match (from, to) {
        (Place::Device(a), Place::Device(b)) if a == b => (CopyDirection::DeviceToDevice, Place::Pinned),
        (Place::Device(_), Place::Device(_)) => (CopyDirection::PeerToPeer, Place::Pinned),
        (Place::Device(_), host) => (CopyDirection::DeviceToHost, host),
        (host, _) => (CopyDirection::HostToDevice, host),
    };
    let host = if host == Place::Pageable { HostMemory::Pageable } else { HostMemory::Pinned };
    Operation::Copy(cost::Copy { bytes, direction, host })
}

/// What a profiler calls a copy.
#[cold]
fn traced(from: Place, to: Place, bytes: u64) -> u32 {
    let direction = match (from, to) {
        (Place::Device(a), Place::Device(b)) if a == b => Direction::DeviceToDevice,
        (Place::Device(_), Place::Device(_)) => Direction::PeerToPeer,
        (Place::Device(_), _) => Direction::DeviceToHost,
        (_, Place::Device(_)) => Direction::HostToDevice,
        _ => Direction::HostToHost,
    };
    label::copy(direction, from.traced(), to.traced(), bytes)
}

/// Bytes from the first to the last of `rows` rows of `width` bytes, `pitch` bytes apart.
fn extent(width: usize, pitch: usize, rows: usize) -> Result<u64, Error> {
    if rows > 1 && pitch < width {
        return Err(Error::InvalidValue);
    }
    let before = rows.saturating_sub(1).checked_mul(pitch).ok_or(Error::InvalidValue)?;
    before.checked_add(width).map(|bytes| bytes as u64).ok_or(Error::InvalidValue)
}

/// Where a copy's two ends were when it was asked for. Memory may be freed before it runs, in stream order.
#[derive(Clone, Copy, Debug)]
struct Ends {
    source: Place,
    target: Place,
}

/// Moves what is kept from `from` to `to`. Runs in stream order under the lock.
fn effect(core: &mut Core, ends: Ends, from: u64, to: u64, bytes: u64) {
    match (ends.source, ends.target) {
        (Place::Device(_), Place::Device(_)) => core.store.copy(to, from, bytes),
        (_, Place::Device(_)) if bytes <= KEEP_BYTES => {
            // SAFETY: the caller lends `bytes` of host memory at `from`, until the copy's end if it is pinned.
            core.store.write(to, unsafe { std::slice::from_raw_parts(from as *const u8, bytes as usize) });
        }
        (_, Place::Device(_)) => core.store.zero(to, Some(bytes)),
        (Place::Device(_), _) => {
            // SAFETY: the caller lends `bytes` of host memory at `to`, until the copy's end if it is pinned.
            core.store.read(from, unsafe { std::slice::from_raw_parts_mut(to as *mut u8, bytes as usize) });
        }
        // SAFETY: both are host memory the caller lends; they may overlap as in memmove.
        _ => unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize) },
    }
}

/// Enqueues a copy. Returns its end and whether the caller must wait for it: pageable memory makes an
/// asynchronous copy synchronous, as on hardware.
fn enqueue(driver: &Driver, stream: *mut c_void, to: u64, from: u64, bytes: usize) -> Result<(Moment, bool), Error> {
    driver.faults()?;
    let bytes = bytes as u64;
    let mut core = driver.core();
    let handle = stream::resolve(&mut core, stream)?;
    if bytes == 0 {
        return Ok((Moment::Known(0), false));
    }
    let (source, target) = (place(&core, from), place(&core, to));
    check(&core, from, bytes, source)?;
    check(&core, to, bytes, target)?;
    let device = core.stream(handle)?.device;
    let mut priced = driver.price(&mut core, device, &operation(source, target, bytes), bytes);
    let ends = Ends { source, target };
    let run = move |core: &mut Core| effect(core, ends, from, to, bytes);
    let captured = core.stream(handle)?.capture.is_some();
    if captured || trace::on() {
        priced.label = traced(source, target, bytes);
    }
    if captured {
        if source == Place::Pageable && bytes > 64 * 1024 || target == Place::Pageable {
            return Err(graph::invalidate(&mut core, handle));
        }
        let side = |address, at| (address, matches!(at, Place::Device(_)));
        let plan = graph::Copy3d::flat(side(from, source), side(to, target), bytes as usize);
        let params = graph::Params::Copy(Box::new(plan));
        graph::capture_with(&mut core, handle, graph::NodeKind::Memcpy, priced, std::sync::Arc::new(run), params)?;
        return Ok((Moment::Known(0), false));
    }
    graph::forbid_legacy(&mut core, handle)?;
    drop(core);
    let pageable_in = source == Place::Pageable && matches!(target, Place::Device(_));
    if pageable_in {
        return stage(driver, handle, priced, to, from, bytes);
    }
    let moment = driver.submit(handle, priced, run)?;
    Ok((moment, target == Place::Pageable))
}

/// Pageable memory to the device: the source is read before the call returns, whatever the stream still waits for.
fn stage(
    driver: &Driver,
    handle: Handle,
    priced: crate::queue::Priced,
    to: u64,
    from: u64,
    bytes: u64,
) -> Result<(Moment, bool), Error> {
    if bytes > KEEP_BYTES {
        let moment = driver.submit(handle, priced, move |core| core.store.zero(to, Some(bytes)))?;
        return Ok((moment, true));
    }
    // SAFETY: the caller lends `bytes` of host memory at `from` for the call.
    let kept = unsafe { std::slice::from_raw_parts(from as *const u8, bytes as usize) }.to_vec();
    let moment = driver.submit(handle, priced, move |core| core.store.write(to, &kept))?;
    Ok((moment, false))
}

fn run(stream: *mut c_void, to: u64, from: u64, bytes: usize) -> Result<(), Error> {
    let driver = driver::get()?;
    let (moment, wait) = enqueue(driver, stream, to, from, bytes)?;
    if wait { driver.wait_for(&moment) } else { Ok(()) }
}

fn run_and_wait(stream: *mut c_void, to: u64, from: u64, bytes: usize) -> Result<(), Error> {
    let driver = driver::get()?;
    let (moment, _) = enqueue(driver, stream, to, from, bytes)?;
    driver.wait_for(&moment)
}

fn copy(to: u64, from: u64, bytes: usize) -> Result<(), Error> {
    run_and_wait(std::ptr::null_mut(), to, from, bytes)
}

fn copy_ptds(to: u64, from: u64, bytes: usize) -> Result<(), Error> {
    run_and_wait(PerThread::own(), to, from, bytes)
}

fn copy_in(to: u64, from: *const c_void, bytes: usize) -> Result<(), Error> {
    run_and_wait(std::ptr::null_mut(), to, from as u64, bytes)
}

fn copy_in_ptds(to: u64, from: *const c_void, bytes: usize) -> Result<(), Error> {
    run_and_wait(PerThread::own(), to, from as u64, bytes)
}

fn copy_out(to: *mut c_void, from: u64, bytes: usize) -> Result<(), Error> {
    run_and_wait(std::ptr::null_mut(), to as u64, from, bytes)
}

fn copy_out_ptds(to: *mut c_void, from: u64, bytes: usize) -> Result<(), Error> {
    run_and_wait(PerThread::own(), to as u64, from, bytes)
}

fn contexts(to: *mut c_void, from: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    core.context(Handle::of(to))?;
    core.context(Handle::of(from)).map(|_| ())
}

fn copy_peer(to: u64, to_ctx: *mut c_void, from: u64, from_ctx: *mut c_void, bytes: usize) -> Result<(), Error> {
    contexts(to_ctx, from_ctx)?;
    copy(to, from, bytes)
}

fn copy_peer_async(
    to: u64,
    to_ctx: *mut c_void,
    from: u64,
    from_ctx: *mut c_void,
    bytes: usize,
    stream: impl Named,
) -> Result<(), Error> {
    contexts(to_ctx, from_ctx)?;
    run(stream.named(), to, from, bytes)
}

fn copy_async(to: u64, from: u64, bytes: usize, stream: impl Named) -> Result<(), Error> {
    run(stream.named(), to, from, bytes)
}

fn copy_in_async(to: u64, from: *const c_void, bytes: usize, stream: impl Named) -> Result<(), Error> {
    run(stream.named(), to, from as u64, bytes)
}

fn copy_out_async(to: *mut c_void, from: u64, bytes: usize, stream: impl Named) -> Result<(), Error> {
    run(stream.named(), to as u64, from, bytes)
}

fn copy_2d(plan: In<Plan2d>) -> Result<(), Error> {
    let driver = driver::get()?;
    let moment = rows_of(driver, plan.get()?, std::ptr::null_mut())?;
    driver.wait_for(&moment)
}

fn copy_2d_async(plan: In<Plan2d>, stream: impl Named) -> Result<(), Error> {
    rows_of(driver::get()?, plan.get()?, stream.named()).map(|_| ())
}

/// A pitched copy: one transfer in time, row by row in kept memory.
fn rows_of(driver: &Driver, plan: Plan2d, stream: *mut c_void) -> Result<Moment, Error> {
    const ARRAY: u32 = 3;
    if plan.from_kind == ARRAY || plan.to_kind == ARRAY {
        return Err(Error::NotSupported);
    }
    let side = |kind, host, device| if kind == 1 { host } else { device };
    let start =
        |base: u64, x: usize, y: usize, pitch: usize| base.wrapping_add(y.wrapping_mul(pitch).wrapping_add(x) as u64);
    let from = start(side(plan.from_kind, plan.from_host, plan.from_device), plan.from_x, plan.from_y, plan.from_pitch);
    let to = start(side(plan.to_kind, plan.to_host, plan.to_device), plan.to_x, plan.to_y, plan.to_pitch);
    let total = plan.width.checked_mul(plan.height).ok_or(Error::InvalidValue)? as u64;
    let mut core = driver.core();
    let handle = stream::resolve(&mut core, stream)?;
    if total == 0 {
        return Ok(Moment::Known(0));
    }
    let (source, target) = (place(&core, from), place(&core, to));
    check(&core, from, extent(plan.width, plan.from_pitch, plan.height)?, source)?;
    check(&core, to, extent(plan.width, plan.to_pitch, plan.height)?, target)?;
    let ends = Ends { source, target };
    let device = core.stream(handle)?.device;
    let mut priced = driver.price(&mut core, device, &operation(source, target, total), total);
    let captured = core.stream(handle)?.capture.is_some();
    if captured || trace::on() {
        priced.label = traced(source, target, total);
    }
    let run = move |core: &mut Core| {
        for row in 0..plan.height {
            let (from, to) = (from + (row * plan.from_pitch) as u64, to + (row * plan.to_pitch) as u64);
            effect(core, ends, from, to, plan.width as u64);
        }
    };
    if captured {
        graph::capture_work(&mut core, handle, graph::NodeKind::Memcpy, priced, std::sync::Arc::new(run))?;
        return Ok(Moment::Known(0));
    }
    graph::forbid_legacy(&mut core, handle)?;
    drop(core);
    driver.submit(handle, priced, run)
}

/// A fill of `count` elements, `rows` times `pitch` bytes apart.
#[derive(Clone, Copy)]
struct Fill {
    to: u64,
    width: u32,
    value: u32,
    count: usize,
    pitch: usize,
    rows: usize,
}

impl Fill {
    fn flat(to: u64, width: u32, value: u32, count: usize) -> Fill {
        Fill { to, width, value, count, pitch: 0, rows: 1 }
    }

    /// As a graph's node tells it.
    fn params(self) -> graph::Params {
        let Fill { to, width: element, value, count: width, pitch, rows: height } = self;
        graph::Params::Fill(graph::Fill { to, pitch, value, element, width, height })
    }

    fn apply(self, core: &mut Core, target: Place) {
        for row in 0..self.rows {
            let to = self.to + (row * self.pitch) as u64;
            match target {
                Place::Device(_) => core.store.fill(to, self.width, self.value, self.count as u64),
                _ => fill_host(to, self.width, self.value, self.count),
            }
        }
    }
}

fn fill_host(to: u64, width: u32, value: u32, count: usize) {
    let bytes = value.to_ne_bytes();
    for index in 0..count {
        let at = (to + index as u64 * u64::from(width)) as *mut u8;
        // SAFETY: pinned or managed memory of this process, which the caller says is `count` elements long.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, width as usize) };
    }
}

fn fill(stream: *mut c_void, fill: Fill) -> Result<Moment, Error> {
    let driver = driver::get()?;
    driver.faults()?;
    let mut core = driver.core();
    let handle = stream::resolve(&mut core, stream)?;
    let row_bytes = fill.count.checked_mul(fill.width as usize).ok_or(Error::InvalidValue)?;
    let row = row_bytes as u64;
    if row == 0 || fill.rows == 0 {
        return Ok(Moment::Known(0));
    }
    let target = place(&core, fill.to);
    if target == Place::Pageable || !fill.to.is_multiple_of(u64::from(fill.width)) {
        return Err(Error::InvalidValue);
    }
    check(&core, fill.to, extent(row_bytes, fill.pitch, fill.rows)?, target)?;
    let device = core.stream(handle)?.device;
    let operation = Operation::Memset(cost::Memset { bytes: row * fill.rows as u64 });
    let mut priced = driver.price(&mut core, device, &operation, row);
    let captured = core.stream(handle)?.capture.is_some();
    if captured || trace::on() {
        priced.label = label::fill(target.traced(), fill.value, row * fill.rows as u64);
    }
    if captured {
        let run = std::sync::Arc::new(move |core: &mut Core| fill.apply(core, target));
        graph::capture_with(&mut core, handle, graph::NodeKind::Memset, priced, run, fill.params())?;
        return Ok(Moment::Known(0));
    }
    graph::forbid_legacy(&mut core, handle)?;
    drop(core);
    driver.submit(handle, priced, move |core| fill.apply(core, target))
}

fn fill_and_wait(of: Fill) -> Result<(), Error> {
    let moment = fill(std::ptr::null_mut(), of)?;
    driver::get()?.wait_for(&moment)
}

fn set_8(to: u64, value: u8, count: usize) -> Result<(), Error> {
    fill_and_wait(Fill::flat(to, 1, value.into(), count))
}

fn set_16(to: u64, value: u16, count: usize) -> Result<(), Error> {
    fill_and_wait(Fill::flat(to, 2, value.into(), count))
}

fn set_32(to: u64, value: u32, count: usize) -> Result<(), Error> {
    fill_and_wait(Fill::flat(to, 4, value, count))
}

fn set_8_async(to: u64, value: u8, count: usize, stream: impl Named) -> Result<(), Error> {
    fill(stream.named(), Fill::flat(to, 1, value.into(), count)).map(|_| ())
}

fn set_16_async(to: u64, value: u16, count: usize, stream: impl Named) -> Result<(), Error> {
    fill(stream.named(), Fill::flat(to, 2, value.into(), count)).map(|_| ())
}

fn set_32_async(to: u64, value: u32, count: usize, stream: impl Named) -> Result<(), Error> {
    fill(stream.named(), Fill::flat(to, 4, value, count)).map(|_| ())
}

fn set_2d_8(to: u64, pitch: usize, value: u8, width: usize, height: usize) -> Result<(), Error> {
    fill_and_wait(Fill { to, width: 1, value: value.into(), count: width, pitch, rows: height })
}

fn set_2d_16(to: u64, pitch: usize, value: u16, width: usize, height: usize) -> Result<(), Error> {
    fill_and_wait(Fill { to, width: 2, value: value.into(), count: width, pitch, rows: height })
}

fn set_2d_32(to: u64, pitch: usize, value: u32, width: usize, height: usize) -> Result<(), Error> {
    fill_and_wait(Fill { to, width: 4, value, count: width, pitch, rows: height })
}

fn set_2d_8_async(
    to: u64,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> Result<(), Error> {
    fill(stream, Fill { to, width: 1, value: value.into(), count: width, pitch, rows: height }).map(|_| ())
}

fn set_2d_16_async(
    to: u64,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> Result<(), Error> {
    fill(stream, Fill { to, width: 2, value: value.into(), count: width, pitch, rows: height }).map(|_| ())
}

fn set_2d_32_async(
    to: u64,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> Result<(), Error> {
    fill(stream, Fill { to, width: 4, value, count: width, pitch, rows: height }).map(|_| ())
}
