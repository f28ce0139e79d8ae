//! The element types that BLAS names spell with a letter.
//! It computes nothing with them.

use ghost_abi::record;
use ghost_blas::{ComputeType, DataType};

record! {
    /// Two floats: `cuComplex`.
    pub struct Complex32: 8 bytes { pub re: f32, pub im: f32 }
}
record! {
    /// Two doubles: `cuDoubleComplex`.
    pub struct Complex64: 16 bytes { pub re: f64, pub im: f64 }
}
record! {
    /// Sixteen bits: `__half`.
    pub struct Half: 2 bytes { pub bits: u16 }
}
record! {
    /// The upper half of a float: `__nv_bfloat16`.
    pub struct Bfloat: 2 bytes { pub bits: u16 }
}

/// An element type: its number, and what routines named after it compute in.
pub trait Element: ghost_abi::Plain {
    /// The type of absolute values and of some factors.
    type Real: ghost_abi::Plain;
    const KIND: DataType;
    const COMPUTE: ComputeType;
}

macro_rules! element {
    ($($name:ty, $real:ty, $kind:ident, $compute:ident;)*) => { $(
        impl Element for $name {
            type Real = $real;
            const KIND: DataType = DataType::$kind;
            const COMPUTE: ComputeType = ComputeType::$compute;
        }
    )* };
}

element! {
    f32, f32, R_32F, F32;
    f64, f64, R_64F, F64;
    Complex32, f32, C_32F, F32;
    Complex64, f64, C_64F, F64;
    Half, Half, R_16F, F16;
    Bfloat, Bfloat, R_16BF, F32;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide<T: Element>() -> bool {
        T::KIND.bytes(1) == size_of::<T>() as u64 && T::COMPUTE.multiplies(T::KIND, T::KIND, T::KIND)
    }

    #[test]
    fn every_element_is_as_wide_as_its_number_says_and_can_be_multiplied() {
        assert!(wide::<f32>() && wide::<f64>() && wide::<Complex32>() && wide::<Complex64>());
        assert!(wide::<Half>() && wide::<Bfloat>());
    }
}
