//! Frames of `$RUN/tray-N/ghostd.sock` (SOCK_SEQPACKET): a fixed head, then bytes whose meaning the id gives.
//! One frame is one packet. Ids are append-only; an id a daemon does not know is answered `Status::Unknown`.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Longest data part of a frame. Longer answers (a tray's status) are cut into frames by the asker's offset.
pub const MAX_DATA: usize = 32 * 1024;
/// Most descriptors one frame carries.
pub const MAX_FDS: usize = 4;

/// What a frame asks. `args` and `data` are described per id; unused ones are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Message {
    /// args: layout hash, boot id (0 = any), role. data: device root path.
    /// Reply args: boot id, GPU count, the caller's pid as ghostd sees it, layout hash. fds: facts page[, process page].
    Hello = 1,
    /// The process page is mapped; ghostd now seals it.
    PageMapped = 2,
    /// args: gpu, bytes. Reply args: free, total, used by this process. Status `OutOfMemory` leaves all as it was.
    MemoryTake = 3,
    /// args: gpu, bytes. Reply as `MemoryTake`.
    MemoryGive = 4,
    /// args: gpu. Reply as `MemoryTake`.
    MemoryInfo = 5,
    /// args: gpu. Takes the context's own memory and lists the process on that GPU.
    ContextOpen = 6,
    /// args: gpu. Gives back everything the process holds on that GPU.
    ContextClose = 7,
    /// One-way (seq 0). data: library NUL function. A call that had no implementation.
    Missing = 8,
    /// Operator. data: a `Change` as JSON. Refused changes answer `Refused` with the reason as data.
    Apply = 9,
    /// args: offset. Reply args: total length. data: a piece of the tray's status as JSON.
    Status = 10,
    /// args: offset. Reply args: total length. data: a piece of the missing calls, lines `count library function`.
    MissingList = 11,
    /// One-way. data: program path. A static or foreign CUDA runtime met our driver and was refused.
    Unredirected = 12,
    /// args: gpu. Reply args: link bit mask. Which links are up now.
    Links = 13,
}

impl Message {
    pub fn from_id(id: u32) -> Option<Message> {
        use Message::*;
        [
            Hello,
            PageMapped,
            MemoryTake,
            MemoryGive,
            MemoryInfo,
            ContextOpen,
            ContextClose,
            Missing,
            Apply,
            Status,
            MissingList,
            Unredirected,
            Links,
        ]
        .into_iter()
        .find(|m| *m as u32 == id)
    }
}

/// How ghostd answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    Ok = 0,
    Unknown = 1,
    Malformed = 2,
    OutOfMemory = 3,
    /// The caller may not do this.
    Denied = 4,
    /// The model refused; the reason is in the data.
    Refused = 5,
    /// Caps on connections, pages or processes of this user are reached.
    TooMany = 6,
    /// Another version of the libraries; args[0] is ghostd's layout hash.
    OtherLayout = 7,
    NoSuchGpu = 8,
    GpuLost = 9,
    /// The caller's process cannot be seen from here (foreign pid namespace).
    ForeignPid = 10,
    Busy = 11,
}

impl Status {
    pub fn from_code(code: i32) -> Status {
        use Status::*;
        [Ok, Malformed, OutOfMemory, Denied, Refused, TooMany, OtherLayout, NoSuchGpu, GpuLost, ForeignPid, Busy]
            .into_iter()
            .find(|s| *s as i32 == code)
            .unwrap_or(Unknown)
    }
}

/// Why a process connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Role {
    /// Reads facts (NVML, exporters).
    Reader = 0,
    /// Uses GPUs and gets a process page (CUDA).
    Holder = 1,
    /// Asks for changes and status (CLI, supervisor).
    Operator = 2,
}

/// The fixed head of a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub id: u32,
    /// Echoed in the reply; 0 = no reply wanted.
    pub seq: u32,
    pub status: i32,
    pub len: u32,
    pub args: [u64; 6],
}

