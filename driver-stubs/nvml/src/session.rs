//! The process's attachment to its tray: made at the first nvmlInit, counted, kept for the process.
//! Nothing here waits longer than one attach, and a getter's check reads memory only.
//!
//! The attachment outlives nvmlShutdown (it holds no GPU), so that a program that initialises in a loop maps the
//! facts once. A ghostd that died is found by the generation standing still, looked into at most once in half a second;
//! the same look attaches to its successor. The old facts stay mapped: another thread may be reading them.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ghost_engine::client::{Client, Failure};
use ghost_engine::clock;
use ghost_engine::facts::Reader;
use ghost_engine::layout::MAX_GPUS;
use ghost_engine::place::Place;
use ghost_engine::wire::{Frame, Message, Role, Status};
use ghost_model::{Change, Profile};
use parking_lot::Mutex;

use crate::Error;

/// How long the facts may stand still before somebody asks whether ghostd lives.
const STILL_NS: u64 = 500_000_000;

static TRAY: AtomicPtr<Tray> = AtomicPtr::new(std::ptr::null_mut());
static REFERENCES: AtomicU32 = AtomicU32::new(0);
static CHANGING: Mutex<()> = Mutex::new(());

/// One attachment.
#[derive(Debug)]
pub struct Tray {
    source: Source,
    profile: Profile,
    /// Indices in the tray of the GPUs this process sees, in NVML's order.
    visible: Vec<u8>,
    /// `GPU-` and the UUID, by index in the tray; constant while ghostd runs.
    uuids: Vec<String>,
    seen_generation: AtomicU64,
    still_since_ns: AtomicU64,
}

#[derive(Debug)]
enum Source {
    Attached(Client),
    #[cfg(test)]
    Page(Reader),
}

/// Counts one more initialisation; the first attaches.
pub fn start() -> Result<(), Error> {
    let _guard = CHANGING.lock();
    if REFERENCES.load(Ordering::Acquire) == 0 && !kept().is_some_and(Tray::is_alive) {
        keep(Tray::attach()?);
    }
    REFERENCES.fetch_add(1, Ordering::AcqRel);
    Ok(())
}

/// Counts one less.
pub fn stop() -> Result<(), Error> {
    let _guard = CHANGING.lock();
    match REFERENCES.load(Ordering::Acquire) {
        0 => Err(Error::Uninitialized),
        n => {
            REFERENCES.store(n - 1, Ordering::Release);
            Ok(())
        }
    }
}

/// The tray, whether ghostd lives or not.
#[inline]
pub fn tray() -> Result<&'static Tray, Error> {
    #[cfg(test)]
    if let Some(tray) = crate::testing::current() {
        return Ok(tray);
    }
    if REFERENCES.load(Ordering::Acquire) == 0 {
        return Err(Error::Uninitialized);
    }
    kept().ok_or(Error::Uninitialized)
}

/// The tray, if its ghostd lives as far as can be told without a system call.
#[inline]
pub fn live_tray() -> Result<&'static Tray, Error> {
    let tray = tray()?;
    if tray.looks_alive() { Ok(tray) } else { successor() }
}

/// The attachment, initialised or not.
pub fn kept() -> Option<&'static Tray> {
    // SAFETY: null, or a leaked Tray that is never freed.
    unsafe { TRAY.load(Ordering::Acquire).as_ref() }
}

fn keep(tray: Tray) -> &'static Tray {
    let tray = Box::leak(Box::new(tray));
    TRAY.store(tray, Ordering::Release);
    tray
}

/// A ghostd that came back at the same place. One thread tries, the others are told to come again.
#[cold]
fn successor() -> Result<&'static Tray, Error> {
    static TRIED_NS: AtomicU64 = AtomicU64::new(0);
    let Some(_guard) = CHANGING.try_lock() else { return Err(Error::GpuIsLost) };
    if let Some(tray) = kept().filter(|tray| tray.looks_alive()) {
        return Ok(tray);
    }
    let now = clock::now_ns();
    if now.saturating_sub(TRIED_NS.load(Ordering::Relaxed)) < STILL_NS {
        return Err(Error::GpuIsLost);
    }
    TRIED_NS.store(now, Ordering::Relaxed);
    Tray::attach().map(keep).map_err(|_| Error::GpuIsLost)
}

impl Tray {
    fn attach() -> Result<Tray, Error> {
        let client = Client::attach(Place::find(), Role::Reader).map_err(|failure| error_of(&failure))?;
        let profile = profile_of(client.facts())?;
        let visible = (0..count(client.facts()))
            .filter(|&gpu| client.place().may_open(client.facts().identity(gpu.into()).minor))
            .collect();
        ghost_abi::set_reporter(report_missing);
        Ok(Tray::of(Source::Attached(client), profile, visible))
    }

    /// A tray that is only a page, all GPUs visible.
    #[cfg(test)]
    pub fn of_page(reader: Reader, visible: Vec<u8>) -> Result<Tray, Error> {
        let profile = profile_of(&reader)?;
        Ok(Tray::of(Source::Page(reader), profile, visible))
    }

