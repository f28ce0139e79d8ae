//! Tables written by a command, which each file names first. Nothing here is edited by hand.

pub mod driver;
pub mod runtime;
