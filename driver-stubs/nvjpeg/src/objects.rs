//! Handles, states, buffers and decode parameters.
//! They keep settings; they decode nothing.

use crate::header::Header;
use crate::{Error, Nvjpeg};
use ghost_abi::Out;
use ghost_blas::{Kept, Of, Ptr, Stream, kept, start_driver};

ghost_abi::rows! { Nvjpeg;
    fn nvjpegCreate(backend: i32, device: Ptr<u8>, handle: Out<Of<Library>>) => create;
    fn nvjpegCreateSimple(handle: Out<Of<Library>>) => create_simple;
    fn nvjpegCreateEx(backend: i32, device: Ptr<u8>, pinned: Ptr<u8>, flags: u32, handle: Out<Of<Library>>)
        => create_ex;
    fn nvjpegCreateExV2(backend: i32, device: Ptr<u8>, pinned: Ptr<u8>, flags: u32, handle: Out<Of<Library>>)
        => create_ex;
    fn nvjpegDestroy(handle: Of<Library>) => destroy;
    fn nvjpegSetDeviceMemoryPadding(padding: usize, handle: Of<Library>) => set_device_padding;
    fn nvjpegGetDeviceMemoryPadding(padding: Out<usize>, handle: Of<Library>) => device_padding;
    fn nvjpegSetPinnedMemoryPadding(padding: usize, handle: Of<Library>) => set_pinned_padding;
    fn nvjpegGetPinnedMemoryPadding(padding: Out<usize>, handle: Of<Library>) => pinned_padding;
    fn nvjpegGetHardwareDecoderInfo(handle: Of<Library>, engines: Out<u32>, cores: Out<u32>) => decoder_engines;
    fn nvjpegGetHardwareEncoderInfo(handle: Of<Library>, engines: Out<u32>) => encoder_engines;
    fn nvjpegJpegStateCreate(handle: Of<Library>, state: Out<Of<State>>) => create_state;
    fn nvjpegJpegStateDestroy(state: Of<State>) => destroy_state;
    fn nvjpegDecoderCreate(handle: Of<Library>, backend: i32, decoder: Out<Of<Decoder>>) => create_decoder;
    fn nvjpegDecoderDestroy(decoder: Of<Decoder>) => destroy_decoder;
    fn nvjpegDecoderStateCreate(handle: Of<Library>, decoder: Of<Decoder>, state: Out<Of<State>>)
        => create_decoder_state;
    fn nvjpegBufferPinnedCreate(handle: Of<Library>, allocator: Ptr<u8>, buffer: Out<Of<Buffer>>) => create_buffer;
    fn nvjpegBufferPinnedCreateV2(handle: Of<Library>, allocator: Ptr<u8>, buffer: Out<Of<Buffer>>) => create_buffer;
    fn nvjpegBufferPinnedResize(buffer: Of<Buffer>, bytes: usize, stream: Stream) => resize_buffer;
    fn nvjpegBufferPinnedDestroy(buffer: Of<Buffer>) => destroy_buffer;
    fn nvjpegBufferPinnedRetrieve(buffer: Of<Buffer>, bytes: Out<usize>, pointer: Out<u64>) => retrieve_buffer;
    fn nvjpegBufferDeviceCreate(handle: Of<Library>, allocator: Ptr<u8>, buffer: Out<Of<Buffer>>) => create_buffer;
    fn nvjpegBufferDeviceCreateV2(handle: Of<Library>, allocator: Ptr<u8>, buffer: Out<Of<Buffer>>) => create_buffer;
    fn nvjpegBufferDeviceResize(buffer: Of<Buffer>, bytes: usize, stream: Stream) => resize_buffer;
    fn nvjpegBufferDeviceDestroy(buffer: Of<Buffer>) => destroy_buffer;
    fn nvjpegBufferDeviceRetrieve(buffer: Of<Buffer>, bytes: Out<usize>, pointer: Out<u64>) => retrieve_buffer;
    fn nvjpegStateAttachPinnedBuffer(state: Of<State>, buffer: Of<Buffer>) => attach;
    fn nvjpegStateAttachDeviceBuffer(state: Of<State>, buffer: Of<Buffer>) => attach;
    fn nvjpegDecodeParamsCreate(handle: Of<Library>, params: Out<Of<Params>>) => create_params;
    fn nvjpegDecodeParamsDestroy(params: Of<Params>) => destroy_params;
    fn nvjpegDecodeParamsSetOutputFormat(params: Of<Params>, format: i32) => set_format;
    fn nvjpegDecodeParamsSetROI(params: Of<Params>, x: i32, y: i32, width: i32, height: i32) => set_region;
    fn nvjpegDecodeParamsSetAllowCMYK(params: Of<Params>, allowed: i32) => allow_cmyk;
    fn nvjpegDecodeParamsSetScaleFactor(params: Of<Params>, factor: i32) => set_scale;
    fn nvjpegDecodeParamsSetExifOrientation(params: Of<Params>, orientation: i32) => set_orientation;
}

