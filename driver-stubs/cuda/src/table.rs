//! The private table: what the other stubs take from this library. Thin: each entry checks, asks and answers.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::Ordering;

use ghost_engine::wire::{Frame, Message};
use ghost_model::cost::{self, DType};
use ghost_table::trace::{Switch, Tracer};
use ghost_table::{Kind, Operation, Owner, Table, Token, Type};

use crate::core::Core;
use crate::host::User;
use crate::queue::Action;
use crate::ranges::Memory;
use crate::{Error, context, driver, graph, operation, stream, trace};

static TABLE: Table = Table {
    size: size_of::<Table>() as u64,
    device_count,
    use_device,
    current_device,
    stream_device,
    enqueue,
    enqueue_pending,
    complete,
    price,
    capture_status,
    capture_node,
    read_backed,
    write_backed,
    write_zero,
    owner,
    note_missing,
    note_unredirected,
    count_traffic,
    set_tracer,
    watch_tracing,
    trace_enter,
    trace_leave,
};

/// Hands out the table. Exported for the other stubs; see `ghost_table::SYMBOL`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn ghostrack_driver_table_v1() -> *const Table {
    &raw const TABLE
}

/// Runs an entry: a forked child or an exiting process gets its error first, a panic becomes 999.
fn guarded(entry: impl FnOnce() -> Result<(), Error>) -> i32 {
    match driver::state() {
        0 => {}
        refused => return refused,
    }
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(entry)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.code(),
        Err(_) => Error::Unknown.code(),
    }
}

unsafe extern "C" fn device_count(count: *mut i32) -> i32 {
    guarded(|| {
        let devices = driver::attach()?.core().devices.len();
        put(count, devices as i32)
    })
}

unsafe extern "C" fn use_device(device: i32) -> i32 {
    guarded(|| {
        let driver = driver::attach()?;
        driver.core().device(device)?;
        let handle = context::primary(driver, device as usize, false)?;
        driver::set_current(Some(handle));
        Ok(())
    })
}

unsafe extern "C" fn current_device() -> i32 {
    let Ok(driver) = driver::get() else { return -1 };
    if driver::state() != 0 {
        return -1;
    }
    context::current(&driver.core()).map_or(-1, |(_, device)| device as i32)
}

unsafe extern "C" fn stream_device(stream: *mut c_void, device: *mut i32) -> i32 {
    guarded(|| {
        let mut core = driver::get()?.core();
        let handle = stream::resolve(&mut core, stream)?;
        put(device, core.stream(handle)?.device as i32)
    })
}

unsafe extern "C" fn enqueue(stream: *mut c_void, operation: *const Operation) -> i32 {
    trace::implied(|| kind_of(operation), || place(stream, operation))
}

fn place(stream: *mut c_void, operation: *const Operation) -> i32 {
    guarded(|| {
        let driver = driver::get()?;
        driver.faults()?;
        let operation = read(operation)?;
        let mut core = driver.core();
        let handle = stream::resolve(&mut core, stream)?;
        let device = core.stream(handle)?.device;
        let mut priced = driver.price(&mut core, device, &translate(&operation), hint(&operation));
        let captured = core.stream(handle)?.capture.is_some();
        if captured || trace::on() {
            priced.label = operation::label(&operation);
        }
        if captured {
            let run = std::sync::Arc::new(clearing(&operation));
            return graph::capture_work(&mut core, handle, node_kind(&operation), priced, run);
        }
        graph::forbid_legacy(&mut core, handle)?;
        drop(core);
        driver.submit(handle, priced, clearing(&operation)).map(|_| ())
    })
}

unsafe extern "C" fn enqueue_pending(
    stream: *mut c_void,
    operation: *const Operation,
    started: Option<unsafe extern "C" fn(user: *mut c_void, start_ns: u64)>,
    user: *mut c_void,
    token: *mut Token,
) -> i32 {
    trace::implied(|| kind_of(operation), || place_pending(stream, operation, started, user, token))
}

