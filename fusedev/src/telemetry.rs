//! The instruments of one GPU: from what its processes did to what NVML shows. Pure: time is an argument.
//! Power, clocks and heat are the model's functions; here they are fed and their state is carried along.

use ghost_engine::layout::{GpuLive, ProcessGpu};
use ghost_model::power::{self, Load, PowerReading, ThermalState};
use ghost_model::{Gpu, Profile};

use crate::hardware::Hardware;
use crate::meter::{Limits, Meter, Use};
use crate::window::Window;

/// Utilisation and rates are averaged over this long; NVML's sample period is between 1/6 s and 1 s.
pub const SAMPLE_PERIOD_NS: u64 = 500_000_000;

const COMPUTE: usize = 0;
const MEMORY: usize = 1;
const PCIE_TX: usize = 2;
const PCIE_RX: usize = 3;

/// NVML's clocks event reasons.
mod reason {
    pub const IDLE: u64 = 0x1;
    pub const LOCKED_CLOCKS: u64 = 0x2;
    pub const SW_POWER_CAP: u64 = 0x4;
    pub const HW_SLOWDOWN: u64 = 0x8;
    pub const HW_THERMAL: u64 = 0x40;
}

/// Places in `GpuLive::clocks_event_ns`.
mod counter {
    pub const SW_POWER_CAP: usize = 0;
    pub const HW_THERMAL: usize = 3;
}

/// The most a GPU of this profile can do in `elapsed_ns`: what no page can exceed.
pub fn limits(profile: &Profile, hca_gbps: u32, elapsed_ns: u64) -> Limits {
    let copy = &profile.cost.copy;
    let host = copy.host_to_device_megabytes_per_second.max(copy.device_to_host_megabytes_per_second);
    Limits {
        elapsed_ns,
        // What a load asks for, before the limit holds it down; twice the highest limit is more than any asks.
        power_milliwatts: profile.power.limit_max_milliwatts.saturating_mul(2),
        link_bytes_per_second: profile.nvlink.link_megabytes_per_second * 1_000_000,
        pcie_bytes_per_second: host * 1_000_000,
        hca_bytes_per_second: u64::from(hca_gbps) * 125_000_000,
    }
}

/// State carried from tick to tick.
#[derive(Debug)]
pub struct GpuTelemetry {
    window: Window<4>,
    energy_nanojoules: u128,
    average_milliwatts: f64,
    thermal: ThermalState,
}

impl GpuTelemetry {
    /// A GPU that has been idle for long.
    pub fn new(hardware: &Hardware, gpu: &Gpu) -> GpuTelemetry {
        let idle = hardware.machine.idle_milliwatts(hardware.profile, gpu);
        GpuTelemetry {
            window: Window::new(SAMPLE_PERIOD_NS),
            energy_nanojoules: 0,
            average_milliwatts: f64::from(idle),
            thermal: power::thermal_steady(hardware.profile, idle),
        }
    }

    /// Accounts for one interval and shows it.
    pub fn tick(&mut self, hardware: &Hardware, gpu: &Gpu, used: &Use, elapsed_ns: u64, live: &mut GpuLive) {
        self.window.push(elapsed_ns, [used.compute_ns, used.memory_ns, used.pcie_tx_bytes, used.pcie_rx_bytes]);
        live.gpu_utilization = self.window.percent(COMPUTE);
        live.memory_utilization = self.window.percent(MEMORY);
        // bytes per millisecond = KB/s
        live.pcie_tx_kbps = self.window.rate(PCIE_TX, 1_000_000) as u32;
        live.pcie_rx_kbps = self.window.rate(PCIE_RX, 1_000_000) as u32;
        let ceiling = Ceiling::of(hardware, gpu, self.celsius(hardware, gpu));
        let (reading, milliwatts) = self.power(hardware, gpu, used, elapsed_ns, ceiling.mhz);
        self.heat(hardware.profile, milliwatts, elapsed_ns);
        self.show_power(hardware.profile, milliwatts, live);
        self.show_clocks(hardware, gpu, &reading, &ceiling, elapsed_ns, live);
        live.temperature_millicelsius = self.celsius(hardware, gpu);
        live.memory_temperature_millicelsius = live.temperature_millicelsius;
    }

    /// Nothing ran in the sample period.
    pub fn is_quiet(&self) -> bool {
        self.window.is_quiet()
    }

