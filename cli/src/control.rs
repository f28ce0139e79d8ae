//! The asking side of `rack.sock`, and starting a supervisor in the background.
//! It prints nothing; what came of it is the caller's to tell.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

use anyhow::{Context, bail};

use crate::parts::Parts;
use crate::protocol::{Answer, Ask, RackState};
use crate::run_dir::{RunDir, with_short_path};
use crate::spawn;

/// A connection to a supervisor.
#[derive(Debug)]
pub struct Control {
    stream: BufReader<UnixStream>,
}

impl Control {
    /// None where no supervisor listens. An error where this user may not ask, or the directory is not to be trusted.
    pub fn connect(run_dir: &RunDir) -> anyhow::Result<Option<Control>> {
        if std::fs::symlink_metadata(run_dir.path()).is_err() {
            return Ok(None);
        }
        run_dir.must_be_trusted()?;
        let socket = run_dir.rack_socket();
        match with_short_path(&socket, |path| UnixStream::connect(path)) {
            Ok(stream) => Ok(Some(Control { stream: BufReader::new(stream) })),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                Ok(None)
            }
            Err(error) => Err(error).with_context(|| {
                let uid = std::fs::metadata(run_dir.path()).map_or(0, |facts| facts.uid());
                format!("{}: only root and user {uid}, who started this rack, may do that", socket.display())
            }),
        }
    }

    /// As `connect`, where a rack is needed.
    pub fn needed(run_dir: &RunDir) -> anyhow::Result<Control> {
        Control::connect(run_dir)?.with_context(|| nothing_up(run_dir))
    }

    pub fn ask(&mut self, ask: &Ask) -> anyhow::Result<Answer> {
        self.say(ask)?;
        self.answer()?
            .context("the supervisor hung up before it answered; its log is log/rack.log in the run directory")
    }

    /// The rack's state.
    pub fn state(&mut self) -> anyhow::Result<RackState> {
        self.ask(&Ask::Status)?.rack.context("the supervisor's answer has no rack in it")
    }

    /// Shows `step` every change until it says that it is enough, or every tray is as desired.
    pub fn follow(&mut self, mut step: impl FnMut(&RackState) -> bool) -> anyhow::Result<RackState> {
        self.say(&Ask::Follow)?;
        loop {
            let rack = self.answer()?.context("the supervisor ended; its reasons were in its log")?.rack;
            let rack = rack.context("the supervisor's answer has no rack in it")?;
            if step(&rack) || rack.trays.iter().all(|tray| tray.settled()) {
                return Ok(rack);
            }
            if let Some(bad) = rack.trays.iter().find(|tray| tray.restarts >= 3 && !tray.settled()) {
                bail!("{} does not come up: {}", bad.name, bad.last_exit.as_deref().unwrap_or("no reason was given"));
            }
        }
    }

    /// The process at the other end.
    pub fn peer_pid(&self) -> Option<i32> {
        let credentials = nix::sys::socket::sockopt::PeerCredentials;
        nix::sys::socket::getsockopt(self.stream.get_ref(), credentials).ok().map(|peer| peer.pid())
    }

    fn say(&mut self, ask: &Ask) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(ask)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).context("the supervisor has ended")
    }

    fn answer(&mut self) -> anyhow::Result<Option<Answer>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).context("the supervisor has ended")? == 0 {
            return Ok(None);
        }
        let answer: Answer = serde_json::from_str(&line).context("the supervisor's answer cannot be read")?;
        match answer.error {
            Some(error) => bail!("{error}"),
            None => Ok(Some(answer)),
        }
    }
}

/// The message where a rack is needed and none is up.
pub fn nothing_up(run_dir: &RunDir) -> String {
    format!("no rack is up in {}; `ghostrack up` starts one, --run-dir names another place", run_dir.path().display())
}

/// A supervisor that was started in the background.
#[derive(Debug)]
pub struct Started {
    pub child: Child,
    /// The rack ends when this is dropped, if it was started so.
    pub lifeline: Option<ChildStdin>,
}

/// Starts `ghostrack supervise` and waits until it listens. None if somebody else's does already.
pub fn start(parts: &Parts, run_dir: &RunDir, rack: &Path, lifeline: bool) -> anyhow::Result<Option<Started>> {
    let mut command = spawn::ours(parts.executable());
    command.arg("supervise").arg("--run-dir").arg(run_dir.path()).arg("--rack").arg(rack);
    command.stdin(if lifeline { Stdio::piped() } else { Stdio::null() });
    if lifeline {
        command.arg("--lifeline");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("start the supervisor")?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("the supervisor has no pipe")?).read_line(&mut line)?;
    match line.trim_end() {
        "listening" => Ok(Some(Started { lifeline: child.stdin.take(), child })),
        other => {
            let _ = child.wait();
            match other {
                "occupied" => Ok(None),
                "" => bail!("the supervisor ended at once and said nothing"),
                why => bail!("{why}"),
            }
        }
    }
}