const HEAD: usize = size_of::<Head>();

/// A frame with its data and descriptors.
#[derive(Debug, Default)]
pub struct Frame {
    pub head: Head,
    pub data: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

impl Frame {
    pub fn ask(message: Message, args: &[u64]) -> Frame {
        let mut head = Head { id: message as u32, ..Head::default() };
        head.args[..args.len()].copy_from_slice(args);
        Frame { head, ..Frame::default() }
    }

    pub fn with_data(mut self, data: impl Into<Vec<u8>>) -> Frame {
        self.data = data.into();
        self.data.truncate(MAX_DATA);
        self
    }

    pub fn status(&self) -> Status {
        Status::from_code(self.head.status)
    }
}

impl Head {
    fn to_bytes(self) -> [u8; HEAD] {
        let mut out = [0; HEAD];
        out[0..4].copy_from_slice(&self.id.to_ne_bytes());
        out[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        out[8..12].copy_from_slice(&self.status.to_ne_bytes());
        out[12..16].copy_from_slice(&self.len.to_ne_bytes());
        for (i, arg) in self.args.iter().enumerate() {
            out[16 + 8 * i..24 + 8 * i].copy_from_slice(&arg.to_ne_bytes());
        }
        out
    }

    fn from_bytes(bytes: &[u8]) -> Option<Head> {
        let word = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
        let mut args = [0; 6];
        for (i, arg) in args.iter_mut().enumerate() {
            *arg = u64::from_ne_bytes(bytes.get(16 + 8 * i..24 + 8 * i)?.try_into().ok()?);
        }
        Some(Head {
            id: u32::from_ne_bytes(word(0)?),
            seq: u32::from_ne_bytes(word(4)?),
            status: i32::from_ne_bytes(word(8)?),
            len: u32::from_ne_bytes(word(12)?),
            args,
        })
    }
}

/// Sends one frame. Descriptors in `fds` stay ours. Never raises SIGPIPE; a full buffer blocks unless `dont_wait`.
pub fn send(socket: RawFd, head: Head, data: &[u8], fds: &[RawFd], dont_wait: bool) -> io::Result<()> {
    let head = Head { len: data.len() as u32, ..head }.to_bytes();
    let mut parts = [
        libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
        libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() },
    ];
    let mut control = Control::default();
    // SAFETY: an all-zero msghdr is valid and is filled in below.
    let mut msg: libc::msghdr = unsafe { std::mem::zeroed() };
    msg.msg_iov = parts.as_mut_ptr();
    msg.msg_iovlen = 2;
    if !fds.is_empty() {
        control.put(&mut msg, &fds[..fds.len().min(MAX_FDS)]);
    }
    let flags = libc::MSG_NOSIGNAL | if dont_wait { libc::MSG_DONTWAIT } else { 0 };
    retry(|| {
        // SAFETY: msg points at live buffers for the duration of the call.
        unsafe { libc::sendmsg(socket, &raw const msg, flags) }
    })?;
    Ok(())
}

/// Receives one frame. `Ok(None)` = the other end is gone. A packet that is no frame is `InvalidData`.
pub fn receive(socket: RawFd, dont_wait: bool) -> io::Result<Option<Frame>> {
    let mut buffer = vec![0u8; HEAD + MAX_DATA];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control::default();
    // SAFETY: an all-zero msghdr is valid and is filled in below.
    let mut msg: libc::msghdr = unsafe { std::mem::zeroed() };
    msg.msg_iov = &raw mut part;
    msg.msg_iovlen = 1;
    msg.msg_control = control.bytes.as_mut_ptr().cast();
    msg.msg_controllen = control.bytes.len() as _;
    let flags = libc::MSG_CMSG_CLOEXEC | if dont_wait { libc::MSG_DONTWAIT } else { 0 };
    let n = retry(|| {
        // SAFETY: msg points at live buffers for the duration of the call.
        unsafe { libc::recvmsg(socket, &raw mut msg, flags) }
    })?;
    let fds = Control::take(&msg);
    if n == 0 {
        return Ok(None);
    }
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "packet is no frame");
    if msg.msg_flags & libc::MSG_TRUNC != 0 {
        return Err(bad());
    }
    let head = Head::from_bytes(&buffer[..n]).ok_or_else(bad)?;
    if head.len as usize != n - HEAD {
        return Err(bad());
    }
    buffer.truncate(n);
    Ok(Some(Frame { head, data: buffer.split_off(HEAD), fds }))
}

fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let n = call();
        if n >= 0 {
            return Ok(n as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Room for the control message that carries descriptors.
#[repr(align(8))]
struct Control {
    bytes: [u8; 64],
}

impl Default for Control {
    fn default() -> Control {
        Control { bytes: [0; 64] }
    }
}

impl Control {
    fn put(&mut self, msg: &mut libc::msghdr, fds: &[RawFd]) {
        let payload = size_of_val(fds) as u32;
        msg.msg_control = self.bytes.as_mut_ptr().cast();
        // SAFETY: pure arithmetic.
        msg.msg_controllen = unsafe { libc::CMSG_SPACE(payload) } as _;
        // SAFETY: the control buffer is live, aligned and large enough for MAX_FDS descriptors.
        unsafe {
            let cmsg = libc::CMSG_FIRSTHDR(msg);
            (*cmsg).cmsg_level = libc::SOL_SOCKET;
            (*cmsg).cmsg_type = libc::SCM_RIGHTS;
            (*cmsg).cmsg_len = libc::CMSG_LEN(payload) as _;
            std::ptr::copy_nonoverlapping(fds.as_ptr().cast::<u8>(), libc::CMSG_DATA(cmsg), payload as usize);
        }
    }

    /// Takes ownership of every descriptor that arrived, so that none leaks even from a bad frame.
    fn take(msg: &libc::msghdr) -> Vec<OwnedFd> {
        let mut out = Vec::new();
        // SAFETY: recvmsg filled the control buffer; the macros stay inside msg_controllen.
        unsafe {
            let mut cmsg = libc::CMSG_FIRSTHDR(msg);
            while !cmsg.is_null() {
                if (*cmsg).cmsg_level == libc::SOL_SOCKET && (*cmsg).cmsg_type == libc::SCM_RIGHTS {
                    let bytes = (*cmsg).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                    for i in 0..bytes / size_of::<RawFd>() {
                        let fd = libc::CMSG_DATA(cmsg).cast::<RawFd>().add(i).read_unaligned();
                        out.push(OwnedFd::from_raw_fd(fd));
                    }
                }
                cmsg = libc::CMSG_NXTHDR(msg, cmsg);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn pair() -> (OwnedFd, OwnedFd) {
        let mut fds = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: `fds` has room for two descriptors.
        assert_eq!(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) }, 0);
        // SAFETY: both were just made and are owned by nobody else.
        unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) }
    }

    #[test]
    fn a_frame_arrives_with_its_data_and_descriptors() {
        let (a, b) = pair();
        let ask = Frame::ask(Message::Hello, &[1, 2, 3]).with_data("dev");
        send(a.as_raw_fd(), ask.head, &ask.data, &[a.as_raw_fd()], false).unwrap();
        let got = receive(b.as_raw_fd(), false).unwrap().unwrap();
        assert_eq!((got.head.args[2], got.data.as_slice(), got.fds.len()), (3, b"dev".as_slice(), 1));
    }

    #[test]
    fn a_packet_that_is_no_frame_is_told_apart_from_an_end() {
        let (a, b) = pair();
        // SAFETY: plain send of three bytes.
        unsafe { libc::send(a.as_raw_fd(), b"abc".as_ptr().cast(), 3, 0) };
        assert_eq!(receive(b.as_raw_fd(), false).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(a);
        assert!(receive(b.as_raw_fd(), false).unwrap().is_none());
    }
}
