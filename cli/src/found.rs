//! A rack that is up, as the commands that use it see it: its directory, its rack file, its trays.
//! It is found by looking and connecting; nothing is started.

use std::io;
use std::path::PathBuf;

use anyhow::bail;
use ghost_engine::client::connect;
use ghost_model::{PowerState, Rack};

use crate::control::{Control, nothing_up};
use crate::failure::usage;
use crate::protocol::{Phase, RackState, TrayState};
use crate::rack_source;
use crate::run_dir::RunDir;

/// A rack that is up.
#[derive(Debug)]
pub struct Found {
    pub run_dir: RunDir,
    pub rack: Rack,
}

impl Found {
    /// The user's rack, else root's; None if neither is up.
    pub fn look(run_dir: &RunDir) -> anyhow::Result<Option<Found>> {
        for candidate in run_dir.candidates() {
            let up = match is_up(&candidate) {
                Err(_) if candidate != *run_dir => false,
                other => other?,
            };
            if up {
                let rack = rack_source::read_copy(&candidate.rack_file())?;
                return Ok(Some(Found { run_dir: candidate, rack }));
            }
        }
        Ok(None)
    }

    /// As `look`, where a rack is needed.
    pub fn needed(run_dir: &RunDir) -> anyhow::Result<Found> {
        match Found::look(run_dir)? {
            Some(found) => Ok(found),
            None => bail!("{}", nothing_up(run_dir)),
        }
    }

    /// The supervisor's view, or what can be seen without asking it.
    pub fn state(&self) -> RackState {
        let asked = Control::connect(&self.run_dir).ok().flatten().and_then(|mut control| control.state().ok());
        asked.unwrap_or_else(|| self.seen_from_outside())
    }

    /// By index or name.
    pub fn tray(&self, tray: &str) -> anyhow::Result<usize> {
        tray_of(&self.rack, tray)
    }

    pub fn tray_dir(&self, tray: usize) -> PathBuf {
        self.run_dir.tray(tray)
    }

    /// Another user's supervisor is not asked: a tray is up if its ghostd takes connections.
    fn seen_from_outside(&self) -> RackState {
        let trays = self.rack.trays.iter().enumerate().map(|(index, tray)| {
            let directory = self.tray_dir(index);
            let up = connect(&directory.join("ghostd.sock")).is_ok();
            let (desired, phase) = if up { (PowerState::On, Phase::Ready) } else { (PowerState::Off, Phase::Off) };
            TrayState {
                tray: index,
                name: tray.name.clone(),
                gpus: tray.gpus,
                directory,
                desired,
                phase,
                pid: None,
                restarts: 0,
                last_exit: None,
            }
        });
        let run_dir = self.run_dir.path().to_owned();
        RackState { name: self.rack.name.clone(), run_dir, pid: 0, trays: trays.collect() }
    }
}

/// By index or name.
pub fn tray_of(rack: &Rack, tray: &str) -> anyhow::Result<usize> {
    let by_index = tray.parse::<usize>().ok().filter(|index| *index < rack.trays.len());
    let found = by_index.or_else(|| rack.tray_named(tray).map(|tray| tray.index()));
    found.ok_or_else(|| {
        let (last, first_name) = (rack.trays.len() - 1, &rack.trays[0].name);
        usage(format!(
            "--tray {tray}: the rack `{}` has no such tray; expected 0 to {last} or a name such as {first_name}",
            rack.name
        ))
    })
}

fn is_up(run_dir: &RunDir) -> anyhow::Result<bool> {
    match Control::connect(run_dir) {
        Ok(control) => Ok(control.is_some()),
        Err(error) if is_denied(&error) => Ok(run_dir.rack_file().is_file()),
        Err(error) => Err(error),
    }
}

fn is_denied(error: &anyhow::Error) -> bool {
    let denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(denied))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tray_goes_by_index_or_name_and_a_wrong_one_is_told_what_there_is() {
        let rack = rack_source::Source::read("nvl8".as_ref()).unwrap().rack;
        assert_eq!((tray_of(&rack, "1").unwrap(), tray_of(&rack, "tray-1").unwrap()), (1, 1));
        let error = tray_of(&rack, "2").unwrap_err().to_string();
        assert!(error.contains("expected 0 to 1"), "{error}");
    }

    #[test]
    fn no_directory_is_no_rack() {
        assert!(Found::look(&RunDir::at("/nowhere/at/all".into())).unwrap().is_none());
    }
}
