//! Handles, streams, modes, versions and names.
//! It plans no operation.

use crate::context::{Context, Handle};
use ghost_abi::Out;
use ghost_blas::{CUDART_VERSION, Cublas, Error, Ptr, Stream, VERSION, VERSION_NUMBER, start_driver, status_texts};
use std::ffi::c_char;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

ghost_abi::rows! { Cublas;
    fn cublasCreate_v2(handle: Out<Handle>) => create;
    fn cublasDestroy_v2(handle: Handle) => destroy;
    fn cublasGetVersion_v2(handle: Handle, version: Out<i32>) => version;
    fn cublasGetProperty(property: i32, value: Out<i32>) => property;
    fn cublasGetCudartVersion() -> usize => cudart_version;
    fn cublasGetStatusName(status: i32) -> *const c_char => status_name;
    fn cublasGetStatusString(status: i32) -> *const c_char => status_string;
    fn cublasSetWorkspace_v2(handle: Handle, workspace: Ptr<u8>, bytes: usize) => set_workspace;
    fn cublasSetStream_v2(handle: Handle, stream: Stream) => set_stream;
    fn cublasGetStream_v2(handle: Handle, stream: Out<Stream>) => stream;
    fn cublasGetPointerMode_v2(handle: Handle, mode: Out<i32>) => pointer_mode;
    fn cublasSetPointerMode_v2(handle: Handle, mode: i32) => set_pointer_mode;
    fn cublasGetAtomicsMode(handle: Handle, mode: Out<i32>) => atomics_mode;
    fn cublasSetAtomicsMode(handle: Handle, mode: i32) => set_atomics_mode;
    fn cublasGetMathMode(handle: Handle, mode: Out<i32>) => math_mode;
    fn cublasSetMathMode(handle: Handle, mode: i32) => set_math_mode;
    fn cublasGetSmCountTarget(handle: Handle, sms: Out<i32>) => sm_count_target;
    fn cublasSetSmCountTarget(handle: Handle, sms: i32) => set_sm_count_target;
    fn cublasGetEmulationStrategy(handle: Handle, strategy: Out<i32>) => strategy;
    fn cublasSetEmulationStrategy(handle: Handle, strategy: i32) => set_strategy;
    fn cublasGetEmulationSpecialValuesSupport(handle: Handle, mask: Out<i32>) => special_values;
    fn cublasSetEmulationSpecialValuesSupport(handle: Handle, mask: i32) => set_special_values;
    fn cublasGetFixedPointEmulationMantissaControl(handle: Handle, control: Out<i32>) => mantissa_control;
    fn cublasSetFixedPointEmulationMantissaControl(handle: Handle, control: i32) => set_mantissa_control;
    fn cublasGetFixedPointEmulationMaxMantissaBitCount(handle: Handle, bits: Out<i32>) => max_mantissa_bits;
    fn cublasSetFixedPointEmulationMaxMantissaBitCount(handle: Handle, bits: i32) => set_max_mantissa_bits;
    fn cublasGetFixedPointEmulationMantissaBitOffset(handle: Handle, bits: Out<i32>) => mantissa_bit_offset;
    fn cublasSetFixedPointEmulationMantissaBitOffset(handle: Handle, bits: i32) => set_mantissa_bit_offset;
    fn cublasGetFixedPointEmulationMantissaBitCountPointer(handle: Handle, count: Out<u64>) => mantissa_bit_count;
    fn cublasSetFixedPointEmulationMantissaBitCountPointer(handle: Handle, count: Ptr<i32>) => set_mantissa_bit_count;
}

fn create(handle: Out<Handle>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(Handle::of(Context::create()))?)
}

fn destroy(handle: Handle) -> Result<(), Error> {
    Context::of(handle)?.destroy();
    Ok(())
}

/// A null handle is allowed, as NVIDIA's accepts one.
fn version(_handle: Handle, version: Out<i32>) -> Result<(), Error> {
    Ok(version.set(VERSION_NUMBER)?)
}

fn property(property: i32, value: Out<i32>) -> Result<(), Error> {
    let part = usize::try_from(property).ok().and_then(|index| VERSION.get(index));
    Ok(value.set(*part.ok_or(Error::InvalidValue)?)?)
}

fn cudart_version() -> usize {
    CUDART_VERSION
}

fn status_name(status: i32) -> *const c_char {
    status_texts(status)[0].as_ptr()
}

fn status_string(status: i32) -> *const c_char {
    status_texts(status)[1].as_ptr()
}

/// No operation here needs one; the arguments are checked.
fn set_workspace(handle: Handle, workspace: Ptr<u8>, bytes: usize) -> Result<(), Error> {
    /// A workspace begins at a multiple of this.
    const ALIGNMENT_BYTES: u64 = 256;
    Context::of(handle)?;
    if (workspace.is_null() && bytes > 0) || !workspace.address().is_multiple_of(ALIGNMENT_BYTES) {
        return Err(Error::InvalidValue);
    }
    Ok(())
}

