//! Hears records from libcuda, keeps them until they are over, and hands them to the profiler's buffers in its clock.
//! Hearing never calls anybody but at the end of a call, when no lock is held.

use crate::bits::Bits;
use crate::buffer::{Complete, Outlet, Request};
use crate::clock::{self, Map};
use crate::record::{self, channel, kind};
use crate::{callback, correlation, function};
use ghost_table::trace::{Domain, Memory, NO_STREAM, Record, What};
use parking_lot::Mutex;
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Kinds of records the profiler wants.
pub static KINDS: Bits = Bits::new();
/// Functions of the driver and the runtime whose calls it wants.
pub static CALLS: [Bits; 2] = [Bits::new(), Bits::new()];
/// `CUpti_ActivityThreadIdType`: 0 = as pthread_self, 1 = as gettid.
pub static THREAD_IDS: AtomicU32 = AtomicU32::new(0);

/// Records kept before they are handed over without being asked for.
const MANY: usize = 8192;

static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
static OUTLET: Mutex<Option<Outlet>> = Mutex::new(None);
/// A buffer is in hand, so that nobody has to ask for one.
static OPEN: AtomicBool = AtomicBool::new(false);
static HEARING: AtomicBool = AtomicBool::new(false);
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// This thread is inside one of the profiler's buffer functions.
    static HANDING_OVER: Cell<bool> = const { Cell::new(false) };
}

/// A record and what has to be found out on the thread it came from.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// Work or a wait with the kind a kernel has, or a call with its callback number and thread.
    Record(Record, u32, u32),
    External {
        correlation: u32,
        kind: u32,
        id: u64,
    },
}

impl Kept {
    fn is_over(&self, now_ns: u64) -> bool {
        match self {
            Kept::Record(record, ..) => record.end_ns <= now_ns,
            Kept::External { .. } => true,
        }
    }
}

/// Starts or stops hearing, as what is wanted says.
pub fn listen() {
    let work =
        [kind::MEMCPY, kind::MEMSET, kind::KERNEL, kind::CONCURRENT_KERNEL, kind::MEMCPY2, kind::SYNCHRONIZATION];
    let wanted = work.iter().any(|kind| KINDS.has(*kind))
        || CALLS.iter().any(|calls| !calls.is_empty())
        || callback::is_wanted();
    HEARING.store(wanted, Relaxed);
    if let Some(table) = ghost_table::table() {
        forget_in_children();
        // SAFETY: `hear` lives as long as the process: this library is never unloaded.
        unsafe { (table.set_tracer)(wanted.then_some(hear)) };
    }
}

/// Whether records are wanted as it is.
pub fn is_hearing() -> bool {
    HEARING.load(Relaxed)
}

/// A forked child hears nothing: its locks may be held by threads it does not have.
fn forget_in_children() {
    extern "C" fn child() {
        FORKED.store(true, Relaxed);
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: the handler stores one flag and lives as long as the library.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(child));
    });
}

unsafe extern "C" fn hear(record: *const Record) {
    // SAFETY: the tracer is handed one record.
    let record = unsafe { *record };
    let heard = std::panic::catch_unwind(|| take(&record));
    // The payload's own destructor could panic again.
    heard.unwrap_or_else(std::mem::forget);
}

fn take(record: &Record) {
    if FORKED.load(Relaxed) || HANDING_OVER.get() {
        return;
    }
    match record.what {
        what if what == What::Enter as u32 => callback::tell(record, callback::Site::Enter),
        what if what == What::Call as u32 => {
            take_call(record);
            callback::tell(record, callback::Site::Exit);
            settle();
        }
        _ if is_wanted(record) => KEPT.lock().push(Kept::Record(*record, kernel_kind(), 0)),
        _ => {}
    }
}

fn is_wanted(record: &Record) -> bool {
    let any = |kinds: &[u32]| kinds.iter().any(|kind| KINDS.has(*kind));
    match record.what {
        what if what == What::Kernel as u32 => any(&[kind::CONCURRENT_KERNEL, kind::KERNEL]),
        what if what == What::Copy as u32 => any(&[kind::MEMCPY, kind::MEMCPY2]),
        what if what == What::Fill as u32 => any(&[kind::MEMSET]),
        what if what == What::Wait as u32 => any(&[kind::SYNCHRONIZATION]),
        _ => false,
    }
}

