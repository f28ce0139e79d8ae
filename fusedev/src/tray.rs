//! The tray: machine, ledger, holders, instruments, and what each frame does to them. The single writer of the
//! facts page. It owns no socket and no loop: frames and times are arguments.

use std::collections::BTreeMap;
use std::io;

use ghost_engine::facts::Publisher;
use ghost_engine::layout::{LAYOUT_HASH, MAX_GPUS};
use ghost_engine::wire::{Frame, Message, Role, Status};
use ghost_model::{ComputeMode, Event, PowerState, RecoveryAction};

use crate::calls::Calls;
use crate::hardware::Hardware;
use crate::holders::Holders;
use crate::journal::Journal;
use crate::ledger::{Full, HolderId, Ledger};
use crate::peers::{Caps, Peers};
use crate::session::{Answer, Session};
use crate::show;
use crate::telemetry::{GpuTelemetry, ProcessTelemetry};
use crate::xid_log::XidLog;

/// Everything one ghostd knows.
#[derive(Debug)]
pub struct Tray {
    pub(crate) boot_id: u64,
    pub(crate) started_ns: u64,
    /// Who may change the machine, besides root.
    pub(crate) own_uid: u32,
    pub(crate) hardware: Hardware,
    /// None in tests without files.
    pub(crate) journal: Option<Journal>,
    pub(crate) xid_log: Option<XidLog>,
    /// Why the last change could not be saved.
    pub(crate) save_error: Option<String>,
    /// Holders whose tray was switched off; the loop closes their connections.
    pub(crate) evicted: Vec<HolderId>,
    /// Events that owners have not been told yet.
    pub(crate) news: Vec<Event>,
    pub(crate) publisher: Publisher,
    pub(crate) ledger: Ledger,
    pub(crate) holders: Holders,
    pub(crate) peers: Peers,
    pub(crate) calls: Calls,
    pub(crate) gpus: Vec<GpuTelemetry>,
    pub(crate) processes: BTreeMap<(HolderId, usize), ProcessTelemetry>,
    pub(crate) last_tick_ns: u64,
    pub(crate) behind_ns: u64,
}

impl Tray {
    /// A tray without files: what is in `hardware` is not saved and Xids are not logged.
    pub fn new(hardware: Hardware, boot_id: u64, caps: Caps, now_ns: u64) -> io::Result<Tray> {
        let profile = serde_json::to_string(hardware.profile).map_err(io::Error::other)?;
        let publisher = Publisher::new(boot_id, &profile)?;
        let mut usable_bytes = [0; MAX_GPUS];
        usable_bytes[..hardware.machine.gpus.len()].fill(hardware.profile.memory.usable_bytes());
        let mut tray = Tray {
            boot_id,
            started_ns: now_ns,
            own_uid: nix::unistd::geteuid().as_raw(),
            ledger: Ledger::new(usable_bytes),
            gpus: hardware.machine.gpus.iter().map(|gpu| GpuTelemetry::new(&hardware, gpu)).collect(),
            hardware,
            publisher,
            journal: None,
            xid_log: None,
            save_error: None,
            evicted: Vec::new(),
            news: Vec::new(),
            holders: Holders::default(),
            peers: Peers::new(caps),
            calls: Calls::default(),
            processes: BTreeMap::new(),
            last_tick_ns: now_ns,
            behind_ns: 0,
        };
        tray.publisher.publish(|facts| show::hardware(&tray.hardware, facts));
        tray.tick(now_ns);
        Ok(tray)
    }

    /// Saves changes and logs Xids from now on.
    pub fn with_files(self, journal: Journal, xid_log: XidLog) -> Tray {
        Tray { journal: Some(journal), xid_log: Some(xid_log), ..self }
    }

    /// Holders that must go although they live: the loop releases them.
    pub fn take_evicted(&mut self) -> Vec<HolderId> {
        std::mem::take(&mut self.evicted)
    }

    /// Says to everybody that this ghostd goes away.
    pub fn close(&self) {
        self.publisher.close();
    }

