//! The library side of a tray: shared pages, stream timelines, waiting, attach.
//! Knows no library (CUDA, NVML) and no transport; it never prints and never starts a thread.
//!
//! - [`layout`]: the bytes of the facts page and of a process page, and their hash
//! - [`region`]: memfds, seals and maps (the unsafe room)
//! - [`facts`]: publish by ghostd, read by everybody else
//! - [`busy`]: what a process says it keeps busy, and how ghostd reads it
//! - [`wire`]: frames of `ghostd.sock`
//! - [`client`]: attach and ask
//! - [`place`]: which tray a process belongs to
//! - [`timeline`]: streams and backlogs, pure arithmetic
//! - [`wait`]: sleeping until a simulated end
//! - [`clock`]: the one place that reads the time

pub mod busy;
pub mod client;
pub mod clock;
pub mod facts;
pub mod layout;
pub mod place;
pub mod region;
pub mod timeline;
pub mod wait;
pub mod wire;
