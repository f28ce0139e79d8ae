//! Modules and libraries: kernel images, their functions and globals. An image is decoded at first need, outside the
//! lock, and only its metadata is kept. It launches nothing.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, OnceLock};

use ghost_abi::{CStrIn, MaybeOut, Out, OutList};

use crate::arena::Handle;
use crate::driver::Driver;
use crate::fatbin::{self, BadImage, Image, KernelInfo};
use crate::{Cuda, Error, context, driver, memory, price, small};

ghost_abi::rows! { Cuda;
    fn cuModuleLoad(module: Out<*mut c_void>, file: CStrIn) => load_file;
    fn cuModuleLoadData(module: Out<*mut c_void>, image: *const u8) => load_data;
    fn cuModuleLoadDataEx(module: Out<*mut c_void>, image: *const u8, count: u32, options: *const i32, values: *const *mut c_void) => load_data_ex;
    fn cuModuleLoadFatBinary(module: Out<*mut c_void>, image: *const u8) => load_data;
    fn cuModuleUnload(module: *mut c_void) => unload;
    fn cuModuleGetLoadingMode(mode: Out<i32>) => loading_mode;
    fn cuModuleGetFunction(function: Out<*mut c_void>, module: *mut c_void, name: CStrIn) => get_function;
    fn cuModuleGetFunctionCount(count: Out<u32>, module: *mut c_void) => function_count;
    fn cuModuleEnumerateFunctions(functions: OutList<*mut c_void>, count: u32, module: *mut c_void) => enumerate_functions;
    since 3020 fn cuModuleGetGlobal_v2(address: MaybeOut<u64>, bytes: MaybeOut<usize>, module: *mut c_void, name: CStrIn) => get_global;
    since 12000 fn cuLibraryLoadData(library: Out<*mut c_void>, code: *const u8, jit: *const i32, jit_values: *const *mut c_void, jit_count: u32, options: *const i32, values: *const *mut c_void, count: u32) => library_load_data;
    since 12000 fn cuLibraryLoadFromFile(library: Out<*mut c_void>, file: CStrIn, jit: *const i32, jit_values: *const *mut c_void, jit_count: u32, options: *const i32, values: *const *mut c_void, count: u32) => library_load_file;
    since 12000 fn cuLibraryUnload(library: *mut c_void) => unload;
    since 12000 fn cuLibraryGetKernel(kernel: Out<*mut c_void>, library: *mut c_void, name: CStrIn) => get_function;
    since 12040 fn cuLibraryGetKernelCount(count: Out<u32>, library: *mut c_void) => function_count;
    since 12040 fn cuLibraryEnumerateKernels(kernels: OutList<*mut c_void>, count: u32, library: *mut c_void) => enumerate_functions;
    since 12000 fn cuLibraryGetModule(module: Out<*mut c_void>, library: *mut c_void) => library_module;
    since 12000 fn cuLibraryGetGlobal(address: MaybeOut<u64>, bytes: MaybeOut<usize>, library: *mut c_void, name: CStrIn) => get_global;
    since 12000 fn cuLibraryGetManaged(address: MaybeOut<u64>, bytes: MaybeOut<usize>, library: *mut c_void, name: CStrIn) => get_managed;
    since 12000 fn cuLibraryGetUnifiedFunction(function: Out<*mut c_void>, library: *mut c_void, name: CStrIn) => unified_function;
    since 12000 fn cuKernelGetFunction(function: Out<*mut c_void>, kernel: *mut c_void) => kernel_function;
    since 12050 fn cuKernelGetLibrary(library: Out<*mut c_void>, kernel: *mut c_void) => function_module;
    since 12030 fn cuKernelGetName(name: Out<*const c_char>, kernel: *mut c_void) => function_name;
    since 12030 fn cuFuncGetName(name: Out<*const c_char>, function: *mut c_void) => function_name;
    fn cuFuncGetModule(module: Out<*mut c_void>, function: *mut c_void) => function_module;
    since 12040 fn cuKernelGetParamInfo(kernel: *mut c_void, index: usize, offset: Out<usize>, bytes: MaybeOut<usize>) => param_info;
    since 12040 fn cuFuncGetParamInfo(function: *mut c_void, index: usize, offset: Out<usize>, bytes: MaybeOut<usize>) => param_info;
    since 12040 fn cuFuncIsLoaded(state: Out<i32>, function: *mut c_void) => is_loaded;
    since 12040 fn cuFuncLoad(function: *mut c_void) => func_load;
}

