//! Decoding: the header is read, the planes are written with zeros at a cost.
//! A picture is whole or refused; nothing is decoded.

use crate::bitstream::{Bitstream, header, parsed};
use crate::image::{Image, decode as write};
use crate::objects::{Decoder, Library, Params, State, alive, change};
use crate::{Error, Nvjpeg};
use ghost_abi::{In, InList};
use ghost_blas::{Of, Stream};

ghost_abi::rows! { Nvjpeg;
    fn nvjpegDecode(handle: Of<Library>, state: Of<State>, data: InList<u8>, length: usize, format: i32,
        image: In<Image>, stream: Stream) => decode;
    fn nvjpegDecodeBatchedInitialize(handle: Of<Library>, state: Of<State>, batch: i32, threads: i32, format: i32)
        => initialize;
    fn nvjpegDecodeBatchedPreAllocate(handle: Of<Library>, state: Of<State>, batch: i32, width: i32, height: i32,
        subsampling: i32, format: i32) => preallocate;
    fn nvjpegDecodeBatchedParseJpegTables(handle: Of<Library>, state: Of<State>, data: InList<u8>, length: usize)
        => parse_tables;
    fn nvjpegDecodeBatched(handle: Of<Library>, state: Of<State>, data: InList<*const u8>, lengths: InList<usize>,
        images: InList<Image>, stream: Stream) => batched;
    fn nvjpegDecodeBatchedEx(handle: Of<Library>, state: Of<State>, data: InList<*const u8>, lengths: InList<usize>,
        images: InList<Image>, params: InList<Of<Params>>, stream: Stream) => batched_ex;
    fn nvjpegDecodeJpeg(handle: Of<Library>, decoder: Of<Decoder>, state: Of<State>, bitstream: Of<Bitstream>,
        image: In<Image>, params: Of<Params>, stream: Stream) => decode_parsed;
    fn nvjpegDecodeJpegHost(handle: Of<Library>, decoder: Of<Decoder>, state: Of<State>, params: Of<Params>,
        bitstream: Of<Bitstream>) => host_stage;
    fn nvjpegDecodeJpegTransferToDevice(handle: Of<Library>, decoder: Of<Decoder>, state: Of<State>,
        bitstream: Of<Bitstream>, stream: Stream) => transfer_stage;
    fn nvjpegDecodeJpegDevice(handle: Of<Library>, decoder: Of<Decoder>, state: Of<State>, image: In<Image>,
        stream: Stream) => device_stage;
}

fn decode(
    handle: Of<Library>,
    state: Of<State>,
    data: InList<u8>,
    length: usize,
    format: i32,
    image: In<Image>,
    stream: Stream,
) -> Result<(), Error> {
    alive(handle)?;
    alive(state)?;
    let params = Params { format, ..Params::default() };
    write(&header(&data, length)?, length as u64, &params, &image.get()?, stream)
}

fn initialize(handle: Of<Library>, state: Of<State>, batch: i32, threads: i32, format: i32) -> Result<(), Error> {
    alive(handle)?;
    if batch < 1 || threads < 0 || !(0..=10).contains(&format) {
        return Err(Error::InvalidParameter);
    }
    change(state, |state| (state.batch, state.format) = (batch, format))
}

/// Nothing needs memory here.
fn preallocate(
    handle: Of<Library>,
    state: Of<State>,
    batch: i32,
    width: i32,
    height: i32,
    _subsampling: i32,
    _format: i32,
) -> Result<(), Error> {
    alive(handle)?;
    if batch.min(width).min(height) < 1 {
        return Err(Error::InvalidParameter);
    }
    alive(state)
}

fn parse_tables(handle: Of<Library>, state: Of<State>, data: InList<u8>, _length: usize) -> Result<(), Error> {
    alive(handle)?;
    data.check()?;
    alive(state)
}

fn batched(
    handle: Of<Library>,
    state: Of<State>,
    data: InList<*const u8>,
    lengths: InList<usize>,
    images: InList<Image>,
    stream: Stream,
) -> Result<(), Error> {
    batch(handle, state, &data, &lengths, &images, stream, |_| Ok(None))
}

