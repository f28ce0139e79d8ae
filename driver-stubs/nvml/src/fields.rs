//! `nvmlDeviceGetFieldValues`: many small facts by number, each with its own status.
//! Numbers are those of driver 580.82 and later; an id nobody answers is "not supported", never a zero.

use ghost_abi::{InList, OutList};

use crate::ecc::{Errors, errors};
use crate::gpu::Device;
use crate::structs::FieldValue;
use crate::utilization::{now_us, violation_ns};
use crate::{Answer, Error, Gpu, Nvml, thermal};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetFieldValues(gpu: Gpu, count: i32, values: *mut FieldValue) => get;
}

/// A value with its C type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unsigned(u32),
    Long(u64),
    Signed(i32),
}

use Value::{Long, Signed, Unsigned};

type Field = Result<Value, Error>;

/// Links between one GPU and its CPU, and megabytes a second of each (public `nvidia-smi c2c -s` captures).
const C2C_LINKS: u32 = 5;
const C2C_MEGABYTES_PER_SECOND: u32 = 44_712;
/// A scope that means all links.
const ALL_LINKS: u32 = u32::MAX;
/// Scopes of a power field.
const SCOPE_GPU: u32 = 0;
const SCOPE_MODULE: u32 = 1;
const SCOPE_MEMORY: u32 = 2;

impl Value {
    /// `nvmlValueType_t`, and the bits of the union.
    fn parts(self) -> (u32, u64) {
        match self {
            Unsigned(value) => (1, value.into()),
            Long(value) => (3, value),
            Signed(value) => (5, u64::from(value.cast_unsigned())),
        }
    }
}

/// Success as a whole; each value says how it fared.
fn get(gpu: Gpu, count: i32, values: *mut FieldValue) -> Answer {
    let device = gpu.open()?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Error::InvalidArgument)?;
    // SAFETY: the caller lends as many values as it says, to read and to write.
    let (asked, answered) = unsafe { (InList::from_raw(values), OutList::from_raw(values)) };
    let at_us = now_us().cast_signed();
    let answers: Vec<_> = asked.get(count)?.into_iter().map(|field| answer(device, field, at_us)).collect();
    Ok(answered.set(count, answers.into_iter())?)
}

fn answer(device: Device, asked: FieldValue, at_us: i64) -> FieldValue {
    let (status, kind, value) = match field(device, asked.id, asked.scope) {
        Ok(value) => (0, value.parts().0, value.parts().1),
        Err(error) => (error.code(), asked.kind, asked.value),
    };
    FieldValue { at_us, latency_us: 0, kind, status, value, ..asked }
}

/// One arm a family; ids are NVML's.
fn field(device: Device, id: u32, scope: u32) -> Field {
    match id {
        1 => Ok(Unsigned(device.modes().ecc)),
        2 => Ok(Unsigned(device.modes().ecc_pending)),
        3..=6 | 11 | 12 | 22 | 23 => ecc(device, id),
        74..=81 => policy(device, id),
        82 => Ok(Unsigned(thermal::memory_celsius(device).max(0).cast_unsigned())),
        83 | 191 => Ok(Long(device.live().energy_millijoules)),
        84..=91 | 132..=141 | 146 | 147 | 161..=167 | 201..=222 | 235..=250 => link(device, id, scope),
        94 | 95 | 169 | 173..=184 | 199 => Ok(Unsigned(0)),
        142..=145 => remap(device, id),
        170..=172 | 231..=234 => c2c(device, id, scope),
        185..=190 | 192 => power(device, id, scope),
        193..=196 => tlimit(device, id),
        226 | 227 | 230 => recovery(device, id),
        229 => inbound_atomics(device),
        // Power smoothing: driver 580 answers so to everybody on the captured machine.
        251..=268 => Err(Error::NoPermission),
        269..=271 => Ok(Long(device.live().clocks_event_ns[id as usize - 269 + 2])),
        _ => Err(Error::NotSupported),
    }
}

/// 3 to 6: corrected and uncorrected, volatile then aggregate; the others the same for DRAM.
fn ecc(device: Device, id: u32) -> Field {
    let (severity, counter) = match id {
        3 | 11 => (0, 0),
        4 | 12 => (1, 0),
        5 | 22 => (0, 1),
        _ => (1, 1),
    };
    let Errors { dram, sram } = errors(device, severity, counter)?;
    Ok(Long(if id <= 6 { dram + sram } else { dram }))
}

