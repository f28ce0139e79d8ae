//! libnvidia-ml.so.1, opened as any client opens it, and its calls by shape.
//! Structs are read at their offsets; what a value means is `fields`' business.

use std::ffi::{CStr, c_char, c_int, c_void};

/// `nvmlDevice_t`.
pub type Handle = *mut c_void;

/// A call that did not succeed: its code and the library's words for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: i32,
    pub words: String,
}

pub type Result<T> = std::result::Result<T, Failure>;

pub const NOT_SUPPORTED: i32 = 3;
pub const NO_PERMISSION: i32 = 4;
pub const NOT_FOUND: i32 = 6;
pub const INSUFFICIENT_SIZE: i32 = 7;
const FUNCTION_NOT_FOUND: i32 = 13;
pub const GPU_IS_LOST: i32 = 15;

/// Longest text any call writes.
const TEXT_BYTES: u32 = 256;
/// The table of unnamed slots that NVIDIA's own nvidia-smi asks for.
const TABLE_ID: [u8; 16] =
    [0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e, 0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4];

/// The opened library.
#[derive(Debug)]
pub struct Nvml {
    library: *mut c_void,
}

/// What a call wrote into a struct.
#[derive(Clone, Debug)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    fn at<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.0.get(offset..offset + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    pub fn u8(&self, offset: usize) -> u8 {
        self.at::<1>(offset)[0]
    }

    pub fn u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.at(offset))
    }

    pub fn i32(&self, offset: usize) -> i32 {
        i32::from_ne_bytes(self.at(offset))
    }

    pub fn u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.at(offset))
    }

    pub fn raw<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.at(offset)
    }

    pub fn text(&self, offset: usize, bytes: usize) -> String {
        let field = self.0.get(offset..offset + bytes).unwrap_or_default();
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    }
}

/// Calls a function of the library with these arguments; the types are those of its C declaration.
macro_rules! call {
    ($nvml:expr, $name:expr, $($arg:expr => $ty:ty),*) => {{
        let address = $nvml.symbol($name)?;
        // SAFETY: the symbol is the NVML function of that name, whose C declaration has these argument types.
        let function: unsafe extern "C" fn($($ty),*) -> c_int = unsafe { std::mem::transmute(address) };
        // SAFETY: every pointer lends what the declaration says for the length of the call.
        $nvml.check(unsafe { function($($arg),*) })
    }};
}

impl Nvml {
    /// Opens the library by the loader's own search.
    pub fn open() -> Option<Nvml> {
        // SAFETY: the name is NUL-terminated.
        let library = unsafe { libc::dlopen(c"libnvidia-ml.so.1".as_ptr(), libc::RTLD_NOW) };
        (!library.is_null()).then_some(Nvml { library })
    }

    pub fn init(&self) -> Result<()> {
        call!(self, c"nvmlInitWithFlags", 0 => u32)
    }

    pub fn shutdown(&self) {
        if let Ok(address) = self.symbol(c"nvmlShutdown") {
            // SAFETY: nvmlShutdown takes nothing and returns a status.
            let shutdown: unsafe extern "C" fn() -> c_int = unsafe { std::mem::transmute(address) };
            // SAFETY: as above.
            unsafe { shutdown() };
        }
    }

    fn symbol(&self, name: &CStr) -> Result<*mut c_void> {
        // SAFETY: an open library and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.library, name.as_ptr()) };
        if address.is_null() { Err(self.failure(FUNCTION_NOT_FOUND)) } else { Ok(address) }
    }

