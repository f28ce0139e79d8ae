//! The instruments of one GPU: from what its processes did to what NVML shows. Pure: time is an argument.
//! Knows no process and publishes nothing.

use ghost_engine::layout::{GpuLive, ProcessGpu};

use crate::meter::{Limits, Meter, Use};
use crate::window::Window;

/// Utilisation and rates are averaged over this long; NVML's sample period is between 1/6 s and 1 s.
pub const SAMPLE_PERIOD_NS: u64 = 500_000_000;

const COMPUTE: usize = 0;
const MEMORY: usize = 1;
const PCIE_TX: usize = 2;
const PCIE_RX: usize = 3;

/// State carried from tick to tick.
#[derive(Debug)]
pub struct GpuTelemetry {
    window: Window<4>,
    energy_nanojoules: u128,
}

impl Default for GpuTelemetry {
    fn default() -> GpuTelemetry {
        GpuTelemetry::new()
    }
}

impl GpuTelemetry {
    pub fn new() -> GpuTelemetry {
        GpuTelemetry { window: Window::new(SAMPLE_PERIOD_NS), energy_nanojoules: 0 }
    }

    /// Accounts for one interval and shows it.
    pub fn tick(&mut self, used: &Use, limits: &Limits, idle_milliwatts: u32, live: &mut GpuLive) {
        self.window.push(limits.elapsed_ns, [used.compute_ns, used.memory_ns, used.pcie_tx_bytes, used.pcie_rx_bytes]);
        live.gpu_utilization = self.window.percent(COMPUTE);
        live.memory_utilization = self.window.percent(MEMORY);
        live.pcie_tx_kbps = self.window.rate(PCIE_TX, 1_000_000) as u32;
        live.pcie_rx_kbps = self.window.rate(PCIE_RX, 1_000_000) as u32;
        let above_idle = (used.energy_nanojoules * 1000 / limits.elapsed_ns.max(1)) as u32;
        live.power_instant_milliwatts = idle_milliwatts + above_idle;
        live.power_average_milliwatts = live.power_instant_milliwatts;
        self.energy_nanojoules += u128::from(live.power_instant_milliwatts) * u128::from(limits.elapsed_ns) / 1000;
        live.energy_millijoules = (self.energy_nanojoules / 1_000_000) as u64;
    }

    /// Nothing ran in the sample period.
    pub fn is_quiet(&self) -> bool {
        self.window.is_quiet()
    }
}

/// One process on one GPU: what it claims, and its part of the utilisation.
#[derive(Debug)]
pub struct ProcessTelemetry {
    meter: Meter,
    window: Window<2>,
}

impl Default for ProcessTelemetry {
    fn default() -> ProcessTelemetry {
        ProcessTelemetry { meter: Meter::default(), window: Window::new(SAMPLE_PERIOD_NS) }
    }
}

impl ProcessTelemetry {
    /// What the page says happened since the last tick, clamped.
    pub fn claim(&mut self, page: &ProcessGpu, now_ns: u64, limits: &Limits) -> Use {
        self.meter.advance(page, now_ns, limits)
    }

    /// What of it is believed after all processes have had their share.
    pub fn grant(&mut self, granted: &Use, limits: &Limits) {
        self.window.push(limits.elapsed_ns, [granted.compute_ns, granted.memory_ns]);
    }

    /// Percent of the sample period: kernels, memory.
    pub fn utilization(&self) -> (u32, u32) {
        (self.window.percent(COMPUTE), self.window.percent(MEMORY))
    }
}
