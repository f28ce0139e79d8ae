//! From what a process writes in its page to what ghostd believes: deltas since the last look, clamped by the time
//! that passed and by what the hardware could do. Pure; it must not trust a single bit of a page.

use ghost_engine::layout::{MAX_HCAS, MAX_LINKS, ProcessGpu};

/// Index of the engine that runs kernels, in `ProcessGpu::engines`.
pub const COMPUTE: usize = 0;

/// What one process did on one GPU in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    /// Kernels ran.
    pub compute_ns: u64,
    /// Memory was read or written.
    pub memory_ns: u64,
    /// Above idle.
    pub energy_nanojoules: u64,
    pub pcie_tx_bytes: u64,
    pub pcie_rx_bytes: u64,
    pub link_tx_bytes: [u64; MAX_LINKS],
    pub link_rx_bytes: [u64; MAX_LINKS],
    pub hca_tx_bytes: [u64; MAX_HCAS],
    pub hca_rx_bytes: [u64; MAX_HCAS],
}

/// The most one GPU can do in an interval.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub elapsed_ns: u64,
    /// Above idle.
    pub power_milliwatts: u32,
    pub link_bytes_per_second: u64,
    pub pcie_bytes_per_second: u64,
    pub hca_bytes_per_second: u64,
}

impl Limits {
    fn energy_nanojoules(&self) -> u64 {
        // mW x ns = pJ
        scale(u64::from(self.power_milliwatts), self.elapsed_ns, 1000)
    }

    /// What one adapter carries one way.
    pub fn hca_bytes(&self) -> u64 {
        self.bytes(self.hca_bytes_per_second)
    }

    fn bytes(&self, per_second: u64) -> u64 {
        scale(per_second, self.elapsed_ns, 1_000_000_000)
    }
}

fn scale(value: u64, by: u64, over: u64) -> u64 {
    (u128::from(value) * u128::from(by) / u128::from(over.max(1))).min(u128::from(u64::MAX)) as u64
}

/// Totals of one process on one GPU at the last look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    seen: Use,
}

impl Meter {
    /// What happened since the last look. A total that went backwards counts nothing.
    pub fn advance(&mut self, page: &ProcessGpu, now_ns: u64, limits: &Limits) -> Use {
        let total = totals(page, now_ns);
        let last = std::mem::replace(&mut self.seen, total);
        let link = limits.bytes(limits.link_bytes_per_second);
        let pcie = limits.bytes(limits.pcie_bytes_per_second);
        let hca = limits.hca_bytes();
        Use {
            compute_ns: delta(total.compute_ns, last.compute_ns, limits.elapsed_ns),
            memory_ns: delta(total.memory_ns, last.memory_ns, limits.elapsed_ns),
            energy_nanojoules: delta(total.energy_nanojoules, last.energy_nanojoules, limits.energy_nanojoules()),
            pcie_tx_bytes: delta(total.pcie_tx_bytes, last.pcie_tx_bytes, pcie),
            pcie_rx_bytes: delta(total.pcie_rx_bytes, last.pcie_rx_bytes, pcie),
            link_tx_bytes: deltas(total.link_tx_bytes, last.link_tx_bytes, link),
            link_rx_bytes: deltas(total.link_rx_bytes, last.link_rx_bytes, link),
            hca_tx_bytes: deltas(total.hca_tx_bytes, last.hca_tx_bytes, hca),
            hca_rx_bytes: deltas(total.hca_rx_bytes, last.hca_rx_bytes, hca),
        }
    }
}

fn totals(page: &ProcessGpu, now_ns: u64) -> Use {
    let engines = page.engines.map(|engine| engine.until(now_ns));
    let sum = |part: fn(&ghost_engine::layout::Segment) -> u64| engines.iter().map(part).fold(0, u64::saturating_add);
    Use {
        compute_ns: engines[COMPUTE].busy_ns,
        memory_ns: sum(|s| s.memory_ns),
        energy_nanojoules: sum(|s| s.energy_nanojoules),
        pcie_tx_bytes: page.pcie_tx_bytes,
        pcie_rx_bytes: page.pcie_rx_bytes,
        link_tx_bytes: page.link_tx_bytes,
        link_rx_bytes: page.link_rx_bytes,
        hca_tx_bytes: page.hca_tx_bytes,
        hca_rx_bytes: page.hca_rx_bytes,
    }
}

fn delta(total: u64, last: u64, most: u64) -> u64 {
    total.saturating_sub(last).min(most)
}

fn deltas<const N: usize>(total: [u64; N], last: [u64; N], most: u64) -> [u64; N] {
    std::array::from_fn(|i| delta(total[i], last[i], most))
}

/// Shares one GPU among processes: if together they claim more than it can do, each gets its part of it.
/// Returns what the GPU did in all.
pub fn share(uses: &mut [Use], limits: &Limits) -> Use {
    share_part(uses, limits.elapsed_ns, |u| &mut u.compute_ns);
    share_part(uses, limits.elapsed_ns, |u| &mut u.memory_ns);
    share_part(uses, limits.energy_nanojoules(), |u| &mut u.energy_nanojoules);
    let pcie = limits.bytes(limits.pcie_bytes_per_second);
    share_part(uses, pcie, |u| &mut u.pcie_tx_bytes);
    share_part(uses, pcie, |u| &mut u.pcie_rx_bytes);
    let link = limits.bytes(limits.link_bytes_per_second);
    for i in 0..MAX_LINKS {
        share_part(uses, link, |u| &mut u.link_tx_bytes[i]);
        share_part(uses, link, |u| &mut u.link_rx_bytes[i]);
    }
    uses.iter().fold(Use::default(), |sum, one| sum.plus(one))
}

