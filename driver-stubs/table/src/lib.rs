//! libcuda's private function table: what the other stubs (runtime, cuBLAS, cuDNN, NCCL) take from it.
//! It holds no state: libcuda alone owns contexts, streams and memory, because cdylibs do not share statics.
//!
//! The table is append-only: a new entry goes to the end, [`Table::size`] tells an older reader where it stops.
//! All functions return a `CUresult` number (0 = success) unless said otherwise, may be called from any
//! thread, and never unwind.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

pub mod trace;

/// What an operation is; `Operation::dims` means what is said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// dims: bytes read, bytes written, flops, blocks, threads per block.
    Kernel = 1,
    /// dims: m, n, k, batch.
    Gemm = 2,
    /// dims: batch, heads, query length, key length, head dimension, causal (0/1), backward (0/1).
    Attention = 3,
    /// dims: bytes.
    Memset = 4,
    /// dims: bytes, direction (0 host to device, 1 device to host, 2 device to device, 3 peer), pinned (0/1).
    Copy = 5,
    /// dims: bytes, ranks, algorithm bytes on the link per rank. Priced by whoever calls; see `Delay`.
    Collective = 6,
    /// dims: nanoseconds. A duration the caller has priced itself.
    Delay = 7,
}

/// Element types, as far as prices depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Type {
    F64 = 0,
    F32 = 1,
    Tf32 = 2,
    F16 = 3,
    Bf16 = 4,
    F8 = 5,
    F4 = 6,
    I8 = 7,
    I32 = 8,
    C64 = 9,
    C128 = 10,
}

/// A stretch of device memory that an operation writes; afterwards it reads zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Range {
    pub address: u64,
    pub bytes: u64,
}

/// One operation of a library on a stream.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Operation {
    /// A [`Kind`].
    pub kind: u32,
    /// A [`Type`]: what is multiplied or moved.
    pub input: u32,
    /// A [`Type`]: what the arithmetic is done in.
    pub compute: u32,
    /// How many of `outputs` are used.
    pub output_count: u32,
    pub dims: [u64; 8],
    /// What profilers and graphs show; may be null. Read before the call returns.
    pub name: *const c_char,
    pub outputs: [Range; 4],
}

impl Operation {
    pub fn new(kind: Kind, input: Type, compute: Type, dims: &[u64]) -> Operation {
        let mut all = [0; 8];
        all[..dims.len().min(8)].copy_from_slice(&dims[..dims.len().min(8)]);
        Operation {
            kind: kind as u32,
            input: input as u32,
            compute: compute as u32,
            output_count: 0,
            dims: all,
            name: std::ptr::null(),
            outputs: [Range::default(); 4],
        }
    }

    pub fn named(mut self, name: &'static CStr) -> Operation {
        self.name = name.as_ptr();
        self
    }

    /// Adds memory that this operation writes (at most four ranges; more are dropped).
    pub fn writes(mut self, address: u64, bytes: u64) -> Operation {
        if let Some(range) = self.outputs.get_mut(self.output_count as usize) {
            *range = Range { address, bytes };
            self.output_count += 1;
        }
        self
    }
}

/// What a device pointer belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Owner {
    pub base: u64,
    pub bytes: u64,
    pub device: i32,
    /// 0 unknown to us, 1 host, 2 device, 3 managed.
    pub memory: u32,
}

/// A pending operation whose end the caller will tell.
pub type Token = u64;

