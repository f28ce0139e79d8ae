//! Tells a profiler what happens: calls, and work with the times it is placed at. One load while nobody listens.
//! It decides no time and keeps no record.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use ghost_abi::Row;
use ghost_engine::timeline::Span;
use ghost_table::trace::{Domain, LEGACY_STREAM, NO_STREAM, Record, Switch, Tracer, Wait, What};
use parking_lot::Mutex;

use crate::core::{Core, Stream};
use crate::{context, driver, label, operation};

/// The tracer, null while nobody listens.
static TRACER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
/// Counts the times tracing began, so that a call that was open when it ended is not taken for one now.
static SESSION: AtomicU32 = AtomicU32::new(0);
static CORRELATION: AtomicU32 = AtomicU32::new(0);
static SWITCHES: Mutex<Vec<Switch>> = Mutex::new(Vec::new());

/// The outermost call that is open on a thread.
#[derive(Clone, Copy)]
struct Open {
    key: *const c_void,
    start_ns: u64,
    correlation: u32,
    session: u32,
}

thread_local! {
    static OPEN: Cell<Option<Open>> = const { Cell::new(None) };
    /// The call that queued what this thread resolves just now; 0 = none.
    static RESOLVING: Cell<u32> = const { Cell::new(0) };
}

/// Whether anybody listens.
#[inline(always)]
pub fn on() -> bool {
    !TRACER.load(Ordering::Relaxed).is_null()
}

/// Installs or takes away the tracer and tells the other libraries.
pub fn set_tracer(tracer: Option<Tracer>) {
    let switches = SWITCHES.lock();
    if tracer.is_some() && !on() {
        SESSION.fetch_add(1, Ordering::Relaxed);
    }
    TRACER.store(tracer.map_or(std::ptr::null_mut(), |call| call as *mut ()), Ordering::Release);
    // SAFETY: a switch may be called at any time, as `watch` demands.
    switches.iter().for_each(|switch| unsafe { switch(tracer.is_some().into()) });
}

/// Has `switch` called now and at each change.
pub fn watch(switch: Switch) {
    let mut switches = SWITCHES.lock();
    switches.push(switch);
    // SAFETY: a switch may be called at any time, as the table's entry demands.
    unsafe { switch(on().into()) };
}

fn tell(record: &Record) {
    let tracer = TRACER.load(Ordering::Acquire);
    if !tracer.is_null() {
        // SAFETY: only `set_tracer` stores here, and what it stores is a `Tracer`.
        let tracer: Tracer = unsafe { std::mem::transmute(tracer) };
        // SAFETY: a tracer takes any record.
        unsafe { tracer(record) };
    }
}

/// A call of this library begins.
#[cold]
pub fn enter_row(row: &'static Row) {
    enter(std::ptr::from_ref(row).cast(), Domain::Driver as u32, row.c_name().as_ptr());
}

/// A call of this library ends. Waits are told of here: by now they are over.
#[cold]
pub fn leave_row(row: &'static Row, status: i32) {
    match row.name() {
        "cuEventSynchronize" if status == 0 => wait_over(Wait::Event),
        "cuCtxSynchronize" | "cuCtxSynchronize_v2" if status == 0 => wait_over(Wait::Context),
        _ => {}
    }
    leave(std::ptr::from_ref(row).cast(), Domain::Driver as u32, row.c_name().as_ptr(), status);
}

/// A call begins. Calls inside another one are part of it.
pub fn enter(key: *const c_void, domain: u32, name: *const c_char) {
    let session = SESSION.load(Ordering::Relaxed);
    if OPEN.get().is_some_and(|open| open.session == session) {
        return;
    }
    let correlation = CORRELATION.fetch_add(1, Ordering::Relaxed) + 1;
    let start_ns = ghost_engine::clock::now_ns();
    OPEN.set(Some(Open { key, start_ns, correlation, session }));
    tell(&Record { detail: domain, correlation, name, end_ns: start_ns, ..Record::new(What::Enter) });
}

/// A call ends; unless it was the outermost one, nobody hears of it.
pub fn leave(key: *const c_void, domain: u32, name: *const c_char, status: i32) {
    let Some(open) = OPEN.get().filter(|open| open.key == key) else { return };
    OPEN.set(None);
    if open.session != SESSION.load(Ordering::Relaxed) {
        return;
    }
    let (correlation, start_ns) = (open.correlation, open.start_ns);
    let end_ns = ghost_engine::clock::now_ns();
    tell(&Record { detail: domain, correlation, name, start_ns, end_ns, status, ..Record::new(What::Call) });
}

/// The call that causes what happens on this thread now; 0 = none that is traced.
pub fn correlation() -> u32 {
    if !on() {
        return 0;
    }
    let session = SESSION.load(Ordering::Relaxed);
    match RESOLVING.get() {
        0 => OPEN.get().filter(|open| open.session == session).map_or(0, |open| open.correlation),
        queued => queued,
    }
}

/// Runs `work` on behalf of the call that queued it.
pub fn resolving<R>(correlation: u32, work: impl FnOnce() -> R) -> R {
    let before = RESOLVING.replace(correlation);
    let result = work();
    RESOLVING.set(before);
    result
}