/// A module or library.
#[derive(Debug)]
pub struct Module {
    /// `None` for libraries, which belong to no context.
    pub context: Option<Handle>,
    pub image: Arc<LazyImage>,
    functions: HashMap<String, Handle>,
    globals: HashMap<String, (u64, u64)>,
}

/// An image whose metadata is decoded at first need.
#[derive(Debug)]
pub struct LazyImage {
    /// Address and length of bytes that stay where they are: a fat binary inside a loaded object.
    bytes: (usize, usize),
    decoded: OnceLock<Result<Image, BadImage>>,
}

impl LazyImage {
    fn decoded(image: Image) -> LazyImage {
        LazyImage { bytes: (0, 0), decoded: OnceLock::from(Ok(image)) }
    }

    fn get(&self) -> Result<&Image, Error> {
        let decode = || {
            // SAFETY: only made for images that stay mapped (see `load_image`).
            fatbin::load(unsafe { std::slice::from_raw_parts(self.bytes.0 as *const u8, self.bytes.1) })
        };
        self.decoded.get_or_init(decode).as_ref().map_err(|bad| code(*bad))
    }
}

fn code(bad: BadImage) -> Error {
    match bad {
        BadImage::Unrecognised | BadImage::Malformed => Error::InvalidImage,
        BadImage::NoBinaryForGpu => Error::NoBinaryForGpu,
    }
}

/// A kernel, with everything a launch needs to know.
#[derive(Debug)]
pub struct Function {
    pub module: Handle,
    pub loaded: Arc<Loaded>,
    pub max_dynamic_shared_bytes: u32,
    pub carveout: i32,
    pub non_portable_cluster: bool,
    pub cluster: [i32; 3],
}

/// What is found out about a kernel once.
#[derive(Debug)]
pub struct Loaded {
    pub info: Arc<KernelInfo>,
    pub name: std::ffi::CString,
    pub class: price::Class,
    pub effect: small::Effect,
}

/// First word of the wrapper that the compiler puts around a fat binary inside an object.
const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// Takes an image. A wrapped fat binary lies in a loaded object and is decoded later; anything else may be freed
/// by the caller after this call and is decoded now.
fn load_image(data: *const u8) -> Result<LazyImage, Error> {
    if data.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the caller passes a complete image of one of the documented formats.
    let (bytes, magic) = unsafe { (fatbin::bytes_at(data).map_err(code)?, data.cast::<u32>().read_unaligned()) };
    if magic == WRAPPER_MAGIC {
        return Ok(LazyImage { bytes: (bytes.as_ptr() as usize, bytes.len()), decoded: OnceLock::new() });
    }
    Ok(LazyImage::decoded(fatbin::load(bytes).map_err(code)?))
}

fn read_file(file: &CStrIn) -> Result<LazyImage, Error> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(file.get()?.to_bytes()));
    let bytes = std::fs::read(path).map_err(|_| Error::FileNotFound)?;
    Ok(LazyImage::decoded(fatbin::load(&bytes).map_err(code)?))
}

fn add(driver: &Driver, context: Option<Handle>, image: LazyImage) -> Handle {
    let module = Module { context, image: Arc::new(image), functions: HashMap::new(), globals: HashMap::new() };
    driver.core().modules.insert(module)
}

fn load(module: &Out<*mut c_void>, image: LazyImage) -> Result<(), Error> {
    let driver = driver::get()?;
    let (context, _) = context::current(&driver.core())?;
    Ok(module.set(add(driver, Some(context), image).pointer())?)
}

