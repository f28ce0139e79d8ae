//! Every property that can be asked of a GPU, once: its name, its other name, its unit, how it is read.
//! csv queries and `-q` are made of these; nothing is printed here.

use crate::cell::{Cell, active, enabled, mebibytes, named, watts, yes};
use crate::nvml::{Bytes, Gpu, NOT_SUPPORTED, Result};

/// One property.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub alias: &'static str,
    pub unit: &'static str,
    read: fn(&Gpu<'_>) -> Cell,
}

impl Field {
    pub fn read(&self, gpu: &Gpu<'_>) -> Cell {
        (self.read)(gpu)
    }
}

/// The property of a name or an alias, in any case.
pub fn find(name: &str) -> Option<&'static Field> {
    let is = |field: &&Field| field.name.eq_ignore_ascii_case(name) || field.alias.eq_ignore_ascii_case(name);
    (!name.is_empty()).then(|| FIELDS.iter().find(is)).flatten()
}

/// One that csv queries do not know, for `-q`.
pub fn inner(name: &str) -> Option<&'static Field> {
    find(name).or_else(|| INNER.iter().find(|field| field.name == name))
}

const fn row(name: &'static str, alias: &'static str, unit: &'static str, read: fn(&Gpu<'_>) -> Cell) -> Field {
    Field { name, alias, unit, read }
}

fn none(gpu: &Gpu<'_>) -> Cell {
    Err(gpu.nvml.failure(NOT_SUPPORTED))
}

fn shown(value: Result<impl ToString>) -> Cell {
    value.map(|value| value.to_string())
}

/// Readings that several properties share.
mod read {
    use super::*;

    pub fn pci(gpu: &Gpu<'_>) -> Result<Bytes> {
        gpu.versioned(c"nvmlDeviceGetPciInfoExt", 0x0100_0040)
    }

    pub fn memory(gpu: &Gpu<'_>, offset: usize) -> Cell {
        Ok(mebibytes(gpu.versioned(c"nvmlDeviceGetMemoryInfo_v2", 0x0200_0028)?.u64(offset)))
    }

    pub fn bar1(gpu: &Gpu<'_>, offset: usize) -> Cell {
        Ok(mebibytes(gpu.record(c"nvmlDeviceGetBAR1MemoryInfo", 24)?.u64(offset)))
    }

    pub fn protected(gpu: &Gpu<'_>, offset: usize) -> Cell {
        Ok(mebibytes(gpu.record(c"nvmlDeviceGetConfComputeProtectedMemoryUsage", 24)?.u64(offset)))
    }

    pub fn reasons(gpu: &Gpu<'_>, bit: u64) -> Cell {
        Ok(active((gpu.u64(c"nvmlDeviceGetCurrentClocksEventReasons")? & bit != 0).into()))
    }

    /// Microseconds, from a field value in nanoseconds.
    pub fn held_us(gpu: &Gpu<'_>, field: u32) -> Cell {
        Ok((gpu.field(field, 0)?.u64(0) / 1000).to_string())
    }

    pub fn power(gpu: &Gpu<'_>, field: u32, scope: u32) -> Cell {
        Ok(watts(gpu.field(field, scope)?.u32(0)))
    }

    pub fn sram(gpu: &Gpu<'_>, offset: usize) -> Cell {
        Ok(gpu.versioned(c"nvmlDeviceGetSramEccErrorStatus", 0x0100_0068)?.u64(offset).to_string())
    }

    pub fn rows(gpu: &Gpu<'_>, place: usize) -> Result<u32> {
        Ok(gpu.remapped_rows()?[place])
    }

    pub fn banks(gpu: &Gpu<'_>, offset: usize) -> Cell {
        Ok(gpu.record(c"nvmlDeviceGetRowRemapperHistogram", 20)?.u32(offset).to_string())
    }

    pub fn engine(gpu: &Gpu<'_>, name: &std::ffi::CStr) -> Cell {
        Ok(gpu.pair(name)?[0].to_string())
    }

    pub fn encoder(gpu: &Gpu<'_>, place: usize) -> Cell {
        Ok(gpu.triple(c"nvmlDeviceGetEncoderStats")?[place].to_string())
    }

    /// Nothing but the state holds before the probe has completed.
    pub fn fabric(gpu: &Gpu<'_>, show: impl FnOnce(&Bytes) -> String) -> Cell {
        match gpu.versioned(c"nvmlDeviceGetGpuFabricInfoV", 0x0300_0028) {
            Ok(info) if info.u32(28) == 3 => Ok(show(&info)),
            Ok(_) => Ok("N/A".to_owned()),
            Err(failure) if failure.code == NOT_SUPPORTED => Ok("N/A".to_owned()),
            Err(failure) => Err(failure),
        }
    }

    pub fn health(gpu: &Gpu<'_>, shift: u32, names: [&str; 3]) -> Cell {
        fabric(gpu, |info| named((info.u32(32) >> shift) & 3, &names))
    }

