//! What exists in this process: devices in use, contexts, streams, events, modules, kernels, memory.
//! Plain data behind one lock (see `driver`); it decides no timing (see `queue`) and prices nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ghost_engine::timeline::{Backlogs, Engine};
use ghost_model::cost::State;

use crate::arena::{Arena, Handle, Kind};
use crate::error::Error;
use crate::graph::{Exec, Graph};
use crate::module::{Function, Module};
use crate::ranges::{AddressSpace, Ranges};
use crate::small::Store;

/// Work enqueued on one stream and not over yet, at most.
pub const DEPTH: usize = 1024;

/// A moment that may not be known yet.
#[derive(Clone, Debug)]
pub enum Moment {
    Known(u64),
    Pending(Completion),
}

/// The end of queued work: unset until it is known.
pub type Completion = Arc<AtomicU64>;

/// Value of a [`Completion`] that is not known yet.
pub const UNSET: u64 = u64::MAX;

/// A completion nobody has set yet.
pub fn unset() -> Completion {
    Arc::new(AtomicU64::new(UNSET))
}

impl Moment {
    /// The time, if it is known by now.
    pub fn known(&self) -> Option<u64> {
        match self {
            Moment::Known(at) => Some(*at),
            Moment::Pending(completion) => match completion.load(Ordering::Acquire) {
                UNSET => None,
                at => Some(at),
            },
        }
    }
}

/// A stream. Index of its device is a CUDA ordinal.
#[derive(Debug)]
pub struct Stream {
    pub device: usize,
    pub context: Handle,
    pub non_blocking: bool,
    pub legacy: bool,
    pub priority: i32,
    pub id: u64,
    /// End of everything resolved so far.
    pub tail_ns: u64,
    /// Ends of the last `DEPTH` operations, oldest overwritten first.
    pub ends: Box<[u64]>,
    pub next: usize,
    pub queue: VecDeque<crate::queue::Queued>,
    pub capture: Option<crate::graph::Capture>,
    /// Stored stream attributes by id.
    pub attributes: HashMap<u32, [u64; 8]>,
}

impl Stream {
    pub fn new(device: usize, context: Handle, non_blocking: bool, priority: i32, id: u64) -> Stream {
        Stream {
            device,
            context,
            non_blocking,
            legacy: false,
            priority,
            id,
            tail_ns: 0,
            ends: vec![0; DEPTH].into_boxed_slice(),
            next: 0,
            queue: VecDeque::new(),
            capture: None,
            attributes: HashMap::new(),
        }
    }
}

/// An event.
#[derive(Debug)]
pub struct Event {
    pub device: usize,
    pub context: Handle,
    pub timing: bool,
    pub blocking_sync: bool,
    pub interprocess: bool,
    /// `None` = never recorded: complete for waits and queries.
    pub recorded: Option<Moment>,
    /// Recorded last inside a capture.
    pub captured: Option<crate::graph::CapturedEvent>,
}

/// A context. Primary contexts live as long as somebody retains them.
#[derive(Debug)]
pub struct Context {
    pub device: usize,
    pub primary: bool,
    pub flags: u32,
    pub id: u64,
    pub legacy: Handle,
    pub per_thread_flags: u32,
    pub peers: Vec<usize>,
    /// Fault epoch of the GPU when the context was made; a later epoch is a sticky error.
    pub fault_epoch: u64,
    /// Xids of the GPU when the context was made; a later one that names this process is a sticky error.
    pub xid_count: u64,
    pub limits: HashMap<u32, u64>,
}

/// One visible device.
#[derive(Debug)]
pub struct Device {
    /// Index in the tray, which is what facts and ledger use.
    pub gpu: usize,
    pub primary: Option<Handle>,
    pub retained: u32,
    pub flags: u32,
    pub backlogs: Backlogs,
    pub space: Option<AddressSpace>,
    pub state: State,
    pub sharers: u64,
    /// Latest tail of the blocking streams, for the legacy stream's rule.
    pub blocking_tail_ns: u64,
    pub legacy_tail_ns: u64,
    /// Facts generation that `state` and `sharers` come from.
    pub generation: u64,
    /// Prices of recent operations, valid while `state` is what it is.
    pub prices: crate::queue::Prices,
}

/// Everything that exists in this process.
#[derive(Debug)]
pub struct Core {
    pub devices: Vec<Device>,
    pub contexts: Arena<Context>,
    pub streams: Arena<Stream>,
    pub events: Arena<Event>,
    pub modules: Arena<Module>,
    pub functions: Arena<Function>,
    pub graphs: Arena<Graph>,
    pub execs: Arena<Exec>,
    pub pools: Arena<crate::pool::Pool>,
    pub physical: Arena<crate::virtual_memory::Physical>,
    pub objects: Arena<crate::user_object::UserObject>,
    pub loggers: Arena<crate::logs::Callback>,
    pub ranges: Ranges,
    /// Virtual memory mappings: base address to physical memory.
    pub mapped: std::collections::BTreeMap<u64, Handle>,
    pub store: Store,
    pub next_id: u64,
    /// Queued entries over all streams; 0 lets every enqueue take the short way.
    pub queued: usize,
    pub tokens: HashMap<u64, (Completion, Handle)>,
    /// Host bytes pinned by this process.
    pub pinned_bytes: u64,
}

impl Core {
    pub fn new(devices: Vec<Device>) -> Core {
        Core {
            devices,
            contexts: Arena::new(Kind::Context),
            streams: Arena::new(Kind::Stream),
            events: Arena::new(Kind::Event),
            modules: Arena::new(Kind::Module),
            functions: Arena::new(Kind::Function),
            graphs: Arena::new(Kind::Graph),
            execs: Arena::new(Kind::GraphExec),
            pools: Arena::new(Kind::Pool),
            physical: Arena::new(Kind::Allocation),
            objects: Arena::new(Kind::UserObject),
            loggers: Arena::new(Kind::Logger),
            ranges: Ranges::default(),
            mapped: std::collections::BTreeMap::new(),
            store: Store::default(),
            next_id: 1,
            queued: 0,
            tokens: HashMap::new(),
            pinned_bytes: 0,
        }
    }

    pub fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub fn device(&self, ordinal: i32) -> Result<&Device, Error> {
        usize::try_from(ordinal).ok().and_then(|i| self.devices.get(i)).ok_or(Error::InvalidDevice)
    }

    pub fn context(&self, handle: Handle) -> Result<&Context, Error> {
        self.contexts.get(handle).ok_or(Error::InvalidContext)
    }

    pub fn event_mut(&mut self, handle: Handle) -> Result<&mut Event, Error> {
        self.events.get_mut(handle).ok_or(Error::InvalidHandle)
    }

    pub fn event(&self, handle: Handle) -> Result<&Event, Error> {
        self.events.get(handle).ok_or(Error::InvalidHandle)
    }
}

/// Our engine for the model's.
pub fn engine(of: ghost_model::cost::Engine) -> Engine {
    match of {
        ghost_model::cost::Engine::Compute => Engine::Compute,
        ghost_model::cost::Engine::CopyIn => Engine::CopyIn,
        ghost_model::cost::Engine::CopyOut => Engine::CopyOut,
        ghost_model::cost::Engine::Link => Engine::Link,
    }
}
