//! libcudart.so.13: the CUDA runtime, standing on the driver's public functions as the real one does.
//! It owns no device state: what it keeps is what compiled code registered and what a thread chose.
//!
//! A row whose arrow names a driver function hands its arguments on as they are. The driver is
//! found by name at the first call that needs it, and started when it says it was not.

mod absent;
mod codes;
mod context;
mod device;
mod driver;
mod event;
mod graph;
mod guard;
mod kernel;
mod memory;
mod process;
mod registry;
mod stream;
mod trace;
mod types;

ghost_abi::library! {
    /// The library `libcudart.so.13`.
    pub Cudart {
        name: "libcudart", not_supported: 801, panic: 999, invalid_argument: 1,
        enter: guard::enter, leave: guard::leave
    }
}

/// Every export, for coverage and for look-up by name.
pub static TABLE: ghost_abi::Table = &[
    codes::ROWS,
    process::ROWS,
    device::choice::ROWS,
    device::settings::ROWS,
    device::properties::ROWS,
    device::peer::ROWS,
    stream::ROWS,
    event::ROWS,
    kernel::register::ROWS,
    kernel::launch::ROWS,
    kernel::function::ROWS,
    kernel::occupancy::ROWS,
    kernel::library::ROWS,
    kernel::symbol::ROWS,
    memory::alloc::ROWS,
    memory::pool::ROWS,
    memory::copy::ROWS,
    memory::boxes::ROWS,
    memory::fill::ROWS,
    memory::pointer::ROWS,
    graph::capture::ROWS,
    graph::whole::ROWS,
    graph::node::ROWS,
    graph::work::ROWS,
    graph::copy::ROWS,
    absent::ROWS,
    absent::ABSENT,
];

#[cfg(test)]
mod tests {
    use super::TABLE;
    use std::collections::BTreeSet;

    #[test]
    fn each_of_the_real_librarys_452_names_is_one_row() {
        let names: Vec<&str> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!((names.len(), distinct.len()), (452, 452));
    }
}
