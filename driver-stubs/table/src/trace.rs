//! What a profiler hears: one record for each call, kernel, copy, fill and wait.
//! Only the shape of it; libcuda makes records, libcupti turns them into NVIDIA's.

use std::ffi::c_char;

/// Hears of one thing. Called from any thread, sometimes under libcuda's lock: it must not call libcuda back, nor
/// wait for a thread that does. The record is gone after the call.
pub type Tracer = unsafe extern "C" fn(record: *const Record);

/// Hears whether tracing is on (1) or off (0).
pub type Switch = unsafe extern "C" fn(on: u32);

/// What a record tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// A call of a C function that is over. Never told under a lock.
    Call = 1,
    Kernel = 2,
    Copy = 3,
    Fill = 4,
    Wait = 5,
    /// A call that begins; `end_ns` is its start. Never told under a lock.
    Enter = 6,
}

/// Whose function a call is; the numbers are `CUpti_CallbackDomain`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Domain {
    Driver = 1,
    Runtime = 2,
}

/// Which way a copy goes; the numbers are `CUpti_ActivityMemcpyKind`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    HostToDevice = 1,
    DeviceToHost = 2,
    DeviceToDevice = 8,
    HostToHost = 9,
    PeerToPeer = 10,
}

/// Where one end of a copy lies; the numbers are `CUpti_ActivityMemoryKind`'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Memory {
    #[default]
    Unknown = 0,
    Pageable = 1,
    Pinned = 2,
    Device = 3,
}

/// What is waited for; the numbers are `CUpti_ActivitySynchronizationType`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Wait {
    Event = 1,
    StreamForEvent = 2,
    Stream = 3,
    Context = 4,
}

/// The stream of a record that concerns none.
pub const NO_STREAM: u32 = u32::MAX;

/// The number profilers know the legacy stream by; other streams are this plus what `cuStreamGetId` says.
pub const LEGACY_STREAM: u32 = 7;

/// One thing that happened or, for work on a device, is certain to happen at these times.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Record {
    /// A [`What`].
    pub what: u32,
    /// A [`Domain`], [`Direction`] or [`Wait`], as `what` says; 0 otherwise.
    pub detail: u32,
    /// Number of the call that caused it; 0 = none that was traced.
    pub correlation: u32,
    /// CUDA ordinal.
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    /// Of the kernel (mangled) or the function. Lives as long as the process; null if there is none.
    pub name: *const c_char,
    /// CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// Copied or filled.
    pub bytes: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub static_shared_bytes: u32,
    pub dynamic_shared_bytes: u32,
    /// Per thread.
    pub registers: u32,
    /// Per thread.
    pub local_bytes: u32,
    /// What a fill writes.
    pub value: u32,
    /// What a call answered.
    pub status: i32,
    /// Both ends of a copy; `to` is where a fill writes.
    pub from: Memory,
    pub to: Memory,
}

// SAFETY: the only pointer leads to a name that is never written and lives as long as the process.
unsafe impl Send for Record {}
// SAFETY: as above.
unsafe impl Sync for Record {}

impl Record {
    /// A record of `what` with nothing else said.
    pub fn new(what: What) -> Record {
        Record {
            what: what as u32,
            detail: 0,
            correlation: 0,
            device: 0,
            context: 0,
            stream: NO_STREAM,
            name: std::ptr::null(),
            start_ns: 0,
            end_ns: 0,
            bytes: 0,
            grid: [0; 3],
            block: [0; 3],
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
            registers: 0,
            local_bytes: 0,
            value: 0,
            status: 0,
            from: Memory::Unknown,
            to: Memory::Unknown,
        }
    }
}
