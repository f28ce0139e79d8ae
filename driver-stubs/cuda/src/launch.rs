//! Launches: checks, packs the arguments, prices the kernel, places it on its stream and applies its effect on kept
//! memory. Function attributes and occupancy answer from the same facts. No kernel runs.

use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{In, Out};

use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::module::{Function, Loaded};
use crate::price::{self, Geometry};
use crate::stream::{Legacy, Named, PerThread};
use crate::{Cuda, Error, driver, graph, label, small, stream, trace};

ghost_abi::rows! { Cuda;
    fn cuLaunchKernel(function: *mut c_void, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: Legacy, params: *const *const u8, extra: *const *mut c_void) => launch;
    since 7000 fn cuLaunchKernel_ptsz(function: *mut c_void, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: PerThread, params: *const *const u8, extra: *const *mut c_void) => launch;
    since 11060 fn cuLaunchKernelEx(config: In<Config>, function: *mut c_void, params: *const *const u8, extra: *const *mut c_void) => launch_ex;
    since 11060 fn cuLaunchKernelEx_ptsz(config: In<Config>, function: *mut c_void, params: *const *const u8, extra: *const *mut c_void) => launch_ex_ptsz;
    since 9000 fn cuLaunchCooperativeKernel(function: *mut c_void, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: Legacy, params: *const *const u8) => launch_cooperative;
    since 9000 fn cuLaunchCooperativeKernel_ptsz(function: *mut c_void, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: PerThread, params: *const *const u8) => launch_cooperative;
    fn cuFuncGetAttribute(value: Out<i32>, attribute: i32, function: *mut c_void) => get_attribute;
    fn cuFuncSetAttribute(function: *mut c_void, attribute: i32, value: i32) => set_attribute;
    since 12000 fn cuKernelGetAttribute(value: Out<i32>, attribute: i32, kernel: *mut c_void, device: i32) => kernel_get_attribute;
    since 12000 fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: *mut c_void, device: i32) => kernel_set_attribute;
    fn cuFuncSetCacheConfig(function: *mut c_void, config: i32) => set_cache_config;
    fn cuFuncSetSharedMemConfig(function: *mut c_void, config: i32) => set_cache_config;
    since 12000 fn cuKernelSetCacheConfig(kernel: *mut c_void, config: i32, device: i32) => kernel_cache_config;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<i32>, function: *mut c_void, threads: i32, shared: usize) => occupancy;
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: Out<i32>, function: *mut c_void, threads: i32, shared: usize, flags: u32) => occupancy_flags;
    fn cuOccupancyMaxPotentialBlockSize(grid: Out<i32>, block: Out<i32>, function: *mut c_void, shared_of: Option<SharedOf>, shared: usize, limit: i32) => potential;
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(grid: Out<i32>, block: Out<i32>, function: *mut c_void, shared_of: Option<SharedOf>, shared: usize, limit: i32, flags: u32) => potential_flags;
    since 10020 fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: *mut c_void, blocks: i32, threads: i32) => available_shared;
    since 11080 fn cuOccupancyMaxPotentialClusterSize(size: Out<i32>, function: *mut c_void, config: In<Config>) => potential_cluster;
    since 11080 fn cuOccupancyMaxActiveClusters(clusters: Out<i32>, function: *mut c_void, config: In<Config>) => active_clusters;
}

/// Dynamic shared memory as a function of the block size.
pub type SharedOf = unsafe extern "C" fn(threads: i32) -> usize;

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: *mut c_void,
    attributes: *const Attribute,
    attribute_count: u32,
}

/// `CUlaunchAttribute`: an id and a 64-byte value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Attribute {
    id: u32,
    pad: u32,
    value: [u32; 16],
}

const _: () = assert!(size_of::<Config>() == 56 && size_of::<Attribute>() == 72);

const CLUSTER_DIMENSION: u32 = 4;

