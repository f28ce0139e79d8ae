//! The supervisor: one process that starts a ghostd for each tray, starts again what dies, holds the desired power
//! state and serves `rack.sock`. It knows nothing of GPUs, and it never waits for anybody.

mod clients;
mod lock;
mod log;
mod tray;

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::parts::Parts;
use crate::protocol::{Answer, Ask, Phase, RackState};
use crate::rack_source::Source;
use crate::run_dir::{RunDir, with_short_path};
use crate::spawn::Ghostd;
use clients::{Client, Wait};
pub use lock::{Occupied, RackLock, occupy};
use log::Log;
use tray::Tray;

/// Connections at once.
const MOST_CLIENTS: usize = 64;

/// A rack being supervised.
#[derive(Debug)]
pub struct Supervisor {
    run_dir: RunDir,
    rack_name: String,
    ghostd: Ghostd,
    trays: Vec<Tray>,
    listener: UnixListener,
    clients: Vec<Client>,
    signals: SignalFd,
    /// Ends the rack when its other end closes.
    lifeline: Option<std::io::Stdin>,
    log: Log,
    stopping: bool,
    /// Held while the rack is up: nobody else starts one here.
    _lock: RackLock,
}

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// Standard input is a pipe whose end is the rack's end.
    pub lifeline: bool,
    /// Log lines go to standard error too.
    pub aloud: bool,
}

impl Supervisor {
    /// Takes the run directory and listens; trays start with `run`.
    pub fn new(run_dir: RunDir, source: &Source, parts: &Parts, manner: Manner) -> anyhow::Result<Supervisor> {
        let program = parts.ghostd()?;
        let signals = catch_signals()?;
        nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
        let lock = occupy(&run_dir)?;
        take_over(&run_dir, source)?;
        let mut log = Log::open(&run_dir.log_dir(), manner.aloud).context("log file of the rack")?;
        if let Err(error) = run_dir.make_links(parts) {
            log.line("rack", &format!("links to the libraries: {error}"));
        }
        let listener = listen(&run_dir.rack_socket())?;
        let trays = source.rack.trays.iter().enumerate();
        let trays = trays.map(|(index, tray)| Tray::new(index, tray, run_dir.tray(index))).collect();
        Ok(Supervisor {
            rack_name: source.rack.name.clone(),
            ghostd: Ghostd { program, rack: run_dir.rack_file() },
            run_dir,
            trays,
            listener,
            clients: Vec::new(),
            signals,
            lifeline: manner.lifeline.then(std::io::stdin),
            log,
            stopping: false,
            _lock: lock,
        })
    }

    /// Runs the rack until it is told to stop, then removes the run directory.
    pub fn run(mut self) -> anyhow::Result<()> {
        self.log.line("rack", &format!("{} with {} trays", self.rack_name, self.trays.len()));
        let now = Instant::now();
        self.trays.iter_mut().for_each(|tray| tray.power(ghost_model::PowerAction::On, false, now));
        loop {
            self.advance();
            if self.stopping && self.trays.iter().all(|tray| tray.phase() == Phase::Off) {
                break;
            }
            self.wait()?;
            self.listen();
        }
        self.log.line("rack", "is down");
        self.run_dir.remove();
        for client in self.clients.iter_mut().filter(|client| client.waits == Some(Wait::Stop)) {
            client.tell(&Answer::ok());
        }
        Ok(())
    }

    fn advance(&mut self) {
        let now = Instant::now();
        for tray in &mut self.trays {
            let (name, log) = (tray.name.clone(), &mut self.log);
            tray.advance(now, &self.ghostd, &mut |line| log.line(&name, line));
        }
        let state = self.state();
        let starts: Vec<_> = self.trays.iter().map(|tray| tray.starts).collect();
        let failures: Vec<_> = self.trays.iter().map(|tray| tray.failures).collect();
        self.clients.iter_mut().for_each(|client| client.answer_if_due(&state, &starts, &failures));
        self.clients.retain(|client| !client.is_done());
    }

    fn state(&self) -> RackState {
        RackState {
            name: self.rack_name.clone(),
            run_dir: self.run_dir.path().to_owned(),
            pid: std::process::id(),
            trays: self.trays.iter().map(Tray::state).collect(),
        }
    }