    fn check(&self, code: i32) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failure(code)) }
    }

    pub fn failure(&self, code: i32) -> Failure {
        // SAFETY: an open library and a NUL-terminated name.
        let address = unsafe { libc::dlsym(self.library, c"nvmlErrorString".as_ptr()) };
        if address.is_null() {
            return Failure { code, words: "Unknown Error".to_owned() };
        }
        // SAFETY: nvmlErrorString takes a status and returns a static C string.
        let words = unsafe {
            let words: unsafe extern "C" fn(c_int) -> *const c_char = std::mem::transmute(address);
            CStr::from_ptr(words(code))
        };
        Failure { code, words: words.to_string_lossy().into_owned() }
    }

    /// A text of the system.
    pub fn system_text(&self, name: &CStr) -> Result<String> {
        text(|buffer, bytes| call!(self, name, buffer => *mut c_char, bytes => u32))
    }

    /// A number of the system.
    pub fn system_number(&self, name: &CStr) -> Result<u32> {
        let mut value = 0;
        call!(self, name, &raw mut value => *mut u32)?;
        Ok(value)
    }

    pub fn process_name(&self, pid: u32) -> Result<String> {
        let mut buffer = vec![0_u8; 4096];
        call!(self, c"nvmlSystemGetProcessName", pid => u32, buffer.as_mut_ptr() => *mut u8, 4096 => u32)?;
        Ok(Bytes(buffer).text(0, 4096))
    }

    pub fn by_index(&self, index: u32) -> Result<Gpu<'_>> {
        let mut handle = std::ptr::null_mut();
        call!(self, c"nvmlDeviceGetHandleByIndex_v2", index => u32, &raw mut handle => *mut Handle)?;
        Ok(Gpu { nvml: self, handle })
    }

    /// By UUID or PCI address, as the function says.
    pub fn by_name(&self, function: &CStr, wanted: &str) -> Result<Gpu<'_>> {
        let wanted = std::ffi::CString::new(wanted).map_err(|_| self.failure(NOT_FOUND))?;
        let mut handle = std::ptr::null_mut();
        call!(self, function, wanted.as_ptr() => *const c_char, &raw mut handle => *mut Handle)?;
        Ok(Gpu { nvml: self, handle })
    }

    /// A function of the unnamed table.
    fn slot(&self, slot: usize) -> Result<*const c_void> {
        let mut table: *const *const c_void = std::ptr::null();
        call!(self, c"nvmlInternalGetExportTable", &raw mut table => *mut *const *const c_void, TABLE_ID.as_ptr() => *const u8)?;
        // SAFETY: the table begins with its size in bytes.
        let size = if table.is_null() { 0 } else { unsafe { *table as usize } };
        if size <= slot * size_of::<usize>() {
            return Err(self.failure(NOT_SUPPORTED));
        }
        // SAFETY: the slot lies within the size.
        Ok(unsafe { *table.add(slot) })
    }

    /// PCI address of the GPU of an index, also of a lost one.
    pub fn bus_id_of(&self, index: u32) -> Result<String> {
        let address = self.slot(81)?;
        // SAFETY: slot 81 takes an index, a buffer and its size.
        let read: unsafe extern "C" fn(u32, *mut c_char, u32) -> c_int = unsafe { std::mem::transmute(address) };
        // SAFETY: the buffer lends as many bytes as it says.
        text(|buffer, bytes| self.check(unsafe { read(index, buffer, bytes) }))
    }
}

/// Reads a text into a buffer that is long enough for any.
fn text(read: impl FnOnce(*mut c_char, u32) -> Result<()>) -> Result<String> {
    let mut buffer = vec![0_u8; TEXT_BYTES as usize];
    read(buffer.as_mut_ptr().cast(), TEXT_BYTES)?;
    Ok(Bytes(buffer).text(0, TEXT_BYTES as usize))
}

/// One GPU.
#[derive(Clone, Copy, Debug)]
pub struct Gpu<'a> {
    pub nvml: &'a Nvml,
    handle: Handle,
}

