//! From an operation graph to what it costs: one fused attention, products with free epilogues, or one kernel by its
//! traffic.
//! It keeps no descriptor and runs nothing.

mod attention;
mod view;

use crate::DataType;
use crate::backend::attribute::descriptor;
use crate::backend::content::Content;
use crate::product::{Convolution, Pass, matrix_product};
use crate::tensor::Shape;
use crate::work::Work;
use std::ffi::CStr;
use view::{Operation, Tensor};

/// The engine that may multiply single precision as TF32.
pub const TENSOR_CORES: i64 = 0;
/// The engine that may not.
pub const WITHOUT_TENSOR_CORES: i64 = 1;

/// What an execution plan does.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
}

/// One operation and the tensors it writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub work: Work,
    /// Unique id and bytes.
    pub writes: Vec<(i64, u64)>,
}

impl Plan {
    /// The plan of an execution plan descriptor; `None` when it leads to no graph.
    pub fn of(plan: &Content) -> Option<Plan> {
        let engine = plan.descriptor(401)?.descriptor(300)?;
        let tensor_cores = engine.integer(1301)? != WITHOUT_TENSOR_CORES;
        Some(Plan::of_operations(&Operation::all(engine.descriptor(1300)?), tensor_cores))
    }

    fn of_operations(operations: &[Operation], tensor_cores: bool) -> Plan {
        let mut works: Vec<Work> = match attention::work(operations) {
            Some(work) => vec![work],
            None => operations.iter().filter_map(|operation| product(operation, tensor_cores)).collect(),
        };
        if works.is_empty() {
            works.push(traffic(operations));
        }
        let last = works.len() - 1;
        let writes = written(operations).iter().map(|tensor| (tensor.id, tensor.written_bytes())).collect();
        let mut steps: Vec<_> = works.into_iter().map(|work| Step { work, writes: Vec::new() }).collect();
        steps[last].writes = writes;
        Plan { steps }
    }
}

/// Whether a graph multiplies in single precision, so that TF32 is a question.
pub fn has_tf32(graph: &Content) -> bool {
    let multiplies = |operation: &Operation| {
        product(operation, true).is_some()
            && operation.inputs().next().is_some_and(|tensor| tensor.shape.of == DataType::FLOAT)
    };
    Operation::all(graph).iter().any(multiplies)
}

/// The product an operation is, if it is one. What else the graph does to its result is hidden behind it.
fn product(operation: &Operation, tensor_cores: bool) -> Option<Work> {
    let shape = |name| operation.shape(name);
    let convolution = |pass, x, w, y| {
        let (x, w, y) = (shape(x)?, shape(w)?, shape(y)?);
        Some(Convolution { pass, x, w, y, tensor_cores }.work())
    };
    match operation.descriptor {
        descriptor::CONVOLUTION_FORWARD => convolution(Pass::Forward, 704, 703, 705),
        descriptor::CONVOLUTION_BACKWARD_DATA => convolution(Pass::Data, 710, 709, 711),
        descriptor::CONVOLUTION_BACKWARD_FILTER => convolution(Pass::Filter, 716, 715, 717),
        descriptor::MATMUL => Some(matrix_product(&shape(1520)?, &shape(1522)?, tensor_cores)),
        descriptor::MOE => Some(matrix_product(&shape(2902)?, &shape(2905)?, tensor_cores)),
        descriptor::MOE_BACKWARD => {
            // dw of each expert: its tokens are the depth.
            let (token, weight) = (shape(2952)?, shape(2953)?);
            let [experts, k, n] = [0, 1, 2].map(|index| weight.dim(index));
            let tokens = (token.elements() / k.max(1)).div_ceil(experts.max(1));
            let [input, compute] = [token.of.priced(), token.of.arithmetic(tensor_cores)];
            Some(Work::product(c"cudnn_moe_backward", [k, n, tokens, experts], input, compute))
        }
        _ => None,
    }
}

/// Everything else is one kernel that reads and writes each tensor outside of the graph once.
fn traffic(operations: &[Operation]) -> Work {
    let written = written(operations);
    let bytes = |tensors: &[&Tensor]| tensors.iter().map(|tensor| tensor.shape.bytes()).sum::<u64>();
    let mut read: Vec<&Tensor> = operations.iter().flat_map(Operation::inputs).filter(|t| t.is_memory()).collect();
    read.sort_by_key(|tensor| tensor.id);
    read.dedup_by_key(|tensor| tensor.id);
    let passes = if operations.iter().any(reads_twice) { 2 } else { 1 };
    let (read, written_bytes) = (bytes(&read) * passes, bytes(&written));
    let of = written.first().map_or(DataType::FLOAT, |tensor| tensor.shape.of);
    let elements = written.iter().map(|tensor| tensor.shape.elements()).max().unwrap_or(0);
    let flops = elements.saturating_mul(operations.len() as u64);
    Work::kernel(name(operations), of, [read, written_bytes, flops])
}

/// A batch or instance norm that computes statistics reads its input again to apply them.
fn reads_twice(operation: &Operation) -> bool {
    const INSTANCE_OR_BATCH: [Option<i64>; 2] = [Some(1), Some(2)];
    match operation.descriptor {
        descriptor::NORM_FORWARD => {
            INSTANCE_OR_BATCH.contains(&operation.integer(2000)) && operation.integer(2001) == Some(1)
        }
        descriptor::NORM_BACKWARD => INSTANCE_OR_BATCH.contains(&operation.integer(2100)),
        _ => false,
    }
}

fn name(operations: &[Operation]) -> &'static CStr {
    let has = |descriptor| operations.iter().any(|operation| operation.descriptor == descriptor);
    if has(descriptor::NORM_FORWARD) {
        c"cudnn_norm_forward"
    } else if has(descriptor::NORM_BACKWARD) {
        c"cudnn_norm_backward"
    } else if has(descriptor::REDUCTION) {
        c"cudnn_reduction"
    } else {
        c"cudnn_fused"
    }
}

/// Tensors in memory that the graph writes, each once.
fn written(operations: &[Operation]) -> Vec<&Tensor> {
    let mut tensors: Vec<&Tensor> = operations.iter().flat_map(Operation::outputs).filter(|t| t.is_memory()).collect();
    tensors.sort_by_key(|tensor| tensor.id);
    tensors.dedup_by_key(|tensor| tensor.id);
    tensors
}

impl Operation {
    fn shape(&self, name: i32) -> Option<Shape> {
        self.tensor(name).map(|tensor| tensor.shape.clone())
    }
}

#[cfg(test)]
mod tests;