fn place_pending(
    stream: *mut c_void,
    operation: *const Operation,
    started: Option<unsafe extern "C" fn(user: *mut c_void, start_ns: u64)>,
    user: *mut c_void,
    token: *mut Token,
) -> i32 {
    guarded(|| {
        let driver = driver::get()?;
        driver.faults()?;
        let operation = read(operation)?;
        let user = User(user);
        let mut core = driver.core();
        let handle = stream::resolve(&mut core, stream)?;
        let started = started.map(|call| -> Box<dyn FnOnce(u64) + Send> {
            // SAFETY: the caller promises a function that may be called once with this pointer from another thread.
            Box::new(move |start_ns| unsafe { call(user.get(), start_ns) })
        });
        let action = Action::External { started, share_milli: 1, energy_milliwatts: 0 };
        let done = core.push(handle, Vec::new(), action)?;
        if trace::on()
            && let Some(entry) = core.stream_mut(handle)?.queue.back_mut()
        {
            entry.label = operation::label(&operation);
        }
        let id = core.id();
        core.tokens.insert(id, (done, handle));
        drop(core);
        crate::host::wake(driver);
        put(token, id)
    })
}

unsafe extern "C" fn complete(token: Token, end_ns: u64, sm_share_milli: u32) -> i32 {
    guarded(|| {
        let driver = driver::get()?;
        let mut core = driver.core();
        let (done, stream) = core.tokens.remove(&token).ok_or(Error::InvalidHandle)?;
        let queue = &mut core.stream_mut(stream)?.queue;
        if let Some(entry) = queue.iter_mut().find(|q| std::sync::Arc::ptr_eq(&q.done, &done))
            && let Action::External { share_milli, .. } = &mut entry.action
        {
            *share_milli = sm_share_milli.min(1000);
        }
        done.store(end_ns.min(u64::MAX - 1), Ordering::Release);
        drop(core);
        crate::host::wake(driver);
        Ok(())
    })
}

unsafe extern "C" fn price(operation: *const Operation, cost_ns: *mut u64) -> i32 {
    guarded(|| {
        let driver = driver::get()?;
        let operation = read(operation)?;
        let mut core = driver.core();
        let (_, device) = context::current(&core)?;
        let priced = driver.price(&mut core, device, &translate(&operation), hint(&operation));
        put(cost_ns, priced.cost_ns)
    })
}

unsafe extern "C" fn capture_status(stream: *mut c_void) -> i32 {
    let Ok(driver) = driver::get() else { return 0 };
    if driver::state() != 0 {
        return 0;
    }
    let mut core = driver.core();
    stream::resolve(&mut core, stream).and_then(|handle| graph::status_of(&core, handle)).unwrap_or(0)
}

unsafe extern "C" fn capture_node(stream: *mut c_void, operation: *const Operation) -> i32 {
    guarded(|| {
        let driver = driver::get()?;
        let operation = read(operation)?;
        let mut core = driver.core();
        let handle = stream::resolve(&mut core, stream)?;
        let device = core.stream(handle)?.device;
        let mut priced = driver.price(&mut core, device, &translate(&operation), hint(&operation));
        priced.label = operation::label(&operation);
        let run = std::sync::Arc::new(clearing(&operation));
        graph::capture_work(&mut core, handle, node_kind(&operation), priced, run)
    })
}

unsafe extern "C" fn read_backed(address: u64, to: *mut u8, bytes: usize) -> i32 {
    guarded(|| {
        if to.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the caller lends `bytes` at `to`.
        driver::get()?.core().store.read(address, unsafe { std::slice::from_raw_parts_mut(to, bytes) });
        Ok(())
    })
}

unsafe extern "C" fn write_backed(address: u64, from: *const u8, bytes: usize) -> i32 {
    guarded(|| {
        if from.is_null() {
            return Err(Error::InvalidValue);
        }
        let mut core = driver::get()?.core();
        if bytes as u64 > crate::copy::KEEP_BYTES {
            core.store.zero(address, Some(bytes as u64));
        } else {
            // SAFETY: the caller lends `bytes` at `from`.
            core.store.write(address, unsafe { std::slice::from_raw_parts(from, bytes) });
        }
        Ok(())
    })
}

