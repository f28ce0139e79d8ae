//! What an accepted change did: told to whoever watches, in order.
//! Events carry what changed, never the whole machine.

use serde::{Deserialize, Serialize};

use crate::gpu::{EccLocation, EccSeverity, LinkState};
use crate::ids::{CliqueId, GpuIndex, HcaIndex, LinkIndex, PartitionId, PortRef};
use crate::machine::PowerState;

/// One consequence of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the change or of the fact")]
pub enum Event {
    /// A link went up or down.
    LinkChanged { gpu: GpuIndex, link: LinkIndex, state: LinkState },
    /// A switch port was enabled, disabled, faulted or mended.
    PortChanged { port: PortRef, up: bool },
    /// An InfiniBand adapter's port went up or down.
    HcaChanged { hca: HcaIndex, up: bool },
    /// A partition came, went or has other members.
    PartitionChanged { partition: PartitionId },
    /// The clique that is reported for a GPU is another.
    CliqueChanged { gpu: GpuIndex, clique: CliqueId },
    /// A GPU now needs, or no longer needs, a reset to take what is pending.
    ResetPendingChanged { gpu: GpuIndex, pending: bool },
    /// A GPU was reset: what ran on it is gone.
    GpuReset { gpu: GpuIndex },
    /// An Xid was reported.
    Xid { gpu: GpuIndex, code: u32, pid: Option<u32>, time_ns: u64 },
    /// Xids were cleared.
    XidsCleared { gpu: GpuIndex },
    /// Memory errors were counted.
    EccErrors { gpu: GpuIndex, location: EccLocation, severity: EccSeverity, count: u64 },
    /// Memory error counters and remapped rows are zero.
    EccCleared { gpu: GpuIndex },
    /// Rows wait to be remapped, or could not be.
    RowRemapChanged { gpu: GpuIndex },
    /// A power limit is another.
    PowerLimitChanged { gpu: GpuIndex, milliwatts: u32 },
    /// Locked clocks are others.
    ClocksChanged { gpu: GpuIndex, min_mhz: u32, max_mhz: u32 },
    /// Persistence, compute or (pending) ECC mode is another.
    ModeChanged { gpu: GpuIndex },
    /// The coolant is warmer or colder.
    InletChanged { offset_millidegrees: i32 },
    /// A GPU fell off the bus.
    GpuLost { gpu: GpuIndex },
    /// It is back.
    GpuRecovered { gpu: GpuIndex },
    /// The tray was powered on or off.
    PowerChanged { state: PowerState },
}
