//! Why a change was not made, in machine words.
//! Each door turns these into its own codes with one exhaustive match; no code of any door appears here.

use serde::{Deserialize, Serialize};

use crate::ids::{GpuIndex, GpuLocation, HcaIndex, LinkIndex, PartitionId, PortRef};

/// A number that has a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Power limit, milliwatts.
    PowerLimitMilliwatts,
    /// SM clock, MHz.
    SmClockMhz,
    /// Offset of the coolant, thousandths of a degree.
    InletOffsetMillidegrees,
    /// Length of a partition's name, bytes.
    PartitionNameBytes,
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::PowerLimitMilliwatts => "power limit in milliwatts",
            Self::SmClockMhz => "SM clock in MHz",
            Self::InletOffsetMillidegrees => "inlet offset in thousandths of a degree",
            Self::PartitionNameBytes => "length of the partition's name in bytes",
        })
    }
}

/// Why a change was not made. The machine is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "each variant's message is its documentation")]
pub enum Refusal {
    #[error("no GPU {gpu}: this tray has {gpus}")]
    NoSuchGpu { gpu: GpuIndex, gpus: u8 },
    #[error("no link {link}: a GPU has {links}")]
    NoSuchLink { link: LinkIndex, links: u8 },
    #[error("no InfiniBand adapter {hca}: this tray has {hcas}")]
    NoSuchHca { hca: HcaIndex, hcas: u8 },
    #[error("no {port}")]
    NoSuchPort { port: PortRef },
    #[error("no {location} in this rack")]
    NoSuchLocation { location: GpuLocation },
    #[error("no partition {partition}")]
    NoSuchPartition { partition: PartitionId },
    #[error("partition {partition} exists")]
    PartitionExists { partition: PartitionId },
    #[error("a partition named `{name}` exists")]
    PartitionNameTaken { name: String },
    #[error("`{name}` cannot name a partition: expected printable ASCII that is not reserved")]
    PartitionNameInvalid { name: String },
    #[error("the default partition cannot be created or deleted")]
    PartitionReserved,
    #[error("every partition id is taken")]
    NoFreePartition,
    #[error("{location} is in partition {partition}: remove it there first")]
    GpuInPartition { location: GpuLocation, partition: PartitionId },
    #[error("{location} is not in partition {partition}")]
    GpuNotInPartition { location: GpuLocation, partition: PartitionId },
    #[error("GPU {gpu} is lost: power the tray off and on")]
    GpuLost { gpu: GpuIndex },
    #[error("the tray is off")]
    TrayOff,
    #[error("ECC is disabled on GPU {gpu}")]
    EccDisabled { gpu: GpuIndex },
    #[error("{quantity} {found}: expected {min} to {max}")]
    OutOfRange { quantity: Quantity, found: i64, min: i64, max: i64 },
}
