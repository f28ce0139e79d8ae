//! Small data is real: bytes of small copies and memsets are kept, and a few control kernels really run on them.
//! Everything else that writes device memory leaves zeros; stale bytes are never shown.
//!
//! [`judge`] looks at a kernel once: its demangled name and its parameter sizes find it in a table, or it is a kernel
//! nobody runs, whose output pointers become zero at every launch. [`apply`] does a launch. How reads find their way
//! past old bytes is told in the store.

mod amp;
mod cat;
mod counters;
mod elementwise;
mod functor;
mod minifloat;
mod moves;
mod names;
mod near;
mod op;
mod params;
mod piece;
mod pointers;
mod range;
mod reduce;
mod scalar;
mod store;
mod tensor_info;
#[cfg(test)]
mod testing;

use crate::fatbin::KernelInfo;
use crate::price::Geometry;
pub use counters::{Counters, Skipped};
use names::Name;
use params::Params;
pub use pointers::{DEVICE_RANGE, set_device_range};
pub use store::{OPERATION_LIMIT_BYTES, PROCESS_LIMIT_BYTES, Store};

/// What a launch does to kept data; found once per kernel by its name and parameter layout.
#[derive(Clone, Debug)]
pub struct Effect {
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Elementwise(elementwise::Elementwise),
    Reduce(reduce::Reduce),
    Cat(cat::Cat),
    Moves(moves::Moves),
    Range(range::Range),
    UpdateScale(amp::UpdateScale),
    /// Not run: these outputs become zero, for this reason.
    Zero(pointers::Outputs, Skipped),
}

/// Judges a kernel: a control kernel that really runs, or one whose outputs become zero. Called once per kernel.
pub fn judge(kernel: &KernelInfo) -> Effect {
    let name = names::parse(&kernel.name);
    let action = match &name {
        Some(name) => in_table(name, kernel).unwrap_or_else(|reason| not_in_table(name, kernel, reason)),
        None => Action::Zero(jitted(kernel), Skipped::NotInTable),
    };
    Effect { action }
}

fn in_table(name: &Name, kernel: &KernelInfo) -> Result<Action, Skipped> {
    if elementwise::is_frame(name) {
        return elementwise::judge(name, kernel).map(Action::Elementwise);
    }
    if reduce::is_frame(name) {
        return reduce::judge(name, kernel).map(Action::Reduce);
    }
    if amp::is_frame(name) {
        return amp::judge(kernel).map(Action::UpdateScale);
    }
    if cat::is_frame(name) {
        return cat::judge(name, kernel).map(Action::Cat);
    }
    if moves::is_frame(name) {
        return moves::judge(name, kernel).map(Action::Moves);
    }
    if names::template(&name.path).0 == "elementwise_kernel_with_index" {
        return range::judge(name, kernel).map(Action::Range);
    }
    Err(Skipped::NotInTable)
}

fn not_in_table(name: &Name, kernel: &KernelInfo, reason: Skipped) -> Action {
    let outputs = if elementwise::is_frame(name) {
        pointers::Outputs::first_of(kernel, None)
    } else if let Some(outputs) = indexing(name, kernel) {
        outputs
    } else if let Some(targets) = reduce::is_frame(name).then(|| reduce::outputs(kernel)).flatten() {
        pointers::Outputs::at(&targets)
    } else {
        pointers::Outputs::of(Some(name), kernel)
    };
    Action::Zero(outputs, reason)
}

/// Outputs of PyTorch's frames for gather, scatter and take: an index calculator, then pointers in the order in which
/// the kernel's function names them.
fn indexing(name: &Name, kernel: &KernelInfo) -> Option<pointers::Outputs> {
    match names::template(&name.path).0 {
        // The index comes first, then what is written.
        "_scatter_gather_elementwise_kernel" => Some(pointers::Outputs::nth_of(1, kernel, None)),
        // take reads a second shape behind its pointers, which would make the first one look larger.
        "index_elementwise_kernel" if name.arguments.iter().any(|text| text.contains("take_kernel")) => {
            Some(pointers::Outputs::first_of(kernel, Some(2)))
        }
        _ => None,
    }
}

/// Outputs of kernels that PyTorch compiles at run time (jiterator): they have C names that say which frame they are,
/// `reduction_..._kernel` or `..._vectorized4_kernel`.
fn jitted(kernel: &KernelInfo) -> pointers::Outputs {
    let frame = kernel.name.strip_suffix("_kernel").unwrap_or("");
    let elementwise = kernel.params.first().is_some_and(|count| count.bytes <= 8) && kernel.params.len() >= 3;
    if frame.starts_with("reduction_") {
        return reduce::outputs(kernel)
            .map_or_else(|| pointers::Outputs::of(None, kernel), |at| pointers::Outputs::at(&at));
    }
    if elementwise && (frame.contains("_vectorized") || frame.contains("_unrolled")) {
        return pointers::Outputs::first_of(kernel, None);
    }
    pointers::Outputs::of(None, kernel)
}

impl Effect {
    /// Whether launches of this kernel really run on small data.
    pub fn runs(&self) -> bool {
        !matches!(self.action, Action::Zero(..))
    }
}

/// Applies one launch to the store. Called in stream order at every launch; must be cheap when the store holds
/// nothing near the pointers among `params` (the packed parameter buffer, empty if its layout is unknown).
pub fn apply(effect: &Effect, geometry: &Geometry, params: &[u8], store: &mut Store) {
    let params = Params(params);
    let done = match &effect.action {
        Action::Elementwise(kernel) => kernel.run(params, store),
        Action::Reduce(kernel) => kernel.run(params, store),
        Action::Cat(kernel) => kernel.run(geometry, params, store),
        Action::Moves(kernel) => kernel.run(params, store),
        Action::Range(kernel) => kernel.run(params, store),
        Action::UpdateScale(kernel) => kernel.run(params, store),
        Action::Zero(outputs, reason) => {
            outputs.zero(params, store);
            Err(*reason)
        }
    };
    match done {
        Ok(()) => store.count_run(),
        Err(reason) => store.count(reason),
    }
}

#[cfg(test)]
mod tests;
