//! Simulated times in the profiler's clock: the one it registered, or the wall clock in nanoseconds as CUPTI's own.
//! It knows no record. A clock is taken to run steadily between two looks at it.

use parking_lot::Mutex;
use std::time::Duration;

/// A profiler's clock (`CUpti_TimestampCallbackFunc`).
pub type Source = unsafe extern "C" fn() -> u64;

/// Two looks closer together than this say too little about a clock's speed.
const BASE_NS: u64 = 2_000_000;

/// Looks taken for one pair; the quickest counts.
const TRIES: usize = 16;

/// One moment in both clocks.
#[derive(Clone, Copy, Debug)]
struct Pair {
    monotonic_ns: u64,
    stamp: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    source: Option<Source>,
    base: Option<Pair>,
}

static CLOCK: Mutex<Clock> = Mutex::new(Clock { source: None, base: None });

/// Takes a profiler's clock. Registering the same one again keeps what is known of it.
pub fn register(source: Source) {
    let mut clock = CLOCK.lock();
    if clock.source.is_none_or(|known| !std::ptr::fn_addr_eq(known, source)) {
        *clock = Clock { source: Some(source), base: None };
    }
    clock.base.get_or_insert_with(|| look(Some(source)));
}

/// The time now, as records will have it.
pub fn now() -> u64 {
    stamp(CLOCK.lock().source)
}

/// The map from CLOCK_MONOTONIC to the profiler's clock as of now. May sleep for a moment, once.
pub fn map() -> Map {
    let clock = {
        let mut clock = CLOCK.lock();
        let source = clock.source;
        clock.base.get_or_insert_with(|| look(source));
        *clock
    };
    let later = look(clock.source);
    let base = clock.base.unwrap_or(later);
    let wait_ns = BASE_NS.saturating_sub(later.monotonic_ns.saturating_sub(base.monotonic_ns));
    if wait_ns == 0 {
        return Map { base, later };
    }
    std::thread::sleep(Duration::from_nanos(wait_ns));
    Map { base, later: look(clock.source) }
}

/// A straight line through two moments.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    base: Pair,
    later: Pair,
}

impl Map {
    pub fn stamp(&self, monotonic_ns: u64) -> u64 {
        let run = i128::from(self.later.monotonic_ns) - i128::from(self.base.monotonic_ns);
        let rise = i128::from(self.later.stamp) - i128::from(self.base.stamp);
        let since = i128::from(monotonic_ns) - i128::from(self.base.monotonic_ns);
        let stamp = i128::from(self.base.stamp) + since * rise / run.max(1);
        stamp.clamp(0, i128::from(u64::MAX)) as u64
    }
}

fn look(source: Option<Source>) -> Pair {
    let one = || {
        let before = read(libc::CLOCK_MONOTONIC);
        let stamp = stamp(source);
        let after = read(libc::CLOCK_MONOTONIC);
        (after - before, Pair { monotonic_ns: before + (after - before) / 2, stamp })
    };
    let mut best = one();
    for _ in 1..TRIES {
        let next = one();
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

fn stamp(source: Option<Source>) -> u64 {
    match source {
        // SAFETY: the profiler registered a function that may be called from any thread at any time.
        Some(source) => unsafe { source() },
        None => read(libc::CLOCK_REALTIME),
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; both clocks exist on Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC now.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_between_and_after_two_looks_lie_on_one_line() {
        let (base, later) = (Pair { monotonic_ns: 1000, stamp: 50 }, Pair { monotonic_ns: 3000, stamp: 5050 });
        let map = Map { base, later };
        assert_eq!([1000, 2000, 3000, 5000].map(|at| map.stamp(at)), [50, 2550, 5050, 10050]);
        assert_eq!(map.stamp(0), 0);
    }

    #[test]
    fn without_a_registered_clock_stamps_are_wall_clock_nanoseconds() {
        let map = map();
        let wall = read(libc::CLOCK_REALTIME);
        let (low, high) = (wall - 1_000_000_000, wall + 1_000_000_000);
        assert!((low..high).contains(&map.stamp(monotonic_ns())));
    }
}
