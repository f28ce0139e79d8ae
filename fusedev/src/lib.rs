//! ghostd's parts: one tray's single writer, memory ledger and instruments. The daemon itself is `main.rs`; the pure
//! parts here read no clock and own no socket, so that they can be tested without either.
//!
//! - [`tray`]: the state, and what each frame does to it; [`tick`]: what each beat does; [`status`]: all of it in words
//! - [`ledger`], [`meter`], [`window`], [`telemetry`], [`peers`], [`calls`], [`session`]: pure parts
//! - [`holders`], [`process`]: what the kernel says about other processes
//! - [`hardware`], [`change`], [`show`], [`journal`], [`xid_log`]: the machine, its changes, and where they show
//! - [`serve`], [`ticker`]: the loop; [`owners`]: BMC and fabric; [`nodes`], [`procfs`]: the files;
//!   [`fuzz`]: an entry for fuzzers

pub mod calls;
pub mod change;
pub mod fuzz;
pub mod hardware;
pub mod holders;
pub mod journal;
pub mod ledger;
pub mod meter;
pub mod nodes;
pub mod owners;
pub mod peers;
pub mod process;
pub mod procfs;
pub mod serve;
pub mod session;
pub mod show;
pub mod status;
pub mod telemetry;
pub mod tick;
pub mod ticker;
pub mod tray;
pub mod window;
pub mod xid_log;
