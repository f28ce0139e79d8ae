//! Options that change a GPU: power limit, persistence, locked clocks, compute and ECC mode.
//! Who may do so, and what follows, is the library's and the driver's to say; the words are the real program's (550).

use crate::cell::watts;
use crate::nvml::{Failure, Gpu, NO_PERMISSION, Result};

/// One change, said to every chosen GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    PowerLimit { milliwatts: u32 },
    Persistence { enabled: bool },
    LockClocks { min_mhz: u32, max_mhz: u32 },
    FreeClocks,
    ComputeMode { mode: u32 },
    Ecc { enabled: bool },
}

const MODES: [&str; 4] = ["DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED", "EXCLUSIVE_PROCESS"];

impl Setting {
    /// An option and its value; none if the value is no such thing.
    pub fn parse(option: &str, value: Option<&str>) -> Option<Setting> {
        match (option, value) {
            ("-pl" | "--power-limit", Some(text)) => {
                let watts: f64 = text.parse().ok().filter(|watts: &f64| (0.0..1e6).contains(watts))?;
                Some(Setting::PowerLimit { milliwatts: (watts * 1000.0).round() as u32 })
            }
            ("-pm" | "--persistence-mode", Some(text)) => Some(Setting::Persistence { enabled: on_off(text)? }),
            ("-e" | "--ecc-config", Some(text)) => Some(Setting::Ecc { enabled: on_off(text)? }),
            ("-lgc" | "--lock-gpu-clocks", Some(text)) => {
                let (min, max) = text.split_once(',').unwrap_or((text, text));
                Some(Setting::LockClocks { min_mhz: min.trim().parse().ok()?, max_mhz: max.trim().parse().ok()? })
            }
            ("-rgc" | "--reset-gpu-clocks", _) => Some(Setting::FreeClocks),
            ("-c" | "--compute-mode", Some(text)) => Some(Setting::ComputeMode { mode: mode(text)? }),
            _ => None,
        }
    }

    /// Whether an option is one of these, and whether it takes a value.
    pub fn takes_value(option: &str) -> Option<bool> {
        match option {
            "-rgc" | "--reset-gpu-clocks" => Some(false),
            "-pl" | "--power-limit" | "-pm" | "--persistence-mode" | "-e" | "--ecc-config" | "-lgc"
            | "--lock-gpu-clocks" | "-c" | "--compute-mode" => Some(true),
            _ => None,
        }
    }

    /// Says it to one GPU: the line to print, or the line about its failure.
    pub fn apply(self, gpu: &Gpu<'_>, bus_id: &str) -> std::result::Result<String, (String, Failure)> {
        self.call(gpu, bus_id).map_err(|failure| (self.refusal(bus_id, &failure), failure))
    }

    fn call(self, gpu: &Gpu<'_>, bus_id: &str) -> Result<String> {
        match self {
            Setting::PowerLimit { milliwatts } => {
                let before = gpu.u32(c"nvmlDeviceGetPowerManagementLimit")?;
                gpu.set(c"nvmlDeviceSetPowerManagementLimit", milliwatts)?;
                let (now, before) = (watts(milliwatts), watts(before));
                Ok(format!("Power limit for GPU {bus_id} was set to {now} W from {before} W.\n"))
            }
            Setting::Persistence { enabled } => {
                gpu.set(c"nvmlDeviceSetPersistenceMode", enabled.into())?;
                Ok(format!("{} persistence mode for GPU {bus_id}.\n", done(enabled)))
            }
            Setting::LockClocks { min_mhz, max_mhz } => {
                gpu.set_pair(c"nvmlDeviceSetGpuLockedClocks", min_mhz, max_mhz)?;
                Ok(format!("GPU clocks set to \"(gpuClkMin {min_mhz}, gpuClkMax {max_mhz})\" for GPU {bus_id}\n"))
            }
            Setting::FreeClocks => gpu.say(c"nvmlDeviceResetGpuLockedClocks").map(|()| String::new()),
            Setting::ComputeMode { mode } => {
                gpu.set(c"nvmlDeviceSetComputeMode", mode)?;
                Ok(format!("Set compute mode to {} for GPU {bus_id}.\n", MODES[mode as usize]))
            }
            Setting::Ecc { enabled } => {
                gpu.set(c"nvmlDeviceSetEccMode", enabled.into())?;
                Ok(format!("{} ECC support for GPU {bus_id}.\n", done(enabled)))
            }
        }
    }

    fn refusal(self, bus_id: &str, failure: &Failure) -> String {
        let words = &failure.words;
        match self {
            Setting::PowerLimit { .. } => format!("Failed to set power management limit for GPU {bus_id}: {words}\n"),
            Setting::Persistence { .. } => format!("Unable to set persistence mode for GPU {bus_id}: {words}\n"),
            Setting::Ecc { .. } => format!("Unable to set ECC config for GPU {bus_id}: {words}\n"),
            Setting::ComputeMode { .. } => format!("Unable to set compute mode for GPU {bus_id}: {words}\n"),
            Setting::LockClocks { .. } | Setting::FreeClocks if failure.code == NO_PERMISSION => {
                format!("The current user does not have permission to change clocks for GPU {bus_id}.\n")
            }
            Setting::LockClocks { .. } | Setting::FreeClocks => {
                format!("Unable to change clocks for GPU {bus_id}: {words}\n")
            }
        }
    }

    /// What follows when every GPU has taken it.
    pub fn epilogue(self) -> &'static str {
        if matches!(self, Setting::Ecc { .. }) { "All done.\nReboot required.\n" } else { "All done.\n" }
    }
}

fn on_off(text: &str) -> Option<bool> {
    match text {
        "0" | "DISABLED" => Some(false),
        "1" | "ENABLED" => Some(true),
        _ => None,
    }
}

fn mode(text: &str) -> Option<u32> {
    let number = text.parse().ok().or_else(|| MODES.iter().position(|mode| *mode == text).map(|place| place as u32))?;
    (number < MODES.len() as u32).then_some(number)
}

fn done(enabled: bool) -> &'static str {
    if enabled { "Enabled" } else { "Disabled" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_values_become_settings() {
        let parse = |option, value| Setting::parse(option, Some(value));
        assert_eq!(parse("-pl", "800"), Some(Setting::PowerLimit { milliwatts: 800_000 }));
        assert_eq!(parse("-lgc", "1000,1500"), Some(Setting::LockClocks { min_mhz: 1000, max_mhz: 1500 }));
        assert_eq!(parse("-lgc", "1000"), Some(Setting::LockClocks { min_mhz: 1000, max_mhz: 1000 }));
        assert_eq!(parse("-c", "EXCLUSIVE_PROCESS"), Some(Setting::ComputeMode { mode: 3 }));
        assert_eq!((parse("-pm", "2"), parse("-pl", "many"), parse("-c", "7")), (None, None, None));
    }

    #[test]
    fn a_refusal_is_said_in_the_options_own_words() {
        let failure = Failure { code: NO_PERMISSION, words: "Insufficient Permissions".to_owned() };
        let limit = Setting::PowerLimit { milliwatts: 1 }.refusal("00000008:01:00.0", &failure);
        assert_eq!(limit, "Failed to set power management limit for GPU 00000008:01:00.0: Insufficient Permissions\n");
        assert!(Setting::FreeClocks.refusal("x", &failure).contains("does not have permission to change clocks"));
    }
}
