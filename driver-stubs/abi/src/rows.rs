//! The macros that turn rows into C exports and the `ROWS` and `ABSENT` slices.
//! Everything they expand to is in `edge.rs`; no logic lives in a macro.

/// Declares the exported functions of one file. See the crate's example.
///
/// ```text
/// rows! { Lib;
///     fn name(arg: Type, ...) => handler;            // status, implemented
///     fn name(arg: Type, ...);                       // status, not supported, counted
///     fn name(arg: Type, ...) -> Type => handler;    // the handler returns exactly Type
///     fn name(arg: Type, ...) -> *const T;           // null, counted
///     fn name(arg: Type, ...) -> isize = -1;         // this value, counted
///     fn name(arg: Type, ...) -> () => handler;      // a C void function
///     since 12000 fn name(...) => handler;           // `Row::since`
/// }
/// ```
/// A status handler returns `Result<(), E>` with `E: Status<Lib>`, or an `i32` status. It is
/// called as `self::handler`, so it stands in the file of its row.
#[macro_export]
macro_rules! rows {
    ($lib:ident; $(
        $(#[$meta:meta])* $(since $since:literal)?
        fn $name:ident ( $($arg:ident : $ty:ty),* $(,)? ) $(-> $ret:ty)? $(= $absent:expr)? $(=> $handler:ident)? ;
    )*) => {
        $( $crate::__export! { $lib; [$(#[$meta])*] $name ($($arg: $ty),*) [$($ret)?] [$($handler)?] $($absent)? } )*

        #[allow(non_upper_case_globals, reason = "named as the C function")]
        mod __rows {
            $(pub(super) static $name: $crate::Row = $crate::Row::new(
                ::core::concat!(::core::stringify!($name), "\0"),
                !::core::stringify!($($handler)?).is_empty(),
                0 $(+ $since)?,
                super::$name as *const (),
            );)*
        }

        /// The rows of this file.
        pub static ROWS: $crate::Rows = &[$(&__rows::$name),*];
    };
}

/// Declares functions by name only: each answers the library's not-supported status and is
/// counted. Whatever a caller passes stays untouched, as the C calling conventions of x86-64 and
/// AArch64 allow. Functions that return a pointer or nothing belong in [`rows!`](crate::rows).
#[macro_export]
macro_rules! absent {
    ($lib:ident; $($name:ident)*) => {
        $( $crate::__export! { $lib; absent $name } )*

        #[allow(non_upper_case_globals, reason = "named as the C function")]
        mod __absent {
            $(pub(super) static $name: $crate::Row = $crate::Row::new(
                ::core::concat!(::core::stringify!($name), "\0"), false, 0, super::$name as *const (),
            );)*
        }

        /// The names of this file that have no handler.
        pub static ABSENT: $crate::Rows = &[$(&__absent::$name),*];
    };
}

/// One export. `cfg!(test)` is asked here because it must be the library's, not this crate's.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($lib:ident; [$($meta:tt)*] $name:ident ($($arg:ident : $ty:ty),*) [] [$handler:ident]) => {
        $($meta)*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "a C signature")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::edge::status::<$lib, _>(&__rows::$name, ::core::cfg!(test), move || self::$handler($($arg),*))
        }
    };
    ($lib:ident; [$($meta:tt)*] $name:ident ($($arg:ident : $ty:ty),*) [$ret:ty] [$handler:ident]) => {
        $($meta)*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments, clippy::unused_unit, reason = "a C signature")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::edge::value::<$ret>(&__rows::$name, ::core::cfg!(test), move || self::$handler($($arg),*))
        }
    };
    ($lib:ident; [$($meta:tt)*] $name:ident ($($arg:ident : $ty:ty),*) [] []) => {
        $($meta)*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, unused_variables, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "a C signature")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            $crate::edge::missing_status::<$lib>(&__rows::$name)
        }
    };
    ($lib:ident; [$($meta:tt)*] $name:ident ($($arg:ident : $ty:ty),*) [$ret:ty] []) => {
        $($meta)*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, unused_variables, clippy::missing_safety_doc, clippy::too_many_arguments, clippy::unused_unit, reason = "a C signature")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::edge::missing_value::<$lib, $ret>(&__rows::$name)
        }
    };
    ($lib:ident; [$($meta:tt)*] $name:ident ($($arg:ident : $ty:ty),*) [$ret:ty] [] $absent:expr) => {
        $($meta)*
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, unused_variables, clippy::missing_safety_doc, clippy::too_many_arguments, reason = "a C signature")]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            $crate::edge::missing_as::<$lib, $ret>(&__rows::$name, $absent)
        }
    };
    ($lib:ident; absent $name:ident) => {
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, clippy::missing_safety_doc, reason = "a C signature")]
        pub unsafe extern "C" fn $name() -> i32 {
            $crate::edge::missing_status::<$lib>(&__absent::$name)
        }
    };
}
