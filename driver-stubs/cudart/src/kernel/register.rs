//! The registration calls of compiled code and its launch configuration stack.
//! They run in static constructors: nothing here starts the driver, but `__cudaInitModule`.

use crate::Cudart;
use crate::codes::Error;
use crate::registry::{BinaryId, REGISTRY};
use crate::types::*;
use ghost_abi::{MaybeOut, Out};
use std::cell::Cell;
use std::ffi::{c_char, c_void};

ghost_abi::rows! { Cudart;
    fn __cudaRegisterFatBinary(image: Ptr) -> *mut Ptr => register_binary;
    fn __cudaRegisterFatBinaryEnd(binary: *mut Ptr) -> () => end_binary;
    fn __cudaUnregisterFatBinary(binary: *mut Ptr) -> () => unregister_binary;
    fn __cudaRegisterFunction(
        binary: *mut Ptr, host: Ptr, device: Ptr, name: *mut c_char, thread_limit: i32,
        tid: Ptr, bid: Ptr, block: Ptr, grid: Ptr, warp: Ptr
    ) -> () => register_kernel;
    fn __cudaRegisterVar(
        binary: *mut Ptr, host: Ptr, device: Ptr, name: *mut c_char, external: i32,
        bytes: usize, constant: i32, global: i32
    ) -> () => register_variable;
    fn __cudaRegisterManagedVar(
        binary: *mut Ptr, host: Ptr, device: Ptr, name: *mut c_char, external: i32,
        bytes: usize, constant: i32, global: i32
    ) -> () => register_managed;
    fn __cudaRegisterHostVar(binary: *mut Ptr, name: *mut c_char, host: Ptr, bytes: usize) -> ();
    fn __cudaRegisterUnifiedTable(binary: *mut Ptr, table: Ptr) -> ();
    fn __cudaInitModule(binary: *mut Ptr) -> i8 => init_module;
    fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: Stream) -> u32 => push;
    fn __cudaPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, shared_bytes: Out<usize>, stream: MaybeOut<Stream>) => pop;
}

fn register_binary(image: Ptr) -> *mut Ptr {
    REGISTRY.add_binary(image).to_c()
}

/// Everything was taken as it came.
fn end_binary(_binary: *mut Ptr) {}

fn unregister_binary(binary: *mut Ptr) {
    REGISTRY.remove_binary(BinaryId::from_c(binary));
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn register_kernel(
    binary: *mut Ptr,
    host: Ptr,
    _device: Ptr,
    name: *mut c_char,
    _thread_limit: i32,
    _tid: Ptr,
    _bid: Ptr,
    _block: Ptr,
    _grid: Ptr,
    _warp: Ptr,
) {
    REGISTRY.add_kernel(BinaryId::from_c(binary), host, name);
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn register_variable(
    binary: *mut Ptr,
    host: Ptr,
    _device: Ptr,
    name: *mut c_char,
    _external: i32,
    bytes: usize,
    _constant: i32,
    _global: i32,
) {
    REGISTRY.add_variable(BinaryId::from_c(binary), host, name, bytes, false);
}

#[allow(clippy::too_many_arguments, reason = "a C signature")]
fn register_managed(
    binary: *mut Ptr,
    host: Ptr,
    _device: Ptr,
    name: *mut c_char,
    _external: i32,
    bytes: usize,
    _constant: i32,
    _global: i32,
) {
    REGISTRY.add_variable(BinaryId::from_c(binary), host, name, bytes, true);
}

/// Puts the address of each managed variable into the pointer the host code reads; 1 = done.
fn init_module(binary: *mut Ptr) -> i8 {
    let placed = REGISTRY.managed(BinaryId::from_c(binary)).into_iter().all(place);
    i8::from(placed)
}

fn place(host: Ptr) -> bool {
    let Ok((address, _)) = REGISTRY.symbol(host) else { return false };
    // SAFETY: compiled code registered this address as its pointer to the managed variable.
    let pointer: Out<Ptr> = unsafe { Out::from_raw(host.cast()) };
    pointer.set(address).is_ok()
}

/// One `<<<grid, block, shared, stream>>>` between its push and the stub's pop.
#[derive(Debug, Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: *mut c_void,
}

/// A launch inside the arguments of a launch goes one deeper; nobody goes deep.
const DEPTH: usize = 16;
const NONE: Dim3 = Dim3 { x: 0, y: 0, z: 0 };
const EMPTY: Configuration = Configuration { grid: NONE, block: NONE, shared_bytes: 0, stream: null() };

/// A thread's pushed configurations.
struct Stack {
    depth: Cell<usize>,
    pushed: [Cell<Configuration>; DEPTH],
}

thread_local! {
    static STACK: Stack = const { Stack { depth: Cell::new(0), pushed: [const { Cell::new(EMPTY) }; DEPTH] } };
}

impl Stack {
    fn push(&self, configuration: Configuration) -> bool {
        let depth = self.depth.get();
        let Some(place) = self.pushed.get(depth) else { return false };
        place.set(configuration);
        self.depth.set(depth + 1);
        true
    }

    fn pop(&self) -> Option<Configuration> {
        let depth = self.depth.get().checked_sub(1)?;
        self.depth.set(depth);
        self.pushed.get(depth).map(Cell::get)
    }
}

/// 0 = pushed.
fn push(grid: Dim3, block: Dim3, shared_bytes: usize, stream: Stream) -> u32 {
    let pushed = STACK.with(|stack| stack.push(Configuration { grid, block, shared_bytes, stream }));
    u32::from(!pushed)
}

fn pop(grid: Out<Dim3>, block: Out<Dim3>, shared_bytes: Out<usize>, stream: MaybeOut<Stream>) -> Result<(), Error> {
    let top = STACK.with(Stack::pop).ok_or(Error::MissingConfiguration)?;
    grid.set(top.grid)?;
    block.set(top.block)?;
    shared_bytes.set(top.shared_bytes)?;
    stream.set(top.stream);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn popped() -> Result<(Dim3, usize), i32> {
        let (mut grid, mut block, mut shared, mut stream) = (NONE, NONE, 0, null());
        // SAFETY: all four live through the call.
        let status = unsafe {
            __cudaPopCallConfiguration(
                Out::from_raw(&mut grid),
                Out::from_raw(&mut block),
                Out::from_raw(&mut shared),
                MaybeOut::from_raw(&mut stream),
            )
        };
        if status == 0 { Ok((grid, shared)) } else { Err(status) }
    }

    #[test]
    fn configurations_come_back_innermost_first() {
        let cube = |x| Dim3 { x, y: 1, z: 1 };
        assert_eq!(push(cube(1), cube(32), 16, null()), 0);
        assert_eq!(push(cube(2), cube(32), 0, null()), 0);
        assert_eq!(popped(), Ok((cube(2), 0)));
        assert_eq!(popped(), Ok((cube(1), 16)));
        assert_eq!(popped(), Err(Error::MissingConfiguration.code()));
    }

    #[test]
    fn registering_needs_no_driver() {
        let image = std::ptr::without_provenance_mut(0x40);
        let binary = register_binary(image);
        let host = std::ptr::without_provenance_mut(0x4000);
        register_kernel(binary, host, null(), null(), -1, null(), null(), null(), null(), null());
        register_variable(binary, host, null(), null(), 0, 24, 0, 1);
        end_binary(binary);
        assert_eq!(REGISTRY.symbol_bytes(host), Ok(24));
        unregister_binary(binary);
        assert_eq!(REGISTRY.symbol_bytes(host), Err(Error::InvalidSymbol));
    }
}
