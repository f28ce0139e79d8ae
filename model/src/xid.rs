//! What an Xid says and what it calls for.
//! Only codes whose consequence differs are told apart; texts belong to whoever writes the log line.

use serde::{Deserialize, Serialize};

use crate::gpu::RecoveryAction;

/// One report, as the ring keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Xid {
    /// NVIDIA's number.
    pub code: u32,
    /// When, in the caller's clock.
    pub time_ns: u64,
    /// The process it is blamed on.
    pub pid: Option<u32>,
}

/// How far the damage goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XidEffect {
    /// The blamed process loses its contexts; others go on.
    Process,
    /// Every context on the GPU is lost and the GPU needs a reset.
    Gpu,
    /// The GPU is gone from the bus until the tray is rebooted.
    Bus,
    /// Logged; nothing stops.
    None,
}

impl XidEffect {
    /// The effect of a code (NVIDIA's public Xid catalogue, from general knowledge).
    #[must_use]
    pub const fn of(code: u32) -> Self {
        match code {
            // Illegal instruction or access, page fault, stopped channel, contained memory error.
            13 | 31 | 43 | 45 | 68 | 69 | 94 => Self::Process,
            // Double bit error, halted microcontroller, uncontained memory error, GSP failure, unrecovered ECC, NVLink fatal.
            48 | 61 | 62 | 64 | 74 | 95 | 109 | 110 | 119 | 120 | 136 | 140 | 143 => Self::Gpu,
            79 => Self::Bus,
            _ => Self::None,
        }
    }

    /// What an administrator has to do.
    #[must_use]
    pub const fn recovery(self) -> RecoveryAction {
        match self {
            Self::Process | Self::None => RecoveryAction::None,
            Self::Gpu => RecoveryAction::Reset,
            Self::Bus => RecoveryAction::Reboot,
        }
    }
}
