//! A `cublasHandle_t`: a stream, modes, and nothing that belongs to the device.
//! It plans no operation.

use ghost_blas::{ComputeType, Error, Magic, Ptr, Slots, Stream, Tagged, submit, wait};
use ghost_table::Operation;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A handle argument.
pub type Handle = ghost_blas::Handle<Context>;

/// What a handle points to. Two threads may use one handle, so every field is atomic.
#[derive(Debug)]
#[repr(C)]
pub struct Context {
    magic: Magic,
    stream: AtomicUsize,
    pub pointer_mode: AtomicI32,
    pub atomics_mode: AtomicI32,
    pub math_mode: AtomicI32,
    pub sm_count_target: AtomicI32,
    pub emulation: Emulation,
}

/// How floating point emulation is tuned; kept for the caller only.
#[derive(Debug)]
pub struct Emulation {
    pub strategy: AtomicI32,
    pub special_values: AtomicI32,
    pub mantissa_control: AtomicI32,
    pub max_mantissa_bits: AtomicI32,
    pub mantissa_bit_offset: AtomicI32,
    pub mantissa_bit_count: AtomicU64,
}

/// Special values are supported by default: infinities and NaN (`cudaEmulationSpecialValuesSupport`).
const ALL_SPECIAL_VALUES: i32 = 0xFFFF;

static PLACES: Slots<Context> = Slots::new();

// SAFETY: `repr(C)`, begins with its magic word, and `PLACES` never frees one.
unsafe impl Tagged for Context {}

impl Context {
    fn new() -> Context {
        let zero = || AtomicI32::new(0);
        Context {
            magic: Magic::new(Magic::NONE),
            stream: AtomicUsize::new(0),
            pointer_mode: zero(),
            atomics_mode: zero(),
            math_mode: zero(),
            sm_count_target: zero(),
            emulation: Emulation {
                strategy: zero(),
                special_values: zero(),
                mantissa_control: zero(),
                max_mantissa_bits: zero(),
                mantissa_bit_offset: zero(),
                mantissa_bit_count: AtomicU64::new(0),
            },
        }
    }

    /// A live context with every mode at its default.
    pub fn create() -> &'static Context {
        let context = PLACES.take(Context::new);
        context.stream.store(0, Relaxed);
        let Emulation { strategy, mantissa_control, max_mantissa_bits, mantissa_bit_offset, .. } = &context.emulation;
        let modes = [&context.pointer_mode, &context.atomics_mode, &context.math_mode, &context.sm_count_target];
        for mode in modes.into_iter().chain([strategy, mantissa_control, max_mantissa_bits, mantissa_bit_offset]) {
            mode.store(0, Relaxed);
        }
        context.emulation.special_values.store(ALL_SPECIAL_VALUES, Relaxed);
        context.emulation.mantissa_bit_count.store(0, Relaxed);
        context.magic.set(Magic::CUBLAS);
        context
    }

    /// The live context of a handle.
    pub fn of(handle: Handle) -> Result<&'static Context, Error> {
        handle.get(Magic::CUBLAS)
    }

    /// Ends it; its place is used again.
    pub fn destroy(&'static self) {
        self.magic.set(Magic::NONE);
        PLACES.give(self);
    }

    /// The stream its operations go to.
    pub fn stream(&self) -> Stream {
        Stream(self.stream.load(Relaxed))
    }

    /// Chooses the stream of what follows.
    pub fn set_stream(&self, stream: Stream) {
        self.stream.store(stream.0, Relaxed);
    }

    /// Whether scalars and results are in host memory.
    pub fn is_host_mode(&self) -> bool {
        self.pointer_mode.load(Relaxed) == 0
    }

    /// What `compute` means under the math mode: a mode touches single precision only.
    pub fn effective(&self, compute: ComputeType) -> ComputeType {
        /// The low bits of a `cublasMath_t`; the rest are flags.
        const MODE: i32 = 15;
        match (compute, self.math_mode.load(Relaxed) & MODE) {
            (ComputeType::F32, 1) => ComputeType::F32_FAST_16F,
            (ComputeType::F32, 2) => ComputeType::F32_PEDANTIC,
            (ComputeType::F32, 3) => ComputeType::F32_FAST_TF32,
            _ => compute,
        }
    }

    /// Puts an operation on its stream; `None` has nothing to do.
    pub fn run(&self, operation: Option<Operation>) -> Result<(), Error> {
        operation.map_or(Ok(()), |operation| submit(self.stream(), &operation))
    }

    /// Runs what ends in a result: zeros in host memory after the stream is done, or zeros in device memory in stream
    /// order. `bytes` is the size of the result.
    pub fn run_to(&self, operation: Operation, result: Ptr<u8>, bytes: u64) -> Result<(), Error> {
        result.check()?;
        if !self.is_host_mode() {
            return self.run(Some(operation.writes(result.address(), bytes)));
        }
        self.run(Some(operation))?;
        wait(self.stream())?;
        result.clear(bytes as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destroyed_handle_is_not_initialized_and_its_modes_are_forgotten() {
        let context = Context::create();
        let handle = Handle::of(context);
        context.math_mode.store(3, Relaxed);
        assert!(Context::of(handle).is_ok());
        context.destroy();
        assert_eq!(Context::of(handle).err(), Some(Error::NotInitialized));
        let again = Context::create();
        assert_eq!(again.math_mode.load(Relaxed), 0);
        again.destroy();
    }

    #[test]
    fn the_math_mode_decides_about_tf32_in_single_precision_only() {
        let context = Context::new();
        assert_eq!(context.effective(ComputeType::F32), ComputeType::F32);
        context.math_mode.store(3 | 16, Relaxed);
        assert_eq!(context.effective(ComputeType::F32), ComputeType::F32_FAST_TF32);
        assert_eq!(context.effective(ComputeType::F64), ComputeType::F64);
    }
}
