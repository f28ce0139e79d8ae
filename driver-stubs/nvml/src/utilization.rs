//! How busy a GPU and its processes are, now and over the last samples.
//! Engines that are not emulated (encoder, decoder, JPEG, optical flow) are idle.

use std::time::{SystemTime, UNIX_EPOCH};

use ghost_abi::{InOut, Out, OutList};
use ghost_engine::layout::{ProcessFacts, SAMPLE_RING};

use crate::gpu::Device;
use crate::structs::{
    ProcessUtilization, ProcessUtilizationInfo, ProcessesUtilization, Sample, Utilization, ViolationTime,
};
use crate::{Answer, Error, Gpu, Nvml, processes};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetUtilizationRates(gpu: Gpu, rates: Out<Utilization>) => rates;
    fn nvmlDeviceGetEncoderUtilization(gpu: Gpu, percent: Out<u32>, period_us: Out<u32>) => idle_engine;
    fn nvmlDeviceGetDecoderUtilization(gpu: Gpu, percent: Out<u32>, period_us: Out<u32>) => idle_engine;
    fn nvmlDeviceGetJpgUtilization(gpu: Gpu, percent: Out<u32>, period_us: Out<u32>) => idle_engine;
    fn nvmlDeviceGetOfaUtilization(gpu: Gpu, percent: Out<u32>, period_us: Out<u32>) => idle_engine;
    fn nvmlDeviceGetEncoderStats(gpu: Gpu, sessions: Out<u32>, fps: Out<u32>, latency_us: Out<u32>) => no_encoder_sessions;
    fn nvmlDeviceGetEncoderSessions(gpu: Gpu, count: InOut<u32>, list: *mut u8) => no_sessions;
    fn nvmlDeviceGetFBCStats(gpu: Gpu, stats: Out<[u32; 3]>) => no_capture_stats;
    fn nvmlDeviceGetFBCSessions(gpu: Gpu, count: InOut<u32>, list: *mut u8) => no_sessions;
    fn nvmlDeviceGetProcessUtilization(gpu: Gpu, list: OutList<ProcessUtilization>, count: InOut<u32>, last_seen_us: u64) => by_process;
    fn nvmlDeviceGetProcessesUtilizationInfo(gpu: Gpu, list: InOut<ProcessesUtilization>) => by_process_v;
    fn nvmlDeviceGetSamples(gpu: Gpu, kind: u32, last_seen_us: u64, value_kind: Out<u32>, count: InOut<u32>, list: OutList<Sample>) => samples;
    fn nvmlDeviceGetViolationStatus(gpu: Gpu, policy: u32, time: Out<ViolationTime>) => violation;
}

/// The period over which the driver takes utilisation.
const PERIOD_US: u32 = 167_000;
/// The kind of a value: an unsigned int.
const UNSIGNED: u32 = 1;

/// Microseconds since the Unix epoch: the driver stamps samples with the wall clock.
pub fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

fn rates(gpu: Gpu, rates: Out<Utilization>) -> Answer {
    let live = gpu.open()?.live();
    Ok(rates.set(Utilization { gpu: live.gpu_utilization, memory: live.memory_utilization })?)
}

fn idle_engine(gpu: Gpu, percent: Out<u32>, period_us: Out<u32>) -> Answer {
    gpu.open()?;
    percent.check()?;
    period_us.set(PERIOD_US)?;
    Ok(percent.set(0)?)
}

fn no_encoder_sessions(gpu: Gpu, sessions: Out<u32>, fps: Out<u32>, latency_us: Out<u32>) -> Answer {
    gpu.open()?;
    [&sessions, &fps, &latency_us].iter().try_for_each(|out| out.check())?;
    [sessions, fps, latency_us].iter().try_for_each(|out| out.set(0))?;
    Ok(())
}

fn no_sessions(gpu: Gpu, count: InOut<u32>, _list: *mut u8) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

fn no_capture_stats(gpu: Gpu, stats: Out<[u32; 3]>) -> Answer {
    gpu.open()?;
    Ok(stats.set([0; 3])?)
}