    fn of(source: Source, profile: Profile, visible: Vec<u8>) -> Tray {
        let (seen_generation, still_since_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut tray = Tray { source, profile, visible, uuids: Vec::new(), seen_generation, still_since_ns };
        tray.uuids = (0..MAX_GPUS).map(|gpu| uuid_text(tray.facts().identity(gpu).uuid)).collect();
        tray
    }

    /// `GPU-` and the UUID in lower case.
    pub fn uuid(&self, gpu: usize) -> &str {
        self.uuids.get(gpu).map_or("", String::as_str)
    }

    #[inline]
    pub fn facts(&self) -> &Reader {
        match &self.source {
            Source::Attached(client) => client.facts(),
            #[cfg(test)]
            Source::Page(reader) => reader,
        }
    }

    #[inline]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    #[inline]
    pub fn visible(&self) -> &[u8] {
        &self.visible
    }

    /// Says a change to ghostd, on a connection of its own: the change may come from a forked child.
    pub fn apply(&self, change: &Change) -> Result<(), Error> {
        let client = self.client().ok_or(Error::NotSupported)?;
        let text = serde_json::to_vec(change).map_err(|_| Error::Unknown)?;
        let operator = Client::attach(client.place().clone(), Role::Operator).map_err(|failure| error_of(&failure))?;
        operator.ask(Frame::ask(Message::Apply, &[]).with_data(text)).map(drop).map_err(|failure| error_of(&failure))
    }

    /// Asks the kernel whether ghostd still holds its end.
    pub fn is_alive(&self) -> bool {
        self.client().map_or(!self.facts().closing(), Client::is_alive)
    }

    /// None in unit tests, where a page is all there is.
    fn client(&self) -> Option<&Client> {
        match &self.source {
            Source::Attached(client) => Some(client),
            #[cfg(test)]
            Source::Page(_) => None,
        }
    }

    /// Reads memory, and at most twice a second asks the kernel, while the facts stand still.
    #[inline]
    fn looks_alive(&self) -> bool {
        let generation = self.facts().generation();
        if self.facts().closing() {
            return false;
        }
        if self.seen_generation.load(Ordering::Relaxed) != generation {
            self.seen_generation.store(generation, Ordering::Relaxed);
            self.still_since_ns.store(0, Ordering::Relaxed);
            return true;
        }
        self.looks_alive_though_still()
    }

    fn looks_alive_though_still(&self) -> bool {
        let (since, now) = (self.still_since_ns.load(Ordering::Relaxed), clock::now_ns());
        if since == 0 {
            self.still_since_ns.store(now, Ordering::Relaxed);
            return true;
        }
        if now.saturating_sub(since) < STILL_NS {
            return !self.client().is_some_and(Client::is_gone);
        }
        self.still_since_ns.store(now, Ordering::Relaxed);
        self.is_alive()
    }
}

fn uuid_text(uuid: [u8; 16]) -> String {
    format!("GPU-{}", ghost_model::Uuid(uuid))
}

fn count(facts: &Reader) -> u8 {
    (facts.tray().gpu_count as usize).min(MAX_GPUS) as u8
}

/// The profile is plain text in a page of the same layout; a page without one is another version's.
fn profile_of(facts: &Reader) -> Result<Profile, Error> {
    serde_json::from_str(&facts.profile_json()).map_err(|_| Error::LibraryMismatch)
}

fn error_of(failure: &Failure) -> Error {
    match failure {
        Failure::NoTray(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Error::NoPermission,
        Failure::NoTray(_) | Failure::Gone => Error::DriverNotLoaded,
        Failure::OtherLayout { .. } => Error::LibraryMismatch,
        Failure::Answer(status, _) => error_of_status(*status),
    }
}

fn error_of_status(status: Status) -> Error {
    match status {
        Status::Denied | Status::ForeignPid => Error::NoPermission,
        Status::Refused | Status::NoSuchGpu => Error::InvalidArgument,
        Status::OutOfMemory | Status::TooMany => Error::InsufficientResources,
        Status::OtherLayout => Error::LibraryMismatch,
        Status::GpuLost => Error::GpuIsLost,
        Status::Busy => Error::InUse,
        Status::Unknown => Error::NotSupported,
        Status::Ok | Status::Malformed => Error::Unknown,
    }
}

/// Tells ghostd of a call that had no handler, without waiting.
unsafe extern "C" fn report_missing(library: *const std::ffi::c_char, name: *const std::ffi::c_char) {
    let Some(client) = kept().and_then(Tray::client) else { return };
    // SAFETY: both are NUL-terminated and live as long as the library.
    let (library, name) = unsafe { (std::ffi::CStr::from_ptr(library), std::ffi::CStr::from_ptr(name)) };
    let mut data = library.to_bytes_with_nul().to_vec();
    data.extend_from_slice(name.to_bytes());
    client.tell(Frame::ask(Message::Missing, &[]).with_data(data));
}
