//! The driver of this process: attached once by cuInit, one lock around everything that exists, and the guards
//! every call passes (forked child, exit, lost ghostd). It holds no rule about streams or memory.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ghost_engine::client::{Client, Failure};
use ghost_engine::place::Place;
use ghost_engine::timeline::Backlogs;
use ghost_engine::wire::{Frame, Message, Role, Status};
use ghost_model::Profile;
use ghost_model::cost::State;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::arena::Handle;
use crate::core::{Core, Device};
use crate::error::Error;
use crate::trace;

/// This process's driver.
#[derive(Debug)]
pub struct Driver {
    pub client: Client,
    pub profile: Profile,
    core: Mutex<Core>,
    /// Notified whenever queued work moves.
    pub moved: Condvar,
    /// Facts alarm word that faults were last judged at.
    pub alarm: AtomicU64,
    /// Cores this process may use.
    pub cores: usize,
    /// Some context has a sticky error.
    faulty: AtomicBool,
    looked_up_ns: AtomicU64,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();
static ATTACHING: Mutex<()> = Mutex::new(());
static FORKED: AtomicBool = AtomicBool::new(false);
static EXITING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// This thread's context stack; the last is current.
    static CURRENT: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// Asked before every row: a forked child and an exiting process get an error before any lock is touched.
#[inline(always)]
pub fn enter(row: &'static ghost_abi::Row) -> i32 {
    if FORKED.load(Ordering::Relaxed) && !row.name().starts_with("cuGetError") {
        return Error::NotInitialized.code();
    }
    if EXITING.load(Ordering::Relaxed) {
        return Error::Deinitialized.code();
    }
    if trace::on() {
        trace::enter_row(row);
    }
    0
}

/// Sees each status on its way out.
#[inline(always)]
pub fn leave(row: &'static ghost_abi::Row, status: i32) -> i32 {
    if trace::on() {
        trace::leave_row(row, status);
    }
    status
}

/// The guard of the private table: 0, or why nothing may be done any more.
pub fn state() -> i32 {
    match (FORKED.load(Ordering::Relaxed), EXITING.load(Ordering::Relaxed)) {
        (true, _) => Error::NotInitialized.code(),
        (_, true) => Error::Deinitialized.code(),
        _ => 0,
    }
}

/// Attaches this process to its tray, once. Failing is not remembered: a rack may come up later.
pub fn attach() -> Result<&'static Driver, Error> {
    if let Some(driver) = DRIVER.get() {
        return if driver.client.is_gone() { Err(Error::DeviceUnavailable) } else { Ok(driver) };
    }
    let _one = ATTACHING.lock();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let client = Client::attach(Place::find(), Role::Holder).map_err(|failure| match failure {
        Failure::OtherLayout { .. } => Error::SystemDriverMismatch,
        Failure::Answer(Status::TooMany | Status::Busy, _) => Error::DeviceUnavailable,
        _ => Error::NoDevice,
    })?;
    let profile: Profile =
        serde_json::from_str(&client.facts().profile_json()).map_err(|_| Error::SystemDriverMismatch)?;
    let devices = visible(&client, &profile);
    if devices.is_empty() {
        return Err(Error::NoDevice);
    }
    let core = Mutex::new(Core::new(devices));
    let alarm = AtomicU64::new(u64::from(client.facts().alarm().load(Ordering::Relaxed)));
    let driver = Driver {
        client,
        profile,
        core,
        moved: Condvar::new(),
        alarm,
        cores: ghost_engine::wait::allowed_cores(),
        faulty: AtomicBool::new(false),
        looked_up_ns: AtomicU64::new(0),
    };
    at_fork_and_exit();
    Ok(DRIVER.get_or_init(|| driver))
}

/// The driver, if cuInit has succeeded and ghostd has not gone since.
#[inline]
pub fn get() -> Result<&'static Driver, Error> {
    let driver = DRIVER.get().ok_or(Error::NotInitialized)?;
    if driver.client.is_gone() { Err(Error::DeviceUnavailable) } else { Ok(driver) }
}

