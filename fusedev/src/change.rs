//! Changes at ghostd's door: who may ask, what processes forbid, and what follows when the model agrees.
//! No rule about the machine itself lives here; those are the model's.

use ghost_engine::wire::Status;
use ghost_model::{Change, Event, GpuIndex, PowerState, Refusal};
use serde_json::json;

use crate::hardware::{Hardware, is_alarming};
use crate::ledger::HolderId;
use crate::process;
use crate::session::{Answer, Session};
use crate::show;
use crate::tray::Tray;
use crate::xid_log::Line;

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message is its documentation")]
pub enum NotMade {
    #[error(transparent)]
    Model(#[from] Refusal),
    #[error("GPU {gpu} is in use by process {pid}: end it first")]
    InUse { gpu: GpuIndex, pid: u32 },
    #[error("the change could not be saved and was not made: {0}")]
    NotSaved(std::io::Error),
}

impl NotMade {
    /// For doors that need more than words: the model's refusal with its message beside it.
    pub fn to_json(&self) -> String {
        let mut value = match self {
            NotMade::Model(refusal) => serde_json::to_value(refusal).unwrap_or_default(),
            NotMade::InUse { gpu, pid } => json!({"refusal": "in_use", "gpu": gpu, "pid": pid}),
            NotMade::NotSaved(_) => json!({"refusal": "not_saved"}),
        };
        value["message"] = json!(self.to_string());
        value.to_string()
    }
}

impl Tray {
    /// `Message::Apply`: a change by an operator. The events are the answer, as JSON.
    pub(crate) fn apply(&mut self, session: &Session, change: &[u8]) -> Answer {
        let uid = session.peer.uid;
        if uid != 0 && uid != self.own_uid {
            return Answer::refuse(Status::Denied, "only root and the user who runs this tray may change it");
        }
        let change: Change = match serde_json::from_slice(change) {
            Ok(change) => change,
            Err(error) => return Answer::refuse(Status::Malformed, format!("not a change: {error}")),
        };
        match self.change(&change) {
            Ok(events) => Answer::ok(&[]).with_data(&serde_json::to_vec(&events).unwrap_or_default()),
            Err(refusal) => Answer::refuse(Status::Refused, refusal.to_json()),
        }
    }

    /// Makes a change, saves it, shows it everywhere; or refuses it and leaves all as it was.
    pub fn change(&mut self, change: &Change) -> Result<Vec<Event>, NotMade> {
        self.must_not_be_in_use(change)?;
        let stamped = stamp(change);
        let mut next = self.hardware.clone();
        let events = next.apply(&stamped)?;
        self.save(&next)?;
        self.hardware = next;
        self.publisher.publish(|facts| show::hardware(&self.hardware, facts));
        events.iter().for_each(|event| self.follow(event));
        if events.iter().any(is_alarming) {
            self.publisher.alarm();
        }
        self.news.extend(events.iter().cloned());
        Ok(events)
    }

    fn save(&mut self, next: &Hardware) -> Result<(), NotMade> {
        let same = next.machine == self.hardware.machine && next.wear == self.hardware.wear;
        let saved = match &self.journal {
            Some(journal) if !same => journal.save(next),
            _ => Ok(()),
        };
        self.save_error = saved.as_ref().err().map(ToString::to_string);
        saved.map_err(NotMade::NotSaved)
    }

    fn must_not_be_in_use(&self, change: &Change) -> Result<(), NotMade> {
        let &Change::GpuReset { gpu } = change else {
            return Ok(());
        };
        let user = self.ledger.contexts().find(|(_, used, _)| *used == gpu.index());
        match user.and_then(|(id, ..)| self.holders.get(id)) {
            Some(holder) => Err(NotMade::InUse { gpu, pid: holder.peer.pid }),
            None => Ok(()),
        }
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::Xid { gpu, code, pid, .. } => {
                let Ok(bus_id) = self.hardware.machine.gpu(*gpu).map(|gpu| gpu.bus_id) else {
                    return;
                };
                let name = pid.map(process::name).unwrap_or_default();
                let line = Line { bus_id, code: *code, pid: *pid, name: &name };
                tracing::warn!("{line}");
                if let Some(log) = &self.xid_log {
                    log.write(ghost_engine::clock::now_ns(), &line);
                }
            }
            Event::PowerChanged { state: PowerState::Off } => {
                let all: Vec<HolderId> = self.holders.iter().map(|(id, _)| id).collect();
                self.evicted.extend(all);
            }
            _ => {}
        }
    }
}

/// An Xid without a time gets this moment, in nanoseconds since the Unix epoch.
fn stamp(change: &Change) -> Change {
    match change.clone() {
        Change::Xid { gpu, code, pid, time_ns: 0 } => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            Change::Xid { gpu, code, pid, time_ns: since.as_nanos() as u64 }
        }
        other => other,
    }
}
