//! Attach to a tray and ask its ghostd. One socket per process, one question at a time.
//! Descriptors we keep in a foreign process are high CLOEXEC numbers, used only by send and receive,
//! and checked before use: a program may have closed or reused the number.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::busy::Writer;
use crate::facts::{Reader, Unreadable};
use crate::layout::LAYOUT_HASH;
use crate::place::Place;
use crate::wire::{self, Frame, Message, Role, Status};

/// Descriptors of ours start here, out of the way of programs that close or reuse low numbers.
const HIGH_FD: RawFd = 700;

/// Why attaching or asking failed.
#[derive(Debug)]
pub enum Failure {
    /// Nobody listens: no rack is up, or this tray is off.
    NoTray(io::Error),
    /// ghostd answered something else than Ok.
    Answer(Status, Vec<u8>),
    /// Libraries and ghostd are of different versions.
    OtherLayout { theirs: u64 },
    /// ghostd has died or gone; this process must not go on.
    Gone,
}

/// A process attached to a tray.
#[derive(Debug)]
pub struct Client {
    socket: Mutex<Socket>,
    gone: AtomicBool,
    sequence: AtomicU32,
    facts: Reader,
    page: Option<Writer>,
    place: Place,
    pid: u32,
}

#[derive(Debug)]
struct Socket {
    fd: ManuallyDrop<OwnedFd>,
    inode: u64,
}

impl Client {
    /// Connects to the tray at `place`, maps the facts, and for a holder its own page.
    pub fn attach(place: Place, role: Role) -> Result<Client, Failure> {
        let socket = Socket::new(connect(&place.socket).map_err(Failure::NoTray)?);
        let dev_root = place.dev_root.as_os_str().as_encoded_bytes().to_vec();
        let hello = Frame::ask(Message::Hello, &[LAYOUT_HASH, 0, role as u64]).with_data(dev_root);
        let reply = exchange(&socket, hello, 1)?;
        if reply.status() == Status::OtherLayout {
            return Err(Failure::OtherLayout { theirs: reply.head.args[0] });
        }
        if reply.status() != Status::Ok {
            return Err(Failure::Answer(reply.status(), reply.data));
        }
        let boot_id = reply.head.args[0];
        let mut fds = reply.fds.into_iter();
        let facts = fds.next().ok_or(Failure::Gone)?;
        let facts = Reader::new(facts.as_raw_fd()).map_err(|e| match e {
            Unreadable::OtherLayout(theirs) => Failure::OtherLayout { theirs },
            Unreadable::NotFacts => Failure::Gone,
        })?;
        let page = match (role, fds.next()) {
            (Role::Holder, Some(fd)) => Some(Writer::new(fd.as_raw_fd(), boot_id).map_err(|_| Failure::Gone)?),
            _ => None,
        };
        if page.is_some() {
            exchange(&socket, Frame::ask(Message::PageMapped, &[]), 2)?;
        }
        Ok(Client {
            socket: Mutex::new(socket),
            gone: AtomicBool::new(false),
            sequence: AtomicU32::new(3),
            facts,
            page,
            place,
            pid: reply.head.args[2] as u32,
        })
    }

    pub fn facts(&self) -> &Reader {
        &self.facts
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Our pid as ghostd sees it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Our own page; holders have one.
    pub fn page(&self) -> Option<&Writer> {
        self.page.as_ref()
    }

    /// Asks and waits for the reply; any other status than Ok is a failure.
    pub fn ask(&self, frame: Frame) -> Result<Frame, Failure> {
        let reply = self.exchange(frame)?;
        match reply.status() {
            Status::Ok => Ok(reply),
            status => Err(Failure::Answer(status, reply.data)),
        }
    }

    /// Asks and waits for the reply, whatever its status.
    pub fn exchange(&self, frame: Frame) -> Result<Frame, Failure> {
        if self.gone.load(Ordering::Acquire) {
            return Err(Failure::Gone);
        }
        let socket = self.socket.lock();
        let seq = self.sequence.fetch_add(1, Ordering::Relaxed).max(1);
        let reply = exchange(&socket, frame, seq);
        if matches!(reply, Err(Failure::Gone)) {
            self.gone.store(true, Ordering::Release);
        }
        reply
    }

    /// Tells without waiting; losing it is no failure.
    pub fn tell(&self, frame: Frame) {
        if let Some(socket) = self.socket.try_lock().filter(|s| s.intact()) {
            let _ = wire::send(socket.fd.as_raw_fd(), frame.head, &frame.data, &[], true);
        }
    }

    /// Reads a long answer (status, missing calls) piece by piece.
    pub fn read_all(&self, message: Message) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        loop {
            let reply = self.ask(Frame::ask(message, &[out.len() as u64]))?;
            out.extend_from_slice(&reply.data);
            if reply.data.is_empty() || out.len() as u64 >= reply.head.args[0] {
                return Ok(out);
            }
        }
    }

