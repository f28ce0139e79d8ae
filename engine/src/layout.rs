//! The bytes of the shared pages: what ghostd publishes and what a process reports.
//! Plain `repr(C)` data without pointers; it must not grow behaviour, and it changes only with the layout hash.
//!
//! Sections are complete now although some are not used yet, so that the hash does not move when
//! the NVLink fabric, InfiniBand and fault doors arrive.

/// Most GPUs one tray can have.
pub const MAX_GPUS: usize = 8;
/// Most NVLinks one GPU can have (NVLink 5: 18).
pub const MAX_LINKS: usize = 18;
/// Most InfiniBand HCAs one tray can have.
pub const MAX_HCAS: usize = 8;
/// Most (process, GPU) rows the facts page lists.
pub const MAX_PROCESSES: usize = 512;
/// Xids kept per GPU.
pub const XID_RING: usize = 64;
/// Telemetry samples kept per GPU (for NVML sample queries).
pub const SAMPLE_RING: usize = 128;
/// Bytes reserved for the profile, as JSON text.
pub const PROFILE_BYTES: usize = 64 * 1024;
/// Engines of a GPU with a backlog of their own.
pub const ENGINES: usize = 4;
/// Segments a process page keeps per engine.
pub const SEGMENTS: usize = 16;

/// First eight bytes of a facts page.
pub const FACTS_MAGIC: u64 = u64::from_le_bytes(*b"ghstfact");
/// First eight bytes of a process page.
pub const PROCESS_MAGIC: u64 = u64::from_le_bytes(*b"ghstproc");

/// Marks types that may live in shared memory: `repr(C)`, no pointers, any bit pattern is valid.
///
/// # Safety
/// The implementor must be `repr(C)`, contain integers and arrays of them only, and have no padding
/// that a reader would interpret.
pub unsafe trait Shared: Copy + 'static {}

macro_rules! shared {
    ($($t:ty),* $(,)?) => { $(
        // SAFETY: repr(C), integers and arrays of integers only.
        unsafe impl Shared for $t {}
    )* };
}

/// Start of every page.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub magic: u64,
    pub layout_hash: u64,
    pub boot_id: u64,
    /// Written last by the creator; 1 = the page may be read.
    pub ready: u64,
}

/// Who a GPU is. Constant while ghostd runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuIdentity {
    pub uuid: [u8; 16],
    /// Board serial number, NUL-terminated digits.
    pub serial: [u8; 32],
    pub pci_domain: u32,
    pub pci_bus: u32,
    pub pci_device: u32,
    pub minor: u32,
    pub module_id: u32,
    pub numa_node: u32,
    pub pdi: u64,
    pub fabric_guid: u64,
}

/// What a GPU does at this moment; rewritten at every telemetry tick.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuLive {
    /// Percent of the last sample period with a kernel running.
    pub gpu_utilization: u32,
    /// Percent of the last sample period with memory read or written.
    pub memory_utilization: u32,
    /// One-second average.
    pub power_average_milliwatts: u32,
    pub power_instant_milliwatts: u32,
    pub memory_power_milliwatts: u32,
    /// The module holds two GPUs and a Grace.
    pub module_power_milliwatts: u32,
    pub temperature_millicelsius: i32,
    pub memory_temperature_millicelsius: i32,
    pub graphics_clock_mhz: u32,
    pub sm_clock_mhz: u32,
    pub memory_clock_mhz: u32,
    pub video_clock_mhz: u32,
    pub performance_state: u32,
    /// Processes with work on the compute engine now; the divisor of time slicing, 0 when idle.
    pub busy_holders: u32,
    /// Processes with a context on this GPU.
    pub holders: u32,
    pub pcie_tx_kbps: u32,
    pub pcie_rx_kbps: u32,
    pub reserved: u32,
    pub energy_millijoules: u64,
    pub memory_used_bytes: u64,
    pub bar1_used_bytes: u64,
    /// NVML clocks event reasons bit mask.
    pub clocks_event_reasons: u64,
    /// Nanoseconds since ghostd's start: sw power cap, sync boost, sw thermal, hw thermal, hw power brake.
    pub clocks_event_ns: [u64; 5],
}

