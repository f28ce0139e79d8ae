//! Hears records from libcuda, keeps them until they are over, and hands them to the profiler's buffers in its clock.
//! Hearing never calls anybody but at the end of a call, when no lock is held.

use crate::bits::Bits;
use crate::buffer::{Complete, Outlet, Request};
use crate::clock::{self, Map};
use crate::record::{self, kind};
use crate::{callback, correlation, function, shape};
use ghost_table::trace::{Record, What};
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
            what if what == What::Call as u32 => outlet.put(&shape::api(record, *number, *thread, map)),
            what if what == What::Kernel as u32 => outlet.put(&shape::kernel(record, *number, map)),
            what if what == What::Copy as u32 => outlet.put(&shape::memcpy(record, map)),
            what if what == What::Fill as u32 => outlet.put(&shape::memset(record, map)),
            _ => outlet.put(&shape::synchronization(record, map)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer;
    use ghost_table::trace::Domain;
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
