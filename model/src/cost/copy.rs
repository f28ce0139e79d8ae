//! Copies and fills: a floor and a rate for each direction.
//! Whether bytes really move is not known here.

use serde::{Deserialize, Serialize};

use super::shape::{self, Parts, Work};
use super::{Cost, DType, Engine, State};
use crate::Profile;

/// Where bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants say it")]
pub enum CopyDirection {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
    PeerToPeer,
}

/// What kind of host memory is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostMemory {
    /// Page-locked, or no host memory at all.
    Pinned,
    /// Staged through the driver's own buffers.
    Pageable,
}

/// One copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// How much.
    pub bytes: u64,
    /// From where to where.
    pub direction: CopyDirection,
    /// The host end.
    pub host: HostMemory,
}

/// One fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memset {
    /// How much.
    pub bytes: u64,
}

pub(super) fn cost(profile: &Profile, copy: &Copy, state: &State) -> Cost {
    let rates = &profile.cost.copy;
    let links = state.link_share(profile);
    let to_host = rates.host_to_device_megabytes_per_second as f64;
    let (rate, floor_ns, engine) = match copy.direction {
        CopyDirection::HostToDevice => (to_host, rates.floor_ns, Engine::CopyIn),
        CopyDirection::DeviceToHost => {
            (rates.device_to_host_megabytes_per_second as f64, rates.floor_ns, Engine::CopyOut)
        }
        CopyDirection::DeviceToDevice => (rates.device_megabytes_per_second as f64, rates.floor_ns, Engine::Compute),
        CopyDirection::PeerToPeer if state.links_up == 0 => {
            (to_host * rates.through_host_factor, rates.peer_floor_ns, Engine::CopyOut)
        }
        CopyDirection::PeerToPeer => {
            (rates.peer_megabytes_per_second as f64 * links, rates.peer_floor_ns, Engine::Link)
        }
    };
    let crosses_host = matches!(copy.direction, CopyDirection::HostToDevice | CopyDirection::DeviceToHost);
    let pageable = crosses_host && copy.host == HostMemory::Pageable;
    let bytes_per_ns = rate * 1e-3 * if pageable { rates.pageable_factor } else { 1.0 };
    let moved = copy.bytes as f64 * if copy.direction == CopyDirection::DeviceToDevice { 2.0 } else { 1.0 };
    let ns = floor_ns as f64 + copy.bytes as f64 / bytes_per_ns;
    let energy = &profile.power.picojoules;
    let linked = if engine == Engine::Link { moved * energy.link_byte } else { 0.0 };
    Cost {
        ns: shape::whole_ns(ns),
        sm_share_milli: 0,
        engine,
        tensor_flops: 0,
        hbm_bytes: moved as u64,
        dynamic_milliwatts: ((moved * energy.hbm_byte + linked) / ns) as u32,
    }
}

pub(super) fn memset(profile: &Profile, memset: &Memset, state: &State) -> Cost {
    let (memory_ns, hbm_bytes) = shape::stream(profile, memset.bytes as f64);
    let floor_ns = profile.cost.launch_floor_ns as f64;
    // Small fills leave most SMs free.
    let sm_share = (memset.bytes as f64
        / (profile.cost.memory.memset_bytes_per_block as f64 * f64::from(profile.cuda.multiprocessors)))
    .min(1.0);
    let parts = Parts { floor_ns, compute_ns: 0.0, memory_ns, p_norm: 1.0 };
    let work = Work { dtype: DType::Fp32, flops: 0.0, hbm_bytes, sm_share };
    shape::compute(profile, state, &parts, &work)
}
