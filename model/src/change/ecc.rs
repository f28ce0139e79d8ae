//! Memory errors and remapped rows.
//! An error does not queue a remap by itself: whoever injects one says both, so that each can be cleared alone.

use super::{Outcome, set};
use crate::event::Event;
use crate::gpu::{EccCounts, EccLocation, EccSeverity, RowRemap};
use crate::ids::GpuIndex;
use crate::machine::Machine;
use crate::refusal::Refusal;

pub(super) fn errors(
    machine: &mut Machine,
    gpu: GpuIndex,
    location: EccLocation,
    severity: EccSeverity,
    count: u64,
) -> Outcome {
    let ecc = &mut machine.working_gpu_mut(gpu)?.ecc;
    if !ecc.mode.current {
        return Err(Refusal::EccDisabled { gpu });
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    for counts in [&mut ecc.volatile, &mut ecc.aggregate] {
        let counter = counter(counts, location, severity);
        *counter = counter.saturating_add(count);
    }
    Ok(vec![Event::EccErrors { gpu, location, severity, count }])
}

pub(super) fn clear(machine: &mut Machine, gpu: GpuIndex) -> Outcome {
    let facts = machine.gpu_mut(gpu)?;
    let before = (facts.ecc, facts.rows);
    facts.ecc.volatile = EccCounts::default();
    facts.ecc.aggregate = EccCounts::default();
    facts.rows = RowRemap::default();
    let same = before == (facts.ecc, facts.rows);
    Ok(if same { Vec::new() } else { vec![Event::EccCleared { gpu }] })
}

pub(super) fn row_remap(
    machine: &mut Machine,
    gpu: GpuIndex,
    corrected: u32,
    uncorrected: u32,
    failure: bool,
) -> Outcome {
    let rows = &mut machine.working_gpu_mut(gpu)?.rows;
    let after = RowRemap {
        pending_corrected: rows.pending_corrected.saturating_add(corrected),
        pending_uncorrected: rows.pending_uncorrected.saturating_add(uncorrected),
        failure: rows.failure || failure,
        ..*rows
    };
    Ok(set(rows, after, Event::RowRemapChanged { gpu }))
}

fn counter(counts: &mut EccCounts, location: EccLocation, severity: EccSeverity) -> &mut u64 {
    match (location, severity) {
        (EccLocation::Dram, EccSeverity::Corrected) => &mut counts.dram_corrected,
        (EccLocation::Dram, EccSeverity::Uncorrected) => &mut counts.dram_uncorrected,
        (EccLocation::Sram, EccSeverity::Corrected) => &mut counts.sram_corrected,
        (EccLocation::Sram, EccSeverity::Uncorrected) => &mut counts.sram_uncorrected,
    }
}
