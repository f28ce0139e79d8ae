//! C structs whose size, and version word, are written once and checked by the compiler.
//! They carry data only; which version a caller may use is the library's business.

/// Any bytes are a value: no references, no enums, no padding rules to break.
///
/// # Safety
/// Every bit pattern, all zeros included, is a valid value of the type.
pub unsafe trait Plain: Copy {
    /// All zeros.
    fn zeroed() -> Self {
        // SAFETY: the trait promises that zeros are a value.
        unsafe { std::mem::zeroed() }
    }
}

/// A record whose first word is `size | version << 24`.
///
/// # Safety
/// The type is `repr(C)` and its first field is that `u32`.
pub unsafe trait Versioned: Plain {
    /// The word a caller must have put there.
    const VERSION: u32;
}

macro_rules! plain {
    ($($number:ty),*) => { $(
        // SAFETY: every bit pattern of a number is a number.
        unsafe impl Plain for $number {}
    )* };
}
plain!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, f32, f64);

// SAFETY: an array of plain values is plain.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: a raw pointer may hold anything until somebody follows it.
unsafe impl<T> Plain for *const T {}
// SAFETY: as above.
unsafe impl<T> Plain for *mut T {}

/// Declares a C struct of plain fields with its size in bytes.
///
/// ```
/// ghost_abi::record! {
///     /// Percent over the last sample period.
///     pub struct Utilization: 8 bytes { pub gpu: u32, pub memory: u32 }
/// }
/// ```
#[macro_export]
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident : $size:literal bytes {
        $($(#[$doc:meta])* $fvis:vis $field:ident : $ty:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        $vis struct $name { $($(#[$doc])* $fvis $field: $ty),* }

        // SAFETY: `repr(C)`, and the function below proves that every field is plain.
        unsafe impl $crate::Plain for $name {}

        const _: () = {
            ::core::assert!(::core::mem::size_of::<$name>() == $size, "the struct has another size");
            const fn plain<T: $crate::Plain>() {}
            $(plain::<$ty>();)*
        };
    };
}

/// Declares a versioned C struct; the `version` word comes first and is added here.
///
/// ```
/// use ghost_abi::{Plain, Versioned};
/// ghost_abi::versioned! {
///     /// Memory of a device.
///     pub struct MemoryV2: v 2, 40 bytes {
///         pub total: u64, pub reserved: u64, pub free: u64, pub used: u64,
///     }
/// }
/// assert_eq!(MemoryV2::VERSION, 0x0200_0028);
/// let memory = MemoryV2 { total: 1 << 30, ..MemoryV2::blank() };
/// assert_eq!((memory.version, memory.used), (MemoryV2::VERSION, 0));
/// ```
#[macro_export]
macro_rules! versioned {
    ($(#[$meta:meta])* $vis:vis struct $name:ident : v $number:literal, $size:literal bytes {
        $($(#[$doc:meta])* $fvis:vis $field:ident : $ty:ty),* $(,)?
    }) => {
        $crate::record! {
            $(#[$meta])*
            $vis struct $name: $size bytes {
                /// Size and version, as the caller declared them.
                pub version: u32,
                $($(#[$doc])* $fvis $field: $ty),*
            }
        }

        // SAFETY: `record!` makes it `repr(C)`; the version word is its first field.
        unsafe impl $crate::Versioned for $name {
            const VERSION: u32 = $size | ($number << 24);
        }

        #[allow(dead_code, reason = "some are only read")]
        impl $name {
            /// All zeros but the version word.
            pub fn blank() -> Self {
                Self { version: <Self as $crate::Versioned>::VERSION, ..<Self as $crate::Plain>::zeroed() }
            }
        }
    };
}
