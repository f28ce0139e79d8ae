//! The element types that names of linear algebra functions spell with a letter.
//! It computes nothing with them.

use crate::DataType;
use ghost_abi::{Plain, record};

record! {
    /// Two floats: `cuComplex`.
    pub struct Complex32: 8 bytes { pub re: f32, pub im: f32 }
}
record! {
    /// Two doubles: `cuDoubleComplex`.
    pub struct Complex64: 16 bytes { pub re: f64, pub im: f64 }
}

/// An element type: its number and its real part.
pub trait Element: Plain {
    /// The type of absolute values, eigenvalues and singular values.
    type Real: Element;
    /// Its `cudaDataType`.
    const KIND: DataType;
}

macro_rules! element {
    ($($name:ty, $real:ty, $kind:ident;)*) => { $(
        impl Element for $name {
            type Real = $real;
            const KIND: DataType = DataType::$kind;
        }
    )* };
}

element! {
    f32, f32, R_32F;
    f64, f64, R_64F;
    Complex32, f32, C_32F;
    Complex64, f64, C_64F;
}

/// Declares functions that differ in `T` (the element) and `R` (its real part) only. The handler is generic in what
/// differs and stands in the same file.
///
/// ```text
/// typed! { Lib;
///     handler (handle: Handle, n: i32, x: Ptr<T>, result: Ptr<R>) { f32: libSfoo; f64: libDfoo; }
/// }
/// ```
/// It defines `TYPED`, the rows of the file; a `rows!` may stand beside it.
#[macro_export]
macro_rules! typed {
    ($lib:ident; $( $handler:ident $args:tt { $( $element:ty : $name:ident ; )* } )*) => {
        $( $( $crate::typed! { @row $lib $handler $args $element, $name } )* )*

        /// The rows of this file that differ in their element only.
        pub static TYPED: ghost_abi::Rows = &[$( $( $name::ROWS[0], )* )*];
    };
    (@row $lib:ident $handler:ident $args:tt $element:ty, $name:ident) => {
        #[allow(non_snake_case, unused_imports, dead_code, reason = "named as the C function; one set of names serves all")]
        pub mod $name {
            use super::*;
            type T = $element;
            type R = <$element as $crate::Element>::Real;
            ghost_abi::rows! { $lib; fn $name $args => $handler; }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide<T: Element>() -> bool {
        T::KIND.bytes(1) == size_of::<T>() as u64 && T::Real::KIND.bytes(1) == size_of::<T::Real>() as u64
    }

    #[test]
    fn every_element_is_as_wide_as_its_number_says() {
        assert!(wide::<f32>() && wide::<f64>() && wide::<Complex32>() && wide::<Complex64>());
    }
}