/// The kind of kernel records, as wanted now: profilers turn kinds off before they ask for the records.
fn kernel_kind() -> u32 {
    if KINDS.has(kind::CONCURRENT_KERNEL) { kind::CONCURRENT_KERNEL } else { kind::KERNEL }
}

/// The calls of a domain that are wanted.
pub fn calls(domain: u32) -> Option<&'static Bits> {
    CALLS.get((domain as usize).wrapping_sub(1))
}

/// A call, and the numbers the profiler has pushed on this thread. They tell whose work the call started, so they
/// are kept for calls that are not wanted themselves when no call of their domain is.
fn take_call(record: &Record) {
    // SAFETY: the name of a call lives as long as the process.
    let number = function::number(record.detail, unsafe { CStr::from_ptr(record.name) });
    let Some(calls) = calls(record.detail) else { return };
    let wanted = number != 0 && calls.has(number);
    if !wanted && !calls.is_empty() {
        return;
    }
    let mut kept = KEPT.lock();
    if KINDS.has(kind::EXTERNAL_CORRELATION) {
        correlation::tops(|kind, id| kept.push(Kept::External { correlation: record.correlation, kind, id }));
    }
    if wanted {
        kept.push(Kept::Record(*record, number, thread()));
    }
}

/// This thread as the profiler wants threads numbered.
fn thread() -> u32 {
    // SAFETY: neither call has conditions.
    unsafe { if THREAD_IDS.load(Relaxed) == 1 { libc::gettid() as u32 } else { libc::pthread_self() as u32 } }
}

/// Takes the profiler's buffer functions.
pub fn register(request: Request, complete: Complete) {
    if FORKED.load(Relaxed) {
        return;
    }
    if let Some(mut before) = OUTLET.lock().replace(Outlet::new(request, complete)) {
        handing_over(|| before.give_back());
    }
    OPEN.store(false, Relaxed);
}

/// Has a buffer in hand once there is something to put into it, and puts it there when it has become much.
fn settle() {
    let count = KEPT.lock().len();
    if count == 0 || HANDING_OVER.get() {
        return;
    }
    if !OPEN.load(Relaxed)
        && let Some(mut outlet) = OUTLET.try_lock()
        && let Some(outlet) = outlet.as_mut()
    {
        handing_over(|| outlet.open());
        OPEN.store(true, Relaxed);
    }
    if count >= MANY {
        hand_over(false);
    }
}

/// Puts what is over (or everything, if `all`) into buffers. Nothing happens without a registered profiler.
fn hand_over(all: bool) {
    let Some(mut outlet) = OUTLET.try_lock() else { return };
    put_kept(outlet.as_mut(), all);
}

fn put_kept(outlet: Option<&mut Outlet>, all: bool) {
    let Some(outlet) = outlet else { return KEPT.lock().clear() };
    let now_ns = clock::monotonic_ns();
    let mut kept = KEPT.lock();
    let (over, open) = kept.drain(..).partition(|entry: &Kept| all || entry.is_over(now_ns));
    *kept = open;
    drop(kept);
    let over: Vec<Kept> = over;
    if over.is_empty() {
        return;
    }
    let map = clock::map();
    handing_over(|| {
        // Profilers that read in one pass look for a call's owner before its work.
        let is_external = |entry: &&Kept| matches!(entry, Kept::External { .. });
        over.iter().filter(is_external).for_each(|entry| put(outlet, entry, &map));
        over.iter().filter(|entry| !is_external(entry)).for_each(|entry| put(outlet, entry, &map));
    });
}

/// Gives everything that is over (or all there is) to the profiler.
pub fn flush(all: bool) {
    if FORKED.load(Relaxed) || HANDING_OVER.get() {
        return;
    }
    let mut outlet = OUTLET.lock();
    put_kept(outlet.as_mut(), all);
    if let Some(outlet) = outlet.as_mut() {
        handing_over(|| outlet.give_back());
    }
    OPEN.store(false, Relaxed);
}

