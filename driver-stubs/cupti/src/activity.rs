//! Subscriptions and activities, as a profiler opens and closes them.
//! All of it is accepted and nothing is ever recorded: no callback runs, no buffer is asked for.

use crate::{Cupti, Error};
use ghost_abi::{InOut, MaybeOut, Out};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

ghost_abi::rows! { Cupti;
    fn cuptiSubscribe(subscriber: Out<*mut c_void>, callback: *const c_void, user: *mut c_void) => subscribe;
    fn cuptiUnsubscribe(subscriber: *mut c_void) => unsubscribe;
    fn cuptiFinalize() => finalize;
    fn cuptiEnableCallback(enable: u32, subscriber: *mut c_void, domain: u32, callback: u32) => enable_callback;
    fn cuptiEnableDomain(enable: u32, subscriber: *mut c_void, domain: u32) => enable_domain;
    fn cuptiEnableAllDomains(enable: u32, subscriber: *mut c_void) => enable_all_domains;
    fn cuptiActivityEnable(kind: u32) => switch_kind;
    fn cuptiActivityDisable(kind: u32) => switch_kind;
    fn cuptiActivityEnableCudaEventDeviceTimestamps(enable: u8) => switch;
    fn cuptiActivityEnableDriverApi(callback: u32, enable: u8) => switch_api;
    fn cuptiActivityEnableRuntimeApi(callback: u32, enable: u8) => switch_api;
    fn cuptiActivityRegisterCallbacks(request: *const c_void, complete: *const c_void) => register_callbacks;
    fn cuptiActivityRegisterTimestampCallback(clock: *const c_void) => register_clock;
    fn cuptiActivitySetAttribute(attribute: u32, size: InOut<usize>, value: *mut c_void) => set_attribute;
    fn cuptiActivityFlushAll(flag: u32) => flush;
    fn cuptiActivityGetNextRecord(buffer: *mut u8, bytes: usize, record: Out<*mut c_void>) => next_record;
    fn cuptiActivityGetNumDroppedRecords(context: *mut c_void, stream: u32, dropped: Out<usize>) => dropped;
    fn cuptiActivityPushExternalCorrelationId(kind: i32, id: u64) => push;
    fn cuptiActivityPopExternalCorrelationId(kind: i32, last: MaybeOut<u64>) => pop;
}

/// Kinds of `CUpti_ActivityKind` are below this.
const KINDS: u32 = 256;

/// `CUpti_ExternalCorrelationKind` counts 1 to 5.
const CORRELATION_KINDS: usize = 6;

static SUBSCRIBED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CORRELATION: RefCell<[Vec<u64>; CORRELATION_KINDS]> = const { RefCell::new([const { Vec::new() }; CORRELATION_KINDS]) };
}

/// There is one subscriber at a time, so its handle only has to be recognisable.
fn handle() -> *mut c_void {
    (&raw const SUBSCRIBED).cast_mut().cast()
}

fn subscribe(subscriber: Out<*mut c_void>, _callback: *const c_void, _user: *mut c_void) -> Result<(), Error> {
    subscriber.check()?;
    if SUBSCRIBED.swap(true, Ordering::Relaxed) {
        return Err(Error::MultipleSubscribers);
    }
    Ok(subscriber.set(handle())?)
}

fn unsubscribe(subscriber: *mut c_void) -> Result<(), Error> {
    known(subscriber)?;
    SUBSCRIBED.store(false, Ordering::Relaxed);
    Ok(())
}

fn finalize() -> Result<(), Error> {
    SUBSCRIBED.store(false, Ordering::Relaxed);
    Ok(())
}

fn known(subscriber: *mut c_void) -> Result<(), Error> {
    if ptr::eq(subscriber, handle()) && SUBSCRIBED.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err(Error::InvalidParameter)
    }
}

fn enable_callback(_enable: u32, subscriber: *mut c_void, _domain: u32, _callback: u32) -> Result<(), Error> {
    known(subscriber)
}

fn enable_domain(_enable: u32, subscriber: *mut c_void, _domain: u32) -> Result<(), Error> {
    known(subscriber)
}