/// Modes and limits: set by operators, in force for later work.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuModes {
    pub power_limit_milliwatts: u32,
    pub power_limit_requested_milliwatts: u32,
    pub locked_graphics_min_mhz: u32,
    /// 0 = not locked.
    pub locked_graphics_max_mhz: u32,
    pub locked_memory_mhz: u32,
    pub persistence: u32,
    /// NVML compute mode: 0 default, 2 prohibited, 3 exclusive process.
    pub compute_mode: u32,
    pub ecc: u32,
    pub ecc_pending: u32,
    /// 1 = fallen off the bus.
    pub lost: u32,
    pub reset_pending: u32,
    /// NVML recovery action: 0 none, 1 reset, 2 reboot, 3 drain P2P, 4 drain and reset.
    pub recovery_action: u32,
    /// Raised by every fatal fault; contexts made before it see sticky errors.
    pub fault_epoch: u64,
    /// Xid of the latest fatal fault, 0 = none.
    pub fault_xid: u64,
}

/// ECC and row-remapper counters.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuEcc {
    pub volatile_sram_corrected: u64,
    pub volatile_sram_uncorrected: u64,
    pub volatile_dram_corrected: u64,
    pub volatile_dram_uncorrected: u64,
    pub aggregate_sram_corrected: u64,
    pub aggregate_sram_uncorrected: u64,
    pub aggregate_dram_corrected: u64,
    pub aggregate_dram_uncorrected: u64,
    pub remapped_corrected: u32,
    pub remapped_uncorrected: u32,
    pub remap_pending: u32,
    pub remap_failed: u32,
}

/// Membership in the NVLink domain.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuFabric {
    pub cluster_uuid: [u8; 16],
    pub clique: u32,
    pub clique_pending: u32,
    pub partition: u32,
    /// NVML fabric state: 1 not started, 2 in progress, 3 completed.
    pub state: u32,
    /// NVML health mask.
    pub health_mask: u32,
    pub health_summary: u32,
}

/// One NVLink as the GPU sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LinkFacts {
    /// 1 = up: both ends admin up, no fault, GPU present, tray on.
    pub up: u32,
    pub admin_up: u32,
    /// Sticky fault code, 0 = none.
    pub fault: u32,
    pub far_end_up: u32,
    pub speed_mbps: u32,
    pub downed_count: u32,
    pub recovery_count: u32,
    pub error_count: u32,
    pub tx_bytes: u64,
    pub rx_bytes: u64,
}

/// One Xid.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct XidEntry {
    pub at_ns: u64,
    pub code: u32,
    pub pid: u32,
}

/// One telemetry sample.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Microseconds since the Unix epoch, as NVML stamps its samples.
    pub at_us: u64,
    pub power_milliwatts: u32,
    pub sm_clock_mhz: u32,
    pub memory_clock_mhz: u32,
    pub gpu_utilization: u16,
    pub memory_utilization: u16,
}

/// Everything about one GPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GpuFacts {
    pub identity: GpuIdentity,
    pub live: GpuLive,
    pub modes: GpuModes,
    pub ecc: GpuEcc,
    pub fabric: GpuFabric,
    pub links: [LinkFacts; MAX_LINKS],
    /// Xids ever; the newest sits at `(xid_count - 1) % XID_RING`.
    pub xid_count: u64,
    pub xids: [XidEntry; XID_RING],
    /// Samples ever; same ring rule as Xids.
    pub sample_count: u64,
    pub samples: [Sample; SAMPLE_RING],
}

/// One InfiniBand HCA.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HcaFacts {
    pub name: [u8; 16],
    pub guid: u64,
    pub up: u32,
    pub speed_gbps: u32,
    pub tx_bytes: u64,
    pub rx_bytes: u64,
}

/// One process on one GPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ProcessFacts {
    pub pid: u32,
    pub gpu: u32,
    pub used_bytes: u64,
    pub gpu_utilization: u32,
    pub memory_utilization: u32,
    pub uid: u32,
    pub reserved: u32,
}

/// The tray itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TrayFacts {
    pub name: [u8; 64],
    pub driver_version: [u8; 32],
    pub chassis_serial: [u8; 32],
    /// 13000 = CUDA 13.0.
    pub cuda_version: u32,
    pub tray_index: u32,
    pub slot: u32,
    pub host_id: u32,
    pub gpu_count: u32,
    pub hca_count: u32,
    pub power_on: u32,
    pub process_count: u32,
    /// How far the telemetry tick lags behind its schedule.
    pub host_behind_ns: u64,
}

/// One copy of the facts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub tray: TrayFacts,
    pub gpus: [GpuFacts; MAX_GPUS],
    pub hcas: [HcaFacts; MAX_HCAS],
    pub processes: [ProcessFacts; MAX_PROCESSES],
}

