//! Encoder objects and their settings.
//! A picture that reads zero would make a file that says so: encoding itself is not supported.

use crate::objects::{Library, alive, end, give};
use crate::{Error, Nvjpeg};
use ghost_abi::Out;
use ghost_blas::{Of, Stream, kept};

ghost_abi::rows! { Nvjpeg;
    fn nvjpegEncoderStateCreate(handle: Of<Library>, state: Out<Of<Encoder>>, stream: Stream) => create_state;
    fn nvjpegEncoderStateCreateWithBackend(handle: Of<Library>, state: Out<Of<Encoder>>, backend: i32, stream: Stream)
        => create_state_with;
    fn nvjpegEncoderStateDestroy(state: Of<Encoder>) => destroy_state;
    fn nvjpegEncoderParamsCreate(handle: Of<Library>, params: Out<Of<EncoderParams>>, stream: Stream) => create_params;
    fn nvjpegEncoderParamsDestroy(params: Of<EncoderParams>) => destroy_params;
    fn nvjpegEncoderParamsSetQuality(params: Of<EncoderParams>, quality: i32, stream: Stream) => set_quality;
    fn nvjpegEncoderParamsSetEncoding(params: Of<EncoderParams>, encoding: i32, stream: Stream) => set_encoding;
    fn nvjpegEncoderParamsSetOptimizedHuffman(params: Of<EncoderParams>, optimized: i32, stream: Stream) => set_any;
    fn nvjpegEncoderParamsSetSamplingFactors(params: Of<EncoderParams>, subsampling: i32, stream: Stream)
        => set_sampling;
    fn nvjpegEncoderParamsSetRestartInterval(params: Of<EncoderParams>, interval: u32, stream: Stream)
        => set_interval;
    fn nvjpegEncodeGetBufferSize(handle: Of<Library>, params: Of<EncoderParams>, width: i32, height: i32,
        bytes: Out<usize>) => buffer_size;
}

ghost_abi::absent! { Nvjpeg;
    nvjpegEncode nvjpegEncodeImage nvjpegEncodeRetrieveBitstream nvjpegEncodeRetrieveBitstreamDevice nvjpegEncodeYUV
    nvjpegEncoderParamsCopyMetadata nvjpegEncoderParamsCopyQuantizationTables
}

/// A `nvjpegEncoderState_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoder;

/// A `nvjpegEncoderParams_t`; settings are checked and not kept, as nothing is encoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncoderParams;

kept! {
    Encoder: b"gh.njenc";
    EncoderParams: b"gh.njenp";
}

fn create_state(handle: Of<Library>, state: Out<Of<Encoder>>, _stream: Stream) -> Result<(), Error> {
    alive(handle)?;
    give(&state, Encoder)
}

/// The encoding engine is not emulated.
fn create_state_with(handle: Of<Library>, state: Out<Of<Encoder>>, backend: i32, stream: Stream) -> Result<(), Error> {
    match backend {
        0 | 1 => create_state(handle, state, stream),
        2 => Err(Error::ArchMismatch),
        _ => Err(Error::InvalidParameter),
    }
}

fn destroy_state(state: Of<Encoder>) -> Result<(), Error> {
    end(state)
}

fn create_params(handle: Of<Library>, params: Out<Of<EncoderParams>>, _stream: Stream) -> Result<(), Error> {
    alive(handle)?;
    give(&params, EncoderParams)
}

fn destroy_params(params: Of<EncoderParams>) -> Result<(), Error> {
    end(params)
}

fn set_quality(params: Of<EncoderParams>, quality: i32, _stream: Stream) -> Result<(), Error> {
    within(params, (1..=100).contains(&quality))
}

fn set_encoding(params: Of<EncoderParams>, encoding: i32, _stream: Stream) -> Result<(), Error> {
    within(params, matches!(encoding, 0xC0 | 0xC2))
}

fn set_any(params: Of<EncoderParams>, _value: i32, _stream: Stream) -> Result<(), Error> {
    within(params, true)
}

fn set_sampling(params: Of<EncoderParams>, subsampling: i32, _stream: Stream) -> Result<(), Error> {
    within(params, (0..=7).contains(&subsampling))
}

fn set_interval(params: Of<EncoderParams>, _interval: u32, _stream: Stream) -> Result<(), Error> {
    within(params, true)
}

fn within(params: Of<EncoderParams>, accepted: bool) -> Result<(), Error> {
    alive(params)?;
    if accepted { Ok(()) } else { Err(Error::InvalidParameter) }
}

/// Three samples a pixel, uncompressed, and room for headers: more a stream cannot need.
fn buffer_size(
    handle: Of<Library>,
    params: Of<EncoderParams>,
    width: i32,
    height: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    /// Markers and tables.
    const HEADERS: usize = 4096;
    alive(handle)?;
    within(params, width > 0 && height > 0)?;
    let pixels = (width as usize).saturating_mul(height as usize);
    Ok(bytes.set(pixels.saturating_mul(3).saturating_add(HEADERS))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn settings_are_checked_and_a_size_is_written() {
        let library = Of::create(Library::default());
        let params = ask(|out| create_params(library, out, Stream::default())).expect("params");
        assert_eq!(set_quality(params, 101, Stream::default()), Err(Error::InvalidParameter));
        assert_eq!(ask(|out| buffer_size(library, params, 10, 10, out)), Ok(300 + 4096));
        assert_eq!(ask(|out| buffer_size(library, params, 0, 10, out)), Err(Error::InvalidParameter));
        assert_eq!(destroy_params(params), Ok(()));
        assert_eq!(set_quality(params, 10, Stream::default()), Err(Error::InvalidParameter));
    }
}