    /// The reading while it works, and the true mean draw of the interval, which also has idle moments.
    fn power(
        &self,
        hardware: &Hardware,
        gpu: &Gpu,
        used: &Use,
        elapsed_ns: u64,
        ceiling_mhz: u32,
    ) -> (PowerReading, u32) {
        let idle = hardware.machine.idle_milliwatts(hardware.profile, gpu);
        let working_ns = used.compute_ns.max(used.memory_ns).min(elapsed_ns);
        let working_ns = if working_ns == 0 { elapsed_ns } else { working_ns };
        // nJ x 1000 / ns = mW
        let demand = u128::from(used.energy_nanojoules) * 1000 / u128::from(working_ns.max(1));
        let demand = demand.min(u128::from(hardware.profile.power.limit_max_milliwatts) * 2) as u32;
        let load = Load { dynamic_milliwatts: demand, busy: !self.window.is_quiet() };
        let reading = power::reading(hardware.profile, idle, load, gpu.limits.power_milliwatts, ceiling_mhz);
        let above_idle = u64::from(reading.milliwatts.saturating_sub(idle));
        let mean = idle + (above_idle * working_ns / elapsed_ns.max(1)) as u32;
        (reading, mean)
    }

    fn heat(&mut self, profile: &Profile, milliwatts: u32, elapsed_ns: u64) {
        self.thermal = power::thermal_step(profile, self.thermal, milliwatts, elapsed_ns);
        self.average_milliwatts = power::average_step(profile, self.average_milliwatts, milliwatts, elapsed_ns);
        self.energy_nanojoules += u128::from(milliwatts) * u128::from(elapsed_ns) / 1000;
    }

    fn celsius(&self, hardware: &Hardware, gpu: &Gpu) -> i32 {
        let offset = hardware.machine.inlet_offset_millidegrees;
        power::temperature_millidegrees(hardware.profile, self.thermal, gpu.variation_milli, offset)
    }

    fn show_power(&self, profile: &Profile, milliwatts: u32, live: &mut GpuLive) {
        live.power_instant_milliwatts = milliwatts;
        live.power_average_milliwatts = self.average_milliwatts.round() as u32;
        live.energy_millijoules = (self.energy_nanojoules / 1_000_000) as u64;
        // MB/s x pJ/B = uW; only the part of the time in which memory moves counts.
        let memory = &profile.cost.memory;
        let full =
            memory.hbm_megabytes_per_second as f64 * memory.efficiency * profile.power.picojoules.hbm_byte / 1000.0;
        let moving = (full * f64::from(live.memory_utilization) / 100.0) as u32;
        live.memory_power_milliwatts = (profile.power.memory_idle_milliwatts + moving).min(milliwatts);
    }

    fn show_clocks(
        &self,
        hardware: &Hardware,
        gpu: &Gpu,
        reading: &PowerReading,
        ceiling: &Ceiling,
        elapsed_ns: u64,
        live: &mut GpuLive,
    ) {
        let clocks = &hardware.profile.clocks;
        let busy = !self.window.is_quiet();
        let floor = gpu.limits.sm_lock.map_or(0, |lock| clocks.at_most(lock.min_mhz)).min(ceiling.mhz);
        live.sm_clock_mhz = reading.sm_clock_mhz.max(floor);
        live.graphics_clock_mhz = live.sm_clock_mhz;
        live.memory_clock_mhz = clocks.memory_mhz;
        live.video_clock_mhz = if busy { clocks.video_max_mhz } else { clocks.video_idle_mhz };
        live.performance_state = if busy { 0 } else { u32::from(hardware.machine.idle.pstate) };
        let mut reasons = 0;
        if !busy {
            reasons |= reason::IDLE;
        }
        if busy && gpu.limits.sm_lock.is_some() {
            reasons |= reason::LOCKED_CLOCKS;
        }
        if reading.power_capped {
            reasons |= reason::SW_POWER_CAP;
            live.clocks_event_ns[counter::SW_POWER_CAP] += elapsed_ns;
        }
        if ceiling.hot {
            reasons |= reason::HW_SLOWDOWN | reason::HW_THERMAL;
            live.clocks_event_ns[counter::HW_THERMAL] += elapsed_ns;
        }
        live.clocks_event_reasons = reasons;
    }
}

/// The highest clock at this moment, and whether heat sets it.
#[derive(Debug)]
struct Ceiling {
    mhz: u32,
    hot: bool,
}

