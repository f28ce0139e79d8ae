//! Processes on a GPU: who they are, what they hold.
//! ghostd lists them; names come from /proc, which the caller may see or not.

use ghost_abi::{InOut, Out, OutList, Text};
use ghost_engine::layout::ProcessFacts;

use crate::gpu::Device;
use crate::structs::{AccountingStats, ProcessDetail, ProcessDetailList, ProcessInfo, ProcessInfoV1};
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetComputeRunningProcesses(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfoV1>) => compute_v1;
    fn nvmlDeviceGetComputeRunningProcesses_v2(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) => compute;
    fn nvmlDeviceGetComputeRunningProcesses_v3(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) => compute;
    fn nvmlDeviceGetGraphicsRunningProcesses(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfoV1>) => none_v1;
    fn nvmlDeviceGetGraphicsRunningProcesses_v2(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) => none;
    fn nvmlDeviceGetGraphicsRunningProcesses_v3(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) => none;
    fn nvmlDeviceGetMPSComputeRunningProcesses(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfoV1>) => none_v1;
    fn nvmlDeviceGetMPSComputeRunningProcesses_v2(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) => none;
    fn nvmlDeviceGetMPSComputeRunningProcesses_v3(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) => none;
    fn nvmlDeviceGetRunningProcessDetailList(gpu: Gpu, list: InOut<ProcessDetailList>) => details;
    fn nvmlSystemGetProcessName(pid: u32, name: Text, length: u32) => name;
    fn nvmlDeviceGetAccountingPids(gpu: Gpu, count: InOut<u32>, pids: OutList<u32>) => accounting_pids;
    fn nvmlDeviceGetAccountingStats(gpu: Gpu, pid: u32, stats: Out<AccountingStats>) => accounting_stats;
}

/// Instance ids of a GPU without instances.
pub const NO_INSTANCE: u32 = u32::MAX;

/// Processes with a compute context, in ghostd's order.
pub fn on(device: Device) -> Vec<ProcessFacts> {
    device.facts().processes(device.place())
}

/// Says how many there are; writes all of them, or none when they do not fit.
fn give<T>(
    found: &[ProcessFacts],
    count: &InOut<u32>,
    list: &OutList<T>,
    record: impl Fn(&ProcessFacts) -> T,
) -> Answer {
    let room = count.get()? as usize;
    count.set(found.len() as u32)?;
    if found.is_empty() {
        return Ok(());
    }
    if room < found.len() || list.is_null() {
        return Err(Error::InsufficientSize);
    }
    Ok(list.set(room, found.iter().map(record))?)
}

fn record(process: &ProcessFacts) -> ProcessInfo {
    let (pid, used) = (process.pid, process.used_bytes);
    ProcessInfo { pid, used, gpu_instance: NO_INSTANCE, compute_instance: NO_INSTANCE }
}

fn compute_v1(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfoV1>) -> Answer {
    give(&on(gpu.open()?), &count, &list, |process| ProcessInfoV1 { pid: process.pid, used: process.used_bytes })
}

fn compute(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessInfo>) -> Answer {
    give(&on(gpu.open()?), &count, &list, record)
}

fn none_v1(gpu: Gpu, count: InOut<u32>, _list: OutList<ProcessInfoV1>) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

fn none(gpu: Gpu, count: InOut<u32>, _list: OutList<ProcessInfo>) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

/// Modes: 0 compute, 1 graphics, 2 MPS.
fn details(gpu: Gpu, list: InOut<ProcessDetailList>) -> Answer {
    let device = gpu.open()?;
    let asked = list.checked()?;
    let found = match asked.mode {
        0 => on(device),
        1 | 2 => Vec::new(),
        _ => return Err(Error::InvalidArgument),
    };
    list.set(ProcessDetailList { count: found.len() as u32, ..asked })?;
    if found.len() > asked.count as usize || (asked.list.is_null() && !found.is_empty()) {
        return Err(Error::InsufficientSize);
    }
    // SAFETY: the caller's list has the places it declared.
    let places = unsafe { OutList::from_raw(asked.list) };
    Ok(places.set(asked.count as usize, found.iter().map(detail))?)
}

