//! What a kernel image says about its kernels: names, parameter layout, registers, shared memory.
//! It decodes headers and metadata only; no instruction is ever looked at.
//!
//! [`load`] reads an image once and keeps only the metadata: call it at the first need of a module, because a fat
//! binary unpacks to megabytes. Nothing here trusts a length: a bad image is an error or an empty layout, never a panic.

mod bytes;
mod container;
mod cubin;
mod elf;
mod inflate;
mod ptx;
#[cfg(test)]
mod testing;

use std::collections::HashMap;
use std::sync::Arc;

/// Compute capability whose code is chosen: 100 = 10.0, every GPU the project emulates so far.
pub const ARCHITECTURE: u32 = 100;

/// One kernel parameter as it lies in the packed parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    pub offset: u32,
    pub bytes: u32,
}

/// What an image says about one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// Mangled name.
    pub name: String,
    /// In ordinal order; empty if the image does not say.
    pub params: Vec<Param>,
    /// Length of the packed parameter buffer.
    pub param_bytes: u32,
    pub registers: u32,
    pub static_shared_bytes: u32,
    pub local_bytes: u32,
    pub constant_bytes: u32,
    /// 0 = the image does not say.
    pub max_threads: u32,
    /// 100 = compute capability 10.0.
    pub binary_version: u32,
}

/// A loaded image: its kernels and global variables by mangled name.
#[derive(Debug, Default)]
pub struct Image {
    pub kernels: HashMap<String, Arc<KernelInfo>>,
    /// Sizes in bytes.
    pub globals: HashMap<String, u64>,
}

impl Image {
    fn add(&mut self, kernel: KernelInfo) {
        self.kernels.insert(kernel.name.clone(), Arc::new(kernel));
    }
}

/// Why an image cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadImage {
    /// Neither a fat binary, an ELF image nor PTX text.
    Unrecognised,
    /// No entry for this device's architecture, and no PTX to compile.
    NoBinaryForGpu,
    /// Cut short or inconsistent.
    Malformed,
}

/// Reads an image. `bytes` may be a fat binary, a cubin (ELF) or PTX text.
pub fn load(bytes: &[u8]) -> Result<Image, BadImage> {
    match Format::of(bytes) {
        Some(Format::FatBinary) => load_fat_binary(bytes),
        Some(Format::Elf) => cubin::read(bytes, ARCHITECTURE),
        Some(Format::Ptx) => ptx::read(bytes, ARCHITECTURE),
        Some(Format::Wrapper) | None => Err(BadImage::Unrecognised),
    }
}

fn load_fat_binary(bytes: &[u8]) -> Result<Image, BadImage> {
    let entry = container::best(bytes, ARCHITECTURE)?;
    let content = inflate::unpack(&entry)?;
    match entry.kind {
        container::Kind::Elf => cubin::read(&content, ARCHITECTURE),
        container::Kind::Ptx => ptx::read(&content, ARCHITECTURE),
    }
}

/// Length of the image that starts at `data`: fatbin wrapper, fat binary, ELF or NUL-terminated PTX.
///
/// # Safety
/// `data` points at a complete image, as the callers of cuModuleLoadData and cuLibraryLoadData promise.
pub unsafe fn bytes_at<'a>(data: *const u8) -> Result<&'a [u8], BadImage> {
    if data.is_null() {
        return Err(BadImage::Unrecognised);
    }
    // SAFETY: a complete image of any format is at least four bytes long (the shortest PTX has its directives).
    let start = unsafe { std::slice::from_raw_parts(data, 4) };
    let length = match Format::of(start).ok_or(BadImage::Unrecognised)? {
        Format::Wrapper => {
            // SAFETY: a wrapper is 24 bytes; the pointer to its fat binary is the third field.
            let inner = unsafe { data.add(8).cast::<*const u8>().read_unaligned() };
            // SAFETY: the wrapper of a complete image points at a complete fat binary.
            return unsafe { fat_binary_at(inner) };
        }
        // SAFETY: as this function's caller promises.
        Format::FatBinary => return unsafe { fat_binary_at(data) },
        // SAFETY: a complete ELF image has its whole header.
        Format::Elf => unsafe { elf_length(data)? },
        // SAFETY: PTX is handed over NUL-terminated.
        Format::Ptx => unsafe { std::ffi::CStr::from_ptr(data.cast()) }.count_bytes(),
    };
    // SAFETY: the image says that it is this long, and the caller that it is complete.
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

/// # Safety
/// As [`bytes_at`], or null.
unsafe fn fat_binary_at<'a>(data: *const u8) -> Result<&'a [u8], BadImage> {
    if data.is_null() {
        return Err(BadImage::Malformed);
    }
    // SAFETY: a complete fat binary has its header.
    let header = unsafe { std::slice::from_raw_parts(data, container::HEADER_BYTES) };
    let length = container::length(header).ok_or(BadImage::Malformed)?;
    // SAFETY: the header says that it is this long, and the caller that it is complete.
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

/// # Safety
/// `data` points at a complete ELF image.
unsafe fn elf_length(data: *const u8) -> Result<usize, BadImage> {
    // SAFETY: a complete ELF image has its header.
    let header = unsafe { std::slice::from_raw_parts(data, elf::HEADER_BYTES) };
    let table = elf::table_end(header).ok_or(BadImage::Malformed)?;
    // SAFETY: the section table lies inside a complete image.
    let known = unsafe { std::slice::from_raw_parts(data, table) };
    elf::length(known).ok_or(BadImage::Malformed)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Wrapper,
    FatBinary,
    Elf,
    Ptx,
}

impl Format {
    fn of(bytes: &[u8]) -> Option<Format> {
        match bytes::u32_at(bytes, 0)? {
            container::WRAPPER_MAGIC => Some(Format::Wrapper),
            container::MAGIC => Some(Format::FatBinary),
            elf::MAGIC => Some(Format::Elf),
            _ => bytes[..4].iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()).then_some(Format::Ptx),
        }
    }
}

#[cfg(test)]
mod tests;
