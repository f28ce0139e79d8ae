//! What the handles and parameter objects of the library keep.
//! It plans no operation.

use crate::Error;
use ghost_blas::{Of, Stream, kept};

/// A `cusolverDnHandle_t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    pub stream: Stream,
    pub deterministic: i32,
    pub math: i32,
    pub emulation: Emulation,
}

/// How floating point emulation is tuned; kept for the caller only.
#[derive(Clone, Copy, Debug)]
pub struct Emulation {
    pub strategy: i32,
    pub special_values: i32,
    pub mantissa_control: i32,
    pub max_mantissa_bits: i32,
    pub mantissa_bit_offset: i32,
}

impl Default for Emulation {
    fn default() -> Emulation {
        /// Infinities and NaN (`cudaEmulationSpecialValuesSupport`).
        const ALL_SPECIAL_VALUES: i32 = 0xFFFF;
        Emulation {
            strategy: 0,
            special_values: ALL_SPECIAL_VALUES,
            mantissa_control: 0,
            max_mantissa_bits: 0,
            mantissa_bit_offset: 0,
        }
    }
}

/// A `cusolverDnParams_t`: algorithm choices by function.
#[derive(Clone, Debug, Default)]
pub struct Params {
    pub algorithms: [i32; 8],
}

/// Sweeps a Jacobi iteration is taken to need; it converges quadratically, in six to ten.
pub const SWEEPS: i32 = 8;

/// A `gesvdjInfo_t` or `syevjInfo_t`.
#[derive(Clone, Copy, Debug)]
pub struct Jacobi {
    pub tolerance: f64,
    pub most_sweeps: i32,
    pub sorted: i32,
}

impl Default for Jacobi {
    fn default() -> Jacobi {
        Jacobi { tolerance: 0.0, most_sweeps: 100, sorted: 1 }
    }
}

impl Jacobi {
    /// Sweeps that are run.
    pub fn sweeps(&self) -> i32 {
        self.most_sweeps.min(SWEEPS)
    }
}

/// The parameters of a singular value iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct GesvdjInfo(pub Jacobi);

/// The parameters of an eigenvalue iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct SyevjInfo(pub Jacobi);

kept! {
    Context: b"gh.csolv";
    Params: b"gh.cspar";
    GesvdjInfo: b"gh.csgsj";
    SyevjInfo: b"gh.cssyj";
}

/// A handle argument.
pub type Handle = Of<Context>;

/// The context of a handle.
pub fn context(handle: Handle) -> Result<Context, Error> {
    Ok(handle.read()?)
}

/// Parameters may be null where the defaults are meant.
pub fn params(params: Of<Params>) -> Result<(), Error> {
    if params.is_null() || params.check().is_ok() { Ok(()) } else { Err(Error::InvalidValue) }
}
