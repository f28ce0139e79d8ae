//! What the arms of the cost share: memory time, the joining of compute and memory, power and the power limit.
//! Nothing here knows one kind of operation from another.

use super::{Cost, DType, Engine, State};
use crate::Profile;
use crate::power;

/// An operation's time split by what bounds it, at the state's clock; all in nanoseconds.
pub(super) struct Parts {
    /// Floor that nothing shortens.
    pub floor_ns: f64,
    /// Arithmetic at the state's clock.
    pub compute_ns: f64,
    /// Memory traffic.
    pub memory_ns: f64,
    /// How the two join: their p-norm.
    pub p_norm: f64,
}

/// What was done, for the power and the counters.
pub(super) struct Work {
    pub dtype: DType,
    pub flops: f64,
    pub hbm_bytes: f64,
    pub sm_share: f64,
}

impl Parts {
    fn total_ns(&self, slower: f64) -> f64 {
        let (compute, memory) = (self.compute_ns * slower, self.memory_ns);
        let (long, short) = if compute > memory { (compute, memory) } else { (memory, compute) };
        if short == 0.0 {
            return self.floor_ns + long;
        }
        self.floor_ns + long * norm_of_one_and(short / long, self.p_norm)
    }
}

/// `(1 + ratio^p)^(1/p)`; roots are several times faster than powers, and this runs at every launch.
fn norm_of_one_and(ratio: f64, p: f64) -> f64 {
    if p == 2.0 {
        (1.0 + ratio * ratio).sqrt()
    } else if p == 4.0 {
        let square = ratio * ratio;
        (1.0 + square * square).sqrt().sqrt()
    } else {
        (1.0 + ratio.powf(p)).powf(1.0 / p)
    }
}

/// Joins time and work into a cost of the compute engine, slowed where the power limit demands it.
pub(super) fn compute(profile: &Profile, state: &State, parts: &Parts, work: &Work) -> Cost {
    let share = state.clock_share(profile);
    let ns = parts.total_ns(1.0).max(1.0);
    let demand = demand_milliwatts(profile, work, ns, share);
    let capped = power::capped_share(profile, demand, state.power_limit_milliwatts);
    let ns = if capped < 1.0 { parts.total_ns(1.0 / capped) } else { ns };
    Cost {
        ns: whole_ns(ns),
        sm_share_milli: milli(work.sm_share),
        engine: Engine::Compute,
        tensor_flops: work.flops as u64,
        hbm_bytes: work.hbm_bytes as u64,
        dynamic_milliwatts: demand as u32,
    }
}

/// Draw above idle: rates times energies (flops per nanosecond times picojoules is milliwatts).
/// An operation at a lower clock runs at a lower voltage, so each flop costs less.
fn demand_milliwatts(profile: &Profile, work: &Work, ns: f64, clock_share: f64) -> f64 {
    let energy = &profile.power.picojoules;
    let scale = if clock_share < 1.0 { clock_share.powf(profile.power.clock_exponent - 1.0) } else { 1.0 };
    let arithmetic = work.flops * energy.of(work.dtype) * scale;
    let active = f64::from(profile.power.active_milliwatts) * work.sm_share * clock_share * scale;
    active + (arithmetic + work.hbm_bytes * energy.hbm_byte) / ns
}

/// Time to stream `bytes`, of which a working set that fits L2 is served by it; the bytes that reach HBM.
pub(super) fn stream(profile: &Profile, bytes: f64) -> (f64, f64) {
    let memory = &profile.cost.memory;
    let hbm_bytes_per_ns = memory.hbm_megabytes_per_second as f64 * 1e-3 * memory.efficiency;
    let resident = bytes / f64::from(profile.cuda.l2_bytes);
    let miss = ((resident - memory.l2_full) / (memory.l2_none - memory.l2_full)).clamp(0.0, 1.0);
    let per_byte = (miss + (1.0 - miss) / memory.l2_rate_factor) / hbm_bytes_per_ns;
    (bytes * per_byte, bytes * miss)
}

/// Flops in a nanosecond at the state's clock.
pub(super) fn flops_per_ns(profile: &Profile, dtype: DType, state: &State) -> f64 {
    let rate = profile.cost.rate.of(dtype);
    rate.peak_tflops * rate.reached * 1e3 * state.clock_share(profile)
}

/// A time as whole nanoseconds, at least one; conversion saturates.
pub(super) fn whole_ns(ns: f64) -> u64 {
    (ns as u64).max(1)
}

/// A share as thousandths, 1 to 1000.
pub(super) fn milli(share: f64) -> u32 {
    ((share * 1000.0) as u32).clamp(1, 1000)
}
