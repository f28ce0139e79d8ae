//! The few system calls this library makes, without libc.
//! x86-64 and AArch64 Linux only.

use core::arch::asm;
use core::ffi::CStr;

#[cfg(target_arch = "x86_64")]
mod number {
    pub const READ: usize = 0;
    pub const CLOSE: usize = 3;
    pub const OPENAT: usize = 257;
    pub const FACCESSAT: usize = 269;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub const READ: usize = 63;
    pub const CLOSE: usize = 57;
    pub const OPENAT: usize = 56;
    pub const FACCESSAT: usize = 48;
}

const AT_FDCWD: usize = -100_isize as usize;
const O_CLOEXEC: usize = 0o2_000_000;
const R_OK: usize = 4;

/// An open file.
#[derive(Debug)]
pub struct Descriptor(usize);

impl Descriptor {
    /// Opens a file for reading.
    pub fn open(path: &CStr) -> Option<Self> {
        // SAFETY: openat reads a NUL-terminated path and writes no memory.
        let fd = unsafe { call(number::OPENAT, [AT_FDCWD, path.as_ptr() as usize, O_CLOEXEC, 0]) };
        usize::try_from(fd).ok().map(Self)
    }

    /// Reads into `buffer`; 0 at the end and on any error.
    pub fn read(&self, buffer: &mut [u8]) -> usize {
        // SAFETY: read writes at most `buffer.len()` bytes into the buffer we borrow.
        let count = unsafe { call(number::READ, [self.0, buffer.as_mut_ptr() as usize, buffer.len(), 0]) };
        usize::try_from(count).unwrap_or(0)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and not used again.
        unsafe { call(number::CLOSE, [self.0, 0, 0, 0]) };
    }
}

/// Whether this process may read a file.
pub fn readable(path: &CStr) -> bool {
    // SAFETY: faccessat reads a NUL-terminated path and writes no memory.
    unsafe { call(number::FACCESSAT, [AT_FDCWD, path.as_ptr() as usize, R_OK, 0]) == 0 }
}

/// Ends the process by an illegal instruction: a core dump shows where.
#[cfg(panic = "abort")]
pub fn abort() -> ! {
    // SAFETY: does not return.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("ud2", options(noreturn));
        #[cfg(target_arch = "aarch64")]
        asm!("brk 1", options(noreturn));
    }
}

/// # Safety
/// The arguments are what system call `number` expects, and memory it writes is ours to write.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, arguments: [usize; 4]) -> isize {
    let result;
    let [a, b, c, d] = arguments;
    // SAFETY: the kernel's convention; it clobbers rcx and r11 and keeps the rest.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// # Safety
/// The arguments are what system call `number` expects, and memory it writes is ours to write.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, arguments: [usize; 4]) -> isize {
    let result;
    let [a, b, c, d] = arguments;
    // SAFETY: the kernel's convention; it keeps every register but x0.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => result, in("x1") b, in("x2") c, in("x3") d, options(nostack));
    }
    result
}
