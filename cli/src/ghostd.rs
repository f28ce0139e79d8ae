//! Asking a tray's ghostd as an operator: status, missing calls, changes.
//! It knows the tray's words only as far as the command shows them.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use ghost_engine::client::{Client, Failure};
use ghost_engine::place::Place;
use ghost_engine::wire::{Frame, Message, Role};
use ghost_model::Change;
use serde::Deserialize;
use serde_json::Value;

/// How long a status may take on a machine that can hardly keep up.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to one tray's ghostd.
#[derive(Debug)]
pub struct Ghostd {
    client: Client,
}

/// What of ghostd's status the command reads itself; `status --json` passes all of it on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct TrayStatus {
    pub rung: String,
    pub rung_reason: String,
    pub uptime_seconds: u64,
    pub host_behind_milliseconds: u64,
    pub save_error: Option<String>,
    pub gpus: Vec<GpuStatus>,
    pub holders: Vec<HolderStatus>,
    pub missing_count: usize,
    pub unredirected: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct GpuStatus {
    pub index: usize,
    pub lost: bool,
    pub memory_used_bytes: u64,
    pub memory_usable_bytes: u64,
    pub gpu_utilization_percent: u32,
    pub power_milliwatts: u32,
    pub temperature_millicelsius: i32,
    pub links_up: usize,
    pub links: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HolderStatus {
    pub gpu: usize,
    pub pid: u32,
    pub name: String,
}

impl Ghostd {
    /// Connects to the ghostd that serves this tray's directory.
    pub fn connect(directory: &Path) -> anyhow::Result<Ghostd> {
        let place = Place { socket: directory.join("ghostd.sock"), dev_root: directory.join("dev") };
        let shown = place.socket.display().to_string();
        match Client::attach(place, Role::Operator) {
            Ok(client) => Ok(Ghostd { client }),
            Err(failure) => Err(worded(failure)).context(shown),
        }
    }

    /// The status as ghostd words it.
    pub fn status_json(&self) -> anyhow::Result<Value> {
        let text = self.client.read_all(Message::Status).map_err(worded)?;
        serde_json::from_slice(&text).context("ghostd's status cannot be read")
    }

    pub fn status(&self) -> anyhow::Result<TrayStatus> {
        serde_json::from_value(self.status_json()?).context("ghostd's status cannot be read")
    }

    /// Lines `count library function`.
    pub fn missing(&self) -> anyhow::Result<String> {
        let text = self.client.read_all(Message::MissingList).map_err(worded)?;
        String::from_utf8(text).context("ghostd's list of missing functions cannot be read")
    }

    /// Makes a change; the events are returned as JSON.
    pub fn apply(&self, change: &Change) -> anyhow::Result<Value> {
        let frame = Frame::ask(Message::Apply, &[]).with_data(serde_json::to_vec(change)?);
        let reply = self.client.ask(frame).map_err(worded)?;
        serde_json::from_slice(&reply.data).context("ghostd's events cannot be read")
    }
}

fn worded(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::NoTray(error) => anyhow::anyhow!("ghostd does not answer ({error}); is the tray on?"),
        Failure::OtherLayout { .. } => {
            anyhow::anyhow!("ghostd is of another version than this command; take the rack down and up again")
        }
        Failure::Gone => anyhow::anyhow!("ghostd hung up"),
        Failure::Answer(status, data) => {
            let text = String::from_utf8_lossy(&data).into_owned();
            let refusal = serde_json::from_str::<Value>(&text).ok();
            let message = refusal.as_ref().and_then(|value| value["message"].as_str());
            match message.unwrap_or(&text) {
                "" => anyhow::anyhow!("ghostd refused: {status:?}"),
                message => anyhow::anyhow!("{message}"),
            }
        }
    }
}

/// As `Ghostd::connect`, with a note on which tray is meant.
pub fn of_tray(directory: &Path, name: &str) -> anyhow::Result<Ghostd> {
    match Ghostd::connect(directory) {
        Ok(ghostd) => Ok(ghostd),
        Err(error) => bail!("{name}: {error:#}"),
    }
}

/// The status of a tray, or none if its ghostd does not answer soon: one that hangs must not hang those who look.
pub fn status_soon(directory: &Path) -> Option<Value> {
    let (send, receive) = std::sync::mpsc::channel();
    let directory = directory.to_owned();
    std::thread::spawn(move || send.send(Ghostd::connect(&directory).and_then(|ghostd| ghostd.status_json())));
    receive.recv_timeout(PATIENCE).ok()?.ok()
}

/// As `status_soon`, in the command's own words.
pub fn read_soon(directory: &Path) -> Option<TrayStatus> {
    serde_json::from_value(status_soon(directory)?).ok()
}
