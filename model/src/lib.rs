//! What a machine is: ids, facts, changes, refusals, costs; one vocabulary for every door.
//! No I/O, no clock, no unsafe, and no transport's words: Redfish, gRPC, NVML, CUDA and FUSE translate to and from this.

#![forbid(unsafe_code)]

mod change;
pub mod cost;
mod domain;
mod event;
mod gpu;
mod identity;
mod ids;
mod machine;
pub mod power;
pub mod profile;
pub mod rack;
mod refusal;
mod xid;

pub use change::Change;
pub use cost::{Cost, DType, Engine, Operation, State, cost};
pub use domain::{Domain, Partition, PortFacts};
pub use event::Event;
pub use gpu::{
    ClockLock, ComputeMode, Ecc, EccCounts, EccLocation, EccMode, EccSeverity, Fabric, Gpu, Limits, Link, LinkFault,
    LinkFaultKind, LinkState, Modes, RecoveryAction, RowRemap,
};
pub use identity::{GpuIdentity, Seed, TrayIdentity};
pub use ids::{
    BusId, CliqueId, GpuIndex, GpuLocation, HcaIndex, LinkIndex, NotABusId, NotAUuid, PartitionId, PortIndex, PortRef,
    SwitchIndex, TrayIndex, Uuid,
};
pub use machine::{Hca, Idle, Machine, PowerAction, PowerState};
pub use profile::{Profile, ProfileError};
pub use rack::{KernelLog, NvlinkApply, Rack, RackError};
pub use refusal::{Quantity, Refusal};
pub use xid::{Xid, XidEffect};
