//! Owners at the tray: their sessions live in a thread of their own, started when the first one dials; what they ask is
//! done here, in the loop's thread. No owner can make the loop wait.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, mpsc};

use ghost_engine::layout::{Facts, GpuFacts, LinkFacts};
use ghost_model::{Change, Event};
use ghost_owners::proto::from_tray::Message;
use ghost_owners::proto::{Gpu, Hca, Hello, Link, Outcome, Refused, Telemetry, Welcome};
use ghost_owners::server::{self, Outlet, Request, SessionId};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::tray::Tray;

const MILLISECOND_NS: u64 = 1_000_000;
/// Telemetry at most this often.
const FASTEST_NS: u64 = 100 * MILLISECOND_NS;

#[derive(Debug)]
struct Session {
    owner: String,
    outlet: Outlet,
    /// 0 = none.
    telemetry_every_ns: u64,
    telemetry_due_ns: u64,
}

/// The owners of this tray's facts.
#[derive(Debug)]
pub struct Owners {
    /// Taken by the thread when it starts.
    listener: Option<UnixListener>,
    wake: Arc<EventFd>,
    sender: mpsc::Sender<Request>,
    requests: mpsc::Receiver<Request>,
    sessions: BTreeMap<SessionId, Session>,
}

impl Owners {
    pub fn new(listener: UnixListener) -> io::Result<Owners> {
        let (sender, requests) = mpsc::channel();
        let wake = Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?);
        Ok(Owners { listener: Some(listener), wake, sender, requests, sessions: BTreeMap::new() })
    }

    /// Readable when the first owner dials; `None` after [`Owners::start`].
    pub fn listener(&self) -> Option<&UnixListener> {
        self.listener.as_ref()
    }

    /// Readable when there are requests.
    pub fn wake(&self) -> BorrowedFd<'_> {
        (*self.wake).as_fd()
    }

    /// Starts the thread that serves the socket.
    pub fn start(&mut self) -> io::Result<()> {
        let Some(listener) = self.listener.take() else {
            return Ok(());
        };
        let (wake, sender) = (Arc::clone(&self.wake), self.sender.clone());
        let deliver = move |request| sender.send(request).is_ok() && wake.write(1).is_ok();
        let serve = move || {
            if let Err(error) = server::serve(listener, deliver) {
                tracing::error!(%error, "owners are no longer served");
            }
        };
        std::thread::Builder::new().name("owners".to_owned()).stack_size(512 * 1024).spawn(serve).map(drop)
    }

    /// Does what owners have asked since the last call.
    pub fn serve(&mut self, tray: &mut Tray, now_ns: u64) {
        let _ = self.wake.read();
        while let Ok(request) = self.requests.try_recv() {
            match request {
                Request::Opened { session, hello, outlet } => self.open(session, &hello, outlet, tray, now_ns),
                Request::Change { session, id, changes } => self.change(session, id, &changes, tray),
                Request::Closed { session } => {
                    if let Some(gone) = self.sessions.remove(&session) {
                        tracing::info!(owner = gone.owner, "owner has gone; what it asserted stays");
                    }
                }
            }
        }
    }

    /// Tells every owner what changes did.
    pub fn tell(&mut self, events: &[Event]) {
        for event in events {
            let text = serde_json::to_string(event).unwrap_or_default();
            self.sessions.retain(|_, session| keep(session, session.outlet.offer(Message::Event(text.clone()))));
        }
    }

    /// Sends telemetry to those for whom it is time.
    pub fn telemetry(&mut self, tray: &Tray, now_ns: u64) {
        // A beat may come a little early.
        let is_due = |s: &Session| s.telemetry_every_ns != 0 && s.telemetry_due_ns <= now_ns + 5 * MILLISECOND_NS;
        if !self.sessions.values().any(is_due) {
            return;
        }
        let total_bytes = tray.hardware.profile.memory.total_bytes();
        let message = telemetry(tray.publisher.draft(), total_bytes, now_ns);
        for session in self.sessions.values_mut().filter(|session| is_due(session)) {
            session.telemetry_due_ns = now_ns + session.telemetry_every_ns;
            // The next one says it all again: one that finds no room is no loss.
            session.outlet.offer(Message::Telemetry(message.clone()));
        }
    }

    fn open(&mut self, id: SessionId, hello: &Hello, outlet: Outlet, tray: &Tray, now_ns: u64) {
        let owner: String = hello.owner.chars().filter(|c| !c.is_control()).take(64).collect();
        let machine = &tray.hardware.machine;
        let welcome = Welcome {
            tray: u32::from(machine.tray.0),
            name: machine.name.clone(),
            boot_id: tray.boot_id,
            machine: serde_json::to_string(machine).unwrap_or_default(),
        };
        let telemetry_every_ns = match u64::from(hello.telemetry_milliseconds) * MILLISECOND_NS {
            0 => 0,
            asked => asked.max(FASTEST_NS),
        };
        if outlet.offer(Message::Welcome(welcome)) {
            tracing::info!(owner, "owner has come");
            self.sessions.insert(id, Session { owner, outlet, telemetry_every_ns, telemetry_due_ns: now_ns });
        }
    }

    fn change(&mut self, session: SessionId, id: u64, changes: &[String], tray: &mut Tray) {
        let Some(owner) = self.sessions.get(&session).map(|session| session.owner.clone()) else {
            return;
        };
        let made = changes.iter().map(|change| make(change, tray)).zip(0..);
        let refused: Vec<Refused> =
            made.filter_map(|(made, index)| Some(Refused { index, reason: made.err()? })).collect();
        for Refused { index, reason } in &refused {
            tracing::warn!(owner, change = changes[*index as usize], reason, "an owner's change was refused");
        }
        if id != 0
            && let Some(session) = self.sessions.get(&session)
        {
            session.outlet.offer(Message::Outcome(Outcome { id, refused }));
        }
    }
}

