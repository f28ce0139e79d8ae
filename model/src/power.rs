//! Power, clock and temperature of one GPU as pure functions; the caller owns time and carries the state between calls.
//! Nothing here knows what ran, only how much it would draw.

use serde::{Deserialize, Serialize};

use crate::Profile;
use crate::cost::DType;
use crate::profile::Picojoules;

/// What one GPU draws and how fast it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerReading {
    /// True (not averaged) draw.
    pub milliwatts: u32,
    /// SM and graphics clock as shown: idle, or what locks, heat and the power limit leave, on the supported grid.
    pub sm_clock_mhz: u32,
    /// Whether the power limit holds the clock down (the SW power cap event reason).
    pub power_capped: bool,
}

/// What a GPU has been doing since the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Mean of `Cost::dynamic_milliwatts` over the interval (sum of ns x milliwatts over the interval's ns).
    pub dynamic_milliwatts: u32,
    /// Whether anything ran.
    pub busy: bool,
}

/// Two first-order elements in a row: die over cold plate, cold plate over coolant. Thousandths of a kelvin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThermalState {
    /// Die over cold plate.
    pub die_millikelvin: f64,
    /// Cold plate over coolant.
    pub loop_millikelvin: f64,
}

impl Picojoules {
    /// Energy of one operation of this type.
    #[must_use]
    pub const fn of(&self, dtype: DType) -> f64 {
        match dtype {
            DType::Bf16 => self.bf16,
            DType::Fp16 => self.fp16,
            DType::Fp8 => self.fp8,
            DType::Fp4 => self.fp4,
            DType::Int8 => self.int8,
            DType::Tf32 => self.tf32,
            DType::Fp32 => self.fp32,
            DType::Fp64 => self.fp64,
        }
    }
}

/// Idle draw of one GPU; `variation_milli` (0 to 999, [`crate::Seed::variation_milli`]) places it in the profile's range.
#[must_use]
pub fn idle_milliwatts(profile: &Profile, variation_milli: u32) -> u32 {
    let spread = u64::from(profile.power.idle_spread_milliwatts) * u64::from(variation_milli.min(999)) / 999;
    profile.power.idle_milliwatts + spread as u32
}

/// Share of the clock (0 to 1) at which `demand` (above idle, at full clock) stays within the limit.
#[must_use]
pub fn capped_share(profile: &Profile, demand_milliwatts: f64, limit_milliwatts: u32) -> f64 {
    let idle = profile.power.idle_milliwatts + profile.power.idle_spread_milliwatts / 2;
    let room = f64::from(limit_milliwatts.saturating_sub(idle)).max(1.0);
    if demand_milliwatts <= room {
        return 1.0;
    }
    let lowest = f64::from(profile.clocks.sm_min_mhz) / f64::from(profile.clocks.sm_max_mhz);
    (room / demand_milliwatts).powf(1.0 / profile.power.clock_exponent).max(lowest)
}

/// Draw and clock under a load; `ceiling_mhz` is what locked clocks and thermal slowdown allow.
#[must_use]
pub fn reading(
    profile: &Profile,
    idle_milliwatts: u32,
    load: Load,
    limit_milliwatts: u32,
    ceiling_mhz: u32,
) -> PowerReading {
    let demand = load.dynamic_milliwatts;
    let wanted = idle_milliwatts.saturating_add(demand);
    let milliwatts = wanted.min(limit_milliwatts.max(idle_milliwatts));
    let share = capped_share(profile, f64::from(demand), limit_milliwatts);
    let ceiling = profile.clocks.at_most(ceiling_mhz);
    let sm_clock_mhz = match (load.busy, share < 1.0) {
        (false, _) => profile.clocks.sm_idle_mhz.min(ceiling),
        (true, false) => ceiling,
        (true, true) => profile.clocks.at_most((f64::from(ceiling) * share) as u32),
    };
    PowerReading { milliwatts, sm_clock_mhz, power_capped: load.busy && share < 1.0 }
}