    pub fn platform(gpu: &Gpu<'_>, show: impl FnOnce(&Bytes) -> String) -> Cell {
        Ok(show(&gpu.versioned(c"nvmlDeviceGetPlatformInfo", 0x0200_002c)?))
    }

    /// A signed field value in degrees.
    pub fn degrees(gpu: &Gpu<'_>, field: u32) -> Cell {
        Ok(gpu.field(field, 0)?.i32(0).to_string())
    }

    pub fn clock(gpu: &Gpu<'_>, name: &std::ffi::CStr, kind: u32) -> Cell {
        shown(gpu.u32_of(name, kind))
    }

    pub fn atomics(mask: u32) -> String {
        let names = ["FETCHADD_32", "FETCHADD_64", "SWAP_32", "SWAP_64", "CAS_32", "CAS_64", "CAS_128"];
        let set = names.iter().enumerate().filter(|(place, _)| mask & (1 << place) != 0);
        set.map(|(_, name)| format!("{name} ")).collect()
    }
}

/// `8-4-4-4-12` of sixteen bytes.
fn uuid(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

const TRUTH: [&str; 3] = ["N/A", "True", "False"];
const ARCHITECTURES: [&str; 11] = [
    "Unknown",
    "Unknown",
    "Kepler",
    "Maxwell",
    "Pascal",
    "Volta",
    "Turing",
    "Ampere",
    "Ada Lovelace",
    "Hopper",
    "Blackwell",
];
const CLOCK_NOW: &std::ffi::CStr = c"nvmlDeviceGetClockInfo";
const CLOCK_MAX: &std::ffi::CStr = c"nvmlDeviceGetMaxClockInfo";
const CLOCK_APP: &std::ffi::CStr = c"nvmlDeviceGetApplicationsClock";
const CLOCK_APP_DEFAULT: &std::ffi::CStr = c"nvmlDeviceGetDefaultApplicationsClock";

/// What `--query-gpu` knows, in the order of its help.
pub static FIELDS: &[Field] = &[
    row("timestamp", "", "", |_| Ok(crate::time::csv())),
    row("driver_version", "", "", |g| g.nvml.system_text(c"nvmlSystemGetDriverVersion")),
    row("vgpu_driver_capability.heterogenous_multivGPU", "", "", none),
    row("count", "", "", |g| shown(g.nvml.system_number(c"nvmlDeviceGetCount_v2"))),
    row("name", "gpu_name", "", |g| g.text(c"nvmlDeviceGetName")),
    row("serial", "gpu_serial", "", |g| g.text(c"nvmlDeviceGetSerial")),
    row("uuid", "gpu_uuid", "", |g| g.text(c"nvmlDeviceGetUUID")),
    row("pci.bus_id", "gpu_bus_id", "", |g| Ok(read::pci(g)?.text(32, 32))),
    row("pci.domain", "", "", |g| Ok(format!("0x{:04X}", read::pci(g)?.u32(4)))),
    row("pci.bus", "", "", |g| Ok(format!("0x{:02X}", read::pci(g)?.u32(8)))),
    row("pci.device", "", "", |g| Ok(format!("0x{:02X}", read::pci(g)?.u32(12)))),
    row("pci.baseClass", "", "", |g| Ok(format!("0x{:X}", read::pci(g)?.u32(24)))),
    row("pci.subClass", "", "", |g| Ok(format!("0x{:X}", read::pci(g)?.u32(28)))),
    row("pci.device_id", "", "", |g| Ok(format!("0x{:08X}", read::pci(g)?.u32(16)))),
    row("pci.sub_device_id", "", "", |g| Ok(format!("0x{:08X}", read::pci(g)?.u32(20)))),
    row("vgpu_device_capability.fractional_multiVgpu", "", "", none),
    row("vgpu_device_capability.heterogeneous_timeSlice_profile", "", "", none),
    row("vgpu_device_capability.heterogeneous_timeSlice_sizes", "", "", none),
    row("vgpu_device_capability.homogeneous_placements", "", "", none),
    row("vgpu_device_capability.mig_timeSlicing", "", "", none),
    row("vgpu_device_capability.mig_timeSlicing_mode", "", "", none),
    row("pcie.link.gen.current", "", "", |g| shown(g.u32(c"nvmlDeviceGetCurrPcieLinkGeneration"))),
    row("pcie.link.gen.gpucurrent", "", "", |g| shown(g.u32(c"nvmlDeviceGetCurrPcieLinkGeneration"))),
    row("pcie.link.gen.max", "", "", |g| shown(g.u32(c"nvmlDeviceGetMaxPcieLinkGeneration"))),
    row("pcie.link.gen.gpumax", "", "", |g| shown(g.u32(c"nvmlDeviceGetGpuMaxPcieLinkGeneration"))),
    row("pcie.link.gen.hostmax", "", "", none),
    row("pcie.link.width.current", "", "", |g| shown(g.u32(c"nvmlDeviceGetCurrPcieLinkWidth"))),
    row("pcie.link.width.max", "", "", |g| shown(g.u32(c"nvmlDeviceGetMaxPcieLinkWidth"))),
    row("index", "", "", |g| shown(g.u32(c"nvmlDeviceGetIndex"))),
    row("display_mode", "", "", |g| Ok(enabled(g.u32(c"nvmlDeviceGetDisplayMode")?))),
    // NVML has no call for it; both captures of headless machines say so.
    row("display_attached", "", "", |g| g.u32(c"nvmlDeviceGetIndex").map(|_| "Yes".to_owned())),
    row("display_active", "", "", |g| Ok(enabled(g.u32(c"nvmlDeviceGetDisplayActive")?))),
    row("persistence_mode", "", "", |g| Ok(enabled(g.u32(c"nvmlDeviceGetPersistenceMode")?))),
    row("addressing_mode", "", "", |g| {
        let mode = g.versioned(c"nvmlDeviceGetAddressingMode", 0x0100_0008)?.u32(4);
        Ok(named(mode, &["None", "HMM", "ATS"]))
    }),
    row("accounting.mode", "", "", |g| Ok(enabled(g.u32(c"nvmlDeviceGetAccountingMode")?))),
    row("accounting.buffer_size", "", "", |g| shown(g.u32(c"nvmlDeviceGetAccountingBufferSize"))),
    row("driver_model.current", "", "", |g| shown(g.pair(c"nvmlDeviceGetDriverModel_v2").map(|pair| pair[0]))),
    row("driver_model.pending", "", "", |g| shown(g.pair(c"nvmlDeviceGetDriverModel_v2").map(|pair| pair[1]))),
    row("vbios_version", "", "", |g| g.text(c"nvmlDeviceGetVbiosVersion")),
    row("inforom.img", "inforom.image", "", |g| g.text(c"nvmlDeviceGetInforomImageVersion")),
    row("inforom.oem", "", "", |g| g.text_of(c"nvmlDeviceGetInforomVersion", 0)),
    row("inforom.ecc", "", "", |g| g.text_of(c"nvmlDeviceGetInforomVersion", 1)),
    row("inforom.pwr", "inforom.power", "", |g| g.text_of(c"nvmlDeviceGetInforomVersion", 2)),
    row("inforom.checksum_validation", "", "", |g| {
        g.u32(c"nvmlDeviceGetInforomConfigurationChecksum").map(|_| "valid".to_owned())
    }),
    row("gpu_recovery_action", "", "", |g| {
        let names = ["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"];
        Ok(named(g.field(230, 0)?.u32(0), &names))
    }),
    row("reset_status.reset_required", "", "", |g| Ok(yes(g.field(226, 0)?.u32(0)))),
    row("reset_status.drain_and_reset_recommended", "", "", |g| Ok(yes(g.field(227, 0)?.u32(0)))),
    row("gom.current", "gpu_operation_mode.current", "", |g| {
        shown(g.pair(c"nvmlDeviceGetGpuOperationMode").map(|p| p[0]))
    }),
    row("gom.pending", "gpu_operation_mode.pending", "", |g| {
        shown(g.pair(c"nvmlDeviceGetGpuOperationMode").map(|p| p[1]))
    }),
    row("fan.speed", "", "%", |g| shown(g.u32(c"nvmlDeviceGetFanSpeed"))),
    row("pstate", "", "", |g| Ok(format!("P{}", g.u32(c"nvmlDeviceGetPerformanceState")?))),
    row("clocks_event_reasons.supported", "clocks_throttle_reasons.supported", "", |g| {
        Ok(format!("0x{:016X}", g.u64(c"nvmlDeviceGetSupportedClocksEventReasons")?))
    }),
    row("clocks_event_reasons.active", "clocks_throttle_reasons.active", "", |g| {
        Ok(format!("0x{:016X}", g.u64(c"nvmlDeviceGetCurrentClocksEventReasons")?))
    }),
    row("clocks_event_reasons.gpu_idle", "clocks_throttle_reasons.gpu_idle", "", |g| read::reasons(g, 1)),
    row(
        "clocks_event_reasons.applications_clocks_setting",
        "clocks_throttle_reasons.applications_clocks_setting",
        "",
        |g| read::reasons(g, 2),
    ),
    row("clocks_event_reasons.sw_power_cap", "clocks_throttle_reasons.sw_power_cap", "", |g| read::reasons(g, 4)),
    row("clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown", "", |g| read::reasons(g, 8)),
    row("clocks_event_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown", "", |g| {
        read::reasons(g, 0x40)
    }),
    row("clocks_event_reasons.hw_power_brake_slowdown", "clocks_throttle_reasons.hw_power_brake_slowdown", "", |g| {
        read::reasons(g, 0x80)
    }),
    row("clocks_event_reasons.sw_thermal_slowdown", "clocks_throttle_reasons.sw_thermal_slowdown", "", |g| {
        read::reasons(g, 0x20)
    }),
    row("clocks_event_reasons.sync_boost", "clocks_throttle_reasons.sync_boost", "", |g| read::reasons(g, 0x10)),
    row("clocks_event_reasons_counters.sw_power_cap", "", "us", |g| read::held_us(g, 74)),
    row("clocks_event_reasons_counters.sync_boost", "", "us", |g| read::held_us(g, 76)),
    row("clocks_event_reasons_counters.sw_thermal_slowdown", "", "us", |g| read::held_us(g, 269)),
    row("clocks_event_reasons_counters.hw_thermal_slowdown", "", "us", |g| read::held_us(g, 270)),
    row("clocks_event_reasons_counters.hw_power_brake_slowdown", "", "us", |g| read::held_us(g, 271)),
    row("memory.total", "", "MiB", |g| read::memory(g, 8)),
    row("memory.reserved", "", "MiB", |g| read::memory(g, 16)),
    row("memory.used", "", "MiB", |g| read::memory(g, 32)),
    row("memory.free", "", "MiB", |g| read::memory(g, 24)),
    row("compute_mode", "", "", |g| {
        let names = ["Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"];
        Ok(named(g.u32(c"nvmlDeviceGetComputeMode")?, &names))
    }),
    row("compute_cap", "", "", |g| {
        g.pair(c"nvmlDeviceGetCudaComputeCapability").map(|[major, minor]| format!("{major}.{minor}"))
    }),
    row("utilization.gpu", "", "%", |g| Ok(g.record(c"nvmlDeviceGetUtilizationRates", 8)?.u32(0).to_string())),
    row("utilization.memory", "", "%", |g| Ok(g.record(c"nvmlDeviceGetUtilizationRates", 8)?.u32(4).to_string())),
    row("utilization.encoder", "", "%", |g| read::engine(g, c"nvmlDeviceGetEncoderUtilization")),
    row("utilization.decoder", "", "%", |g| read::engine(g, c"nvmlDeviceGetDecoderUtilization")),
    row("utilization.jpeg", "", "%", |g| read::engine(g, c"nvmlDeviceGetJpgUtilization")),
    row("utilization.ofa", "", "%", |g| read::engine(g, c"nvmlDeviceGetOfaUtilization")),
    row("encoder.stats.sessionCount", "", "", |g| read::encoder(g, 0)),
    row("encoder.stats.averageFps", "", "", |g| read::encoder(g, 1)),
    row("encoder.stats.averageLatency", "", "", |g| read::encoder(g, 2)),
    row("dramEncryption.mode.current", "", "", none),
    row("dramEncryption.mode.pending", "", "", none),
    row("ecc.mode.current", "", "", |g| Ok(enabled(g.pair(c"nvmlDeviceGetEccMode")?[0]))),
    row("ecc.mode.pending", "", "", |g| Ok(enabled(g.pair(c"nvmlDeviceGetEccMode")?[1]))),
    row("ecc.errors.corrected.volatile.device_memory", "", "", |g| shown(g.ecc_at(0, 0, 2))),
    row("ecc.errors.corrected.volatile.dram", "", "", |g| shown(g.ecc_at(0, 0, 2))),
    row("ecc.errors.corrected.volatile.register_file", "", "", |g| shown(g.ecc_at(0, 0, 3))),
    row("ecc.errors.corrected.volatile.l1_cache", "", "", |g| shown(g.ecc_at(0, 0, 0))),
    row("ecc.errors.corrected.volatile.l2_cache", "", "", |g| shown(g.ecc_at(0, 0, 1))),
    row("ecc.errors.corrected.volatile.texture_memory", "", "", |g| shown(g.ecc_at(0, 0, 4))),
    row("ecc.errors.corrected.volatile.cbu", "", "", |g| shown(g.ecc_at(0, 0, 6))),
    row("ecc.errors.corrected.volatile.sram", "", "", |g| shown(g.ecc_at(0, 0, 7))),
    row("ecc.errors.corrected.volatile.total", "", "", |g| shown(g.ecc_total(0, 0))),
    row("ecc.errors.corrected.aggregate.device_memory", "", "", |g| shown(g.ecc_at(0, 1, 2))),
    row("ecc.errors.corrected.aggregate.dram", "", "", |g| shown(g.ecc_at(0, 1, 2))),
    row("ecc.errors.corrected.aggregate.register_file", "", "", |g| shown(g.ecc_at(0, 1, 3))),
    row("ecc.errors.corrected.aggregate.l1_cache", "", "", |g| shown(g.ecc_at(0, 1, 0))),
    row("ecc.errors.corrected.aggregate.l2_cache", "", "", |g| shown(g.ecc_at(0, 1, 1))),
    row("ecc.errors.corrected.aggregate.texture_memory", "", "", |g| shown(g.ecc_at(0, 1, 4))),
    row("ecc.errors.corrected.aggregate.cbu", "", "", |g| shown(g.ecc_at(0, 1, 6))),
    row("ecc.errors.corrected.aggregate.sram", "", "", |g| shown(g.ecc_at(0, 1, 7))),
    row("ecc.errors.corrected.aggregate.total", "", "", |g| shown(g.ecc_total(0, 1))),
    row("ecc.errors.uncorrected.volatile.device_memory", "", "", |g| shown(g.ecc_at(1, 0, 2))),
    row("ecc.errors.uncorrected.volatile.dram", "", "", |g| shown(g.ecc_at(1, 0, 2))),
    row("ecc.errors.uncorrected.volatile.register_file", "", "", |g| shown(g.ecc_at(1, 0, 3))),
    row("ecc.errors.uncorrected.volatile.l1_cache", "", "", |g| shown(g.ecc_at(1, 0, 0))),
    row("ecc.errors.uncorrected.volatile.l2_cache", "", "", |g| shown(g.ecc_at(1, 0, 1))),
    row("ecc.errors.uncorrected.volatile.texture_memory", "", "", |g| shown(g.ecc_at(1, 0, 4))),
    row("ecc.errors.uncorrected.volatile.cbu", "", "", |g| shown(g.ecc_at(1, 0, 6))),
    row("ecc.errors.uncorrected.volatile.sram", "", "", |g| shown(g.ecc_at(1, 0, 7))),
    row("ecc.errors.uncorrected.volatile.total", "", "", |g| shown(g.ecc_total(1, 0))),
    row("ecc.errors.uncorrected.aggregate.device_memory", "", "", |g| shown(g.ecc_at(1, 1, 2))),
    row("ecc.errors.uncorrected.aggregate.dram", "", "", |g| shown(g.ecc_at(1, 1, 2))),
    row("ecc.errors.uncorrected.aggregate.register_file", "", "", |g| shown(g.ecc_at(1, 1, 3))),
    row("ecc.errors.uncorrected.aggregate.l1_cache", "", "", |g| shown(g.ecc_at(1, 1, 0))),
    row("ecc.errors.uncorrected.aggregate.l2_cache", "", "", |g| shown(g.ecc_at(1, 1, 1))),
    row("ecc.errors.uncorrected.aggregate.texture_memory", "", "", |g| shown(g.ecc_at(1, 1, 4))),
    row("ecc.errors.uncorrected.aggregate.cbu", "", "", |g| shown(g.ecc_at(1, 1, 6))),
    row("ecc.errors.uncorrected.aggregate.sram", "", "", |g| shown(g.ecc_at(1, 1, 7))),
    row("ecc.errors.uncorrected.aggregate.total", "", "", |g| shown(g.ecc_total(1, 1))),
    row("ecc.errors.uncorrected.volatile.sram.parity", "", "", |g| read::sram(g, 32)),
    row("ecc.errors.uncorrected.volatile.sram.secded", "", "", |g| read::sram(g, 40)),
    row("ecc.errors.uncorrected.aggregate.sram.parity", "", "", |g| read::sram(g, 8)),
    row("ecc.errors.uncorrected.aggregate.sram.secded", "", "", |g| read::sram(g, 16)),
    row("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", "", "", |g| {
        Ok(yes(g.versioned(c"nvmlDeviceGetSramEccErrorStatus", 0x0100_0068)?.u32(96)))
    }),
    row("ecc.errors.uncorrected.aggregate.sram.l2", "", "", |g| read::sram(g, 56)),
    row("ecc.errors.uncorrected.aggregate.sram.sm", "", "", |g| read::sram(g, 64)),
    row("ecc.errors.uncorrected.aggregate.sram.mcu", "", "", |g| read::sram(g, 80)),
    row("ecc.errors.uncorrected.aggregate.sram.pcie", "", "", |g| read::sram(g, 72)),
    row("ecc.errors.uncorrected.aggregate.sram.other", "", "", |g| read::sram(g, 88)),
    row("retired_pages.single_bit_ecc.count", "retired_pages.sbe", "", none),
    row("retired_pages.double_bit.count", "retired_pages.dbe", "", none),
    row("retired_pages.pending", "", "", |g| Ok(yes(g.u32(c"nvmlDeviceGetRetiredPagesPendingStatus")?))),
    row("remapped_rows.correctable", "remapped_rows.sbe", "", |g| shown(read::rows(g, 0))),
    row("remapped_rows.uncorrectable", "remapped_rows.dbe", "", |g| shown(read::rows(g, 1))),
    row("remapped_rows.pending", "", "", |g| Ok(yes(read::rows(g, 2)?))),
    row("remapped_rows.failure", "", "", |g| Ok(yes(read::rows(g, 3)?))),
    row("remapped_rows.histogram.max", "", "", |g| read::banks(g, 0)),
    row("remapped_rows.histogram.high", "", "", |g| read::banks(g, 4)),
    row("remapped_rows.histogram.partial", "", "", |g| read::banks(g, 8)),
    row("remapped_rows.histogram.low", "", "", |g| read::banks(g, 12)),
    row("remapped_rows.histogram.none", "", "", |g| read::banks(g, 16)),
    row("temperature.gpu", "", "", |g| shown(g.u32_of(c"nvmlDeviceGetTemperature", 0))),
    row("temperature.gpu.tlimit", "", "", |g| {
        Ok(g.versioned(c"nvmlDeviceGetMarginTemperature", 0x0100_0008)?.i32(4).to_string())
    }),
    row("temperature.memory", "", "", |g| Ok(g.field(82, 0)?.u32(0).to_string())),
    row("power.management", "", "", |g| Ok(enabled(g.u32(c"nvmlDeviceGetPowerManagementMode")?))),
    row("power.draw", "", "W", |g| Ok(watts(g.u32(c"nvmlDeviceGetPowerUsage")?))),
    row("power.draw.average", "gpu.power.draw.average", "W", |g| read::power(g, 185, 0)),
    row("power.draw.instant", "gpu.power.draw.instant", "W", |g| read::power(g, 186, 0)),
    row("power.limit", "gpu.power.requested_limit", "W", |g| read::power(g, 192, 0)),
    row("enforced.power.limit", "gpu.power.current_limit", "W", |g| read::power(g, 190, 0)),
    row("power.default_limit", "gpu.power.default_limit", "W", |g| read::power(g, 189, 0)),
    row("power.min_limit", "gpu.power.min_limit", "W", |g| read::power(g, 187, 0)),
    row("power.max_limit", "gpu.power.max_limit", "W", |g| read::power(g, 188, 0)),
    row("module.power.draw.average", "", "W", |g| read::power(g, 185, 1)),
    row("module.power.draw.instant", "", "W", |g| read::power(g, 186, 1)),
    row("module.power.limit", "module.power.requested_limit", "W", |g| read::power(g, 192, 1)),
    row("module.enforced.power.limit", "module.power.current_limit", "W", |g| read::power(g, 190, 1)),
    row("module.power.default_limit", "", "W", |g| read::power(g, 189, 1)),
    row("module.power.min_limit", "", "W", |g| read::power(g, 187, 1)),
    row("module.power.max_limit", "", "W", |g| read::power(g, 188, 1)),
    row("power_smoothing.delayed_power_smoothing_supported", "", "", none),
    row("power_smoothing.primary_power_floor", "", "W", none),
    row("power_smoothing.secondary_power_floor", "", "W", none),
    row("power_smoothing.min_primary_floor_activation_offset", "", "W", none),
    row("power_smoothing.min_primary_floor_activation_point", "", "W", none),
    row("power_smoothing.window_multiplier", "", "ms", none),
    row("power_smoothing.curr_profile.secondary_power_floor", "", "W", none),
    row("power_smoothing.curr_profile.primary_floor_act_window_multiplier", "", "", none),
    row("power_smoothing.curr_profile.primary_floor_tar_window_multiplier", "", "", none),
    row("power_smoothing.curr_profile.primary_floor_act_offset", "", "W", none),
    row("power_smoothing.admin_override.secondary_power_floor", "", "W", none),
    row("power_smoothing.admin_override.primary_floor_act_window_multiplier", "", "", none),
    row("power_smoothing.admin_override.primary_floor_tar_window_multiplier", "", "", none),
    row("power_smoothing.admin_override.primary_floor_act_offset", "", "W", none),
    row("edpp_multiplier", "", "%", none),
    row("clocks.current.graphics", "clocks.gr", "MHz", |g| read::clock(g, CLOCK_NOW, 0)),
    row("clocks.current.sm", "clocks.sm", "MHz", |g| read::clock(g, CLOCK_NOW, 1)),
    row("clocks.current.memory", "clocks.mem", "MHz", |g| read::clock(g, CLOCK_NOW, 2)),
    row("clocks.current.video", "clocks.video", "MHz", |g| read::clock(g, CLOCK_NOW, 3)),
    row("clocks.applications.graphics", "clocks.applications.gr", "MHz", |g| read::clock(g, CLOCK_APP, 0)),
    row("clocks.applications.memory", "clocks.applications.mem", "MHz", |g| read::clock(g, CLOCK_APP, 2)),
    row("clocks.default_applications.graphics", "clocks.default_applications.gr", "MHz", |g| {
        read::clock(g, CLOCK_APP_DEFAULT, 0)
    }),
    row("clocks.default_applications.memory", "clocks.default_applications.mem", "MHz", |g| {
        read::clock(g, CLOCK_APP_DEFAULT, 2)
    }),
    row("clocks.max.graphics", "clocks.max.gr", "MHz", |g| read::clock(g, CLOCK_MAX, 0)),
    row("clocks.max.sm", "", "MHz", |g| read::clock(g, CLOCK_MAX, 1)),
    row("clocks.max.memory", "clocks.max.mem", "MHz", |g| read::clock(g, CLOCK_MAX, 2)),
    row("mig.mode.current", "", "", |g| Ok(enabled(g.pair(c"nvmlDeviceGetMigMode")?[0]))),
    row("mig.mode.pending", "", "", |g| Ok(enabled(g.pair(c"nvmlDeviceGetMigMode")?[1]))),
    row("gsp.mode.current", "", "", |g| Ok(enabled(g.pair(c"nvmlDeviceGetGspFirmwareMode")?[0]))),
    row("gsp.mode.default", "", "", |g| Ok(enabled(g.pair(c"nvmlDeviceGetGspFirmwareMode")?[1]))),
    row("c2c.mode", "", "", |g| Ok(enabled(g.u32(c"nvmlDeviceGetC2cModeInfoV")?))),
    row("protected_memory.total", "", "MiB", |g| read::protected(g, 0)),
    row("protected_memory.used", "", "MiB", |g| read::protected(g, 16)),
    row("protected_memory.free", "", "MiB", |g| read::protected(g, 8)),
    row("fabric.state", "", "", |g| {
        let state = g.versioned(c"nvmlDeviceGetGpuFabricInfoV", 0x0300_0028)?.u32(28);
        Ok(named(state, &["N/A", "Not Started", "In Progress", "Completed"]))
    }),
    row("fabric.status", "", "", |g| read::fabric(g, |info| g.nvml.failure(info.i32(20)).words)),
    row("fabric.cliqueId", "", "", |g| read::fabric(g, |info| info.u32(24).to_string())),
    row("fabric.clusterUuid", "", "", |g| read::fabric(g, |info| uuid(info.raw(4)))),
    row("fabric.health.summary", "", "", |g| {
        read::fabric(g, |info| named(info.u8(36).into(), &["N/A", "Healthy", "Unhealthy", "Limited Capacity"]))
    }),
    row("fabric.health.bandwidth", "", "", |g| read::health(g, 0, ["N/A", "Degraded", "Full"])),
    row("fabric.health.route_recovery_in_progress", "", "", |g| read::health(g, 2, TRUTH)),
    row("fabric.health.route_unhealthy", "", "", |g| read::health(g, 4, TRUTH)),
    row("fabric.health.access_timeout_recovery", "", "", |g| read::health(g, 6, TRUTH)),
    row("fabric.health.incorrect_configuration", "", "", |g| {
        let names = [
            "N/A",
            "None",
            "Incorrect SysGUID",
            "Incorrect Chassis Serial Number",
            "No Partition",
            "Insufficient Nvlinks",
            "Incompatible GPU Firmware",
            "Invalid Location",
        ];
        read::fabric(g, |info| named((info.u32(32) >> 8) & 0xf, &names))
    }),
    row("platform.chassis_serial_number", "", "", |g| read::platform(g, |p| p.text(20, 16))),
    row("platform.slot_number", "", "", |g| read::platform(g, |p| p.u8(36).to_string())),
    row("platform.tray_index", "", "", |g| read::platform(g, |p| p.u8(37).to_string())),
    row("platform.host_id", "", "", |g| read::platform(g, |p| p.u8(38).to_string())),
    row("platform.peer_type", "", "", |g| {
        read::platform(g, |p| named(p.u8(39).into(), &["Direct Connected", "Switch Connected"]))
    }),
    row("platform.module_id", "", "", |g| read::platform(g, |p| p.u8(40).to_string())),
    row("platform.gpu_fabric_guid", "", "", |g| {
        read::platform(g, |p| format!("0x{:016x}", u64::from_be_bytes(p.raw(12))))
    }),
    row("hostname", "", "", none),
];

/// What only `-q` shows.
static INNER: &[Field] = &[
    row("brand", "", "", |g| {
        g.u32(c"nvmlDeviceGetBrand").map(|brand| named(brand.saturating_sub(13), &["Unknown", "NVIDIA"]))
    }),
    row("architecture", "", "", |g| Ok(named(g.u32(c"nvmlDeviceGetArchitecture")?, &ARCHITECTURES))),
    row("mig_devices", "", "", |g| g.u32(c"nvmlDeviceGetIndex").map(|_| "None".to_owned())),
    row("pdi", "", "", |g| Ok(format!("0x{:016x}", g.versioned(c"nvmlDeviceGetPdi", 0x0100_0010)?.u64(8)))),
    row("minor", "", "", |g| shown(g.u32(c"nvmlDeviceGetMinorNumber"))),
    row("multi_gpu", "", "", |g| Ok(yes(g.u32(c"nvmlDeviceGetMultiGpuBoard")?))),
    row("board_id", "", "", |g| Ok(format!("0x{:x}", g.u32(c"nvmlDeviceGetBoardId")?))),
    row("board_part", "", "", |g| g.text(c"nvmlDeviceGetBoardPartNumber")),
    row("gpu_part", "", "", |g| g.slot_text(231, 0x50)),
    row("none", "", "", none),
    row("virtualization", "", "", |g| {
        let names = ["None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"];
        Ok(named(g.u32(c"nvmlDeviceGetVirtualizationMode")?, &names))
    }),
    row("gsp_version", "", "", |g| g.text_without_length(c"nvmlDeviceGetGspFirmwareVersion")),
    row("width_max", "", "", |g| Ok(format!("{}x", g.u32(c"nvmlDeviceGetMaxPcieLinkWidth")?))),
    row("width", "", "", |g| Ok(format!("{}x", g.u32(c"nvmlDeviceGetCurrPcieLinkWidth")?))),
    row("replays", "", "", |g| shown(g.u32(c"nvmlDeviceGetPcieReplayCounter"))),
    row("rollovers", "", "", |g| Ok(g.field(95, 0)?.u32(0).to_string())),
    row("tx", "", "KB/s", |g| shown(g.u32_of(c"nvmlDeviceGetPcieThroughput", 0))),
    row("rx", "", "KB/s", |g| shown(g.u32_of(c"nvmlDeviceGetPcieThroughput", 1))),
    row("atomics_out", "", "", |g| Ok(read::atomics(g.field(228, 0)?.u32(0)))),
    row("atomics_in", "", "", |g| Ok(read::atomics(g.field(229, 0)?.u32(0)))),
    row("display_clocks", "", "", |g| read::reasons(g, 0x100)),
    row("bar1.total", "", "MiB", |g| read::bar1(g, 0)),
    row("bar1.used", "", "MiB", |g| read::bar1(g, 16)),
    row("bar1.free", "", "MiB", |g| read::bar1(g, 8)),
    row("capture.sessions", "", "", |g| Ok(g.record(c"nvmlDeviceGetFBCStats", 12)?.u32(0).to_string())),
    row("capture.fps", "", "", |g| Ok(g.record(c"nvmlDeviceGetFBCStats", 12)?.u32(4).to_string())),
    row("capture.latency", "", "", |g| Ok(g.record(c"nvmlDeviceGetFBCStats", 12)?.u32(8).to_string())),
    row("sram_volatile_corrected", "", "", |g| read::sram(g, 48)),
    row("sram_aggregate_corrected", "", "", |g| read::sram(g, 24)),
    row("repair.channel", "", "", |g| Ok(yes(g.versioned(c"nvmlDeviceGetRepairStatus", 0x0100_000c)?.u32(4)))),
    row("repair.tpc", "", "", |g| Ok(yes(g.versioned(c"nvmlDeviceGetRepairStatus", 0x0100_000c)?.u32(8)))),
    row("unrepairable", "", "", |g| Ok(yes(read::rows(g, 3)?))),
    row("banks.max", "", "bank(s)", |g| read::banks(g, 0)),
    row("banks.high", "", "bank(s)", |g| read::banks(g, 4)),
    row("banks.partial", "", "bank(s)", |g| read::banks(g, 8)),
    row("banks.low", "", "bank(s)", |g| read::banks(g, 12)),
    row("banks.none", "", "bank(s)", |g| read::banks(g, 16)),
    row("temp.gpu", "", "C", |g| shown(g.u32_of(c"nvmlDeviceGetTemperature", 0))),
    row("temp.tlimit", "", "C", |g| {
        Ok(g.versioned(c"nvmlDeviceGetMarginTemperature", 0x0100_0008)?.i32(4).to_string())
    }),
    row("temp.shutdown", "", "C", |g| read::degrees(g, 193)),
    row("temp.slowdown", "", "C", |g| read::degrees(g, 194)),
    row("temp.max", "", "C", |g| read::degrees(g, 196)),
    row("temp.memory", "", "C", |g| Ok(g.field(82, 0)?.u32(0).to_string())),
    row("temp.memory_max", "", "C", |g| read::degrees(g, 195)),
    row("memory_power", "", "W", |g| read::power(g, 185, 2)),
    row("memory_power_instant", "", "W", |g| read::power(g, 186, 2)),
    row("smoothing", "", "", |g| Ok(enabled(g.field(251, 0)?.u32(0)))),
    row("clock.video_max", "", "MHz", |g| read::clock(g, CLOCK_MAX, 3)),
    row("clock.boost", "", "MHz", |g| read::clock(g, c"nvmlDeviceGetMaxCustomerBoostClock", 0)),
    row("partition", "", "", |_| Ok("N/A".to_owned())),
    row("egm", "", "", |g| {
        let mask = g.versioned(c"nvmlDeviceGetCapabilities", 0x0100_0008)?.u32(4);
        Ok(if mask & 1 == 0 { "disabled" } else { "enabled" }.to_owned())
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_are_each_of_one_property() {
        let mut names: Vec<_> = FIELDS.iter().flat_map(|field| [field.name, field.alias]).collect();
        names.retain(|name| !name.is_empty());
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_property_is_found_by_any_of_its_names() {
        assert_eq!(find("clocks.sm").unwrap().name, "clocks.current.sm");
        assert_eq!(find("FABRIC.clusteruuid").unwrap().name, "fabric.clusterUuid");
        assert!(find("").is_none() && find("foo").is_none() && find("egm").is_none());
    }

    #[test]
    fn a_uuid_is_written_in_five_groups() {
        assert_eq!(uuid([0xab; 16]), "abababab-abab-abab-abab-abababababab");
    }
}
