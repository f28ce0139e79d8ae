//! Launches of graphs: a launch is its DAG on the same backlogs as everything else. What is known is placed at once;
//! a host function, or an event nobody has recorded yet, holds only what comes after it.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::exec::Step;
use super::{Body, HostCall, captured};
use crate::arena::Handle;
use crate::core::{Completion, Core, Moment, Stream, UNSET, unset};
use crate::driver::Driver;
use crate::queue::Action;
use crate::stream::Named;
use crate::{Error, driver, stream};

pub fn launch(exec: *mut c_void, stream: impl Named) -> Result<(), Error> {
    let driver = driver::get()?;
    driver.faults()?;
    let mut core = driver.core();
    let stream = stream::resolve(&mut core, stream.named())?;
    let handle = Handle::of(exec);
    let steps = core.execs.get(handle).ok_or(Error::InvalidValue)?.steps.clone();
    if core.stream(stream)?.capture.is_some() {
        return captured::capture_launch(&mut core, stream, &steps);
    }
    let now = loop {
        let now = ghost_engine::clock::now_ns();
        match core.full_until(stream, now)? {
            None => break now,
            Some(until) => {
                drop(core);
                driver.sleep_until(until)?;
                core = driver.core();
            }
        }
    };
    driver.look_up_at(now)?;
    start(driver, &mut core, now, stream, handle, steps)
}

fn start(
    driver: &'static Driver,
    core: &mut Core,
    now: u64,
    stream: Handle,
    handle: Handle,
    steps: Arc<Vec<Step>>,
) -> Result<(), Error> {
    let exec = core.execs.get_mut(handle).ok_or(Error::InvalidValue)?;
    exec.pending.take_if(|done| done.load(Ordering::Acquire) != UNSET);
    let busy = exec.pending.clone();
    let mut flight = Flight::new(core, stream, handle, steps);
    if busy.is_none() && (core.queued == 0 || !core.must_queue(stream)?) {
        let ready = core.ready_ns(stream)?.max(now);
        if flight.advance(driver, core, ready, now) {
            return Ok(());
        }
    }
    let needs = busy.into_iter().collect();
    let ask = move |core: &mut Core, start, now| flight.advance(driver, core, start, now);
    let done = core.push(stream, needs, Action::When(Box::new(ask)))?;
    if let Some(exec) = core.execs.get_mut(handle) {
        exec.pending = Some(done);
    }
    crate::host::wake(driver);
    Ok(())
}

/// A launch that is under way.
struct Flight {
    exec: Handle,
    stream: Handle,
    steps: Arc<Vec<Step>>,
    /// Set at the first look.
    start_ns: Option<u64>,
    /// Ends of steps, as far as they are known.
    ends: Vec<Option<u64>>,
    /// What event steps wait for or set, bound when the launch was made.
    events: Vec<Option<Bound>>,
    /// Host functions under way: the stream made for one, and its end.
    calls: Vec<Option<(Handle, Completion)>>,
}

/// An event as a launch sees it.
enum Bound {
    Wait(Moment),
    Record(Handle, Completion),
}

fn bind(core: &mut Core, step: &Step) -> Option<Bound> {
    match step.body {
        Body::Wait(event) => core.events.get(event)?.recorded.clone().map(Bound::Wait),
        Body::Record(handle) => {
            let done = unset();
            let event = core.events.get_mut(handle)?;
            event.recorded = Some(Moment::Pending(done.clone()));
            event.captured = None;
            Some(Bound::Record(handle, done))
        }
        _ => None,
    }
}

impl Flight {
    fn new(core: &mut Core, stream: Handle, exec: Handle, steps: Arc<Vec<Step>>) -> Flight {
        let count = steps.len();
        let events = steps.iter().map(|step| bind(core, step)).collect();
        let calls = (0..count).map(|_| None).collect();
        Flight { exec, stream, steps, start_ns: None, ends: vec![None; count], events, calls }
    }

    /// Goes as far as it can; true once the end of everything is known.
    fn advance(&mut self, driver: &Driver, core: &mut Core, start: u64, now: u64) -> bool {
        let busy_until = core.execs.get(self.exec).map_or(0, |exec| exec.busy_until_ns);
        let start = *self.start_ns.get_or_insert(start.max(busy_until));
        let steps = self.steps.clone();
        for (index, step) in steps.iter().enumerate() {
            if self.ends[index].is_none()
                && let Some(ready) = self.ready(step, start)
            {
                self.ends[index] = self.run(driver, core, index, step, ready, now);
            }
        }
        let end = self.ends.iter().try_fold(start, |latest, end| end.map(|end| latest.max(end)));
        end.is_some_and(|end| self.finish(core, end))
    }

    fn ready(&self, step: &Step, start: u64) -> Option<u64> {
        step.after.iter().try_fold(start, |latest, index| self.ends[*index].map(|end| latest.max(end)))
    }

    /// Does one step whose dependencies are known; its end, if that is known.
    fn run(
        &mut self,
        driver: &Driver,
        core: &mut Core,
        index: usize,
        step: &Step,
        ready: u64,
        now: u64,
    ) -> Option<u64> {
        match &step.body {
            Body::Work { priced, run, .. } if step.enabled => {
                let end = driver.place_at(core, now, self.stream, ready, *priced).unwrap_or(ready);
                run(core);
                Some(end)
            }
            Body::Host { call, .. } => self.call(core, index, call, ready),
            Body::Wait(_) | Body::Record(_) => self.event(driver, core, index, ready),
            Body::Work { .. } | Body::Child(_) | Body::Empty => Some(ready),
        }
    }

    fn event(&self, driver: &Driver, core: &mut Core, index: usize, ready: u64) -> Option<u64> {
        match &self.events[index] {
            None => Some(ready),
            Some(Bound::Wait(moment)) => moment.known().map(|at| at.max(ready)),
            Some(Bound::Record(event, done)) => {
                done.store(ready, Ordering::Release);
                driver.moved.notify_all();
                if let Some(event) = core.events.get_mut(*event)
                    && matches!(&event.recorded, Some(Moment::Pending(other)) if Arc::ptr_eq(other, done))
                {
                    event.recorded = Some(Moment::Known(ready));
                }
                Some(ready)
            }
        }
    }

    /// A host function runs on a stream of its own, which starts when the step may.
    fn call(&mut self, core: &mut Core, index: usize, call: &HostCall, ready: u64) -> Option<u64> {
        let Some((own, done)) = &self.calls[index] else {
            self.calls[index] = spawn(core, self.stream, call.clone(), ready);
            return self.calls[index].is_none().then_some(ready);
        };
        let end = done.load(Ordering::Acquire);
        if end == UNSET {
            return None;
        }
        core.streams.remove(*own);
        Some(end.max(ready))
    }

    fn finish(&self, core: &mut Core, end: u64) -> bool {
        if let Some(exec) = core.execs.get_mut(self.exec) {
            exec.busy_until_ns = exec.busy_until_ns.max(end);
        }
        let _ = core.advance_tail(self.stream, end);
        true
    }
}

fn spawn(core: &mut Core, beside: Handle, call: HostCall, ready: u64) -> Option<(Handle, Completion)> {
    let (device, context) = core.stream(beside).map(|s| (s.device, s.context)).ok()?;
    let id = core.id();
    let mut own = Stream::new(device, context, true, 0, id);
    own.tail_ns = ready;
    let own = core.streams.insert(own);
    let done = core.push(own, Vec::new(), Action::Host(Some(Box::new(move || call())))).ok()?;
    Some((own, done))
}