impl Config {
    /// Blocks in a cluster, 1 if the launch names none.
    fn cluster_blocks(&self) -> u32 {
        let count = if self.attributes.is_null() { 0 } else { self.attribute_count as usize };
        (0..count)
            // SAFETY: the caller lends `attribute_count` attributes.
            .map(|index| unsafe { self.attributes.add(index).read_unaligned() })
            .find(|attribute| attribute.id == CLUSTER_DIMENSION)
            .map_or(1, |a| a.value[..3].iter().map(|n| (*n).max(1)).fold(1, u32::saturating_mul))
    }
}

/// One launch as the caller asks for it.
struct Ask {
    function: Handle,
    geometry: Geometry,
    stream: *mut c_void,
    params: *const *const u8,
    extra: *const *mut c_void,
    cooperative: bool,
}

#[expect(clippy::too_many_arguments, reason = "a C signature")]
#[inline]
fn launch(
    function: *mut c_void,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: impl Named,
    params: *const *const u8,
    extra: *const *mut c_void,
) -> Result<(), Error> {
    let geometry = Geometry { grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes: shared };
    let function = Handle::of(function);
    run(&Ask { function, geometry, stream: stream.named(), params, extra, cooperative: false })
}

fn launch_ex(
    config: In<Config>,
    function: *mut c_void,
    params: *const *const u8,
    extra: *const *mut c_void,
) -> Result<(), Error> {
    launch_config(config.get()?, function, params, extra)
}

fn launch_ex_ptsz(
    config: In<Config>,
    function: *mut c_void,
    params: *const *const u8,
    extra: *const *mut c_void,
) -> Result<(), Error> {
    let mut config = config.get()?;
    config.stream = PerThread::from(config.stream).named();
    launch_config(config, function, params, extra)
}

fn launch_config(
    config: Config,
    function: *mut c_void,
    params: *const *const u8,
    extra: *const *mut c_void,
) -> Result<(), Error> {
    let cluster = config.cluster_blocks();
    let blocks = config.grid.iter().fold(1_u64, |n, d| n.saturating_mul(u64::from(*d)));
    if cluster > 16 || blocks % u64::from(cluster) != 0 {
        return Err(Error::InvalidValue);
    }
    let geometry = Geometry { grid: config.grid, block: config.block, shared_bytes: config.shared };
    let function = Handle::of(function);
    run(&Ask { function, geometry, stream: config.stream, params, extra, cooperative: false })
}

#[expect(clippy::too_many_arguments, reason = "a C signature")]
fn launch_cooperative(
    function: *mut c_void,
    gx: u32,
    gy: u32,
    gz: u32,
    bx: u32,
    by: u32,
    bz: u32,
    shared: u32,
    stream: impl Named,
    params: *const *const u8,
) -> Result<(), Error> {
    let geometry = Geometry { grid: [gx, gy, gz], block: [bx, by, bz], shared_bytes: shared };
    let (function, extra) = (Handle::of(function), std::ptr::null());
    run(&Ask { function, geometry, stream: stream.named(), params, extra, cooperative: true })
}

fn run(ask: &Ask) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.faults()?;
    let mut core = driver.core();
    let stream = stream::resolve(&mut core, ask.stream)?;
    let function = core.functions.get(ask.function).ok_or(Error::InvalidHandle)?;
    check(driver, function, ask)?;
    let loaded = function.loaded.clone();
    let mut packed = SCRATCH.try_with(std::cell::Cell::take).unwrap_or_default();
    let outcome = pack(&loaded, ask, &mut packed).and_then(|()| place(driver, core, stream, ask, loaded, &packed));
    let _ = SCRATCH.try_with(|scratch| scratch.set(packed));
    outcome
}

thread_local! {
    /// Buffer for packing arguments, kept to save allocations.
    static SCRATCH: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
}

