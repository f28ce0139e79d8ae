//! Everything that can happen to a machine, as one type that every door says and `Machine::apply` alone understands.
//! One file for each family holds its rules; a rule either changes facts or refuses before it has changed any.
//!
//! As JSON a change is an object tagged by `change`, its fields beside the tag:
//! `{"change":"link_admin","gpu":2,"link":3,"enabled":false}`. Names and fields are stable; unknown ones are refused.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::gpu::{ComputeMode, EccLocation, EccSeverity, LinkFault};
use crate::ids::{CliqueId, GpuIndex, GpuLocation, HcaIndex, LinkIndex, PartitionId, PortRef};
use crate::machine::{Machine, PowerAction};
use crate::refusal::Refusal;

mod clocks;
mod ecc;
mod infiniband;
mod link;
mod lost;
mod mode;
mod partition;
mod port;
mod power;
mod power_limit;
mod reset;
mod thermal;
mod xid;

/// One thing that happens to the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "fields are named as the facts they change")]
pub enum Change {
    /// This end of a link is enabled or disabled (owner: the BMC). Accepted while the tray is off.
    LinkAdmin { gpu: GpuIndex, link: LinkIndex, enabled: bool },
    /// This end of a link breaks; a second fault replaces the first.
    LinkFault { gpu: GpuIndex, link: LinkIndex, fault: LinkFault },
    /// This end of a link is whole again.
    LinkFaultClear { gpu: GpuIndex, link: LinkIndex },
    /// The far end of a link is up or down (owner: fabric).
    LinkFarEnd { gpu: GpuIndex, link: LinkIndex, up: bool },
    /// A switch port is enabled or disabled (owner: fabric).
    PortAdmin { port: PortRef, enabled: bool },
    /// A switch port breaks.
    PortFault { port: PortRef, fault: LinkFault },
    /// A switch port is whole again.
    PortFaultClear { port: PortRef },
    /// An InfiniBand adapter's port is enabled or disabled.
    HcaAdmin { hca: HcaIndex, enabled: bool },
    /// A partition comes into being (owner: fabric); no id = the lowest free one. Its GPUs must be in no partition.
    PartitionCreate { partition: Option<PartitionId>, name: String, gpus: Vec<GpuLocation> },
    /// A partition goes; its GPUs are then in none.
    PartitionDelete { partition: PartitionId },
    /// GPUs that are in no partition join one.
    PartitionAdd { partition: PartitionId, gpus: Vec<GpuLocation> },
    /// GPUs leave a partition.
    PartitionRemove { partition: PartitionId, gpus: Vec<GpuLocation> },
    /// A GPU is told its clique, whatever its partition says; taken at once or at the next reset (`nvlink_apply`).
    CliqueAssign { gpu: GpuIndex, clique: CliqueId },
    /// The tray is powered on, off or both (owner: the BMC).
    TrayPower { action: PowerAction },
    /// A GPU is reset: what is pending becomes current. Whether processes hold it is the caller's to check.
    GpuReset { gpu: GpuIndex },
    /// An Xid is reported. `time_ns` is the caller's clock. Code 79 also loses the GPU.
    Xid { gpu: GpuIndex, code: u32, pid: Option<u32>, time_ns: u64 },
    /// Reported Xids and what they call for are forgotten.
    XidClear { gpu: GpuIndex },
    /// Memory errors are counted, volatile and aggregate.
    EccErrors { gpu: GpuIndex, location: EccLocation, severity: EccSeverity, count: u64 },
    /// Error counters and remapped rows go back to zero.
    EccClear { gpu: GpuIndex },
    /// Rows wait to be remapped at the next reset, or no spare row was left.
    RowRemap { gpu: GpuIndex, corrected: u32, uncorrected: u32, failure: bool },
    /// The power limit is set.
    PowerLimit { gpu: GpuIndex, milliwatts: u32 },
    /// The power limit goes back to its default.
    PowerLimitReset { gpu: GpuIndex },
    /// SM clocks are held within a range; values need not lie on the supported grid.
    ClocksLock { gpu: GpuIndex, min_mhz: u32, max_mhz: u32 },
    /// SM clocks are free again.
    ClocksReset { gpu: GpuIndex },
    /// Persistence mode.
    Persistence { gpu: GpuIndex, enabled: bool },
    /// Compute mode.
    ComputeMode { gpu: GpuIndex, mode: ComputeMode },
    /// ECC mode, in force after the next reset.
    EccMode { gpu: GpuIndex, enabled: bool },
    /// The coolant of the tray is this much warmer than usual.
    InletOffset { offset_millidegrees: i32 },
    /// A GPU falls off the bus.
    GpuLost { gpu: GpuIndex },
    /// It is back as it was.
    GpuRecovered { gpu: GpuIndex },
}

