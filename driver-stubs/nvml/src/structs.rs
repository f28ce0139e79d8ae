//! The structs of NVML's C interface, each with its size, versioned ones with their word.
//! Data only; which version a call accepts is said by its handler. Sizes: facts page on NVML, section 5.

use ghost_abi::{record, versioned};

use crate::Gpu;

/// Bytes of the longest PCI address text with its NUL.
pub const BUS_ID_BYTES: usize = 32;

record! {
    /// PCI address and ids. `legacy` is `0008:01:00.0`, `bus_id` `00000008:01:00.0`.
    pub struct PciInfo: 68 bytes {
        pub legacy: [u8; 16], pub domain: u32, pub bus: u32, pub device: u32,
        pub device_id: u32, pub subsystem_id: u32, pub bus_id: [u8; BUS_ID_BYTES],
    }
}
record! {
    /// What the first two versions of the call have in common; the reserved words behind stay as they are.
    pub struct PciInfoV1: 36 bytes {
        pub legacy: [u8; 16], pub domain: u32, pub bus: u32, pub device: u32,
        pub device_id: u32, pub subsystem_id: u32,
    }
}
versioned! {
    /// PCI address, ids and class.
    pub struct PciInfoExt: v 1, 64 bytes {
        pub domain: u32, pub bus: u32, pub device: u32, pub device_id: u32, pub subsystem_id: u32,
        pub base_class: u32, pub sub_class: u32, pub bus_id: [u8; BUS_ID_BYTES],
    }
}
record! {
    /// Bytes; `used` includes what is reserved.
    pub struct Memory: 24 bytes { pub total: u64, pub free: u64, pub used: u64 }
}
versioned! {
    /// Bytes; `used` excludes what is reserved.
    pub struct MemoryV2: v 2, 40 bytes { pub total: u64, pub reserved: u64, pub free: u64, pub used: u64 }
}
record! {
    /// Percent of the last sample period.
    pub struct Utilization: 8 bytes { pub gpu: u32, pub memory: u32 }
}
record! {
    /// A process and its bytes of device memory, first version.
    pub struct ProcessInfoV1: 16 bytes { pub pid: u32, pub used: u64 }
}
record! {
    /// A process, second and third version; instances are all ones without MIG.
    pub struct ProcessInfo: 24 bytes { pub pid: u32, pub used: u64, pub gpu_instance: u32, pub compute_instance: u32 }
}
record! {
    /// A process with its protected memory.
    pub struct ProcessDetail: 32 bytes {
        pub pid: u32, pub used: u64, pub gpu_instance: u32, pub compute_instance: u32, pub protected: u64,
    }
}
versioned! {
    /// A list of processes of one kind; `list` may be null when the count is 0.
    pub struct ProcessDetailList: v 1, 24 bytes { pub mode: u32, pub count: u32, pub list: *mut ProcessDetail }
}
record! {
    /// One process over one sample period: percents.
    pub struct ProcessUtilization: 32 bytes {
        pub pid: u32, pub at_us: u64, pub sm: u32, pub memory: u32, pub encoder: u32, pub decoder: u32,
    }
}
record! {
    /// The same with the JPEG and optical flow engines.
    pub struct ProcessUtilizationInfo: 40 bytes {
        pub at_us: u64, pub pid: u32, pub sm: u32, pub memory: u32, pub encoder: u32, pub decoder: u32,
        pub jpeg: u32, pub optical_flow: u32,
    }
}
versioned! {
    /// A list of the former.
    pub struct ProcessesUtilization: v 1, 24 bytes {
        pub count: u32, pub last_seen_us: u64, pub list: *mut ProcessUtilizationInfo,
    }
}
record! {
    /// One field of `nvmlDeviceGetFieldValues`: asked by id and scope, answered by the rest.
    pub struct FieldValue: 40 bytes {
        pub id: u32, pub scope: u32, pub at_us: i64, pub latency_us: i64, pub kind: u32, pub status: i32, pub value: u64,
    }
}
record! {
    /// One value and when it held.
    pub struct Sample: 16 bytes { pub at_us: u64, pub value: u64 }
}
record! {
    /// Reference time in microseconds, time in violation in nanoseconds.
    pub struct ViolationTime: 16 bytes { pub reference_us: u64, pub violation_ns: u64 }
}
record! {
    /// What happened to which device.
    pub struct EventData: 32 bytes {
        pub device: Gpu, pub kind: u64, pub data: u64, pub gpu_instance: u32, pub compute_instance: u32,
    }
}
record! {
    /// The same before there was MIG.
    pub struct EventDataV1: 24 bytes { pub device: Gpu, pub kind: u64, pub data: u64 }
}
record! {
    /// Accounting of one process.
    pub struct AccountingStats: 56 bytes {
        pub gpu_utilization: u32, pub memory_utilization: u32, pub max_memory: u64, pub time: u64, pub start: u64,
        pub running: u32, pub reserved: [u32; 5],
    }
}
record! {
    /// Fabric membership, the call without a version word.
    pub struct FabricInfo: 28 bytes { pub cluster_uuid: [u8; 16], pub status: i32, pub clique: u32, pub state: u32 }
}
versioned! {
    /// Fabric membership with health.
    pub struct FabricInfoV2: v 2, 36 bytes {
        pub cluster_uuid: [u8; 16], pub status: i32, pub clique: u32, pub state: u32, pub health_mask: u32,
    }
}
versioned! {
    /// Fabric membership with health and its summary.
    pub struct FabricInfoV3: v 3, 40 bytes {
        pub cluster_uuid: [u8; 16], pub status: i32, pub clique: u32, pub state: u32, pub health_mask: u32,
        pub health_summary: u8,
    }
}
versioned! {
    /// Where in the rack a GPU sits, in the words of the first version.
    pub struct PlatformInfoV1: v 1, 44 bytes {
        pub guid: [u8; 16], pub chassis: [u8; 16], pub slot: u8, pub tray: u8, pub host: u8, pub peer: u8, pub module: u8,
    }
}
versioned! {
    /// The same bytes under the names of the second version.
    pub struct PlatformInfoV2: v 2, 44 bytes {
        pub guid: [u8; 16], pub chassis: [u8; 16], pub slot: u8, pub tray: u8, pub host: u8, pub peer: u8, pub module: u8,
    }
}
record! {
    /// Banks by how many spare rows are left.
    pub struct RowRemapperHistogram: 20 bytes { pub max: u32, pub high: u32, pub partial: u32, pub low: u32, pub none: u32 }
}
versioned! {
    /// SRAM errors by kind, then the uncorrectable ones by place.
    pub struct SramEccErrors: v 1, 104 bytes {
        pub aggregate_parity: u64, pub aggregate_secded: u64, pub aggregate_corrected: u64,
        pub volatile_parity: u64, pub volatile_secded: u64, pub volatile_corrected: u64,
        pub l2: u64, pub sm: u64, pub pcie: u64, pub microcontroller: u64, pub other: u64, pub threshold_exceeded: u32,
    }
}
record! {
    /// ECC errors by cache, the deprecated call.
    pub struct EccErrorCounts: 32 bytes { pub l1: u64, pub l2: u64, pub device_memory: u64, pub registers: u64 }
}
versioned! {
    /// Pending repairs.
    pub struct RepairStatus: v 1, 12 bytes { pub channel: u32, pub tpc: u32 }
}
versioned! {
    /// Degrees Celsius of one sensor.
    pub struct Temperature: v 1, 12 bytes { pub sensor: u32, pub celsius: i32 }
}
versioned! {
    /// Degrees left before clocks are cut.
    pub struct MarginTemperature: v 1, 8 bytes { pub celsius: i32 }
}
versioned! {
    /// Bit 0: extended GPU memory.
    pub struct Capabilities: v 1, 8 bytes { pub mask: u32 }
}
versioned! {
    /// 0 none, 1 HMM, 2 ATS.
    pub struct AddressingMode: v 1, 8 bytes { pub value: u32 }
}
versioned! {
    /// The per-device identifier.
    pub struct Pdi: v 1, 16 bytes { pub value: u64 }
}
versioned! {
    /// A power limit: scope 0 GPU, 1 module, 2 memory.
    pub struct PowerValue: v 2, 12 bytes { pub scope: u32, pub milliwatts: u32 }
}
versioned! {
    /// A UUID: kind 1 text, 2 sixteen bytes.
    pub struct Uuid: v 1, 52 bytes { pub kind: u32, pub value: [u8; 41], pub pad: [u8; 3] }
}
versioned! {
    /// NVLink encryption.
    pub struct NvLinkInfoV1: v 1, 8 bytes { pub encrypted: u32 }
}
versioned! {
    /// NVLink encryption and firmware versions.
    pub struct NvLinkInfoV2: v 2, 1612 bytes { pub encrypted: u32, pub firmware: [u32; 400], pub valid: u32 }
}
versioned! {
    /// The release branch of the driver.
    pub struct DriverBranch: v 1, 84 bytes { pub branch: [u8; 80] }
}
versioned! {
    /// Confidential computing, all off.
    pub struct ConfComputeSettings: v 1, 20 bytes { pub environment: u32, pub feature: u32, pub dev_tools: u32, pub multi_gpu: u32 }
}
versioned! {
    /// Whether GPM metrics exist.
    pub struct GpmSupport: v 1, 8 bytes { pub supported: u32 }
}

/// Puts `text` into a NUL-terminated field, cut to fit.
pub(crate) fn put<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    ghost_engine::layout::set_text(&mut field, text);
    field
}

/// The text of a NUL-terminated field.
pub fn text(field: &[u8]) -> &str {
    ghost_engine::layout::text(field)
}

#[cfg(test)]
mod tests {
    use ghost_abi::Versioned;

    use super::*;

    /// Words seen from real callers; facts page on NVML, section 5.
    #[test]
    fn version_words_are_those_that_callers_send() {
        assert_eq!(MemoryV2::VERSION, 0x0200_0028);
        assert_eq!(FabricInfoV2::VERSION, 0x0200_0024);
        assert_eq!(FabricInfoV3::VERSION, 0x0300_0028);
        assert_eq!(PciInfoExt::VERSION, 0x0100_0040);
        assert_eq!(SramEccErrors::VERSION, 0x0100_0068);
        assert_eq!(PowerValue::VERSION, 0x0200_000c);
        assert_eq!(PlatformInfoV1::VERSION, 0x0100_002c);
        assert_eq!(PlatformInfoV2::VERSION, 0x0200_002c);
        assert_eq!(Uuid::VERSION, 0x0100_0034);
    }
}
