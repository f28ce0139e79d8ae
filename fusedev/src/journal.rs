//! What outlives ghostd: the hardware's state in `state.json`, replaced in one step by every change.
//! It judges no change; a file that does not fit this tray is set aside, never trusted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ghost_model::{Change, Machine, PowerAction, PowerState};
use serde::{Deserialize, Serialize};

use crate::hardware::{Hardware, Wear};

const VERSION: u32 = 1;

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    machine: &'a Machine,
    wear: &'a [Wear],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    version: u32,
    machine: Machine,
    wear: Vec<Wear>,
}

/// The file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    pub fn new(path: PathBuf) -> Journal {
        Journal { path }
    }

    /// Writes the state beside the old one, then puts it in its place: whole or not at all.
    pub fn save(&self, hardware: &Hardware) -> io::Result<()> {
        let written = Written { version: VERSION, machine: &hardware.machine, wear: &hardware.wear };
        let beside = self.path.with_extension("json.new");
        let mut file = File::create(&beside)?;
        let text = serde_json::to_vec(&written).map_err(io::Error::other)?;
        // No sync: it guards against a killed ghostd, not against a host that loses power, and changes come in bursts.
        let replaced = file.write_all(&text).and_then(|()| fs::rename(&beside, &self.path));
        replaced.inspect_err(|_| drop(fs::remove_file(&beside)))
    }

    /// Brings back what was saved for this tray; a tray that was off is switched on, as its ghostd runs again.
    pub fn restore(&self, hardware: &mut Hardware) {
        match read(&self.path) {
            Ok(None) => {}
            Ok(Some(saved)) if fits(hardware, &saved) => {
                hardware.machine = saved.machine;
                hardware.wear = saved.wear;
            }
            Ok(Some(_)) => self.set_aside("it is of another tray or rack file"),
            Err(reason) => self.set_aside(&reason),
        }
        if hardware.machine.power == PowerState::Off {
            let _ = hardware.apply(&Change::TrayPower { action: PowerAction::On });
        }
    }

    fn set_aside(&self, reason: &str) {
        let aside = self.path.with_extension("json.unusable");
        tracing::warn!(file = %self.path.display(), reason, "saved state is not used; the tray starts healthy");
        let _ = fs::rename(&self.path, aside);
    }
}

fn fits(hardware: &Hardware, saved: &Read) -> bool {
    saved.version == VERSION
        && hardware.is_same_tray(&saved.machine)
        && saved.wear.len() == hardware.wear.len()
        && saved.wear.iter().zip(&hardware.wear).all(|(saved, own)| saved.links.len() == own.links.len())
}

fn read(path: &Path) -> Result<Option<Read>, String> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvl8;
    use ghost_model::{GpuIndex, Rack, TrayIndex};

    fn journal() -> (tempfile::TempDir, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::new(dir.path().join("state.json"));
        (dir, journal)
    }

    #[test]
    fn faults_and_caps_come_back() {
        let (_dir, journal) = journal();
        let mut hardware = nvl8();
        hardware.apply(&Change::PowerLimit { gpu: GpuIndex(0), milliwatts: 600_000 }).unwrap();
        hardware.apply(&Change::Xid { gpu: GpuIndex(1), code: 95, pid: None, time_ns: 3 }).unwrap();
        journal.save(&hardware).unwrap();
        let mut again = nvl8();
        journal.restore(&mut again);
        assert_eq!((again.machine, again.wear), (hardware.machine, hardware.wear));
    }

    #[test]
    fn the_state_of_another_tray_and_garbage_are_set_aside() {
        let (dir, journal) = journal();
        let rack = Rack::parse(Rack::embedded("nvl8").unwrap(), "nvl8").unwrap();
        journal.save(&Hardware::new(&rack, TrayIndex(1)).unwrap()).unwrap();
        let mut hardware = nvl8();
        journal.restore(&mut hardware);
        assert_eq!(hardware.machine, nvl8().machine);
        assert!(dir.path().join("state.json.unusable").exists());
        fs::write(dir.path().join("state.json"), "{\"version\":1,").unwrap();
        journal.restore(&mut hardware);
        assert_eq!(hardware.machine, nvl8().machine);
    }

    #[test]
    fn a_tray_that_was_off_starts_with_power() {
        let (_dir, journal) = journal();
        let mut hardware = nvl8();
        hardware.apply(&Change::GpuLost { gpu: GpuIndex(3) }).unwrap();
        hardware.apply(&Change::TrayPower { action: PowerAction::Off }).unwrap();
        journal.save(&hardware).unwrap();
        let mut again = nvl8();
        journal.restore(&mut again);
        assert!(again.machine.power == PowerState::On && !again.machine.gpus[3].lost);
    }

    #[test]
    fn a_state_that_cannot_be_written_leaves_the_old_one() {
        let journal = Journal::new(PathBuf::from("/proc/ghostrack/state.json"));
        assert!(journal.save(&nvl8()).is_err());
    }
}
