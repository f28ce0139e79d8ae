//! Registered files, and moving their bytes to and from device memory.
//! The copy itself, its time and its counters are libcuda's.

use crate::{CuFile, Error};
use ghost_abi::{In, Out, record};
use ghost_blas::{Of, Ptr, kept};
use std::ffi::c_int;
use std::fs::OpenOptions;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

ghost_abi::rows! { CuFile;
    fn cuFileHandleRegister(file: Out<Of<File>>, description: In<Description>) => register;
    fn cuFileHandleDeregister(file: Of<File>) -> () => deregister;
    fn cuFileRead(file: Of<File>, base: Ptr<u8>, bytes: usize, offset: i64, within: i64) -> isize => read;
    fn cuFileWrite(file: Of<File>, base: Ptr<u8>, bytes: usize, offset: i64, within: i64) -> isize => write;
}

record! {
    /// `CUfileDescr_t`.
    pub struct Description: 24 bytes {
        /// 1 = a file descriptor.
        pub kind: u32,
        pub unused: u32,
        pub descriptor: i32,
        pub unused_half: u32,
        pub operations: u64,
    }
}

/// A `CUfileHandle_t`: the caller's file, opened once more without `O_DIRECT`, whose alignment rules the caller of
/// this library need not keep.
#[derive(Clone, Debug)]
pub struct File {
    opened: Arc<OwnedFd>,
}

kept! {
    File: b"gh.cufil";
}

/// Bytes that pass through host memory at once, as `per_buffer_cache_size_kb` says.
const CHUNK: usize = 1 << 20;

fn register(file: Out<Of<File>>, description: In<Description>) -> Result<(), Error> {
    file.check()?;
    let Description { kind, descriptor, .. } = description.get()?;
    match kind {
        1 => {}
        2 | 3 => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidValue),
    }
    // SAFETY: zeros are a value of this struct of numbers, and it lives through the call.
    let (mut status, found) = (unsafe { std::mem::zeroed::<libc::stat>() }, descriptor);
    // SAFETY: `status` is storage for the answer; a bad descriptor is an error of the call.
    if unsafe { libc::fstat(found, &mut status) } != 0 {
        return Err(Error::InvalidValue);
    }
    if !matches!(status.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFBLK) {
        return Err(Error::InvalidFileType);
    }
    Ok(file.set(Of::create(File { opened: Arc::new(reopen(descriptor)?) }))?)
}

/// The same file with the same access, buffered.
fn reopen(descriptor: c_int) -> Result<OwnedFd, Error> {
    // SAFETY: asks for flags only.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    if flags < 0 {
        return Err(Error::InvalidValue);
    }
    let access = flags & libc::O_ACCMODE;
    let opened = OpenOptions::new()
        .read(access != libc::O_WRONLY)
        .write(access != libc::O_RDONLY)
        .open(format!("/proc/self/fd/{descriptor}"));
    opened.map(OwnedFd::from).map_err(|_| Error::PermissionDenied)
}

fn deregister(file: Of<File>) {
    // A void function: a dead handle has nobody to be told.
    let _ = file.destroy();
}

fn read(file: Of<File>, base: Ptr<u8>, bytes: usize, offset: i64, within: i64) -> isize {
    transfer(file, base, bytes, [offset, within], |descriptor, host, device, at| {
        // SAFETY: `host` lends as many bytes as are asked for.
        let count = unsafe { libc::pread(descriptor, host.as_mut_ptr().cast(), host.len(), at) };
        let Ok(length @ 1..) = usize::try_from(count) else { return Ok(count) };
        copy(device, host.as_ptr() as u64, length)?;
        Ok(count)
    })
}

fn write(file: Of<File>, base: Ptr<u8>, bytes: usize, offset: i64, within: i64) -> isize {
    transfer(file, base, bytes, [offset, within], |descriptor, host, device, at| {
        copy(host.as_mut_ptr() as u64, device, host.len())?;
        // SAFETY: `host` lends as many bytes as are written.
        Ok(unsafe { libc::pwrite(descriptor, host.as_ptr().cast(), host.len(), at) })
    })
}

/// `cuMemcpy`: either side may be host or device memory.
fn copy(to: u64, from: u64, bytes: usize) -> Result<(), Error> {
    let call = ghost_table::symbol(c"cuMemcpy").ok_or(Error::DriverNotInitialized)?;
    // SAFETY: the name fixes the signature.
    let call: unsafe extern "C" fn(u64, u64, usize) -> c_int = unsafe { std::mem::transmute(call) };
    // SAFETY: one side is our buffer of `bytes`; libcuda checks the other.
    if unsafe { call(to, from, bytes) } == 0 { Ok(()) } else { Err(Error::DriverError) }
}

/// Moves a file's bytes chunk by chunk until all are there, the file ends or something fails. Answers bytes moved, -1
/// with `errno` after a failed system call, or minus a `CUfileOpError`.
fn transfer(
    file: Of<File>,
    base: Ptr<u8>,
    bytes: usize,
    [offset, within]: [i64; 2],
    step: impl Fn(c_int, &mut [u8], u64, i64) -> Result<isize, Error>,
) -> isize {
    let failed = |error: Error| -(error.code() as isize);
    let Ok(File { opened }) = file.read() else {
        return failed(Error::HandleNotRegistered);
    };
    if base.is_null() || offset < 0 || within < 0 || isize::try_from(bytes).is_err() {
        return failed(Error::InvalidValue);
    }
    let start = base.address().saturating_add(within as u64);
    let mut host = vec![0_u8; bytes.min(CHUNK)];
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(CHUNK);
        match step(opened.as_raw_fd(), &mut host[..length], start + done as u64, offset.saturating_add(done as i64)) {
            Ok(moved @ 1..) => done += moved as usize,
            Ok(0) => break,
            Ok(_) if done > 0 => break,
            Ok(_) => return -1,
            Err(error) => return failed(error),
        }
    }
    done as isize
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    fn describe(kind: u32, descriptor: i32) -> Result<Of<File>, Error> {
        let description = Description { kind, unused: 0, descriptor, unused_half: 0, operations: 0 };
        // SAFETY: `description` lives through the call.
        ask(|out| register(out, unsafe { In::from_raw(&raw const description) }))
    }

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn only_files_are_registered() {
        let (pipe, _other) = std::io::pipe().expect("a pipe");
        assert_eq!(describe(1, pipe.as_raw_fd()).err(), Some(Error::InvalidFileType));
        assert_eq!(
            (describe(1, -1).err(), describe(3, 0).err()),
            (Some(Error::InvalidValue), Some(Error::NotSupported))
        );
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        let handle = describe(1, file.as_raw_fd()).expect("a handle");
        // There is no driver in a unit test, so the copy fails; the end of the file comes before it.
        assert_eq!(read(handle, at(4096), 16, 0, 0), -5001);
        assert_eq!(read(handle, at(4096), 16, i64::MAX - 16, 0), 0);
        assert_eq!((read(handle, at(0), 16, 0, 0), read(handle, at(4096), 16, -1, 0)), (-5022, -5022));
        deregister(handle);
        assert_eq!(read(handle, at(4096), 16, 0, 0), -5027);
    }
}