    /// Sleeps until something happens or is due.
    fn wait(&self) -> anyhow::Result<()> {
        let fixed = [self.listener.as_fd(), self.signals.as_fd()];
        let lifeline = self.lifeline.as_ref().map(AsFd::as_fd);
        let clients = self.clients.iter().filter(|client| !client.ended).map(|client| client.stream.as_fd());
        let trays = self.trays.iter().flat_map(Tray::descriptors);
        let all: Vec<BorrowedFd<'_>> = fixed.into_iter().chain(lifeline).chain(clients).chain(trays).collect();
        let mut polled: Vec<_> = all.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let due = self.trays.iter().filter_map(Tray::deadline).min();
        let timeout = due.map_or(PollTimeout::NONE, |due| milliseconds_until(due, Instant::now()));
        match poll(&mut polled, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error).context("wait for events"),
        }
    }

    fn listen(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo != Signal::SIGCHLD as u32 {
                self.stop();
            }
        }
        if self.lifeline.as_ref().is_some_and(|lifeline| has_ended(lifeline.as_fd())) {
            self.lifeline = None;
            self.stop();
        }
        while let Ok((stream, _)) = self.listener.accept() {
            if self.clients.len() < MOST_CLIENTS {
                self.clients.extend(Client::new(stream));
            }
        }
        for place in 0..self.clients.len() {
            while let Some(question) = self.clients[place].next() {
                self.answer(place, question);
            }
        }
    }

    fn answer(&mut self, place: usize, question: Result<Ask, String>) {
        let answer = match question {
            Err(why) => Answer::error(why),
            Ok(Ask::Status | Ask::List) => Answer::rack(self.state()),
            Ok(Ask::Follow) => return self.clients[place].waits = Some(Wait::Follow { told: None }),
            Ok(Ask::Stop) => {
                self.stop();
                return self.clients[place].waits = Some(Wait::Stop);
            }
            Ok(Ask::Power { .. }) if self.stopping => Answer::error("the rack is being taken down"),
            Ok(Ask::Power { tray, action, force }) => match self.trays.get_mut(tray) {
                None => Answer::error(format!("tray {tray}: this rack has trays 0 to {}", self.trays.len() - 1)),
                Some(found) => {
                    let starts = found.starts + u32::from(action == ghost_model::PowerAction::Cycle);
                    self.log.line(&found.name, &format!("power {action:?}"));
                    found.power(action, force, Instant::now());
                    return self.clients[place].waits = Some(Wait::Power { tray, starts });
                }
            },
        };
        self.clients[place].tell(&answer);
    }

    fn stop(&mut self) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        let now = Instant::now();
        self.trays.iter_mut().for_each(|tray| tray.power(ghost_model::PowerAction::Off, false, now));
    }
}

/// Clears what a dead supervisor left; trays remember only what the same rack file said.
fn take_over(run_dir: &RunDir, source: &Source) -> anyhow::Result<()> {
    let file = run_dir.rack_file();
    if std::fs::read_to_string(&file).is_ok_and(|old| old != source.text) {
        run_dir.remove_trays();
    }
    std::fs::write(&file, &source.text).with_context(|| format!("{}: cannot be written", file.display()))
}

fn listen(path: &Path) -> anyhow::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::remove_file(path);
    let shown = || format!("{}: cannot listen here", path.display());
    let listener = with_short_path(path, |path| UnixListener::bind(path)).with_context(shown)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).with_context(shown)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn catch_signals() -> anyhow::Result<SignalFd> {
    let set: SigSet = [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    set.thread_block().context("block signals")?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).context("signalfd")
}

fn has_ended(lifeline: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(lifeline, PollFlags::POLLIN)];
    let ready = poll(&mut polled, PollTimeout::ZERO).unwrap_or(0) > 0;
    ready && nix::unistd::read(lifeline, &mut [0; 16]).map_or(true, |n| n == 0)
}

fn milliseconds_until(due: Instant, now: Instant) -> PollTimeout {
    let left = due.saturating_duration_since(now) + Duration::from_micros(999);
    PollTimeout::try_from(left.as_millis().min(60_000)).unwrap_or(PollTimeout::ZERO)
}
