//! The clock of the emulation: CLOCK_MONOTONIC in nanoseconds. The only file that reads it.
//! It must not be used for anything a user sees as a date.

/// Nanoseconds of CLOCK_MONOTONIC; comparable between processes of one kernel and time namespace.
pub fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec for the kernel to fill; CLOCK_MONOTONIC always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
