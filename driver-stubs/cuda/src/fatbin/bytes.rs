//! Little-endian numbers out of a slice that may be too short.
//! It knows no format.

pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// `length` bytes from `at` on, both as an image states them.
pub fn range(bytes: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(at).ok()?;
    let end = usize::try_from(at.checked_add(length)?).ok()?;
    bytes.get(start..end)
}

/// The NUL-terminated UTF-8 string that starts at `at`.
pub fn string_at(bytes: &[u8], at: u32) -> Option<&str> {
    let tail = bytes.get(at as usize..)?;
    let end = tail.iter().position(|&b| b == 0)?;
    std::str::from_utf8(&tail[..end]).ok()
}
