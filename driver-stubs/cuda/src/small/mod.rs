//! Small data is real: bytes of small copies and memsets are kept, and a few control kernels really run on them.
//! Everything else that writes device memory leaves zeros; stale bytes are never shown.

mod counters;
mod near;
mod piece;
mod store;

use crate::fatbin::KernelInfo;
use crate::price::Geometry;
pub use counters::Counters;
pub use store::{OPERATION_LIMIT_BYTES, PROCESS_LIMIT_BYTES, Store};

/// What a launch does to kept data; found once per kernel by its name and parameter layout.
#[derive(Clone, Debug)]
pub struct Effect {}

/// Judges a kernel: a control kernel that really runs, or one whose outputs become zero. Called once per kernel.
pub fn judge(kernel: &KernelInfo) -> Effect {
    let _ = kernel;
    Effect {}
}

/// Applies one launch to the store. Called in stream order at every launch; must be cheap when the store holds
/// nothing near the pointers among `params` (the packed parameter buffer, empty if its layout is unknown).
pub fn apply(effect: &Effect, geometry: &Geometry, params: &[u8], store: &mut Store) {
    let _ = (effect, geometry, params, store);
}
