//! Versions and what belongs to the system rather than to one GPU.
//! The library's own version can be asked before it is initialised, as after a failed start.

use ghost_abi::{InOut, Out, Text};

use crate::structs::{ConfComputeSettings, DriverBranch, put, text};
use crate::{Answer, Error, Nvml, session};

ghost_abi::rows! { Nvml;
    fn nvmlSystemGetDriverVersion(version: Text, length: u32) => driver_version;
    fn nvmlSystemGetNVMLVersion(version: Text, length: u32) => nvml_version;
    fn nvmlSystemGetCudaDriverVersion(version: Out<i32>) => cuda_version;
    fn nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) => cuda_version;
    fn nvmlSystemGetDriverBranch(branch: InOut<DriverBranch>, length: u32) => driver_branch;
    fn nvmlSystemGetHicVersion(count: InOut<u32>, entries: *mut u8) => no_interface_cards;
    fn nvmlUnitGetCount(count: Out<u32>) => no_units;
    fn nvmlGetExcludedDeviceCount(count: Out<u32>) => no_excluded;
    fn nvmlGetBlacklistDeviceCount(count: Out<u32>) => no_excluded;
    fn nvmlSystemGetConfComputeState(state: Out<[u32; 3]>) => confidential_state;
    fn nvmlSystemGetConfComputeCapabilities(capabilities: Out<[u32; 2]>) => confidential_capabilities;
    fn nvmlSystemGetConfComputeSettings(settings: InOut<ConfComputeSettings>) => confidential_settings;
    fn nvmlSystemGetConfComputeSettings_v2(settings: InOut<ConfComputeSettings>) => confidential_settings;
    fn nvmlGetVgpuDriverCapabilities(capability: u32, value: *mut u32) => no_vgpu;
}

/// What this library says it is while no tray says otherwise.
const OWN_DRIVER_VERSION: &str = "580.95.05";
const OWN_CUDA_VERSION: i32 = 13000;

fn driver_version(version: Text, length: u32) -> Answer {
    let tray = session::tray()?.facts().tray();
    Ok(version.set(length as usize, text(&tray.driver_version))?)
}

/// CUDA's major version, then the driver's version.
fn nvml_version(version: Text, length: u32) -> Answer {
    let tray = session::tray().ok().or_else(session::kept).map(|tray| tray.facts().tray());
    let (cuda, driver) = match &tray {
        Some(tray) => (tray.cuda_version as i32, text(&tray.driver_version)),
        None => (OWN_CUDA_VERSION, OWN_DRIVER_VERSION),
    };
    Ok(version.set(length as usize, &format!("{}.{driver}", cuda / 1000))?)
}

fn cuda_version(version: Out<i32>) -> Answer {
    let known = session::tray().ok().map_or(OWN_CUDA_VERSION, |tray| tray.facts().tray().cuda_version as i32);
    Ok(version.set(known)?)
}

/// `r580_00`: the first part of the version names the branch.
fn driver_branch(branch: InOut<DriverBranch>, length: u32) -> Answer {
    let tray = session::live_tray()?.facts().tray();
    branch.checked()?;
    let name = format!("r{}_00", text(&tray.driver_version).split('.').next().unwrap_or_default());
    if name.len() >= length as usize {
        return Err(Error::InsufficientSize);
    }
    Ok(branch.set(DriverBranch { branch: put(&name), ..DriverBranch::blank() })?)
}

fn no_interface_cards(count: InOut<u32>, _entries: *mut u8) -> Answer {
    session::live_tray()?;
    Ok(count.set(0)?)
}

fn no_units(count: Out<u32>) -> Answer {
    session::live_tray()?;
    Ok(count.set(0)?)
}

fn no_excluded(count: Out<u32>) -> Answer {
    Ok(count.set(0)?)
}

/// Environment, feature, developer tools: all off.
fn confidential_state(state: Out<[u32; 3]>) -> Answer {
    session::live_tray()?;
    Ok(state.set([0; 3])?)
}

fn confidential_capabilities(capabilities: Out<[u32; 2]>) -> Answer {
    session::live_tray()?;
    Ok(capabilities.set([0; 2])?)
}

fn confidential_settings(settings: InOut<ConfComputeSettings>) -> Answer {
    session::live_tray()?;
    settings.checked()?;
    Ok(settings.set(ConfComputeSettings::blank())?)
}

fn no_vgpu(_capability: u32, _value: *mut u32) -> Answer {
    session::live_tray()?;
    Err(Error::NotSupported)
}

#[cfg(test)]
mod tests {
    use ghost_abi::{ask, ask_text};

    use super::*;
    use crate::testing;

    #[test]
    fn versions_are_the_trays() {
        testing::tray(|facts| ghost_engine::layout::set_text(&mut facts.tray.driver_version, "590.1.2"));
        assert_eq!(ask_text(80, |text, length| driver_version(text, length as u32)).unwrap(), "590.1.2");
        assert_eq!(ask_text(80, |text, length| nvml_version(text, length as u32)).unwrap(), "13.590.1.2");
        assert_eq!(ask(cuda_version), Ok(13000));
    }

    #[test]
    fn the_librarys_own_version_is_known_without_a_tray() {
        assert_eq!(ask_text(80, |text, length| nvml_version(text, length as u32)).unwrap(), "13.580.95.05");
        assert_eq!(ask_text(80, |text, length| driver_version(text, length as u32)), Err(Error::Uninitialized));
    }
}
