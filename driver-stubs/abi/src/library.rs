//! What a library says about itself once, and how its error codes are declared.
//! It holds no row.

use crate::Row;

/// The values a library answers when no handler decides. Implemented by [`library!`](crate::library).
pub trait Library {
    /// The name in reports, without version: `libcudart`.
    const NAME: &'static std::ffi::CStr;
    /// The status of a function that is exported but not implemented.
    const NOT_SUPPORTED: i32;
    /// The status after a handler panicked.
    const PANIC: i32;
    /// The status for a null or bad argument.
    const INVALID_ARGUMENT: i32;
    /// The status when the caller's buffer is too short.
    const TOO_SHORT: i32;
    /// The status when a struct's version word is not one we know.
    const VERSION_MISMATCH: i32;

    /// Asked before each implemented status row: 0 lets the handler run, any other value is the
    /// answer. For guards such as "this is a forked child".
    #[inline(always)]
    fn enter(_row: &'static Row) -> i32 {
        0
    }

    /// Sees each status on its way out and may replace it. For a thread's last error.
    #[inline(always)]
    fn leave(_row: &'static Row, status: i32) -> i32 {
        status
    }
}

/// Declares a library. Keys in this order; the four in the second line are optional.
/// `enter` is a `fn(&'static Row) -> i32`, `leave` a `fn(&'static Row, i32) -> i32`.
///
/// ```
/// fn remember(_row: &'static ghost_abi::Row, status: i32) -> i32 { status }
/// ghost_abi::library! {
///     pub Cudart { name: "libcudart", not_supported: 801, panic: 999, invalid_argument: 1,
///                  too_short: 1, version_mismatch: 1, leave: remember }
/// }
/// ```
#[macro_export]
macro_rules! library {
    ($(#[$meta:meta])* $vis:vis $lib:ident {
        name: $name:literal,
        not_supported: $missing:expr,
        panic: $panic:expr,
        invalid_argument: $invalid:expr
        $(, too_short: $short:expr)?
        $(, version_mismatch: $version:expr)?
        $(, enter: $enter:path)?
        $(, leave: $leave:path)?
        $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $lib;

        impl $crate::Library for $lib {
            const NAME: &'static ::std::ffi::CStr =
                match ::std::ffi::CStr::from_bytes_with_nul(::core::concat!($name, "\0").as_bytes()) {
                    ::core::result::Result::Ok(name) => name,
                    ::core::result::Result::Err(_) => ::core::panic!("a library name holds no NUL"),
                };
            const NOT_SUPPORTED: i32 = $missing;
            const PANIC: i32 = $panic;
            const INVALID_ARGUMENT: i32 = $invalid;
            const TOO_SHORT: i32 = [$invalid $(, $short)?][$crate::__count!($($short)?)];
            const VERSION_MISMATCH: i32 = [$invalid $(, $version)?][$crate::__count!($($version)?)];
            $(
                #[inline(always)]
                fn enter(row: &'static $crate::Row) -> i32 {
                    $enter(row)
                }
            )?
            $(
                #[inline(always)]
                fn leave(row: &'static $crate::Row, status: i32) -> i32 {
                    $leave(row, status)
                }
            )?
        }
    };
}

/// 1 when something is given, 0 when nothing is.
#[doc(hidden)]
#[macro_export]
macro_rules! __count {
    () => {
        0
    };
    ($any:expr) => {
        1
    };
}

/// Declares a library's error enum: each variant with its number once. `faults` names the variant
/// that a null pointer becomes; `short` and `version`, when the library has own codes for a short
/// buffer and an unknown struct version, name those.
///
/// ```
/// # ghost_abi::library! { pub Nvml { name: "libnvidia-ml", not_supported: 3, panic: 999, invalid_argument: 2 } }
/// ghost_abi::status! {
///     pub Error for Nvml { Uninitialized = 1, InvalidArgument = 2, InsufficientSize = 7, ArgumentVersionMismatch = 25 }
///     faults: InvalidArgument, short: InsufficientSize, version: ArgumentVersionMismatch
/// }
/// assert_eq!(Error::from(ghost_abi::Fault::Short), Error::InsufficientSize);
/// assert_eq!(Error::from_code(1), Some(Error::Uninitialized));
/// ```
#[macro_export]
macro_rules! status {
    ($(#[$meta:meta])* $vis:vis $error:ident for $lib:ident { $($(#[$doc:meta])* $name:ident = $code:literal),* $(,)? }
     faults: $null:ident $(, short: $short:ident)? $(, version: $version:ident)? $(,)?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        $vis enum $error { $($(#[$doc])* $name = $code),* }

        #[allow(dead_code, reason = "not every library needs all of these")]
        impl $error {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [$error] = &[$($error::$name),*];

            /// The number C callers see.
            pub const fn code(self) -> i32 {
                self as i32
            }

            /// The variant of a number, if it is declared here.
            pub const fn from_code(code: i32) -> ::core::option::Option<Self> {
                match code {
                    $($code => ::core::option::Option::Some($error::$name),)*
                    _ => ::core::option::Option::None,
                }
            }

            /// The variant's name as written here.
            pub const fn name(self) -> &'static str {
                match self { $($error::$name => ::core::stringify!($name)),* }
            }
        }

        impl $crate::Status<$lib> for $error {
            #[inline]
            fn status(self) -> i32 {
                self as i32
            }
        }

        impl ::core::convert::From<$crate::Fault> for $error {
            fn from(fault: $crate::Fault) -> Self {
                match fault {
                    $($crate::Fault::Short => $error::$short,)?
                    $($crate::Fault::Version => $error::$version,)?
                    #[allow(unreachable_patterns, reason = "when every fault has its own code")]
                    _ => $error::$null,
                }
            }
        }
    };
}