/// Prices and places one launch; the lock is released on the way while the stream is full.
fn place(
    driver: &'static Driver,
    mut core: parking_lot::MutexGuard<'_, Core>,
    stream: Handle,
    ask: &Ask,
    loaded: Arc<Loaded>,
    packed: &[u8],
) -> Result<(), Error> {
    let (function, geometry) = (ask.function, ask.geometry);
    let device = core.stream(stream)?.device;
    let operation = price::operation(&loaded.class, &geometry, packed);
    let mut priced = driver.price(&mut core, device, &operation, function.0);
    let captured = core.stream(stream)?.capture.is_some();
    if captured || trace::on() {
        priced.label = label::kernel(&loaded, &geometry);
    }
    if captured {
        let kernel = graph::Kernel::new(function, loaded, geometry, packed);
        return graph::capture_kernel(&mut core, stream, priced, kernel);
    }
    graph::forbid_legacy(&mut core, stream)?;
    let now = loop {
        let now = ghost_engine::clock::now_ns();
        match core.full_until(stream, now)? {
            None => break now,
            Some(until) => {
                drop(core);
                driver.sleep_until(until)?;
                core = driver.core();
            }
        }
    };
    if core.queued > 0 && core.must_queue(stream)? {
        let kept = packed.to_vec();
        let run = move |core: &mut Core| small::apply(&loaded.effect, &geometry, &kept, &mut core.store);
        driver.submit_locked(&mut core, now, stream, priced, run)?;
        return Ok(());
    }
    driver.submit_locked(&mut core, now, stream, priced, |_| ())?;
    small::apply(&loaded.effect, &geometry, packed, &mut core.store);
    Ok(())
}

/// What the hardware refuses: empty or oversized grids and blocks, too much shared memory, too many registers.
fn check(driver: &Driver, function: &Function, ask: &Ask) -> Result<(), Error> {
    let cuda = &driver.profile.cuda;
    let (grid, block) = (ask.geometry.grid, ask.geometry.block);
    let over = |given: [u32; 3], most: [u32; 3]| given.iter().zip(most).any(|(g, m)| *g == 0 || *g > m);
    let threads = block.iter().fold(1_u64, |n, d| n.saturating_mul(u64::from(*d)));
    if over(grid, cuda.max_grid_dim) || over(block, cuda.max_block_dim) {
        return Err(Error::InvalidValue);
    }
    let info = &function.loaded.info;
    let most = if info.max_threads == 0 { cuda.max_threads_per_block } else { info.max_threads };
    if threads > u64::from(cuda.max_threads_per_block) || threads > u64::from(most) {
        return Err(Error::InvalidValue);
    }
    if ask.geometry.shared_bytes > function.max_dynamic_shared_bytes {
        return Err(Error::InvalidValue);
    }
    if u64::from(info.registers) * threads > u64::from(cuda.registers_per_block) {
        return Err(Error::LaunchOutOfResources);
    }
    let blocks = grid.iter().fold(1_u64, |n, d| n.saturating_mul(u64::from(*d)));
    if ask.cooperative {
        let resident = resident(driver, function, threads as u32, ask.geometry.shared_bytes);
        if blocks > u64::from(resident) * u64::from(cuda.multiprocessors) {
            return Err(Error::CooperativeLaunchTooLarge);
        }
    }
    Ok(())
}

