//! What a process keeps busy: written into its own page at every enqueue, read by ghostd at every tick.
//! The writer takes no lock of its own (its device lock is held); the reader believes nothing:
//! it clamps, and ghostd clamps again against the time that really passed.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::layout::*;
use crate::region::{Access, Map};

/// A segment longer than this is closed and the next one opened, so that averages stay local in time.
const SEGMENT_NS: u64 = 20_000_000;

/// One piece of work, as the cost model priced it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Nanoseconds of (start, end) in which device memory is read or written.
    pub memory_ns: u64,
    /// Energy above idle.
    pub energy_nanojoules: u64,
}

/// The owner's side of a process page.
#[derive(Debug)]
pub struct Writer {
    map: Map,
}

impl Writer {
    /// Maps the page that ghostd made for us and marks it as gone in forked children.
    pub fn new(fd: RawFd, boot_id: u64) -> io::Result<Writer> {
        let map = Map::new(fd, size_of::<ProcessPage>(), Access::ReadWrite)?;
        map.dont_fork()?;
        let header = Header { magic: PROCESS_MAGIC, layout_hash: LAYOUT_HASH, boot_id, ready: 1 };
        // SAFETY: the map covers a header and only this process writes it.
        unsafe { map.base().cast::<Header>().write_volatile(header) };
        Ok(Writer { map })
    }

    /// Adds work to an engine. The caller holds the lock of `gpu`.
    pub fn add(&self, gpu: usize, engine: usize, now_ns: u64, work: Work) {
        self.edit(gpu, |page| {
            if let Some(engine) = page.engines.get_mut(engine) {
                engine.add(now_ns, work);
            }
        });
    }

    /// Counts bytes on NVLinks, HCAs or the host link. The caller holds the lock of `gpu`.
    pub fn edit(&self, gpu: usize, edit: impl FnOnce(&mut ProcessGpu)) {
        if gpu >= MAX_GPUS {
            return;
        }
        let page = self.map.base().cast::<ProcessPage>();
        // SAFETY: in range of the live map; the sequence words are atomics.
        let sequence: &AtomicU32 = unsafe { &(*page).sequence[gpu] };
        sequence.fetch_add(1, Ordering::Relaxed);
        std::sync::atomic::fence(Ordering::Release);
        // SAFETY: this process is the only writer and the caller holds the lock of this GPU; the one reader
        // (ghostd) copies volatile and throws torn copies away.
        edit(unsafe { &mut (*page).gpus[gpu] });
        sequence.fetch_add(1, Ordering::Release);
    }
}

impl EngineWork {
    fn add(&mut self, now_ns: u64, work: Work) {
        if work.end_ns <= work.start_ns {
            return;
        }
        self.retire(now_ns);
        let slot = self.slot_for(work.start_ns);
        let segment = &mut self.open[slot];
        let busy = if segment.end_ns == 0 {
            segment.start_ns = work.start_ns;
            work.end_ns - work.start_ns
        } else {
            work.end_ns.saturating_sub(work.start_ns.max(segment.end_ns))
        };
        segment.end_ns = segment.end_ns.max(work.end_ns);
        segment.busy_ns += busy;
        segment.memory_ns = (segment.memory_ns + work.memory_ns).min(segment.end_ns - segment.start_ns);
        segment.energy_nanojoules += work.energy_nanojoules;
    }

    /// Sums up the segments that are over and moves the rest to the front.
    fn retire(&mut self, now_ns: u64) {
        let mut kept = 0;
        if self.open[0].end_ns == 0 || self.open[0].end_ns > now_ns {
            return;
        }
        for i in 0..SEGMENTS {
            let segment = self.open[i];
            if segment.end_ns != 0 && segment.end_ns <= now_ns {
                self.done.busy_ns += segment.busy_ns;
                self.done.memory_ns += segment.memory_ns;
                self.done.energy_nanojoules += segment.energy_nanojoules;
                self.open[i] = Segment::default();
            } else if segment.end_ns != 0 {
                self.open[i] = Segment::default();
                self.open[kept] = segment;
                kept += 1;
            }
        }
    }

    /// The segment that work starting at `start_ns` belongs to.
    fn slot_for(&self, start_ns: u64) -> usize {
        let used = self.open.iter().take_while(|s| s.end_ns != 0).count();
        if used == 0 {
            return 0;
        }
        let last = &self.open[used - 1];
        let fits = start_ns <= last.end_ns && last.end_ns - last.start_ns < SEGMENT_NS;
        if fits || used == SEGMENTS { used - 1 } else { used }
    }

