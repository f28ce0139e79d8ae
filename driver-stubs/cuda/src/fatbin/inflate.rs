//! Unpacks the payload of a fat binary's entry: stored, zstd or an LZ4 block.
//! It never makes more than [`LIMIT_BYTES`].

use std::borrow::Cow;
use std::io::Read;

use super::BadImage;
use super::container::{Entry, PACKED_LZ4, PACKED_ZSTD};

/// Greatest unpacked image (the greatest in torch 2.15 is 43 MB).
const LIMIT_BYTES: u64 = 256 << 20;
/// Most that is set aside on an image's word alone.
const TRUSTED_BYTES: u64 = 16 << 20;

/// The content of an entry.
pub fn unpack<'a>(entry: &Entry<'a>) -> Result<Cow<'a, [u8]>, BadImage> {
    if entry.flags & PACKED_ZSTD != 0 {
        return zstd(entry.payload, entry.unpacked_bytes).map(Cow::Owned).ok_or(BadImage::Malformed);
    }
    if entry.flags & PACKED_LZ4 != 0 {
        return lz4(entry.payload, entry.unpacked_bytes).map(Cow::Owned).ok_or(BadImage::Malformed);
    }
    Ok(Cow::Borrowed(entry.payload))
}

fn zstd(packed: &[u8], unpacked_bytes: u64) -> Option<Vec<u8>> {
    if unpacked_bytes > LIMIT_BYTES {
        return None;
    }
    let limit = if unpacked_bytes == 0 { LIMIT_BYTES } else { unpacked_bytes };
    let mut unpacked = Vec::with_capacity(limit.min(TRUSTED_BYTES) as usize);
    // The decoder is a dependency whose freedom from panics is not ours to prove.
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let decoder = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
        decoder.take(limit).read_to_end(&mut unpacked).ok()
    }));
    done.ok()??;
    Some(unpacked)
}

/// One LZ4 block: tokens of (literals, match) as its public format description has them.
fn lz4(packed: &[u8], unpacked_bytes: u64) -> Option<Vec<u8>> {
    if unpacked_bytes > LIMIT_BYTES {
        return None;
    }
    let mut unpacked = Vec::with_capacity(unpacked_bytes.min(TRUSTED_BYTES) as usize);
    let mut input = packed;
    while let Some(token) = byte(&mut input) {
        let literals = run_length(token >> 4, &mut input)?;
        unpacked.extend_from_slice(input.get(..literals)?);
        input = &input[literals..];
        let Some(low) = byte(&mut input) else { break };
        let distance = usize::from(u16::from_le_bytes([low, byte(&mut input)?]));
        let length = run_length(token & 15, &mut input)? + 4;
        let start = unpacked.len().checked_sub(distance).filter(|_| distance > 0)?;
        if unpacked.len() + length > LIMIT_BYTES as usize {
            return None;
        }
        for at in start..start + length {
            unpacked.push(unpacked[at]);
        }
    }
    Some(unpacked)
}

fn byte(input: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = input.split_first()?;
    *input = rest;
    Some(first)
}

fn run_length(nibble: u8, input: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(nibble);
    if nibble == 15 {
        loop {
            let more = byte(input)?;
            length += usize::from(more);
            if more != 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lz4_block_repeats_what_it_points_back_to() {
        // "ab" literally, then 8 more from two bytes back, then "c".
        let packed = [0x24, b'a', b'b', 2, 0, 0x10, b'c'];
        assert_eq!(lz4(&packed, 11).unwrap(), b"ababababab".iter().chain(b"c").copied().collect::<Vec<_>>());
    }

    #[test]
    fn an_lz4_block_that_points_before_its_start_is_refused() {
        assert_eq!(lz4(&[0x10, b'a', 9, 0], 5), None);
        assert_eq!(lz4(&[0x10, b'a', 0, 0], 5), None);
        assert_eq!(lz4(&[0xf0, 255, 255], 5), None);
    }

    #[test]
    fn an_image_that_claims_to_be_vast_is_refused() {
        assert_eq!(zstd(&[0x28, 0xb5, 0x2f, 0xfd], u64::MAX), None);
    }
}