/// Copies the arguments into one buffer, as the image lays them out; empty if the image does not say.
fn pack(loaded: &Loaded, ask: &Ask, packed: &mut Vec<u8>) -> Result<(), Error> {
    packed.clear();
    if !ask.extra.is_null() {
        return unpack_extra(ask.extra, packed);
    }
    let info = &loaded.info;
    if info.params.is_empty() {
        return Ok(());
    }
    if ask.params.is_null() {
        return Err(Error::InvalidValue);
    }
    packed.resize(info.param_bytes as usize, 0);
    for (index, param) in info.params.iter().enumerate() {
        // SAFETY: the caller lends one pointer for each parameter of the kernel.
        let from = unsafe { ask.params.add(index).read() };
        let end = param.offset as usize + param.bytes as usize;
        let Some(to) = packed.get_mut(param.offset as usize..end).filter(|_| !from.is_null()) else {
            return Err(Error::InvalidValue);
        };
        // SAFETY: each pointer leads to as many bytes as the kernel declares for its parameter.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }
    Ok(())
}

/// `extra`: pairs of tag and value; 1 = buffer, 2 = pointer to its size, 0 = end.
fn unpack_extra(extra: *const *mut c_void, packed: &mut Vec<u8>) -> Result<(), Error> {
    let (mut buffer, mut bytes) = (std::ptr::null::<u8>(), 0);
    for pair in 0..8 {
        // SAFETY: the caller ends the list with a zero tag; eight pairs is more than there are tags.
        let tag = unsafe { extra.add(2 * pair).read() } as usize;
        if tag == 0 {
            break;
        }
        // SAFETY: every tag but the end is followed by a value.
        let value = unsafe { extra.add(2 * pair + 1).read() };
        match tag {
            1 => buffer = value.cast(),
            // SAFETY: tag 2 is followed by a pointer to a size.
            2 if !value.is_null() => bytes = unsafe { value.cast::<usize>().read_unaligned() },
            _ => return Err(Error::InvalidValue),
        }
    }
    if buffer.is_null() && bytes > 0 || bytes > 1 << 16 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the caller lends a buffer of the size it names.
    packed.extend_from_slice(if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(buffer, bytes) } });
    Ok(())
}

fn get_attribute(value: Out<i32>, attribute: i32, function: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let core = driver.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    let info = &function.loaded.info;
    Ok(value.set(match attribute {
        0 if info.max_threads == 0 => register_limit(driver, info.registers),
        0 => info.max_threads as i32,
        1 => info.static_shared_bytes as i32,
        2 => info.constant_bytes as i32,
        3 => info.local_bytes as i32,
        4 => info.registers as i32,
        5 | 6 => info.binary_version.max(100) as i32,
        7 | 15 => 0,
        8 => function.max_dynamic_shared_bytes as i32,
        9 => function.carveout,
        10 => 0,
        11..=13 => function.cluster[attribute as usize - 11],
        14 => i32::from(function.non_portable_cluster),
        _ => return Err(Error::InvalidValue),
    })?)
}

/// Largest block whose registers fit, in warps.
fn register_limit(driver: &Driver, registers: u32) -> i32 {
    let cuda = &driver.profile.cuda;
    let by_registers = cuda.registers_per_block / registers.max(1) / cuda.warp_size * cuda.warp_size;
    by_registers.min(cuda.max_threads_per_block) as i32
}

