//! Handles, versions, names and the heuristics cache's size.
//! It plans no operation.

use ghost_abi::Out;
use ghost_blas::{
    CUDART_VERSION, CublasLt, Error, Magic, Slots, Tagged, VERSION, VERSION_NUMBER, start_driver, status_texts,
};
use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

ghost_abi::rows! { CublasLt;
    fn cublasLtCreate(handle: Out<Handle>) => create;
    fn cublasLtDestroy(handle: Handle) => destroy;
    fn cublasLtGetVersion() -> usize => version;
    fn cublasLtGetCudartVersion() -> usize => cudart_version;
    fn cublasLtGetProperty(property: i32, value: Out<i32>) => property;
    fn cublasLtGetStatusName(status: i32) -> *const c_char => status_name;
    fn cublasLtGetStatusString(status: i32) -> *const c_char => status_string;
    fn cublasLtHeuristicsCacheGetCapacity(capacity: Out<usize>) => capacity;
    fn cublasLtHeuristicsCacheSetCapacity(capacity: usize) => set_capacity;
}

/// A handle argument: a `cublasLtHandle_t`, or a `cublasHandle_t` cast to one, as PyTorch passes it.
pub type Handle = ghost_blas::Handle<Context>;

/// What our handles point to; of a cuBLAS handle only the magic word is looked at.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Context {
    magic: Magic,
}

static PLACES: Slots<Context> = Slots::new();

/// Entries the heuristics cache may hold; there is none, the number is kept.
static CAPACITY: AtomicUsize = AtomicUsize::new(8192);

// SAFETY: `repr(C)`, begins with its magic word, and `PLACES` never frees one.
unsafe impl Tagged for Context {}

/// Refuses what is no live handle of either library.
pub fn check(handle: Handle) -> Result<(), Error> {
    match handle.magic()? {
        Magic::CUBLAS | Magic::CUBLAS_LT => Ok(()),
        _ => Err(Error::NotInitialized),
    }
}

fn open() -> Handle {
    let context = PLACES.take(|| Context { magic: Magic::new(Magic::NONE) });
    context.magic.set(Magic::CUBLAS_LT);
    Handle::of(context)
}

fn create(handle: Out<Handle>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(open())?)
}

fn destroy(handle: Handle) -> Result<(), Error> {
    let context = handle.get(Magic::CUBLAS_LT)?;
    context.magic.set(Magic::NONE);
    PLACES.give(context);
    Ok(())
}

fn version() -> usize {
    VERSION_NUMBER as usize
}

fn cudart_version() -> usize {
    CUDART_VERSION
}

fn property(property: i32, value: Out<i32>) -> Result<(), Error> {
    let part = usize::try_from(property).ok().and_then(|index| VERSION.get(index));
    Ok(value.set(*part.ok_or(Error::InvalidValue)?)?)
}

fn status_name(status: i32) -> *const c_char {
    status_texts(status)[0].as_ptr()
}

fn status_string(status: i32) -> *const c_char {
    status_texts(status)[1].as_ptr()
}

fn capacity(capacity: Out<usize>) -> Result<(), Error> {
    Ok(capacity.set(CAPACITY.load(Relaxed))?)
}

fn set_capacity(capacity: usize) -> Result<(), Error> {
    CAPACITY.store(capacity, Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_both_libraries_are_taken_and_dead_ones_are_not() {
        let handle = open();
        assert_eq!(check(handle), Ok(()));
        assert_eq!(destroy(handle), Ok(()));
        assert_eq!((check(handle), destroy(handle)), (Err(Error::NotInitialized), Err(Error::NotInitialized)));
        let foreign: &'static Context = Box::leak(Box::new(Context { magic: Magic::new(Magic::CUBLAS) }));
        assert_eq!(check(Handle::of(foreign)), Ok(()));
        assert_eq!(destroy(Handle::of(foreign)), Err(Error::NotInitialized));
        assert_eq!(check(Handle::null()), Err(Error::NotInitialized));
    }

    #[test]
    fn the_version_is_a_number_and_not_a_status() {
        assert_eq!((version(), ghost_abi::ask(|out| property(1, out))), (130_401, Ok(4)));
    }
}
