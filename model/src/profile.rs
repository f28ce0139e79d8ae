//! What one model of GPU is: strings, limits, sizes and the parameters of its costs, read from `profiles/*.toml`.
//! Nothing here changes while a machine runs, and no number of any GPU stands in code.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::ids::BusId;

mod cost;
mod parts;

pub use cost::{
    AttentionCost, AttentionHead, CollectiveCost, CopyCost, CostParameters, DTypeTable, GemmCost, MemoryCost, Rate,
};
pub use parts::{
    AddressingMode, Clocks, CudaAttributes, Memory, NvLink, Pci, Picojoules, Power, Product, Thermal, Topology,
};

/// Everything true of every GPU of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The word a rack file uses, such as `gb200`.
    pub name: String,
    /// Strings and versions.
    pub product: Product,
    /// Where GPUs sit in a tray.
    pub topology: Topology,
    /// PCI ids and link.
    pub pci: Pci,
    /// Device memory.
    pub memory: Memory,
    /// Clock range and readings.
    pub clocks: Clocks,
    /// Limits and the power model.
    pub power: Power,
    /// Thresholds and the thermal model.
    pub thermal: Thermal,
    /// NVLink of one GPU.
    pub nvlink: NvLink,
    /// What CUDA's device attributes answer.
    pub cuda: CudaAttributes,
    /// Parameters of [`crate::cost::cost`].
    pub cost: CostParameters,
}

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not TOML, or a key is missing, unknown or of the wrong type.
    #[error("profile {name}: {message}")]
    Syntax {
        /// Name of the profile as given.
        name: String,
        /// Line, key and what was expected.
        message: String,
    },
    /// The values contradict one another.
    #[error("profile {name}: {message}")]
    Inconsistent {
        /// Name of the profile as given.
        name: String,
        /// What does not fit.
        message: String,
    },
}

const GB200: &str = include_str!("../profiles/gb200.toml");

impl Profile {
    /// Names [`Profile::named`] knows.
    pub const NAMES: &'static [&'static str] = &["gb200"];

    /// A profile that ships with the project, parsed once in a process.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        static GB200_PARSED: OnceLock<Profile> = OnceLock::new();
        match name {
            "gb200" => Some(GB200_PARSED.get_or_init(|| match Self::parse(GB200, "gb200") {
                Ok(profile) => profile,
                Err(error) => unreachable!("an embedded profile does not parse: {error}"),
            })),
            _ => None,
        }
    }

    /// Reads a profile from TOML.
    ///
    /// # Errors
    /// If a key is unknown, missing or wrong, or values contradict one another.
    pub fn parse(text: &str, name: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text)
            .map_err(|error| ProfileError::Syntax { name: name.to_owned(), message: error.to_string() })?;
        match profile.inconsistency() {
            None => Ok(profile),
            Some(message) => Err(ProfileError::Inconsistent { name: name.to_owned(), message }),
        }
    }

    fn inconsistency(&self) -> Option<String> {
        let (clocks, power) = (&self.clocks, &self.power);
        let range = 1..=clocks.sm_max_mhz.min(100_000);
        if !range.contains(&clocks.sm_min_mhz) || !range.contains(&clocks.sm_max_mhz) || clocks.sm_step_khz == 0 {
            let expected = "clocks: expected 0 < sm_min_mhz <= sm_max_mhz <= 100000 and sm_step_khz > 0";
            return Some(expected.to_owned());
        }
        let limits = [power.limit_min_milliwatts, power.limit_default_milliwatts, power.limit_max_milliwatts];
        if !limits.is_sorted() || limits[0] <= power.idle_milliwatts {
            return Some("power: expected idle < limit_min <= limit_default <= limit_max".to_owned());
        }
        if self.cuda.multiprocessors == 0 || self.memory.total_mib <= self.memory.reserved_mib {
            return Some("expected cuda.multiprocessors > 0 and memory.total_mib > memory.reserved_mib".to_owned());
        }
        if self.topology.gpus_per_superchip == 0 || self.topology.bus_ids.len() != self.topology.module_ids.len() {
            return Some("topology: expected gpus_per_superchip > 0 and as many bus_ids as module_ids".to_owned());
        }
        self.cost.inconsistency()
    }

    /// Where the GPU of this index sits on PCI unless the rack file says otherwise.
    #[must_use]
    pub fn bus_id(&self, gpu: crate::ids::GpuIndex) -> Option<BusId> {
        self.topology.bus_ids.get(gpu.index()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gb200_reads_as_the_capture_does() {
        let gb200 = Profile::named("gb200").unwrap();
        assert_eq!(gb200.product.name, "NVIDIA GB200");
        assert_eq!((gb200.memory.total_mib, gb200.memory.reserved_mib), (189_471, 742));
        assert_eq!(gb200.power.limit_default_milliwatts, 1_200_000);
        assert_eq!(gb200.cuda.multiprocessors, 152);
        assert_eq!(gb200.topology.module_ids, [2, 1, 4, 3]);
        assert_eq!(gb200.bus_id(crate::ids::GpuIndex(2)).unwrap().to_string(), "0018:01:00.0");
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let error = Profile::parse(&GB200.replace("brand =", "bland ="), "gb200").unwrap_err();
        assert!(error.to_string().contains("bland"), "{error}");
    }

    #[test]
    fn limits_that_contradict_one_another_are_refused() {
        let text = GB200.replace("limit_min_milliwatts = 200_000", "limit_min_milliwatts = 2_000_000");
        assert!(matches!(Profile::parse(&text, "gb200"), Err(ProfileError::Inconsistent { .. })));
    }
}