fn load_file(module: Out<*mut c_void>, file: CStrIn) -> Result<(), Error> {
    module.check()?;
    driver::get()?;
    load(&module, read_file(&file)?)
}

fn load_data(module: Out<*mut c_void>, image: *const u8) -> Result<(), Error> {
    module.check()?;
    driver::get()?;
    load(&module, load_image(image)?)
}

/// JIT options change nothing: no code is compiled.
fn load_data_ex(
    module: Out<*mut c_void>,
    image: *const u8,
    _count: u32,
    _options: *const i32,
    _values: *const *mut c_void,
) -> Result<(), Error> {
    load_data(module, image)
}

#[expect(clippy::too_many_arguments, reason = "a C signature")]
fn library_load_data(
    library: Out<*mut c_void>,
    code: *const u8,
    _jit: *const i32,
    _jit_values: *const *mut c_void,
    _jit_count: u32,
    _options: *const i32,
    _values: *const *mut c_void,
    _count: u32,
) -> Result<(), Error> {
    library.check()?;
    let driver = driver::get()?;
    Ok(library.set(add(driver, None, load_image(code)?).pointer())?)
}

#[expect(clippy::too_many_arguments, reason = "a C signature")]
fn library_load_file(
    library: Out<*mut c_void>,
    file: CStrIn,
    _jit: *const i32,
    _jit_values: *const *mut c_void,
    _jit_count: u32,
    _options: *const i32,
    _values: *const *mut c_void,
    _count: u32,
) -> Result<(), Error> {
    library.check()?;
    let driver = driver::get()?;
    Ok(library.set(add(driver, None, read_file(&file)?).pointer())?)
}

fn unload(module: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let mut core = driver.core();
    let module = core.modules.remove(Handle::of(module)).ok_or(Error::InvalidHandle)?;
    for handle in module.functions.values() {
        core.functions.remove(*handle);
    }
    Ok(())
}

/// Kernels are decoded at first need: lazy loading.
fn loading_mode(mode: Out<i32>) -> Result<(), Error> {
    Ok(mode.set(2)?)
}

/// The image of a module, decoded without holding the lock.
fn image(driver: &Driver, module: Handle) -> Result<Arc<LazyImage>, Error> {
    Ok(driver.core().modules.get(module).ok_or(Error::InvalidHandle)?.image.clone())
}

fn get_function(function: Out<*mut c_void>, module: *mut c_void, name: CStrIn) -> Result<(), Error> {
    function.check()?;
    let driver = driver::get()?;
    let module = Handle::of(module);
    let name = name.get()?;
    Ok(function.set(find(driver, module, name)?.pointer())?)
}

fn find(driver: &Driver, module: Handle, name: &CStr) -> Result<Handle, Error> {
    let text = name.to_str().map_err(|_| Error::NotFound)?;
    let known = |core: &crate::core::Core| core.modules.get(module)?.functions.get(text).copied();
    if let Some(handle) = known(&driver.core()) {
        return Ok(handle);
    }
    let image = image(driver, module)?;
    let info = image.get()?.kernels.get(text).ok_or(Error::NotFound)?.clone();
    let loaded = Loaded { class: price::classify(&info), effect: small::judge(&info), name: name.to_owned(), info };
    let mut core = driver.core();
    if let Some(handle) = known(&core) {
        return Ok(handle);
    }
    let handle = core.functions.insert(Function {
        module,
        loaded: Arc::new(loaded),
        max_dynamic_shared_bytes: driver.profile.cuda.shared_bytes_per_block,
        carveout: -1,
        non_portable_cluster: false,
        cluster: [0; 3],
    });
    let module = core.modules.get_mut(module).ok_or(Error::InvalidHandle)?;
    module.functions.insert(text.to_owned(), handle);
    Ok(handle)
}

fn function_count(count: Out<u32>, module: *mut c_void) -> Result<(), Error> {
    let image = image(driver::get()?, Handle::of(module))?;
    Ok(count.set(image.get()?.kernels.len() as u32)?)
}

