//! Collectives inside one NVLink partition: a latency for the ranks and a bus bandwidth that grows with the message.
//! Waiting for the last rank, and networks between partitions, are not known here.

use serde::{Deserialize, Serialize};

use super::shape;
use super::{Cost, Engine, State};
use crate::Profile;

/// Which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the field's own words")]
pub enum CollectiveKind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    SendReceive,
}

/// One collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// Size as NCCL's tests count it: the greater of the send and receive buffers.
    pub bytes: u64,
    /// How many take part.
    pub ranks: u32,
    /// Which.
    pub kind: CollectiveKind,
}

pub(super) fn cost(profile: &Profile, collective: &Collective, state: &State) -> Cost {
    let fit = &profile.cost.collective;
    let ranks = f64::from(collective.ranks.max(1));
    let others = (ranks - 1.0) / ranks;
    let bytes = collective.bytes as f64;
    let (crossings, factor) = match collective.kind {
        CollectiveKind::AllReduce => (2.0 * others, 1.0),
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => (others, fit.gather_factor),
        CollectiveKind::AllToAll => (others, fit.all_to_all_factor),
        CollectiveKind::Broadcast | CollectiveKind::Reduce | CollectiveKind::SendReceive => {
            (others.ceil(), fit.gather_factor)
        }
    };
    let on_bus = bytes * crossings;
    // Without links the ranks meet through the host.
    let through_host =
        profile.cost.copy.device_to_host_megabytes_per_second as f64 * profile.cost.copy.through_host_factor;
    let linked = fit.bus_megabytes_per_second as f64 * ranks / (ranks + fit.rank_half) * state.link_share(profile);
    let bytes_per_ns = if state.links_up == 0 { through_host } else { linked * factor } * 1e-3;
    let latency_ns = fit.small_floor_ns as f64 + fit.per_rank_ns as f64 * (ranks - 1.0);
    let ramp = bytes.min(fit.ramp_bytes as f64) * crossings;
    let ns = latency_ns + (on_bus + ramp) / bytes_per_ns;
    let energy = &profile.power.picojoules;
    Cost {
        ns: shape::whole_ns(ns),
        sm_share_milli: fit.sm_share_milli,
        engine: Engine::Link,
        tensor_flops: 0,
        hbm_bytes: (2.0 * on_bus) as u64,
        dynamic_milliwatts: (on_bus * (energy.link_byte + 2.0 * energy.hbm_byte) / ns) as u32,
    }
}
