//! When work starts and ends: the rules of streams on top of `ghost_engine::timeline`.
//! Work with known inputs is placed at once; behind anything unknown (a host function, an event recorded behind
//! one, a collective) it queues. Nothing here sleeps or runs user code; `host` and `driver` do.

use std::sync::atomic::Ordering;

use ghost_engine::busy::Work;
use ghost_engine::timeline::{Demand, Engine, Span};
use ghost_model::cost::{Cost, Operation, cost};

use crate::arena::Handle;
use crate::core::{Completion, Core, DEPTH, Moment, UNSET, unset};
use crate::driver::Driver;
use crate::error::Error;
use crate::trace;

/// How often a condition on memory is looked at.
const LOOK_AGAIN_NS: u64 = 50_000;

/// A priced operation.
#[derive(Clone, Copy, Debug)]
pub struct Priced {
    pub engine: Engine,
    pub cost_ns: u64,
    pub share_milli: u32,
    pub memory_ns: u64,
    pub energy_nanojoules: u64,
    /// What a profiler calls it (see `trace`); 0 = it does not hear of it.
    pub label: u32,
}

const PRICES: usize = 64;

/// Prices of recent operations of one device.
#[derive(Clone, Debug)]
pub struct Prices {
    recent: Box<[Option<(Operation, Priced)>; PRICES]>,
}

impl Default for Prices {
    fn default() -> Prices {
        Prices { recent: Box::new([None; PRICES]) }
    }
}

/// What a piece of work does to memory once it is placed, in stream order.
pub type Effect = Box<dyn FnOnce(&mut Core) + Send>;

/// Says whether an entry is done, given its start and the time now.
pub type Condition = Box<dyn FnMut(&mut Core, u64, u64) -> bool + Send>;

/// What waits in a queue.
pub enum Action {
    /// Priced work and what it does to memory.
    Work(Priced, Effect),
    /// Only the dependencies count.
    Join,
    /// An event: its time is the start of this entry.
    Mark,
    /// A host function; runs on the helper thread when its start has come.
    Host(Option<Box<dyn FnOnce() + Send>>),
    /// Done once the function says so; it is asked with the entry's start and the time now, again and again.
    When(Condition),
    /// Something whose end its owner will tell; `started` hears of the start.
    External { started: Option<Box<dyn FnOnce(u64) + Send>>, share_milli: u32, energy_milliwatts: u32 },
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Action::Work(..) => "Work",
            Action::Join => "Join",
            Action::Mark => "Mark",
            Action::Host(_) => "Host",
            Action::When(_) => "When",
            Action::External { .. } => "External",
        })
    }
}

/// One entry of a stream's queue.
#[derive(Debug)]
pub struct Queued {
    pub needs: Vec<Completion>,
    pub action: Action,
    pub done: Completion,
    /// Set once the entry has started: a host function that runs, a collective that is under way.
    pub started_ns: Option<u64>,
    /// What a profiler calls an external entry; 0 = it does not hear of it.
    pub label: u32,
    /// The traced call that made this entry; 0 = none.
    pub correlation: u32,
}

/// A host function that is due, or an owner to tell about a start.
pub enum Call {
    Host { stream: Handle, run: Box<dyn FnOnce() + Send> },
    Started { run: Box<dyn FnOnce(u64) + Send>, start_ns: u64 },
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Call")
    }
}

impl Driver {
    /// Prices an operation for a device as it is now. Operations with one `hint` share a place among the prices that
    /// are remembered: a program repeats itself.
    #[inline]
    pub fn price(&self, core: &mut Core, device: usize, operation: &Operation, hint: u64) -> Priced {
        self.refresh(core, device);
        let device = &mut core.devices[device];
        let place = &mut device.prices.recent[hint as usize % PRICES];
        if let Some((known, price)) = place
            && known == operation
        {
            return *price;
        }
        let price = priced(&self.profile, &cost(&self.profile, operation, &device.state));
        *place = Some((*operation, price));
        price
    }

