//! The table that NVIDIA's nvidia-smi 535 to 555 asks for: numbered slots without names.
//! What each slot does was found by watching calls (facts page on NVML, section 3); all others answer "not supported"
//! and touch nothing.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ghost_abi::{CStrIn, In, InOut, Out, OutList, Text, record};

use crate::gpu::Device;
use crate::{Answer, Error, Gpu, Nvml, change, device, pcie, platform, processes, thermal, topology};

ghost_abi::rows! { Nvml;
    fn nvmlInternalGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) => get;
}

/// The table nvidia-smi asks for.
const TABLE_ID: [u8; 16] =
    [0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e, 0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4];
/// Words of the table, its size included: more than any release has been seen to use.
const WORDS: usize = 700;
/// The control that slot 32 is asked to pass on, and the bytes of its answer.
const RESET_CONTROL: u32 = 0x2080_3601;
const RESET_CONTROL_BYTES: u32 = 0x48;
/// Levels of slot 23: same CPU, or only the system.
const SAME_NODE: u32 = 3;
const ACROSS_SYSTEM: u32 = 4;
const NAME_BYTES: usize = 4096;

record! {
    /// A process in slots 213 to 215.
    struct ProcessRecord: 4128 bytes {
        pid: u32, pad: u32, used: u64, gpu_instance: u32, compute_instance: u32, protected: u64, name: [u8; NAME_BYTES],
    }
}
record! {
    /// One value of one process in a sample of slot 145.
    struct EngineRecord: 80 bytes { value: u32, pad: u32, pid: u32, rest: [u32; 17] }
}
record! {
    /// A sample of slot 145: SM, memory, encoder, decoder, JPEG, optical flow.
    struct EngineSample: 488 bytes { at_us: u64, engines: [EngineRecord; 6] }
}

type Word = *const c_void;

#[repr(transparent)]
struct Table([Word; WORDS]);

// SAFETY: addresses of functions and a size, never written.
unsafe impl Sync for Table {}

/// Runs a slot: a panic must not cross into C.
fn guarded(call: impl FnOnce() -> Answer) -> i32 {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.code(),
        Err(_) => Error::Unknown.code(),
    }
}

extern "C" fn not_supported() -> i32 {
    Error::NotSupported.code()
}

extern "C" fn done() -> i32 {
    0
}

macro_rules! slots {
    ($($number:literal fn $slot:ident($($arg:ident: $ty:ty),*) => $handler:path;)*) => {
        $(extern "C" fn $slot($($arg: $ty),*) -> i32 { guarded(move || $handler($($arg),*)) })*

        static TABLE: Table = {
            let mut words: [Word; WORDS] = [not_supported as Word; WORDS];
            words[0] = (WORDS * size_of::<Word>()) as Word;
            $(words[$number] = $slot as Word;)*
            // The steps around a reset: nothing to allocate, fill or free.
            words[182] = done as Word;
            words[183] = done as Word;
            words[184] = done as Word;
            Table(words)
        };
    };
}

slots! {
    12 fn slot_12(text: CStrIn, domain: Out<u32>, bus: Out<u32>, device: Out<u32>, function: Out<u32>) => parse_bus_id;
    20 fn slot_20(gpu: Gpu, primary: Out<u32>) => is_primary;
    23 fn slot_23(one: CStrIn, other: CStrIn, level: Out<u32>) => path_level;
    32 fn slot_32(gpu: Gpu, control: u32, answer: OutList<u8>, bytes: u32) => reset_control;
    72 fn slot_72(gpu: Gpu, supported: Out<u32>) => yes;
    75 fn slot_75(index: u32, domain: Out<u32>, bus: Out<u32>, device: Out<u32>) => address_of;
    81 fn slot_81(index: u32, text: Text, bytes: u32) => bus_id_of;
    108 fn slot_108(gpu: Gpu, milliwatts: Out<u32>) => enforced_limit;
    145 fn slot_145(gpu: Gpu, since_us: u64, unknown: *mut u32, count: InOut<u32>, list: OutList<EngineSample>) => engine_samples;
    168 fn slot_168(count: u32, gpus: *const Gpu, results: OutList<i32>, unknown: *mut u32) => reset;
    169 fn slot_169(state: Out<u32>) => no_fabric_manager;
    213 fn slot_213(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessRecord>) => compute_processes;
    214 fn slot_214(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessRecord>) => no_processes;
    215 fn slot_215(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessRecord>) => no_processes;
    231 fn slot_231(gpu: Gpu, text: Text, bytes: u32) => part_number;
    240 fn slot_240(gpu: Gpu, celsius: Out<i32>) => tlimit;
    242 fn slot_242(gpu: Gpu, mode: Out<u32>) => addressing_mode;
}

