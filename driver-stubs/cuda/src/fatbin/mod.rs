//! What a kernel image says about its kernels: names, parameter layout, registers, shared memory.
//! It decodes headers and metadata only; no instruction is ever looked at.

use std::collections::HashMap;
use std::sync::Arc;

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
    pub globals: HashMap<String, u64>,
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
    let _ = bytes;
    Ok(Image::default())
}

/// Length of the image that starts at `data`: fatbin wrapper, fat binary, ELF or NUL-terminated PTX.
///
/// # Safety
/// `data` points at a complete image, as the callers of cuModuleLoadData and cuLibraryLoadData promise.
pub unsafe fn bytes_at<'a>(data: *const u8) -> Result<&'a [u8], BadImage> {
    let _ = data;
    Err(BadImage::Unrecognised)
}
