//! The sections of a profile that say what a GPU answers when asked; units are in the names.
//! Parameters of costs are in cost.rs; nothing here computes but the clock grid.

use serde::{Deserialize, Serialize};

use crate::ids::BusId;

/// Strings and versions, as NVML reports them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// `NVIDIA GB200`.
    pub name: String,
    /// Brand word of nvidia-smi.
    pub brand: String,
    /// Architecture word of nvidia-smi.
    pub architecture: String,
    /// Major, minor.
    pub compute_capability: [u8; 2],
    /// VBIOS version.
    pub vbios_version: String,
    /// Board part number.
    pub board_part_number: String,
    /// GPU part number.
    pub gpu_part_number: String,
    /// InfoROM image version.
    pub inforom_image: String,
    /// InfoROM OEM object version.
    pub inforom_oem: String,
    /// InfoROM ECC object version.
    pub inforom_ecc: String,
    /// InfoROM power object version; absent = not available.
    #[serde(default)]
    pub inforom_pwr: Option<String>,
    /// The driver this machine claims to run (and its GSP firmware).
    pub driver_version: String,
    /// 1000 x major + 10 x minor.
    pub cuda_driver_version: u32,
    /// NVML's multi-GPU board flag.
    pub multi_gpu_board: bool,
    /// Whether a display counts as attached.
    pub display_attached: bool,
    /// Whether a display counts as active.
    pub display_active: bool,
    /// Persistence mode after power on.
    pub persistence_enabled: bool,
    /// Peer type of the platform information (`Switch Connected`).
    pub peer_type: String,
    /// Host id of the platform information.
    pub host_id: u8,
}

/// How the GPU shares addresses with the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressingMode {
    /// Address translation services: the CPU's page tables (Grace).
    Ats,
    /// Heterogeneous memory management.
    Hmm,
    /// Neither.
    None,
}

/// Where GPUs sit in a tray.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// GPUs that share one CPU and one serial.
    pub gpus_per_superchip: u8,
    /// PCI address by index in the tray.
    pub bus_ids: Vec<BusId>,
    /// Module id by index in the tray.
    pub module_ids: Vec<u8>,
    /// CPUs of one superchip (0 to 71 and 72 to 143 on a GB200 tray).
    pub cpus_per_superchip: u16,
    /// NUMA node of a GPU's memory by index in the tray.
    pub numa_nodes: Vec<u16>,
    /// Addressing mode.
    pub addressing_mode: AddressingMode,
    /// Whether the chip-to-chip link to the CPU is enabled.
    pub c2c_enabled: bool,
    /// Extended GPU memory.
    pub egm_enabled: bool,
}

/// PCI ids and link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    /// Device id in the high half, vendor in the low half.
    pub device_id: u32,
    /// Subsystem id, the same way.
    pub subsystem_id: u32,
    /// Class 3.
    pub base_class: u8,
    /// Subclass 2.
    pub sub_class: u8,
    /// Current generation.
    pub link_gen: u8,
    /// Greatest generation of the slot and device together.
    pub link_gen_max: u8,
    /// Greatest generation of the device.
    pub device_gen_max: u8,
    /// Current width.
    pub link_width: u8,
    /// Greatest width.
    pub link_width_max: u8,
    /// Inbound atomics, in nvidia-smi's words.
    pub atomic_caps_inbound: Vec<String>,
}

/// Device memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// NVML's total.
    pub total_mib: u64,
    /// Reserved by driver and firmware; not part of used.
    pub reserved_mib: u64,
    /// BAR1 window.
    pub bar1_mib: u64,
    /// Width of the memory bus.
    pub bus_width_bits: u32,
    /// What one CUDA context takes.
    pub context_mib: u64,
    /// ECC after power on.
    pub ecc_enabled: bool,
    /// Banks with all spare rows left (row remapper histogram).
    pub remap_banks: u32,
}

const MIB: u64 = 1 << 20;

impl Memory {
    /// NVML's total in bytes.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        self.total_mib * MIB
    }

    /// NVML's reserved in bytes.
    #[must_use]
    pub const fn reserved_bytes(&self) -> u64 {
        self.reserved_mib * MIB
    }

    /// What programs can allocate in all, bytes.
    #[must_use]
    pub const fn usable_bytes(&self) -> u64 {
        (self.total_mib - self.reserved_mib) * MIB
    }

    /// What one CUDA context takes, bytes.
    #[must_use]
    pub const fn context_bytes(&self) -> u64 {
        self.context_mib * MIB
    }
}

/// Clock range and readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Lowest supported SM (and graphics) clock.
    pub sm_min_mhz: u32,
    /// Highest supported SM (and graphics) clock.
    pub sm_max_mhz: u32,
    /// Grid of supported clocks, kHz.
    pub sm_step_khz: u32,
    /// SM clock while nothing runs.
    pub sm_idle_mhz: u32,
    /// Memory clock, idle or not.
    pub memory_mhz: u32,
    /// Video clock while nothing runs.
    pub video_idle_mhz: u32,
    /// Video clock at its highest.
    pub video_max_mhz: u32,
    /// Performance state while nothing runs (0 = P0).
    pub idle_pstate: u8,
}

impl Clocks {
    /// Supported SM clocks in MHz, highest first: multiples of the step, rounded down.
    pub fn supported_sm_mhz(&self) -> impl Iterator<Item = u32> + use<> {
        let (min, max, step) = (self.sm_min_mhz, self.sm_max_mhz, self.sm_step_khz);
        let top = ((max + 1) * 1000 - 1) / step;
        (0..=top).rev().map(move |n| n * step / 1000).take_while(move |mhz| *mhz >= min)
    }