fn set_stream(handle: Handle, stream: Stream) -> Result<(), Error> {
    Context::of(handle)?.set_stream(stream);
    Ok(())
}

fn stream(handle: Handle, stream: Out<Stream>) -> Result<(), Error> {
    Ok(stream.set(Context::of(handle)?.stream())?)
}

type Mode = fn(&Context) -> &AtomicI32;

fn get(handle: Handle, mode: Mode, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(mode(Context::of(handle)?).load(Relaxed))?)
}

fn set(handle: Handle, mode: Mode, value: i32, accepted: impl FnOnce(i32) -> bool) -> Result<(), Error> {
    let context = Context::of(handle)?;
    if !accepted(value) {
        return Err(Error::InvalidValue);
    }
    mode(context).store(value, Relaxed);
    Ok(())
}

/// Getter and setter of each mode, with the values it accepts.
macro_rules! modes {
    ($($get:ident $set:ident |$context:ident| $place:expr, $accepted:expr;)*) => { $(
        fn $get(handle: Handle, value: Out<i32>) -> Result<(), Error> {
            get(handle, |$context| $place, value)
        }

        fn $set(handle: Handle, value: i32) -> Result<(), Error> {
            set(handle, |$context| $place, value, $accepted)
        }
    )* };
}

modes! {
    pointer_mode set_pointer_mode |context| &context.pointer_mode, |mode| matches!(mode, 0 | 1);
    atomics_mode set_atomics_mode |context| &context.atomics_mode, |mode| matches!(mode, 0 | 1);
    math_mode set_math_mode |context| &context.math_mode, |mode| matches!(mode & !16, 0..=4 | 8 | 12);
    sm_count_target set_sm_count_target |context| &context.sm_count_target, |sms| sms >= 0;
    strategy set_strategy |context| &context.emulation.strategy, |strategy| matches!(strategy, 0..=2);
    special_values set_special_values |context| &context.emulation.special_values, |mask| matches!(mask, 0..=3 | 0xFFFF);
    mantissa_control set_mantissa_control |context| &context.emulation.mantissa_control, |control| matches!(control, 0 | 1);
    max_mantissa_bits set_max_mantissa_bits |context| &context.emulation.max_mantissa_bits, |bits| bits >= 0;
    mantissa_bit_offset set_mantissa_bit_offset |context| &context.emulation.mantissa_bit_offset, |_| true;
}

fn mantissa_bit_count(handle: Handle, count: Out<u64>) -> Result<(), Error> {
    Ok(count.set(Context::of(handle)?.emulation.mantissa_bit_count.load(Relaxed))?)
}

fn set_mantissa_bit_count(handle: Handle, count: Ptr<i32>) -> Result<(), Error> {
    Context::of(handle)?.emulation.mantissa_bit_count.store(count.address(), Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn a_mode_keeps_what_it_accepts() {
        let handle = Handle::of(Context::create());
        assert_eq!(set_math_mode(handle, 3), Ok(()));
        assert_eq!(ask(|out| math_mode(handle, out)), Ok(3));
        assert_eq!(set_math_mode(handle, 99), Err(Error::InvalidValue));
        assert_eq!(set_pointer_mode(handle, 2), Err(Error::InvalidValue));
        assert_eq!(ask(|out| special_values(handle, out)), Ok(0xFFFF));
    }

    #[test]
    fn a_null_handle_is_not_initialized() {
        assert_eq!(ask(|out| math_mode(Handle::null(), out)), Err(Error::NotInitialized));
        assert_eq!(set_stream(Handle::null(), Stream(0)), Err(Error::NotInitialized));
        assert_eq!(destroy(Handle::null()), Err(Error::NotInitialized));
    }

    #[test]
    fn the_version_is_told_in_parts_and_whole() {
        let parts = [0, 1, 2].map(|part| ask(|out| property(part, out)));
        assert_eq!(parts, [Ok(13), Ok(4), Ok(1)]);
        assert_eq!(ask(|out| property(3, out)), Err(Error::InvalidValue));
        assert_eq!(ask(|out| version(Handle::null(), out)), Ok(130_401));
    }

    #[test]
    fn a_workspace_is_aligned() {
        let handle = Handle::of(Context::create());
        // SAFETY: a workspace is never followed.
        let at = |address| unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) };
        assert_eq!(set_workspace(handle, at(0x1000), 64), Ok(()));
        assert_eq!(set_workspace(handle, at(0x1008), 64), Err(Error::InvalidValue));
        assert_eq!(set_workspace(handle, at(0), 64), Err(Error::InvalidValue));
    }
}
