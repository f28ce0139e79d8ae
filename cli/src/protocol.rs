//! What is said on `$RUN/rack.sock`: one JSON object a line, one answer a line; `follow` is answered until all is up.
//! Only shapes live here. Names and fields are stable: BMCs speak this too, as their power hook.
//!
//! ```text
//! {"ask":"status"}                                          state of every tray
//! {"ask":"list"}                                            trays and their directories
//! {"ask":"power","tray":1,"action":"cycle","force":false}   answered when the tray is so
//! {"ask":"follow"}                                          status at every step until every tray is as desired
//! {"ask":"stop"}                                            answered when every ghostd is gone
//! ```

use std::path::PathBuf;

use ghost_model::{PowerAction, PowerState};
use serde::{Deserialize, Serialize};

/// A question to the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    Status,
    List,
    Power {
        tray: usize,
        action: PowerAction,
        /// Kill ghostd instead of asking it to end, as pulling the plug does.
        #[serde(default)]
        force: bool,
    },
    Follow,
    Stop,
}

/// An answer. What does not belong to the question is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<RackState>,
}

/// The rack as its supervisor sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RackState {
    pub name: String,
    pub run_dir: PathBuf,
    /// The supervisor's.
    pub pid: u32,
    pub trays: Vec<TrayState>,
}

/// One tray as the supervisor sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrayState {
    pub tray: usize,
    pub name: String,
    pub gpus: u8,
    pub directory: PathBuf,
    /// What was asked for.
    pub desired: PowerState,
    pub phase: Phase,
    /// ghostd's, while it runs.
    pub pid: Option<u32>,
    /// How often it died and was started again.
    pub restarts: u32,
    /// How it ended last, and the last thing it said, if it died by itself.
    pub last_exit: Option<String>,
}

/// Where a tray's ghostd is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not running, and not meant to.
    Off,
    /// Running, not ready yet.
    Starting,
    Ready,
    /// Told to end.
    Stopping,
    /// Died; about to be started again.
    Waiting,
}

impl TrayState {
    /// As it was asked to be.
    pub fn settled(&self) -> bool {
        matches!((self.desired, self.phase), (PowerState::On, Phase::Ready) | (PowerState::Off, Phase::Off))
    }
}

impl Answer {
    pub fn ok() -> Answer {
        Answer { ok: true, ..Answer::default() }
    }

    pub fn error(message: impl Into<String>) -> Answer {
        Answer { error: Some(message.into()), ..Answer::default() }
    }

    pub fn rack(rack: RackState) -> Answer {
        Answer { ok: true, rack: Some(rack), ..Answer::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_read_as_documented() {
        let read = |line: &str| serde_json::from_str::<Ask>(line).unwrap();
        assert_eq!(read(r#"{"ask":"stop"}"#), Ask::Stop);
        let power = read(r#"{"ask":"power","tray":1,"action":"cycle"}"#);
        assert_eq!(power, Ask::Power { tray: 1, action: PowerAction::Cycle, force: false });
        assert!(serde_json::from_str::<Ask>(r#"{"ask":"power","tray":1,"action":"melt"}"#).is_err());
    }
}
