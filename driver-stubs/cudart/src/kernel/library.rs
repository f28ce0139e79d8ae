//! Libraries a program loads by itself, at run time.
//! They are the driver's; this remembers the kernels handed out, for they may stand for functions.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::forward::*;
use crate::driver::{cuLibraryEnumerateKernels, cuLibraryGetKernel};
use crate::registry::REGISTRY;
use crate::types::*;
use ghost_abi::{Out, OutList};
use std::ffi::c_char;

ghost_abi::rows! { Cudart;
    fn cudaLibraryLoadData(library: *mut Module, code: Ptr, jit_options: *mut i32, jit_options_values: *mut Ptr, num_jit_options: u32, library_options: *mut i32, library_option_values: *mut Ptr, num_library_options: u32) => cuLibraryLoadData;
    fn cudaLibraryLoadFromFile(library: *mut Module, file_name: *mut c_char, jit_options: *mut i32, jit_options_values: *mut Ptr, num_jit_options: u32, library_options: *mut i32, library_option_values: *mut Ptr, num_library_options: u32) => cuLibraryLoadFromFile;
    fn cudaLibraryUnload(library: Module) => cuLibraryUnload;
    fn cudaLibraryGetKernel(kernel: Out<Kernel>, library: Module, name: *mut c_char) => get_kernel;
    fn cudaLibraryGetKernelCount(count: *mut u32, library: Module) => cuLibraryGetKernelCount;
    fn cudaLibraryEnumerateKernels(kernels: OutList<Kernel>, count: u32, library: Module) => enumerate;
    fn cudaLibraryGetGlobal(dptr: *mut Ptr, bytes: *mut usize, library: Module, name: *mut c_char) => cuLibraryGetGlobal;
    fn cudaLibraryGetManaged(dptr: *mut Ptr, bytes: *mut usize, library: Module, name: *mut c_char) => cuLibraryGetManaged;
    fn cudaLibraryGetUnifiedFunction(fptr: *mut Ptr, library: Module, symbol: *mut c_char) => cuLibraryGetUnifiedFunction;
}

fn get_kernel(kernel: Out<Kernel>, library: Module, name: *mut c_char) -> Result<(), Error> {
    kernel.check()?;
    let mut found = null();
    cuLibraryGetKernel(&raw mut found, library, name)?;
    REGISTRY.hand_out(found);
    Ok(kernel.set(found)?)
}

/// Places beyond the library's kernels stay as they are; the caller's count may be any number.
fn enumerate(kernels: OutList<Kernel>, count: u32, library: Module) -> Result<(), Error> {
    let mut present = 0;
    cuLibraryGetKernelCount(&raw mut present, library)?;
    let count = count.min(present);
    if count > 0 {
        kernels.check()?;
    }
    let mut found = vec![null(); count as usize];
    cuLibraryEnumerateKernels(found.as_mut_ptr(), count, library)?;
    found.iter().filter(|kernel| !kernel.is_null()).for_each(|&kernel| REGISTRY.hand_out(kernel));
    Ok(kernels.set(found.len(), found.into_iter())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_none_is_refused_whatever_the_count() {
        // SAFETY: null lends nothing.
        let nowhere = unsafe { OutList::from_raw(null::<Kernel>().cast()) };
        assert!(enumerate(nowhere, u32::MAX, null()).is_err());
    }
}
