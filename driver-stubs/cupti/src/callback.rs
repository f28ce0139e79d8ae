//! Subscribers and what they are told of: calls of the driver and the runtime, as they begin and end. Arguments of
//! calls are not at hand here, so a subscriber finds zeros in their place. Resource and other domains stay silent.

use crate::bits::Bits;
use crate::{Cupti, Error, collect, function};
use ghost_abi::{MaybeOut, Out};
use ghost_table::trace::Record;
use parking_lot::Mutex;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

ghost_abi::rows! { Cupti;
    fn cuptiSubscribe(subscriber: Out<*mut c_void>, callback: Option<Callback>, user: *mut c_void) => subscribe;
    fn cuptiUnsubscribe(subscriber: *mut c_void) => unsubscribe;
    fn cuptiFinalize() => finalize;
    fn cuptiEnableCallback(enable: u32, subscriber: *mut c_void, domain: u32, number: u32) => enable;
    fn cuptiEnableDomain(enable: u32, subscriber: *mut c_void, domain: u32) => enable_domain;
    fn cuptiEnableAllDomains(enable: u32, subscriber: *mut c_void) => enable_all;
    fn cuptiGetCallbackState(enabled: Out<u32>, subscriber: *mut c_void, domain: u32, number: u32) => state;
    fn cuptiGetCallbackName(domain: u32, number: u32, name: Out<*const c_char>) => name;
    fn cuptiSupportedDomains(count: Out<usize>, domains: MaybeOut<*const u32>) => supported_domains;
}

/// `CUpti_CallbackFunc`.
pub type Callback = unsafe extern "C" fn(user: *mut c_void, domain: u32, number: u32, data: *const Data);

/// `CUpti_CallbackData`.
#[derive(Debug)]
#[repr(C)]
pub struct Data {
    site: u32,
    function: *const c_char,
    arguments: *const c_void,
    status: *mut i32,
    symbol: *const c_char,
    context: *mut c_void,
    context_number: u32,
    /// A word that keeps what the subscriber stores in it from a call's begin to its end.
    kept: *mut u64,
    correlation: u32,
}

const _: () = assert!(size_of::<Data>() == 72 && std::mem::offset_of!(Data, correlation) == 64);

/// `CUpti_ApiCallbackSite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Site {
    Enter = 0,
    Exit = 1,
}

/// Domains of `CUpti_CallbackDomain` that exist: driver, runtime, resource, synchronize, NVTX, state.
static DOMAINS: [u32; 6] = [1, 2, 3, 4, 5, 6];

/// More than the arguments of any function take.
static NO_ARGUMENTS: [u64; 64] = [0; 64];

#[derive(Clone, Copy)]
struct Subscriber {
    callback: Option<Callback>,
    user: usize,
}

static SUBSCRIBER: Mutex<Option<Subscriber>> = Mutex::new(None);
static WANTED: [Bits; 2] = [Bits::new(), Bits::new()];
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static KEPT: Cell<u64> = const { Cell::new(0) };
    /// A subscriber is not told of calls it makes itself.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// There is one subscriber at a time, so its handle only has to be recognisable.
fn handle() -> *mut c_void {
    (&raw const SUBSCRIBER).cast_mut().cast()
}

/// Whether a subscriber wants to hear of any call.
pub fn is_wanted() -> bool {
    ANY.load(Relaxed)
}

fn subscribe(subscriber: Out<*mut c_void>, callback: Option<Callback>, user: *mut c_void) -> Result<(), Error> {
    subscriber.check()?;
    let mut current = SUBSCRIBER.lock();
    if current.is_some() {
        return Err(Error::MultipleSubscribers);
    }
    *current = Some(Subscriber { callback, user: user as usize });
    Ok(subscriber.set(handle())?)
}

fn unsubscribe(subscriber: *mut c_void) -> Result<(), Error> {
    known(subscriber)?;
    *SUBSCRIBER.lock() = None;
    WANTED.iter().for_each(|wanted| wanted.set_all(false));
    changed();
    Ok(())
}

fn finalize() -> Result<(), Error> {
    *SUBSCRIBER.lock() = None;
    WANTED.iter().for_each(|wanted| wanted.set_all(false));
    collect::flush(true);
    collect::KINDS.set_all(false);
    collect::CALLS.iter().for_each(|calls| calls.set_all(false));
    changed();
    Ok(())
}

fn changed() {
    let before = ANY.swap(WANTED.iter().any(|wanted| !wanted.is_empty()), Relaxed);
    if before || is_wanted() || collect::is_hearing() {
        collect::listen();
    }
}

fn known(subscriber: *mut c_void) -> Result<(), Error> {
    let is_known = ptr::eq(subscriber, handle()) && SUBSCRIBER.lock().is_some();
    if is_known { Ok(()) } else { Err(Error::InvalidParameter) }
}

/// The calls of a domain that are wanted; `Ok(None)` for a domain that exists and stays silent.
fn wanted(domain: u32) -> Result<Option<&'static Bits>, Error> {
    if !DOMAINS.contains(&domain) {
        return Err(Error::InvalidParameter);
    }
    Ok(WANTED.get((domain as usize).wrapping_sub(1)))
}

