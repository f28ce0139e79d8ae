//! One tray's ghostd: started, watched, started again when it dies, ended when asked.
//! It decides from times given to it and never waits.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

use ghost_model::{PowerAction, PowerState};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::protocol::{Phase, TrayState};
use crate::spawn;

/// How long ghostd may take to end before it is killed.
pub const GRACE: Duration = Duration::from_secs(3);
/// A ghostd that lived this long did not fail at starting.
const SOUND: Duration = Duration::from_secs(5);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// A tray and its ghostd.
#[derive(Debug)]
pub struct Tray {
    pub index: usize,
    pub name: String,
    pub gpus: u8,
    pub directory: PathBuf,
    pub desired: PowerState,
    /// How often ghostd was started.
    pub starts: u32,
    /// Deaths in a row soon after a start.
    pub failures: u32,
    restarts: u32,
    last_exit: Option<String>,
    life: Life,
}

#[derive(Debug)]
enum Life {
    Off,
    Waiting { until: Instant },
    Running(Box<Running>),
}

#[derive(Debug)]
struct Running {
    child: Child,
    stdout: ChildStdout,
    stderr: ChildStderr,
    since: Instant,
    ready: bool,
    /// When it is killed, once it was told to end.
    deadline: Option<Instant>,
    /// What it said last, up to a line's end.
    partial: String,
    last_line: String,
}

impl Tray {
    pub fn new(index: usize, tray: &ghost_model::rack::Tray, directory: PathBuf) -> Tray {
        Tray {
            index,
            name: tray.name.clone(),
            gpus: tray.gpus,
            directory,
            desired: PowerState::On,
            starts: 0,
            failures: 0,
            restarts: 0,
            last_exit: None,
            life: Life::Off,
        }
    }

    pub fn phase(&self) -> Phase {
        match &self.life {
            Life::Off => Phase::Off,
            Life::Waiting { .. } => Phase::Waiting,
            Life::Running(running) if running.deadline.is_some() => Phase::Stopping,
            Life::Running(running) if running.ready => Phase::Ready,
            Life::Running(_) => Phase::Starting,
        }
    }

    pub fn state(&self) -> TrayState {
        let pid = match &self.life {
            Life::Running(running) => Some(running.child.id()),
            _ => None,
        };
        TrayState {
            tray: self.index,
            name: self.name.clone(),
            gpus: self.gpus,
            directory: self.directory.clone(),
            desired: self.desired,
            phase: self.phase(),
            pid,
            restarts: self.restarts,
            last_exit: self.last_exit.clone(),
        }
    }

    /// What the supervisor waits for on behalf of this tray.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let running = match &self.life {
            Life::Running(running) => Some(running),
            _ => None,
        };
        running.into_iter().flat_map(|running| [running.stdout.as_fd(), running.stderr.as_fd()])
    }

    /// When `advance` has something to do by itself.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.life {
            Life::Off => None,
            Life::Waiting { until } => Some(*until),
            Life::Running(running) => running.deadline,
        }
    }

    /// Switches the tray. `force` = by SIGKILL.
    pub fn power(&mut self, action: PowerAction, force: bool, now: Instant) {
        self.desired = if action == PowerAction::Off { PowerState::Off } else { PowerState::On };
        self.failures = 0;
        match (&mut self.life, action) {
            (Life::Running(running), PowerAction::Off | PowerAction::Cycle) => running.end(force, now),
            (Life::Waiting { .. }, PowerAction::Off) => self.life = Life::Off,
            (Life::Off, PowerAction::Off) | (Life::Running(_), PowerAction::On) => {}
            (Life::Off | Life::Waiting { .. }, _) => self.life = Life::Waiting { until: now },
        }
    }

    /// Does what is due: reads what ghostd said, buries it, starts it, kills it. `say` gets lines for the log.
    pub fn advance(&mut self, now: Instant, start: &spawn::Ghostd, say: &mut dyn FnMut(&str)) {
        if let Life::Running(running) = &mut self.life {
            running.listen(say);
            if running.deadline.is_some_and(|deadline| deadline <= now) {
                say("ghostd does not end: killing it");
                running.end(true, now);
            }
            if let Ok(Some(status)) = running.child.try_wait() {
                self.bury(status, now, say);
            }
        }
        if matches!(self.life, Life::Waiting { until } if until <= now) {
            self.start(now, start, say);
        }
    }

    fn start(&mut self, now: Instant, ghostd: &spawn::Ghostd, say: &mut dyn FnMut(&str)) {
        self.starts += 1;
        let started = ghostd.start(self.index, &self.directory).and_then(|child| Running::new(child, now));
        match started {
            Ok(running) => self.life = Life::Running(Box::new(running)),
            Err(error) => {
                say(&format!("{error:#}"));
                self.last_exit = Some(format!("{error:#}"));
                self.fail(now);
            }
        }
    }

    fn bury(&mut self, status: ExitStatus, now: Instant, say: &mut dyn FnMut(&str)) {
        let Life::Running(mut running) = std::mem::replace(&mut self.life, Life::Off) else {
            return;
        };
        running.listen(say);
        // A ghostd that was killed leaves these; a tray without power has none.
        let _ = std::fs::remove_file(self.directory.join("ghostd.sock"));
        if running.deadline.is_some() {
            let _ = std::fs::remove_dir_all(self.directory.join("dev"));
            if self.desired == PowerState::On {
                self.life = Life::Waiting { until: now };
            }
            return;
        }
        let exit = described(status, &running.last_line);
        say(&exit);
        self.last_exit = Some(exit);
        self.restarts += 1;
        if now.duration_since(running.since) >= SOUND {
            self.failures = 0;
        }
        self.fail(now);
    }

    /// Starts again: at once the first time, later and later after that.
    fn fail(&mut self, now: Instant) {
        let delay = delay_after(self.failures);
        self.failures += 1;
        self.life = Life::Waiting { until: now + delay };
    }
}