fn policy(device: Device, id: u32) -> Field {
    let policies = [0, 1, 2, 3, 4, 5, 10, 11];
    violation_ns(device, policies[id as usize - 74]).map(Long)
}

fn remap(device: Device, id: u32) -> Field {
    let ecc = device.ecc();
    let values = [ecc.remapped_corrected, ecc.remapped_uncorrected, ecc.remap_pending, ecc.remap_failed];
    Ok(Unsigned(values[id as usize - 142]))
}

fn link(device: Device, id: u32, scope: u32) -> Field {
    let speed =
        |link: u32| device.link(link).map(|link| Unsigned(if link.up != 0 { line_rate(link.speed_mbps) } else { 0 }));
    match id {
        84..=89 => speed(id - 84),
        90 => speed(0),
        91 => Ok(Unsigned(device.link_count())),
        132..=137 => speed(id - 132 + 6),
        138..=141 => traffic(device, scope, id.is_multiple_of(2)).map(|bytes| Long(bytes / 1024)),
        146 => device.link(scope).map(|_| Unsigned(scope)),
        147 => Ok(Unsigned(device.links_up())),
        164 => speed(scope),
        202 => traffic(device, scope, true).map(Long),
        204 => traffic(device, scope, false).map(Long),
        _ => one_link(device, id, scope),
    }
}

/// Megabytes a second on the wire: what a link carries, and its error correction (257/256 x 544/514 = 17/16). A GB200
/// shows 53125 where 50000 can be used.
fn line_rate(megabytes_per_second: u32) -> u32 {
    (u64::from(megabytes_per_second) * 17 / 16) as u32
}

/// Bytes sent or received over one link or all of them.
fn traffic(device: Device, scope: u32, sent: bool) -> Result<u64, Error> {
    let bytes = |link: u32| device.link(link).map(|link| if sent { link.tx_bytes } else { link.rx_bytes });
    if scope == ALL_LINKS { (0..device.link_count()).map(bytes).sum() } else { bytes(scope) }
}

/// Counters of one link. Those of packets, lanes and bit error rates have no fact behind them.
fn one_link(device: Device, id: u32, scope: u32) -> Field {
    let facts = device.link(scope)?;
    match id {
        162 | 213 | 215 => Ok(Long(facts.recovery_count.into())),
        163 | 208 => Ok(Long(facts.error_count.into())),
        161 | 205..=207 | 209..=212 | 214 | 219 | 221 | 235..=250 => Ok(Long(0)),
        165 => Ok(Unsigned(facts.up)),
        166 => Ok(Unsigned(device.profile().nvlink.version)),
        // 0 = high speed.
        167 => Ok(Unsigned(0)),
        _ => Err(Error::NotSupported),
    }
}

fn c2c(device: Device, id: u32, scope: u32) -> Field {
    if !device.profile().topology.c2c_enabled {
        return Err(Error::NotSupported);
    }
    match id {
        170 => Ok(Unsigned(C2C_LINKS)),
        _ if scope >= C2C_LINKS => Err(Error::InvalidArgument),
        171 => Ok(Unsigned(1)),
        172 => Ok(Unsigned(C2C_MEGABYTES_PER_SECOND)),
        _ => Ok(Unsigned(0)),
    }
}

/// 185 average, 186 instant, 187 lowest limit, 188 highest, 189 default, 190 enforced, 192 requested.
fn power(device: Device, id: u32, scope: u32) -> Field {
    let (live, modes, power) = (device.live(), device.modes(), &device.profile().power);
    let value = match (scope, id) {
        (SCOPE_GPU, 185) => live.power_average_milliwatts,
        (SCOPE_GPU, 186) => live.power_instant_milliwatts,
        (SCOPE_GPU, 187) => power.limit_min_milliwatts,
        (SCOPE_GPU, 188) => power.limit_max_milliwatts,
        (SCOPE_GPU, 189) => power.limit_default_milliwatts,
        (SCOPE_GPU, 190) => modes.power_limit_milliwatts,
        (SCOPE_GPU, 192) => modes.power_limit_requested_milliwatts,
        (SCOPE_MODULE, 185 | 186) => live.module_power_milliwatts,
        (SCOPE_MODULE, 187) => power.module_limit_min_milliwatts,
        (SCOPE_MODULE, 188) => power.module_limit_max_milliwatts,
        (SCOPE_MODULE, 189 | 190 | 192) => power.module_limit_default_milliwatts,
        (SCOPE_MEMORY, 185) => live.memory_power_milliwatts,
        (SCOPE_MEMORY, _) => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidArgument),
    };
    Ok(Unsigned(value))
}