    /// Takes over clocks, caps, links and sharers when ghostd has published.
    #[inline]
    fn refresh(&self, core: &mut Core, device: usize) {
        let generation = self.client.facts().generation();
        let device = &mut core.devices[device];
        if device.generation != generation {
            device.generation = generation;
            self.refresh_slow(device);
        }
    }

    #[cold]
    fn refresh_slow(&self, device: &mut crate::core::Device) {
        let facts = self.client.facts();
        let modes = facts.modes(device.gpu);
        let max = self.profile.clocks.sm_max_mhz;
        let locked = if modes.locked_graphics_max_mhz == 0 { max } else { modes.locked_graphics_max_mhz };
        let before = device.state;
        device.state.sm_clock_mhz = locked.min(max);
        device.state.power_limit_milliwatts = modes.power_limit_milliwatts;
        let links = 0..ghost_engine::layout::MAX_LINKS;
        device.state.links_up = links.filter(|link| facts.link(device.gpu, *link).up != 0).count() as u8;
        device.sharers = facts.sharers(device.gpu);
        if device.state != before {
            device.prices = Prices::default();
        }
        // Spinning at the end of a wait is harmful once more processes wait than there are cores.
        let holders = (0..facts.tray().gpu_count as usize).map(|gpu| facts.live(gpu).holders as usize).max();
        ghost_engine::wait::set_may_spin(holders.unwrap_or(0) <= self.cores);
    }

    /// Puts priced work on a stream and applies its effect in stream order. Blocks while the stream is full.
    pub fn submit(
        &self,
        stream: Handle,
        priced: Priced,
        effect: impl FnOnce(&mut Core) + Send + 'static,
    ) -> Result<Moment, Error> {
        let mut core = self.core();
        let now = loop {
            let now = ghost_engine::clock::now_ns();
            match core.full_until(stream, now)? {
                None => break now,
                Some(until) => {
                    drop(core);
                    self.sleep_until(until)?;
                    core = self.core();
                }
            }
        };
        self.submit_locked(&mut core, now, stream, priced, effect)
    }

    /// As [`submit`](Self::submit), under a lock the caller holds, without looking whether the stream is full.
    pub fn submit_locked(
        &self,
        core: &mut Core,
        now: u64,
        stream: Handle,
        priced: Priced,
        effect: impl FnOnce(&mut Core) + Send + 'static,
    ) -> Result<Moment, Error> {
        self.look_up_at(now)?;
        if core.queued > 0 && core.must_queue(stream)? {
            let done = core.push(stream, Vec::new(), Action::Work(priced, Box::new(effect)))?;
            self.moved.notify_all();
            return Ok(Moment::Pending(done));
        }
        let span = self.place(core, now, stream, priced)?;
        effect(core);
        Ok(Moment::Known(span.end_ns))
    }

    /// Places work whose inputs are known and reports it as busy.
    fn place(&self, core: &mut Core, now: u64, stream: Handle, priced: Priced) -> Result<Span, Error> {
        let ready = core.ready_ns(stream)?;
        let span = self.span(core, now, stream, ready, priced)?;
        core.advance_tail(stream, span.end_ns)?;
        Ok(span)
    }

    /// Places work that may start at `ready`, whatever the stream's tail says; for the nodes of a graph.
    pub fn place_at(
        &self,
        core: &mut Core,
        now: u64,
        stream: Handle,
        ready: u64,
        priced: Priced,
    ) -> Result<u64, Error> {
        Ok(self.span(core, now, stream, ready, priced)?.end_ns)
    }

    fn span(&self, core: &mut Core, now: u64, stream: Handle, ready: u64, priced: Priced) -> Result<Span, Error> {
        let device = core.stream(stream)?.device;
        let state = &mut core.devices[device];
        let demand = Demand {
            engine: priced.engine,
            cost_ns: priced.cost_ns,
            share_milli: priced.share_milli,
            sharers: state.sharers,
        };
        let span = state.backlogs.place(now, ready, demand);
        self.report(state.gpu, now, span, priced);
        if priced.label != 0 {
            trace::work(core, stream, span, priced.label, trace::correlation());
        }
        Ok(span)
    }