/// A `nvjpegHandle_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library {
    device_padding: usize,
    pinned_padding: usize,
}

/// A `nvjpegJpegState_t`: what was announced or parsed and is still to be decoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    pub batch: i32,
    pub format: i32,
    pub picture: Option<(Header, u64)>,
    pub params: Params,
}

/// A `nvjpegJpegDecoder_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decoder;

/// A pinned or device buffer; nothing is put there, so nothing is allocated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffer;

/// A `nvjpegDecodeParams_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params {
    pub format: i32,
    /// Width and height, when only a part is wanted.
    pub region: Option<[u32; 2]>,
    /// Halvings: 0 to 3.
    pub scale: u32,
}

kept! {
    Library: b"gh.njlib";
    State: b"gh.njsta";
    Decoder: b"gh.njdec";
    Buffer: b"gh.njbuf";
    Params: b"gh.njpar";
}

/// Writes a new object.
pub fn give<T: Kept>(place: &Out<Of<T>>, value: T) -> Result<(), Error> {
    place.check()?;
    Ok(place.set(Of::create(value))?)
}

/// Ends an object; a dead one is an invalid parameter.
pub fn end<T: Kept>(object: Of<T>) -> Result<(), Error> {
    object.destroy().map(|_| ()).map_err(|_| Error::InvalidParameter)
}

/// Whether an argument is alive.
pub fn alive<T: Kept>(object: Of<T>) -> Result<(), Error> {
    object.check().map_err(|_| Error::InvalidParameter)
}

/// Changes what an object keeps.
pub fn change<T: Kept>(object: Of<T>, change: impl FnOnce(&mut T)) -> Result<(), Error> {
    object.with(change).map_err(|_| Error::InvalidParameter)
}

fn create_simple(handle: Out<Of<Library>>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    give(&handle, Library::default())
}

fn create(backend: i32, _device: Ptr<u8>, handle: Out<Of<Library>>) -> Result<(), Error> {
    known(backend)?;
    create_simple(handle)
}

fn create_ex(
    backend: i32,
    _device: Ptr<u8>,
    _pinned: Ptr<u8>,
    _flags: u32,
    handle: Out<Of<Library>>,
) -> Result<(), Error> {
    known(backend)?;
    create_simple(handle)
}

/// The decoding engine is not emulated: a caller that asks for it is told so and takes another backend.
fn known(backend: i32) -> Result<(), Error> {
    match backend {
        3 | 5 => Err(Error::ArchMismatch),
        0..=6 => Ok(()),
        _ => Err(Error::InvalidParameter),
    }
}

fn destroy(handle: Of<Library>) -> Result<(), Error> {
    end(handle)
}

fn set_device_padding(padding: usize, handle: Of<Library>) -> Result<(), Error> {
    change(handle, |library| library.device_padding = padding)
}

fn device_padding(padding: Out<usize>, handle: Of<Library>) -> Result<(), Error> {
    alive(handle)?;
    Ok(padding.set(handle.read()?.device_padding)?)
}

fn set_pinned_padding(padding: usize, handle: Of<Library>) -> Result<(), Error> {
    change(handle, |library| library.pinned_padding = padding)
}

fn pinned_padding(padding: Out<usize>, handle: Of<Library>) -> Result<(), Error> {
    alive(handle)?;
    Ok(padding.set(handle.read()?.pinned_padding)?)
}

