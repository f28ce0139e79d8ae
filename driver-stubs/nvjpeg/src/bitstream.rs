//! Parsed streams and what their headers say.
//! It decodes nothing.

use crate::header::Header;
use crate::objects::{Decoder, Library, Params, alive, change, end, give};
use crate::{Error, Nvjpeg};
use ghost_abi::{InList, Out, OutList};
use ghost_blas::{Of, kept};

ghost_abi::rows! { Nvjpeg;
    fn nvjpegGetImageInfo(handle: Of<Library>, data: InList<u8>, length: usize, components: Out<i32>,
        subsampling: Out<i32>, widths: OutList<i32>, heights: OutList<i32>) => image_info;
    fn nvjpegJpegStreamCreate(handle: Of<Library>, stream: Out<Of<Bitstream>>) => create;
    fn nvjpegJpegStreamDestroy(stream: Of<Bitstream>) => destroy;
    fn nvjpegJpegStreamParse(handle: Of<Library>, data: InList<u8>, length: usize, metadata: i32, keep: i32,
        stream: Of<Bitstream>) => parse;
    fn nvjpegJpegStreamParseHeader(handle: Of<Library>, data: InList<u8>, length: usize, stream: Of<Bitstream>)
        => parse_header;
    fn nvjpegJpegStreamParseTables(handle: Of<Library>, data: InList<u8>, length: usize, stream: Of<Bitstream>)
        => parse_tables;
    fn nvjpegJpegStreamGetJpegEncoding(stream: Of<Bitstream>, encoding: Out<i32>) => encoding;
    fn nvjpegJpegStreamGetFrameDimensions(stream: Of<Bitstream>, width: Out<u32>, height: Out<u32>) => dimensions;
    fn nvjpegJpegStreamGetComponentsNum(stream: Of<Bitstream>, components: Out<u32>) => components;
    fn nvjpegJpegStreamGetComponentDimensions(stream: Of<Bitstream>, component: u32, width: Out<u32>,
        height: Out<u32>) => component_dimensions;
    fn nvjpegJpegStreamGetExifOrientation(stream: Of<Bitstream>, orientation: Out<i32>) => orientation;
    fn nvjpegJpegStreamGetSamplePrecision(stream: Of<Bitstream>, precision: Out<u32>) => precision;
    fn nvjpegJpegStreamGetChromaSubsampling(stream: Of<Bitstream>, subsampling: Out<i32>) => subsampling;
    fn nvjpegDecoderJpegSupported(decoder: Of<Decoder>, stream: Of<Bitstream>, params: Of<Params>,
        unsupported: Out<i32>) => decoder_supports;
    fn nvjpegDecodeBatchedSupported(handle: Of<Library>, stream: Of<Bitstream>, unsupported: Out<i32>)
        => batched_supports;
    fn nvjpegDecodeBatchedSupportedEx(handle: Of<Library>, stream: Of<Bitstream>, params: Of<Params>,
        unsupported: Out<i32>) => batched_supports_ex;
}

/// A `nvjpegJpegStream_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bitstream {
    /// Header and coded bytes, once parsed.
    pub parsed: Option<(Header, u64)>,
}

kept! {
    Bitstream: b"gh.njstr";
}

/// What a stream says, if it was parsed.
pub fn parsed(stream: Of<Bitstream>) -> Result<(Header, u64), Error> {
    alive(stream)?;
    stream.read()?.parsed.ok_or(Error::InvalidParameter)
}

/// Bytes that are looked at: headers are shorter, unless Exif carries a thumbnail.
const LOOKED_AT: usize = 1 << 20;

/// The header of the caller's bytes.
pub fn header(data: &InList<u8>, length: usize) -> Result<Header, Error> {
    data.check()?;
    Header::parse(&data.get(length.min(LOOKED_AT))?)
}

/// All four places of the size lists are written; unused ones with 0.
fn image_info(
    handle: Of<Library>,
    data: InList<u8>,
    length: usize,
    components: Out<i32>,
    subsampling: Out<i32>,
    widths: OutList<i32>,
    heights: OutList<i32>,
) -> Result<(), Error> {
    alive(handle)?;
    let found = header(&data, length)?;
    components.set(found.components as i32)?;
    subsampling.set(found.subsampling())?;
    let side = |axis: usize| (0..4).map(move |index| found.component(index).map_or(0, |size| size[axis] as i32));
    widths.fill(4, side(0))?;
    heights.fill(4, side(1))?;
    Ok(())
}

fn create(handle: Of<Library>, stream: Out<Of<Bitstream>>) -> Result<(), Error> {
    alive(handle)?;
    give(&stream, Bitstream::default())
}

fn destroy(stream: Of<Bitstream>) -> Result<(), Error> {
    end(stream)
}

