//! The runtime as a C program meets it, over a driver of a hundred lines of C compiled here.
//! No rack, no header and no library of NVIDIA's is needed.

use ghost_cudart as _;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

type Ptr = *mut c_void;

#[derive(Clone, Copy)]
#[repr(C)]
struct Dim3(u32, u32, u32);

unsafe extern "C" {
    fn cudaSetDevice(device: c_int) -> c_int;
    fn cudaGetDevice(device: *mut c_int) -> c_int;
    fn cudaGetDeviceCount(count: *mut c_int) -> c_int;
    fn cudaGetDeviceProperties(properties: Ptr, device: c_int) -> c_int;
    fn cudaGetLastError() -> c_int;
    fn cudaPeekAtLastError() -> c_int;
    fn cudaGetErrorString(error: c_int) -> *const c_char;
    fn cudaMalloc(address: *mut Ptr, bytes: usize) -> c_int;
    fn cudaFree(address: Ptr) -> c_int;
    fn cudaStreamQuery(stream: Ptr) -> c_int;
    fn cudaStreamQuery_ptsz(stream: Ptr) -> c_int;
    fn cudaStreamSynchronize(stream: Ptr) -> c_int;
    fn cudaMallocArray(array: *mut Ptr, format: Ptr, width: usize, height: usize, flags: u32) -> c_int;
    fn cudaPointerGetAttributes(attributes: Ptr, address: Ptr) -> c_int;
    fn cudaGetSymbolAddress(address: *mut Ptr, symbol: Ptr) -> c_int;
    fn cudaGetDriverEntryPointByVersion(
        name: *const c_char,
        to: *mut Ptr,
        version: u32,
        flags: u64,
        found: *mut c_int,
    ) -> c_int;
    fn cudaLaunchKernel(function: Ptr, grid: Dim3, block: Dim3, args: *mut Ptr, shared: usize, stream: Ptr) -> c_int;
    fn __cudaRegisterFatBinary(image: Ptr) -> *mut Ptr;
    fn __cudaRegisterFunction(
        binary: *mut Ptr,
        host: Ptr,
        device: Ptr,
        name: *const c_char,
        limit: c_int,
        tid: Ptr,
        bid: Ptr,
        block: Ptr,
        grid: Ptr,
        warp: Ptr,
    );
    fn __cudaRegisterVar(
        binary: *mut Ptr,
        host: Ptr,
        device: Ptr,
        name: *const c_char,
        external: c_int,
        bytes: usize,
        constant: c_int,
        global: c_int,
    );
    fn __cudaGetKernel(kernel: *mut Ptr, host: Ptr) -> c_int;
    fn __cudaLaunchKernel(kernel: Ptr, grid: Dim3, block: Dim3, args: *mut Ptr, shared: usize, stream: Ptr) -> c_int;
}

const NULL: Ptr = std::ptr::null_mut();
const NO_ARGUMENTS: *mut Ptr = std::ptr::null_mut();
const ONE: Dim3 = Dim3(1, 1, 1);

/// The fake driver, built and loaded once: the runtime then finds it by its soname.
fn driver() -> Ptr {
    static DRIVER: OnceLock<usize> = OnceLock::new();
    *DRIVER.get_or_init(|| {
        let library = format!("{}/fake-libcuda-{}.so", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver.c");
        let built =
            Command::new("cc").args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", &library, source]).status();
        assert!(built.is_ok_and(|status| status.success()), "cc compiles the fake driver");
        let path = CString::new(library.clone()).expect("a path");
        // SAFETY: a library of plain C functions without constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!handle.is_null(), "the fake driver loads");
        let _ = std::fs::remove_file(library);
        handle.expose_provenance()
    }) as Ptr
}

/// What one of the fake driver's own functions says.
fn fake(name: &CStr, argument: c_int) -> usize {
    // SAFETY: these functions take at most one int and return at most a pointer.
    unsafe {
        let function = libc::dlsym(driver(), name.as_ptr());
        std::mem::transmute::<Ptr, extern "C" fn(c_int) -> usize>(function)(argument)
    }
}

/// Runs a C caller's part of a test over the fake driver, one at a time, on a thread of its own.
fn as_c(call: impl FnOnce() + Send) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    driver();
    std::thread::scope(|scope| scope.spawn(call).join()).expect("the caller's part passes");
}

fn host(address: usize) -> Ptr {
    std::ptr::without_provenance_mut(address)
}

#[test]
fn a_first_call_starts_the_driver_and_takes_device_0() {
    as_c(|| {
        let (mut address, mut device) = (NULL, -1);
        // SAFETY: both live through the calls.
        unsafe {
            assert_eq!(cudaMalloc(&mut address, 8), 0);
            assert_eq!(cudaGetDevice(&mut device), 0);
        }
        assert_eq!((address.addr(), device), (0x1000, 0));
    });
}

