//! `libnvshmem_host.so.3`, load-only: torch can link it; no symmetric memory exists.
//! Initialisation fails as not supported, so no other call can follow.

use ghost_abi::MaybeOut;
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicI32;

ghost_abi::library! {
    /// The library.
    pub Nvshmem { name: "libnvshmem_host", not_supported: 3, panic: 7, invalid_argument: 1 }
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, ABSENT];

/// The answer where a count or a number of a processing element is asked for.
const NONE: c_int = -1;

/// The transport chosen on the device, read by code that torch compiled in. A data symbol; the
/// real library's one is 4 bytes and 0 until initialisation.
#[allow(non_upper_case_globals, reason = "a C symbol")]
#[cfg_attr(not(test), unsafe(no_mangle))]
pub static nvshmem_selected_device_transport: AtomicI32 = AtomicI32::new(0);

ghost_abi::rows! { Nvshmem;
    fn nvshmem_info_get_version(major: MaybeOut<c_int>, minor: MaybeOut<c_int>) -> () => specification;
    fn nvshmemx_vendor_get_version_info(major: MaybeOut<c_int>, minor: MaybeOut<c_int>, patch: MaybeOut<c_int>) -> () => vendor;
    fn nvshmem_malloc(size: usize) -> *mut c_void;
    fn nvshmem_ptr(pointer: *const c_void, pe: c_int) -> *mut c_void;
    fn nvshmemx_mc_ptr(team: c_int, pointer: *const c_void) -> *mut c_void;
    fn nvshmem_my_pe() -> c_int = NONE;
    fn nvshmem_n_pes() -> c_int = NONE;
    fn nvshmem_team_my_pe(team: c_int) -> c_int = NONE;
    fn nvshmem_team_n_pes(team: c_int) -> c_int = NONE;
    fn nvshmemid_init_status() -> c_int;
    fn nvshmem_init() -> ();
    fn nvshmem_barrier_all() -> ();
    fn nvshmem_free(pointer: *mut c_void) -> ();
    fn nvshmemx_getmem_on_stream(to: *mut c_void, from: *const c_void, bytes: usize, pe: c_int, stream: *mut c_void) -> ();
    fn nvshmemx_putmem_on_stream(to: *mut c_void, from: *const c_void, bytes: usize, pe: c_int, stream: *mut c_void) -> ();
    fn nvshmemx_putmem_signal_on_stream(
        to: *mut c_void, from: *const c_void, bytes: usize,
        signal: *mut u64, value: u64, operation: c_int, pe: c_int, stream: *mut c_void,
    ) -> ();
    fn nvshmemx_signal_wait_until_on_stream(signal: *mut u64, comparison: c_int, value: u64, stream: *mut c_void) -> ();
}

// Functions that return a status, by name only.
ghost_abi::absent! { Nvshmem;
    nvshmem_team_split_strided nvshmemid_hostlib_finalize nvshmemid_hostlib_init_attr
    nvshmemx_alltoallmem_on_stream nvshmemx_broadcastmem_on_stream nvshmemx_cumodule_init
    nvshmemx_get_uniqueid nvshmemx_set_attr_uniqueid_args
}

/// The OpenSHMEM specification it follows.
fn specification(major: MaybeOut<c_int>, minor: MaybeOut<c_int>) {
    major.set(1);
    minor.set(3);
}

/// The release torch 2.15 was built with.
fn vendor(major: MaybeOut<c_int>, minor: MaybeOut<c_int>, patch: MaybeOut<c_int>) {
    major.set(3);
    minor.set(7);
    patch.set(2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialisation_is_refused_and_nothing_is_allocated() {
        // SAFETY: the rows have no handler and follow no pointer.
        unsafe {
            assert_eq!(nvshmemid_hostlib_init_attr(), 3);
            assert_eq!(nvshmemid_init_status(), 0);
            assert!(nvshmem_malloc(64).is_null());
            assert_eq!(nvshmem_team_n_pes(0), -1);
        }
    }
}