fn enable_all_domains(_enable: u32, subscriber: *mut c_void) -> Result<(), Error> {
    known(subscriber)
}

fn switch_kind(kind: u32) -> Result<(), Error> {
    if (1..KINDS).contains(&kind) { Ok(()) } else { Err(Error::InvalidKind) }
}

fn switch(_enable: u8) -> Result<(), Error> {
    Ok(())
}

fn switch_api(_callback: u32, _enable: u8) -> Result<(), Error> {
    Ok(())
}

fn register_callbacks(request: *const c_void, complete: *const c_void) -> Result<(), Error> {
    if request.is_null() || complete.is_null() { Err(Error::InvalidParameter) } else { Ok(()) }
}

fn register_clock(clock: *const c_void) -> Result<(), Error> {
    if clock.is_null() { Err(Error::InvalidParameter) } else { Ok(()) }
}

fn set_attribute(_attribute: u32, size: InOut<usize>, value: *mut c_void) -> Result<(), Error> {
    size.check()?;
    if value.is_null() { Err(Error::InvalidParameter) } else { Ok(()) }
}

fn flush(_flag: u32) -> Result<(), Error> {
    Ok(())
}

/// Every buffer is empty: "no more" is the answer to the first question.
fn next_record(_buffer: *mut u8, _bytes: usize, record: Out<*mut c_void>) -> Result<(), Error> {
    record.set(ptr::null_mut())?;
    Err(Error::MaxLimitReached)
}

fn dropped(_context: *mut c_void, _stream: u32, dropped: Out<usize>) -> Result<(), Error> {
    Ok(dropped.set(0)?)
}

fn push(kind: i32, id: u64) -> Result<(), Error> {
    with_stack(kind, |stack| stack.push(id))
}

fn pop(kind: i32, last: MaybeOut<u64>) -> Result<(), Error> {
    let id = with_stack(kind, Vec::pop)?.ok_or(Error::QueueEmpty)?;
    last.set(id);
    Ok(())
}

fn with_stack<R>(kind: i32, work: impl FnOnce(&mut Vec<u64>) -> R) -> Result<R, Error> {
    let kind = usize::try_from(kind).ok().filter(|kind| *kind != 0).ok_or(Error::InvalidParameter)?;
    CORRELATION.with_borrow_mut(|stacks| stacks.get_mut(kind).map(work)).ok_or(Error::InvalidParameter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    fn popped(kind: i32) -> Result<u64, Error> {
        ask(|out: Out<u64>| {
            let mut id = 0;
            // SAFETY: `id` outlives the lens.
            pop(kind, unsafe { MaybeOut::from_raw(&raw mut id) })?;
            Ok(out.set(id)?)
        })
    }

    #[test]
    fn one_subscriber_at_a_time() {
        let first = ask(|out| subscribe(out, ptr::null(), ptr::null_mut()));
        assert_eq!(first, Ok(handle()));
        assert_eq!(ask(|out| subscribe(out, ptr::null(), ptr::null_mut())), Err(Error::MultipleSubscribers));
        assert_eq!(
            (enable_domain(1, handle(), 1), enable_domain(1, ptr::null_mut(), 1)),
            (Ok(()), Err(Error::InvalidParameter))
        );
        assert_eq!((unsubscribe(handle()), unsubscribe(handle())), (Ok(()), Err(Error::InvalidParameter)));
    }

    #[test]
    fn correlation_ids_come_back_in_reverse_order_by_kind() {
        assert_eq!(
            [push(3, 7), push(3, 8), push(4, 9), push(0, 1), push(6, 1)].map(|pushed| pushed.is_ok()),
            [true, true, true, false, false]
        );
        assert_eq!([popped(3), popped(4), popped(3), popped(3)], [Ok(8), Ok(9), Ok(7), Err(Error::QueueEmpty)]);
    }

    #[test]
    fn every_buffer_is_empty() {
        assert_eq!(ask(|record| next_record(ptr::null_mut(), 0, record)), Err(Error::MaxLimitReached));
        assert_eq!(ask(|count| dropped(ptr::null_mut(), 0, count)), Ok(0));
    }
}
