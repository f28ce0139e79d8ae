//! What compiled code registers before `main`: fat binaries, their kernels and their variables.
//! Registering never touches the device; an image is given to the driver when something in it is first used.
//!
//! `import torch` registers 24 132 kernels, most of which never run: registering is a push, and the
//! maps are made at the first look-up.

use crate::codes::Error;
use crate::driver::cuLibraryGetKernel;
use crate::driver::forward::{cuLibraryGetGlobal, cuLibraryGetManaged, cuLibraryLoadData, cuLibraryUnload};
use crate::guard;
use crate::types::*;
use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::ffi::{c_char, c_void};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A registered fat binary, counted from 1 so that none is null in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryId(usize);

impl BinaryId {
    /// The number C holds for it, dressed as a pointer nobody follows.
    pub fn to_c(self) -> *mut Ptr {
        std::ptr::without_provenance_mut(self.0)
    }

    /// The id behind what C handed back.
    pub fn from_c(handle: *mut Ptr) -> Self {
        Self(handle.addr())
    }
}

/// An address in the registering program.
#[derive(Debug, Clone, Copy)]
struct Address(Ptr);

// SAFETY: a number here; the driver reads what it points to, which is constant data of the program.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

#[derive(Debug)]
struct Binary {
    image: Address,
    library: AtomicPtr<c_void>,
    gone: bool,
}

#[derive(Debug)]
struct KernelEntry {
    host: usize,
    name: Address,
    binary: BinaryId,
    kernel: AtomicPtr<c_void>,
}

/// A variable of device code and its shadow on the host.
#[derive(Debug, Clone, Copy)]
struct Variable {
    host: usize,
    name: Address,
    binary: BinaryId,
    bytes: usize,
    managed: bool,
}

/// Addresses need no more mixing than this.
#[derive(Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

type Map<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

#[derive(Debug)]
struct Tables {
    binaries: Vec<Binary>,
    kernels: Vec<KernelEntry>,
    variables: Vec<Variable>,
    kernel_of: Map<u32>,
    variable_of: Map<u32>,
    /// How many of each vector the maps know.
    indexed: (usize, usize),
    /// Whether entries of a binary that is gone are still in the vectors.
    stale: bool,
    handed_out: HashSet<usize, BuildHasherDefault<AddressHasher>>,
}

impl Tables {
    const fn new() -> Self {
        Self {
            binaries: Vec::new(),
            kernels: Vec::new(),
            variables: Vec::new(),
            kernel_of: HashMap::with_hasher(BuildHasherDefault::new()),
            variable_of: HashMap::with_hasher(BuildHasherDefault::new()),
            indexed: (0, 0),
            stale: false,
            handed_out: HashSet::with_hasher(BuildHasherDefault::new()),
        }
    }

    fn is_indexed(&self) -> bool {
        self.indexed == (self.kernels.len(), self.variables.len()) && !self.stale
    }

    fn index(&mut self) {
        if self.stale {
            self.purge();
        }
        let (kernels, variables) = self.indexed;
        for (at, entry) in self.kernels.iter().enumerate().skip(kernels) {
            self.kernel_of.insert(entry.host, at as u32);
        }
        for (at, entry) in self.variables.iter().enumerate().skip(variables) {
            self.variable_of.insert(entry.host, at as u32);
        }
        self.indexed = (self.kernels.len(), self.variables.len());
    }

    fn purge(&mut self) {
        let gone: Vec<bool> = self.binaries.iter().map(|binary| binary.gone).collect();
        let stays = |binary: BinaryId| !gone.get(binary.0 - 1).copied().unwrap_or(true);
        self.kernels.retain(|entry| stays(entry.binary));
        self.variables.retain(|entry| stays(entry.binary));
        self.kernel_of.clear();
        self.variable_of.clear();
        self.indexed = (0, 0);
        self.stale = false;
    }

    fn binary(&self, id: BinaryId) -> Option<&Binary> {
        self.binaries.get(id.0.checked_sub(1)?).filter(|binary| !binary.gone)
    }

    fn kernel(&self, host: usize) -> Option<&KernelEntry> {
        self.kernels.get(*self.kernel_of.get(&host)? as usize)
    }
}