/// One step of NVML's averaged reading: a first-order filter over the profile's window.
#[must_use]
pub fn average_step(profile: &Profile, average_milliwatts: f64, milliwatts: u32, dt_ns: u64) -> f64 {
    approach(average_milliwatts, f64::from(milliwatts), dt_ns, profile.power.average_window_ns / 2)
}

/// The state that a constant draw leads to.
#[must_use]
pub fn thermal_steady(profile: &Profile, milliwatts: u32) -> ThermalState {
    let watts = f64::from(milliwatts) / 1000.0;
    ThermalState {
        die_millikelvin: watts * profile.thermal.die_millikelvin_per_watt,
        loop_millikelvin: watts * profile.thermal.loop_millikelvin_per_watt,
    }
}

/// The state after `dt_ns` of a constant draw (exact for any step).
#[must_use]
pub fn thermal_step(profile: &Profile, state: ThermalState, milliwatts: u32, dt_ns: u64) -> ThermalState {
    let steady = thermal_steady(profile, milliwatts);
    ThermalState {
        die_millikelvin: approach(state.die_millikelvin, steady.die_millikelvin, dt_ns, profile.thermal.die_tau_ns),
        loop_millikelvin: approach(state.loop_millikelvin, steady.loop_millikelvin, dt_ns, profile.thermal.loop_tau_ns),
    }
}

/// GPU temperature, thousandths of a degree Celsius; `inlet_offset_millidegrees` is the tray's injected coolant offset.
#[must_use]
pub fn temperature_millidegrees(
    profile: &Profile,
    state: ThermalState,
    variation_milli: u32,
    inlet_offset_millidegrees: i32,
) -> i32 {
    // Where a GPU sits on the loop is no function of how much it draws idle: take other digits of the same number.
    let place = f64::from((variation_milli * 7 + 311) % 1000) / 999.0;
    let coolant =
        f64::from(profile.thermal.coolant_millidegrees) + f64::from(profile.thermal.spread_millidegrees) * place;
    (coolant + state.die_millikelvin + state.loop_millikelvin) as i32 + inlet_offset_millidegrees
}

/// What NVML calls T.Limit: degrees left before the GPU's limit.
#[must_use]
pub fn tlimit_celsius(profile: &Profile, temperature_millidegrees: i32) -> i32 {
    profile.thermal.tlimit_zero_celsius - temperature_millidegrees.div_euclid(1000)
}

/// Draw of the memory alone, part of the GPU's; `hbm_bytes_per_ns` is traffic over the interval.
#[must_use]
pub fn memory_milliwatts(profile: &Profile, hbm_bytes_per_ns: f64) -> u32 {
    profile.power.memory_idle_milliwatts + (hbm_bytes_per_ns * profile.power.picojoules.hbm_byte) as u32
}

/// Draw of a module (superchip) whose GPUs draw this much together.
#[must_use]
pub const fn module_milliwatts(profile: &Profile, gpus_milliwatts: u32) -> u32 {
    profile.power.module_base_milliwatts.saturating_add(gpus_milliwatts)
}

/// Highest clock the temperature allows: full until the slowdown threshold, then half, and the lowest at shutdown.
#[must_use]
pub fn thermal_ceiling_mhz(profile: &Profile, temperature_millidegrees: i32) -> u32 {
    let (clocks, thermal) = (&profile.clocks, &profile.thermal);
    let left = tlimit_celsius(profile, temperature_millidegrees);
    if left > thermal.slowdown_tlimit_celsius {
        clocks.sm_max_mhz
    } else if left > thermal.shutdown_tlimit_celsius {
        clocks.at_most(clocks.sm_max_mhz / 2)
    } else {
        clocks.sm_min_mhz
    }
}

