//! Memory errors, remapped rows and pending repairs.
//! DRAM and SRAM are counted; caches and registers are not told apart, as on the real part.

use ghost_abi::{InOut, Out};

use crate::gpu::Device;
use crate::structs::{EccErrorCounts, RepairStatus, RowRemapperHistogram, SramEccErrors};
use crate::{Answer, Error, Gpu, Nvml, change};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetTotalEccErrors(gpu: Gpu, severity: u32, counter: u32, count: Out<u64>) => total;
    fn nvmlDeviceGetMemoryErrorCounter(gpu: Gpu, severity: u32, counter: u32, place: u32, count: Out<u64>) => by_place;
    fn nvmlDeviceGetDetailedEccErrors(gpu: Gpu, severity: u32, counter: u32, counts: Out<EccErrorCounts>) => detailed;
    fn nvmlDeviceGetSramEccErrorStatus(gpu: Gpu, status: InOut<SramEccErrors>) => sram;
    fn nvmlDeviceClearEccErrorCounts(gpu: Gpu, counter: u32) => clear;
    fn nvmlDeviceGetRemappedRows(gpu: Gpu, corrected: Out<u32>, uncorrected: Out<u32>, pending: Out<u32>, failed: Out<u32>) => remapped;
    fn nvmlDeviceGetRowRemapperHistogram(gpu: Gpu, histogram: Out<RowRemapperHistogram>) => histogram;
    fn nvmlDeviceGetRepairStatus(gpu: Gpu, status: InOut<RepairStatus>) => repairs;
    fn nvmlDeviceGetRetiredPages(gpu: Gpu, cause: u32, count: *mut u32, addresses: *mut u64) => no_retired_pages;
    fn nvmlDeviceGetRetiredPages_v2(gpu: Gpu, cause: u32, count: *mut u32, addresses: *mut u64, at: *mut u64) => no_retired_pages_v2;
    fn nvmlDeviceGetRetiredPagesPendingStatus(gpu: Gpu, pending: Out<u32>) => no_pending_pages;
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errors {
    pub dram: u64,
    pub sram: u64,
}

/// Severity: 0 corrected, 1 uncorrected; counter: 0 since the driver was loaded, 1 ever.
pub fn errors(device: Device, severity: u32, counter: u32) -> Result<Errors, Error> {
    if device.modes().ecc == 0 {
        return Err(Error::NotSupported);
    }
    let ecc = device.ecc();
    let (dram, sram) = match (severity, counter) {
        (0, 0) => (ecc.volatile_dram_corrected, ecc.volatile_sram_corrected),
        (1, 0) => (ecc.volatile_dram_uncorrected, ecc.volatile_sram_uncorrected),
        (0, 1) => (ecc.aggregate_dram_corrected, ecc.aggregate_sram_corrected),
        (1, 1) => (ecc.aggregate_dram_uncorrected, ecc.aggregate_sram_uncorrected),
        _ => return Err(Error::InvalidArgument),
    };
    Ok(Errors { dram, sram })
}

fn total(gpu: Gpu, severity: u32, counter: u32, count: Out<u64>) -> Answer {
    let Errors { dram, sram } = errors(gpu.open()?, severity, counter)?;
    Ok(count.set(dram + sram)?)
}

/// Places: 0 L1, 1 L2, 2 device memory, 3 registers, 4 textures, 5 shared memory, 6 CBU, 7 SRAM.
fn by_place(gpu: Gpu, severity: u32, counter: u32, place: u32, count: Out<u64>) -> Answer {
    let found = errors(gpu.open()?, severity, counter)?;
    match place {
        2 => Ok(count.set(found.dram)?),
        7 => Ok(count.set(found.sram)?),
        0..=6 => Err(Error::NotSupported),
        _ => Err(Error::InvalidArgument),
    }
}

fn detailed(gpu: Gpu, severity: u32, counter: u32, counts: Out<EccErrorCounts>) -> Answer {
    let found = errors(gpu.open()?, severity, counter)?;
    Ok(counts.set(EccErrorCounts { l1: 0, l2: found.sram, device_memory: found.dram, registers: 0 })?)
}