/// The tables of one process.
#[derive(Debug)]
pub struct Registry {
    tables: RwLock<Tables>,
    /// Held while an image goes to the driver, so that it goes there once.
    loading: Mutex<()>,
}

/// This process's registry.
pub static REGISTRY: Registry = Registry::new();

impl Registry {
    const fn new() -> Self {
        Self { tables: RwLock::new(Tables::new()), loading: Mutex::new(()) }
    }

    /// Takes a fat binary; the image stays where it is.
    pub fn add_binary(&self, image: Ptr) -> BinaryId {
        let mut tables = self.tables.write();
        tables.binaries.push(Binary { image: Address(image), library: AtomicPtr::new(null()), gone: false });
        BinaryId(tables.binaries.len())
    }

    /// Takes a kernel under the address of its host function.
    pub fn add_kernel(&self, binary: BinaryId, host: Ptr, name: *mut c_char) {
        let entry =
            KernelEntry { host: host.addr(), name: Address(name.cast()), binary, kernel: AtomicPtr::new(null()) };
        self.tables.write().kernels.push(entry);
    }

    /// Takes a variable under the address of its host shadow.
    pub fn add_variable(&self, binary: BinaryId, host: Ptr, name: *mut c_char, bytes: usize, managed: bool) {
        let entry = Variable { host: host.addr(), name: Address(name.cast()), binary, bytes, managed };
        self.tables.write().variables.push(entry);
    }

    /// Forgets a binary and all that was registered with it. While the process exits the driver is
    /// left alone: it may be gone already.
    pub fn remove_binary(&self, id: BinaryId) {
        let library = {
            let mut tables = self.tables.write();
            let Some(binary) = id.0.checked_sub(1).and_then(|at| tables.binaries.get_mut(at)) else { return };
            binary.gone = true;
            let library = std::mem::replace(binary.library.get_mut(), null());
            tables.stale = true;
            library
        };
        if !library.is_null() && !guard::is_unloading() {
            // The driver's refusal has nobody to go to: the C function returns nothing.
            let _ = cuLibraryUnload(library);
        }
    }

    /// The kernel behind a host function, or a kernel handle itself.
    pub fn kernel(&self, function: Ptr) -> Result<Kernel, Error> {
        {
            let tables = self.indexed();
            match tables.kernel(function.addr()) {
                Some(entry) => {
                    let kernel = entry.kernel.load(Ordering::Acquire);
                    if !kernel.is_null() {
                        return Ok(kernel);
                    }
                }
                None if tables.handed_out.contains(&function.addr()) => return Ok(function),
                None => return Err(Error::InvalidDeviceFunction),
            }
        }
        self.load_kernel(function.addr())
    }

    /// Remembers a kernel handle the caller got from a library of its own.
    pub fn hand_out(&self, kernel: Kernel) {
        if !self.tables.read().handed_out.contains(&kernel.addr()) {
            self.tables.write().handed_out.insert(kernel.addr());
        }
    }

    #[cold]
    fn load_kernel(&self, host: usize) -> Result<Kernel, Error> {
        let found = self.tables.read().kernel(host).map(|entry| (entry.name, entry.binary));
        let (name, binary) = found.ok_or(Error::InvalidDeviceFunction)?;
        let library = self.library(binary)?;
        let mut kernel = null();
        cuLibraryGetKernel(&raw mut kernel, library, name.0.cast::<c_char>()).map_err(as_kernel_error)?;
        if let Some(entry) = self.tables.read().kernel(host) {
            entry.kernel.store(kernel, Ordering::Release);
        }
        self.hand_out(kernel);
        Ok(kernel)
    }

    /// A binary as the driver's library, loaded now if it was not.
    fn library(&self, id: BinaryId) -> Result<Module, Error> {
        let _once = self.loading.lock();
        let (image, known) = {
            let tables = self.tables.read();
            let binary = tables.binary(id).ok_or(Error::InvalidResourceHandle)?;
            (binary.image, binary.library.load(Ordering::Acquire))
        };
        if !known.is_null() {
            return Ok(known);
        }
        let (mut library, none) = (null(), null::<i32>());
        let values = null::<Ptr>();
        cuLibraryLoadData(&raw mut library, image.0, none, values, 0_u32, none, values, 0_u32)?;
        if let Some(binary) = self.tables.read().binary(id) {
            binary.library.store(library, Ordering::Release);
        }
        Ok(library)
    }

