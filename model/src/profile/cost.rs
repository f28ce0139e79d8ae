//! The parameters of the cost functions, one section for each arm of `crate::cost`.
//! Nothing here computes a cost.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::cost::DType;

/// Everything [`crate::cost::cost`] reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostParameters {
    /// The shortest a kernel takes on the device.
    pub launch_floor_ns: u64,
    /// Memory-bound work.
    pub memory: MemoryCost,
    /// Arithmetic rate by type.
    pub rate: DTypeTable,
    /// Matrix products.
    pub gemm: GemmCost,
    /// Fused attention.
    pub attention: AttentionCost,
    /// Copies.
    pub copy: CopyCost,
    /// Collectives.
    pub collective: CollectiveCost,
}

/// Arithmetic of one type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Dense peak at the maximum clock, TFLOP/s.
    pub peak_tflops: f64,
    /// Share of the peak that operations of this type reach, relative to bf16's fit.
    pub reached: f64,
    /// Whether long products of this type pull the clock down (`gemm.droop`).
    pub sags: bool,
}

/// One rate for each type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the types themselves")]
pub struct DTypeTable {
    pub bf16: Rate,
    pub fp16: Rate,
    pub fp8: Rate,
    pub fp4: Rate,
    pub int8: Rate,
    pub tf32: Rate,
    pub fp32: Rate,
    pub fp64: Rate,
}

impl DTypeTable {
    /// The rate of one type.
    #[must_use]
    pub const fn of(&self, dtype: DType) -> Rate {
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

/// Memory-bound work: bytes over an achieved bandwidth, faster while the working set sits in L2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryCost {
    /// Specified bandwidth.
    pub hbm_megabytes_per_second: u64,
    /// Share of it that streams reach.
    pub efficiency: f64,
    /// L2's rate as a multiple of HBM's.
    pub l2_rate_factor: f64,
    /// Up to this share of the L2 size everything hits.
    pub l2_full: f64,
    /// From this multiple of the L2 size everything misses.
    pub l2_none: f64,
    /// How compute and memory time of a kernel join.
    pub p_norm: f64,
    /// What one block of a fill writes.
    pub memset_bytes_per_block: u32,
    /// Latency a wave of blocks adds.
    pub block_hide_ns: u64,
}

/// The tile-wave form of a matrix product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GemmCost {
    /// Floor of every product.
    pub t0_ns: f64,
    /// Share of the peak the greatest tile reaches.
    pub peak_fraction: f64,
    /// Share of the memory bandwidth reached.
    pub bandwidth_fraction: f64,
    /// How compute and memory time join.
    pub p_norm: f64,
    /// How efficiency falls with the tile's area.
    pub tile_exponent: f64,
    /// Added for every wave.
    pub wave_ns: f64,
    /// Added once when k is split.
    pub split_ns: f64,
    /// Steps of k a tile's start and end cost.
    pub k_overhead: f64,
    /// Share of the memory bandwidth at which partial sums move.
    pub split_bandwidth_fraction: f64,
    /// How much slower a very long product runs.
    pub droop: f64,
    /// Compute time at which half of that is reached.
    pub droop_half_ns: f64,
    /// Edges of the tiles tried (all pairs).
    pub tiles: [u32; 3],
    /// Ways k is split.
    pub splits: [u32; 5],
}

/// Efficiency of fused attention by length of the sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionCost {
    /// Floor.
    pub floor_ns: f64,
    /// How compute and memory time join.
    pub p_norm: f64,
    /// Share of the memory bandwidth reached.
    pub memory_efficiency: f64,
    /// Rows of queries one block takes.
    pub query_tile: u32,
    /// Work of the backward pass over the forward's.
    pub backward_flops_factor: f64,
    /// Share of the forward's rate the backward reaches.
    pub backward_reached: f64,
    /// Rates, by ascending head dimension; the last serves all above it.
    pub head: [AttentionHead; 3],
}

/// Efficiency for one head dimension: `reached * seq / (seq + half_sequence)` of the tensor peak.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionHead {
    /// Greatest head dimension this row serves.
    pub head_dim: u32,
    /// Share of the tensor peak for long sequences.
    pub reached: f64,
    /// Length at which half of that is reached.
    pub half_sequence: f64,
}