/// The facts page: written by ghostd alone, mapped read-only by everybody else.
#[repr(C)]
#[derive(Debug)]
pub struct FactsPage {
    pub header: Header,
    /// Copy `generation & 1` is complete.
    pub generation: core::sync::atomic::AtomicU64,
    /// Futex word: moves when a waiter must look up (fault, reset, shutdown), not at telemetry ticks.
    pub alarm: core::sync::atomic::AtomicU32,
    /// 1 = this ghostd is going away in good order.
    pub closing: core::sync::atomic::AtomicU32,
    pub profile_len: core::sync::atomic::AtomicU64,
    pub profile: [u8; PROFILE_BYTES],
    pub copies: [Facts; 2],
}

/// A stretch of time in which an engine has work, with what that work consumes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Busy nanoseconds inside (start, end).
    pub busy_ns: u64,
    /// Nanoseconds in which memory is read or written.
    pub memory_ns: u64,
    /// Energy above idle.
    pub energy_nanojoules: u64,
}

/// Work of one engine of one GPU by one process: the past summed, the rest as segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EngineWork {
    /// Segments that are over, summed; start and end unused.
    pub done: Segment,
    pub open: [Segment; SEGMENTS],
}

/// What one process does on one GPU.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ProcessGpu {
    pub engines: [EngineWork; ENGINES],
    pub link_tx_bytes: [u64; MAX_LINKS],
    pub link_rx_bytes: [u64; MAX_LINKS],
    pub hca_tx_bytes: [u64; MAX_HCAS],
    pub hca_rx_bytes: [u64; MAX_HCAS],
    pub pcie_tx_bytes: u64,
    pub pcie_rx_bytes: u64,
}

/// The process page: written by its process alone, read by ghostd, believed by nobody.
#[repr(C)]
#[derive(Debug)]
pub struct ProcessPage {
    pub header: Header,
    /// Odd while the process writes; one word per GPU.
    pub sequence: [core::sync::atomic::AtomicU32; MAX_GPUS],
    pub gpus: [ProcessGpu; MAX_GPUS],
}

shared!(
    Header,
    GpuIdentity,
    GpuLive,
    GpuModes,
    GpuEcc,
    GpuFabric,
    LinkFacts,
    XidEntry,
    Sample,
    GpuFacts,
    HcaFacts,
    ProcessFacts,
    TrayFacts,
    Facts,
    Segment,
    EngineWork,
    ProcessGpu,
    u8,
    u32,
    u64,
    i32,
);

// SAFETY: an array of Shared values has no padding of its own.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}

impl Facts {
    /// All zero: a tray with no GPU.
    pub const ZERO: Facts = {
        // SAFETY: Facts is Shared: integers only, so all-zero is a value.
        unsafe { core::mem::zeroed() }
    };
}

/// Changes when any section moves or changes size; both sides compare it before reading on.
pub const LAYOUT_HASH: u64 = hash();

const fn hash() -> u64 {
    const REVISION: u64 = 1;
    let parts = [
        REVISION,
        size_of::<Header>() as u64,
        size_of::<GpuIdentity>() as u64,
        size_of::<GpuLive>() as u64,
        size_of::<GpuModes>() as u64,
        size_of::<GpuEcc>() as u64,
        size_of::<GpuFabric>() as u64,
        size_of::<LinkFacts>() as u64,
        size_of::<GpuFacts>() as u64,
        size_of::<HcaFacts>() as u64,
        size_of::<ProcessFacts>() as u64,
        size_of::<TrayFacts>() as u64,
        size_of::<Facts>() as u64,
        size_of::<FactsPage>() as u64,
        size_of::<EngineWork>() as u64,
        size_of::<ProcessGpu>() as u64,
        size_of::<ProcessPage>() as u64,
        core::mem::offset_of!(FactsPage, copies) as u64,
        core::mem::offset_of!(ProcessPage, gpus) as u64,
    ];
    let mut h: u64 = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < parts.len() {
        h = (h ^ parts[i]).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    h
}

/// The text in a NUL-terminated field.
pub fn text(field: &[u8]) -> &str {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    core::str::from_utf8(&field[..end]).unwrap_or("")
}

/// Puts `value` into a NUL-terminated field, cut to fit.
pub fn set_text(field: &mut [u8], value: &str) {
    field.fill(0);
    let n = value.len().min(field.len() - 1);
    field[..n].copy_from_slice(&value.as_bytes()[..n]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fields_are_cut_and_terminated() {
        let mut field = [1u8; 4];
        set_text(&mut field, "abcdef");
        assert_eq!(text(&field), "abc");
        set_text(&mut field, "x");
        assert_eq!(text(&field), "x");
    }

    #[test]
    fn sections_are_aligned_for_atomics() {
        assert_eq!(core::mem::offset_of!(FactsPage, copies) % 8, 0);
        assert_eq!(core::mem::offset_of!(FactsPage, generation) % 8, 0);
        assert_eq!(size_of::<Facts>() % 8, 0);
    }
}
