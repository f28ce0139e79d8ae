//! The rack under one command: the one that is up, or one started for the command and taken down after it.
//! It knows nothing of the command itself.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ghost_model::{PowerState, Rack};
use tempfile::TempDir;

use crate::args::OnTray;
use crate::control::{self, Control, Started};
use crate::environment::{Seat, make_caches, variables};
use crate::failure::usage;
use crate::found::{Found, tray_of};
use crate::ghostd::{self, Ghostd};
use crate::parts::Parts;
use crate::protocol::{Ask, Phase};
use crate::rack_source::{self, Source};
use crate::run_dir::RunDir;
use crate::say;

/// A tray that can be used.
#[derive(Debug)]
pub struct Session {
    pub run_dir: RunDir,
    pub rack: Rack,
    pub tray: usize,
    /// The supervisor, if this command started it.
    own: Option<Started>,
    /// What only this command needs: its device directory, its shell's start file.
    scratch: TempDir,
}

impl Session {
    /// Finds a rack that is up or starts one, and waits for the tray.
    pub fn open(parts: &Parts, wanted: &OnTray, run_dir: &RunDir) -> anyhow::Result<Session> {
        let found = if wanted.rack.is_some() { None } else { Found::look(run_dir)? };
        let session = match found {
            Some(found) => Session::attach(found, wanted)?,
            None => Session::start(parts, wanted)?,
        };
        session.must_have_gpus(wanted.gpus)?;
        Ok(session)
    }

    fn attach(found: Found, wanted: &OnTray) -> anyhow::Result<Session> {
        let tray = found.tray(&wanted.tray)?;
        wait_for(&found, tray)?;
        found.run_dir.remove_stale_scratch();
        let scratch = scratch_dir(Some(found.run_dir.path()))?;
        Ok(Session { run_dir: found.run_dir, rack: found.rack, tray, own: None, scratch })
    }

    fn start(parts: &Parts, wanted: &OnTray) -> anyhow::Result<Session> {
        let source = Source::read(wanted.rack.as_deref().unwrap_or(rack_source::DEFAULT.as_ref()))?;
        let tray = tray_of(&source.rack, &wanted.tray)?;
        let scratch = scratch_dir(None)?;
        let run_dir = RunDir::at(scratch.path().to_owned());
        // The rack ends with us, even if we are killed: its supervisor sees the lifeline close.
        let own = control::start(parts, &run_dir, &source.argument, true)?.context("a private directory was taken")?;
        let session = Session { run_dir, rack: source.rack, tray, own: Some(own), scratch };
        match session.come_up() {
            Ok(()) => Ok(session),
            Err(error) => {
                session.close();
                Err(error)
            }
        }
    }

    fn come_up(&self) -> anyhow::Result<()> {
        let mut control = Control::needed(&self.run_dir)?;
        control.follow(|rack| rack.trays[self.tray].settled()).map(drop)
    }

    fn must_have_gpus(&self, gpus: Option<u8>) -> anyhow::Result<()> {
        let there = self.rack.trays[self.tray].gpus;
        match gpus {
            Some(gpus) if gpus > there => Err(usage(format!(
                "--gpus {gpus}: {} has {there}; expected 0 to {there}",
                self.rack.trays[self.tray].name
            ))),
            _ => Ok(()),
        }
    }

    pub fn ghostd(&self) -> anyhow::Result<Ghostd> {
        ghostd::of_tray(&self.run_dir.tray(self.tray), &self.rack.trays[self.tray].name)
    }

    /// A directory for this command alone. It goes with the rack, even if we are killed.
    pub fn scratch(&self) -> std::io::Result<PathBuf> {
        let dir = RunDir::at(self.scratch.path().to_owned()).of_command();
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// The variables for a process that sees the first `gpus` GPUs of the tray, or all.
    pub fn variables(
        &self,
        parts: &Parts,
        gpus: Option<u8>,
    ) -> anyhow::Result<Vec<(&'static str, std::ffi::OsString)>> {
        let tray_dir = self.run_dir.tray(self.tray);
        let dev_root = match gpus {
            Some(gpus) => self.some_nodes(gpus).context("lay out the device directory of this command")?,
            None => tray_dir.join("dev"),
        };
        let libraries = parts.libraries()?;
        let fallback = self.scratch.path().to_owned();
        let seat = Seat { run_dir: &self.run_dir, tray_dir, dev_root, libraries: &libraries, fallback };
        let all = variables(&seat, &|name| std::env::var_os(name));
        make_caches(&all);
        Ok(all)
    }

    /// A device directory with the nodes of the first GPUs only.
    fn some_nodes(&self, gpus: u8) -> std::io::Result<PathBuf> {
        let (all, some) = (self.run_dir.tray(self.tray).join("dev"), self.scratch()?.join("dev"));
        std::fs::create_dir(&some)?;
        let gpus = (0..gpus).map(|minor| format!("nvidia{minor}"));
        for name in gpus.chain(["nvidiactl".to_owned(), "nvidia-uvm".to_owned()]) {
            std::os::unix::fs::symlink(all.join(&name), some.join(&name))?;
        }
        Ok(some)
    }

    /// Takes an own rack down and waits until nothing of it is left.
    pub fn close(mut self) {
        if let Some(mut own) = self.own.take() {
            if let Ok(Some(mut control)) = Control::connect(&self.run_dir) {
                let _ = control.ask(&Ask::Stop);
            }
            drop(own.lifeline.take());
            let _ = own.child.wait();
            self.run_dir.remove();
        }
    }
}

/// A tray that is starting is waited for; one that is off is the user's to switch on.
fn wait_for(found: &Found, tray: usize) -> anyhow::Result<()> {
    let state = found.state();
    let (name, now) = (&state.trays[tray].name, &state.trays[tray]);
    if now.phase == Phase::Ready {
        return Ok(());
    }
    if now.desired == PowerState::Off {
        bail!("{name} is off; `ghostrack power --tray {tray} on` switches it on");
    }
    say::note!("waiting for {name} to come up");
    Control::needed(&found.run_dir)?.follow(|rack| rack.trays[tray].settled()).map(drop)
}

/// A directory for one command, its owner's alone whatever the umask. It is removed when the command is done; in the
/// directory of a rack that is up, the next command removes it if this one is killed.
fn scratch_dir(rack: Option<&Path>) -> anyhow::Result<TempDir> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let rack = rack.map(Path::to_owned);
    let places = rack.into_iter().chain(runtime).chain([std::env::temp_dir(), "/tmp".into()]);
    let prefix = RunDir::scratch_prefix(std::process::id());
    let owner_alone = std::fs::Permissions::from_mode(0o700);
    let make =
        |place: PathBuf| tempfile::Builder::new().prefix(&prefix).permissions(owner_alone.clone()).tempdir_in(place);
    let mut made = places.map(make);
    let first = made.next().context("no place for temporary files")?;
    let found = match first {
        Ok(dir) => Ok(dir),
        Err(error) => made.find_map(Result::ok).ok_or(error),
    };
    found.context("no place for temporary files: neither XDG_RUNTIME_DIR, TMPDIR nor /tmp can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_command_can_be_a_run_directory() {
        let rack = tempfile::tempdir().unwrap();
        for place in [None, Some(rack.path())] {
            let scratch = scratch_dir(place).unwrap();
            assert_eq!(scratch.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
            assert_eq!(scratch.path().starts_with(rack.path()), place.is_some());
            RunDir::at(scratch.path().to_owned()).must_be_trusted().unwrap();
        }
    }
}