    fn report(&self, gpu: usize, now: u64, span: Span, priced: Priced) {
        let Some(page) = self.client.page() else { return };
        let work = Work {
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            memory_ns: priced.memory_ns,
            energy_nanojoules: priced.energy_nanojoules,
        };
        page.add(gpu, priced.engine as usize, now, work);
    }

    /// Moves every queue as far as it goes. Returns calls that are due, to be made without the lock, and when the
    /// next host function is due.
    pub fn advance(&self, core: &mut Core, now: u64) -> (Vec<Call>, Option<u64>) {
        let mut calls = Vec::new();
        let mut next = None;
        let mut moved = true;
        while moved && core.queued > 0 {
            moved = false;
            let streams: Vec<Handle> =
                core.streams.iter().filter(|(_, s)| !s.queue.is_empty()).map(|(handle, _)| handle).collect();
            for stream in streams {
                while self.step(core, now, stream, &mut calls, &mut next) {
                    moved = true;
                }
            }
        }
        (calls, next)
    }

    /// Resolves the head of one queue if it can be. True if the head is gone.
    fn step(&self, core: &mut Core, now: u64, stream: Handle, calls: &mut Vec<Call>, next: &mut Option<u64>) -> bool {
        let Some(start) = core.head_start(stream) else { return false };
        if self.is_when(core, stream) {
            return self.ask_when(core, now, stream, start, next);
        }
        let Ok(state) = core.stream_mut(stream) else { return false };
        let Some(head) = state.queue.front_mut() else { return false };
        match &mut head.action {
            Action::Host(run) => {
                if start > now {
                    *next = Some(next.map_or(start, |n: u64| n.min(start)));
                } else if let Some(run) = run.take() {
                    head.started_ns = Some(now);
                    calls.push(Call::Host { stream, run });
                }
                return false;
            }
            Action::External { started, .. } => {
                if head.started_ns.is_none() {
                    head.started_ns = Some(start);
                    calls.extend(started.take().map(|run| Call::Started { run, start_ns: start }));
                }
                let end = head.done.load(Ordering::Acquire);
                if end == UNSET {
                    return false;
                }
                self.finish_external(core, now, stream, end);
                return true;
            }
            Action::Work(..) | Action::Join | Action::Mark | Action::When(_) => {}
        }
        self.resolve_head(core, now, stream, start);
        true
    }

    fn is_when(&self, core: &Core, stream: Handle) -> bool {
        let head = core.streams.get(stream).and_then(|s| s.queue.front());
        head.is_some_and(|head| matches!(head.action, Action::When(_)))
    }

    /// Asks a condition; true if it is met and the entry is gone. The entry leaves the queue while it is asked.
    fn ask_when(&self, core: &mut Core, now: u64, stream: Handle, start: u64, next: &mut Option<u64>) -> bool {
        let Some(mut head) = core.pop(stream) else { return false };
        let met = match &mut head.action {
            Action::When(ask) => trace::resolving(head.correlation, || ask(core, start, now)),
            _ => true,
        };
        if met {
            let end = start.max(now);
            let _ = core.advance_tail(stream, end);
            head.done.store(end, Ordering::Release);
            return true;
        }
        if let Ok(state) = core.stream_mut(stream) {
            state.queue.push_front(head);
            core.queued += 1;
        }
        let again = start.max(now + LOOK_AGAIN_NS);
        *next = Some(next.map_or(again, |n| n.min(again)));
        false
    }

