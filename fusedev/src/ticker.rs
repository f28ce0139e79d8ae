//! When to look: the timer of the loop, its pace, and how late the host is. It does not know what a tick does.

use std::io;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

const MILLISECOND_NS: u64 = 1_000_000;
/// Telemetry while something is going on.
const TELEMETRY_NS: u64 = 100 * MILLISECOND_NS;
/// Holders' pages are looked for in their maps this often ...
const SWEEP_NS: u64 = 1000 * MILLISECOND_NS;
/// ... or rarer, if looking is dear: at most this part of the time goes into it.
const SWEEP_PART: u64 = 50;

/// How closely the tray must be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nothing goes on.
    Idle,
    /// Somebody holds a GPU.
    Held,
    /// GPUs are shared: who is busy decides what others get.
    Shared,
}

impl Pace {
    const fn period_ns(self) -> u64 {
        match self {
            Pace::Idle => 1000 * MILLISECOND_NS,
            Pace::Held => TELEMETRY_NS,
            Pace::Shared => 20 * MILLISECOND_NS,
        }
    }
}

/// What is due at a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub telemetry: bool,
    pub sweep: bool,
    /// Later than asked for.
    pub behind_ns: u64,
}

/// The loop's timer.
#[derive(Debug)]
pub struct Ticker {
    timer: TimerFd,
    schedule: Schedule,
}

impl Ticker {
    pub fn new(now_ns: u64) -> io::Result<Ticker> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let ticker = Ticker { timer: TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?, schedule: Schedule::new(now_ns) };
        ticker.arm()?;
        Ok(ticker)
    }

    /// Readable when something is due.
    pub fn timer(&self) -> &TimerFd {
        &self.timer
    }

    /// The timer has fired: says what for, and sets it again.
    pub fn fired(&mut self, now_ns: u64) -> io::Result<Due> {
        let due = self.schedule.fired(now_ns);
        self.arm()?;
        Ok(due)
    }

    pub fn set_pace(&mut self, pace: Pace, now_ns: u64) -> io::Result<()> {
        if self.schedule.set_pace(pace, now_ns) { self.arm() } else { Ok(()) }
    }

    /// Keeps sweeps from taking more than their part of the time.
    pub fn sweep_took(&mut self, took_ns: u64, now_ns: u64) {
        self.schedule.sweep_took(took_ns, now_ns);
    }

    fn arm(&self) -> io::Result<()> {
        let at = TimeSpec::from_duration(std::time::Duration::from_nanos(self.schedule.next_ns));
        Ok(self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?)
    }
}

/// When things are due, without a timer.
#[derive(Debug)]
struct Schedule {
    pace: Pace,
    next_ns: u64,
    telemetry_ns: u64,
    sweep_ns: u64,
}

impl Schedule {
    fn new(now_ns: u64) -> Schedule {
        let next_ns = now_ns + Pace::Idle.period_ns();
        Schedule { pace: Pace::Idle, next_ns, telemetry_ns: next_ns, sweep_ns: now_ns + SWEEP_NS }
    }

    fn fired(&mut self, now_ns: u64) -> Due {
        let behind_ns = now_ns.saturating_sub(self.next_ns);
        // Half a beat early is due: the beats of two paces need not meet.
        let telemetry = now_ns + MILLISECOND_NS >= self.telemetry_ns;
        let sweep = now_ns + MILLISECOND_NS >= self.sweep_ns;
        if telemetry {
            self.telemetry_ns = now_ns + TELEMETRY_NS.max(self.pace.period_ns());
        }
        if sweep {
            self.sweep_ns = now_ns + SWEEP_NS;
        }
        self.next_ns = now_ns + self.pace.period_ns();
        Due { telemetry, sweep, behind_ns }
    }

    /// True if the timer must be set anew.
    fn set_pace(&mut self, pace: Pace, now_ns: u64) -> bool {
        if self.pace == pace {
            return false;
        }
        self.pace = pace;
        self.next_ns = self.next_ns.min(now_ns + pace.period_ns());
        self.telemetry_ns = self.telemetry_ns.min(now_ns + TELEMETRY_NS.max(pace.period_ns()));
        true
    }

    fn sweep_took(&mut self, took_ns: u64, now_ns: u64) {
        self.sweep_ns = self.sweep_ns.max(now_ns + took_ns * SWEEP_PART);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = MILLISECOND_NS;

    #[test]
    fn an_idle_tray_is_looked_at_once_a_second() {
        let mut schedule = Schedule::new(0);
        assert_eq!(schedule.next_ns, 1000 * MS);
        assert_eq!(schedule.fired(1000 * MS), Due { telemetry: true, sweep: true, behind_ns: 0 });
        assert_eq!(schedule.next_ns, 2000 * MS);
    }

    #[test]
    fn a_new_holder_is_not_kept_waiting_for_the_idle_beat() {
        let mut schedule = Schedule::new(0);
        assert!(schedule.set_pace(Pace::Shared, 10 * MS));
        assert_eq!(schedule.next_ns, 30 * MS);
        assert!(!schedule.set_pace(Pace::Shared, 11 * MS));
        let fired: Vec<bool> = (1..=10).map(|i| schedule.fired(10 * MS + i * 20 * MS).telemetry).collect();
        assert_eq!(fired.iter().filter(|t| **t).count(), 2);
    }

    #[test]
    fn a_late_host_is_told_by_how_much() {
        let mut schedule = Schedule::new(0);
        assert_eq!(schedule.fired(1300 * MS).behind_ns, 300 * MS);
    }

    #[test]
    fn dear_sweeps_are_rare() {
        let mut schedule = Schedule::new(0);
        schedule.set_pace(Pace::Held, 0);
        assert!(schedule.fired(1000 * MS).sweep);
        schedule.sweep_took(100 * MS, 1000 * MS);
        assert!(!schedule.fired(2500 * MS).sweep);
        assert!(schedule.fired(6000 * MS).sweep);
    }
}