/// Processes that did something in the last period; none is "not found".
fn active(device: Device, last_seen_us: u64) -> Result<Vec<ProcessFacts>, Error> {
    let mut found = processes::on(device);
    found.retain(|process| process.gpu_utilization + process.memory_utilization > 0);
    if found.is_empty() || last_seen_us >= now_us() { Err(Error::NotFound) } else { Ok(found) }
}

fn by_process(gpu: Gpu, list: OutList<ProcessUtilization>, count: InOut<u32>, last_seen_us: u64) -> Answer {
    let device = gpu.open()?;
    let room = count.get()? as usize;
    if list.is_null() {
        count.set(processes::on(device).len() as u32)?;
        return Err(Error::InsufficientSize);
    }
    let found = active(device, last_seen_us)?;
    count.set(found.len() as u32)?;
    let at_us = now_us();
    Ok(list.set(room, found.iter().map(|process| sample_of(process, at_us)))?)
}

fn sample_of(process: &ProcessFacts, at_us: u64) -> ProcessUtilization {
    let (sm, memory) = (process.gpu_utilization, process.memory_utilization);
    ProcessUtilization { pid: process.pid, at_us, sm, memory, encoder: 0, decoder: 0 }
}

fn by_process_v(gpu: Gpu, list: InOut<ProcessesUtilization>) -> Answer {
    let device = gpu.open()?;
    let asked = list.checked()?;
    let found = match asked.list.is_null() {
        true => processes::on(device),
        false => active(device, asked.last_seen_us)?,
    };
    list.set(ProcessesUtilization { count: found.len() as u32, ..asked })?;
    if asked.list.is_null() || found.len() > asked.count as usize {
        return Err(Error::InsufficientSize);
    }
    let at_us = now_us();
    // SAFETY: the caller's list has the places it declared.
    let places = unsafe { OutList::from_raw(asked.list) };
    let info = |process: &ProcessFacts| {
        let ProcessUtilization { pid, sm, memory, encoder, decoder, .. } = sample_of(process, at_us);
        ProcessUtilizationInfo { at_us, pid, sm, memory, encoder, decoder, jpeg: 0, optical_flow: 0 }
    };
    Ok(places.set(asked.count as usize, found.iter().map(info))?)
}

/// Kinds: 0 power, 1 GPU, 2 memory, 3 encoder, 4 decoder, 5 SM clock, 6 memory clock, 7 module power, 8 JPEG, 9 optical flow.
fn samples(
    gpu: Gpu,
    kind: u32,
    last_seen_us: u64,
    value_kind: Out<u32>,
    count: InOut<u32>,
    list: OutList<Sample>,
) -> Answer {
    let device = gpu.open()?;
    let value = reading(kind)?;
    value_kind.check()?;
    let room = count.get()? as usize;
    if list.is_null() {
        value_kind.set(UNSIGNED)?;
        return Ok(count.set(SAMPLE_RING as u32)?);
    }
    let newer: Vec<_> = ring(device).into_iter().filter(|sample| sample.at_us > last_seen_us).collect();
    if newer.is_empty() {
        return Err(Error::NotFound);
    }
    let skipped = newer.len().saturating_sub(room);
    let found = newer[skipped..].iter().map(|sample| Sample { at_us: sample.at_us, value: value(sample) });
    value_kind.set(UNSIGNED)?;
    Ok(count.set(list.fill(room, found)? as u32)?)
}

type Reading = fn(&ghost_engine::layout::Sample) -> u64;

fn reading(kind: u32) -> Result<Reading, Error> {
    match kind {
        0 => Ok(|sample| sample.power_milliwatts.into()),
        1 => Ok(|sample| sample.gpu_utilization.into()),
        2 => Ok(|sample| sample.memory_utilization.into()),
        3 | 4 | 8 | 9 => Ok(|_| 0),
        5 => Ok(|sample| sample.sm_clock_mhz.into()),
        6 => Ok(|sample| sample.memory_clock_mhz.into()),
        7 => Err(Error::NotSupported),
        _ => Err(Error::InvalidArgument),
    }
}