fn batched_ex(
    handle: Of<Library>,
    state: Of<State>,
    data: InList<*const u8>,
    lengths: InList<usize>,
    images: InList<Image>,
    params: InList<Of<Params>>,
    stream: Stream,
) -> Result<(), Error> {
    batch(handle, state, &data, &lengths, &images, stream, |index| match params.is_null() {
        true => Ok(None),
        false => params.at(index)?.read().map(Some).map_err(|_| Error::InvalidParameter),
    })
}

/// Decodes as many pictures as the state was told.
fn batch(
    handle: Of<Library>,
    state: Of<State>,
    data: &InList<*const u8>,
    lengths: &InList<usize>,
    images: &InList<Image>,
    stream: Stream,
    params: impl Fn(usize) -> Result<Option<Params>, Error>,
) -> Result<(), Error> {
    alive(handle)?;
    alive(state)?;
    let State { batch, format, .. } = state.read()?;
    let count = usize::try_from(batch).ok().filter(|&count| count > 0).ok_or(Error::InvalidParameter)?;
    for index in 0..count {
        // SAFETY: the caller lends `lengths[index]` bytes there, as `header` is told.
        let picture = unsafe { InList::from_raw(data.at(index)?) };
        let length = lengths.at(index)?;
        let chosen = params(index)?.unwrap_or_default();
        let params = Params { format, ..chosen };
        write(&header(&picture, length)?, length as u64, &params, &images.at(index)?, stream)?;
    }
    Ok(())
}

/// The parameters of a call; null means the defaults.
fn chosen(params: Of<Params>) -> Result<Params, Error> {
    if params.is_null() { Ok(Params::default()) } else { params.read().map_err(|_| Error::InvalidParameter) }
}

fn decode_parsed(
    handle: Of<Library>,
    decoder: Of<Decoder>,
    state: Of<State>,
    bitstream: Of<Bitstream>,
    image: In<Image>,
    params: Of<Params>,
    stream: Stream,
) -> Result<(), Error> {
    host_stage(handle, decoder, state, params, bitstream)?;
    device_stage(handle, decoder, state, image, stream)
}

fn host_stage(
    handle: Of<Library>,
    decoder: Of<Decoder>,
    state: Of<State>,
    params: Of<Params>,
    bitstream: Of<Bitstream>,
) -> Result<(), Error> {
    alive(handle)?;
    alive(decoder)?;
    let (params, picture) = (chosen(params)?, parsed(bitstream)?);
    change(state, |state| (state.picture, state.params) = (Some(picture), params))
}

/// The coded bytes are counted when the planes are written.
fn transfer_stage(
    handle: Of<Library>,
    decoder: Of<Decoder>,
    state: Of<State>,
    bitstream: Of<Bitstream>,
    _stream: Stream,
) -> Result<(), Error> {
    alive(handle)?;
    alive(decoder)?;
    alive(state)?;
    parsed(bitstream).map(|_| ())
}

fn device_stage(
    handle: Of<Library>,
    decoder: Of<Decoder>,
    state: Of<State>,
    image: In<Image>,
    stream: Stream,
) -> Result<(), Error> {
    alive(handle)?;
    alive(decoder)?;
    alive(state)?;
    let State { picture, params, .. } = state.read()?;
    let (header, length) = picture.ok_or(Error::InvalidParameter)?;
    write(&header, length, &params, &image.get()?, stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_needs_the_one_before() {
        let (library, decoder) = (Of::create(Library::default()), Of::create(Decoder));
        let (state, bitstream) = (Of::create(State::default()), Of::create(Bitstream::default()));
        // SAFETY: null is never followed.
        let image = unsafe { In::from_raw(std::ptr::null()) };
        assert_eq!(host_stage(library, decoder, state, Of::null(), bitstream), Err(Error::InvalidParameter));
        let stream = Stream::default();
        assert_eq!(device_stage(library, decoder, state, image, stream), Err(Error::InvalidParameter));
        assert_eq!(initialize(library, state, 0, 1, 5), Err(Error::InvalidParameter));
        assert_eq!(initialize(library, state, 4, 1, 5), Ok(()));
    }
}