fn handing_over(work: impl FnOnce()) {
    HANDING_OVER.set(true);
    work();
    HANDING_OVER.set(false);
}

fn put(outlet: &mut Outlet, entry: &Kept, map: &Map) {
    match entry {
        Kept::External { correlation, kind, id } => outlet.put(&record::External {
            kind: kind::EXTERNAL_CORRELATION,
            external_kind: *kind,
            external_id: *id,
            correlation: *correlation,
            reserved: 0,
        }),
        Kept::Record(record, number, thread) => match record.what {
            what if what == What::Call as u32 => outlet.put(&api(record, *number, *thread, map)),
            what if what == What::Kernel as u32 => outlet.put(&kernel(record, *number, map)),
            what if what == What::Copy as u32 => outlet.put(&memcpy(record, map)),
            what if what == What::Fill as u32 => outlet.put(&memset(record, map)),
            _ => outlet.put(&synchronization(record, map)),
        },
    }
}

fn api(record: &Record, callback: u32, thread: u32, map: &Map) -> record::Api {
    record::Api {
        kind: if record.detail == Domain::Driver as u32 { kind::DRIVER } else { kind::RUNTIME },
        callback,
        start: map.stamp(record.start_ns),
        end: map.stamp(record.end_ns),
        process: std::process::id(),
        thread,
        correlation: record.correlation,
        status: record.status as u32,
    }
}

fn kernel(of: &Record, kind: u32, map: &Map) -> record::Kernel {
    static GRID: AtomicU32 = AtomicU32::new(0);
    record::Kernel {
        kind,
        cache_config: 0,
        shared_config: 0,
        registers: of.registers.min(u16::MAX.into()) as u16,
        cache_requested: 0,
        cache_executed: 0,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        completed: map.stamp(of.end_ns),
        device: of.device,
        context: of.context,
        stream: of.stream,
        grid: of.grid,
        block: of.block,
        static_shared: of.static_shared_bytes,
        dynamic_shared: of.dynamic_shared_bytes,
        local_per_thread: of.local_bytes,
        local_total: 0,
        correlation: of.correlation,
        grid_id: i64::from(GRID.fetch_add(1, Relaxed)) + 1,
        name: of.name,
        reserved: std::ptr::null(),
        queued: 0,
        submitted: 0,
        launch_type: 0,
        carveout_requested: 0,
        carveout: 0,
        pad: 0,
        shared_executed: of.static_shared_bytes.saturating_add(of.dynamic_shared_bytes),
        graph_node: 0,
        shared_limit: 0,
        graph: 0,
        access_policy: std::ptr::null(),
        channel: 0,
        channel_type: channel::COMPUTE,
        cluster: [0; 3],
        cluster_policy: 0,
        local_total_wide: 0,
        max_cluster: 0,
        max_active_clusters: 0,
        device_launched: 0,
        pad3: [0; 7],
        priority: 0,
        pad4: 0,
    }
}

/// `CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC`, which has the same number for fills.
const ASYNC: u8 = 1;

fn memcpy(of: &Record, map: &Map) -> record::Memcpy {
    record::Memcpy {
        kind: kind::MEMCPY,
        direction: of.detail as u8,
        from: of.from as u8,
        to: of.to as u8,
        flags: if of.from == Memory::Pageable || of.to == Memory::Pageable { 0 } else { ASYNC },
        bytes: of.bytes,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        device: of.device,
        context: of.context,
        stream: of.stream,
        correlation: of.correlation,
        runtime_correlation: 0,
        pad: 0,
        reserved: std::ptr::null(),
        graph_node: 0,
        graph: 0,
        channel: 0,
        channel_type: channel::COPY,
        device_launched: 0,
        pad2: [0; 3],
        copies: 1,
    }
}

fn memset(of: &Record, map: &Map) -> record::Memset {
    record::Memset {
        kind: kind::MEMSET,
        value: of.value,
        bytes: of.bytes,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        device: of.device,
        context: of.context,
        stream: of.stream,
        correlation: of.correlation,
        flags: ASYNC.into(),
        memory: of.to as u16,
        pad: 0,
        reserved: std::ptr::null(),
        graph_node: 0,
        graph: 0,
        channel: 0,
        channel_type: channel::COMPUTE,
        device_launched: 0,
        pad2: [0; 3],
    }
}