#[test]
fn a_thread_works_on_the_device_it_chose_and_no_other_thread_does() {
    as_c(|| {
        let (mut mine, mut other) = (NULL, -1);
        // SAFETY: everything lent lives through the calls.
        unsafe {
            assert_eq!(cudaSetDevice(1), 0);
            assert_eq!(cudaMalloc(&mut mine, 8), 0);
        }
        std::thread::scope(|scope| {
            // SAFETY: as above.
            scope.spawn(|| assert_eq!(unsafe { cudaGetDevice(&mut other) }, 0));
        });
        assert_eq!((mine.addr(), other), (0x2000, 0));
    });
}

#[test]
fn a_device_that_is_not_there_is_an_invalid_ordinal() {
    as_c(|| {
        let mut count = 0;
        // SAFETY: `count` lives through the call.
        unsafe {
            assert_eq!((cudaGetDeviceCount(&mut count), count), (0, 2));
            assert_eq!((cudaSetDevice(2), cudaGetLastError()), (101, 101));
        }
    });
}

#[test]
fn the_drivers_error_is_the_threads_last_error() {
    as_c(|| {
        let mut address = NULL;
        // SAFETY: `address` lives through the call; texts are constant.
        unsafe {
            assert_eq!(cudaMalloc(&mut address, 1 << 40), 2);
            assert_eq!((cudaPeekAtLastError(), cudaGetLastError(), cudaGetLastError()), (2, 2, 0));
            assert_eq!(CStr::from_ptr(cudaGetErrorString(2)), c"out of memory");
            assert_eq!((cudaStreamQuery(NULL), cudaGetLastError()), (600, 600));
        }
        assert!(address.is_null());
    });
}

#[test]
fn a_function_the_driver_lacks_and_one_the_runtime_lacks_are_not_supported() {
    as_c(|| {
        let mut array = host(7);
        // SAFETY: `array` lives through the call.
        unsafe {
            assert_eq!(cudaStreamSynchronize(NULL), 801);
            assert_eq!(cudaMallocArray(&mut array, NULL, 1, 1, 0), 801);
        }
        assert_eq!(array, host(7));
    });
}

#[test]
fn nothing_allocated_and_nothing_freed_is_success() {
    as_c(|| {
        let mut address = host(7);
        // SAFETY: `address` lives through the call.
        unsafe {
            assert_eq!((cudaMalloc(&mut address, 0), cudaFree(NULL)), (0, 0));
        }
        assert!(address.is_null());
    });
}

#[test]
fn a_pointer_cuda_does_not_know_is_unregistered_and_on_no_device() {
    as_c(|| {
        let mut attributes = [0x5555_5555_i32; 22];
        // SAFETY: 88 bytes, as the struct has.
        assert_eq!(unsafe { cudaPointerGetAttributes(attributes.as_mut_ptr().cast(), host(0x5000)) }, 0);
        assert_eq!(attributes[..6], [0, -2, 0, 0, 0, 0]);
    });
}

#[test]
fn an_entry_point_is_found_or_said_not_to_be() {
    as_c(|| {
        let (mut address, mut found) = (NULL, -1);
        // SAFETY: everything lent lives through the calls.
        unsafe {
            assert_eq!(cudaGetDriverEntryPointByVersion(c"cuInit".as_ptr(), &mut address, 12000, 0, &mut found), 0);
            assert!(found == 0 && !address.is_null());
            assert_eq!(cudaGetDriverEntryPointByVersion(c"cuNone".as_ptr(), &mut address, 12000, 0, &mut found), 0);
            assert!(found == 1 && address.is_null());
        }
    });
}

#[test]
fn properties_are_the_drivers_attributes_at_the_headers_offsets() {
    as_c(|| {
        let mut bytes = [0xaa_u8; 1008];
        // SAFETY: 1008 bytes, as the struct has.
        assert_eq!(unsafe { cudaGetDeviceProperties(bytes.as_mut_ptr().cast(), 1) }, 0);
        let word = |at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!((&bytes[..5], bytes[256]), (&b"Fake\0"[..], 2));
        assert_eq!((word(288), word(360), word(384)), (1000, 75, 16));
        assert_eq!((word(748), word(780)), (120, 0), "an attribute the driver lacks is 0");
    });
}

#[test]
fn a_per_thread_function_names_the_threads_stream() {
    as_c(|| {
        // SAFETY: no pointer is lent.
        unsafe {
            cudaStreamQuery_ptsz(NULL);
            assert_eq!(fake(c"fake_stream", 0), 2);
            cudaStreamQuery_ptsz(host(0x30));
            assert_eq!(fake(c"fake_stream", 0), 0x30);
        }
    });
}

/// Registers a kernel and a variable under the host addresses `base` and `base + 1`.
fn register(base: usize, name: &'static CStr) {
    // SAFETY: names are constant; nothing follows the other addresses.
    unsafe {
        let binary = __cudaRegisterFatBinary(host(0x9000));
        __cudaRegisterFunction(binary, host(base), NULL, name.as_ptr(), -1, NULL, NULL, NULL, NULL, NULL);
        __cudaRegisterVar(binary, host(base + 1), NULL, name.as_ptr(), 0, 64, 0, 1);
    }
}

