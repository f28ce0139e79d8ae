//! Kernel nodes: function, geometry, a copy of the arguments, launch attributes.

use std::ffi::c_void;
use std::sync::Arc;

use ghost_abi::{In, InList, Out};

use super::node::{Place, add, replace};
use super::params::{KernelV1, KernelV2};
use super::{Body, NodeKind, Params, node_of, node_of_mut, pack};
use crate::arena::Handle;
use crate::core::Core;
use crate::driver::Driver;
use crate::module::Loaded;
use crate::price::{self, Geometry};
use crate::queue::Priced;
use crate::{Error, context, driver, small};

/// A launch that a node keeps.
#[derive(Debug)]
pub struct Kernel {
    pub function: Handle,
    pub loaded: Arc<Loaded>,
    pub geometry: Geometry,
    packed: Box<[u8]>,
    /// Address of each argument within `packed`, which lives and stays as long as this does.
    pointers: Box<[u64]>,
}

impl Kernel {
    pub fn new(function: Handle, loaded: Arc<Loaded>, geometry: Geometry, packed: &[u8]) -> Kernel {
        let packed: Box<[u8]> = packed.into();
        let base = packed.as_ptr() as u64;
        let known = loaded.info.params.iter().filter(|p| (p.offset as usize) < packed.len());
        let pointers = known.map(|p| base + u64::from(p.offset)).collect();
        Kernel { function, loaded, geometry, packed, pointers }
    }

    /// As C asks for it; the argument pointers are good while the node keeps these parameters.
    pub fn params(&self) -> KernelV2 {
        let (grid, block, shared_bytes) = (self.geometry.grid, self.geometry.block, self.geometry.shared_bytes);
        let params =
            if self.pointers.is_empty() { std::ptr::null() } else { self.pointers.as_ptr().cast::<*const u8>() };
        KernelV1 { function: self.function.pointer(), grid, block, shared_bytes, params, extra: std::ptr::null() }
            .into()
    }

    fn apply(&self, core: &mut Core) {
        small::apply(&self.loaded.effect, &self.geometry, &self.packed, &mut core.store);
    }
}

/// A node that does this launch.
pub fn work(priced: Priced, kernel: Kernel) -> Body {
    let kernel = Arc::new(kernel);
    let kept = kernel.clone();
    let run = Arc::new(move |core: &mut Core| kept.apply(core));
    Body::Work { kind: NodeKind::Kernel, priced, run, params: Params::Kernel(kernel) }
}

/// A node of these parameters. The function is a function or, if that is null, a kernel.
pub fn body(driver: &Driver, core: &mut Core, asked: &KernelV2) -> Result<Body, Error> {
    let (_, device) = context::current(core)?;
    let first = &asked.first;
    let name = if first.function.is_null() { asked.kernel } else { first.function };
    let function = core.functions.get(Handle::of(name)).ok_or(Error::InvalidValue)?;
    let geometry = Geometry { grid: first.grid, block: first.block, shared_bytes: first.shared_bytes };
    pack::check(driver, function, &geometry)?;
    let packed = pack::pack(&function.loaded, first)?;
    let loaded = function.loaded.clone();
    let operation = price::operation(&loaded.class, &geometry, &packed);
    let priced = driver.price(core, device, &operation, name as u64);
    Ok(work(priced, Kernel::new(Handle::of(name), loaded, geometry, &packed)))
}

pub fn add_kernel(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    params: In<KernelV1>,
) -> Result<(), Error> {
    let params = params.get()?.into();
    add(Place { node, graph, after, count }, |driver, core| body(driver, core, &params))
}

pub fn add_kernel_v2(
    node: Out<*mut c_void>,
    graph: *mut c_void,
    after: InList<*mut c_void>,
    count: usize,
    params: In<KernelV2>,
) -> Result<(), Error> {
    let params = params.get()?;
    add(Place { node, graph, after, count }, |driver, core| body(driver, core, &params))
}

fn kept(node: *mut c_void) -> Result<KernelV2, Error> {
    let core = driver::get()?.core();
    match &node_of(&core, node)?.body {
        Body::Work { params: Params::Kernel(kernel), .. } => Ok(kernel.params()),
        Body::Work { kind: NodeKind::Kernel, .. } => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

pub fn get_kernel(node: *mut c_void, params: Out<KernelV1>) -> Result<(), Error> {
    Ok(params.set(kept(node)?.first)?)
}

pub fn get_kernel_v2(node: *mut c_void, params: Out<KernelV2>) -> Result<(), Error> {
    Ok(params.set(kept(node)?)?)
}

pub fn set_kernel(node: *mut c_void, params: In<KernelV1>) -> Result<(), Error> {
    let params = params.get()?.into();
    replace(node, |driver, core, _| body(driver, core, &params))
}

pub fn set_kernel_v2(node: *mut c_void, params: In<KernelV2>) -> Result<(), Error> {
    let params = params.get()?;
    replace(node, |driver, core, _| body(driver, core, &params))
}

/// `CUlaunchAttributeID` goes up to here in CUDA 13.2, with room for a few more.
const LAST_ATTRIBUTE: u32 = 24;

fn check_attribute(attribute: u32, kind: NodeKind) -> Result<(), Error> {
    let known = (1..=LAST_ATTRIBUTE).contains(&attribute) && kind == NodeKind::Kernel;
    if known { Ok(()) } else { Err(Error::InvalidValue) }
}

pub fn get_attribute(node: *mut c_void, attribute: u32, value: Out<[u64; 8]>) -> Result<(), Error> {
    let core = driver::get()?.core();
    let node = node_of(&core, node)?;
    check_attribute(attribute, node.body.kind())?;
    Ok(value.set(node.attributes.get(&attribute).copied().unwrap_or_default())?)
}

pub fn set_attribute(node: *mut c_void, attribute: u32, value: In<[u64; 8]>) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let node = node_of_mut(&mut core, node)?;
    check_attribute(attribute, node.body.kind())?;
    node.attributes.insert(attribute, value.get()?);
    Ok(())
}

pub fn copy_attributes(to: *mut c_void, from: *mut c_void) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let from = node_of(&core, from)?;
    let (kind, attributes) = (from.body.kind(), from.attributes.clone());
    let to = node_of_mut(&mut core, to)?;
    if kind != NodeKind::Kernel || to.body.kind() != NodeKind::Kernel {
        return Err(Error::InvalidValue);
    }
    to.attributes = attributes;
    Ok(())
}
