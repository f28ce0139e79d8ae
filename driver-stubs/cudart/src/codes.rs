//! The runtime's errors: number, name and the short text users meet in messages.
//! No other file knows an error's number by heart, but for the few in `guard.rs` and `driver.rs`.

use crate::{Cudart, guard};
use std::ffi::{CStr, c_char};

macro_rules! errors {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        ghost_abi::status! {
            #[allow(clippy::enum_variant_names, reason = "CUDA's names")]
            /// Why a call failed; the numbers are `cudaError_t`'s and mostly the driver's.
            pub Error for Cudart { $($name = $code),* } faults: InvalidValue
        }

        fn wording(code: i32) -> Option<(&'static CStr, &'static CStr)> {
            match code {
                0 => Some((c"cudaSuccess", c"no error")),
                $($code => Some((c_text(concat!("cudaError", stringify!($name), "\0")), c_text(concat!($text, "\0")))),)*
                _ => None,
            }
        }
    };
}

fn c_text(text: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default()
}

errors! {
    InvalidValue = 1, "invalid argument";
    MemoryAllocation = 2, "out of memory";
    InitializationError = 3, "initialization error";
    CudartUnloading = 4, "driver shutting down";
    ProfilerDisabled = 5, "profiler disabled while using external profiling tool";
    ProfilerNotInitialized = 6, "profiler not initialized: call cudaProfilerInitialize()";
    ProfilerAlreadyStarted = 7, "profiler already started";
    ProfilerAlreadyStopped = 8, "profiler already stopped";
    InvalidConfiguration = 9, "invalid configuration argument";
    VersionTranslation = 10, "error trying to translate a driver version";
    InvalidPitchValue = 12, "invalid pitch argument";
    InvalidSymbol = 13, "invalid device symbol";
    InvalidHostPointer = 16, "invalid host pointer";
    InvalidDevicePointer = 17, "invalid device pointer";
    InvalidTexture = 18, "invalid texture reference";
    InvalidTextureBinding = 19, "texture is not bound to a pointer";
    InvalidChannelDescriptor = 20, "invalid channel descriptor";
    InvalidMemcpyDirection = 21, "invalid copy direction for memcpy";
    AddressOfConstant = 22, "address of constant";
    TextureFetchFailed = 23, "fetch from texture failed";
    TextureNotBound = 24, "cannot fetch from a texture that is not bound";
    SynchronizationError = 25, "incorrect use of __syncthreads()";
    InvalidFilterSetting = 26, "linear filtering not supported for non-float type";
    InvalidNormSetting = 27, "read as normalized float not supported for 32-bit non float type";
    MixedDeviceExecution = 28, "device emulation mode and device execution mode cannot be mixed";
    NotYetImplemented = 31, "feature not yet implemented";
    MemoryValueTooLarge = 32, "memory size or pointer value too large to fit in 32 bit";
    StubLibrary = 34, "CUDA driver is a stub library";
    InsufficientDriver = 35, "CUDA driver version is insufficient for CUDA runtime version";
    CallRequiresNewerDriver = 36, "API call is not supported in the installed CUDA driver";
    InvalidSurface = 37, "invalid surface reference";
    DuplicateVariableName = 43, "duplicate global variable looked up by string name";
    DuplicateTextureName = 44, "duplicate texture looked up by string name";
    DuplicateSurfaceName = 45, "duplicate surface looked up by string name";
    DevicesUnavailable = 46, "CUDA-capable device(s) is/are busy or unavailable";
    IncompatibleDriverContext = 49, "incompatible driver context";
    MissingConfiguration = 52, "__global__ function call is not configured";
    PriorLaunchFailure = 53, "unspecified launch failure in prior launch";
    LaunchMaxDepthExceeded = 65, "launch would exceed maximum depth of nested launches";
    LaunchFileScopedTex = 66, "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)";
    LaunchFileScopedSurf = 67, "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)";
    SyncDepthExceeded = 68, "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth";
    LaunchPendingCountExceeded = 69, "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount";
    InvalidDeviceFunction = 98, "invalid device function";
    NoDevice = 100, "no CUDA-capable device is detected";
    InvalidDevice = 101, "invalid device ordinal";
    DeviceNotLicensed = 102, "device doesn't have valid Grid license";
    SoftwareValidityNotEstablished = 103, "integrity checks failed";
    StartupFailure = 127, "startup failure in cuda runtime";
    InvalidKernelImage = 200, "device kernel image is invalid";
    DeviceUninitialized = 201, "invalid device context";
    MapBufferObjectFailed = 205, "mapping of buffer object failed";
    UnmapBufferObjectFailed = 206, "unmapping of buffer object failed";
    ArrayIsMapped = 207, "array is mapped";
    AlreadyMapped = 208, "resource already mapped";
    NoKernelImageForDevice = 209, "no kernel image is available for execution on the device";
    AlreadyAcquired = 210, "resource already acquired";
    NotMapped = 211, "resource not mapped";
    NotMappedAsArray = 212, "resource not mapped as array";
    NotMappedAsPointer = 213, "resource not mapped as pointer";
    ECCUncorrectable = 214, "uncorrectable ECC error encountered";
    UnsupportedLimit = 215, "limit is not supported on this architecture";
    DeviceAlreadyInUse = 216, "exclusive-thread device already in use by a different thread";
    PeerAccessUnsupported = 217, "peer access is not supported between these two devices";
    InvalidPtx = 218, "a PTX JIT compilation failed";
    InvalidGraphicsContext = 219, "invalid OpenGL or DirectX context";
    NvlinkUncorrectable = 220, "uncorrectable NVLink error detected during the execution";
    JitCompilerNotFound = 221, "PTX JIT compiler library not found";
    UnsupportedPtxVersion = 222, "the provided PTX was compiled with an unsupported toolchain.";
    JitCompilationDisabled = 223, "PTX JIT compilation was disabled";
    UnsupportedExecAffinity = 224, "the provided execution affinity is not supported";
    UnsupportedDevSideSync = 225, "the operation cannot be performed in the present state of device-side synchronization";
    Contained = 226, "contained error";
    InvalidSource = 300, "device kernel image is invalid";
    FileNotFound = 301, "file not found";
    SharedObjectSymbolNotFound = 302, "shared object symbol not found";
    SharedObjectInitFailed = 303, "shared object initialization failed";
    OperatingSystem = 304, "OS call failed or operation not supported on this OS";
    InvalidResourceHandle = 400, "invalid resource handle";
    IllegalState = 401, "the operation cannot be performed in the present state";
    LossyQuery = 402, "attempted introspection would be semantically lossy";
    SymbolNotFound = 500, "named symbol not found";
    NotReady = 600, "device not ready";
    IllegalAddress = 700, "an illegal memory access was encountered";
    LaunchOutOfResources = 701, "too many resources requested for launch";
    LaunchTimeout = 702, "the launch timed out and was terminated";
    LaunchIncompatibleTexturing = 703, "launch uses incompatible texturing mode";
    PeerAccessAlreadyEnabled = 704, "peer access is already enabled";
    PeerAccessNotEnabled = 705, "peer access has not been enabled";
    SetOnActiveProcess = 708, "cannot set while device is active in this process";
    ContextIsDestroyed = 709, "context is destroyed";
    Assert = 710, "device-side assert triggered";
    TooManyPeers = 711, "peer mapping resources exhausted";
    HostMemoryAlreadyRegistered = 712, "part or all of the requested memory range is already mapped";
    HostMemoryNotRegistered = 713, "pointer does not correspond to a registered memory region";
    HardwareStackError = 714, "hardware stack error";
    IllegalInstruction = 715, "an illegal instruction was encountered";
    MisalignedAddress = 716, "misaligned address";
    InvalidAddressSpace = 717, "operation not supported on global/shared address space";
    InvalidPc = 718, "invalid program counter";
    LaunchFailure = 719, "unspecified launch failure";
    CooperativeLaunchTooLarge = 720, "too many blocks in cooperative launch";
    TensorMemoryLeak = 721, "tensor memory not completely freed";
    NotPermitted = 800, "operation not permitted";
    NotSupported = 801, "operation not supported";
    SystemNotReady = 802, "system not yet initialized";
    SystemDriverMismatch = 803, "system has unsupported display driver / cuda driver combination";
    CompatNotSupportedOnDevice = 804, "forward compatibility was attempted on non supported HW";
    MpsConnectionFailed = 805, "MPS client failed to connect to the MPS control daemon or the MPS server";
    MpsRpcFailure = 806, "the remote procedural call between the MPS server and the MPS client failed";
    MpsServerNotReady = 807, "MPS server is not ready to accept new MPS client requests";
    MpsMaxClientsReached = 808, "the hardware resources required to create MPS client have been exhausted";
    MpsMaxConnectionsReached = 809, "the hardware resources required to support device connections have been exhausted";
    MpsClientTerminated = 810, "the MPS client has been terminated by the server";
    CdpNotSupported = 811, "the program uses CUDA Dynamic Parallelism, which this configuration does not support";
    CdpVersionMismatch = 812, "the program uses an unsupported version of CUDA Dynamic Parallelism";
    StreamCaptureUnsupported = 900, "operation not permitted when stream is capturing";
    StreamCaptureInvalidated = 901, "operation failed due to a previous error during capture";
    StreamCaptureMerge = 902, "operation would result in a merge of separate capture sequences";
    StreamCaptureUnmatched = 903, "capture was not ended in the same stream as it began";
    StreamCaptureUnjoined = 904, "capturing stream has unjoined work";
    StreamCaptureIsolation = 905, "dependency created on uncaptured work in another stream";
    StreamCaptureImplicit = 906, "operation would make the legacy stream depend on a capturing blocking stream";
    CapturedEvent = 907, "operation not permitted on an event last recorded in a capturing stream";
    StreamCaptureWrongThread = 908, "attempt to terminate a thread-local capture sequence from another thread";
    Timeout = 909, "wait operation timed out";
    GraphExecUpdateFailure = 910, "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    ExternalDevice = 911, "an async error has occurred in external entity outside of CUDA";
    InvalidClusterSize = 912, "a kernel launch error has occurred due to cluster misconfiguration";
    FunctionNotLoaded = 913, "the function handle is not loaded";
    InvalidResourceType = 914, "the provided resource type is not valid for this operation";
    InvalidResourceConfiguration = 915, "the resources are insufficient or not valid for this operation";
    StreamDetached = 917, "the stream is detached";
    Unknown = 999, "unknown error";
    ApiFailureBase = 10000, "api failure base";
}

const UNRECOGNIZED: &CStr = c"unrecognized error code";

ghost_abi::rows! { Cudart;
    fn cudaGetErrorName(error: i32) -> *const c_char => name;
    fn cudaGetErrorString(error: i32) -> *const c_char => text;
    fn cudaGetLastError() -> i32 => last;
    fn cudaPeekAtLastError() -> i32 => peek;
}

fn name(error: i32) -> *const c_char {
    wording(error).map_or(UNRECOGNIZED, |(name, _)| name).as_ptr()
}

fn text(error: i32) -> *const c_char {
    wording(error).map_or(UNRECOGNIZED, |(_, text)| text).as_ptr()
}

fn last() -> i32 {
    guard::take()
}

fn peek() -> i32 {
    guard::peek()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_name_and_a_text() {
        for error in Error::ALL {
            let (name, text) = wording(error.code()).expect("a wording");
            assert_eq!(name.to_str(), Ok(format!("cudaError{}", error.name()).as_str()));
            assert!(!text.is_empty());
        }
    }

    #[test]
    fn success_and_nonsense_have_their_own_words() {
        assert_eq!(wording(0), Some((c"cudaSuccess", c"no error")));
        assert_eq!(wording(12345), None);
    }
}