fn detail(process: &ProcessFacts) -> ProcessDetail {
    let ProcessInfo { pid, used, gpu_instance, compute_instance } = record(process);
    ProcessDetail { pid, used, gpu_instance, compute_instance, protected: 0 }
}

/// The first word of the command line, or the short name where there is none.
pub fn process_name(pid: u32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
    if !first.is_empty() {
        return Some(String::from_utf8_lossy(first).into_owned());
    }
    let short = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(short.trim_end().to_owned())
}

/// Cut to fit, as the real library does.
fn name(pid: u32, name: Text, length: u32) -> Answer {
    crate::session::live_tray()?;
    name.check()?;
    if length == 0 {
        return Err(Error::InvalidArgument);
    }
    let found = process_name(pid).ok_or(Error::NotFound)?;
    Ok(name.set_truncated(length as usize, &found)?)
}

/// Accounting is off: nobody is accounted for.
fn accounting_pids(gpu: Gpu, count: InOut<u32>, _pids: OutList<u32>) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

fn accounting_stats(gpu: Gpu, _pid: u32, stats: Out<AccountingStats>) -> Answer {
    gpu.open()?;
    stats.check()?;
    Err(Error::NotFound)
}

#[cfg(test)]
mod tests {
    use ghost_abi::{Plain, ask_text};

    use super::*;
    use crate::testing;

    fn two_processes() {
        testing::tray(|facts| {
            facts.tray.process_count = 3;
            for (row, (pid, gpu)) in [(41, 0), (42, 1), (43, 0)].into_iter().enumerate() {
                facts.processes[row].pid = pid;
                facts.processes[row].gpu = gpu;
                facts.processes[row].used_bytes = u64::from(pid) << 20;
            }
        });
    }

    fn list<T: Plain>(room: u32, call: impl Fn(InOut<u32>, OutList<T>) -> Answer) -> (Answer, u32, Vec<T>) {
        let (mut count, mut places) = (room, vec![T::zeroed(); room as usize]);
        // SAFETY: both borrow live variables; the list has as many places as the count says.
        let lenses = unsafe { (InOut::from_raw(&raw mut count), OutList::from_raw(places.as_mut_ptr())) };
        (call(lenses.0, lenses.1), count, places)
    }

    #[test]
    fn a_short_list_learns_the_count_and_stays_empty() {
        two_processes();
        let (answer, count, places) = list(1, |count, places| compute(Gpu::of(0), count, places));
        assert_eq!((answer, count, places[0].pid), (Err(Error::InsufficientSize), 2, 0));
    }

    #[test]
    fn the_first_version_packs_its_records_in_sixteen_bytes() {
        two_processes();
        let (answer, count, places) = list(4, |count, places| compute_v1(Gpu::of(0), count, places));
        assert_eq!((answer, count), (Ok(()), 2));
        assert_eq!((places[0].pid, places[1].pid, places[1].used), (41, 43, 43 << 20));
    }

    #[test]
    fn a_gpu_nobody_uses_has_an_empty_list_whatever_the_buffer() {
        two_processes();
        assert_eq!(list(0, |count, places| compute(Gpu::of(2), count, places)).0, Ok(()));
    }

    #[test]
    fn a_name_is_the_program_and_is_cut_to_the_buffer() {
        testing::tray(|_| ());
        let me = std::process::id();
        let whole = ask_text(4096, |text, length| name(me, text, length as u32)).unwrap();
        assert_eq!(Some(whole.as_str()), std::env::args().next().as_deref());
        assert_eq!(ask_text(4, |text, length| name(me, text, length as u32)).unwrap(), whole[..3]);
        assert_eq!(ask_text(4, |text, length| name(0, text, length as u32)), Err(Error::NotFound));
    }
}