impl Running {
    fn new(mut child: Child, since: Instant) -> anyhow::Result<Running> {
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            anyhow::bail!("ghostd was started without pipes");
        };
        let (partial, last_line) = (String::new(), String::new());
        for fd in [stdout.as_fd(), stderr.as_fd()] {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Running { child, stdout, stderr, since, ready: false, deadline: None, partial, last_line })
    }

    /// Tells it to end, or ends it. Not yet reaped, so the pid is still its own.
    fn end(&mut self, force: bool, now: Instant) {
        let signal = if force { Signal::SIGKILL } else { Signal::SIGTERM };
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
        self.deadline = Some(now + GRACE);
    }

    /// Reads what it said. Its first output is `ready`.
    fn listen(&mut self, say: &mut dyn FnMut(&str)) {
        if read_available(&mut self.stdout).lines().any(|line| line == "ready") {
            self.ready = true;
            say("is ready");
        }
        self.partial.push_str(&read_available(&mut self.stderr));
        while let Some(end) = self.partial.find('\n') {
            let line: String = self.partial.drain(..=end).collect();
            say(line.trim_end());
            self.last_line = line.trim_end().to_owned();
        }
        if self.partial.len() > 64 << 10 {
            self.partial.clear();
        }
    }
}

fn delay_after(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        more => LONGEST_DELAY.min(Duration::from_millis(50) * 2u32.saturating_pow(more - 1)),
    }
}

fn read_available(from: &mut impl Read) -> String {
    let (mut all, mut buffer) = (Vec::new(), [0; 8192]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => all.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

fn described(status: ExitStatus, last_line: &str) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("ghostd ended with exit code {code}"),
        (None, Some(signal)) => {
            let name = Signal::try_from(signal).map_or_else(|_| signal.to_string(), |signal| signal.to_string());
            format!("ghostd was ended by {name}")
        }
        (None, None) => "ghostd ended".to_owned(),
    };
    if last_line.is_empty() || status.signal().is_some() { how } else { format!("{how}: {last_line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_death_is_mended_at_once_and_many_ever_more_slowly() {
        assert_eq!(delay_after(0), Duration::ZERO);
        assert_eq!(delay_after(1), Duration::from_millis(50));
        assert_eq!(delay_after(2), Duration::from_millis(100));
        assert_eq!(delay_after(40), LONGEST_DELAY);
    }

    #[test]
    fn an_exit_is_told_with_its_reason() {
        assert_eq!(described(ExitStatus::from_raw(2 << 8), "no"), "ghostd ended with exit code 2: no");
        assert_eq!(described(ExitStatus::from_raw(9), "chatter"), "ghostd was ended by SIGKILL");
    }
}
