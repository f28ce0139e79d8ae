//! Fused attention: two products at an efficiency that grows with the sequence, joined with the traffic of q, k, v and o.
//! Which library's kernel runs is not told apart; rates are those of the best measured.

use serde::{Deserialize, Serialize};

use super::shape::{self, Parts, Work};
use super::{Cost, DType, State};
use crate::Profile;
use crate::profile::AttentionHead;

/// One call of scaled dot product attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the field's own words")]
pub struct Attention {
    pub batch: u64,
    pub heads: u64,
    pub seq_q: u64,
    pub seq_k: u64,
    pub head_dim: u64,
    /// Only keys up to the query's own place: half of the work.
    pub causal: bool,
    pub dtype: DType,
    pub backward: bool,
}

pub(super) fn cost(profile: &Profile, attention: &Attention, state: &State) -> Cost {
    let fit = &profile.cost.attention;
    let [batch, heads, seq_q, seq_k, head_dim] =
        [attention.batch, attention.heads, attention.seq_q, attention.seq_k, attention.head_dim]
            .map(|size| size as f64);
    let products = 4.0 * batch * heads * seq_q * seq_k * head_dim * if attention.causal { 0.5 } else { 1.0 };
    let (flops, pass_rate) =
        if attention.backward { (products * fit.backward_flops_factor, fit.backward_reached) } else { (products, 1.0) };
    let head = row(&fit.head, attention.head_dim);
    let efficiency = (head.reached * seq_k / (seq_k + head.half_sequence)).max(1e-3) * pass_rate;
    let sms = f64::from(profile.cuda.multiprocessors);
    let blocks = ((seq_q / f64::from(fit.query_tile)).ceil() * batch * heads).max(1.0);
    let whole_waves = (blocks / sms).ceil() * sms / blocks;
    let compute_ns = flops / (shape::flops_per_ns(profile, attention.dtype, state) * efficiency) * whole_waves;
    let tensors = if attention.backward { 2.0 } else { 1.0 };
    let bytes = tensors * batch * heads * head_dim * (2.0 * seq_q + 2.0 * seq_k) * attention.dtype.bits() as f64 / 8.0;
    let memory_rate = profile.cost.memory.hbm_megabytes_per_second as f64 * 1e-3 * fit.memory_efficiency;
    let parts = Parts { floor_ns: fit.floor_ns, compute_ns, memory_ns: bytes / memory_rate, p_norm: fit.p_norm };
    let work = Work { dtype: attention.dtype, flops, hbm_bytes: bytes, sm_share: (blocks / sms).min(1.0) };
    shape::compute(profile, state, &parts, &work)
}

fn row(rows: &[AttentionHead; 3], head_dim: u64) -> AttentionHead {
    rows.iter().find(|row| head_dim <= u64::from(row.head_dim)).copied().unwrap_or(rows[2])
}
