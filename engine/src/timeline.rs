//! Streams as timelines and engines as backlogs: when does work start and end. Pure arithmetic,
//! no clock and no lock; the caller passes `now` and holds its device.
//!
//! `start = max(now, tail, waits)`, `B = max(B, now) + work`, `end = max(start + cost, B)`, where B is the
//! engine's backlog and work is the cost times the share of the engine it fills. Small kernels overlap,
//! full ones queue. (`max(now, tail, device) + cost` would serialise communication behind compute.)

use crate::layout::ENGINES;

/// Engines of one GPU; each has a backlog of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Engine {
    Compute = 0,
    CopyIn = 1,
    CopyOut = 2,
    Link = 3,
}

/// What one operation asks of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    pub engine: Engine,
    /// Duration alone on an idle GPU.
    pub cost_ns: u64,
    /// Share of the engine it fills, in thousandths (1..=1000).
    pub share_milli: u32,
    /// Processes among which the GPU is time-sliced (>= 1).
    pub sharers: u64,
}

/// When one operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start_ns: u64,
    pub end_ns: u64,
}

/// The backlogs of one GPU as this process fills them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backlogs {
    until_ns: [u64; ENGINES],
}

impl Backlogs {
    /// Places work that may start at `ready_ns` (the stream's tail and everything it waits for).
    pub fn place(&mut self, now_ns: u64, ready_ns: u64, demand: Demand) -> Span {
        let cost = demand.cost_ns.saturating_mul(demand.sharers.max(1));
        let start_ns = ready_ns.max(now_ns);
        let end_ns = start_ns.saturating_add(cost).max(self.add(now_ns, demand.engine, cost, demand.share_milli));
        Span { start_ns, end_ns }
    }

    /// Adds work to a backlog without placing it: the SM share of a collective that has just resolved.
    pub fn add(&mut self, now_ns: u64, engine: Engine, cost_ns: u64, share_milli: u32) -> u64 {
        let work = cost_ns.saturating_mul(u64::from(share_milli.clamp(1, 1000))) / 1000;
        let backlog = &mut self.until_ns[engine as usize];
        *backlog = (*backlog).max(now_ns).saturating_add(work);
        *backlog
    }

    /// When everything placed so far has left the engines.
    pub fn drained_ns(&self) -> u64 {
        self.until_ns.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn full(engine: Engine, cost_ns: u64) -> Demand {
        Demand { engine, cost_ns, share_milli: 1000, sharers: 1 }
    }

    /// 100 x 1 ms of backward; after every tenth an 8 ms all-reduce on a second stream (taking 1/16 of the
    /// SMs), and a 0.1 ms kernel behind each. Exact answer 114 ms; a device-wide queue says 186.
    #[test]
    fn communication_overlaps_the_backward_pass_of_data_parallel_training() {
        let mut gpu = Backlogs::default();
        let (mut backward, mut comm) = (0, 0);
        for kernel in 1..=100 {
            backward = gpu.place(0, backward, full(Engine::Compute, MS)).end_ns;
            if kernel % 10 == 0 {
                let reduce = gpu.place(0, comm.max(backward), full(Engine::Link, 8 * MS));
                gpu.add(0, Engine::Compute, 8 * MS, 63);
                comm = gpu.place(0, reduce.end_ns, full(Engine::Compute, MS / 10)).end_ns;
            }
        }
        let end = backward.max(comm);
        assert!((113 * MS..=115 * MS).contains(&end), "{end}");
    }

    #[test]
    fn full_kernels_of_two_streams_queue_and_small_ones_overlap() {
        let mut gpu = Backlogs::default();
        gpu.place(0, 0, full(Engine::Compute, MS));
        assert_eq!(gpu.place(0, 0, full(Engine::Compute, MS)).end_ns, 2 * MS);
        let mut gpu = Backlogs::default();
        let small = Demand { share_milli: 100, ..full(Engine::Compute, MS) };
        for _ in 0..10 {
            assert_eq!(gpu.place(0, 0, small).end_ns, MS);
        }
    }

    #[test]
    fn two_processes_on_a_gpu_take_twice_as_long() {
        let mut gpu = Backlogs::default();
        let shared = Demand { sharers: 2, ..full(Engine::Compute, MS) };
        assert_eq!(gpu.place(0, 0, shared).end_ns, 2 * MS);
    }

    proptest! {
        #[test]
        fn an_engine_never_does_more_work_than_time_allows(costs in prop::collection::vec((1u64..MS, 1u32..=1000), 1..200)) {
            let mut gpu = Backlogs::default();
            let mut tails = [0u64; 3];
            let mut work = 0u128;
            for (i, (cost_ns, share_milli)) in costs.iter().enumerate() {
                let demand = Demand { engine: Engine::Compute, cost_ns: *cost_ns, share_milli: *share_milli, sharers: 1 };
                let span = gpu.place(0, tails[i % 3], demand);
                prop_assert!(span.start_ns >= tails[i % 3] && span.end_ns >= span.start_ns + cost_ns);
                tails[i % 3] = span.end_ns;
                work += u128::from(*cost_ns) * u128::from(*share_milli) / 1000;
            }
            let makespan = tails.iter().copied().max().unwrap();
            prop_assert!(u128::from(makespan) + costs.len() as u128 >= work);
        }
    }
}