impl Driver {
    #[inline]
    pub fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock()
    }

    /// Asks ghostd; its refusals become this library's codes.
    pub fn ask(&self, message: Message, args: &[u64]) -> Result<Frame, Error> {
        self.client.ask(Frame::ask(message, args)).map_err(|failure| match failure {
            Failure::Answer(Status::OutOfMemory, _) => Error::OutOfMemory,
            Failure::Answer(Status::Denied | Status::Refused, _) => Error::NotPermitted,
            Failure::Answer(Status::GpuLost, _) => Error::Unknown,
            Failure::Answer(Status::NoSuchGpu, _) => Error::InvalidDevice,
            Failure::Answer(Status::Busy | Status::TooMany, _) | Failure::Gone | Failure::NoTray(_) => {
                Error::DeviceUnavailable
            }
            Failure::Answer(..) | Failure::OtherLayout { .. } => Error::Unknown,
        })
    }
}

impl Driver {
    /// Sticky errors: a fault of the GPU since this thread's current context was made. Costs one load while the
    /// alarm word has not moved.
    pub fn faults(&self) -> Result<(), Error> {
        let facts = self.client.facts();
        let alarm = u64::from(facts.alarm().load(Ordering::Acquire));
        if alarm == self.alarm.load(Ordering::Relaxed) && !self.faulty.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.judge(alarm)
    }

    #[cold]
    fn judge(&self, alarm: u64) -> Result<(), Error> {
        let core = self.core();
        let fault = |context: &crate::core::Context| {
            let gpu = self.client.facts().gpu(core.devices[context.device].gpu);
            let own = own_xid(&gpu, context.xid_count, self.client.pid()).map(u64::from);
            let common = (gpu.modes.fault_epoch > context.fault_epoch).then_some(gpu.modes.fault_xid);
            own.or(common).map(fault_code)
        };
        self.faulty.store(core.contexts.iter().any(|(_, c)| fault(c).is_some()), Ordering::Relaxed);
        self.alarm.store(alarm, Ordering::Relaxed);
        let mine = current().and_then(|handle| core.contexts.get(handle)).and_then(fault);
        mine.map_or(Ok(()), Err)
    }

    /// For polling calls: looks whether ghostd lives and faults came.
    pub fn look_up_sometimes(&self) -> Result<(), Error> {
        self.look_up_at(ghost_engine::clock::now_ns())?;
        self.faults()
    }

    /// Looks whether ghostd lives, at most every 20 ms. For calls that know the time anyway.
    #[inline]
    pub fn look_up_at(&self, now: u64) -> Result<(), Error> {
        if now.saturating_sub(self.looked_up_ns.load(Ordering::Relaxed)) <= LOOK_UP_NS {
            return Ok(());
        }
        self.looked_up_ns.store(now, Ordering::Relaxed);
        if self.client.is_alive() { Ok(()) } else { Err(Error::DeviceUnavailable) }
    }
}

/// Calls that do not wait look whether ghostd lives at most this often.
const LOOK_UP_NS: u64 = 20_000_000;

/// The first Xid since `seen` that names this process.
fn own_xid(gpu: &ghost_engine::layout::GpuFacts, seen: u64, pid: u32) -> Option<u32> {
    use ghost_engine::layout::XID_RING;
    let oldest = gpu.xid_count.saturating_sub(XID_RING as u64).max(seen);
    let entries = (oldest..gpu.xid_count).map(|n| gpu.xids[n as usize % XID_RING]);
    entries.into_iter().find(|xid| xid.pid == pid && xid.pid != 0).map(|xid| xid.code)
}

