//! What /proc and the socket tell about another process: its name, whether it lives, whether it still maps its page.
//! It only looks; it must not decide what a death means.

use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Who is at the other end of a socket, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// 0 = a process of a foreign pid namespace.
    pub pid: u32,
    pub uid: u32,
}

/// SO_PEERCRED.
pub fn credentials(socket: RawFd) -> io::Result<Credentials> {
    // SAFETY: the descriptor stays open for the duration of the call; it is the caller's.
    let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(socket) };
    let peer = nix::sys::socket::getsockopt(&socket, nix::sys::socket::sockopt::PeerCredentials)?;
    Ok(Credentials { pid: peer.pid().max(0) as u32, uid: peer.uid() })
}

/// A pidfd of the process at the other end: from the socket where the kernel can (no pid reuse), by number otherwise.
pub fn pidfd(socket: RawFd, pid: u32) -> io::Result<OwnedFd> {
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut fd: libc::c_int = -1;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `fd` and `len` are valid for writing and describe each other.
    let rc = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, SO_PEERPIDFD, (&raw mut fd).cast(), &raw mut len) };
    if rc != 0 {
        // SAFETY: plain system call with integer arguments.
        fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) } as libc::c_int;
    }
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made by the kernel for us, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether the process behind a pidfd has ended.
pub fn has_ended(pidfd: &OwnedFd) -> bool {
    let mut poll = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut poll, 1, 0) > 0 && poll.revents & libc::POLLIN != 0 }
}

/// The command name, as `ps` shows it; empty if the process is gone.
pub fn name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end_matches('\n').chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A shared page's identity in a process's maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageId {
    major: u32,
    minor: u32,
    inode: u64,
}

impl PageId {
    pub fn of(fd: RawFd) -> io::Result<PageId> {
        // SAFETY: the descriptor stays open for the duration of the call; it is the caller's.
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        let stat = nix::sys::stat::fstat(fd)?;
        let (major, minor) = (libc::major(stat.st_dev), libc::minor(stat.st_dev));
        Ok(PageId { major, minor, inode: stat.st_ino })
    }

    /// Whether one line of /proc/PID/maps is a mapping of this page.
    fn is_in(&self, line: &[u8]) -> bool {
        let Ok(line) = std::str::from_utf8(line) else {
            return false;
        };
        let mut fields = line.split_ascii_whitespace().skip(3);
        let (Some(device), Some(inode)) = (fields.next(), fields.next()) else {
            return false;
        };
        let Some((major, minor)) = device.split_once(':') else {
            return false;
        };
        let number = |text| u32::from_str_radix(text, 16).ok();
        number(major) == Some(self.major) && number(minor) == Some(self.minor) && inode.parse() == Ok(self.inode)
    }
}

/// What can be said about a page in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    Yes,
    No,
    /// The maps cannot be read from here (another user's process).
    Unknown,
}

/// Whether a living process maps the page.
pub fn maps(pid: u32, page: PageId) -> Mapped {
    let Ok(file) = std::fs::File::open(format!("/proc/{pid}/maps")) else {
        return Mapped::Unknown;
    };
    let mut reader = BufReader::with_capacity(16 * 1024, file);
    let mut line = Vec::new();
    let mut any = false;
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Err(_) => return Mapped::Unknown,
            // A process on its way out has no maps at all; its pidfd will say so.
            Ok(0) => return if any { Mapped::No } else { Mapped::Unknown },
            Ok(_) if page.is_in(&line) => return Mapped::Yes,
            Ok(_) => any = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_engine::region::{self, Access, Map};

    #[test]
    fn a_page_is_seen_in_the_maps_while_it_is_mapped() {
        let fd = region::create("ghost-test", 4096).unwrap();
        let page = PageId::of(fd.as_raw_fd()).unwrap();
        let map = Map::new(fd.as_raw_fd(), 4096, Access::ReadOnly).unwrap();
        assert_eq!(maps(std::process::id(), page), Mapped::Yes);
        drop(map);
        assert_eq!(maps(std::process::id(), page), Mapped::No);
        assert_eq!(maps(u32::MAX, page), Mapped::Unknown);
    }

    #[test]
    fn lines_of_other_files_do_not_match() {
        let page = PageId { major: 0, minor: 1, inode: 42 };
        assert!(page.is_in(b"7f00-7f01 rw-s 00000000 00:01 42   /memfd:ghostrack-process (deleted)\n"));
        assert!(!page.is_in(b"7f00-7f01 rw-s 00000000 00:01 43   /memfd:x (deleted)\n"));
        assert!(!page.is_in(b"7f00-7f01 rw-s 00000000 08:01 42   /x\n"));
        assert!(!page.is_in(b"\xff\n"));
    }
}