#[test]
fn a_registered_kernel_is_loaded_at_its_first_launch_and_once() {
    as_c(|| {
        register(0x4000, c"present");
        let (loads, launches) = (fake(c"fake_loads", 0), fake(c"fake_launches", 0));
        let mut kernel = NULL;
        // SAFETY: `kernel` lives through the call.
        unsafe {
            assert_eq!(__cudaGetKernel(&mut kernel, host(0x4000)), 0);
            assert_eq!(__cudaLaunchKernel(kernel, Dim3(2, 3, 4), Dim3(5, 6, 7), NO_ARGUMENTS, 8, host(9)), 0);
            assert_eq!(cudaLaunchKernel(host(0x4000), Dim3(2, 3, 4), Dim3(5, 6, 7), NO_ARGUMENTS, 8, host(9)), 0);
            assert_eq!(cudaLaunchKernel(kernel, ONE, ONE, NO_ARGUMENTS, 0, NULL), 0);
        }
        assert_eq!((fake(c"fake_loads", 0) - loads, fake(c"fake_launches", 0) - launches), (1, 3));
    });
}

#[test]
fn grid_block_shared_memory_and_stream_arrive_in_order() {
    as_c(|| {
        register(0x4800, c"present");
        let (grid, block) = (Dim3(2, 3, 4), Dim3(5, 6, 7));
        // SAFETY: the fake driver follows no argument list.
        assert_eq!(unsafe { cudaLaunchKernel(host(0x4800), grid, block, NO_ARGUMENTS, 8, host(9)) }, 0);
        let seen: Vec<usize> = (0..8).map(|at| fake(c"fake_last", at) & 0xffff_ffff).collect();
        assert_eq!(seen, [2, 3, 4, 5, 6, 7, 8, 9]);
    });
}

#[test]
fn a_launch_that_cannot_be_says_why() {
    as_c(|| {
        register(0x5000, c"absent");
        register(0x6000, c"present");
        // SAFETY: the fake driver follows no argument list.
        unsafe {
            assert_eq!(cudaLaunchKernel(host(0x5000), ONE, ONE, NO_ARGUMENTS, 0, NULL), 98);
            assert_eq!(cudaLaunchKernel(host(0x6999), ONE, ONE, NO_ARGUMENTS, 0, NULL), 98);
            assert_eq!(cudaLaunchKernel(host(0x6000), Dim3(0, 1, 1), ONE, NO_ARGUMENTS, 0, NULL), 9);
        }
    });
}

#[test]
fn a_variable_has_an_address_on_each_device() {
    as_c(|| {
        register(0x7000, c"present");
        let (mut first, mut second) = (NULL, NULL);
        // SAFETY: both live through the calls.
        unsafe {
            assert_eq!(cudaGetSymbolAddress(&mut first, host(0x7001)), 0);
            assert_eq!(cudaSetDevice(1), 0);
            assert_eq!(cudaGetSymbolAddress(&mut second, host(0x7001)), 0);
            assert_eq!(cudaGetSymbolAddress(&mut second, host(0x7002)), 13);
        }
        assert_eq!((first.addr(), second.addr()), (0x2000, 0x4000));
    });
}

#[test]
fn a_forked_child_is_refused_without_touching_a_lock() {
    as_c(|| {
        let mut address = NULL;
        // SAFETY: the child calls one function and leaves without running handlers.
        let status = unsafe {
            assert_eq!(cudaFree(NULL), 0);
            match libc::fork() {
                0 => libc::_exit(cudaMalloc(&mut address, 8)),
                child => {
                    let mut status = 0;
                    libc::waitpid(child, &mut status, 0);
                    status
                }
            }
        };
        assert_eq!(libc::WEXITSTATUS(status), 3);
    });
}

const EXITING: &str = "GHOSTRACK_TEST_EXITING";

extern "C" fn allocate_and_leave() {
    let mut address = NULL;
    // SAFETY: `address` lives through the call; `_exit` ends the process here.
    unsafe { libc::_exit(40 + cudaMalloc(&mut address, 8)) }
}

#[test]
fn while_exit_handlers_run_the_runtime_is_unloading() {
    if std::env::var_os(EXITING).is_some() {
        // SAFETY: the handler above; it was registered first, so it runs after the runtime's own.
        unsafe { libc::atexit(allocate_and_leave) };
        // SAFETY: nothing is lent.
        as_c(|| assert_eq!(unsafe { cudaFree(NULL) }, 0));
        return;
    }
    let this = std::env::current_exe().expect("the test program");
    let name = "while_exit_handlers_run_the_runtime_is_unloading";
    let status = Command::new(this).args([name, "--exact"]).env(EXITING, "1").output().expect("it runs").status;
    assert_eq!(status.code(), Some(44));
}
