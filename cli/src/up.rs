//! `ghostrack up` and `down`: a rack that stays, and its end.
//! Progress goes to standard error; what came of it to standard output.

use std::collections::BTreeSet;
use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::args::Up;
use crate::control::{self, Control, Started};
use crate::ghostd::{self, TrayStatus};
use crate::parts::Parts;
use crate::protocol::{Ask, Phase, RackState};
use crate::rack_source::Source;
use crate::run_dir::RunDir;
use crate::say;
use crate::supervisor::{Manner, Occupied, Supervisor, occupy};

/// A real driver's files: what an emulated tray must not cover.
const REAL: [&str; 3] = ["/dev/nvidia0", "/proc/driver/nvidia", "/dev/dxg"];

/// How long a rack may take to be gone.
const GOING_DOWN: Duration = Duration::from_secs(10);

pub fn up(args: &Up, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let parts = Parts::find()?;
    let source = Source::read(&args.rack)?;
    if args.foreground {
        return foreground(&source, &parts, run_dir);
    }
    let (started, mut control) = start_or_join(&source, &parts, run_dir)?;
    let mut progress = started.is_some().then(Progress::new);
    let followed = control.follow(|rack| progress.as_mut().is_some_and(|progress| progress.show(rack)));
    drop(progress);
    match (followed, &started) {
        (Ok(rack), _) => {
            report(&rack, started.is_some(), &parts);
            if std::fs::read_to_string(run_dir.rack_file()).is_ok_and(|text| text != source.text) {
                say::out!(
                    "note:   it is not the rack of {}: `ghostrack down` makes room for that",
                    args.rack.display()
                );
            }
        }
        (Err(error), Some(_)) => {
            // A rack that cannot come up is not left half there.
            if let Ok(Some(mut control)) = Control::connect(run_dir) {
                let _ = control.ask(&Ask::Stop);
            }
            return Err(error);
        }
        (Err(error), None) => return Err(error),
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the rack, or joins one that is up, coming up, or just going down.
fn start_or_join(source: &Source, parts: &Parts, run_dir: &RunDir) -> anyhow::Result<(Option<Started>, Control)> {
    let give_up = Instant::now() + GOING_DOWN;
    loop {
        let started = control::start(parts, run_dir, &source.argument, false)?;
        match Control::connect(run_dir)? {
            Some(control) => return Ok((started, control)),
            None if Instant::now() < give_up => std::thread::sleep(Duration::from_millis(10)),
            None => bail!("{}: taken, but no supervisor answers; `ghostrack down` clears it", run_dir.path().display()),
        }
    }
}

fn foreground(source: &Source, parts: &Parts, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    match Supervisor::new(run_dir.clone(), source, parts, Manner { lifeline: false, aloud: true }) {
        Ok(supervisor) => supervisor.run()?,
        Err(error) if error.is::<Occupied>() => say::out!("{error}"),
        Err(error) => return Err(error),
    }
    Ok(ExitCode::SUCCESS)
}

/// What is up and what to type next.
fn report(rack: &RackState, new: bool, parts: &Parts) {
    let gpus: u32 = rack.trays.iter().map(|tray| u32::from(tray.gpus)).sum();
    let already = if new { "" } else { " already" };
    say::out!("rack {} is up{already}: {} trays, {gpus} GPUs", rack.name, rack.trays.len());
    let first = rack.trays.iter().find(|tray| tray.phase == Phase::Ready);
    let status = first.and_then(|tray| ghostd::read_soon(&tray.directory));
    if let Some(status) = status {
        say::out!("rung:   {}", rung(&status));
    }
    say::out!("where:  {} (log: log/rack.log)", rack.run_dir.display());
    if let Some(real) = REAL.iter().find(|file| Path::new(file).exists()) {
        say::out!("note:   {real} is this machine's own and is not covered: only `ghostrack run` works here");
    }
    if let Err(error) = parts.libraries() {
        say::out!("note:   commands cannot be run yet: {error:#}");
    }
    let option = if RunDir::find(None).is_ok_and(|usual| usual.path() == rack.run_dir) {
        String::new()
    } else {
        format!("--run-dir {} ", rack.run_dir.display())
    };
    say::out!("next:   ghostrack run {option}-- nvidia-smi");
}

/// How far up the ladder, and why not farther.
pub fn rung(status: &TrayStatus) -> String {
    let name = match status.rung.as_str() {
        "plain-tree" => "plain tree: redirection by `ghostrack run`",
        other => other,
    };
    match status.rung_reason.as_str() {
        "" => name.to_owned(),
        reason => format!("{name} (the next one: {reason})"),
    }
}

/// How many trays are up: one line that is rewritten on a terminal, a line for each tray elsewhere.
#[derive(Debug)]
struct Progress {
    terminal: bool,
    told: BTreeSet<usize>,
}

impl Progress {
    fn new() -> Progress {
        Progress { terminal: stderr().is_terminal(), told: BTreeSet::new() }
    }

    fn show(&mut self, rack: &RackState) -> bool {
        let ready = rack.trays.iter().filter(|tray| tray.settled());
        if self.terminal {
            say::progress!("\r\x1b[Kstarting {}: {} of {} trays", rack.name, ready.count(), rack.trays.len());
            return false;
        }
        let new: Vec<_> = ready.filter(|tray| self.told.insert(tray.tray)).collect();
        new.iter().for_each(|tray| say::note!("{} is ready", tray.name));
        false
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            say::progress!("\r\x1b[K");
        }
    }
}

pub fn down(run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let Some(mut control) = Control::connect(run_dir)? else {
        say::out!("{}", clear_leftovers(run_dir)?);
        return Ok(ExitCode::SUCCESS);
    };
    let rack = control.state()?;
    let holders = holders(&rack);
    let pid = control.peer_pid();
    if stderr().is_terminal() {
        say::note!("stopping {}", rack.name);
    }
    let stopped = control.ask(&Ask::Stop);
    must_end(pid)?;
    stopped?;
    say::out!("rack {} is down", rack.name);
    match holders {
        0 => {}
        1 => say::out!("1 process still used its GPUs; its CUDA calls fail from now on"),
        n => say::out!("{n} processes still used its GPUs; their CUDA calls fail from now on"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Different processes with a context on any tray.
fn holders(rack: &RackState) -> usize {
    let ready = rack.trays.iter().filter(|tray| tray.phase == Phase::Ready);
    let status = ready.filter_map(|tray| ghostd::read_soon(&tray.directory));
    status.flat_map(|status| status.holders).map(|holder| holder.pid).collect::<BTreeSet<_>>().len()
}

/// Waits until the supervisor itself is gone; it has said that all else is.
fn must_end(pid: Option<i32>) -> anyhow::Result<()> {
    let Some(pid) = pid.filter(|pid| *pid > 0).map(Pid::from_raw) else {
        return Ok(());
    };
    let give_up = Instant::now() + GOING_DOWN;
    while is_running(pid) {
        if Instant::now() >= give_up {
            kill(pid, Signal::SIGKILL).with_context(|| format!("supervisor {pid} does not end"))?;
            bail!("supervisor {pid} did not end and was killed; `ghostrack down` again removes what it left");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// A zombie that nobody buries, as in a container without an init, has ended too.
fn is_running(pid: Pid) -> bool {
    if kill(pid, None) == Err(Errno::ESRCH) {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// No supervisor answers: one that was killed has left files.
fn clear_leftovers(run_dir: &RunDir) -> anyhow::Result<String> {
    let shown = run_dir.path().display();
    if std::fs::symlink_metadata(run_dir.rack_file()).is_err() {
        return Ok(format!("no rack is up in {shown}"));
    }
    let _lock = occupy(run_dir)?;
    run_dir.remove();
    Ok(format!("no rack is up in {shown}; removed what one that was killed had left"))
}
