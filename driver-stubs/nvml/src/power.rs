//! Power draw, limits and energy, in milliwatts and millijoules.
//! Setting a limit says a `Change`; what the limit does to clocks is the model's business.

use ghost_abi::Versioned;
use ghost_abi::{In, Out};

use crate::structs::PowerValue;
use crate::{Answer, Error, Gpu, Nvml, change};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetPowerUsage(gpu: Gpu, milliwatts: Out<u32>) => usage;
    fn nvmlDeviceGetPowerManagementMode(gpu: Gpu, mode: Out<u32>) => management_mode;
    fn nvmlDeviceGetPowerManagementLimit(gpu: Gpu, milliwatts: Out<u32>) => limit;
    fn nvmlDeviceGetEnforcedPowerLimit(gpu: Gpu, milliwatts: Out<u32>) => enforced_limit;
    fn nvmlDeviceGetPowerManagementDefaultLimit(gpu: Gpu, milliwatts: Out<u32>) => default_limit;
    fn nvmlDeviceGetPowerManagementLimitConstraints(gpu: Gpu, min: Out<u32>, max: Out<u32>) => limit_constraints;
    fn nvmlDeviceGetTotalEnergyConsumption(gpu: Gpu, millijoules: Out<u64>) => energy;
    fn nvmlDeviceGetPowerSource(gpu: Gpu, source: Out<u32>) => source;
    fn nvmlDeviceSetPowerManagementLimit(gpu: Gpu, milliwatts: u32) => set_limit;
    fn nvmlDeviceSetPowerManagementLimit_v2(gpu: Gpu, value: In<PowerValue>) => set_limit_v2;
}

fn usage(gpu: Gpu, milliwatts: Out<u32>) -> Answer {
    Ok(milliwatts.set(gpu.open()?.live().power_average_milliwatts)?)
}

fn management_mode(gpu: Gpu, mode: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(mode.set(1)?)
}

fn limit(gpu: Gpu, milliwatts: Out<u32>) -> Answer {
    Ok(milliwatts.set(gpu.open()?.modes().power_limit_requested_milliwatts)?)
}

fn enforced_limit(gpu: Gpu, milliwatts: Out<u32>) -> Answer {
    Ok(milliwatts.set(gpu.open()?.modes().power_limit_milliwatts)?)
}

fn default_limit(gpu: Gpu, milliwatts: Out<u32>) -> Answer {
    Ok(milliwatts.set(gpu.open()?.profile().power.limit_default_milliwatts)?)
}

fn limit_constraints(gpu: Gpu, min: Out<u32>, max: Out<u32>) -> Answer {
    let power = &gpu.open()?.profile().power;
    min.check()?;
    max.set(power.limit_max_milliwatts)?;
    Ok(min.set(power.limit_min_milliwatts)?)
}

fn energy(gpu: Gpu, millijoules: Out<u64>) -> Answer {
    Ok(millijoules.set(gpu.open()?.live().energy_millijoules)?)
}

/// 0 = mains.
fn source(gpu: Gpu, source: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(source.set(0)?)
}

fn set_limit(gpu: Gpu, milliwatts: u32) -> Answer {
    let device = gpu.open()?;
    let power = &device.profile().power;
    if !(power.limit_min_milliwatts..=power.limit_max_milliwatts).contains(&milliwatts) {
        return Err(Error::InvalidArgument);
    }
    change::power_limit(device, milliwatts)
}

/// Only the GPU's own limit can be set, not the module's.
fn set_limit_v2(gpu: Gpu, value: In<PowerValue>) -> Answer {
    let value = value.get()?;
    if value.version != PowerValue::VERSION {
        return Err(Error::ArgumentVersionMismatch);
    }
    if value.scope != 0 {
        return Err(Error::NotSupported);
    }
    set_limit(gpu, value.milliwatts)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn limits_are_the_profiles_and_the_draw_is_the_facts() {
        testing::tray(|facts| facts.gpus[0].modes.power_limit_milliwatts = 800_000);
        let gpu = Gpu::of(0);
        assert_eq!(ask(|out| usage(gpu, out)), Ok(165_930));
        assert_eq!(ask(|out| enforced_limit(gpu, out)), Ok(800_000));
        assert_eq!(ask(|out| limit(gpu, out)), Ok(1_200_000));
        assert_eq!(
            ask(|min| ask(|max| limit_constraints(gpu, min, max)).map(|max| assert_eq!(max, 1_200_000))),
            Ok(200_000)
        );
    }

    #[test]
    fn a_limit_out_of_range_is_refused_before_anybody_is_asked() {
        testing::tray(|_| ());
        assert_eq!(set_limit(Gpu::of(0), 100_000), Err(Error::InvalidArgument));
        assert_eq!(set_limit(Gpu::of(0), 1_300_000), Err(Error::InvalidArgument));
    }
}