/// What CUDA calls a fatal Xid (NVIDIA's Xid catalogue: 79 off the bus, 48/94/95 ECC, 144-150 NVLink, 31 MMU).
fn fault_code(xid: u64) -> Error {
    match xid {
        31 => Error::IllegalAddress,
        48 | 63 | 64 | 94 | 95 => Error::EccUncorrectable,
        74 | 144..=150 => Error::NvlinkUncorrectable,
        43 => Error::LaunchFailed,
        79 => Error::Unknown,
        _ => Error::LaunchFailed,
    }
}

/// Changes this thread's stack. A thread that is ending has none any more.
fn change<T>(edit: impl FnOnce(&mut Vec<Handle>) -> T) -> Option<T> {
    CURRENT.try_with(|stack| edit(&mut stack.borrow_mut())).ok()
}

/// The current context of this thread.
pub fn current() -> Option<Handle> {
    CURRENT.try_with(|stack| stack.borrow().last().copied()).ok().flatten()
}

/// Replaces the top of this thread's stack; `None` empties the top.
pub fn set_current(context: Option<Handle>) {
    change(|stack| {
        stack.pop();
        stack.extend(context);
    });
}

pub fn push_current(context: Handle) {
    change(|stack| stack.push(context));
}

pub fn pop_current() -> Option<Handle> {
    change(Vec::pop).flatten()
}

/// A GPU's UUID as CUDA_VISIBLE_DEVICES and nvidia-smi write it.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|b| format!("{b:02x}")).collect();
    format!("GPU-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn visible(client: &Client, profile: &Profile) -> Vec<Device> {
    let facts = client.facts();
    let present: Vec<(usize, String)> = (0..facts.tray().gpu_count as usize)
        .map(|gpu| (gpu, facts.identity(gpu)))
        .filter(|(gpu, identity)| client.place().may_open(identity.minor) && facts.modes(*gpu).lost == 0)
        .map(|(gpu, identity)| (gpu, uuid_text(&identity.uuid)))
        .collect();
    let wanted = std::env::var_os("CUDA_VISIBLE_DEVICES").map(|v| v.to_string_lossy().into_owned());
    crate::visible::select(wanted.as_deref(), &present).into_iter().map(|gpu| device(gpu, profile)).collect()
}

fn device(gpu: usize, profile: &Profile) -> Device {
    Device {
        gpu,
        primary: None,
        retained: 0,
        flags: 0,
        backlogs: Backlogs::default(),
        space: None,
        state: State::nominal(profile),
        sharers: 1,
        blocking_tail_ns: 0,
        legacy_tail_ns: 0,
        generation: u64::MAX,
        prices: crate::queue::Prices::default(),
    }
}

/// A forked child must not use our socket, page or locks; after exit handlers nothing may start.
fn at_fork_and_exit() {
    extern "C" fn child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    extern "C" fn exit() {
        EXITING.store(true, Ordering::Relaxed);
    }
    // SAFETY: both handlers are plain functions that live as long as the library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(None, None, Some(child));
        libc::atexit(exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_engine::layout::{Facts, XidEntry};

    #[test]
    fn only_a_later_xid_that_names_this_process_is_its_own() {
        let mut gpu = Facts::ZERO.gpus[0];
        for (n, (code, pid)) in [(31, 7), (13, 9), (31, 7)].into_iter().enumerate() {
            gpu.xids[n] = XidEntry { at_ns: 1, code, pid };
        }
        gpu.xid_count = 3;
        assert_eq!(own_xid(&gpu, 0, 9), Some(13));
        assert_eq!(own_xid(&gpu, 2, 9), None);
        assert_eq!(own_xid(&gpu, 0, 5), None);
        assert_eq!(fault_code(31), Error::IllegalAddress);
    }

    #[test]
    fn a_uuid_reads_as_nvidia_smi_prints_it() {
        let uuid = [0x75, 1, 0x7c, 0x56, 0xeb, 0xda, 0x4a, 0x57, 0x97, 0x50, 0x66, 0xff, 0xc2, 0x12, 0xa5, 0x18];
        assert_eq!(uuid_text(&uuid), "GPU-75017c56-ebda-4a57-9750-66ffc212a518");
    }
}