fn parse(
    handle: Of<Library>,
    data: InList<u8>,
    length: usize,
    _metadata: i32,
    _keep: i32,
    stream: Of<Bitstream>,
) -> Result<(), Error> {
    parse_header(handle, data, length, stream)
}

fn parse_header(handle: Of<Library>, data: InList<u8>, length: usize, stream: Of<Bitstream>) -> Result<(), Error> {
    alive(handle)?;
    let found = header(&data, length)?;
    change(stream, |stream| stream.parsed = Some((found, length as u64)))
}

/// Tables alone have no frame; nothing here needs them.
fn parse_tables(handle: Of<Library>, data: InList<u8>, _length: usize, stream: Of<Bitstream>) -> Result<(), Error> {
    alive(handle)?;
    data.check()?;
    alive(stream)
}

fn encoding(stream: Of<Bitstream>, encoding: Out<i32>) -> Result<(), Error> {
    Ok(encoding.set(parsed(stream)?.0.encoding.into())?)
}

fn dimensions(stream: Of<Bitstream>, width: Out<u32>, height: Out<u32>) -> Result<(), Error> {
    let (header, _) = parsed(stream)?;
    width.set(header.width)?;
    Ok(height.set(header.height)?)
}

fn components(stream: Of<Bitstream>, components: Out<u32>) -> Result<(), Error> {
    Ok(components.set(parsed(stream)?.0.components as u32)?)
}

fn component_dimensions(stream: Of<Bitstream>, component: u32, width: Out<u32>, height: Out<u32>) -> Result<(), Error> {
    let [across, down] = parsed(stream)?.0.component(component as usize).ok_or(Error::InvalidParameter)?;
    width.set(across)?;
    Ok(height.set(down)?)
}

fn orientation(stream: Of<Bitstream>, orientation: Out<i32>) -> Result<(), Error> {
    Ok(orientation.set(parsed(stream)?.0.orientation)?)
}

fn precision(stream: Of<Bitstream>, precision: Out<u32>) -> Result<(), Error> {
    Ok(precision.set(parsed(stream)?.0.precision)?)
}

fn subsampling(stream: Of<Bitstream>, subsampling: Out<i32>) -> Result<(), Error> {
    Ok(subsampling.set(parsed(stream)?.0.subsampling())?)
}

/// 0 says "supported", for every stream whose header could be read.
fn decoder_supports(
    decoder: Of<Decoder>,
    stream: Of<Bitstream>,
    _params: Of<Params>,
    unsupported: Out<i32>,
) -> Result<(), Error> {
    alive(decoder)?;
    parsed(stream)?;
    Ok(unsupported.set(0)?)
}

fn batched_supports(handle: Of<Library>, stream: Of<Bitstream>, unsupported: Out<i32>) -> Result<(), Error> {
    alive(handle)?;
    parsed(stream)?;
    Ok(unsupported.set(0)?)
}

fn batched_supports_ex(
    handle: Of<Library>,
    stream: Of<Bitstream>,
    _params: Of<Params>,
    unsupported: Out<i32>,
) -> Result<(), Error> {
    batched_supports(handle, stream, unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::picture;
    use ghost_abi::ask;

    fn list(bytes: &'static [u8]) -> InList<u8> {
        // SAFETY: the bytes live as long as the program.
        unsafe { InList::from_raw(bytes.as_ptr()) }
    }

    #[test]
    fn a_parsed_stream_answers_and_a_fresh_one_does_not() {
        let library = Of::create(Library::default());
        let stream = ask(|out| create(library, out)).expect("a stream");
        assert_eq!(ask(|out| components(stream, out)), Err(Error::InvalidParameter));
        let bytes: &'static [u8] = picture().leak();
        assert_eq!(parse_header(library, list(bytes), bytes.len(), stream), Ok(()));
        assert_eq!((ask(|out| components(stream, out)), ask(|out| subsampling(stream, out))), (Ok(3), Ok(2)));
        assert_eq!(ask(|out| batched_supports(library, stream, out)), Ok(0));
        assert_eq!(parse_header(library, list(b"garbage"), 7, stream), Err(Error::BadJpeg));
    }

    #[test]
    fn image_information_fills_all_four_places() {
        let library = Of::create(Library::default());
        let bytes: &'static [u8] = picture().leak();
        let (mut widths, mut heights) = ([-1; 4], [-1; 4]);
        // SAFETY: both outlive the call.
        let (w, h) = unsafe { (OutList::from_raw(widths.as_mut_ptr()), OutList::from_raw(heights.as_mut_ptr())) };
        let sampled = ask(|out| {
            let count = ask(|count| image_info(library, list(bytes), bytes.len(), count, out, w, h))?;
            assert_eq!(count, 3);
            Ok::<(), Error>(())
        });
        assert_eq!((sampled, widths, heights), (Ok(2), [640, 320, 320, 0], [480, 240, 240, 0]));
    }
}