    /// Totals up to `now_ns`: segments cut at now in proportion.
    pub fn until(&self, now_ns: u64) -> Segment {
        let mut total = self.done;
        for segment in self.open.iter().filter(|s| s.end_ns > s.start_ns) {
            let length = segment.end_ns - segment.start_ns;
            let passed = now_ns.clamp(segment.start_ns, segment.end_ns) - segment.start_ns;
            let part = |value: u64| (u128::from(value) * u128::from(passed) / u128::from(length)) as u64;
            total.busy_ns = total.busy_ns.saturating_add(part(segment.busy_ns));
            total.memory_ns = total.memory_ns.saturating_add(part(segment.memory_ns));
            total.energy_nanojoules = total.energy_nanojoules.saturating_add(part(segment.energy_nanojoules));
        }
        total
    }

    /// Whether work is under way at `now_ns`.
    pub fn busy_at(&self, now_ns: u64) -> bool {
        self.open.iter().any(|s| s.start_ns <= now_ns && now_ns < s.end_ns)
    }
}

impl ProcessGpu {
    /// A GPU this process never used.
    pub const ZERO: ProcessGpu = {
        // SAFETY: ProcessGpu is Shared: integers only, so all-zero is a value.
        unsafe { core::mem::zeroed() }
    };
}

/// ghostd's side of a process page.
#[derive(Debug)]
pub struct Watcher {
    map: Map,
}

impl Watcher {
    /// Makes a page for a new holder: the descriptor to send, and our own read-only view.
    pub fn create() -> io::Result<(std::os::fd::OwnedFd, Watcher)> {
        use std::os::fd::AsRawFd;
        let fd = crate::region::create("ghostrack-process", size_of::<ProcessPage>())?;
        crate::region::seal_size(fd.as_raw_fd())?;
        let map = Map::new(fd.as_raw_fd(), size_of::<ProcessPage>(), Access::ReadOnly)?;
        Ok((fd, Watcher { map }))
    }

    /// A copy of what the process says about one GPU; `None` if it kept writing while we looked.
    pub fn read(&self, gpu: usize) -> Option<ProcessGpu> {
        if gpu >= MAX_GPUS {
            return None;
        }
        let page = self.map.base().cast::<ProcessPage>().cast_const();
        for _ in 0..8 {
            // SAFETY: in range of the live, size-sealed map; the sequence words are atomics.
            let sequence: &AtomicU32 = unsafe { &(*page).sequence[gpu] };
            let before = sequence.load(Ordering::Acquire);
            // SAFETY: in range; ProcessGpu is Shared, a torn copy is a value and is thrown away.
            let copy = unsafe { (&raw const (*page).gpus[gpu]).read_volatile() };
            std::sync::atomic::fence(Ordering::Acquire);
            if before & 1 == 0 && sequence.load(Ordering::Relaxed) == before {
                return Some(copy);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn work(start_ns: u64, end_ns: u64) -> Work {
        Work { start_ns, end_ns, memory_ns: (end_ns - start_ns) / 2, energy_nanojoules: end_ns - start_ns }
    }

    #[test]
    fn work_is_counted_up_to_now_and_not_beyond() {
        let (fd, watcher) = Watcher::create().unwrap();
        let writer = Writer::new(fd.as_raw_fd(), 1).unwrap();
        writer.add(1, 0, 0, work(1_000, 2_000));
        writer.add(1, 0, 0, work(2_000, 3_000));
        let seen = watcher.read(1).unwrap().engines[0];
        assert_eq!(seen.until(500).busy_ns, 0);
        assert_eq!(seen.until(2_000).busy_ns, 1_000);
        assert_eq!(seen.until(9_000).busy_ns, 2_000);
        assert_eq!(seen.until(9_000).memory_ns, 1_000);
        assert!(seen.busy_at(2_500) && !seen.busy_at(3_000));
    }

    #[test]
    fn overlapping_work_is_busy_once() {
        let mut engine = ProcessGpu::ZERO.engines[0];
        engine.add(0, work(0, 1_000));
        engine.add(0, work(500, 1_500));
        assert_eq!(engine.until(10_000).busy_ns, 1_500);
    }

    #[test]
    fn idle_gaps_are_not_busy() {
        let mut engine = ProcessGpu::ZERO.engines[0];
        engine.add(0, work(0, 1_000));
        engine.add(5_000, work(5_000, 6_000));
        engine.add(20_000, work(20_000, 21_000));
        assert_eq!(engine.until(30_000).busy_ns, 3_000);
        assert_eq!(engine.until(20_500).busy_ns, 2_500);
    }

    #[test]
    fn a_long_backlog_keeps_its_total() {
        let mut engine = ProcessGpu::ZERO.engines[0];
        for i in 0..1_000 {
            engine.add(0, work(i * 1_000_000, (i + 1) * 1_000_000));
        }
        assert_eq!(engine.until(u64::MAX).busy_ns, 1_000_000_000);
        assert_eq!(engine.until(500_000_000).busy_ns, 500_000_000);
    }
}
