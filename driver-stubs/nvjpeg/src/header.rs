//! What a JPEG stream says of itself before its first scan (ITU-T T.81, annex B; Exif 2.3 for the orientation).
//! It decodes no picture and trusts no length.

use crate::Error;

/// A picture's frame header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The low byte of the start-of-frame marker: 0xC0 baseline ... 0xC3 lossless.
    pub encoding: u8,
    /// Bits of a sample.
    pub precision: u32,
    pub width: u32,
    pub height: u32,
    /// How many of `sampling` are used.
    pub components: usize,
    /// Horizontal and vertical factors.
    pub sampling: [[u32; 2]; 4],
    /// Exif: 1 to 8, 0 unknown.
    pub orientation: i32,
}

/// Segments before the scan that carry no length.
fn stands_alone(marker: u8) -> bool {
    matches!(marker, 0x01 | 0xD0..=0xD8)
}

impl Header {
    /// Reads segments up to the frame header, and on to the scan for the orientation.
    pub fn parse(data: &[u8]) -> Result<Header, Error> {
        let mut rest = data.strip_prefix(&[0xFF, 0xD8]).ok_or(Error::BadJpeg)?;
        let mut header = Header::default();
        loop {
            let (marker, after) = marker(rest)?;
            if stands_alone(marker) {
                rest = after;
                continue;
            }
            if marker == 0xD9 || marker == 0xDA {
                break;
            }
            let (segment, after) = segment(after)?;
            match marker {
                0xC0..=0xC3 => header = Header { orientation: header.orientation, ..frame(marker, segment)? },
                0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => return Err(Error::JpegNotSupported),
                0xE1 => header.orientation = orientation(segment).unwrap_or(header.orientation),
                _ => {}
            }
            rest = after;
            if header.components > 0 && rest.is_empty() {
                break;
            }
        }
        if header.components == 0 { Err(Error::BadJpeg) } else { Ok(header) }
    }

    /// Width and height of a component.
    pub fn component(&self, index: usize) -> Option<[u32; 2]> {
        let used = self.sampling.get(..self.components)?;
        let [h, v] = *used.get(index)?;
        let most = |axis: usize| used.iter().map(|factors| factors[axis]).max().unwrap_or(1).max(1);
        let part = |size: u32, factor: u32, most: u32| {
            u32::try_from((u64::from(size) * u64::from(factor)).div_ceil(u64::from(most))).unwrap_or(u32::MAX)
        };
        Some([part(self.width, h, most(0)), part(self.height, v, most(1))])
    }

    /// A `nvjpegChromaSubsampling_t`.
    pub fn subsampling(&self) -> i32 {
        const UNKNOWN: i32 = -1;
        if self.components == 1 {
            return 6;
        }
        let [luma, blue, red, _] = self.sampling;
        if self.components < 3 || blue != red || blue.contains(&0) {
            return UNKNOWN;
        }
        match [luma[0] / blue[0], luma[1] / blue[1]] {
            [1, 1] => 0,
            [2, 1] => 1,
            [2, 2] => 2,
            [1, 2] => 3,
            [4, 1] => 4,
            [4, 2] => 5,
            [2, 4] => 7,
            _ => UNKNOWN,
        }
    }
}

/// The next marker and what follows it; fill bytes before it are skipped.
fn marker(data: &[u8]) -> Result<(u8, &[u8]), Error> {
    let [0xFF, rest @ ..] = data else {
        return Err(if data.is_empty() { Error::IncompleteBitstream } else { Error::BadJpeg });
    };
    let fill = rest.iter().take_while(|&&byte| byte == 0xFF).count();
    match rest.get(fill..).and_then(<[u8]>::split_first) {
        Some((&0, _)) => Err(Error::BadJpeg),
        Some((&marker, after)) => Ok((marker, after)),
        None => Err(Error::IncompleteBitstream),
    }
}