fn set_attribute(function: *mut c_void, attribute: i32, value: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let most = driver.profile.cuda.shared_bytes_per_block_optin;
    let function = core.functions.get_mut(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    match attribute {
        8 => {
            let most = most.saturating_sub(function.loaded.info.static_shared_bytes);
            let bytes = u32::try_from(value).ok().filter(|b| *b <= most).ok_or(Error::InvalidValue)?;
            function.max_dynamic_shared_bytes = bytes;
        }
        9 if (-1..=100).contains(&value) => function.carveout = value,
        11..=13 if value >= 0 => function.cluster[attribute as usize - 11] = value,
        14 => function.non_portable_cluster = value != 0,
        15 => {}
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

fn kernel_get_attribute(value: Out<i32>, attribute: i32, kernel: *mut c_void, device: i32) -> Result<(), Error> {
    driver::get()?.core().device(device)?;
    get_attribute(value, attribute, kernel)
}

fn kernel_set_attribute(attribute: i32, value: i32, kernel: *mut c_void, device: i32) -> Result<(), Error> {
    driver::get()?.core().device(device)?;
    set_attribute(kernel, attribute, value)
}

fn set_cache_config(function: *mut c_void, _config: i32) -> Result<(), Error> {
    driver::get()?.core().functions.get(Handle::of(function)).map(|_| ()).ok_or(Error::InvalidHandle)
}

fn kernel_cache_config(kernel: *mut c_void, config: i32, device: i32) -> Result<(), Error> {
    driver::get()?.core().device(device)?;
    set_cache_config(kernel, config)
}

/// Blocks of a kernel that fit on one SM.
fn resident(driver: &Driver, function: &Function, threads: u32, shared: u32) -> u32 {
    let info = &function.loaded.info;
    let shared = info.static_shared_bytes.saturating_add(shared);
    price::occupancy::blocks_per_multiprocessor(&driver.profile.cuda, info.registers, shared, threads)
}

fn ask_occupancy(function: *mut c_void, threads: i32, shared: usize) -> Result<i32, Error> {
    let driver = driver::get()?;
    let core = driver.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    let threads = u32::try_from(threads).ok().filter(|t| *t > 0).ok_or(Error::InvalidValue)?;
    let shared = u32::try_from(shared).unwrap_or(u32::MAX);
    Ok(resident(driver, function, threads, shared) as i32)
}

fn occupancy(blocks: Out<i32>, function: *mut c_void, threads: i32, shared: usize) -> Result<(), Error> {
    Ok(blocks.set(ask_occupancy(function, threads, shared)?)?)
}

fn occupancy_flags(
    blocks: Out<i32>,
    function: *mut c_void,
    threads: i32,
    shared: usize,
    flags: u32,
) -> Result<(), Error> {
    if flags > 1 {
        return Err(Error::InvalidValue);
    }
    occupancy(blocks, function, threads, shared)
}

/// The block size (in warps) that keeps most threads resident; the larger one of equals.
fn potential(
    grid: Out<i32>,
    block: Out<i32>,
    function: *mut c_void,
    shared_of: Option<SharedOf>,
    shared: usize,
    limit: i32,
) -> Result<(), Error> {
    let driver = driver::get()?;
    let most = driver.profile.cuda.max_threads_per_block as i32;
    let limit = if limit <= 0 { most } else { limit.min(most) };
    let mut best = (0, 32, 0);
    for threads in (32..=limit.max(32)).step_by(32) {
        // SAFETY: the caller's function may be called with any block size.
        let bytes = shared_of.map_or(shared, |f| unsafe { f(threads) });
        let blocks = ask_occupancy(function, threads, bytes)?;
        if blocks * threads >= best.0 && blocks > 0 {
            best = (blocks * threads, threads, blocks);
        }
    }
    block.set(best.1)?;
    Ok(grid.set(best.2 * driver.profile.cuda.multiprocessors as i32)?)
}

fn potential_flags(
    grid: Out<i32>,
    block: Out<i32>,
    function: *mut c_void,
    shared_of: Option<SharedOf>,
    shared: usize,
    limit: i32,
    _flags: u32,
) -> Result<(), Error> {
    potential(grid, block, function, shared_of, shared, limit)
}

fn available_shared(bytes: Out<usize>, function: *mut c_void, blocks: i32, threads: i32) -> Result<(), Error> {
    let driver = driver::get()?;
    let core = driver.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    if blocks <= 0 || threads <= 0 {
        return Err(Error::InvalidValue);
    }
    let cuda = &driver.profile.cuda;
    let each = cuda.shared_bytes_per_multiprocessor / blocks as u32;
    let free = each.saturating_sub(cuda.shared_bytes_reserved_per_block + function.loaded.info.static_shared_bytes);
    Ok(bytes.set(free.min(cuda.shared_bytes_per_block_optin) as usize)?)
}

fn potential_cluster(size: Out<i32>, function: *mut c_void, _config: In<Config>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    Ok(size.set(if function.non_portable_cluster { 16 } else { 8 })?)
}

fn active_clusters(clusters: Out<i32>, function: *mut c_void, config: In<Config>) -> Result<(), Error> {
    let config = config.get()?;
    let threads = config.block.iter().fold(1_u32, |n, d| n.saturating_mul(*d));
    let blocks = ask_occupancy(function, threads.min(i32::MAX as u32) as i32, config.shared as usize)?;
    let all = blocks * driver::get()?.profile.cuda.multiprocessors as i32;
    Ok(clusters.set(all / config.cluster_blocks().max(1) as i32)?)
}
