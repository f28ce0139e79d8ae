//! Capture modes: which calls are unsafe while somebody captures, and what breaks a capture. How a capture grows is
//! `capture`'s.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use ghost_abi::InOut;

use super::Capture;
use crate::Error;
use crate::arena::Handle;
use crate::core::Core;

/// `CUstreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

impl Mode {
    pub fn of(number: i32) -> Result<Mode, Error> {
        [Mode::Global, Mode::ThreadLocal, Mode::Relaxed].get(number as usize).copied().ok_or(Error::InvalidValue)
    }
}

/// Captures begun and not ended, so that calls outside of any take the short way.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts a capture that begins.
pub fn opened() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// Counts a capture that ends.
pub fn closed() {
    OPEN.fetch_sub(1, Ordering::Relaxed);
}

#[inline]
fn nobody_captures() -> bool {
    OPEN.load(Ordering::Relaxed) == 0
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// `cuThreadExchangeStreamCaptureMode`.
pub fn exchange_mode(mode: InOut<i32>) -> Result<(), Error> {
    let new = Mode::of(mode.get()?)?;
    Ok(mode.set(MODE.replace(new) as i32)?)
}

/// Captures that forbid a thread in this mode what is unsafe.
fn conflicts(capture: &Capture, mode: Mode) -> bool {
    let own = capture.thread == std::thread::current().id();
    match mode {
        Mode::Relaxed => false,
        Mode::ThreadLocal => own && capture.mode != Mode::Relaxed,
        Mode::Global => own && capture.mode != Mode::Relaxed || capture.mode == Mode::Global,
    }
}

/// For calls that no capture sees but whose effect a graph may need at every launch, such as allocations: refused
/// as the thread's mode says, and the captures in the way are broken.
pub fn forbid_unsafe(core: &mut Core) -> Result<(), Error> {
    let mode = MODE.get();
    if nobody_captures() || mode == Mode::Relaxed {
        return Ok(());
    }
    forbid(core, |_, capture| conflicts(capture, mode))
}

/// For calls that wait for a whole device: none of its streams may capture, in whatever mode.
pub fn forbid_device(core: &mut Core, device: usize) -> Result<(), Error> {
    if nobody_captures() { Ok(()) } else { forbid(core, |on, _| on == device) }
}

/// Breaks the captures that are in the way of a call, each on a device; an error if there are any.
fn forbid(core: &mut Core, in_the_way: impl Fn(usize, &Capture) -> bool) -> Result<(), Error> {
    let mut met = false;
    for (_, stream) in core.streams.iter_mut() {
        let device = stream.device;
        if let Some(capture) = stream.capture.as_mut().filter(|capture| in_the_way(device, capture)) {
            capture.valid = false;
            met = true;
        }
    }
    if met { Err(Error::StreamCaptureUnsupported) } else { Ok(()) }
}

/// For work on a stream: the legacy stream would wait for every blocking stream of its context, which a capturing one
/// cannot stand. Its capture is broken.
#[inline]
pub fn forbid_legacy(core: &mut Core, stream: Handle) -> Result<(), Error> {
    if nobody_captures() || !implicit(core, stream)? {
        return Ok(());
    }
    let context = core.stream(stream)?.context;
    let blocking = |s: &crate::core::Stream| s.context == context && !s.non_blocking && s.capture.is_some();
    let broken: Vec<Handle> = core.streams.iter().filter(|(_, s)| blocking(s)).map(|(handle, _)| handle).collect();
    broken.into_iter().for_each(|stream| {
        invalidate(core, stream);
    });
    Err(Error::StreamCaptureImplicit)
}

/// Whether this is the legacy stream and a blocking stream of its context captures.
pub fn implicit(core: &Core, stream: Handle) -> Result<bool, Error> {
    let state = core.stream(stream)?;
    let blocking = |s: &crate::core::Stream| s.context == state.context && !s.non_blocking && s.capture.is_some();
    Ok(state.legacy && core.streams.iter().any(|(_, s)| blocking(s)))
}

/// Marks a capture as broken; returns the error that says so.
pub fn invalidate(core: &mut Core, stream: Handle) -> Error {
    let id = core.stream(stream).ok().and_then(|s| s.capture.as_ref()).map(|c| c.id);
    for (_, s) in core.streams.iter_mut() {
        if let Some(capture) = s.capture.as_mut().filter(|c| Some(c.id) == id) {
            capture.valid = false;
        }
    }
    Error::StreamCaptureUnsupported
}

/// Waiting for or asking a capturing stream breaks its capture.
pub fn forbid_capture(core: &mut Core, stream: Handle) -> Result<(), Error> {
    if core.stream(stream)?.capture.is_some() {
        return Err(invalidate(core, stream));
    }
    forbid_legacy(core, stream)
}