/// A call of a library that launches by the private table: it shows as the runtime call the real one would make.
pub fn implied(kind: impl FnOnce() -> u32, call: impl FnOnce() -> i32) -> i32 {
    if !on() {
        return call();
    }
    let kind = kind();
    let name = operation::runtime_call(kind);
    let key = name.as_ptr().cast();
    enter(key, Domain::Runtime as u32, name.as_ptr());
    let status = call();
    leave(key, Domain::Runtime as u32, name.as_ptr(), status);
    status
}

/// Tells of work that has got its place in time.
#[cold]
pub fn work(core: &Core, stream: crate::arena::Handle, span: Span, number: u32, correlation: u32) {
    if !on() {
        return;
    }
    let (Some(label), Ok(stream)) = (label::of(number), core.stream(stream)) else { return };
    tell(&Record {
        what: label.what,
        detail: label.detail,
        correlation,
        device: stream.device as u32,
        context: context_number(core, stream),
        stream: stream_number(stream),
        name: label.name as *const c_char,
        start_ns: span.start_ns,
        end_ns: span.end_ns,
        bytes: label.bytes,
        grid: label.grid,
        block: label.block,
        static_shared_bytes: label.static_shared_bytes,
        dynamic_shared_bytes: label.dynamic_shared_bytes,
        registers: label.registers,
        local_bytes: label.local_bytes,
        value: label.value,
        status: 0,
        from: label.from,
        to: label.to,
    });
}

/// Tells that the host waited for a stream, or a stream for an event.
#[cold]
pub fn wait(core: &Core, stream: crate::arena::Handle, of: Wait, start_ns: u64) {
    let Ok(stream) = core.stream(stream) else { return };
    tell(&Record {
        detail: of as u32,
        correlation: correlation(),
        device: stream.device as u32,
        context: context_number(core, stream),
        stream: stream_number(stream),
        start_ns,
        end_ns: ghost_engine::clock::now_ns(),
        ..Record::new(What::Wait)
    });
}

fn wait_over(of: Wait) {
    let Ok(driver) = driver::get() else { return };
    let core = driver.core();
    let Ok((handle, device)) = context::current(&core) else { return };
    let end_ns = ghost_engine::clock::now_ns();
    tell(&Record {
        detail: of as u32,
        correlation: correlation(),
        device: device as u32,
        context: core.context(handle).map_or(0, |context| context.id as u32),
        stream: NO_STREAM,
        start_ns: OPEN.get().map_or(end_ns, |open| open.start_ns),
        end_ns,
        ..Record::new(What::Wait)
    });
}

fn context_number(core: &Core, stream: &Stream) -> u32 {
    core.context(stream.context).map_or(0, |context| context.id as u32)
}

fn stream_number(stream: &Stream) -> u32 {
    if stream.legacy { LEGACY_STREAM } else { LEGACY_STREAM + stream.id as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HEARD: Mutex<Vec<Record>> = Mutex::new(Vec::new());
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    unsafe extern "C" fn hear(record: *const Record) {
        // SAFETY: the tracer is handed one record.
        HEARD.lock().push(unsafe { *record });
    }

    fn traced(work: impl FnOnce()) -> Vec<Record> {
        let _one = ONE_AT_A_TIME.lock();
        HEARD.lock().clear();
        set_tracer(Some(hear));
        work();
        set_tracer(None);
        std::mem::take(&mut *HEARD.lock())
    }

    fn key(number: usize) -> *const c_void {
        std::ptr::without_provenance(number)
    }

    #[test]
    fn a_call_inside_another_is_part_of_it() {
        let name = c"outer".as_ptr();
        let heard = traced(|| {
            enter(key(1), 2, name);
            enter(key(2), 1, c"inner".as_ptr());
            leave(key(2), 1, c"inner".as_ptr(), 0);
            leave(key(1), 2, name, 700);
        });
        let calls: Vec<_> = heard.iter().filter(|record| record.name == name).collect();
        assert_eq!(calls.iter().map(|call| call.what).collect::<Vec<_>>(), [What::Enter as u32, What::Call as u32]);
        assert_eq!((calls[0].correlation, calls[1].status), (calls[1].correlation, 700));
        assert!(calls[1].start_ns <= calls[1].end_ns && calls[0].correlation != 0);
    }

    #[test]
    fn a_call_open_when_tracing_ended_is_forgotten() {
        let (name, next) = (c"open".as_ptr(), c"next".as_ptr());
        traced(|| enter(key(1), 2, name));
        let heard = traced(|| {
            leave(key(1), 2, name, 0);
            enter(key(3), 2, next);
            leave(key(3), 2, next, 0);
        });
        let names: Vec<_> = heard.iter().map(|record| record.name).filter(|n| *n == name || *n == next).collect();
        assert_eq!(names, [next, next]);
    }

    #[test]
    fn work_belongs_to_the_call_that_queued_it() {
        traced(|| {
            enter(key(1), 2, c"call".as_ptr());
            let own = correlation();
            assert_eq!(resolving(own + 7, correlation), own + 7);
            assert_eq!(correlation(), own);
            leave(key(1), 2, c"call".as_ptr(), 0);
            assert_eq!(correlation(), 0);
        });
    }
}