    fn resolve_head(&self, core: &mut Core, now: u64, stream: Handle, start: u64) {
        let Some(head) = core.pop(stream) else { return };
        let end = match head.action {
            Action::Work(priced, effect) => {
                let _ = core.advance_tail(stream, start);
                let place = || self.place(core, now, stream, priced);
                let end = trace::resolving(head.correlation, place).map_or(start, |span| span.end_ns);
                effect(core);
                end
            }
            _ => start,
        };
        let _ = core.advance_tail(stream, end);
        head.done.store(end, Ordering::Release);
    }

    fn finish_external(&self, core: &mut Core, now: u64, stream: Handle, end: u64) {
        let Some(head) = core.pop(stream) else { return };
        let start = head.started_ns.unwrap_or(end).min(end);
        let Ok(device) = core.stream(stream).map(|s| s.device) else { return };
        if let Action::External { share_milli, energy_milliwatts, .. } = head.action {
            let state = &mut core.devices[device];
            state.backlogs.add(now, Engine::Compute, end - start, share_milli);
            let gpu = state.gpu;
            let priced = Priced {
                engine: Engine::Compute,
                cost_ns: end - start,
                share_milli,
                memory_ns: (end - start) / 4,
                energy_nanojoules: (end - start) * u64::from(energy_milliwatts) / 1000,
                label: head.label,
            };
            let span = Span { start_ns: start, end_ns: end };
            self.report(gpu, now, span, priced);
            if head.label != 0 {
                trace::work(core, stream, span, head.label, head.correlation);
            }
        }
        let _ = core.advance_tail(stream, end);
    }

    /// Sleeps until a simulated moment, looking up for faults and ghostd's death.
    pub fn sleep_until(&self, end_ns: u64) -> Result<(), Error> {
        let facts = self.client.facts();
        loop {
            let seen = facts.alarm().load(Ordering::Acquire);
            if ghost_engine::wait::until(end_ns, facts.alarm(), seen) == ghost_engine::wait::Woken::End {
                return Ok(());
            }
            self.look_up()?;
        }
    }

    /// Fails once ghostd has died or a fatal fault has hit this thread's context.
    pub fn look_up(&self) -> Result<(), Error> {
        if self.client.is_alive() { self.faults() } else { Err(Error::DeviceUnavailable) }
    }

    /// Waits until `moment` has come.
    pub fn wait_for(&self, moment: &Moment) -> Result<(), Error> {
        let end = loop {
            if let Some(end) = moment.known() {
                break end;
            }
            let mut core = self.core();
            if moment.known().is_none() {
                self.moved.wait_for(&mut core, std::time::Duration::from_millis(100));
            }
            drop(core);
            self.look_up()?;
        };
        self.sleep_until(end)
    }
}

impl Core {
    pub fn stream(&self, handle: Handle) -> Result<&crate::core::Stream, Error> {
        self.streams.get(handle).ok_or(Error::InvalidHandle)
    }

    pub fn stream_mut(&mut self, handle: Handle) -> Result<&mut crate::core::Stream, Error> {
        self.streams.get_mut(handle).ok_or(Error::InvalidHandle)
    }

    /// Earliest start of new work on a stream, by its own tail and the legacy stream's rule.
    pub fn ready_ns(&self, handle: Handle) -> Result<u64, Error> {
        let stream = self.stream(handle)?;
        let device = &self.devices[stream.device];
        Ok(match (stream.legacy, stream.non_blocking) {
            (true, _) => stream.tail_ns.max(device.blocking_tail_ns),
            (false, false) => stream.tail_ns.max(device.legacy_tail_ns),
            (false, true) => stream.tail_ns,
        })
    }

    /// Moves a stream's tail and remembers the end for the depth limit.
    pub fn advance_tail(&mut self, handle: Handle, end_ns: u64) -> Result<(), Error> {
        let stream = self.streams.get_mut(handle).ok_or(Error::InvalidHandle)?;
        stream.tail_ns = stream.tail_ns.max(end_ns);
        stream.ends[stream.next] = stream.tail_ns;
        stream.next = (stream.next + 1) % DEPTH;
        let device = &mut self.devices[stream.device];
        if stream.legacy {
            device.legacy_tail_ns = device.legacy_tail_ns.max(stream.tail_ns);
        } else if !stream.non_blocking {
            device.blocking_tail_ns = device.blocking_tail_ns.max(stream.tail_ns);
        }
        Ok(())
    }

