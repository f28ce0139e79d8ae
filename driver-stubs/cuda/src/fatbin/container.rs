//! The fat binary: a header and a list of entries, one for each architecture, of which one is chosen.
//! It does not look inside an entry.
//!
//! Layout (found by looking at public binaries). Header: u32 magic, u16 version, u16 header bytes,
//! u64 bytes that follow. Entry: u16 kind, u16 version, u32 header bytes, u64 payload bytes, u32 packed bytes, u32, u16
//! minor, u16 major, u32 architecture, u32, u32, u64 flags, u64, u64 unpacked bytes, perhaps more; then the payload.

use super::BadImage;
use super::bytes::{range, u16_at, u32_at, u64_at};

pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
pub const MAGIC: u32 = 0xba55_ed50;
pub const HEADER_BYTES: usize = 16;

pub const PACKED_LZ4: u64 = 0x2000;
pub const PACKED_ZSTD: u64 = 0x8000;
/// The code needs exactly this architecture (such as sm_100a).
pub const ARCHITECTURE_SPECIFIC: u64 = 0x10_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ptx,
    Elf,
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub kind: Kind,
    /// 100 = compute capability 10.0.
    pub architecture: u32,
    pub flags: u64,
    /// As stored, perhaps packed.
    pub payload: &'a [u8],
    pub unpacked_bytes: u64,
}

/// Length of a fat binary, header included.
pub fn length(header: &[u8]) -> Option<usize> {
    if u32_at(header, 0)? != MAGIC {
        return None;
    }
    usize::try_from(u64_at(header, 8)?.checked_add(u64::from(u16_at(header, 6)?))?).ok()
}

/// The entry a GPU of this architecture runs: its own binary, one of an earlier minor version of the same major, or
/// else PTX that can be compiled for it.
pub fn best(bytes: &[u8], architecture: u32) -> Result<Entry<'_>, BadImage> {
    let end = length(bytes).ok_or(BadImage::Malformed)?.min(bytes.len());
    let header_bytes = usize::from(u16_at(bytes, 6).ok_or(BadImage::Malformed)?);
    let mut rest = bytes.get(header_bytes..end).ok_or(BadImage::Malformed)?;
    let mut best: Option<(u64, Entry)> = None;
    while let Some((entry, after)) = next(rest) {
        rest = after;
        let Some((rank, entry)) = entry.and_then(|entry| Some((rank(&entry, architecture)?, entry))) else { continue };
        if best.is_none_or(|(other, _)| rank > other) {
            best = Some((rank, entry));
        }
    }
    best.map(|(_, entry)| entry).ok_or(BadImage::NoBinaryForGpu)
}

/// The first entry (`None` if of a kind that holds no kernels) and what follows it.
fn next(bytes: &[u8]) -> Option<(Option<Entry<'_>>, &[u8])> {
    let header_bytes = u64::from(u32_at(bytes, 4)?);
    let payload_bytes = u64_at(bytes, 8)?;
    let stored = range(bytes, header_bytes, payload_bytes)?;
    let after = range(bytes, header_bytes + payload_bytes, bytes.len() as u64 - header_bytes - payload_bytes)?;
    // An entry of no length at all would never end.
    if header_bytes + payload_bytes == 0 {
        return None;
    }
    Some((entry(bytes, stored), after))
}

fn entry<'a>(header: &[u8], stored: &'a [u8]) -> Option<Entry<'a>> {
    let kind = match u16_at(header, 0)? {
        1 => Kind::Ptx,
        2 => Kind::Elf,
        _ => return None,
    };
    let flags = u64_at(header, 40)?;
    let packed_bytes = u32_at(header, 16)? as usize;
    let packed = flags & (PACKED_LZ4 | PACKED_ZSTD) != 0 && packed_bytes > 0;
    Some(Entry {
        kind,
        architecture: u32_at(header, 28)?,
        flags,
        payload: if packed { stored.get(..packed_bytes)? } else { stored },
        unpacked_bytes: u64_at(header, 56)?,
    })
}

/// How well an entry suits; more is better, `None` = cannot run.
fn rank(entry: &Entry, architecture: u32) -> Option<u64> {
    let specific = entry.flags & ARCHITECTURE_SPECIFIC != 0;
    let have = u64::from(entry.architecture);
    if entry.architecture > architecture || (specific && entry.architecture != architecture) {
        return None;
    }
    match entry.kind {
        Kind::Elf if entry.architecture / 10 != architecture / 10 => None,
        Kind::Elf => Some(1_000_000 + have * 2 + u64::from(specific)),
        Kind::Ptx => Some(have * 2 + u64::from(specific)),
    }
}
