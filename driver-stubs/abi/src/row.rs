//! A row: one exported symbol with its name, its address and its counters.
//! It does not know what the function does.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The rows of one file.
pub type Rows = &'static [&'static Row];

/// The rows of one library.
pub type Table = &'static [Rows];

/// One exported C function.
#[derive(Debug)]
pub struct Row {
    name: &'static CStr,
    implemented: bool,
    since: u32,
    address: Address,
    calls: AtomicU64,
    pub(crate) reported: AtomicBool,
}

#[derive(Debug)]
struct Address(*const ());

// SAFETY: the address of a function is a plain number and never written.
unsafe impl Sync for Address {}

impl Row {
    /// `name` ends with a NUL; called by the macros only.
    #[doc(hidden)]
    pub const fn new(name: &'static str, implemented: bool, since: u32, address: *const ()) -> Self {
        let name = match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("the macros end a name with a NUL"),
        };
        let (calls, reported) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { name, implemented, since, address: Address(address), calls, reported }
    }

    /// The C name.
    pub fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// The C name with its NUL.
    pub fn c_name(&self) -> &'static CStr {
        self.name
    }

    /// Whether a handler stands behind it.
    pub fn is_implemented(&self) -> bool {
        self.implemented
    }

    /// The version that introduced it, in the library's own counting; 0 when the row does not say.
    pub fn since(&self) -> u32 {
        self.since
    }

    /// The function, for look-ups such as `cuGetProcAddress`.
    pub fn address(&self) -> *const () {
        self.address.0
    }

    /// Calls so far. Threads that call at the same instant may be counted once.
    pub fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }

    /// Counts a call and says how many there were before. A locked add would cost more than the
    /// rest of the edge, so two threads at once may lose one.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        let before = self.calls.load(Relaxed);
        self.calls.store(before.wrapping_add(1), Relaxed);
        before
    }
}

/// The row of a name. Linear: a table is looked up at start, not in a loop.
pub fn find(table: Table, name: &str) -> Option<&'static Row> {
    table.iter().copied().flatten().copied().find(|row| row.name.to_bytes() == name.as_bytes())
}