/// Rates of copies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyCost {
    /// Pinned host memory to the device.
    pub host_to_device_megabytes_per_second: u64,
    /// The device to pinned host memory.
    pub device_to_host_megabytes_per_second: u64,
    /// GPU to GPU with every link up.
    pub peer_megabytes_per_second: u64,
    /// Within one device.
    pub device_megabytes_per_second: u64,
    /// With no link up GPUs copy through the host at this share of its rate.
    pub through_host_factor: f64,
    /// Rate of pageable memory over pinned.
    pub pageable_factor: f64,
    /// Floor.
    pub floor_ns: u64,
    /// Floor between GPUs.
    pub peer_floor_ns: u64,
}

/// Bus bandwidth and latency of collectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveCost {
    /// Bus bandwidth of very large messages among very many ranks with every link up.
    pub bus_megabytes_per_second: u64,
    /// Ranks at which half of it is reached.
    pub rank_half: f64,
    /// Share of it that all-gather and reduce-scatter reach.
    pub gather_factor: f64,
    /// Share of it that all-to-all reaches.
    pub all_to_all_factor: f64,
    /// Latency of the smallest message.
    pub small_floor_ns: u64,
    /// Added for every rank.
    pub per_rank_ns: u64,
    /// SMs it keeps busy, thousandths (at most 1000).
    pub sm_share_milli: u32,
    /// What a message costs on top, as bytes; never more than the message itself.
    pub ramp_bytes: u64,
}

impl CostParameters {
    /// What would divide by zero or run backwards, in words.
    pub(super) fn inconsistency(&self) -> Option<String> {
        let positive = [
            ("memory.efficiency", self.memory.efficiency),
            ("memory.l2_rate_factor", self.memory.l2_rate_factor),
            ("memory.p_norm", self.memory.p_norm),
            ("gemm.peak_fraction", self.gemm.peak_fraction),
            ("gemm.bandwidth_fraction", self.gemm.bandwidth_fraction),
            ("gemm.p_norm", self.gemm.p_norm),
            ("gemm.split_bandwidth_fraction", self.gemm.split_bandwidth_fraction),
            ("attention.p_norm", self.attention.p_norm),
            ("attention.memory_efficiency", self.attention.memory_efficiency),
            ("attention.backward_reached", self.attention.backward_reached),
            ("copy.pageable_factor", self.copy.pageable_factor),
            ("copy.through_host_factor", self.copy.through_host_factor),
            ("memory.memset_bytes_per_block", self.memory.memset_bytes_per_block.into()),
            ("collective.gather_factor", self.collective.gather_factor),
            ("collective.all_to_all_factor", self.collective.all_to_all_factor),
        ];
        if let Some((key, found)) = positive.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return Some(format!("cost.{key} = {found}: expected a number above 0"));
        }
        let rates = [
            self.memory.hbm_megabytes_per_second,
            self.copy.host_to_device_megabytes_per_second,
            self.copy.device_to_host_megabytes_per_second,
            self.copy.peer_megabytes_per_second,
            self.copy.device_megabytes_per_second,
            self.collective.bus_megabytes_per_second,
        ];
        if self.collective.sm_share_milli > 1000 {
            return Some("cost.collective.sm_share_milli: expected 0 to 1000".to_owned());
        }
        if !(0.0..f64::MAX).contains(&self.collective.rank_half) {
            return Some("cost.collective.rank_half: expected a number of 0 or more".to_owned());
        }
        if rates.contains(&0) || self.memory.l2_full >= self.memory.l2_none {
            return Some("cost: expected rates above 0 and memory.l2_full < memory.l2_none".to_owned());
        }
        let dtypes = DType::ALL.map(|dtype| self.rate.of(dtype));
        if dtypes.iter().any(|rate| rate.peak_tflops.min(rate.reached).partial_cmp(&0.0) != Some(Ordering::Greater)) {
            return Some("cost.rate: expected peak_tflops and reached above 0".to_owned());
        }
        if self.gemm.tiles.contains(&0) || self.gemm.splits.contains(&0) || self.attention.query_tile == 0 {
            return Some("cost: expected tiles, splits and query_tile above 0".to_owned());
        }
        None
    }
}