/// What a family's rule returns.
type Outcome = Result<Vec<Event>, Refusal>;

/// Sends a change to the rules of its family.
pub(crate) fn apply(machine: &mut Machine, change: &Change) -> Outcome {
    match change {
        &Change::LinkAdmin { gpu, link, enabled } => link::admin(machine, gpu, link, enabled),
        &Change::LinkFault { gpu, link, fault } => link::fault(machine, gpu, link, Some(fault)),
        &Change::LinkFaultClear { gpu, link } => link::fault(machine, gpu, link, None),
        &Change::LinkFarEnd { gpu, link, up } => link::far_end(machine, gpu, link, up),
        &Change::PortAdmin { port, enabled } => port::admin(machine, port, enabled),
        &Change::PortFault { port, fault } => port::fault(machine, port, Some(fault)),
        &Change::PortFaultClear { port } => port::fault(machine, port, None),
        &Change::HcaAdmin { hca, enabled } => infiniband::admin(machine, hca, enabled),
        Change::PartitionCreate { partition, name, gpus } => partition::create(machine, *partition, name, gpus),
        &Change::PartitionDelete { partition } => partition::delete(machine, partition),
        Change::PartitionAdd { partition, gpus } => partition::add(machine, *partition, gpus),
        Change::PartitionRemove { partition, gpus } => partition::remove(machine, *partition, gpus),
        &Change::CliqueAssign { gpu, clique } => partition::assign_clique(machine, gpu, clique),
        &Change::TrayPower { action } => power::tray(machine, action),
        &Change::GpuReset { gpu } => reset::gpu(machine, gpu),
        &Change::Xid { gpu, code, pid, time_ns } => xid::report(machine, gpu, code, pid, time_ns),
        &Change::XidClear { gpu } => xid::clear(machine, gpu),
        &Change::EccErrors { gpu, location, severity, count } => ecc::errors(machine, gpu, location, severity, count),
        &Change::EccClear { gpu } => ecc::clear(machine, gpu),
        &Change::RowRemap { gpu, corrected, uncorrected, failure } => {
            ecc::row_remap(machine, gpu, corrected, uncorrected, failure)
        }
        &Change::PowerLimit { gpu, milliwatts } => power_limit::set_limit(machine, gpu, milliwatts),
        &Change::PowerLimitReset { gpu } => power_limit::reset(machine, gpu),
        &Change::ClocksLock { gpu, min_mhz, max_mhz } => clocks::lock(machine, gpu, min_mhz, max_mhz),
        &Change::ClocksReset { gpu } => clocks::reset(machine, gpu),
        &Change::Persistence { gpu, enabled } => mode::persistence(machine, gpu, enabled),
        &Change::ComputeMode { gpu, mode } => mode::compute(machine, gpu, mode),
        &Change::EccMode { gpu, enabled } => mode::ecc(machine, gpu, enabled),
        &Change::InletOffset { offset_millidegrees } => thermal::inlet(machine, offset_millidegrees),
        &Change::GpuLost { gpu } => lost::lose(machine, gpu),
        &Change::GpuRecovered { gpu } => lost::recover(machine, gpu),
    }
}

/// Sets a fact and returns the event, or none where the fact was so already.
fn set<T: PartialEq>(fact: &mut T, value: T, event: Event) -> Vec<Event> {
    if *fact == value {
        return Vec::new();
    }
    *fact = value;
    vec![event]
}