unsafe extern "C" fn write_zero(address: u64, bytes: u64) -> i32 {
    guarded(|| {
        driver::get()?.core().store.zero(address, Some(bytes));
        Ok(())
    })
}

unsafe extern "C" fn owner(address: u64, owner: *mut Owner) -> i32 {
    guarded(|| {
        let core = driver::get()?.core();
        let found = core.ranges.find(address).map(|range| Owner {
            base: range.base,
            bytes: range.bytes,
            device: range.device as i32,
            memory: match range.memory {
                Memory::HostAllocated | Memory::HostRegistered => 1,
                Memory::Device | Memory::Reserved => 2,
                Memory::Managed => 3,
            },
        });
        put(owner, found.unwrap_or(Owner { device: -1, ..Owner::default() }))
    })
}

unsafe extern "C" fn count_traffic(device: i32, medium: u32, index: u32, tx: u64, rx: u64) -> i32 {
    guarded(|| {
        let driver = driver::get()?;
        let core = driver.core();
        let gpu = core.device(device)?.gpu;
        let index = index as usize;
        let page = driver.client.page().ok_or(Error::NotInitialized)?;
        page.edit(gpu, |page| {
            let (sent, received) = match medium {
                0 => (page.link_tx_bytes.get_mut(index), page.link_rx_bytes.get_mut(index)),
                _ => (page.hca_tx_bytes.get_mut(index), page.hca_rx_bytes.get_mut(index)),
            };
            if let (Some(sent), Some(received)) = (sent, received) {
                *sent = sent.wrapping_add(tx);
                *received = received.wrapping_add(rx);
            }
        });
        Ok(())
    })
}

unsafe extern "C" fn set_tracer(tracer: Option<Tracer>) {
    trace::set_tracer(tracer);
}

unsafe extern "C" fn watch_tracing(switch: Switch) {
    trace::watch(switch);
}

unsafe extern "C" fn trace_enter(key: *const c_void, domain: u32, name: *const c_char) {
    if driver::state() == 0 {
        trace::enter(key, domain, name);
    }
}

unsafe extern "C" fn trace_leave(key: *const c_void, domain: u32, name: *const c_char, status: i32) {
    if driver::state() == 0 {
        trace::leave(key, domain, name, status);
    }
}

unsafe extern "C" fn note_missing(library: *const c_char, function: *const c_char) {
    if library.is_null() || function.is_null() {
        return;
    }
    // SAFETY: both are NUL-terminated names, as this entry demands.
    note_missing_names(unsafe { CStr::from_ptr(library) }, unsafe { CStr::from_ptr(function) });
}

/// Tells ghostd of a call without implementation; nothing happens in a process without a tray.
pub fn note_missing_names(library: &CStr, function: &CStr) {
    let Ok(driver) = driver::get() else { return };
    if driver::state() != 0 {
        return;
    }
    let mut data = library.to_bytes().to_vec();
    data.push(0);
    data.extend_from_slice(function.to_bytes());
    driver.client.tell(Frame::ask(Message::Missing, &[]).with_data(data));
}

unsafe extern "C" fn note_unredirected(program: *const c_char) {
    if program.is_null() {
        return note_this_program();
    }
    // SAFETY: a NUL-terminated path, as this entry demands.
    note_program(unsafe { CStr::from_ptr(program) }.to_bytes());
}

/// A runtime that is not ours asked this driver for its tables: it will give up with its own error.
pub fn note_this_program() {
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    note_program(path.as_os_str().as_encoded_bytes());
}

fn note_program(path: &[u8]) {
    if let Ok(driver) = driver::get() {
        driver.client.tell(Frame::ask(Message::Unredirected, &[]).with_data(path));
    }
}

