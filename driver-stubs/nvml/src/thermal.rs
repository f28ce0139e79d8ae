//! Temperatures, their thresholds, and fans (a GB200 has none).
//! Degrees are whole, as NVML's are; T.Limit counts degrees left.

use ghost_abi::{InOut, Out};

use crate::gpu::Device;
use crate::structs::{MarginTemperature, Temperature};
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetTemperature(gpu: Gpu, sensor: u32, celsius: Out<u32>) => temperature;
    fn nvmlDeviceGetTemperatureV(gpu: Gpu, reading: InOut<Temperature>) => temperature_v;
    fn nvmlDeviceGetTemperatureThreshold(gpu: Gpu, kind: u32, celsius: Out<u32>) => threshold;
    fn nvmlDeviceGetMarginTemperature(gpu: Gpu, margin: InOut<MarginTemperature>) => margin;
    fn nvmlDeviceGetNumFans(gpu: Gpu, count: Out<u32>) => fan_count;
    fn nvmlDeviceGetFanSpeed(gpu: Gpu, percent: Out<u32>) => no_fan;
    fn nvmlDeviceGetFanSpeed_v2(gpu: Gpu, fan: u32, percent: Out<u32>) => no_such_fan;
    fn nvmlDeviceGetTargetFanSpeed(gpu: Gpu, fan: u32, percent: Out<u32>) => no_such_fan;
}

/// Of the GPU, degrees Celsius.
pub fn celsius(device: Device) -> i32 {
    device.live().temperature_millicelsius.div_euclid(1000)
}

/// Of the memory, degrees Celsius.
pub fn memory_celsius(device: Device) -> i32 {
    device.live().memory_temperature_millicelsius.div_euclid(1000)
}

/// Degrees left before clocks are cut.
pub fn tlimit(device: Device) -> i32 {
    device.profile().thermal.tlimit_zero_celsius - celsius(device)
}

/// Sensor 0 is the only one.
fn temperature(gpu: Gpu, sensor: u32, out: Out<u32>) -> Answer {
    let device = gpu.open()?;
    if sensor != 0 {
        return Err(Error::InvalidArgument);
    }
    Ok(out.set(celsius(device).max(0) as u32)?)
}

fn temperature_v(gpu: Gpu, reading: InOut<Temperature>) -> Answer {
    let device = gpu.open()?;
    let asked = reading.checked()?;
    if asked.sensor != 0 {
        return Err(Error::InvalidArgument);
    }
    Ok(reading.set(Temperature { celsius: celsius(device), ..asked })?)
}

/// Kinds: 0 shutdown, 1 slowdown, 2 memory, 3 GPU maximum; acoustic and GPS ones do not exist here.
fn threshold(gpu: Gpu, kind: u32, out: Out<u32>) -> Answer {
    let thermal = &gpu.open()?.profile().thermal;
    let value = match kind {
        0 => thermal.shutdown_celsius,
        1 => thermal.slowdown_celsius,
        2 => thermal.memory_max_celsius,
        3 => thermal.gpu_max_celsius,
        4..=7 => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidArgument),
    };
    Ok(out.set(value)?)
}

fn margin(gpu: Gpu, margin: InOut<MarginTemperature>) -> Answer {
    let device = gpu.open()?;
    let asked = margin.checked()?;
    Ok(margin.set(MarginTemperature { celsius: tlimit(device), ..asked })?)
}

fn fan_count(gpu: Gpu, count: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

fn no_fan(gpu: Gpu, _percent: Out<u32>) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

fn no_such_fan(gpu: Gpu, _fan: u32, percent: Out<u32>) -> Answer {
    no_fan(gpu, percent)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn temperature_and_margin_add_up() {
        testing::tray(|facts| facts.gpus[0].live.temperature_millicelsius = 61_900);
        assert_eq!(ask(|out| temperature(Gpu::of(0), 0, out)), Ok(61));
        assert_eq!(tlimit(Gpu::of(0).open().unwrap()), 87 - 61);
        assert_eq!(ask(|out| threshold(Gpu::of(0), 1, out)), Ok(89));
        assert_eq!(ask(|out| threshold(Gpu::of(0), 5, out)), Err(Error::NotSupported));
    }
}
