//! How long an operation takes on a GPU in a given state: pure functions of (profile, operation, state).
//! Nothing here reads a clock, allocates or remembers; every number comes from the profile.

use serde::{Deserialize, Serialize};

use crate::Profile;

mod attention;
mod collective;
mod copy;
mod gemm;
mod kernel;
mod shape;

pub use attention::Attention;
pub use collective::{Collective, CollectiveKind};
pub use copy::{Copy, CopyDirection, HostMemory, Memset};
pub use gemm::Gemm;
pub use kernel::Kernel;

/// The arithmetic an operation is done in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the types themselves")]
pub enum DType {
    Bf16,
    Fp16,
    Fp8,
    Fp4,
    Int8,
    /// fp32 operands multiplied by tensor cores.
    Tf32,
    Fp32,
    Fp64,
}

impl DType {
    /// Every type.
    pub const ALL: [Self; 8] =
        [Self::Bf16, Self::Fp16, Self::Fp8, Self::Fp4, Self::Int8, Self::Tf32, Self::Fp32, Self::Fp64];

    /// Size of one element in bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Fp4 => 4,
            Self::Fp8 | Self::Int8 => 8,
            Self::Bf16 | Self::Fp16 => 16,
            Self::Tf32 | Self::Fp32 => 32,
            Self::Fp64 => 64,
        }
    }
}

/// What is asked of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Operation {
    /// A matrix product.
    Gemm(Gemm),
    /// Any kernel described by its traffic, arithmetic and grid (elementwise, reductions, unknown kernels).
    Kernel(Kernel),
    /// Fused attention.
    Attention(Attention),
    /// A copy.
    Copy(Copy),
    /// A fill.
    Memset(Memset),
    /// A collective, once all ranks have reached it.
    Collective(Collective),
    /// A fixed time on the compute engine, filling nothing.
    Delay {
        /// How long.
        ns: u64,
    },
}

/// What the GPU is like when the operation is enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Ceiling of the SM clock from locked clocks and thermal slowdown, MHz. Not the clock that a power cap
    /// leaves: [`cost`] works that out from `power_limit_milliwatts`, and feeding it back would count it twice.
    pub sm_clock_mhz: u32,
    /// NVLinks that are up.
    pub links_up: u8,
    /// The enforced power limit.
    pub power_limit_milliwatts: u32,
}

impl State {
    /// A healthy GPU at full clock under its default limit.
    #[must_use]
    pub const fn nominal(profile: &Profile) -> Self {
        Self {
            sm_clock_mhz: profile.clocks.sm_max_mhz,
            links_up: profile.nvlink.links,
            power_limit_milliwatts: profile.power.limit_default_milliwatts,
        }
    }

    /// Clock over the maximum clock, within (0, 1].
    fn clock_share(&self, profile: &Profile) -> f64 {
        let max = profile.clocks.sm_max_mhz;
        if self.sm_clock_mhz >= max {
            return 1.0;
        }
        f64::from(self.sm_clock_mhz.clamp(profile.clocks.sm_min_mhz, max)) / f64::from(max)
    }

    /// Links up over links there are, within [0, 1].
    fn link_share(&self, profile: &Profile) -> f64 {
        (f64::from(self.links_up) / f64::from(profile.nvlink.links.max(1))).min(1.0)
    }
}

/// What an operation occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// The SMs.
    Compute,
    /// The copy engine toward the device.
    CopyIn,
    /// The copy engine from the device.
    CopyOut,
    /// The NVLinks.
    Link,
}

/// What an operation costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// How long it takes alone on the GPU.
    pub ns: u64,
    /// Share of the SMs it fills, thousandths, 0 to 1000.
    pub sm_share_milli: u32,
    /// What it occupies.
    pub engine: Engine,
    /// Multiply-adds counted twice, as FLOP/s figures are.
    pub tensor_flops: u64,
    /// Bytes moved between HBM and the chip.
    pub hbm_bytes: u64,
    /// What it would draw above idle while it runs at `State::sm_clock_mhz`, before the power limit is applied.
    pub dynamic_milliwatts: u32,
}

/// The cost of one operation.
///
/// Never zero nanoseconds (except `Delay { ns: 0 }`), never panics; sizes that make no sense cost the floor.
#[must_use]
pub fn cost(profile: &Profile, operation: &Operation, state: &State) -> Cost {
    match operation {
        Operation::Gemm(gemm) => gemm::cost(profile, gemm, state),
        Operation::Kernel(kernel) => kernel::cost(profile, kernel, state),
        Operation::Attention(attention) => attention::cost(profile, attention, state),
        Operation::Copy(copy) => copy::cost(profile, copy, state),
        Operation::Memset(memset) => copy::memset(profile, memset, state),
        Operation::Collective(collective) => collective::cost(profile, collective, state),
        Operation::Delay { ns } => Cost {
            ns: *ns,
            sm_share_milli: 1,
            engine: Engine::Compute,
            tensor_flops: 0,
            hbm_bytes: 0,
            dynamic_milliwatts: 0,
        },
    }
}

#[cfg(test)]
mod tests;