fn synchronization(of: &Record, map: &Map) -> record::Synchronization {
    record::Synchronization {
        kind: kind::SYNCHRONIZATION,
        of: of.detail,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        correlation: of.correlation,
        context: of.context,
        stream: if of.stream == NO_STREAM { u32::MAX } else { of.stream },
        event: u32::MAX,
        event_record: 0,
        status: of.status as u32,
        pad: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer;
    use std::ffi::c_void;

    static SEEN: Mutex<Vec<(u32, u32)>> = Mutex::new(Vec::new());
    static LENT: Mutex<usize> = Mutex::new(0);

    unsafe extern "C" fn lend(to: *mut *mut u8, bytes: *mut usize, most: *mut usize) {
        *LENT.lock() += 1;
        let buffer = Box::leak(vec![0_u64; 512].into_boxed_slice());
        // SAFETY: the outlet passes places for one value each.
        unsafe { (to.write(buffer.as_mut_ptr().cast()), bytes.write(4096), most.write(0)) };
    }

    unsafe extern "C" fn give(_context: *mut c_void, _stream: u32, buffer: *mut u8, _bytes: usize, valid: usize) {
        let mut at = std::ptr::null_mut();
        loop {
            // SAFETY: a buffer as the outlet filled it.
            at = unsafe { buffer::next(buffer, valid, at) };
            if at.is_null() {
                return;
            }
            // SAFETY: a record begins with its kind; the kinds of this test have their correlation at these places.
            let (kind, words) = unsafe { (at.cast::<u32>().read(), at.cast::<u32>()) };
            let place = if kind == kind::CONCURRENT_KERNEL {
                23
            } else if kind == kind::RUNTIME {
                8
            } else {
                4
            };
            // SAFETY: as above.
            SEEN.lock().push((kind, unsafe { words.add(place).read() }));
        }
    }

    fn call(correlation: u32) -> Record {
        let now = clock::monotonic_ns();
        Record {
            detail: Domain::Runtime as u32,
            correlation,
            name: c"cudaLaunchKernel".as_ptr(),
            start_ns: now,
            end_ns: now,
            ..Record::new(What::Call)
        }
    }

    #[test]
    fn records_come_out_when_they_are_over_and_owners_come_first() {
        let _one = buffer::tests::ONE_AT_A_TIME.lock();
        KINDS.set_all(true);
        CALLS[1].set_all(true);
        register(lend, give);
        correlation::push(3, 77).expect("kind 3 exists");
        let soon = clock::monotonic_ns() + 3_600_000_000_000;
        take(&Record { correlation: 5, end_ns: 1, name: c"k".as_ptr(), ..Record::new(What::Kernel) });
        take(&Record { correlation: 6, end_ns: soon, name: c"k".as_ptr(), ..Record::new(What::Kernel) });
        assert_eq!(*LENT.lock(), 0, "work alone, told under a lock, asks nobody for a buffer");
        take(&call(5));
        assert_eq!(*LENT.lock(), 1, "a buffer is in hand as soon as there is a record");
        KINDS.set_all(false);
        flush(false);
        let of_kernel = (kind::CONCURRENT_KERNEL, 5);
        assert_eq!(*SEEN.lock(), [(kind::EXTERNAL_CORRELATION, 5), of_kernel, (kind::RUNTIME, 5)]);
        flush(true);
        assert_eq!(SEEN.lock().last(), Some(&(kind::CONCURRENT_KERNEL, 6)));
        assert_eq!(correlation::pop(3), Ok(77));
        KINDS.set_all(false);
        CALLS[1].set_all(false);
        take(&call(9));
        flush(true);
        assert_eq!(SEEN.lock().len(), 4);
        *OUTLET.lock() = None;
    }

    #[test]
    fn threads_are_numbered_as_pthreads_unless_asked_otherwise() {
        // SAFETY: no conditions.
        assert_eq!(thread(), unsafe { libc::pthread_self() } as u32);
    }
}