    /// When a full stream has room again; `None` = now.
    pub fn full_until(&self, handle: Handle, now: u64) -> Result<Option<u64>, Error> {
        let stream = self.stream(handle)?;
        if stream.queue.len() >= DEPTH {
            return Ok(Some(now + 1_000_000));
        }
        let oldest = stream.ends[stream.next];
        Ok((oldest > now).then_some(oldest))
    }

    /// Whether new work on a stream must wait behind something unknown.
    pub fn must_queue(&self, handle: Handle) -> Result<bool, Error> {
        let stream = self.stream(handle)?;
        Ok(!stream.queue.is_empty() || !self.blockers(handle)?.is_empty())
    }

    /// Completions of unknown work in other streams that the legacy rule puts before new work here.
    fn blockers(&self, handle: Handle) -> Result<Vec<Completion>, Error> {
        let stream = self.stream(handle)?;
        if stream.non_blocking && !stream.legacy {
            return Ok(Vec::new());
        }
        let relevant = |other: &crate::core::Stream| {
            other.device == stream.device
                && !other.queue.is_empty()
                && (if stream.legacy { !other.legacy && !other.non_blocking } else { other.legacy })
        };
        let last = |s: &crate::core::Stream| s.queue.back().map(|q| q.done.clone());
        Ok(self.streams.iter().filter(|(_, s)| relevant(s)).filter_map(|(_, s)| last(s)).collect())
    }

    /// Appends an entry; returns the completion that tells its end.
    pub fn push(&mut self, handle: Handle, mut needs: Vec<Completion>, action: Action) -> Result<Completion, Error> {
        needs.extend(self.blockers(handle)?);
        let done = unset();
        let entry =
            Queued { needs, action, done: done.clone(), started_ns: None, label: 0, correlation: trace::correlation() };
        self.stream_mut(handle)?.queue.push_back(entry);
        self.queued += 1;
        Ok(done)
    }

    pub fn pop(&mut self, handle: Handle) -> Option<Queued> {
        let head = self.streams.get_mut(handle)?.queue.pop_front()?;
        self.queued -= 1;
        Some(head)
    }

    /// Start of the head of a queue, once everything it needs is known.
    fn head_start(&self, handle: Handle) -> Option<u64> {
        let head = self.streams.get(handle)?.queue.front()?;
        let mut start = self.ready_ns(handle).ok()?;
        for need in &head.needs {
            match need.load(Ordering::Acquire) {
                UNSET => return None,
                end => start = start.max(end),
            }
        }
        Some(start)
    }

    /// End of everything on a stream, or the completion of what is not known yet.
    pub fn end_of(&self, handle: Handle) -> Result<Moment, Error> {
        let stream = self.stream(handle)?;
        if let Some(last) = stream.queue.back() {
            return Ok(Moment::Pending(last.done.clone()));
        }
        let blockers = self.blockers(handle)?;
        if stream.legacy && !blockers.is_empty() {
            return Ok(Moment::Pending(blockers[0].clone()));
        }
        Ok(Moment::Known(self.ready_ns(handle)?))
    }
}

/// Energy and memory time of a cost.
pub fn priced(profile: &ghost_model::Profile, cost: &Cost) -> Priced {
    let bytes_per_us = profile.cost.memory.hbm_megabytes_per_second.max(1);
    Priced {
        engine: crate::core::engine(cost.engine),
        cost_ns: cost.ns,
        share_milli: cost.sm_share_milli.max(1),
        memory_ns: (cost.hbm_bytes.saturating_mul(1000) / bytes_per_us).min(cost.ns),
        energy_nanojoules: cost.ns.saturating_mul(u64::from(cost.dynamic_milliwatts)) / 1000,
        label: 0,
    }
}