    /// Answers one frame.
    pub fn handle(&mut self, session: &mut Session, frame: &Frame) -> Answer {
        if session.peer.pid == 0 {
            return foreign();
        }
        let Some(message) = Message::from_id(frame.head.id) else {
            return Answer::refuse(Status::Unknown, format!("message {} is not known here", frame.head.id));
        };
        if message == Message::Hello {
            return self.hello(session, frame);
        }
        if !session.greeted {
            return Answer::refuse(Status::Malformed, "the first message must be Hello");
        }
        match message {
            Message::Hello | Message::PageMapped => self.page_mapped(session),
            Message::MemoryTake => self.with_memory(session, frame, Tray::memory_take),
            Message::MemoryGive => self.with_memory(session, frame, Tray::memory_give),
            Message::MemoryInfo => self.memory_info(session, frame),
            Message::ContextOpen => self.with_memory(session, frame, Tray::context_open),
            Message::ContextClose => self.with_memory(session, frame, Tray::context_close),
            Message::Missing => done(self.calls.missing(&frame.data), "expected: library NUL function"),
            Message::Unredirected => done(self.calls.unredirected(&frame.data), "expected: the path of a program"),
            Message::Apply => self.apply(session, &frame.data),
            Message::Status => session.piece(frame.head.args[0], || self.status_json()),
            Message::MissingList => session.piece(frame.head.args[0], || self.calls.missing_text().into_bytes()),
            Message::Links => self.links(frame),
        }
    }

    /// The peer of `session` has hung up. What it holds stays while its process maps the page.
    pub fn hang_up(&mut self, session: &Session) {
        let Some(id) = session.holder else {
            return;
        };
        if let Some(holder) = self.holders.get_mut(id) {
            holder.connected = false;
        }
        if !self.holders.is_there(id) {
            self.release(id);
        }
    }

    /// Frees everything of one holder at once.
    pub fn release(&mut self, id: HolderId) {
        let Some(holder) = self.holders.remove(id) else {
            return;
        };
        self.ledger.close_all(id);
        self.processes.retain(|(holder, _), _| *holder != id);
        self.peers.release(holder.peer.uid);
        tracing::debug!(pid = holder.peer.pid, name = holder.name, "holder is gone");
        self.publish_holders();
    }

    fn hello(&mut self, session: &mut Session, frame: &Frame) -> Answer {
        let [layout, boot, role, ..] = frame.head.args;
        if session.greeted {
            return Answer::refuse(Status::Malformed, "Hello was said before");
        }
        if layout != LAYOUT_HASH || (boot != 0 && boot != self.boot_id) {
            let mut answer = Answer::refuse(Status::OtherLayout, "libraries and ghostd are of different versions");
            answer.args[0] = LAYOUT_HASH;
            return answer;
        }
        let mut answer = Answer::ok(&[self.boot_id, self.gpus.len() as u64, u64::from(session.peer.pid), LAYOUT_HASH]);
        answer.fds.push(self.publisher.fd());
        if role == Role::Holder as u64 {
            match self.add_holder(session) {
                Ok(page) => answer.fds.push(page),
                Err(refusal) => return refusal,
            }
        } else if role > Role::Operator as u64 {
            return Answer::refuse(Status::Malformed, "role: expected 0 (reader), 1 (holder) or 2 (operator)");
        }
        session.greeted = true;
        answer
    }

    fn add_holder(&mut self, session: &mut Session) -> Result<i32, Answer> {
        let uid = session.peer.uid;
        if !self.peers.hold(uid) {
            return Err(Answer::refuse(Status::TooMany, format!("user {uid} has as many processes here as it may")));
        }
        let added = self.holders.add(session.peer).ok().and_then(|id| Some((id, self.holders.get(id)?.page_fd()?)));
        let Some((id, page)) = added else {
            self.peers.release(uid);
            return Err(Answer::refuse(Status::TooMany, "ghostd has no descriptor or memory left for another page"));
        };
        session.holder = Some(id);
        Ok(page)
    }

    fn page_mapped(&mut self, session: &Session) -> Answer {
        let holder = session.holder.and_then(|id| self.holders.get_mut(id));
        match holder.map(|holder| holder.seal()) {
            Some(Ok(())) => Answer::ok(&[]),
            Some(Err(error)) => Answer::refuse(Status::Refused, format!("the page cannot be sealed: {error}")),
            None => Answer::refuse(Status::Malformed, "only a holder has a page"),
        }
    }

