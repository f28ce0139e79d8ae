//! Calls into the stubs as a CUDA program makes them, timed one by one in batches.
//! It knows C names and signatures only; no crate of the workspace is linked.

use anyhow::{Context, Result, bail};
use std::ffi::{CStr, c_void};
use std::time::Instant;

use super::{Row, median, nanoseconds};

/// A loaded library.
struct Library(*mut c_void);

impl Library {
    fn open(name: &CStr) -> Result<Library> {
        // SAFETY: loads a library by name.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            bail!("{} cannot be loaded", name.to_string_lossy());
        }
        Ok(Library(handle))
    }

    /// # Safety
    /// `F` is a function pointer type of this function's C signature.
    unsafe fn get<F: Copy>(&self, name: &CStr) -> Result<F> {
        // SAFETY: the handle is live.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            bail!("{} is not exported", name.to_string_lossy());
        }
        // SAFETY: the caller's contract; function pointers and data pointers have one size here.
        Ok(unsafe { std::mem::transmute_copy(&address) })
    }
}

type Call = unsafe extern "C" fn(*mut c_void) -> i32;
type Record = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
type Alloc = unsafe extern "C" fn(*mut *mut c_void, usize) -> i32;
type AllocAsync = unsafe extern "C" fn(*mut *mut c_void, usize, *mut c_void) -> i32;
type Make = unsafe extern "C" fn(*mut *mut c_void) -> i32;
type Plain = unsafe extern "C" fn() -> i32;
type Init = unsafe extern "C" fn(u32) -> i32;
#[rustfmt::skip]
type LoadData = unsafe extern "C" fn(*mut *mut c_void, *const u8, *mut i32, *mut c_void, u32, *mut i32, *mut c_void, u32) -> i32;
type GetKernel = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const libc::c_char) -> i32;
#[rustfmt::skip]
type Launch = unsafe extern "C" fn(*mut c_void, [u32; 3], [u32; 3], *mut *mut c_void, usize, *mut c_void) -> i32;

const PTX: &CStr = c".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

pub fn rows() -> Result<Vec<Row>> {
    let driver = Library::open(c"libcuda.so.1")?;
    let runtime = Library::open(c"libcudart.so.13")?;
    let mut rows = vec![attach(&driver)?];
    rows.extend(launches(&runtime)?);
    rows.extend(nvml()?);
    Ok(rows)
}

fn attach(driver: &Library) -> Result<Row> {
    // SAFETY: cuInit takes one unsigned int.
    let init: Init = unsafe { driver.get(c"cuInit")? };
    let start = Instant::now();
    // SAFETY: no argument points anywhere.
    check(unsafe { init(0) }, "cuInit")?;
    Ok(Row::new("attach (cuInit) to a running tray", "<= 3 ms", nanoseconds(start.elapsed().as_nanos() as u64)))
}

/// Time per call over `batches` of `count` calls, as the median batch.
fn per_call(batches: usize, count: u32, mut call: impl FnMut() -> i32, mut between: impl FnMut()) -> Result<String> {
    let mut samples = Vec::new();
    for _ in 0..batches {
        let start = Instant::now();
        for _ in 0..count {
            let code = call();
            if code != 0 && code != 600 {
                bail!("a measured call returned {code}");
            }
        }
        samples.push(start.elapsed().as_nanos() as u64 / u64::from(count));
        between();
    }
    Ok(median(samples))
}