fn approach(from: f64, to: f64, dt_ns: u64, tau_ns: u64) -> f64 {
    let kept = (-(dt_ns as f64) / (tau_ns.max(1) as f64)).exp();
    to + (from - to) * kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{Gemm, Operation, State, cost};

    fn gb200() -> &'static Profile {
        Profile::named("gb200").unwrap()
    }

    fn big_gemm_milliwatts() -> u32 {
        let gemm = Gemm { m: 8192, n: 8192, k: 8192, batch: 1, a_type: DType::Bf16, compute: DType::Bf16 };
        cost(gb200(), &Operation::Gemm(gemm), &State::nominal(gb200())).dynamic_milliwatts
    }

    #[test]
    fn a_large_product_draws_between_900_and_1200_watts() {
        for variation in [0, 500, 999] {
            let load = Load { dynamic_milliwatts: big_gemm_milliwatts(), busy: true };
            let reading = reading(gb200(), idle_milliwatts(gb200(), variation), load, 1_200_000, 2062);
            assert!((900_001..1_200_000).contains(&reading.milliwatts), "{reading:?}");
            assert_eq!((reading.sm_clock_mhz, reading.power_capped), (2062, false));
        }
    }

    #[test]
    fn idle_draw_and_temperature_lie_in_the_captured_range() {
        for variation in 0..1000 {
            let idle = idle_milliwatts(gb200(), variation);
            assert!((150_000..=180_000).contains(&idle));
            let steady = thermal_steady(gb200(), idle);
            let celsius = temperature_millidegrees(gb200(), steady, variation, 0) / 1000;
            assert!((27..=38).contains(&celsius), "{celsius}");
        }
    }

    #[test]
    fn a_load_over_the_limit_is_held_at_it_by_a_lower_clock() {
        let load = Load { dynamic_milliwatts: big_gemm_milliwatts(), busy: true };
        let reading = reading(gb200(), 165_000, load, 600_000, 2062);
        assert_eq!(reading.milliwatts, 600_000);
        assert!(reading.power_capped && reading.sm_clock_mhz < 1600, "{reading:?}");
    }

    #[test]
    fn an_idle_gpu_shows_its_idle_clock() {
        let reading = reading(gb200(), 165_000, Load::default(), 1_200_000, 2062);
        assert_eq!((reading.milliwatts, reading.sm_clock_mhz), (165_000, 120));
    }

    #[test]
    fn heat_leaves_over_tens_of_seconds() {
        let second = 1_000_000_000_u64;
        let hot = thermal_steady(gb200(), 1_100_000);
        let degrees = |state| temperature_millidegrees(gb200(), state, 0, 0) / 1000;
        let after = |seconds: u64| degrees(thermal_step(gb200(), hot, 160_000, seconds * second));
        assert!(degrees(hot) > 45 && after(5) < degrees(hot) && after(20) > after(120) + 5);
        assert!(after(600) <= 31);
    }

    #[test]
    fn many_short_steps_equal_one_long_step() {
        let long = thermal_step(gb200(), ThermalState::default(), 900_000, 10_000_000_000);
        let short =
            (0..100).fold(ThermalState::default(), |state, _| thermal_step(gb200(), state, 900_000, 100_000_000));
        assert!((long.loop_millikelvin - short.loop_millikelvin).abs() < 1e-6);
    }

    #[test]
    fn an_idle_module_reads_as_the_capture_does() {
        assert_eq!(tlimit_celsius(gb200(), 27_900), 60);
        assert!((29_000..35_000).contains(&memory_milliwatts(gb200(), 0.0)));
        let gpus = idle_milliwatts(gb200(), 400) + idle_milliwatts(gb200(), 600);
        assert!((450_000..470_000).contains(&module_milliwatts(gb200(), gpus)));
    }

    #[test]
    fn a_gpu_at_its_slowdown_threshold_halves_its_clock() {
        assert_eq!(thermal_ceiling_mhz(gb200(), 60_000), 2062);
        assert!(thermal_ceiling_mhz(gb200(), 90_000) < 1040);
        assert_eq!(thermal_ceiling_mhz(gb200(), 95_000), 120);
    }
}