impl Ceiling {
    fn of(hardware: &Hardware, gpu: &Gpu, millidegrees: i32) -> Ceiling {
        let cooled = power::thermal_ceiling_mhz(hardware.profile, millidegrees);
        let hot = cooled < hardware.profile.clocks.sm_max_mhz;
        Ceiling { mhz: gpu.sm_ceiling_mhz().min(cooled), hot }
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
        let mut window = Window::new(SAMPLE_PERIOD_NS);
        // It did nothing before it came; without that its first moments would weigh more than those of the others.
        window.push(SAMPLE_PERIOD_NS, [0, 0]);
        ProcessTelemetry { meter: Meter::default(), window }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvl8;
    use ghost_model::{Change, GpuIndex};

    const TICK_NS: u64 = 100_000_000;

    struct Bench {
        hardware: Hardware,
        telemetry: GpuTelemetry,
        live: GpuLive,
    }

    impl Bench {
        fn new() -> Bench {
            let hardware = nvl8();
            let telemetry = GpuTelemetry::new(&hardware, &hardware.machine.gpus[0]);
            Bench { telemetry, hardware, live: ghost_engine::layout::Facts::ZERO.gpus[0].live }
        }

        /// `ticks` of a load that is busy this share of the time and asks for `milliwatts` above idle while busy.
        fn run(&mut self, ticks: u32, busy_percent: u64, milliwatts: u64) -> GpuLive {
            let compute_ns = TICK_NS * busy_percent / 100;
            let used = Use {
                compute_ns,
                memory_ns: compute_ns / 2,
                energy_nanojoules: compute_ns * milliwatts / 1000,
                ..Use::default()
            };
            for _ in 0..ticks {
                let gpu = &self.hardware.machine.gpus[0];
                self.telemetry.tick(&self.hardware, gpu, &used, TICK_NS, &mut self.live);
            }
            self.live
        }
    }

    #[test]
    fn an_idle_gpu_reads_as_the_capture_does() {
        let live = Bench::new().run(20, 0, 0);
        assert!((150_000..=180_000).contains(&live.power_average_milliwatts), "{live:?}");
        assert_eq!((live.gpu_utilization, live.sm_clock_mhz, live.clocks_event_reasons), (0, 120, reason::IDLE));
        assert!((26_000..=38_000).contains(&live.temperature_millicelsius));
    }

    #[test]
    fn a_load_shows_at_once_and_is_gone_within_a_second_but_its_heat_stays() {
        let mut bench = Bench::new();
        let busy = bench.run(600, 90, 800_000);
        assert_eq!((busy.gpu_utilization, busy.memory_utilization, busy.sm_clock_mhz), (90, 45, 2062));
        assert!(busy.power_average_milliwatts > 800_000);
        let after = bench.run(10, 0, 0);
        assert_eq!((after.gpu_utilization, after.sm_clock_mhz), (0, 120));
        assert!(after.power_instant_milliwatts < 180_000);
        let hot = after.temperature_millicelsius;
        assert!(hot > bench.run(300, 0, 0).temperature_millicelsius + 3_000);
    }

    #[test]
    fn a_cap_holds_the_draw_and_says_so() {
        let mut bench = Bench::new();
        bench.hardware.apply(&Change::PowerLimit { gpu: GpuIndex(0), milliwatts: 600_000 }).unwrap();
        let live = bench.run(50, 100, 900_000);
        assert_eq!(live.power_instant_milliwatts, 600_000);
        assert!(live.sm_clock_mhz < 1_900 && live.clocks_event_reasons & reason::SW_POWER_CAP != 0);
        assert_eq!(live.clocks_event_ns[0], 50 * TICK_NS);
    }

    #[test]
    fn energy_is_power_times_time() {
        let mut bench = Bench::new();
        let live = bench.run(100, 100, 500_000);
        let expected = u64::from(live.power_instant_milliwatts) * 10;
        assert!(live.energy_millijoules.abs_diff(expected) <= 10, "{live:?}");
    }

    #[test]
    fn locked_clocks_bound_the_clock_from_both_sides() {
        let mut bench = Bench::new();
        let lock = Change::ClocksLock { gpu: GpuIndex(0), min_mhz: 900, max_mhz: 1500 };
        bench.hardware.apply(&lock).unwrap();
        assert_eq!(bench.run(10, 100, 300_000).sm_clock_mhz, 1500);
        assert_eq!(bench.run(10, 0, 0).sm_clock_mhz, 900);
    }
}