/// The samples there are, oldest first.
fn ring(device: Device) -> Vec<ghost_engine::layout::Sample> {
    let facts = device.facts().gpu(device.place());
    let kept = (facts.sample_count as usize).min(SAMPLE_RING);
    let first = facts.sample_count as usize - kept;
    (first..first + kept).map(|nth| facts.samples[nth % SAMPLE_RING]).collect()
}

/// Nanoseconds a policy held clocks down: 0 power, 1 thermal, 2 sync boost; others never do.
pub fn violation_ns(device: Device, policy: u32) -> Result<u64, Error> {
    let [sw_power, sync_boost, sw_thermal, hw_thermal, hw_brake] = device.live().clocks_event_ns;
    match policy {
        0 => Ok(sw_power + hw_brake),
        1 => Ok(sw_thermal + hw_thermal),
        2 => Ok(sync_boost),
        3..=5 | 10 | 11 => Ok(0),
        _ => Err(Error::InvalidArgument),
    }
}

fn violation(gpu: Gpu, policy: u32, time: Out<ViolationTime>) -> Answer {
    let violation_ns = violation_ns(gpu.open()?, policy)?;
    Ok(time.set(ViolationTime { reference_us: now_us(), violation_ns })?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::{Plain, ask};

    use super::*;
    use crate::testing;

    fn ask_samples(kind: u32, since: u64, room: u32) -> (Answer, u32, Vec<Sample>) {
        let (mut count, mut places) = (room, vec![Sample::zeroed(); room as usize]);
        let pointer = if room == 0 { std::ptr::null_mut() } else { places.as_mut_ptr() };
        let mut value_kind = 0;
        // SAFETY: all borrow live variables; the list has as many places as the count says.
        let (v, c, l) = unsafe {
            (Out::from_raw(&raw mut value_kind), InOut::from_raw(&raw mut count), OutList::from_raw(pointer))
        };
        (samples(Gpu::of(0), kind, since, v, c, l), count, places)
    }

    #[test]
    fn a_caller_asks_for_the_room_and_then_gets_the_newest_samples() {
        testing::tray(|facts| {
            let gpu = &mut facts.gpus[0];
            gpu.sample_count = 200;
            for nth in 0..200_u64 {
                let sample = &mut gpu.samples[nth as usize % SAMPLE_RING];
                (sample.at_us, sample.power_milliwatts) = (1000 + nth, 150_000 + nth as u32);
            }
        });
        assert_eq!(ask_samples(0, 0, 0).1, SAMPLE_RING as u32);
        let (answer, count, places) = ask_samples(0, 0, 128);
        assert_eq!((answer, count), (Ok(()), 128));
        assert_eq!((places[0].at_us, places[127].value), (1072, 150_199));
        assert_eq!(ask_samples(0, 1190, 128).1, 9);
        assert_eq!(ask_samples(0, 1199, 128).0, Err(Error::NotFound));
        assert_eq!(ask_samples(7, 0, 128).0, Err(Error::NotSupported));
    }

    #[test]
    fn an_idle_gpu_has_no_process_that_did_anything() {
        testing::tray(|facts| {
            facts.tray.process_count = 1;
            facts.processes[0].pid = 4;
        });
        let mut count = 8;
        let mut places = [ProcessUtilization::zeroed(); 8];
        // SAFETY: both borrow live variables; the list has as many places as the count says.
        let (c, l) = unsafe { (InOut::from_raw(&raw mut count), OutList::from_raw(places.as_mut_ptr())) };
        assert_eq!(by_process(Gpu::of(0), l, c, 0), Err(Error::NotFound));
    }

    #[test]
    fn time_under_a_cap_counts_as_violation_of_the_power_policy() {
        testing::tray(|facts| facts.gpus[0].live.clocks_event_ns = [5, 1, 2, 3, 4]);
        let of = |policy| ask(|out| violation(Gpu::of(0), policy, out)).unwrap().violation_ns;
        assert_eq!([of(0), of(1), of(2), of(3)], [9, 5, 1, 0]);
    }
}