fn share_part(uses: &mut [Use], most: u64, part: impl Fn(&mut Use) -> &mut u64) {
    let claimed: u64 = uses.iter_mut().map(|u| *part(u)).fold(0, u64::saturating_add);
    if claimed > most {
        for one in uses {
            let slot = part(one);
            *slot = scale(*slot, most, claimed);
        }
    }
}

impl Use {
    /// Both together.
    pub fn plus(&self, other: &Use) -> Use {
        fn add<const N: usize>(a: [u64; N], b: [u64; N]) -> [u64; N] {
            std::array::from_fn(|i| a[i].saturating_add(b[i]))
        }
        Use {
            compute_ns: self.compute_ns.saturating_add(other.compute_ns),
            memory_ns: self.memory_ns.saturating_add(other.memory_ns),
            energy_nanojoules: self.energy_nanojoules.saturating_add(other.energy_nanojoules),
            pcie_tx_bytes: self.pcie_tx_bytes.saturating_add(other.pcie_tx_bytes),
            pcie_rx_bytes: self.pcie_rx_bytes.saturating_add(other.pcie_rx_bytes),
            link_tx_bytes: add(self.link_tx_bytes, other.link_tx_bytes),
            link_rx_bytes: add(self.link_rx_bytes, other.link_rx_bytes),
            hca_tx_bytes: add(self.hca_tx_bytes, other.hca_tx_bytes),
            hca_rx_bytes: add(self.hca_rx_bytes, other.hca_rx_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_engine::layout::Segment;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits {
        elapsed_ns: 100_000_000,
        power_milliwatts: 1_000_000,
        link_bytes_per_second: 50_000_000_000,
        pcie_bytes_per_second: 64_000_000_000,
        hca_bytes_per_second: 50_000_000_000,
    };

    fn page(busy_ns: u64, energy_nanojoules: u64) -> ProcessGpu {
        let mut page = ProcessGpu::ZERO;
        page.engines[COMPUTE].done = Segment { busy_ns, memory_ns: busy_ns, energy_nanojoules, ..Segment::default() };
        page
    }

    #[test]
    fn an_honest_page_is_believed() {
        let mut meter = Meter::default();
        meter.advance(&page(50_000_000, 10), 1, &LIMITS);
        let used = meter.advance(&page(90_000_000, 20_000_000), 2, &LIMITS);
        assert_eq!((used.compute_ns, used.energy_nanojoules), (40_000_000, 19_999_990));
    }

    #[test]
    fn a_page_that_claims_more_than_the_time_that_passed_is_clamped() {
        let mut meter = Meter::default();
        let used = meter.advance(&page(u64::MAX, u64::MAX), 1, &LIMITS);
        assert_eq!(used.compute_ns, LIMITS.elapsed_ns);
        assert_eq!(used.energy_nanojoules, 100_000_000_000);
    }

    #[test]
    fn a_page_that_runs_backwards_counts_nothing_and_recovers() {
        let mut meter = Meter::default();
        meter.advance(&page(u64::MAX, 0), 1, &LIMITS);
        assert_eq!(meter.advance(&page(5, 0), 2, &LIMITS).compute_ns, 0);
        assert_eq!(meter.advance(&page(9, 0), 3, &LIMITS).compute_ns, 4);
    }

    #[test]
    fn two_processes_that_both_claim_the_whole_gpu_get_half_each() {
        let mut uses = [Meter::default().advance(&page(u64::MAX, 0), 1, &LIMITS); 2];
        let total = share(&mut uses, &LIMITS);
        assert_eq!((uses[0].compute_ns, uses[1].compute_ns), (50_000_000, 50_000_000));
        assert_eq!(total.compute_ns, LIMITS.elapsed_ns);
    }

    proptest! {
        #[test]
        fn no_page_makes_a_gpu_do_more_than_it_can(
            words in prop::collection::vec(any::<u64>(), 1..40), looks in 1u64..5, now in any::<u64>(), others in 0usize..4,
        ) {
            let mut meter = Meter::default();
            for look in 0..looks {
                let mut page = ProcessGpu::ZERO;
                let word = |i: usize| words[(i + look as usize) % words.len()];
                for (i, engine) in page.engines.iter_mut().enumerate() {
                    engine.done.busy_ns = word(i);
                    engine.done.energy_nanojoules = word(i + 1);
                    for (j, open) in engine.open.iter_mut().enumerate() {
                        *open = Segment { start_ns: word(i + j), end_ns: word(j), busy_ns: word(j + 1), memory_ns: word(j + 2), energy_nanojoules: word(j + 3) };
                    }
                }
                page.link_tx_bytes.iter_mut().enumerate().for_each(|(i, l)| *l = word(i));
                let mut uses = vec![meter.advance(&page, now, &LIMITS); others + 1];
                let total = share(&mut uses, &LIMITS);
                prop_assert!(total.compute_ns <= LIMITS.elapsed_ns && total.memory_ns <= LIMITS.elapsed_ns);
                prop_assert!(total.energy_nanojoules <= LIMITS.energy_nanojoules());
                prop_assert!(total.link_tx_bytes.iter().all(|b| *b <= LIMITS.bytes(LIMITS.link_bytes_per_second)));
            }
        }
    }
}
