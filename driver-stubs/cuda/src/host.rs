//! Host functions on streams, and the one helper thread that drives whatever queues. The thread starts at first
//! need with all signals blocked and never in a forked child; it runs user code without holding the lock.

use std::ffi::c_void;
use std::sync::Once;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::driver::Driver;
use crate::queue::{Action, Call};
use crate::stream::{Legacy, Named, PerThread};
use crate::{Cuda, Error, driver, graph, stream};

ghost_abi::rows! { Cuda;
    since 10000 fn cuLaunchHostFunc(stream: Legacy, function: Option<HostFunction>, user: *mut c_void) => launch;
    since 10000 fn cuLaunchHostFunc_ptsz(stream: PerThread, function: Option<HostFunction>, user: *mut c_void) => launch;
    fn cuStreamAddCallback(stream: Legacy, callback: Option<StreamCallback>, user: *mut c_void, flags: u32) => add_callback;
    since 7000 fn cuStreamAddCallback_ptsz(stream: PerThread, callback: Option<StreamCallback>, user: *mut c_void, flags: u32) => add_callback;
}

/// `CUhostFn`.
pub type HostFunction = unsafe extern "C" fn(user: *mut c_void);
/// `CUstreamCallback`.
pub type StreamCallback = unsafe extern "C" fn(stream: *mut c_void, status: i32, user: *mut c_void);

/// A caller's pointer that travels to the helper thread.
#[derive(Clone, Copy, Debug)]
pub struct User(pub *mut c_void);

// SAFETY: the pointer is opaque to us; the API hands it to another thread by contract.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

impl User {
    pub fn get(self) -> *mut c_void {
        self.0
    }
}

fn launch(stream: impl Named, function: Option<HostFunction>, user: *mut c_void) -> Result<(), Error> {
    let function = function.ok_or(Error::InvalidValue)?;
    let user = User(user);
    // SAFETY: the caller promises a function that may be called once with this pointer from another thread.
    enqueue(stream.named(), move || unsafe { function(user.get()) })
}

fn add_callback(
    stream: impl Named,
    callback: Option<StreamCallback>,
    user: *mut c_void,
    flags: u32,
) -> Result<(), Error> {
    let stream = stream.named();
    let callback = callback.filter(|_| flags == 0).ok_or(Error::InvalidValue)?;
    let (user, named) = (User(user), User(stream));
    // SAFETY: as in `launch`.
    enqueue(stream, move || unsafe { callback(named.get(), 0, user.get()) })
}

fn enqueue(stream: *mut c_void, run: impl Fn() + Send + Sync + 'static) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let handle = stream::resolve(&mut core, stream)?;
    if core.stream(handle)?.capture.is_some() {
        return graph::capture_host(&mut core, handle, std::sync::Arc::new(run));
    }
    graph::forbid_legacy(&mut core, handle)?;
    core.push(handle, Vec::new(), Action::Host(Some(Box::new(run))))?;
    drop(core);
    wake(driver);
    Ok(())
}

/// Makes sure the helper thread runs and looks at the queues.
pub fn wake(driver: &'static Driver) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| start(driver));
    driver.moved.notify_all();
}

fn start(driver: &'static Driver) {
    // SAFETY: both sets are initialised before use; the old mask is restored on this thread.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let _ = std::thread::Builder::new().name("ghost-streams".into()).spawn(move || drive(driver));
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
    }
}

/// The helper thread: advances queues, makes the calls that are due, sleeps until something moves.
fn drive(driver: &'static Driver) {
    loop {
        let mut core = driver.core();
        let now = ghost_engine::clock::now_ns();
        let before = core.queued;
        let (calls, next) = driver.advance(&mut core, now);
        if core.queued != before {
            driver.moved.notify_all();
        }
        if calls.is_empty() {
            let idle = if core.queued == 0 { Duration::from_secs(3600) } else { Duration::from_millis(100) };
            let until = next.map_or(idle, |at| Duration::from_nanos(at.saturating_sub(now)).min(idle));
            driver.moved.wait_for(&mut core, until);
            continue;
        }
        drop(core);
        calls.into_iter().for_each(|call| make(driver, call));
    }
}

fn make(driver: &'static Driver, call: Call) {
    match call {
        Call::Started { run, start_ns } => run(start_ns),
        Call::Host { stream, run } => {
            run();
            let mut core = driver.core();
            let end = ghost_engine::clock::now_ns();
            if let Some(head) = core.pop(stream) {
                let _ = core.advance_tail(stream, end);
                head.done.store(end, Ordering::Release);
            }
            driver.moved.notify_all();
        }
    }
}