    /// Whether ghostd still lives: asked by waiters at every look-up. Costs one system call.
    pub fn is_alive(&self) -> bool {
        if self.gone.load(Ordering::Acquire) {
            return false;
        }
        if self.facts.closing() {
            self.gone.store(true, Ordering::Release);
            return false;
        }
        let Some(socket) = self.socket.try_lock() else {
            return true;
        };
        let mut poll = libc::pollfd { fd: socket.fd.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut poll, 1, 0) };
        let alive = poll.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) == 0 && socket.intact();
        if !alive {
            self.gone.store(true, Ordering::Release);
        }
        alive
    }

    /// Known to be dead without asking anybody: cheap enough for every call.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

impl Socket {
    fn new(fd: OwnedFd) -> Socket {
        // SAFETY: duplicates our own descriptor to a high number, close-on-exec.
        let high = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, HIGH_FD) };
        let fd = if high >= 0 {
            drop(fd);
            // SAFETY: just made by fcntl, owned by nobody else.
            unsafe { OwnedFd::from_raw_fd(high) }
        } else {
            fd
        };
        let inode = inode(fd.as_raw_fd());
        Socket { fd: ManuallyDrop::new(fd), inode }
    }

    /// The number still names our socket: a program's closefrom() may have closed it.
    fn intact(&self) -> bool {
        inode(self.fd.as_raw_fd()) == self.inode
    }
}

impl Drop for Socket {
    /// A number that names something else by now is the program's to close.
    fn drop(&mut self) {
        if self.intact() {
            // SAFETY: dropped here only, and used no more.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        }
    }
}

fn inode(fd: RawFd) -> u64 {
    // SAFETY: an all-zero stat is valid and is overwritten on success.
    let mut st: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `st` is valid for writing; a bad fd is an error return.
    if unsafe { libc::fstat(fd, &raw mut st) } == 0 { st.st_ino } else { 0 }
}

fn exchange(socket: &Socket, mut frame: Frame, seq: u32) -> Result<Frame, Failure> {
    if !socket.intact() {
        return Err(Failure::Gone);
    }
    frame.head.seq = seq;
    let fd = socket.fd.as_raw_fd();
    wire::send(fd, frame.head, &frame.data, &[], false).map_err(|_| Failure::Gone)?;
    loop {
        match wire::receive(fd, false) {
            Ok(Some(reply)) if reply.head.seq == seq => return Ok(reply),
            Ok(Some(_)) => continue,
            Ok(None) | Err(_) => return Err(Failure::Gone),
        }
    }
}

/// Connects a SOCK_SEQPACKET socket; paths longer than a socket address go through /proc/self/fd.
pub fn connect(path: &Path) -> io::Result<OwnedFd> {
    // SAFETY: plain call.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, owned by nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    with_short_path(path, |address, len| {
        // SAFETY: `address` is a filled-in sockaddr_un of `len` bytes.
        match unsafe { libc::connect(fd.as_raw_fd(), std::ptr::from_ref(address).cast(), len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })?;
    Ok(fd)
}

/// Calls `then` with a socket address for `path`, however long it is.
pub fn with_short_path<T>(
    path: &Path,
    then: impl FnOnce(&libc::sockaddr_un, libc::socklen_t) -> io::Result<T>,
) -> io::Result<T> {
    let bytes = path.as_os_str().as_encoded_bytes();
    // SAFETY: an all-zero sockaddr_un is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let mut keep = None;
    let short: Vec<u8> = if bytes.len() < address.sun_path.len() {
        bytes.to_vec()
    } else {
        let parent = std::fs::File::open(path.parent().unwrap_or(Path::new("/")))?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let mut short = format!("/proc/self/fd/{}/", parent.as_raw_fd()).into_bytes();
        short.extend_from_slice(name);
        keep = Some(parent);
        short
    };
    if short.len() >= address.sun_path.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "socket name is too long"));
    }
    for (to, from) in address.sun_path.iter_mut().zip(&short) {
        *to = *from as libc::c_char;
    }
    let len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + short.len() + 1;
    let out = then(&address, len as libc::socklen_t);
    drop(keep);
    out
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_number_that_the_program_has_reused_stays_open() {
        let socket = Socket::new(File::open("/dev/null").unwrap().into());
        let number = socket.fd.as_raw_fd();
        let other = File::open("/proc/self/status").unwrap();
        // SAFETY: puts another file where the socket's descriptor was, as a program may after closefrom().
        assert_eq!(unsafe { libc::dup3(other.as_raw_fd(), number, libc::O_CLOEXEC) }, number);
        assert!(!socket.intact());
        drop(socket);
        // SAFETY: the number is open still and nobody else's.
        let kept = unsafe { OwnedFd::from_raw_fd(number) };
        assert_eq!(inode(number), inode(other.as_raw_fd()));
        drop(kept);
    }
}
