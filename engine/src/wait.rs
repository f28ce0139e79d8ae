//! Sleeping until a simulated end: a futex on the alarm word of the facts page, then a short learned spin.
//! It must not spin when more ranks than cores share this host, and it leaves the timer slack as it found it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::clock::now_ns;

/// No wait sleeps longer than this before it looks up whether ghostd still lives.
pub const LOOK_UP_NS: u64 = 100_000_000;
/// Longest spin at the end of a wait.
const SPIN_CAP_NS: u64 = 100_000;

static OVERSHOOT_NS: AtomicU64 = AtomicU64::new(60_000);
static MAY_SPIN: AtomicBool = AtomicBool::new(true);

/// Says whether this process may spin: local ranks fit the allowed cores.
pub fn set_may_spin(yes: bool) {
    MAY_SPIN.store(yes, Ordering::Relaxed);
}

/// Cores this process may use: its affinity, cut by its control group's CPU quota.
pub fn allowed_cores() -> usize {
    let quota = std::fs::read_to_string("/sys/fs/cgroup/cpu.max").ok().and_then(|text| quota_cores(&text));
    affinity_cores().min(quota.unwrap_or(usize::MAX)).max(1)
}

/// Whole cores in `cpu.max` (`QUOTA PERIOD`, both in microseconds); `None` = no quota.
fn quota_cores(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let (quota, period) = (words.next()?.parse::<usize>().ok()?, words.next()?.parse::<usize>().ok()?);
    quota.checked_div(period)
}

fn affinity_cores() -> usize {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writing and its size is given.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return 1;
    }
    // SAFETY: reads the set just filled.
    (unsafe { libc::CPU_COUNT(&set) } as usize).max(1)
}

/// Why a wait came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The end has come.
    End,
    /// The alarm moved or the look-up interval passed: check for faults, then wait again.
    LookUp,
}

/// Waits for `end_ns`, at most until the next look-up. `alarm_seen` is the alarm word the caller judged last.
pub fn until(end_ns: u64, alarm: &AtomicU32, alarm_seen: u32) -> Woken {
    let now = now_ns();
    if now >= end_ns {
        return Woken::End;
    }
    let spin = MAY_SPIN.load(Ordering::Relaxed);
    let early = if spin { OVERSHOOT_NS.load(Ordering::Relaxed) } else { 0 };
    let sleep_to = end_ns.saturating_sub(early).min(now + LOOK_UP_NS);
    if sleep_to > now {
        let timed_out = futex_wait(alarm, alarm_seen, sleep_to - now);
        let after = now_ns();
        if timed_out {
            learn(after.saturating_sub(sleep_to));
        }
        if after < end_ns && (!spin || end_ns - after > SPIN_CAP_NS) {
            return Woken::LookUp;
        }
    }
    while now_ns() < end_ns {
        std::hint::spin_loop();
    }
    Woken::End
}

/// Wakes everybody who waits on `word` in any process.
pub fn wake_all(word: &AtomicU32) {
    // SAFETY: the address is a live aligned u32; FUTEX_WAKE does not touch it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// True if the time ran out, false if woken, interrupted or the word had moved already.
fn futex_wait(word: &AtomicU32, seen: u32, timeout_ns: u64) -> bool {
    let timeout = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
    };
    let slack = TimerSlack::narrow();
    // SAFETY: the word may live on a read-only map, which FUTEX_WAIT supports; the timespec outlives the call.
    let rc = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const timeout) };
    let timed_out = rc != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
    drop(slack);
    timed_out
}

/// Keeps the typical lateness of a sleep, so that the next one ends before it is due.
fn learn(late_ns: u64) {
    let old = OVERSHOOT_NS.load(Ordering::Relaxed);
    let new = (old * 7 + late_ns.min(SPIN_CAP_NS)) / 8;
    OVERSHOOT_NS.store(new.clamp(5_000, SPIN_CAP_NS), Ordering::Relaxed);
}

/// One-nanosecond timer slack while alive; restored because slack leaks into exec'd children.
struct TimerSlack(libc::c_int);

impl TimerSlack {
    fn narrow() -> TimerSlack {
        // SAFETY: plain prctl on the calling thread.
        let old = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        TimerSlack(old)
    }
}

impl Drop for TimerSlack {
    fn drop(&mut self) {
        if self.0 > 0 {
            // SAFETY: plain prctl on the calling thread.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, self.0 as libc::c_ulong) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_never_returns_before_the_end() {
        let word = AtomicU32::new(0);
        let end = now_ns() + 3_000_000;
        while until(end, &word, 0) != Woken::End {}
        assert!(now_ns() >= end);
    }

    #[test]
    fn a_cpu_quota_counts_whole_cores() {
        assert_eq!(quota_cores("150000 100000\n"), Some(1));
        assert_eq!(quota_cores("max 100000\n"), None);
        assert_eq!(quota_cores(""), None);
    }

    #[test]
    fn an_alarm_that_moved_is_reported_at_once() {
        let word = AtomicU32::new(1);
        assert_eq!(until(now_ns() + 10_000_000_000, &word, 0), Woken::LookUp);
    }
}