/// Uncorrectable SRAM errors are all taken as SEC-DED ones of the L2: the model does not tell them apart.
fn sram(gpu: Gpu, status: InOut<SramEccErrors>) -> Answer {
    let device = gpu.open()?;
    status.checked()?;
    let ecc = device.ecc();
    Ok(status.set(SramEccErrors {
        aggregate_secded: ecc.aggregate_sram_uncorrected,
        aggregate_corrected: ecc.aggregate_sram_corrected,
        volatile_secded: ecc.volatile_sram_uncorrected,
        volatile_corrected: ecc.volatile_sram_corrected,
        l2: ecc.aggregate_sram_uncorrected,
        ..SramEccErrors::blank()
    })?)
}

fn clear(gpu: Gpu, counter: u32) -> Answer {
    let device = gpu.open()?;
    if counter > 1 { Err(Error::InvalidArgument) } else { change::clear_ecc(device) }
}

fn remapped(gpu: Gpu, corrected: Out<u32>, uncorrected: Out<u32>, pending: Out<u32>, failed: Out<u32>) -> Answer {
    let ecc = gpu.open()?.ecc();
    [&corrected, &uncorrected, &pending, &failed].iter().try_for_each(|out| out.check())?;
    corrected.set(ecc.remapped_corrected)?;
    uncorrected.set(ecc.remapped_uncorrected)?;
    pending.set(ecc.remap_pending)?;
    Ok(failed.set(ecc.remap_failed)?)
}

/// Every remap takes one spare row of one bank, each in a bank of its own.
fn histogram(gpu: Gpu, histogram: Out<RowRemapperHistogram>) -> Answer {
    let device = gpu.open()?;
    let (banks, ecc) = (device.profile().memory.remap_banks, device.ecc());
    let high = (ecc.remapped_corrected + ecc.remapped_uncorrected).min(banks);
    let none = ecc.remap_failed.min(banks - high);
    Ok(histogram.set(RowRemapperHistogram { max: banks - high - none, high, partial: 0, low: 0, none })?)
}

fn repairs(gpu: Gpu, status: InOut<RepairStatus>) -> Answer {
    gpu.open()?;
    status.checked()?;
    Ok(status.set(RepairStatus::blank())?)
}

/// Pages are not retired where rows are remapped.
fn no_retired_pages(gpu: Gpu, _cause: u32, _count: *mut u32, _addresses: *mut u64) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

fn no_retired_pages_v2(gpu: Gpu, cause: u32, count: *mut u32, addresses: *mut u64, _at: *mut u64) -> Answer {
    no_retired_pages(gpu, cause, count, addresses)
}

fn no_pending_pages(gpu: Gpu, _pending: Out<u32>) -> Answer {
    gpu.open()?;
    Err(Error::NotSupported)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn errors_are_counted_by_place_and_in_all() {
        testing::tray(|facts| {
            facts.gpus[0].ecc.volatile_dram_uncorrected = 2;
            facts.gpus[0].ecc.volatile_sram_uncorrected = 1;
        });
        let gpu = Gpu::of(0);
        assert_eq!(ask(|out| total(gpu, 1, 0, out)), Ok(3));
        assert_eq!(ask(|out| by_place(gpu, 1, 0, 2, out)), Ok(2));
        assert_eq!(ask(|out| by_place(gpu, 1, 0, 3, out)), Err(Error::NotSupported));
        assert_eq!(ask(|out| total(gpu, 0, 1, out)), Ok(0));
        assert_eq!(ask(|out| total(gpu, 2, 0, out)), Err(Error::InvalidArgument));
    }

    #[test]
    fn without_ecc_nothing_is_counted() {
        testing::tray(|facts| facts.gpus[0].modes.ecc = 0);
        assert_eq!(ask(|out| total(Gpu::of(0), 1, 0, out)), Err(Error::NotSupported));
    }

    #[test]
    fn a_remapped_row_takes_a_spare_of_one_bank() {
        testing::tray(|facts| facts.gpus[0].ecc.remapped_uncorrected = 2);
        let histogram = ask(|out| histogram(Gpu::of(0), out)).unwrap();
        assert_eq!((histogram.max, histogram.high, histogram.none), (3966, 2, 0));
    }
}
