//! The facts page: published by ghostd, read by everybody else without a lock, a message or a system call.
//! Nothing here knows what a fact means. Writing the idle copy and then bumping the generation means
//! that a writer killed half-way leaves the last good copy in force.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::layout::*;
use crate::region::{self, Access, Map};

/// ghostd's side: the only writer.
#[derive(Debug)]
pub struct Publisher {
    fd: OwnedFd,
    map: Map,
    draft: Box<Facts>,
}

impl Publisher {
    /// Makes the page, fills in header and profile, publishes empty facts, seals it.
    pub fn new(boot_id: u64, profile_json: &str) -> io::Result<Publisher> {
        if profile_json.len() > PROFILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "profile is larger than its section"));
        }
        let fd = region::create("ghostrack-facts", size_of::<FactsPage>())?;
        let map = Map::new(fd.as_raw_fd(), size_of::<FactsPage>(), Access::ReadWrite)?;
        let page = map.base().cast::<FactsPage>();
        let header = Header { magic: FACTS_MAGIC, layout_hash: LAYOUT_HASH, boot_id, ready: 1 };
        // SAFETY: the map is as long as the page and nobody else has it yet.
        unsafe {
            let profile = (&raw mut (*page).profile).cast::<u8>();
            std::ptr::copy_nonoverlapping(profile_json.as_ptr(), profile, profile_json.len());
            (*page).profile_len.store(profile_json.len() as u64, Ordering::Relaxed);
            (&raw mut (*page).header).write_volatile(header);
        }
        region::seal(fd.as_raw_fd())?;
        Ok(Publisher { fd, map, draft: zeroed_facts() })
    }

    /// The descriptor to hand out; sealed, so whoever gets it can only read.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Edits the draft and publishes it. Returns the new generation.
    pub fn publish(&mut self, edit: impl FnOnce(&mut Facts)) -> u64 {
        edit(&mut self.draft);
        let page = self.page();
        let next = page.generation.load(Ordering::Relaxed) + 1;
        let idle = (&raw const page.copies).cast::<Facts>().cast_mut();
        // SAFETY: the copy `next & 1` is not the one readers are sent to, and we are the only writer.
        unsafe { std::ptr::copy_nonoverlapping(&raw const *self.draft, idle.add((next & 1) as usize), 1) };
        page.generation.store(next, Ordering::Release);
        next
    }

    /// The facts as last edited.
    pub fn draft(&self) -> &Facts {
        &self.draft
    }

    /// Wakes every waiter: a fault, a reset, the end.
    pub fn alarm(&self) {
        let page = self.page();
        page.alarm.fetch_add(1, Ordering::Release);
        crate::wait::wake_all(&page.alarm);
    }

    /// Says that this ghostd goes away, and wakes everybody.
    pub fn close(&self) {
        self.page().closing.store(1, Ordering::Release);
        self.alarm();
    }

    fn page(&self) -> &FactsPage {
        // SAFETY: mapped for our lifetime; shared fields are atomics, the rest is only touched through raw pointers.
        unsafe { &*self.map.base().cast::<FactsPage>() }
    }
}

/// Everybody else's side.
#[derive(Debug)]
pub struct Reader {
    map: Map,
}

/// Why a facts page cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Not a facts page, or too short.
    NotFacts,
    /// Made by another version; the argument is the page's layout hash.
    OtherLayout(u64),
}

impl Reader {
    pub fn new(fd: RawFd) -> Result<Reader, Unreadable> {
        if !region::is_sealed(fd) {
            return Err(Unreadable::NotFacts);
        }
        let map = Map::new(fd, size_of::<Header>(), Access::ReadOnly).map_err(|_| Unreadable::NotFacts)?;
        // SAFETY: the map covers a header.
        let header = unsafe { map.base().cast::<Header>().read_volatile() };
        if header.magic != FACTS_MAGIC || header.ready != 1 {
            return Err(Unreadable::NotFacts);
        }
        if header.layout_hash != LAYOUT_HASH {
            return Err(Unreadable::OtherLayout(header.layout_hash));
        }
        let map = Map::new(fd, size_of::<FactsPage>(), Access::ReadOnly).map_err(|_| Unreadable::NotFacts)?;
        Ok(Reader { map })
    }

    pub fn boot_id(&self) -> u64 {
        self.page().header.boot_id
    }

    pub fn generation(&self) -> u64 {
        self.page().generation.load(Ordering::Acquire)
    }

    pub fn closing(&self) -> bool {
        self.page().closing.load(Ordering::Acquire) != 0
    }

    /// The futex word a waiter sleeps on.
    pub fn alarm(&self) -> &AtomicU32 {
        &self.page().alarm
    }

    /// The profile as JSON text.
    pub fn profile_json(&self) -> String {
        let page = self.page();
        let len = (page.profile_len.load(Ordering::Relaxed) as usize).min(PROFILE_BYTES);
        String::from_utf8_lossy(&page.profile[..len]).into_owned()
    }

    pub fn tray(&self) -> TrayFacts {
        self.read(|facts| {
            // SAFETY: projecting into a live copy, no reference is made.
            unsafe { &raw const (*facts).tray }
        })
    }

    pub fn identity(&self, gpu: usize) -> GpuIdentity {
        self.of_gpu(gpu, |g| {
            // SAFETY: as in `tray`.
            unsafe { &raw const (*g).identity }
        })
    }

    pub fn live(&self, gpu: usize) -> GpuLive {
        self.of_gpu(gpu, |g| {
            // SAFETY: as in `tray`.
            unsafe { &raw const (*g).live }
        })
    }

