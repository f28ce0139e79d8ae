//! `libnvidia-ml.so.1`: what an NVML client sees of the tray its process belongs to.
//! Getters answer from the facts page alone: no message, no system call; it never prints and starts no thread.
//!
//! - `session`: attach, count of initialisations, which GPUs are visible
//! - [`structs`]: the C structs, each with its size
//! - one file per area of NVML, rows first, handlers below; `rest` names what nobody has asked for yet
//! - `export_table`: the undocumented slots that NVIDIA's own nvidia-smi calls
//!
//! A GPU is visible if its node exists in the device root and this process may open it; NVML indices count
//! visible GPUs. When ghostd is gone, device calls answer `GpuIsLost` until it is back; handles stay good.

mod change;
mod clocks;
mod device;
mod ecc;
mod events;
mod export_table;
mod fabric;
mod fields;
mod gpu;
mod hex;
mod lifecycle;
mod memory;
mod mig;
mod modes;
mod nvlink;
mod pcie;
mod platform;
mod power;
mod processes;
mod rest;
mod session;
pub mod structs;
mod system;
#[cfg(test)]
mod testing;
mod thermal;
mod topology;
mod utilization;

pub use gpu::Gpu;

ghost_abi::library! {
    /// The library `libnvidia-ml.so.1`.
    pub Nvml {
        name: "libnvidia-ml", not_supported: 3, panic: 999, invalid_argument: 2,
        too_short: 7, version_mismatch: 25,
    }
}

ghost_abi::status! {
    /// Why a call failed; the numbers are `nvmlReturn_t`.
    pub Error for Nvml {
        Uninitialized = 1, InvalidArgument = 2, NotSupported = 3, NoPermission = 4, NotFound = 6,
        InsufficientSize = 7, DriverNotLoaded = 9, Timeout = 10, GpuIsLost = 15, ResetRequired = 16,
        LibraryMismatch = 18, InUse = 19, NoData = 21, InsufficientResources = 23,
        ArgumentVersionMismatch = 25, Deprecated = 26, NotReady = 27, InvalidState = 29, Unknown = 999,
    }
    faults: InvalidArgument, short: InsufficientSize, version: ArgumentVersionMismatch
}

/// What a handler answers.
type Answer = Result<(), Error>;

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[
    clocks::ROWS,
    device::ROWS,
    ecc::ROWS,
    events::ROWS,
    export_table::ROWS,
    fabric::ROWS,
    fields::ROWS,
    lifecycle::ROWS,
    memory::ROWS,
    mig::ROWS,
    modes::ROWS,
    nvlink::ROWS,
    pcie::ROWS,
    platform::ROWS,
    power::ROWS,
    processes::ROWS,
    rest::ABSENT,
    system::ROWS,
    thermal::ROWS,
    topology::ROWS,
    utilization::ROWS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_is_a_row_once() {
        let mut names: Vec<_> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(names.len(), 441);
        assert!(names.iter().all(|name| name.starts_with("nvml")));
    }
}