    /// For messages about memory: finds the holder and the GPU, and answers with the balance.
    fn with_memory(
        &mut self,
        session: &Session,
        frame: &Frame,
        act: fn(&mut Tray, HolderId, usize, u64) -> Result<(), Answer>,
    ) -> Answer {
        let [gpu, bytes, ..] = frame.head.args;
        let Some(gpu) = self.gpu(gpu) else {
            return no_such_gpu(gpu);
        };
        let holder = session.holder.filter(|id| self.holders.get(*id).is_some_and(|h| h.is_sealed()));
        let Some(holder) = holder else {
            return Answer::refuse(Status::Denied, "only a holder that has mapped its page has memory");
        };
        match act(self, holder, gpu, bytes) {
            Ok(()) => {
                // Before the answer: who asks the instruments next sees what it was just told.
                self.publish_holders();
                self.balance(holder, gpu)
            }
            Err(refusal) => refusal,
        }
    }

    fn memory_take(&mut self, holder: HolderId, gpu: usize, bytes: u64) -> Result<(), Answer> {
        self.must_be_there(gpu)?;
        self.ledger.take(holder, gpu, bytes).map_err(|Full| self.out_of_memory(holder, gpu))
    }

    fn memory_give(&mut self, holder: HolderId, gpu: usize, bytes: u64) -> Result<(), Answer> {
        self.ledger.give(holder, gpu, bytes);
        Ok(())
    }

    fn context_open(&mut self, holder: HolderId, gpu: usize, _bytes: u64) -> Result<(), Answer> {
        self.must_be_there(gpu)?;
        self.must_be_free(holder, gpu)?;
        let bytes = self.hardware.profile.memory.context_bytes();
        self.ledger.open_context(holder, gpu, bytes).map_err(|Full| self.out_of_memory(holder, gpu))
    }

    fn context_close(&mut self, holder: HolderId, gpu: usize, _bytes: u64) -> Result<(), Answer> {
        self.ledger.close(holder, gpu);
        self.processes.remove(&(holder, gpu));
        Ok(())
    }

    fn memory_info(&mut self, session: &Session, frame: &Frame) -> Answer {
        let gpu = frame.head.args[0];
        let Some(gpu) = self.gpu(gpu) else {
            return no_such_gpu(gpu);
        };
        match self.must_be_there(gpu) {
            Ok(()) => self.balance(session.holder.unwrap_or(HolderId(0)), gpu),
            Err(refusal) => refusal,
        }
    }

    fn links(&self, frame: &Frame) -> Answer {
        let gpu = frame.head.args[0];
        let Some(gpu) = self.gpu(gpu) else {
            return no_such_gpu(gpu);
        };
        let links = &self.publisher.draft().gpus[gpu].links;
        let mask = links.iter().enumerate().filter(|(_, link)| link.up == 1).fold(0, |mask, (i, _)| mask | 1 << i);
        Answer::ok(&[mask])
    }

    /// Compute modes: prohibited, or taken by another process. A GPU that needs a reset takes nobody new.
    fn must_be_free(&self, holder: HolderId, gpu: usize) -> Result<(), Answer> {
        let facts = &self.hardware.machine.gpus[gpu];
        if facts.xid_recovery >= RecoveryAction::Reset {
            return Err(Answer::refuse(Status::Busy, format!("GPU {gpu} needs a reset after an Xid")));
        }
        match facts.modes.compute {
            ComputeMode::Default => Ok(()),
            ComputeMode::Prohibited => Err(Answer::refuse(Status::Busy, "compute mode is prohibited")),
            ComputeMode::ExclusiveProcess => {
                let pid_of = |id| self.holders.get(id).map(|h| h.peer.pid);
                let other = self.ledger.contexts().find(|(id, g, _)| *g == gpu && pid_of(*id) != pid_of(holder));
                match other.and_then(|(id, ..)| pid_of(id)) {
                    Some(pid) => Err(Answer::refuse(Status::Busy, format!("taken exclusively by process {pid}"))),
                    None => Ok(()),
                }
            }
        }
    }

    fn must_be_there(&self, gpu: usize) -> Result<(), Answer> {
        let machine = &self.hardware.machine;
        if machine.power == PowerState::Off || machine.gpus[gpu].lost {
            return Err(Answer::refuse(Status::GpuLost, format!("GPU {gpu} has fallen off the bus or has no power")));
        }
        Ok(())
    }

    fn out_of_memory(&self, holder: HolderId, gpu: usize) -> Answer {
        Answer { status: Status::OutOfMemory, ..self.balance(holder, gpu) }
    }

    fn balance(&self, holder: HolderId, gpu: usize) -> Answer {
        let balance = self.ledger.balance(holder, gpu);
        Answer::ok(&[balance.free_bytes, balance.total_bytes, balance.used_bytes])
    }

