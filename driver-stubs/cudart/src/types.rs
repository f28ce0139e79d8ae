//! What C passes: handles, small structs by value, and the two meanings of a null stream.
//! It interprets nothing: pointers go to the driver as the caller lent them.

use ghost_abi::record;
use std::ffi::c_void;

/// Any address, of the host or of a device.
pub type Ptr = *mut c_void;
/// An opaque object of the driver.
pub type Handle = *mut c_void;
/// `cudaStream_t`, which is the driver's `CUstream`; null is the legacy stream.
pub type Stream = Handle;
/// `cudaEvent_t`, the driver's `CUevent`.
pub type Event = Handle;
/// `cudaGraph_t`, the driver's `CUgraph`.
pub type Graph = Handle;
/// `cudaGraphNode_t`, the driver's `CUgraphNode`.
pub type Node = Handle;
/// `cudaGraphExec_t`, the driver's `CUgraphExec`.
pub type GraphExec = Handle;
/// `cudaMemPool_t`, the driver's `CUmemoryPool`.
pub type Pool = Handle;
/// `cudaKernel_t`, the driver's `CUkernel`.
pub type Kernel = Handle;
/// `cudaFunction_t`, the driver's `CUfunction`.
pub type Function = Handle;
/// `cudaLibrary_t`, the driver's `CUlibrary`.
pub type Module = Handle;
/// `cudaUserObject_t`, the driver's `CUuserObject`.
pub type UserObject = Handle;
/// A C function the driver will call.
pub type Callback = *mut c_void;

/// The stream of `_ptsz` and `_ptds` functions: null is the calling thread's default stream.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct PerThread(pub Stream);

/// The driver's name for the calling thread's default stream.
const PER_THREAD_STREAM: usize = 2;

impl PerThread {
    /// The thread's default stream.
    pub const DEFAULT: PerThread = PerThread(std::ptr::null_mut());
}

/// An argument in the form the driver takes it.
pub trait Arg<T> {
    /// That form.
    fn pass(self) -> T;
}

impl<T> Arg<T> for T {
    #[inline(always)]
    fn pass(self) -> T {
        self
    }
}

impl Arg<Stream> for PerThread {
    #[inline(always)]
    fn pass(self) -> Stream {
        if self.0.is_null() { std::ptr::without_provenance_mut(PER_THREAD_STREAM) } else { self.0 }
    }
}

record! {
    /// `dim3`.
    #[derive(PartialEq, Eq)]
    pub struct Dim3: 12 bytes { pub x: u32, pub y: u32, pub z: u32 }
}
record! {
    /// `cudaMemLocation`: kind of place and its number.
    pub struct Location: 8 bytes { pub kind: i32, pub id: i32 }
}
record! {
    /// An IPC handle of an event or of memory.
    pub struct IpcHandle: 64 bytes { pub bytes: [u8; 64] }
}
record! {
    /// `cudaExtent`: width in bytes (or elements of an array), height and depth in rows and slices.
    pub struct Extent: 24 bytes { pub width: usize, pub height: usize, pub depth: usize }
}
record! {
    /// `cudaPos`.
    pub struct Position: 24 bytes { pub x: usize, pub y: usize, pub z: usize }
}
record! {
    /// `cudaPitchedPtr`: rows of `pitch` bytes; `height` rows make a slice.
    pub struct Pitched: 32 bytes { pub address: Ptr, pub pitch: usize, pub width: usize, pub height: usize }
}

/// Null.
pub const fn null<T>() -> *mut T {
    std::ptr::null_mut()
}
