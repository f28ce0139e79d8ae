//! Finding attention in a graph: one operation that says so, or products with a softmax between them.
//! Everything else is not attention.

use super::view::{Operation, Tensor};
use crate::backend::attribute::descriptor;
use crate::product;
use crate::work::Work;

/// `CUDNN_POINTWISE_GEN_INDEX`.
const GEN_INDEX: i64 = 501;
/// `CUDNN_POINTWISE_CMP_GT` and `CMP_GE`: a row against a column.
const COMPARISONS: [i64; 2] = [302, 303];

/// The graph as one fused attention, if it is one.
pub fn work(operations: &[Operation]) -> Option<Work> {
    operations.iter().find_map(said).or_else(|| composed(operations))
}

/// An operation that is attention by name.
fn said(operation: &Operation) -> Option<Work> {
    let (q, k, backward) = match operation.descriptor {
        descriptor::SDPA_FORWARD => (2800, 2801, false),
        descriptor::SDPA_BACKWARD => (2851, 2852, true),
        _ => return None,
    };
    let (q, k) = (operation.tensor(q)?, operation.tensor(k)?);
    let sizes = [q.shape.dim(0), q.shape.dim(1), q.shape.dim(2), k.shape.dim(2), q.shape.dim(3)];
    Some(product::attention(q.shape.of, sizes, is_causal(&operation.inner), backward))
}

/// Two products (five backward) around a softmax: the first of two tensors in memory is queries by keys.
fn composed(operations: &[Operation]) -> Option<Work> {
    let products: Vec<_> = operations.iter().filter(|o| o.descriptor == descriptor::MATMUL).collect();
    let softmax = |o: &Operation| matches!(o.descriptor, descriptor::SOFTMAX | descriptor::REDUCTION);
    if products.len() < 2 || !operations.iter().any(softmax) {
        return None;
    }
    let scores = products.iter().find(|o| {
        let is = |name, wanted: fn(&Tensor) -> bool| o.tensor(name).is_some_and(wanted);
        is(1520, Tensor::is_memory) && is(1522, |tensor| tensor.is_virtual)
    })?;
    let (q, s) = (&scores.tensor(1520)?.shape, &scores.tensor(1522)?.shape);
    let sizes = [s.dim(0), s.dim(1), s.dim(2), s.dim(3), q.dim(3)];
    Some(product::attention(q.of, sizes, is_causal(operations), products.len() > 2))
}

/// Whether the graph masks the keys after a query: a band mask, or a comparison of a row's with a column's number.
fn is_causal(operations: &[Operation]) -> bool {
    let has_index = operations.iter().any(|o| o.pointwise == Some(GEN_INDEX));
    let compares = |o: &Operation| {
        o.pointwise.is_some_and(|mode| COMPARISONS.contains(&mode)) && o.inputs().all(|tensor| tensor.is_virtual)
    };
    operations.iter().any(|o| o.descriptor == descriptor::BAND_MASK || is_causal(&o.inner))
        || (has_index && operations.iter().any(compares))
}
