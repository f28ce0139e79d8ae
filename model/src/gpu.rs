//! The facts of one GPU: identity, modes, limits, links, fabric, faults.
//! Facts change only through `Machine::apply`; what the GPU is doing at the moment is not among them.

use serde::{Deserialize, Serialize};

use crate::identity::GpuIdentity;
use crate::ids::{BusId, CliqueId, GpuIndex, LinkIndex, PartitionId, PortRef, Uuid};
use crate::profile::Profile;
use crate::xid::Xid;

/// Whether traffic can flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants say it")]
pub enum LinkState {
    Up,
    Down,
}

/// What broke a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkFaultKind {
    /// It does not train.
    Training,
    /// No signal from the other end.
    SignalLoss,
    /// Too many bit errors: taken down by the hardware.
    BitErrors,
}

/// A broken link or port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFault {
    /// What broke.
    pub kind: LinkFaultKind,
    /// A sticky fault outlives resets and power cycles; another is gone after either.
    #[serde(default)]
    pub sticky: bool,
}

/// One NVLink of one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Follows from the rest: enabled, not faulted, far end up, GPU there, tray on.
    pub state: LinkState,
    /// What the BMC configured.
    pub enabled: bool,
    /// An injected fault at this end.
    pub fault: Option<LinkFault>,
    /// The switch port it ends in; none where the rack has no switch.
    pub far: Option<PortRef>,
    /// What fabric last asserted about the far end; up until told otherwise.
    pub far_end_up: bool,
}

/// A compute mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComputeMode {
    /// Any number of processes.
    #[default]
    Default,
    /// One process.
    ExclusiveProcess,
    /// None.
    Prohibited,
}

/// Modes an administrator sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modes {
    /// Persistence mode.
    pub persistence: bool,
    /// Compute mode.
    pub compute: ComputeMode,
}

/// A range the SM clock is held in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockLock {
    /// Lowest, MHz.
    pub min_mhz: u32,
    /// Highest, MHz.
    pub max_mhz: u32,
}

/// What can be set, and what is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Lowest power limit.
    pub power_min_milliwatts: u32,
    /// Power limit after power on.
    pub power_default_milliwatts: u32,
    /// Highest power limit.
    pub power_max_milliwatts: u32,
    /// The power limit.
    pub power_milliwatts: u32,
    /// Lowest SM clock.
    pub sm_min_mhz: u32,
    /// Highest SM clock.
    pub sm_max_mhz: u32,
    /// Locked SM clocks, if any.
    pub sm_lock: Option<ClockLock>,
}

/// Current and next mode of ECC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EccMode {
    /// In force.
    pub current: bool,
    /// In force after the next reset.
    pub pending: bool,
}

/// Where a memory error happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants say it")]
pub enum EccLocation {
    Dram,
    Sram,
}

/// Whether a memory error was repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EccSeverity {
    /// Single bit.
    Corrected,
    /// Double bit.
    Uncorrected,
}

/// Counted memory errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields say it")]
pub struct EccCounts {
    pub dram_corrected: u64,
    pub dram_uncorrected: u64,
    pub sram_corrected: u64,
    pub sram_uncorrected: u64,
}

/// ECC of one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ecc {
    /// Modes.
    pub mode: EccMode,
    /// Since the last reset.
    pub volatile: EccCounts,
    /// Ever.
    pub aggregate: EccCounts,
}

/// Rows of memory replaced by spare ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowRemap {
    /// Replaced after corrected errors.
    pub corrected: u32,
    /// Replaced after uncorrected errors.
    pub uncorrected: u32,
    /// To be replaced at the next reset, after corrected errors.
    pub pending_corrected: u32,
    /// To be replaced at the next reset, after uncorrected errors.
    pub pending_uncorrected: u32,
    /// No spare row was left.
    pub failure: bool,
}

impl RowRemap {
    /// Whether a row waits for a reset.
    #[must_use]
    pub const fn pending(&self) -> bool {
        self.pending_corrected > 0 || self.pending_uncorrected > 0
    }
}

/// What the NVLink fabric told the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// The domain.
    pub cluster_uuid: Uuid,
    /// The clique reported now; 0 = none.
    pub clique: CliqueId,
    /// The clique taken at the next reset.
    pub pending_clique: Option<CliqueId>,
    /// The partition it belongs to.
    pub partition: Option<PartitionId>,
}