/// A segment's bytes after its length, and what follows.
fn segment(data: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let length = usize::from(word(data, 0).ok_or(Error::IncompleteBitstream)?);
    if length < 2 {
        return Err(Error::BadJpeg);
    }
    let (segment, rest) = data.split_at_checked(length).ok_or(Error::IncompleteBitstream)?;
    Ok((segment.get(2..).unwrap_or_default(), rest))
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

/// A start-of-frame segment.
fn frame(marker: u8, segment: &[u8]) -> Result<Header, Error> {
    let [precision, _, _, _, _, count, parts @ ..] = segment else {
        return Err(Error::BadJpeg);
    };
    let (height, width) = (word(segment, 1).unwrap_or(0), word(segment, 3).unwrap_or(0));
    let components = usize::from(*count);
    if width == 0 || height == 0 || !(1..=4).contains(&components) || parts.len() < 3 * components {
        return Err(Error::BadJpeg);
    }
    let mut sampling = [[0; 2]; 4];
    for (factors, part) in sampling.iter_mut().zip(parts.chunks_exact(3)).take(components) {
        *factors = [u32::from(part[1] >> 4), u32::from(part[1] & 15)];
        if factors.contains(&0) {
            return Err(Error::BadJpeg);
        }
    }
    let (width, height) = (u32::from(width), u32::from(height));
    Ok(Header {
        encoding: marker,
        precision: u32::from(*precision),
        width,
        height,
        components,
        sampling,
        orientation: 0,
    })
}

/// The orientation tag of an Exif segment's first directory.
fn orientation(segment: &[u8]) -> Option<i32> {
    /// The tag's number.
    const ORIENTATION: u16 = 0x0112;
    let tiff = segment.strip_prefix(b"Exif\0\0")?;
    let is_little = tiff.starts_with(b"II*\0");
    if !is_little && !tiff.starts_with(b"MM\0*") {
        return None;
    }
    let short = |at: usize| {
        let bytes = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let offset = tiff.get(4..8)?.try_into().ok()?;
    let offset = if is_little { u32::from_le_bytes(offset) } else { u32::from_be_bytes(offset) } as usize;
    let entries = usize::from(short(offset)?);
    let found = (0..entries).map(|entry| offset + 2 + 12 * entry).find(|&at| short(at) == Some(ORIENTATION))?;
    short(found + 8).map(i32::from).filter(|value| (1..=8).contains(value))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A picture of 640 x 480 with 2 x 2 subsampling, up to its scan.
    pub fn picture() -> Vec<u8> {
        let mut data = vec![0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2];
        data.extend([0xFF, 0xC0, 0, 17, 8, 0x01, 0xE0, 0x02, 0x80, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
        data.extend([0xFF, 0xDA, 0, 2, 9, 9, 9]);
        data
    }

    #[test]
    fn a_frame_header_is_read() {
        let header = Header::parse(&picture()).expect("a header");
        assert_eq!((header.width, header.height, header.components, header.precision), (640, 480, 3, 8));
        assert_eq!((header.subsampling(), header.encoding), (2, 0xC0));
        assert_eq!([0, 1, 3].map(|index| header.component(index)), [Some([640, 480]), Some([320, 240]), None]);
    }

    #[test]
    fn an_orientation_is_found_in_either_byte_order() {
        let directory = |order: &[u8], entry: &[u8]| [b"Exif\0\0", order, entry].concat();
        let little = directory(b"II*\0\x08\0\0\0", b"\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0");
        let big = directory(b"MM\0*\0\0\0\x08", b"\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0");
        assert_eq!((orientation(&little), orientation(&big), orientation(b"Exif\0\0II")), (Some(6), Some(6), None));
    }

    #[test]
    fn garbage_and_cut_streams_are_refused_whatever_they_are() {
        assert_eq!(Header::parse(b"not a picture"), Err(Error::BadJpeg));
        let whole = picture();
        for length in 0..27 {
            assert!(Header::parse(&whole[..length]).is_err(), "{length} bytes");
        }
        for position in 0..whole.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut broken = whole.clone();
                broken[position] = value;
                // Any answer will do; there must be one.
                let _ = Header::parse(&broken).map(|header| (header.component(0), header.subsampling()));
            }
        }
    }
}