fn tlimit(device: Device, id: u32) -> Field {
    let thermal = &device.profile().thermal;
    Ok(Signed(match id {
        193 => thermal.shutdown_tlimit_celsius,
        194 => thermal.slowdown_tlimit_celsius,
        195 => thermal.memory_tlimit_celsius,
        _ => thermal.max_operating_tlimit_celsius,
    }))
}

/// 226 needs a reset, 227 drain and reset are advised, 230 what to do (580).
fn recovery(device: Device, id: u32) -> Field {
    let modes = device.modes();
    Ok(Unsigned(match id {
        226 => (modes.recovery_action == 1).into(),
        227 => (modes.recovery_action == 4).into(),
        _ => modes.recovery_action,
    }))
}

fn inbound_atomics(device: Device) -> Field {
    const NAMES: [&str; 7] = ["FETCHADD_32", "FETCHADD_64", "SWAP_32", "SWAP_64", "CAS_32", "CAS_64", "CAS_128"];
    let known = &device.profile().pci.atomic_caps_inbound;
    let bit = |(place, name): (usize, &&str)| u32::from(known.iter().any(|cap| cap == name)) << place;
    Ok(Unsigned(NAMES.iter().enumerate().map(bit).sum()))
}

#[cfg(test)]
mod tests {
    use ghost_abi::Plain;

    use super::*;
    use crate::testing;

    fn ask_fields<const N: usize>(asked: [(u32, u32); N]) -> [FieldValue; N] {
        let mut values = asked.map(|(id, scope)| FieldValue { id, scope, ..FieldValue::zeroed() });
        get(Gpu::of(0), N as i32, values.as_mut_ptr()).unwrap();
        values
    }

    #[test]
    fn each_value_has_its_own_status_and_type() {
        testing::tray(|facts| facts.gpus[0].live.energy_millijoules = 1 << 40);
        let [memory, energy, limit, unknown] = ask_fields([(82, 0), (83, 0), (193, 0), (197, 0)]);
        assert_eq!((memory.status, memory.kind, memory.value), (0, 1, 27));
        assert_eq!((energy.kind, energy.value), (3, 1 << 40));
        assert_eq!((limit.kind, limit.value as u32 as i32), (5, -5));
        assert_eq!(unknown.status, Error::NotSupported.code());
        assert!(memory.at_us > 0);
    }

    #[test]
    fn scopes_of_power_are_gpu_module_and_memory() {
        testing::tray(|_| ());
        let values = ask_fields([(185, 0), (185, 1), (185, 2), (188, 1), (186, 2)]);
        assert_eq!(values.map(|value| value.value as u32), [165_930, 467_170, 30_260, 2_500_000, 0]);
        assert_eq!(values[4].status, Error::NotSupported.code());
    }

    #[test]
    fn scopes_of_a_link_field_are_links() {
        testing::tray(|facts| {
            facts.gpus[0].links[3].up = 0;
            facts.gpus[0].links[5].tx_bytes = 2048;
        });
        let values = ask_fields([(165, 3), (165, 4), (164, 4), (147, 0), (138, 5), (138, ALL_LINKS), (165, 18)]);
        assert_eq!(values.map(|value| value.value as u32), [0, 1, 53_125, 17, 2, 2, 0]);
        assert_eq!(values[6].status, Error::InvalidArgument.code());
    }

    #[test]
    fn no_values_and_a_null_list_are_refused() {
        testing::tray(|_| ());
        assert_eq!(get(Gpu::of(0), 0, std::ptr::null_mut()), Err(Error::InvalidArgument));
        assert_eq!(get(Gpu::of(0), 2, std::ptr::null_mut()), Err(Error::InvalidArgument));
    }
}