    /// Where a variable is in the current context, and its size in bytes.
    pub fn symbol(&self, host: Ptr) -> Result<(Ptr, usize), Error> {
        let variable = self.variable(host)?;
        let library = self.library(variable.binary)?;
        let (mut address, mut bytes) = (null(), 0);
        let name = variable.name.0.cast::<c_char>();
        let asked = if variable.managed {
            cuLibraryGetManaged(&raw mut address, &raw mut bytes, library, name)
        } else {
            cuLibraryGetGlobal(&raw mut address, &raw mut bytes, library, name)
        };
        asked.map_err(as_symbol_error)?;
        Ok((address, bytes))
    }

    /// The size a variable was registered with, in bytes.
    pub fn symbol_bytes(&self, host: Ptr) -> Result<usize, Error> {
        self.variable(host).map(|variable| variable.bytes)
    }

    /// The host pointers of a binary's managed variables.
    pub fn managed(&self, id: BinaryId) -> Vec<Ptr> {
        let tables = self.tables.read();
        let managed = tables.variables.iter().filter(|variable| variable.managed && variable.binary == id);
        managed.map(|variable| std::ptr::with_exposed_provenance_mut(variable.host)).collect()
    }

    fn variable(&self, host: Ptr) -> Result<Variable, Error> {
        let tables = self.indexed();
        let at = tables.variable_of.get(&host.addr()).copied();
        at.and_then(|at| tables.variables.get(at as usize)).copied().ok_or(Error::InvalidSymbol)
    }

    #[inline]
    fn indexed(&self) -> parking_lot::RwLockReadGuard<'_, Tables> {
        let tables = self.tables.read();
        if tables.is_indexed() {
            return tables;
        }
        drop(tables);
        let mut tables = self.tables.write();
        tables.index();
        parking_lot::RwLockWriteGuard::downgrade(tables)
    }
}

fn as_kernel_error(error: Error) -> Error {
    if error == Error::SymbolNotFound { Error::InvalidDeviceFunction } else { error }
}

fn as_symbol_error(error: Error) -> Error {
    if error == Error::SymbolNotFound { Error::InvalidSymbol } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> Ptr {
        std::ptr::without_provenance_mut(address)
    }

    #[test]
    fn what_was_not_registered_is_not_found() {
        let registry = Registry::new();
        assert_eq!(registry.kernel(at(0x1000)), Err(Error::InvalidDeviceFunction));
        assert_eq!(registry.symbol_bytes(at(0x2000)), Err(Error::InvalidSymbol));
    }

    #[test]
    fn a_variable_is_found_by_its_shadow_even_if_registered_after_a_look_up() {
        let registry = Registry::new();
        let binary = registry.add_binary(at(0x10));
        registry.add_variable(binary, at(0x2000), null(), 64, false);
        assert_eq!(registry.symbol_bytes(at(0x2000)), Ok(64));
        registry.add_variable(binary, at(0x3000), null(), 8, true);
        assert_eq!(registry.symbol_bytes(at(0x3000)), Ok(8));
        assert_eq!(registry.managed(binary), [at(0x3000)]);
    }

    #[test]
    fn removing_a_binary_takes_only_its_own_entries() {
        let registry = Registry::new();
        let (first, second) = (registry.add_binary(at(0x10)), registry.add_binary(at(0x20)));
        registry.add_variable(first, at(0x2000), null(), 1, false);
        registry.add_variable(second, at(0x3000), null(), 2, false);
        registry.remove_binary(first);
        assert_eq!(registry.symbol_bytes(at(0x2000)), Err(Error::InvalidSymbol));
        assert_eq!(registry.symbol_bytes(at(0x3000)), Ok(2));
    }

    #[test]
    fn a_kernel_handle_of_a_library_is_a_function_too() {
        let registry = Registry::new();
        registry.hand_out(at(0x77));
        assert_eq!(registry.kernel(at(0x77)), Ok(at(0x77)));
    }

    #[test]
    fn a_binary_s_handle_survives_the_way_through_c() {
        let registry = Registry::new();
        let binary = registry.add_binary(at(0x10));
        assert!(!binary.to_c().is_null());
        assert_eq!(BinaryId::from_c(binary.to_c()), binary);
    }
}
