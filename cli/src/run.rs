//! `ghostrack run`, `shell` and `env`: a command in the environment of a tray, and what to tell about it afterwards.
//! Starting racks is the session's business, signals are the child's.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::args::{Env, OnTray, Run, Shell};
use crate::child;
use crate::environment::{Seat, make_caches, quoted, variables};
use crate::found::Found;
use crate::ghostd::TrayStatus;
use crate::missing;
use crate::parts::Parts;
use crate::run_dir::RunDir;
use crate::say;
use crate::session::Session;

pub fn run(args: &Run, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    in_session(&args.tray, run_dir, |_, variables| child::run(&args.command, variables))
}

pub fn shell(args: &Shell, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    in_session(&args.tray, run_dir, |session, variables| {
        let tray = &session.rack.trays[session.tray];
        let gpus = args.tray.gpus.unwrap_or(tray.gpus);
        say::note!("{} of {}, {gpus} GPUs; `exit` leaves", tray.name, session.rack.name);
        let mut with_prompt = variables.to_vec();
        with_prompt.push(("GHOSTRACK_TRAY", tray.name.clone().into()));
        child::run(&shell_command(&session.scratch()?, &tray.name)?, &with_prompt)
    })
}

/// Finds or starts a rack, does `then`, and tells what the tray noticed meanwhile.
fn in_session(
    wanted: &OnTray,
    run_dir: &RunDir,
    then: impl FnOnce(&Session, &[(&'static str, OsString)]) -> anyhow::Result<u8>,
) -> anyhow::Result<ExitCode> {
    let parts = Parts::find()?;
    parts.libraries()?;
    let session = Session::open(&parts, wanted, run_dir)?;
    let ended = session.variables(&parts, wanted.gpus).and_then(|variables| {
        let before = Noticed::now(&session).unwrap_or_default();
        let code = then(&session, &variables)?;
        if let Some(noticed) = Noticed::now(&session) {
            noticed.tell_since(&before);
        }
        Ok(code)
    });
    session.close();
    Ok(ExitCode::from(ended?))
}

/// What a tray has noticed of the programs on it.
#[derive(Debug, Default)]
struct Noticed {
    missing: String,
    status: TrayStatus,
}

impl Noticed {
    /// None if ghostd has been taken away meanwhile.
    fn now(session: &Session) -> Option<Noticed> {
        let ghostd = session.ghostd().ok()?;
        let status = ghostd.status().ok()?;
        // A tray that has met nothing missing is not asked for the list.
        let missing = if status.missing_count == 0 { String::new() } else { ghostd.missing().ok()? };
        Some(Noticed { missing, status })
    }

    fn tell_since(&self, before: &Noticed) {
        let met = missing::since(&self.missing, &before.missing);
        if let Err(error) = missing::remember(&met) {
            say::note!("the list of missing functions could not be kept: {error:#}");
        }
        match met.lines().count() {
            0 => {}
            1 => say::note!("1 function without implementation was called; `ghostrack missing` lists it"),
            n => {
                say::note!("{n} functions without implementation were called; `ghostrack missing` lists them")
            }
        }
        let known = &before.status.unredirected;
        for program in self.status.unredirected.iter().filter(|program| !known.contains(program)) {
            say::note!("{program} carries its own CUDA runtime and saw no GPU; see docs/limits.md");
        }
    }
}

/// The user's shell, with the tray in its prompt where the shell has a door for that.
fn shell_command(scratch: &Path, tray: &str) -> anyhow::Result<Vec<OsString>> {
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into());
    if Path::new(&shell).file_name() != Some("bash".as_ref()) {
        return Ok(vec![shell]);
    }
    let file = scratch.join("bashrc");
    let text = format!("[ -r ~/.bashrc ] && . ~/.bashrc\nPS1=\"({tray}) ${{PS1-}}\"\n");
    std::fs::write(&file, text).context("the shell's start file")?;
    Ok(vec![shell, "--rcfile".into(), file.into(), "-i".into()])
}

pub fn env(args: &Env, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let parts = Parts::find()?;
    let libraries = parts.libraries()?;
    let found = Found::needed(run_dir)?;
    let tray_dir = found.tray_dir(found.tray(&args.tray)?);
    let seat = Seat {
        run_dir: &found.run_dir,
        dev_root: tray_dir.join("dev"),
        tray_dir,
        libraries: &libraries,
        fallback: found.run_dir.path().to_owned(),
    };
    let all = variables(&seat, &|name| std::env::var_os(name));
    make_caches(&all);
    let mut out = std::io::stdout().lock();
    for (name, value) in &all {
        out.write_all(format!("export {name}=").as_bytes())?;
        out.write_all(quoted(value).as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(ExitCode::SUCCESS)
}