fn put<T>(to: *mut T, value: T) -> Result<(), Error> {
    // SAFETY: the stubs pass null or a place for one value.
    unsafe { ghost_abi::Out::from_raw(to) }.set(value).map_err(Error::from)
}

fn read(operation: *const Operation) -> Result<Operation, Error> {
    // SAFETY: the stubs pass null or one operation.
    unsafe { ghost_abi::In::from_raw(operation) }.get().map_err(Error::from)
}

fn kind_of(operation: *const Operation) -> u32 {
    read(operation).map_or(0, |operation| operation.kind)
}

/// What the operation wrote reads zero from now on.
fn clearing(operation: &Operation) -> impl Fn(&mut Core) + Clone + Send + Sync + 'static {
    let (outputs, count) = (operation.outputs, operation.output_count as usize);
    move |core| outputs.iter().take(count).for_each(|range| core.store.zero(range.address, Some(range.bytes)))
}

/// Spreads operations over the remembered prices by their dimensions.
fn hint(operation: &Operation) -> u64 {
    let [a, b, c, d, ..] = operation.dims;
    (a ^ b.rotate_left(17) ^ c.rotate_left(34) ^ d.rotate_left(51)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

fn node_kind(operation: &Operation) -> graph::NodeKind {
    match operation.kind {
        k if k == Kind::Memset as u32 => graph::NodeKind::Memset,
        k if k == Kind::Copy as u32 => graph::NodeKind::Memcpy,
        _ => graph::NodeKind::Kernel,
    }
}

fn dtype(of: u32) -> DType {
    const TYPES: [(Type, DType); 11] = [
        (Type::F64, DType::Fp64),
        (Type::F32, DType::Fp32),
        (Type::Tf32, DType::Tf32),
        (Type::F16, DType::Fp16),
        (Type::Bf16, DType::Bf16),
        (Type::F8, DType::Fp8),
        (Type::F4, DType::Fp4),
        (Type::I8, DType::Int8),
        (Type::I32, DType::Fp32),
        (Type::C64, DType::Fp32),
        (Type::C128, DType::Fp64),
    ];
    TYPES.iter().find(|(t, _)| *t as u32 == of).map_or(DType::Fp32, |(_, d)| *d)
}

/// The model's operation for the table's.
fn translate(operation: &Operation) -> cost::Operation {
    let [a, b, c, d, e, f, g, _] = operation.dims;
    let (input, compute) = (dtype(operation.input), dtype(operation.compute));
    let is = |kind: Kind| operation.kind == kind as u32;
    if is(Kind::Gemm) {
        // Complex products multiply four times.
        let complex = operation.input == Type::C64 as u32 || operation.input == Type::C128 as u32;
        let k = if complex { c.saturating_mul(4) } else { c };
        cost::Operation::Gemm(cost::Gemm { m: a, n: b, k, batch: d, a_type: input, compute })
    } else if is(Kind::Attention) {
        cost::Operation::Attention(cost::Attention {
            batch: a,
            heads: b,
            seq_q: c,
            seq_k: d,
            head_dim: e,
            causal: f != 0,
            dtype: input,
            backward: g != 0,
        })
    } else if is(Kind::Memset) {
        cost::Operation::Memset(cost::Memset { bytes: a })
    } else if is(Kind::Copy) {
        cost::Operation::Copy(cost::Copy {
            bytes: a,
            direction: match b {
                0 => cost::CopyDirection::HostToDevice,
                1 => cost::CopyDirection::DeviceToHost,
                2 => cost::CopyDirection::DeviceToDevice,
                _ => cost::CopyDirection::PeerToPeer,
            },
            host: if c != 0 { cost::HostMemory::Pinned } else { cost::HostMemory::Pageable },
        })
    } else if is(Kind::Delay) {
        cost::Operation::Delay { ns: a }
    } else {
        cost::Operation::Kernel(cost::Kernel {
            bytes_read: a,
            bytes_written: b,
            flops: c,
            dtype: compute,
            grid_blocks: d,
            threads_per_block: e as u32,
            blocks_per_sm: 0,
        })
    }
}