impl Gpu<'_> {
    pub fn u32(&self, name: &CStr) -> Result<u32> {
        let mut value = 0;
        call!(self.nvml, name, self.handle => Handle, &raw mut value => *mut u32)?;
        Ok(value)
    }

    pub fn u64(&self, name: &CStr) -> Result<u64> {
        let mut value = 0;
        call!(self.nvml, name, self.handle => Handle, &raw mut value => *mut u64)?;
        Ok(value)
    }

    /// Of one kind.
    pub fn u32_of(&self, name: &CStr, kind: u32) -> Result<u32> {
        let mut value = 0;
        call!(self.nvml, name, self.handle => Handle, kind => u32, &raw mut value => *mut u32)?;
        Ok(value)
    }

    pub fn pair(&self, name: &CStr) -> Result<[u32; 2]> {
        let mut v = [0; 2];
        let [a, b] = v.each_mut().map(std::ptr::from_mut);
        call!(self.nvml, name, self.handle => Handle, a => *mut u32, b => *mut u32)?;
        Ok(v)
    }

    pub fn triple(&self, name: &CStr) -> Result<[u32; 3]> {
        let mut v = [0; 3];
        let [a, b, c] = v.each_mut().map(std::ptr::from_mut);
        call!(self.nvml, name, self.handle => Handle, a => *mut u32, b => *mut u32, c => *mut u32)?;
        Ok(v)
    }

    pub fn remapped_rows(&self) -> Result<[u32; 4]> {
        let mut v = [0; 4];
        let [a, b, c, d] = v.each_mut().map(std::ptr::from_mut);
        let name = c"nvmlDeviceGetRemappedRows";
        call!(self.nvml, name, self.handle => Handle, a => *mut u32, b => *mut u32, c => *mut u32, d => *mut u32)?;
        Ok(v)
    }

    pub fn text(&self, name: &CStr) -> Result<String> {
        text(|buffer, bytes| call!(self.nvml, name, self.handle => Handle, buffer => *mut c_char, bytes => u32))
    }

    pub fn text_of(&self, name: &CStr, kind: u32) -> Result<String> {
        text(|b, bytes| call!(self.nvml, name, self.handle => Handle, kind => u32, b => *mut c_char, bytes => u32))
    }

    /// A text whose call takes no length.
    pub fn text_without_length(&self, name: &CStr) -> Result<String> {
        text(|buffer, _| call!(self.nvml, name, self.handle => Handle, buffer => *mut c_char))
    }

    /// A struct without version word, of so many bytes.
    pub fn record(&self, name: &CStr, bytes: usize) -> Result<Bytes> {
        let mut buffer = vec![0_u8; bytes];
        call!(self.nvml, name, self.handle => Handle, buffer.as_mut_ptr() => *mut u8)?;
        Ok(Bytes(buffer))
    }

    /// A struct with a version word, which says its size.
    pub fn versioned(&self, name: &CStr, word: u32) -> Result<Bytes> {
        let mut buffer = vec![0_u8; (word & 0xff_ffff) as usize];
        buffer[..4].copy_from_slice(&word.to_ne_bytes());
        call!(self.nvml, name, self.handle => Handle, buffer.as_mut_ptr() => *mut u8)?;
        Ok(Bytes(buffer))
    }

    /// A field value, as the bits of its union.
    pub fn field(&self, id: u32, scope: u32) -> Result<Bytes> {
        let mut buffer = vec![0_u8; 40];
        buffer[..4].copy_from_slice(&id.to_ne_bytes());
        buffer[4..8].copy_from_slice(&scope.to_ne_bytes());
        let name = c"nvmlDeviceGetFieldValues";
        call!(self.nvml, name, self.handle => Handle, 1 => c_int, buffer.as_mut_ptr() => *mut u8)?;
        let value = Bytes(buffer);
        self.nvml.check(value.i32(28))?;
        Ok(Bytes(value.0[32..].to_vec()))
    }

    pub fn ecc_total(&self, severity: u32, counter: u32) -> Result<u64> {
        let mut value = 0;
        let name = c"nvmlDeviceGetTotalEccErrors";
        call!(self.nvml, name, self.handle => Handle, severity => u32, counter => u32, &raw mut value => *mut u64)?;
        Ok(value)
    }

    pub fn ecc_at(&self, severity: u32, counter: u32, place: u32) -> Result<u64> {
        let mut value = 0;
        let name = c"nvmlDeviceGetMemoryErrorCounter";
        call!(self.nvml, name, self.handle => Handle, severity => u32, counter => u32, place => u32, &raw mut value => *mut u64)?;
        Ok(value)
    }

    /// Supported graphics clocks at a memory clock, highest first; or memory clocks.
    pub fn clocks(&self, memory_mhz: Option<u32>) -> Result<Vec<u32>> {
        let (mut count, mut list) = (1024_u32, vec![0_u32; 1024]);
        let (c, l) = (&raw mut count, list.as_mut_ptr());
        match memory_mhz {
            None => {
                call!(self.nvml, c"nvmlDeviceGetSupportedMemoryClocks", self.handle => Handle, c => *mut u32, l => *mut u32)?
            }
            Some(mhz) => {
                let name = c"nvmlDeviceGetSupportedGraphicsClocks";
                call!(self.nvml, name, self.handle => Handle, mhz => u32, c => *mut u32, l => *mut u32)?;
            }
        }
        list.truncate(count as usize);
        Ok(list)
    }

    /// Compute processes: pid and bytes.
    pub fn processes(&self) -> Result<Vec<(u32, u64)>> {
        const RECORD_BYTES: usize = 24;
        let mut room = 64_u32;
        loop {
            let (mut count, mut buffer) = (room, vec![0_u64; room as usize * RECORD_BYTES / 8]);
            let name = c"nvmlDeviceGetComputeRunningProcesses_v3";
            match call!(self.nvml, name, self.handle => Handle, &raw mut count => *mut u32, buffer.as_mut_ptr() => *mut u64)
            {
                Ok(()) => return Ok((0..count as usize).map(|n| (buffer[n * 3] as u32, buffer[n * 3 + 1])).collect()),
                // More may have come between two calls.
                Err(failure) if failure.code == INSUFFICIENT_SIZE && room < 1 << 20 => room = count.max(room) * 2,
                Err(failure) => return Err(failure),
            }
        }
    }

    /// A function of the GPU alone.
    pub fn say(&self, name: &CStr) -> Result<()> {
        call!(self.nvml, name, self.handle => Handle)
    }

    pub fn set(&self, name: &CStr, value: u32) -> Result<()> {
        call!(self.nvml, name, self.handle => Handle, value => u32)
    }

    pub fn set_pair(&self, name: &CStr, one: u32, other: u32) -> Result<()> {
        call!(self.nvml, name, self.handle => Handle, one => u32, other => u32)
    }

    /// A text of a slot that takes the GPU, a buffer and its size.
    pub fn slot_text(&self, slot: usize, bytes: u32) -> Result<String> {
        let address = self.nvml.slot(slot)?;
        // SAFETY: the caller names a slot of this shape.
        let read: unsafe extern "C" fn(Handle, *mut c_char, u32) -> c_int = unsafe { std::mem::transmute(address) };
        // SAFETY: the buffer is longer than `bytes`.
        text(|buffer, _| self.nvml.check(unsafe { read(self.handle, buffer, bytes) }))
    }
}
