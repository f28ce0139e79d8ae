//! Shared memory: memfds made by ghostd, sealed so that no holder of the descriptor can harm a reader.
//! The room of unsafe maps; it must not know what the bytes mean.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;

/// A mapping of a whole memfd, unmapped on drop.
#[derive(Debug)]
pub struct Map {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a Map is an address range; who may write where is the layout's law, not the thread's.
unsafe impl Send for Map {}
// SAFETY: as above; all access goes through raw pointers with volatile or atomic operations.
unsafe impl Sync for Map {}

/// What a mapping may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

impl Map {
    /// Maps `len` bytes of `fd`, shared. The file must be at least that long (checked).
    pub fn new(fd: RawFd, len: usize, access: Access) -> io::Result<Map> {
        if file_len(fd)? < len as u64 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "shared page is too short"));
        }
        let protection = match access {
            Access::ReadOnly => libc::PROT_READ,
            Access::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        // SAFETY: a fresh shared mapping at an address the kernel chooses; nothing else is touched.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Map { base, len })
    }

    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The mapping does not exist in forked children.
    pub fn dont_fork(&self) -> io::Result<()> {
        // SAFETY: the range is our own live mapping.
        match unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, libc::MADV_DONTFORK) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// A zeroed memfd of `len` bytes that can be sealed.
pub fn create(name: &str, len: usize) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: `name` is a valid C string for the duration of the call.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just returned by the kernel and is owned by nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: plain call on our own descriptor.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), len as libc::off_t) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(fd)
}

/// Forbids resizing and every *new* writable map; maps that exist keep writing.
///
/// Without it a read-only descriptor can be reopened writable through /proc and truncated under its readers.
pub fn seal(fd: RawFd) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_FUTURE_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: plain fcntl on a descriptor.
    match unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether [`seal`] has been applied: a reader asks before it trusts a page's length.
pub fn is_sealed(fd: RawFd) -> bool {
    // SAFETY: plain fcntl on a descriptor.
    let seals = unsafe { libc::fcntl(fd, libc::F_GET_SEALS) };
    seals >= 0 && seals & libc::F_SEAL_SHRINK != 0
}

/// Forbids shrinking before the page's owner has it, so that ghostd can map it without fear of SIGBUS.
pub fn seal_size(fd: RawFd) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
    // SAFETY: plain fcntl on a descriptor.
    match unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn file_len(fd: RawFd) -> io::Result<u64> {
    // SAFETY: an all-zero stat is a valid value to be overwritten.
    let mut st: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `st` is valid for writing.
    match unsafe { libc::fstat(fd, &raw mut st) } {
        0 => Ok(st.st_size as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_page_cannot_be_mapped_writable_or_shrunk_but_old_maps_write_on() {
        let fd = create("ghost-test", 4096).unwrap();
        let writer = Map::new(fd.as_raw_fd(), 4096, Access::ReadWrite).unwrap();
        seal(fd.as_raw_fd()).unwrap();
        assert!(Map::new(fd.as_raw_fd(), 4096, Access::ReadWrite).is_err());
        // SAFETY: plain call; it must fail.
        assert_ne!(unsafe { libc::ftruncate(fd.as_raw_fd(), 0) }, 0);
        let reader = Map::new(fd.as_raw_fd(), 4096, Access::ReadOnly).unwrap();
        // SAFETY: both maps are live and one byte is in range.
        unsafe {
            writer.base().write_volatile(7);
            assert_eq!(reader.base().read_volatile(), 7);
        }
        assert!(is_sealed(fd.as_raw_fd()));
    }

    #[test]
    fn a_page_shorter_than_its_layout_is_refused() {
        let fd = create("ghost-test", 100).unwrap();
        assert!(Map::new(fd.as_raw_fd(), 4096, Access::ReadOnly).is_err());
    }
}