fn get(table: Out<*const c_void>, id: In<[u8; 16]>) -> Answer {
    if id.get()? != TABLE_ID {
        return Err(Error::InvalidArgument);
    }
    Ok(table.set((&raw const TABLE).cast())?)
}

fn parse_bus_id(text: CStrIn, domain: Out<u32>, bus: Out<u32>, device: Out<u32>, function: Out<u32>) -> Answer {
    let found = device::parse_bus_id(&text.get()?.to_string_lossy()).ok_or(Error::InvalidArgument)?;
    [domain, bus, device, function].iter().zip(found).try_for_each(|(out, part)| out.set(part))?;
    Ok(())
}

fn is_primary(gpu: Gpu, primary: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(primary.set(0)?)
}

/// Adapters are never near a GPU here; the one capture with adapters says so for every pair.
fn path_level(one: CStrIn, other: CStrIn, level: Out<u32>) -> Answer {
    let find = |text: CStrIn| -> Result<Option<Device>, Error> {
        let id = device::parse_bus_id(&text.get()?.to_string_lossy()).ok_or(Error::InvalidArgument)?;
        Ok(Device::all()?.find(|gpu| device::bus_address(*gpu) == (id[0], id[1], id[2])))
    };
    let near = match (find(one)?, find(other)?) {
        (Some(one), Some(other)) => topology::level(one, other) < 50,
        _ => false,
    };
    Ok(level.set(if near { SAME_NODE } else { ACROSS_SYSTEM })?)
}

fn reset_control(gpu: Gpu, control: u32, answer: OutList<u8>, bytes: u32) -> Answer {
    gpu.open()?;
    if (control, bytes) != (RESET_CONTROL, RESET_CONTROL_BYTES) {
        return Err(Error::NotSupported);
    }
    Ok(answer.set(bytes as usize, [0; RESET_CONTROL_BYTES as usize].into_iter())?)
}

fn yes(gpu: Gpu, supported: Out<u32>) -> Answer {
    gpu.open()?;
    Ok(supported.set(1)?)
}

fn address_of(index: u32, domain: Out<u32>, bus: Out<u32>, device: Out<u32>) -> Answer {
    let address = device::bus_address(Device::at(index)?);
    domain.set(address.0)?;
    bus.set(address.1)?;
    Ok(device.set(address.2)?)
}

/// Answers for a lost GPU too: it names it in the message about its loss.
fn bus_id_of(index: u32, text: Text, bytes: u32) -> Answer {
    Ok(text.set(bytes as usize, &pcie::legacy_bus_id(Device::at(index)?))?)
}

fn enforced_limit(gpu: Gpu, milliwatts: Out<u32>) -> Answer {
    Ok(milliwatts.set(gpu.open()?.modes().power_limit_milliwatts)?)
}

/// The caller adds a process's values up and divides by the number of samples: with one sample a process each value
/// is multiplied by their number.
fn engine_samples(
    gpu: Gpu,
    _since_us: u64,
    _unknown: *mut u32,
    count: InOut<u32>,
    list: OutList<EngineSample>,
) -> Answer {
    let found = processes::on(gpu.open()?);
    let (room, at_us) = (count.get()? as usize, crate::utilization::now_us());
    let many = found.len().min(room) as u32;
    let samples = found.iter().map(|process| {
        let record = |value: u32| EngineRecord { value: value * many, pad: 0, pid: process.pid, rest: [0; 17] };
        let (sm, memory, idle) = (record(process.gpu_utilization), record(process.memory_utilization), record(0));
        EngineSample { at_us, engines: [sm, memory, idle, idle, idle, idle] }
    });
    let written = list.fill(room, samples)?;
    Ok(count.set(written as u32)?)
}

fn reset(count: u32, gpus: *const Gpu, results: OutList<i32>, _unknown: *mut u32) -> Answer {
    // SAFETY: the caller lends as many handles as it says.
    let gpus = unsafe { ghost_abi::InList::from_raw(gpus) }.get(count as usize)?;
    let outcome: Vec<_> = gpus.into_iter().map(|gpu| gpu.even_lost().and_then(change::reset)).collect();
    if !results.is_null() {
        let codes: Vec<_> = outcome.iter().map(|answer| answer.map_or_else(Error::code, |()| 0)).collect();
        results.set(codes.len(), codes.into_iter())?;
    }
    outcome.into_iter().collect()
}

