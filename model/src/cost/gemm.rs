//! Matrix products: waves of tiles, split along k where that is faster, joined with the traffic of the operands.
//! No library's algorithm choice is imitated; the form and its error are in the profile.

use serde::{Deserialize, Serialize};

use super::shape::{self, Parts, Work};
use super::{Cost, DType, State};
use crate::Profile;

/// C (m x n) = A (m x k) B (k x n), `batch` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "m, n, k and batch are the field's own words")]
pub struct Gemm {
    pub m: u64,
    pub n: u64,
    pub k: u64,
    pub batch: u64,
    /// Type of the operands as stored.
    pub a_type: DType,
    /// Type of the arithmetic.
    pub compute: DType,
}

/// Tiles take k in steps of this.
const K_STEP: f64 = 64.0;

pub(super) fn cost(profile: &Profile, gemm: &Gemm, state: &State) -> Cost {
    let [m, n, k, batch] = [gemm.m, gemm.n, gemm.k, gemm.batch].map(|size| size as f64);
    let fit = &profile.cost.gemm;
    let (compute_ns, sm_share) = waves(profile, gemm, state);
    let droop = if profile.cost.rate.of(gemm.compute).sags { fit.droop } else { 0.0 };
    let compute_ns = compute_ns * (1.0 + droop * compute_ns / (compute_ns + fit.droop_half_ns));
    let element_bytes = gemm.a_type.bits() as f64 / 8.0;
    // Results of narrow types are stored as 16 bits, as the libraries do by default.
    let out_bytes = element_bytes.max(2.0);
    let bytes = batch * ((m * k + k * n) * element_bytes + m * n * out_bytes);
    let memory_rate = profile.cost.memory.hbm_megabytes_per_second as f64 * 1e-3 * fit.bandwidth_fraction;
    let parts = Parts { floor_ns: fit.t0_ns, compute_ns, memory_ns: bytes / memory_rate, p_norm: fit.p_norm };
    let work = Work { dtype: gemm.compute, flops: 2.0 * m * n * k * batch, hbm_bytes: bytes, sm_share };
    shape::compute(profile, state, &parts, &work)
}

/// The fastest tiling: its time and the share of the SMs that its last choice fills.
fn waves(profile: &Profile, gemm: &Gemm, state: &State) -> (f64, f64) {
    let fit = &profile.cost.gemm;
    let sms = f64::from(profile.cuda.multiprocessors);
    let sm_rate = shape::flops_per_ns(profile, gemm.compute, state) * fit.peak_fraction / sms;
    let split_rate = profile.cost.memory.hbm_megabytes_per_second as f64 * 1e-3 * fit.split_bandwidth_fraction;
    let [m, n, k, batch] = [gemm.m, gemm.n, gemm.k, gemm.batch].map(|size| size as f64);
    let partial_sums_ns = m * n * batch * 4.0 / split_rate;
    let (mut best, mut share) = (f64::INFINITY, 1.0);
    let [small, middle, large] = fit.tiles.map(f64::from);
    // Time depends on a pair of edges and its mirror only through the tile count, so one efficiency serves both.
    for (a, b) in [(small, small), (small, middle), (small, large), (middle, middle), (middle, large), (large, large)] {
        let efficiency = (a * b / (large * large)).powf(fit.tile_exponent);
        let per_step_ns = 2.0 * a * b / (sm_rate * efficiency);
        let count = |tm: f64, tn: f64| (m / tm).ceil() * (n / tn).ceil();
        let tiles = batch * count(a, b).min(count(b, a));
        for split in fit.splits {
            let ways = f64::from(split);
            let depth = (k / ways / K_STEP).ceil() * K_STEP + fit.k_overhead;
            let waves = (tiles * ways / sms).ceil();
            let joining = if split > 1 { fit.split_ns + ways * partial_sums_ns } else { 0.0 };
            let ns = waves * (depth * per_step_ns + fit.wave_ns) + joining;
            if ns < best {
                (best, share) = (ns, tiles * ways / sms);
            }
        }
    }
    (best, share.min(1.0))
}