    /// The highest supported clock that is not above `mhz`, or the lowest there is.
    #[must_use]
    pub fn at_most(&self, mhz: u32) -> u32 {
        let wanted = mhz.clamp(self.sm_min_mhz, self.sm_max_mhz);
        let steps = ((wanted + 1) * 1000 - 1) / self.sm_step_khz;
        (steps * self.sm_step_khz / 1000).max(self.sm_min_mhz)
    }
}

/// Limits of power and the parameters of the power model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Lowest limit that can be set.
    pub limit_min_milliwatts: u32,
    /// Limit after power on.
    pub limit_default_milliwatts: u32,
    /// Highest limit that can be set.
    pub limit_max_milliwatts: u32,
    /// The same for the module (superchip).
    pub module_limit_min_milliwatts: u32,
    /// Module limit after power on.
    pub module_limit_default_milliwatts: u32,
    /// Highest module limit.
    pub module_limit_max_milliwatts: u32,
    /// Idle draw of the most frugal GPU.
    pub idle_milliwatts: u32,
    /// How much more the thirstiest GPU draws idle.
    pub idle_spread_milliwatts: u32,
    /// Module draw without its GPUs.
    pub module_base_milliwatts: u32,
    /// Idle draw of the memory, part of the GPU's.
    pub memory_idle_milliwatts: u32,
    /// Added while every SM is busy, whatever it does.
    pub active_milliwatts: u32,
    /// Dynamic power is proportional to the clock to this power.
    pub clock_exponent: f64,
    /// Window of NVML's average reading.
    pub average_window_ns: u64,
    /// Energy of operations.
    pub picojoules: Picojoules,
}

/// Energy of one operation of each kind and of moving one byte, picojoules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the kinds themselves")]
pub struct Picojoules {
    pub bf16: f64,
    pub fp16: f64,
    pub fp8: f64,
    pub fp4: f64,
    pub int8: f64,
    pub tf32: f64,
    pub fp32: f64,
    pub fp64: f64,
    pub hbm_byte: f64,
    pub link_byte: f64,
}

/// Thresholds and the parameters of the thermal model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thermal {
    /// Coolant at the coldest GPU, thousandths of a degree Celsius.
    pub coolant_millidegrees: i32,
    /// How much warmer the warmest place in the tray is.
    pub spread_millidegrees: u32,
    /// Die over cold plate, mK/W.
    pub die_millikelvin_per_watt: f64,
    /// Cold plate and loop over coolant, mK/W.
    pub loop_millikelvin_per_watt: f64,
    /// Time constant of the die.
    pub die_tau_ns: u64,
    /// Time constant of the loop.
    pub loop_tau_ns: u64,
    /// T.Limit reads this minus the temperature.
    pub tlimit_zero_celsius: i32,
    /// T.Limit at which clocks are cut.
    pub slowdown_tlimit_celsius: i32,
    /// T.Limit at which the GPU shuts down.
    pub shutdown_tlimit_celsius: i32,
    /// T.Limit of the highest operating temperature.
    pub max_operating_tlimit_celsius: i32,
    /// T.Limit of the memory.
    pub memory_tlimit_celsius: i32,
    /// NVML threshold 0.
    pub shutdown_celsius: u32,
    /// NVML threshold 1.
    pub slowdown_celsius: u32,
    /// NVML threshold 2.
    pub memory_max_celsius: u32,
    /// NVML threshold 3.
    pub gpu_max_celsius: u32,
}

/// NVLink of one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLink {
    /// Links of one GPU.
    pub links: u8,
    /// NVML's version word.
    pub version: u32,
    /// One link, one way.
    pub link_megabytes_per_second: u64,
}

/// What CUDA's device attributes answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the CUDA attribute of that name")]
pub struct CudaAttributes {
    pub multiprocessors: u32,
    pub max_threads_per_block: u32,
    pub max_threads_per_multiprocessor: u32,
    pub max_blocks_per_multiprocessor: u32,
    pub shared_bytes_per_block: u32,
    pub shared_bytes_per_block_optin: u32,
    pub shared_bytes_per_multiprocessor: u32,
    pub shared_bytes_reserved_per_block: u32,
    pub registers_per_block: u32,
    pub registers_per_multiprocessor: u32,
    pub l2_bytes: u32,
    pub persisting_l2_bytes: u32,
    pub constant_bytes: u32,
    pub warp_size: u32,
    pub async_engines: u32,
    pub max_block_dim: [u32; 3],
    pub max_grid_dim: [u32; 3],
    pub max_access_policy_window_bytes: u32,
    pub texture_alignment_bytes: u32,
    pub texture_pitch_alignment_bytes: u32,
    pub surface_alignment_bytes: u32,
    pub max_pitch_bytes: u32,
    pub max_texture_1d: u32,
    pub max_texture_2d: [u32; 2],
    pub max_texture_3d: [u32; 3],
    pub single_to_double_ratio: u32,
}

#[cfg(test)]
mod tests {
    use crate::Profile;

    #[test]
    fn the_clock_grid_is_the_260_values_of_the_capture() {
        let grid: Vec<u32> = Profile::named("gb200").unwrap().clocks.supported_sm_mhz().collect();
        assert_eq!(grid.len(), 260);
        assert_eq!(grid[..5], [2062, 2055, 2047, 2040, 2032]);
        assert_eq!(grid[255..], [150, 142, 135, 127, 120]);
    }

    #[test]
    fn a_clock_between_two_grid_values_is_rounded_down() {
        let clocks = &Profile::named("gb200").unwrap().clocks;
        for (asked, got) in [(0, 120), (120, 120), (2054, 2047), (2055, 2055), (2062, 2062), (9999, 2062)] {
            assert_eq!(clocks.at_most(asked), got, "{asked}");
        }
        assert!(clocks.supported_sm_mhz().all(|mhz| clocks.at_most(mhz) == mhz));
    }
}
