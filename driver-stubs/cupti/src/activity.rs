//! Activities, as a profiler turns them on and off and asks for their records. Which records there are is `collect`'s
//! to say; kinds nobody makes records of are accepted and stay empty, as on a device that has none of them.

use crate::buffer::{self, Complete, Request};
use crate::record::kind;
use crate::{Cupti, Error, clock, collect};
use ghost_abi::{InOut, Out};
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

ghost_abi::rows! { Cupti;
    fn cuptiActivityEnable(kind: u32) => enable;
    fn cuptiActivityDisable(kind: u32) => disable;
    fn cuptiActivityEnableCudaEventDeviceTimestamps(enable: u8) => switch;
    fn cuptiActivityEnableDriverApi(number: u32, enable: u8) => enable_driver;
    fn cuptiActivityEnableRuntimeApi(number: u32, enable: u8) => enable_runtime;
    fn cuptiActivityRegisterCallbacks(request: Option<Request>, complete: Option<Complete>) => register_callbacks;
    fn cuptiActivityRegisterTimestampCallback(source: Option<clock::Source>) => register_clock;
    fn cuptiActivitySetAttribute(attribute: u32, size: InOut<usize>, value: *mut c_void) => set_attribute;
    fn cuptiActivityFlushAll(flag: u32) => flush;
    fn cuptiActivityFlushPeriod(milliseconds: u32) => flush_period;
    fn cuptiActivityGetNextRecord(buffer: *mut u8, bytes: usize, record: InOut<*mut u8>) => next_record;
    fn cuptiActivityGetNumDroppedRecords(context: *mut c_void, stream: u32, dropped: Out<usize>) => dropped;
    fn cuptiGetTimestamp(timestamp: Out<u64>) => timestamp;
    fn cuptiSetThreadIdType(of: u32) => set_thread_ids;
    fn cuptiGetThreadIdType(of: Out<u32>) => get_thread_ids;
}

/// `CUPTI_ACTIVITY_KIND_COUNT` of CUDA 13.2.
const KINDS: u32 = 60;

const FORCED: u32 = 1;

const DRIVER: u32 = 1;
const RUNTIME: u32 = 2;

fn enable(kind: u32) -> Result<(), Error> {
    set_kind(kind, true)
}

fn disable(kind: u32) -> Result<(), Error> {
    set_kind(kind, false)
}

fn set_kind(of: u32, on: bool) -> Result<(), Error> {
    if !(1..KINDS).contains(&of) {
        return Err(Error::InvalidKind);
    }
    collect::KINDS.set(of, on);
    match of {
        kind::DRIVER => set_calls(DRIVER, on),
        kind::RUNTIME => set_calls(RUNTIME, on),
        _ => {}
    }
    collect::listen();
    Ok(())
}

fn set_calls(domain: u32, on: bool) {
    if let Some(calls) = collect::calls(domain) {
        calls.set_all(on);
    }
}

fn enable_driver(number: u32, enable: u8) -> Result<(), Error> {
    enable_call(DRIVER, number, enable)
}

fn enable_runtime(number: u32, enable: u8) -> Result<(), Error> {
    enable_call(RUNTIME, number, enable)
}

fn enable_call(domain: u32, number: u32, enable: u8) -> Result<(), Error> {
    crate::function::name(domain, number).ok_or(Error::InvalidParameter)?;
    if let Some(calls) = collect::calls(domain) {
        calls.set(number, enable != 0);
    }
    collect::listen();
    Ok(())
}

fn switch(_enable: u8) -> Result<(), Error> {
    Ok(())
}

fn register_callbacks(request: Option<Request>, complete: Option<Complete>) -> Result<(), Error> {
    let (Some(request), Some(complete)) = (request, complete) else { return Err(Error::InvalidParameter) };
    collect::register(request, complete);
    Ok(())
}

fn register_clock(source: Option<clock::Source>) -> Result<(), Error> {
    clock::register(source.ok_or(Error::InvalidParameter)?);
    Ok(())
}

/// Sizes of pools and buffers on the device: there are none to size.
fn set_attribute(_attribute: u32, size: InOut<usize>, value: *mut c_void) -> Result<(), Error> {
    size.check()?;
    if value.is_null() { Err(Error::InvalidParameter) } else { Ok(()) }
}

fn flush(flag: u32) -> Result<(), Error> {
    collect::flush(flag & FORCED != 0);
    Ok(())
}

/// Records are handed over as they become many; no clock runs for it.
fn flush_period(_milliseconds: u32) -> Result<(), Error> {
    Ok(())
}

fn next_record(buffer: *mut u8, bytes: usize, record: InOut<*mut u8>) -> Result<(), Error> {
    let previous = record.get()?;
    if buffer.is_null() && bytes > 0 {
        return Err(Error::InvalidParameter);
    }
    // SAFETY: the profiler passes a buffer it was given back, and what this function answered last.
    let next = unsafe { buffer::next(buffer, bytes, previous) };
    record.set(next)?;
    if next.is_null() { Err(Error::MaxLimitReached) } else { Ok(()) }
}

fn dropped(_context: *mut c_void, _stream: u32, dropped: Out<usize>) -> Result<(), Error> {
    dropped.check()?;
    Ok(dropped.set(buffer::take_dropped())?)
}

fn timestamp(timestamp: Out<u64>) -> Result<(), Error> {
    Ok(timestamp.set(clock::now())?)
}

fn set_thread_ids(of: u32) -> Result<(), Error> {
    if of > 1 {
        return Err(Error::InvalidParameter);
    }
    collect::THREAD_IDS.store(of, Relaxed);
    Ok(())
}

fn get_thread_ids(of: Out<u32>) -> Result<(), Error> {
    Ok(of.set(collect::THREAD_IDS.load(Relaxed))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn an_empty_buffer_has_no_first_record() {
        let mut record = std::ptr::null_mut();
        // SAFETY: `record` outlives the lens.
        let place = unsafe { InOut::from_raw(&raw mut record) };
        assert_eq!(next_record(std::ptr::null_mut(), 0, place), Err(Error::MaxLimitReached));
    }

    #[test]
    fn a_kind_or_function_that_does_not_exist_is_refused() {
        assert_eq!((enable(0), disable(60)), (Err(Error::InvalidKind), Err(Error::InvalidKind)));
        assert_eq!(enable_runtime(0, 1), Err(Error::InvalidParameter));
        assert_eq!(
            (register_callbacks(None, None), set_thread_ids(2)),
            (Err(Error::InvalidParameter), Err(Error::InvalidParameter))
        );
    }

    #[test]
    fn time_goes_on() {
        let now = || ask(timestamp).expect("there is a clock");
        assert!(now() <= now());
    }
}