/// The table itself. Streams are `CUstream`s; null is the legacy stream of the current context.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Table {
    /// Bytes of the table that this libcuda fills in.
    pub size: u64,
    /// Number of CUDA devices this process sees; starts the driver if need be.
    pub device_count: unsafe extern "C" fn(count: *mut i32) -> i32,
    /// Makes the primary context of `device` current on this thread, creating it if need be.
    pub use_device: unsafe extern "C" fn(device: i32) -> i32,
    /// Device of this thread's current context, or -1 if it has none. Not a status.
    pub current_device: unsafe extern "C" fn() -> i32,
    /// Device a stream belongs to.
    pub stream_device: unsafe extern "C" fn(stream: *mut c_void, device: *mut i32) -> i32,
    /// Prices an operation and puts it on a stream; in a capturing stream it becomes a node.
    pub enqueue: unsafe extern "C" fn(stream: *mut c_void, operation: *const Operation) -> i32,
    /// Puts an operation on a stream whose duration is not known yet. `started` (may be null) is called once on a
    /// helper thread when everything before it is over, with its start in CLOCK_MONOTONIC nanoseconds.
    pub enqueue_pending: unsafe extern "C" fn(
        stream: *mut c_void,
        operation: *const Operation,
        started: Option<unsafe extern "C" fn(user: *mut c_void, start_ns: u64)>,
        user: *mut c_void,
        token: *mut Token,
    ) -> i32,
    /// Ends a pending operation at `end_ns`; `sm_share_milli` of its duration is added to the compute backlog.
    pub complete: unsafe extern "C" fn(token: Token, end_ns: u64, sm_share_milli: u32) -> i32,
    /// Nanoseconds an operation would take alone on the current device as it is now.
    pub price: unsafe extern "C" fn(operation: *const Operation, cost_ns: *mut u64) -> i32,
    /// Whether a stream is capturing: 0 no, 1 active, 2 invalidated. Not a status.
    pub capture_status: unsafe extern "C" fn(stream: *mut c_void) -> i32,
    /// Adds an empty node of this name to a capturing stream's graph.
    pub capture_node: unsafe extern "C" fn(stream: *mut c_void, operation: *const Operation) -> i32,
    /// Bytes of device memory as far as they are kept; what is not kept reads zero.
    pub read_backed: unsafe extern "C" fn(address: u64, to: *mut u8, bytes: usize) -> i32,
    /// Puts bytes into device memory, in the caller's order (not a stream's).
    pub write_backed: unsafe extern "C" fn(address: u64, from: *const u8, bytes: usize) -> i32,
    /// Says that a range was written with something we do not keep: it reads zero.
    pub write_zero: unsafe extern "C" fn(address: u64, bytes: u64) -> i32,
    /// Whom an address belongs to.
    pub owner: unsafe extern "C" fn(address: u64, owner: *mut Owner) -> i32,
    /// Counts a call without an implementation. Not a status.
    pub note_missing: unsafe extern "C" fn(library: *const c_char, function: *const c_char),
    /// Records that a foreign CUDA runtime met this driver. Not a status.
    pub note_unredirected: unsafe extern "C" fn(program: *const c_char),
    /// Adds bytes to the NVLink or HCA counters of `device`: medium 0 = NVLink, 1 = HCA; index = link or HCA.
    pub count_traffic: unsafe extern "C" fn(device: i32, medium: u32, index: u32, tx: u64, rx: u64) -> i32,
    /// Installs the one function that hears of everything this process does on a device; `None` takes it away.
    /// It may still be called for a moment after that. Not a status.
    pub set_tracer: unsafe extern "C" fn(tracer: Option<trace::Tracer>),
    /// Has `switch` called now and whenever tracing begins (1) or ends (0). Not a status.
    pub watch_tracing: unsafe extern "C" fn(switch: trace::Switch),
    /// A call of a C function begins, as long as tracing is on; `key` tells it from others. Not a status.
    pub trace_enter: unsafe extern "C" fn(key: *const c_void, domain: u32, name: *const c_char),
    /// That call ends with `status`. The name lives as long as the process. Not a status.
    pub trace_leave: unsafe extern "C" fn(key: *const c_void, domain: u32, name: *const c_char, status: i32),
}

/// The exported name under which libcuda hands out its table: `extern "C" fn() -> *const Table`.
pub const SYMBOL: &CStr = c"ghostrack_driver_table_v1";

/// The table of the libcuda in this process, loading it at first need. `None` = no libcuda of ours here.
pub fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<&'static Table>> = OnceLock::new();
    *TABLE.get_or_init(|| {
        let hand_out = symbol(SYMBOL)?;
        // SAFETY: the symbol's name fixes its type: it takes nothing and returns the table.
        let hand_out: unsafe extern "C" fn() -> *const Table = unsafe { std::mem::transmute(hand_out) };
        // SAFETY: libcuda returns null or a table that lives as long as the process.
        unsafe { hand_out().as_ref() }.filter(|t| t.size >= size_of::<Table>() as u64)
    })
}

/// Address of an exported function of libcuda, loading the library at first need.
pub fn symbol(name: &CStr) -> Option<*mut c_void> {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        // SAFETY: loads a library by name; ours runs no constructors.
        unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) as usize }
    });
    if library == 0 {
        return None;
    }
    // SAFETY: the handle is live for the life of the process.
    let address = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
