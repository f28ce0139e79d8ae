//! How an exported C function is declared: one row per symbol, its handler below it.
//! It knows no library, no machine and no engine, and never prints.
//!
//! A library crate names itself once with [`library!`], its error codes once with [`status!`],
//! and then writes one [`rows!`] block per file. A row with an arrow is implemented; a row
//! without one answers the library's not-supported value and is counted. Names nobody will
//! implement soon go into [`absent!`], without signatures. Handlers are safe Rust: their
//! pointer arguments are lenses ([`Out`], [`In`], [`Text`] ...), whose unsafety sits in `lens.rs`.
//!
//! ```
//! # mod demo {
//! // lib.rs: the library, its codes, its table.
//! ghost_abi::library! {
//!     /// The library `libdemo.so.1`.
//!     pub Demo { name: "libdemo", not_supported: 801, panic: 999, invalid_argument: 1 }
//! }
//!
//! ghost_abi::status! {
//!     /// Why a call failed.
//!     pub Error for Demo { InvalidValue = 1, OutOfMemory = 2 } faults: InvalidValue
//! }
//!
//! /// Every row of the library, for coverage and for look-up by name.
//! pub static TABLE: ghost_abi::Table = &[memory::ROWS, rest::ABSENT];
//!
//! // memory.rs: rows first, then their handlers.
//! pub mod memory {
//!     use super::{Demo, Error};
//!     use ghost_abi::{Out, Text};
//!     use std::ffi::{c_char, c_void};
//!
//!     ghost_abi::rows! { Demo;
//!         fn demoMalloc(ptr: Out<*mut c_void>, size: usize) => malloc;
//!         fn demoName(text: Text, len: u32) => name;
//!         since 12000 fn demoVersion() -> u32 => version;
//!         fn demoFree(ptr: *mut c_void);
//!         fn demoMotto() -> *const c_char;
//!     }
//!
//!     fn malloc(ptr: Out<*mut c_void>, size: usize) -> Result<(), Error> {
//!         ptr.check()?;
//!         let address = size.checked_mul(2).ok_or(Error::OutOfMemory)?;
//!         Ok(ptr.set(address as *mut c_void)?)
//!     }
//!
//!     fn name(text: Text, len: u32) -> Result<(), Error> {
//!         Ok(text.set(len as usize, "demo")?)
//!     }
//!
//!     fn version() -> u32 {
//!         12000
//!     }
//! }
//!
//! // rest.rs: names only.
//! pub mod rest {
//!     use super::Demo;
//!     ghost_abi::absent! { Demo; demoAxpy demoScal }
//! }
//! # }
//! # use demo::{TABLE, memory::*, rest::*};
//! # fn main() {
//! let mut address = std::ptr::null_mut();
//! // SAFETY: `Out` borrows a live variable for the call.
//! unsafe {
//!     assert_eq!(demoMalloc(ghost_abi::Out::from_raw(&mut address), 8), 0);
//!     assert_eq!(demoMalloc(ghost_abi::Out::from_raw(std::ptr::null_mut()), 8), 1);
//!     assert_eq!(demoFree(address), 801);
//!     assert!(demoMotto().is_null());
//!     assert_eq!(demoAxpy(), 801);
//! }
//! let row = ghost_abi::find(TABLE, "demoVersion").expect("a row");
//! assert!(row.is_implemented() && row.since() == 12000);
//! assert_eq!(ghost_abi::find(TABLE, "demoFree").map(ghost_abi::Row::calls), Some(1));
//! # }
//! ```
//!
//! One file holds at most one `rows!` and one `absent!` (they define `ROWS` and `ABSENT`).
//! Exported names are `no_mangle` only outside `cfg(test)`, so that a unit test does not shadow
//! a real library; rows can still be called by path in tests.

mod answer;
#[doc(hidden)]
pub mod edge;
mod lens;
mod library;
mod missing;
mod record;
mod row;
mod rows;
mod selfdescription;

pub use answer::{Answer, Blank, Status};
pub use edge::panics;
pub use lens::{AnyVersion, CStrIn, Fault, In, InList, InOut, MaybeIn, MaybeOut, Out, OutList, Text, ask, ask_text};
pub use library::Library;
pub use missing::{Reporter, set_reporter};
pub use record::{Plain, Versioned};
pub use row::{Row, Rows, Table, find};
pub use selfdescription::{Texts, Version};
