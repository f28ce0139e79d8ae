//! Where a decoded picture goes and how large it is.
//! It follows no device pointer.

use crate::Error;
use crate::header::Header;
use crate::objects::Params;
use ghost_abi::record;
use ghost_blas::{DataType, Stream, kernel, submit};
use ghost_table::Range;

record! {
    /// `nvjpegImage_t`: planes and their pitches in bytes.
    pub struct Image: 64 bytes { pub channel: [u64; 4], pub pitch: [usize; 4] }
}

/// Operations of an inverse transform and a colour conversion, for each sample.
const SAMPLE_FLOPS: u64 = 20;

/// Bytes of a row and rows of each plane of an output format.
fn planes(header: &Header, params: &Params) -> Result<Vec<[u64; 2]>, Error> {
    let [width, height] = params.region.unwrap_or([header.width, header.height]);
    let [width, height] = [width, height].map(|size| u64::from(size.div_ceil(1 << params.scale)));
    let component =
        |index| header.component(index).map(|size| size.map(|size| u64::from(size.div_ceil(1 << params.scale))));
    let channels = header.components as u64;
    Ok(match params.format {
        0 | 1 => (0..header.components).filter_map(component).collect(),
        2 => vec![[width, height]],
        3 | 4 => vec![[width, height]; 3],
        5 | 6 => vec![[3 * width, height]],
        7 => vec![[2 * channels * width, height]],
        8 => vec![[width, height], [width.div_ceil(2) * 2, height.div_ceil(2)]],
        9 => vec![[2 * width, height]],
        10 => vec![[channels * width, height]],
        _ => return Err(Error::InvalidParameter),
    })
}

/// Decodes a picture of `length` coded bytes into `image`: reads it, writes its planes.
pub fn decode(header: &Header, length: u64, params: &Params, image: &Image, stream: Stream) -> Result<(), Error> {
    let planes = planes(header, params)?;
    let mut outputs = Vec::with_capacity(planes.len());
    for (plane, [row, rows]) in planes.iter().enumerate().map(|(index, plane)| (index, *plane)) {
        let (address, pitch) = (image.channel[plane], image.pitch[plane] as u64);
        if address == 0 || pitch < row {
            return Err(Error::InvalidParameter);
        }
        outputs.push(Range { address, bytes: pitch.saturating_mul(rows.max(1) - 1).saturating_add(row) });
    }
    let written: u64 = planes.iter().map(|[row, rows]| row * rows).sum();
    let operation = kernel(c"nvjpeg_decode", DataType::R_32F, [length, written, written * SAMPLE_FLOPS]);
    let operation = outputs.iter().fold(operation, |operation, range| operation.writes(range.address, range.bytes));
    Ok(submit(stream, &operation)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::picture;
    use ghost_abi::Plain;

    #[test]
    fn every_format_has_its_planes() {
        let header = Header::parse(&picture()).expect("a header");
        let of = |format, scale| planes(&header, &Params { format, region: None, scale });
        assert_eq!(of(1, 0), Ok(vec![[640, 480], [320, 240], [320, 240]]));
        assert_eq!(of(5, 0), Ok(vec![[1920, 480]]));
        assert_eq!(of(3, 1), Ok(vec![[320, 240]; 3]));
        assert_eq!(of(8, 0), Ok(vec![[640, 480], [640, 240]]));
        assert_eq!(of(11, 0), Err(Error::InvalidParameter));
    }

    #[test]
    fn a_narrow_or_missing_plane_is_refused() {
        let header = Header::parse(&picture()).expect("a header");
        let params = Params { format: 5, region: None, scale: 0 };
        let image = Image { channel: [4096, 0, 0, 0], pitch: [1919, 0, 0, 0] };
        let stream = Stream::default();
        assert_eq!(decode(&header, 100, &params, &image, stream), Err(Error::InvalidParameter));
        assert_eq!(decode(&header, 100, &params, &Image::zeroed(), stream), Err(Error::InvalidParameter));
    }
}
