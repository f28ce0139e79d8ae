//! Processes that hold GPUs: their pages, and whether they are still there. A holder is gone when its pidfd says
//! so or when it no longer maps its own page; a stopped process is not gone. It counts no memory.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use ghost_engine::busy::Watcher;
use ghost_engine::region;

use crate::ledger::HolderId;
use crate::process::{self, Credentials, Mapped, PageId};

/// One attached process page.
#[derive(Debug)]
pub struct Holder {
    pub peer: Credentials,
    /// Command name at attach.
    pub name: String,
    pub watcher: Watcher,
    page: PageId,
    /// Ours until the process has mapped it.
    page_fd: Option<OwnedFd>,
    /// Readable when the process has ended; absent where the kernel gave none.
    pub pidfd: Option<OwnedFd>,
    /// Its socket is open.
    pub connected: bool,
}

impl Holder {
    fn new(peer: Credentials) -> io::Result<Holder> {
        let (fd, watcher) = Watcher::create()?;
        let page = PageId::of(fd.as_raw_fd())?;
        let name = process::name(peer.pid);
        Ok(Holder { peer, name, watcher, page, page_fd: Some(fd), pidfd: None, connected: true })
    }

    /// The descriptor to send; gone once the process has said that it mapped the page.
    pub fn page_fd(&self) -> Option<i32> {
        self.page_fd.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The process has mapped its page: nobody may map it writable from now on.
    pub fn seal(&mut self) -> io::Result<()> {
        match self.page_fd.take() {
            Some(fd) => region::seal(fd.as_raw_fd()),
            None => Ok(()),
        }
    }

    pub fn is_sealed(&self) -> bool {
        self.page_fd.is_none()
    }

    /// Whether this holder is still there, as far as can be known.
    fn is_there(&self) -> bool {
        if self.pidfd.as_ref().is_some_and(process::has_ended) {
            return false;
        }
        if !self.is_sealed() {
            return self.connected;
        }
        match process::maps(self.peer.pid, self.page) {
            Mapped::Yes => true,
            Mapped::No => false,
            Mapped::Unknown => self.connected,
        }
    }
}

/// All holders of a tray.
#[derive(Debug, Default)]
pub struct Holders {
    all: BTreeMap<HolderId, Holder>,
    last: u64,
}

impl Holders {
    pub fn add(&mut self, peer: Credentials) -> io::Result<HolderId> {
        let holder = Holder::new(peer)?;
        self.last += 1;
        let id = HolderId(self.last);
        self.all.insert(id, holder);
        Ok(id)
    }

    pub fn remove(&mut self, id: HolderId) -> Option<Holder> {
        self.all.remove(&id)
    }

    pub fn get(&self, id: HolderId) -> Option<&Holder> {
        self.all.get(&id)
    }

    pub fn get_mut(&mut self, id: HolderId) -> Option<&mut Holder> {
        self.all.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (HolderId, &Holder)> {
        self.all.iter().map(|(id, holder)| (*id, holder))
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether holder `id` is still there; asks the kernel.
    pub fn is_there(&self, id: HolderId) -> bool {
        self.all.get(&id).is_some_and(Holder::is_there)
    }

    /// Holders that are no longer there; asks the kernel about each.
    pub fn gone(&self) -> Vec<HolderId> {
        self.all.iter().filter(|(_, holder)| !holder.is_there()).map(|(id, _)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_engine::busy::Writer;

    fn me() -> Credentials {
        Credentials { pid: std::process::id(), uid: 0 }
    }

    #[test]
    fn a_holder_that_unmaps_its_page_is_gone() {
        let mut holders = Holders::default();
        let id = holders.add(me()).unwrap();
        let page = Writer::new(holders.get(id).unwrap().page_fd().unwrap(), 1).unwrap();
        holders.get_mut(id).unwrap().seal().unwrap();
        let watcher = &holders.get(id).unwrap().watcher;
        assert!(watcher.read(0).is_some() && holders.is_there(id));
        drop(page);
        // ghostd's own view of the page counts in this test, where both ends are one process.
        holders.get_mut(id).unwrap().watcher = Watcher::create().unwrap().1;
        assert_eq!(holders.gone(), [id]);
    }

    #[test]
    fn a_holder_that_has_not_mapped_its_page_is_there_while_it_is_connected() {
        let mut holders = Holders::default();
        let id = holders.add(me()).unwrap();
        assert!(holders.is_there(id));
        holders.get_mut(id).unwrap().connected = false;
        assert!(!holders.is_there(id));
    }
}
