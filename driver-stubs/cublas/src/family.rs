//! One signature, many functions: BLAS names repeat for every element type and for 32- and 64-bit sizes.
//! It adds no behaviour to `ghost_abi::rows!`.

/// Declares functions that differ in `T` (the element), `R` (its real part) and `I` (the size) only.
///
/// ```text
/// family! {
///     handler (handle: Handle, n: I, x: Ptr<T>, result: Ptr<R>) { f32: cublasSfoo_v2 cublasSfoo_v2_64; f64: cublasDfoo_v2; }
/// }
/// ```
/// The first name of an element has 32-bit sizes, the second 64-bit ones. The handler is generic in what differs.
macro_rules! family {
    ($( $handler:ident $args:tt { $( $element:ty : $narrow:ident $($wide:ident)? ; )* } )*) => {
        $( $(
            family! { @row $handler $args $element, i32, $narrow }
            $( family! { @row $handler $args $element, i64, $wide } )?
        )* )*

        /// The rows of this file.
        pub static ROWS: ghost_abi::Rows = &[$( $( $narrow::ROWS[0], $( $wide::ROWS[0], )? )* )*];
    };
    (@row $handler:ident $args:tt $element:ty, $size:ty, $name:ident) => {
        #[allow(non_snake_case, unused_imports, dead_code, reason = "named as the C function; one set of names serves all")]
        pub mod $name {
            use super::*;
            type T = $element;
            type R = <$element as $crate::element::Element>::Real;
            type I = $size;
            ghost_abi::rows! { Cublas; fn $name $args => $handler; }
        }
    };
}