    fn gpu(&self, gpu: u64) -> Option<usize> {
        usize::try_from(gpu).ok().filter(|gpu| *gpu < self.gpus.len())
    }
}

fn no_such_gpu(gpu: u64) -> Answer {
    Answer::refuse(Status::NoSuchGpu, format!("this tray has no GPU {gpu}"))
}

fn foreign() -> Answer {
    Answer::refuse(
        Status::ForeignPid,
        "this process lives in a pid namespace that ghostd cannot see; run ghostd in the same one, or in a parent of it",
    )
}

fn done(fine: bool, expected: &str) -> Answer {
    if fine { Answer::ok(&[]) } else { Answer::refuse(Status::Malformed, expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvl8;
    use crate::process::Credentials;

    fn tray() -> Tray {
        let mut tray = Tray::new(nvl8(), 1, Caps { connections: 2, holders: 2 }, 1).unwrap();
        tray.own_uid = 500;
        tray
    }

    fn greeted(tray: &mut Tray, uid: u32, role: Role) -> (Session, Answer) {
        let mut session = Session::new(Credentials { pid: std::process::id(), uid });
        let answer = tray.handle(&mut session, &Frame::ask(Message::Hello, &[LAYOUT_HASH, 0, role as u64]));
        (session, answer)
    }

    #[test]
    fn only_root_and_the_trays_own_user_change_the_machine() {
        let mut tray = tray();
        let cap = Frame::ask(Message::Apply, &[]).with_data(r#"{"change":"power_limit","gpu":0,"milliwatts":900000}"#);
        for (uid, status) in [(501, Status::Denied), (65_534, Status::Denied), (500, Status::Ok), (0, Status::Ok)] {
            let (mut session, _) = greeted(&mut tray, uid, Role::Operator);
            assert_eq!(tray.handle(&mut session, &cap).status, status, "uid {uid}");
        }
    }

    #[test]
    fn a_peer_of_a_foreign_pid_namespace_is_told_why() {
        let mut session = Session::new(Credentials { pid: 0, uid: 0 });
        let answer = tray().handle(&mut session, &Frame::ask(Message::Hello, &[LAYOUT_HASH, 0, 1]));
        assert_eq!(answer.status, Status::ForeignPid);
        assert!(String::from_utf8(answer.data).unwrap().contains("pid namespace"));
    }

    #[test]
    fn a_user_at_its_cap_gets_no_more_pages_and_others_still_do() {
        let mut tray = tray();
        let status: Vec<Status> =
            [7, 7, 7, 8].map(|uid| greeted(&mut tray, uid, Role::Holder).1.status).into_iter().collect();
        assert_eq!(status, [Status::Ok, Status::Ok, Status::TooMany, Status::Ok]);
    }

    #[test]
    fn a_gpu_that_needs_a_reset_takes_no_new_context_until_it_had_one() {
        let mut tray = tray();
        let gpu = ghost_model::GpuIndex(0);
        tray.change(&ghost_model::Change::Xid { gpu, code: 95, pid: None, time_ns: 0 }).unwrap();
        let (mut holder, _) = greeted(&mut tray, 0, Role::Holder);
        tray.handle(&mut holder, &Frame::ask(Message::PageMapped, &[]));
        let open =
            |tray: &mut Tray, holder: &mut Session| tray.handle(holder, &Frame::ask(Message::ContextOpen, &[0])).status;
        assert_eq!(open(&mut tray, &mut holder), Status::Busy);
        tray.change(&ghost_model::Change::GpuReset { gpu }).unwrap();
        assert_eq!(open(&mut tray, &mut holder), Status::Ok);
    }

    #[test]
    fn nobody_is_served_before_hello_and_memory_is_for_holders_that_mapped_their_page() {
        let mut tray = tray();
        let take = Frame::ask(Message::MemoryTake, &[0, 1]);
        let mut stranger = Session::new(Credentials { pid: 1, uid: 0 });
        assert_eq!(tray.handle(&mut stranger, &take).status, Status::Malformed);
        let (mut holder, _) = greeted(&mut tray, 0, Role::Holder);
        assert_eq!(tray.handle(&mut holder, &take).status, Status::Denied);
        assert_eq!(tray.handle(&mut holder, &Frame::ask(Message::PageMapped, &[])).status, Status::Ok);
        assert_eq!(tray.handle(&mut holder, &take).status, Status::Ok);
    }
}
