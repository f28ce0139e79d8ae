//! libcuda.so.1: contexts, streams, memory and launches of one process. It alone owns in-process state; the other
//! stubs take it from the private table (`ghost-table`). Nothing is computed; it never prints.
//!
//! - `rows` by area: [`init`], [`device`], [`context`], [`stream`], [`event`], [`memory`], [`pool`],
//!   [`virtual_memory`], [`copy`], [`pointer`],
//!   [`module`], [`launch`], [`host`], [`graph`], [`tensor`],
//!   [`logs`], [`memory_ops`], [`stream_attribute`], [`user_object`], [`advise`], [`entry`], [`rest`]
//! - [`driver`]: attach, and the one lock around [`core`]
//! - [`core`]: what exists in this process; [`queue`]: when work starts and ends
//! - [`arena`], [`ranges`]: handles and addresses
//! - [`small`]: bytes that are kept; [`fatbin`]: kernel images; [`price`]: what a kernel costs
//! - [`table`]: what the other stubs take
//! - [`trace`], [`label`], [`operation`]: what a profiler hears

pub mod advise;
pub mod arena;
pub mod context;
pub mod copy;
pub mod core;
pub mod device;
pub mod driver;
pub mod entry;
pub mod error;
pub mod event;
pub mod fatbin;
pub mod graph;
pub mod host;
pub mod init;
pub mod label;
pub mod launch;
pub mod logs;
pub mod memory;
pub mod memory_ops;
pub mod module;
pub mod operation;
pub mod pointer;
pub mod pool;
pub mod price;
pub mod queue;
pub mod ranges;
pub mod rest;
pub mod small;
pub mod stream;
pub mod stream_attribute;
pub mod table;
pub mod tensor;
pub mod trace;
pub mod user_object;
pub mod virtual_memory;
pub mod visible;

pub use error::Error;

ghost_abi::library! {
    /// The library `libcuda.so.1`.
    pub Cuda { name: "libcuda", not_supported: 801, panic: 999, invalid_argument: 1, enter: driver::enter, leave: driver::leave }
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[
    init::ROWS,
    device::ROWS,
    context::ROWS,
    stream::ROWS,
    event::ROWS,
    memory::ROWS,
    pool::ROWS,
    virtual_memory::ROWS,
    copy::ROWS,
    pointer::ROWS,
    module::ROWS,
    launch::ROWS,
    host::ROWS,
    graph::ROWS,
    tensor::ROWS,
    logs::ROWS,
    memory_ops::ROWS,
    stream_attribute::ROWS,
    user_object::ROWS,
    advise::ROWS,
    entry::ROWS,
    rest::ABSENT,
];