/// One change of an owner; the refusal as JSON.
fn make(change: &str, tray: &mut Tray) -> Result<(), String> {
    let change: Change = serde_json::from_str(change)
        .map_err(|error| serde_json::json!({"refusal": "malformed", "message": error.to_string()}).to_string())?;
    tray.change(&change).map(drop).map_err(|refused| refused.to_json())
}

/// A session whose owner does not keep up ends; the owner comes back and asserts again.
fn keep(session: &Session, told: bool) -> bool {
    if !told {
        tracing::warn!(owner = session.owner, "owner does not keep up; its session ends");
    }
    told
}

fn telemetry(facts: &Facts, memory_total_bytes: u64, at_ns: u64) -> Telemetry {
    let tray = &facts.tray;
    let gpus = facts.gpus.iter().take(tray.gpu_count as usize);
    let hcas = facts.hcas.iter().take(tray.hca_count as usize);
    Telemetry {
        at_ns,
        power_on: tray.power_on == 1,
        host_behind_ns: tray.host_behind_ns,
        gpus: gpus.map(|gpu| gpu_telemetry(gpu, memory_total_bytes)).collect(),
        hcas: hcas.map(|hca| Hca { up: hca.up == 1, tx_bytes: hca.tx_bytes, rx_bytes: hca.rx_bytes }).collect(),
    }
}

fn gpu_telemetry(gpu: &GpuFacts, memory_total_bytes: u64) -> Gpu {
    let live = &gpu.live;
    let link = |l: &LinkFacts| Link {
        up: l.up == 1,
        tx_bytes: l.tx_bytes,
        rx_bytes: l.rx_bytes,
        downed_count: l.downed_count,
    };
    Gpu {
        utilization_percent: live.gpu_utilization,
        memory_utilization_percent: live.memory_utilization,
        power_milliwatts: live.power_average_milliwatts,
        module_power_milliwatts: live.module_power_milliwatts,
        temperature_millidegrees: live.temperature_millicelsius,
        sm_clock_mhz: live.sm_clock_mhz,
        energy_millijoules: live.energy_millijoules,
        memory_used_bytes: live.memory_used_bytes,
        memory_total_bytes,
        processes: live.holders,
        xid_count: gpu.xid_count,
        clocks_event_reasons: live.clocks_event_reasons,
        links: gpu.links.iter().filter(|l| l.speed_mbps != 0).map(link).collect(),
    }
}