/// What an administrator has to do for the GPU, in order of severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are NVML's words")]
pub enum RecoveryAction {
    #[default]
    None,
    Reset,
    Reboot,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its place in the tray.
    pub index: GpuIndex,
    /// UUID, serial, GUIDs.
    pub identity: GpuIdentity,
    /// Where it sits on PCI.
    pub bus_id: BusId,
    /// Its place on the board.
    pub module_id: u8,
    /// 0 to 999: where its idle power and temperature sit in the profile's ranges.
    pub variation_milli: u32,
    /// Modes.
    pub modes: Modes,
    /// Limits.
    pub limits: Limits,
    /// NVLinks, by index.
    pub links: Vec<Link>,
    /// Fabric.
    pub fabric: Fabric,
    /// The last Xids, oldest first, at most [`Gpu::XIDS`].
    pub xids: Vec<Xid>,
    /// What the reported Xids call for.
    pub xid_recovery: RecoveryAction,
    /// ECC.
    pub ecc: Ecc,
    /// Remapped rows.
    pub rows: RowRemap,
    /// Follows from the rest: something waits for a reset.
    pub reset_pending: bool,
    /// Fallen off the bus.
    pub lost: bool,
}

impl Gpu {
    /// How many Xids are kept.
    pub const XIDS: usize = 64;

    /// Links that are up.
    #[must_use]
    pub fn links_up(&self) -> u8 {
        self.links.iter().filter(|link| link.state == LinkState::Up).count() as u8
    }

    /// One link.
    #[must_use]
    pub fn link(&self, link: LinkIndex) -> Option<&Link> {
        self.links.get(link.index())
    }

    /// What an administrator has to do.
    #[must_use]
    pub fn recovery_action(&self) -> RecoveryAction {
        let lost = if self.lost { RecoveryAction::Reboot } else { RecoveryAction::None };
        let rows = if self.rows.pending() { RecoveryAction::Reset } else { RecoveryAction::None };
        self.xid_recovery.max(lost).max(rows)
    }

    /// The highest SM clock that locked clocks allow, MHz.
    #[must_use]
    pub fn sm_ceiling_mhz(&self) -> u32 {
        self.limits.sm_lock.map_or(self.limits.sm_max_mhz, |lock| lock.max_mhz)
    }

    /// What [`crate::cost::cost`] asks about this GPU at this temperature.
    #[must_use]
    pub fn cost_state(&self, profile: &Profile, temperature_millidegrees: i32) -> crate::cost::State {
        let cooled = crate::power::thermal_ceiling_mhz(profile, temperature_millidegrees);
        crate::cost::State {
            sm_clock_mhz: self.sm_ceiling_mhz().min(cooled),
            links_up: self.links_up(),
            power_limit_milliwatts: self.limits.power_milliwatts,
        }
    }

    /// Whether something waits for a reset.
    pub(crate) fn needs_reset(&self) -> bool {
        self.fabric.pending_clique.is_some()
            || self.ecc.mode.current != self.ecc.mode.pending
            || self.rows.pending()
            || self.xid_recovery == RecoveryAction::Reset
    }

    /// What a reset does to the facts; pending things become current.
    pub(crate) fn reset(&mut self, persistence: bool) {
        if let Some(clique) = self.fabric.pending_clique.take() {
            self.fabric.clique = clique;
        }
        self.ecc.mode.current = self.ecc.mode.pending;
        self.ecc.volatile = EccCounts::default();
        let rows = &mut self.rows;
        rows.corrected = rows.corrected.saturating_add(std::mem::take(&mut rows.pending_corrected));
        rows.uncorrected = rows.uncorrected.saturating_add(std::mem::take(&mut rows.pending_uncorrected));
        self.xid_recovery = RecoveryAction::None;
        self.limits.sm_lock = None;
        self.modes = Modes { persistence, compute: ComputeMode::Default };
        for link in &mut self.links {
            link.fault = link.fault.filter(|fault| fault.sticky);
        }
    }

    /// What powering the tray on does beyond a reset.
    pub(crate) fn boot(&mut self, persistence: bool) {
        self.reset(persistence);
        self.limits.power_milliwatts = self.limits.power_default_milliwatts;
        self.xids.clear();
        self.lost = false;
    }
}