fn enable(enable: u32, subscriber: *mut c_void, domain: u32, number: u32) -> Result<(), Error> {
    known(subscriber)?;
    if let Some(wanted) = wanted(domain)? {
        wanted.set(number, enable != 0);
        changed();
    }
    Ok(())
}

fn enable_domain(enable: u32, subscriber: *mut c_void, domain: u32) -> Result<(), Error> {
    known(subscriber)?;
    if let Some(wanted) = wanted(domain)? {
        wanted.set_all(enable != 0);
        changed();
    }
    Ok(())
}

fn enable_all(enable: u32, subscriber: *mut c_void) -> Result<(), Error> {
    DOMAINS.iter().try_for_each(|domain| enable_domain(enable, subscriber, *domain))
}

fn state(enabled: Out<u32>, subscriber: *mut c_void, domain: u32, number: u32) -> Result<(), Error> {
    enabled.check()?;
    known(subscriber)?;
    Ok(enabled.set(wanted(domain)?.is_some_and(|wanted| wanted.has(number)).into())?)
}

fn name(domain: u32, number: u32, name: Out<*const c_char>) -> Result<(), Error> {
    name.check()?;
    let found = function::name(domain, number).ok_or(Error::InvalidParameter)?;
    Ok(name.set(found.as_ptr())?)
}

fn supported_domains(count: Out<usize>, domains: MaybeOut<*const u32>) -> Result<(), Error> {
    count.set(DOMAINS.len())?;
    domains.set(DOMAINS.as_ptr());
    Ok(())
}

/// Tells the subscriber of a call on this thread, if it wants to hear of that function.
pub fn tell(record: &Record, site: Site) {
    if !is_wanted() || TELLING.get() {
        return;
    }
    // SAFETY: the name of a call lives as long as the process.
    let name = unsafe { CStr::from_ptr(record.name) };
    let number = function::number(record.detail, name);
    let is_wanted = number != 0 && matches!(wanted(record.detail), Ok(Some(wanted)) if wanted.has(number));
    let subscriber = *SUBSCRIBER.lock();
    let Some(Subscriber { callback: Some(callback), user }) = subscriber.filter(|_| is_wanted) else { return };
    if site == Site::Enter {
        KEPT.set(0);
    }
    let mut status = record.status;
    let data = Data {
        site: site as u32,
        function: function::shown(name).as_ptr(),
        arguments: NO_ARGUMENTS.as_ptr().cast(),
        status: if site == Site::Exit { &raw mut status } else { ptr::null_mut() },
        symbol: c"".as_ptr(),
        context: ptr::null_mut(),
        context_number: 0,
        kept: KEPT.with(Cell::as_ptr),
        correlation: record.correlation,
    };
    TELLING.set(true);
    // SAFETY: the subscriber gave a function that takes this, from any thread.
    unsafe { callback(user as *mut c_void, record.detail, number, &raw const data) };
    TELLING.set(false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;
    use ghost_table::trace::{Domain, What};

    static HEARD: Mutex<Vec<(u32, u32, u64)>> = Mutex::new(Vec::new());

    unsafe extern "C" fn note(user: *mut c_void, _domain: u32, number: u32, data: *const Data) {
        // SAFETY: the subscriber is handed one `Data`, whose word stays writable for the call.
        let (site, kept) = unsafe { ((*data).site, (*data).kept) };
        // SAFETY: as above.
        let before = unsafe { kept.replace(user as u64) };
        HEARD.lock().push((number, site, before));
    }

    fn record(what: What, name: &'static CStr) -> Record {
        Record { detail: Domain::Runtime as u32, name: name.as_ptr(), ..Record::new(what) }
    }

    #[test]
    fn the_one_subscriber_hears_of_the_functions_it_asked_for() {
        let user = ptr::without_provenance_mut(42);
        assert_eq!(ask(|out| subscribe(out, Some(note), user)), Ok(handle()));
        assert_eq!(ask(|out| subscribe(out, None, user)), Err(Error::MultipleSubscribers));
        assert_eq!(enable_domain(1, ptr::null_mut(), 2), Err(Error::InvalidParameter));
        assert_eq!((enable(1, handle(), 3, 1), enable(1, handle(), 9, 1)), (Ok(()), Err(Error::InvalidParameter)));
        WANTED[1].set(211, true);
        ANY.store(true, Relaxed);
        assert_eq!(ask(|out| state(out, handle(), 2, 211)), Ok(1));
        for name in [c"cudaMalloc", c"cudaLaunchKernel"] {
            tell(&record(What::Enter, name), Site::Enter);
            tell(&record(What::Call, name), Site::Exit);
        }
        assert_eq!(*HEARD.lock(), [(211, 0, 0), (211, 1, 42)]);
        ANY.store(false, Relaxed);
        assert_eq!((unsubscribe(handle()), unsubscribe(handle())), (Ok(()), Err(Error::InvalidParameter)));
        assert!(WANTED[1].is_empty());
    }

    #[test]
    fn a_callback_number_has_the_name_its_function_was_introduced_with() {
        // SAFETY: a name that lives as long as the process.
        let text = |number| ask(|out| name(2, number, out)).map(|name| unsafe { CStr::from_ptr(name) });
        assert_eq!(text(211), Ok(c"cudaLaunchKernel_v7000"));
        assert_eq!(text(4000), Err(Error::InvalidParameter));
    }
}