fn enumerate_functions(functions: OutList<*mut c_void>, count: u32, module: *mut c_void) -> Result<(), Error> {
    let driver = driver::get()?;
    let module = Handle::of(module);
    let image = image(driver, module)?;
    let mut names: Vec<&String> = image.get()?.kernels.keys().collect();
    names.sort();
    let handles: Vec<*mut c_void> = names
        .into_iter()
        .take(count as usize)
        .map(|name| {
            let name = std::ffi::CString::new(name.as_str()).map_err(|_| Error::NotFound)?;
            find(driver, module, &name).map(Handle::pointer)
        })
        .collect::<Result<_, _>>()?;
    functions.fill(count as usize, handles.into_iter())?;
    Ok(())
}

/// A global variable gets its device memory at first need; its initial value is not kept, it reads zero.
fn get_global(address: MaybeOut<u64>, bytes: MaybeOut<usize>, module: *mut c_void, name: CStrIn) -> Result<(), Error> {
    let driver = driver::get()?;
    let module = Handle::of(module);
    let name = name.get()?.to_str().map_err(|_| Error::NotFound)?;
    let image = image(driver, module)?;
    let size = *image.get()?.globals.get(name).ok_or(Error::NotFound)?;
    let mut core = driver.core();
    let (_, device) = context::current(&core)?;
    let known = core.modules.get(module).and_then(|m| m.globals.get(name).copied());
    let (at, len) = match known {
        Some(global) => global,
        None => {
            let at = memory::take(driver, &mut core, device, size.max(1) as usize)?;
            let module = core.modules.get_mut(module).ok_or(Error::InvalidHandle)?;
            module.globals.insert(name.to_owned(), (at, size));
            (at, size)
        }
    };
    address.set(at);
    bytes.set(len as usize);
    Ok(())
}

/// Managed globals are not emulated.
fn get_managed(_: MaybeOut<u64>, _: MaybeOut<usize>, module: *mut c_void, _name: CStrIn) -> Result<(), Error> {
    image(driver::get()?, Handle::of(module))?;
    Err(Error::NotFound)
}

/// Function pointers into device code do not exist here.
fn unified_function(_function: Out<*mut c_void>, library: *mut c_void, _name: CStrIn) -> Result<(), Error> {
    image(driver::get()?, Handle::of(library))?;
    Err(Error::NotFound)
}

/// A module is a library without a context; both use one handle.
fn library_module(module: Out<*mut c_void>, library: *mut c_void) -> Result<(), Error> {
    image(driver::get()?, Handle::of(library))?;
    Ok(module.set(library)?)
}

/// Kernels and functions share their handles.
fn kernel_function(function: Out<*mut c_void>, kernel: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().functions.get(Handle::of(kernel)).ok_or(Error::InvalidHandle)?;
    Ok(function.set(kernel)?)
}

fn function_module(module: Out<*mut c_void>, function: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    Ok(module.set(function.module.pointer())?)
}

/// The name lives as long as its module.
fn function_name(name: Out<*const c_char>, function: *mut c_void) -> Result<(), Error> {
    let core = driver::get()?.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    Ok(name.set(function.loaded.name.as_ptr())?)
}

fn param_info(function: *mut c_void, index: usize, offset: Out<usize>, bytes: MaybeOut<usize>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let function = core.functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    let param = function.loaded.info.params.get(index).ok_or(Error::InvalidValue)?;
    offset.set(param.offset as usize)?;
    bytes.set(param.bytes as usize);
    Ok(())
}

fn is_loaded(state: Out<i32>, function: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().functions.get(Handle::of(function)).ok_or(Error::InvalidHandle)?;
    Ok(state.set(1)?)
}

fn func_load(function: *mut c_void) -> Result<(), Error> {
    driver::get()?.core().functions.get(Handle::of(function)).map(|_| ()).ok_or(Error::InvalidHandle)
}