    pub fn modes(&self, gpu: usize) -> GpuModes {
        self.of_gpu(gpu, |g| {
            // SAFETY: as in `tray`.
            unsafe { &raw const (*g).modes }
        })
    }

    pub fn ecc(&self, gpu: usize) -> GpuEcc {
        self.of_gpu(gpu, |g| {
            // SAFETY: as in `tray`.
            unsafe { &raw const (*g).ecc }
        })
    }

    pub fn fabric(&self, gpu: usize) -> GpuFabric {
        self.of_gpu(gpu, |g| {
            // SAFETY: as in `tray`.
            unsafe { &raw const (*g).fabric }
        })
    }

    pub fn link(&self, gpu: usize, link: usize) -> LinkFacts {
        let link = link.min(MAX_LINKS - 1);
        self.of_gpu(gpu, |g| {
            // SAFETY: as in `tray`; `link` is in range.
            unsafe { &raw const (*g).links[link] }
        })
    }

    /// Everything about one GPU, Xid and sample rings included (a few kilobytes).
    pub fn gpu(&self, gpu: usize) -> GpuFacts {
        self.of_gpu(gpu, |g| g)
    }

    pub fn hca(&self, hca: usize) -> HcaFacts {
        let hca = hca.min(MAX_HCAS - 1);
        self.read(|facts| {
            // SAFETY: as in `tray`; `hca` is in range.
            unsafe { &raw const (*facts).hcas[hca] }
        })
    }

    /// Processes on one GPU, in the order ghostd lists them.
    pub fn processes(&self, gpu: usize) -> Vec<ProcessFacts> {
        let count = (self.tray().process_count as usize).min(MAX_PROCESSES);
        let all = self.read(|facts| {
            // SAFETY: as in `tray`.
            unsafe { &raw const (*facts).processes }
        });
        all[..count].iter().filter(|p| p.gpu as usize == gpu && p.pid != 0).copied().collect()
    }

    /// Processes holding any compute context on `gpu` right now, for the divisor of time slicing (>= 1).
    pub fn sharers(&self, gpu: usize) -> u64 {
        u64::from(self.live(gpu).busy_holders).max(1)
    }

    fn of_gpu<T: Shared>(&self, gpu: usize, pick: impl Fn(*const GpuFacts) -> *const T) -> T {
        let gpu = gpu.min(MAX_GPUS - 1);
        self.read(|facts| {
            // SAFETY: `gpu` is in range of a live copy.
            pick(unsafe { &raw const (*facts).gpus[gpu] })
        })
    }

    /// Copies one part of the current facts, again if ghostd published meanwhile.
    fn read<T: Shared>(&self, pick: impl Fn(*const Facts) -> *const T) -> T {
        let page = self.page();
        loop {
            let generation = page.generation.load(Ordering::Acquire);
            let copy = (&raw const page.copies[(generation & 1) as usize]).cast::<Facts>();
            // SAFETY: `pick` stays inside the copy; T is Shared, so a torn value is a value, thrown away below.
            let value = unsafe { pick(copy).read_volatile() };
            std::sync::atomic::fence(Ordering::Acquire);
            if page.generation.load(Ordering::Relaxed) == generation {
                return value;
            }
        }
    }

    fn page(&self) -> &FactsPage {
        // SAFETY: mapped for our lifetime; see `Publisher::page`.
        unsafe { &*self.map.base().cast::<FactsPage>() }
    }
}

fn zeroed_facts() -> Box<Facts> {
    // SAFETY: Facts is Shared, so all-zero bytes are a value; avoids 70 KiB on the stack.
    unsafe { Box::<Facts>::new_zeroed().assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_what_was_published_last() {
        let mut publisher = Publisher::new(9, "{}").unwrap();
        let reader = Reader::new(publisher.fd()).unwrap();
        publisher.publish(|f| f.gpus[2].live.sm_clock_mhz = 120);
        assert_eq!(reader.live(2).sm_clock_mhz, 120);
        publisher.publish(|f| f.gpus[2].live.sm_clock_mhz = 2062);
        assert_eq!(reader.live(2).sm_clock_mhz, 2062);
        assert_eq!((reader.boot_id(), reader.profile_json().as_str()), (9, "{}"));
    }

    #[test]
    fn readers_never_see_a_torn_copy() {
        let mut publisher = Publisher::new(1, "").unwrap();
        let reader = Reader::new(publisher.fd()).unwrap();
        std::thread::scope(|scope| {
            let reader = &reader;
            let watch = scope.spawn(move || {
                let mut last = 0;
                while last < 20_000 {
                    let links = reader.gpu(0).links;
                    assert!(links.iter().all(|l| l.tx_bytes == links[0].tx_bytes));
                    last = links[0].tx_bytes;
                }
            });
            for value in 1..=20_000 {
                publisher.publish(|f| f.gpus[0].links.iter_mut().for_each(|l| l.tx_bytes = value));
            }
            watch.join().unwrap();
        });
    }

    #[test]
    fn a_page_of_another_layout_is_refused_by_name() {
        let fd = region::create("ghost-test", size_of::<FactsPage>()).unwrap();
        let map = Map::new(fd.as_raw_fd(), size_of::<FactsPage>(), Access::ReadWrite).unwrap();
        let header = Header { magic: FACTS_MAGIC, layout_hash: 5, boot_id: 1, ready: 1 };
        // SAFETY: the map is long enough for a header.
        unsafe { map.base().cast::<Header>().write_volatile(header) };
        region::seal(fd.as_raw_fd()).unwrap();
        assert_eq!(Reader::new(fd.as_raw_fd()).unwrap_err(), Unreadable::OtherLayout(5));
    }
}