fn no_fabric_manager(state: Out<u32>) -> Answer {
    Ok(state.set(0)?)
}

fn compute_processes(gpu: Gpu, count: InOut<u32>, list: OutList<ProcessRecord>) -> Answer {
    let found = processes::on(gpu.open()?);
    let room = count.get()? as usize;
    count.set(found.len() as u32)?;
    if found.len() > room {
        return Err(Error::InsufficientSize);
    }
    let none = processes::NO_INSTANCE;
    let records = found.iter().map(|process| ProcessRecord {
        pid: process.pid,
        pad: 0,
        used: process.used_bytes,
        gpu_instance: none,
        compute_instance: none,
        protected: 0,
        name: crate::structs::put(&processes::process_name(process.pid).unwrap_or_default()),
    });
    Ok(list.set(room, records)?)
}

/// All three lists must succeed or the caller drops them all.
fn no_processes(gpu: Gpu, count: InOut<u32>, _list: OutList<ProcessRecord>) -> Answer {
    gpu.open()?;
    Ok(count.set(0)?)
}

fn part_number(gpu: Gpu, text: Text, bytes: u32) -> Answer {
    Ok(text.set(bytes as usize, &gpu.open()?.profile().product.gpu_part_number)?)
}

fn tlimit(gpu: Gpu, celsius: Out<i32>) -> Answer {
    Ok(celsius.set(thermal::tlimit(gpu.open()?))?)
}

fn addressing_mode(gpu: Gpu, mode: Out<u32>) -> Answer {
    Ok(mode.set(platform::addressing_number(gpu.open()?.profile().topology.addressing_mode))?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::{Plain, ask};

    use super::*;
    use crate::testing;

    fn c(text: &std::ffi::CStr) -> CStrIn {
        // SAFETY: a live C string.
        unsafe { CStrIn::from_raw(text.as_ptr()) }
    }

    #[test]
    fn the_first_word_is_the_size_and_unknown_slots_touch_nothing() {
        assert_eq!(TABLE.0[0] as usize, 5600);
        // SAFETY: every word but the first is the address of such a function.
        let slot: extern "C" fn() -> i32 = unsafe { std::mem::transmute(TABLE.0[300]) };
        assert_eq!(slot(), 3);
    }

    #[test]
    fn another_table_is_refused() {
        let id = Box::leak(Box::new([7_u8; 16]));
        // SAFETY: a leaked array.
        let lens = unsafe { In::from_raw(&raw const *id) };
        assert_eq!(ask(|out| get(out, lens)), Err(Error::InvalidArgument));
    }

    #[test]
    fn a_lost_gpu_still_has_an_address() {
        testing::tray(|facts| facts.gpus[1].modes.lost = 1);
        let text = ghost_abi::ask_text(34, |text, bytes| bus_id_of(1, text, bytes as u32));
        assert_eq!(text.unwrap(), "0009:01:00.0");
    }

    #[test]
    fn a_path_between_superchips_crosses_the_system() {
        testing::tray(|_| ());
        let level = |a, b| ask(|out| path_level(c(a), c(b), out)).unwrap();
        assert_eq!(level(c"00000008:01:00.0", c"00000009:01:00.0"), SAME_NODE);
        assert_eq!(level(c"00000008:01:00.0", c"00000018:01:00.0"), ACROSS_SYSTEM);
        assert_eq!(level(c"00000008:01:00.0", c"0000:19:00.0"), ACROSS_SYSTEM);
    }

    #[test]
    fn a_process_record_carries_its_name() {
        let me = std::process::id();
        testing::tray(|facts| {
            facts.tray.process_count = 1;
            (facts.processes[0].pid, facts.processes[0].used_bytes) = (me, 1 << 30);
        });
        let (mut count, mut list) = (500, vec![ProcessRecord::zeroed(); 500]);
        // SAFETY: both borrow live variables; the list has as many places as the count says.
        let lenses = unsafe { (InOut::from_raw(&raw mut count), OutList::from_raw(list.as_mut_ptr())) };
        compute_processes(Gpu::of(0), lenses.0, lenses.1).unwrap();
        assert_eq!((count, list[0].pid, list[0].used, list[0].gpu_instance), (1, me, 1 << 30, u32::MAX));
        assert_eq!(Some(crate::structs::text(&list[0].name)), std::env::args().next().as_deref());
    }
}