fn launches(runtime: &Library) -> Result<Vec<Row>> {
    // SAFETY: each type is the C signature of its function in the CUDA 13 runtime.
    let (
        synchronize,
        load,
        kernel_of,
        launch,
        stream_make,
        event_make,
        record,
        query,
        alloc,
        free,
        alloc_async,
        free_async,
    )
    // SAFETY: each type is the C signature of its function in the CUDA 13 runtime.
    = unsafe {
        (
            runtime.get::<Plain>(c"cudaDeviceSynchronize")?,
            runtime.get::<LoadData>(c"cudaLibraryLoadData")?,
            runtime.get::<GetKernel>(c"cudaLibraryGetKernel")?,
            runtime.get::<Launch>(c"cudaLaunchKernel")?,
            runtime.get::<Make>(c"cudaStreamCreate")?,
            runtime.get::<Make>(c"cudaEventCreate")?,
            runtime.get::<Record>(c"cudaEventRecord")?,
            runtime.get::<Call>(c"cudaStreamQuery")?,
            runtime.get::<Alloc>(c"cudaMalloc")?,
            runtime.get::<Call>(c"cudaFree")?,
            runtime.get::<AllocAsync>(c"cudaMallocAsync")?,
            runtime.get::<Record>(c"cudaFreeAsync")?,
        )
    };
    let null = std::ptr::null_mut();
    let (mut library, mut kernel, mut stream, mut event) = (null, null, null, null);
    // SAFETY: all out-pointers are live locals, the image is NUL-terminated PTX, unused lists are empty.
    unsafe {
        let image = PTX.as_ptr().cast();
        check(
            load(&raw mut library, image, std::ptr::null_mut(), null, 0, std::ptr::null_mut(), null, 0),
            "cudaLibraryLoadData",
        )?;
        check(kernel_of(&raw mut kernel, library, c"nothing".as_ptr()), "cudaLibraryGetKernel")?;
        check(stream_make(&raw mut stream), "cudaStreamCreate")?;
        check(event_make(&raw mut event), "cudaEventCreate")?;
    }
    // SAFETY (all closures below): handles made above, sizes and grids valid, locals outlive the calls.
    let drain = || {
        // SAFETY: takes nothing.
        unsafe { synchronize() };
    };
    // SAFETY: as said above.
    let one = || unsafe { launch(kernel, [1, 1, 1], [32, 1, 1], std::ptr::null_mut(), 0, stream) };
    // SAFETY: as said above.
    let mark = || unsafe { record(event, stream) };
    // SAFETY: as said above.
    let ask = || unsafe { query(stream) };
    let mut place = null;
    // SAFETY: as said above.
    let take = || unsafe { alloc(&raw mut place, 64 << 20) | free(place) };
    let mut other = null;
    // SAFETY: as said above.
    let pool = || unsafe { alloc_async(&raw mut other, 1 << 16, stream) | free_async(other, stream) };
    Ok(vec![
        Row::new("kernel launch through libcudart, one thread", "p50 <= 200 ns", per_call(200, 500, one, drain)?),
        Row::new("event record", "<= 100 ns", per_call(200, 500, mark, drain)?),
        Row::new("stream query", "<= 80 ns", per_call(200, 500, ask, || ())?),
        Row::new("stream-ordered alloc + free", "<= 1 us each", per_call(100, 100, pool, drain)?),
        Row::new("cudaMalloc + cudaFree (two messages)", "<= 150 us each", per_call(50, 20, take, || ())?),
        lateness(runtime, stream, event)?,
    ])
}

/// How much later than its simulated end a wait returns.
fn lateness(runtime: &Library, stream: *mut c_void, event: *mut c_void) -> Result<Row> {
    type Memset = unsafe extern "C" fn(*mut c_void, i32, usize, *mut c_void) -> i32;
    type Elapsed = unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> i32;
    // SAFETY: each type is the C signature of its function in the CUDA 13 runtime.
    let (memset, sync, record, alloc, make, elapsed) = unsafe {
        (
            runtime.get::<Memset>(c"cudaMemsetAsync")?,
            runtime.get::<Call>(c"cudaStreamSynchronize")?,
            runtime.get::<Record>(c"cudaEventRecord")?,
            runtime.get::<Alloc>(c"cudaMalloc")?,
            runtime.get::<Make>(c"cudaEventCreate")?,
            runtime.get::<Elapsed>(c"cudaEventElapsedTime")?,
        )
    };
    let (mut memory, mut end) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: out-pointers are live locals.
    unsafe { check(alloc(&raw mut memory, 4 << 30) | make(&raw mut end), "cudaMalloc")? };
    let mut samples = Vec::new();
    for _ in 0..200 {
        let mut simulated_ms = 0_f32;
        // SAFETY: handles and memory made above.
        unsafe { check(record(event, stream), "cudaEventRecord")? };
        let start = Instant::now();
        // SAFETY: as above.
        unsafe { check(memset(memory, 0, 4 << 30, stream) | record(end, stream) | sync(stream), "memset")? };
        let waited = start.elapsed().as_nanos() as f64;
        // SAFETY: as above.
        unsafe { check(elapsed(&raw mut simulated_ms, event, end), "cudaEventElapsedTime")? };
        samples.push((waited - f64::from(simulated_ms) * 1e6).max(0.0) as u64);
    }
    Ok(Row::new("lateness of a wait over its simulated end", "<= 10 us p50", median(samples)))
}

fn nvml() -> Result<Vec<Row>> {
    let nvml = Library::open(c"libnvidia-ml.so.1")?;
    type Handle = unsafe extern "C" fn(u32, *mut *mut c_void) -> i32;
    type Get = unsafe extern "C" fn(*mut c_void, *mut u32) -> i32;
    // SAFETY: each type is the C signature of its function in NVML.
    let (init, handle, power) = unsafe {
        (
            nvml.get::<Plain>(c"nvmlInit_v2")?,
            nvml.get::<Handle>(c"nvmlDeviceGetHandleByIndex_v2")?,
            nvml.get::<Get>(c"nvmlDeviceGetPowerUsage")?,
        )
    };
    let (mut device, mut milliwatts) = (std::ptr::null_mut(), 0);
    // SAFETY: the out-pointer is a live local.
    unsafe { check(init() | handle(0, &raw mut device), "nvmlInit_v2")? };
    // SAFETY: device from above, the out-pointer is a live local.
    let read = || unsafe { power(device, &raw mut milliwatts) };
    Ok(vec![Row::new("NVML getter (power usage)", "<= 100 ns", per_call(200, 1000, read, || ())?)])
}

fn check(code: i32, what: &str) -> Result<()> {
    (code == 0).then_some(()).with_context(|| format!("{what} returned {code}"))
}