fn decoder_engines(handle: Of<Library>, engines: Out<u32>, cores: Out<u32>) -> Result<(), Error> {
    alive(handle)?;
    engines.set(0)?;
    Ok(cores.set(0)?)
}

fn encoder_engines(handle: Of<Library>, engines: Out<u32>) -> Result<(), Error> {
    alive(handle)?;
    Ok(engines.set(0)?)
}

fn create_state(handle: Of<Library>, state: Out<Of<State>>) -> Result<(), Error> {
    alive(handle)?;
    give(&state, State::default())
}

fn destroy_state(state: Of<State>) -> Result<(), Error> {
    end(state)
}

fn create_decoder(handle: Of<Library>, backend: i32, decoder: Out<Of<Decoder>>) -> Result<(), Error> {
    alive(handle)?;
    known(backend)?;
    give(&decoder, Decoder)
}

fn destroy_decoder(decoder: Of<Decoder>) -> Result<(), Error> {
    end(decoder)
}

fn create_decoder_state(handle: Of<Library>, decoder: Of<Decoder>, state: Out<Of<State>>) -> Result<(), Error> {
    alive(decoder)?;
    create_state(handle, state)
}

fn create_buffer(handle: Of<Library>, _allocator: Ptr<u8>, buffer: Out<Of<Buffer>>) -> Result<(), Error> {
    alive(handle)?;
    give(&buffer, Buffer)
}

fn resize_buffer(buffer: Of<Buffer>, _bytes: usize, _stream: Stream) -> Result<(), Error> {
    alive(buffer)
}

fn destroy_buffer(buffer: Of<Buffer>) -> Result<(), Error> {
    end(buffer)
}

fn retrieve_buffer(buffer: Of<Buffer>, bytes: Out<usize>, pointer: Out<u64>) -> Result<(), Error> {
    alive(buffer)?;
    bytes.set(0)?;
    Ok(pointer.set(0)?)
}

fn attach(state: Of<State>, buffer: Of<Buffer>) -> Result<(), Error> {
    alive(state)?;
    alive(buffer)
}

fn create_params(handle: Of<Library>, params: Out<Of<Params>>) -> Result<(), Error> {
    alive(handle)?;
    give(&params, Params::default())
}

fn destroy_params(params: Of<Params>) -> Result<(), Error> {
    end(params)
}

fn set_format(params: Of<Params>, format: i32) -> Result<(), Error> {
    if !(0..=10).contains(&format) {
        return Err(Error::InvalidParameter);
    }
    change(params, |params| params.format = format)
}

/// Width and height of 0, or -1, mean the whole picture.
fn set_region(params: Of<Params>, _x: i32, _y: i32, width: i32, height: i32) -> Result<(), Error> {
    let region = (width > 0 && height > 0).then(|| [width.unsigned_abs(), height.unsigned_abs()]);
    change(params, |params| params.region = region)
}

fn allow_cmyk(params: Of<Params>, _allowed: i32) -> Result<(), Error> {
    alive(params)
}

fn set_scale(params: Of<Params>, factor: i32) -> Result<(), Error> {
    match u32::try_from(factor) {
        Ok(factor @ 0..=3) => change(params, |params| params.scale = factor),
        _ => Err(Error::InvalidParameter),
    }
}

fn set_orientation(params: Of<Params>, orientation: i32) -> Result<(), Error> {
    if !(0..=8).contains(&orientation) {
        return Err(Error::InvalidParameter);
    }
    alive(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn objects_need_a_live_handle() {
        let library = Of::create(Library::default());
        let state = ask(|out| create_state(library, out)).expect("a state");
        assert_eq!((destroy_state(state), destroy_state(state)), (Ok(()), Err(Error::InvalidParameter)));
        assert_eq!(set_device_padding(512, library), Ok(()));
        assert_eq!(ask(|out| device_padding(out, library)), Ok(512));
        assert_eq!(destroy(library), Ok(()));
        assert_eq!(ask(|out| create_params(library, out)).err(), Some(Error::InvalidParameter));
    }

    #[test]
    fn the_decoding_engine_is_not_there() {
        assert_eq!((known(3), known(0), known(9)), (Err(Error::ArchMismatch), Ok(()), Err(Error::InvalidParameter)));
    }
}
