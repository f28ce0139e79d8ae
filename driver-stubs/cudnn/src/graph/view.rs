//! Operations and tensors of a graph, read out of their descriptors.
//! It draws no conclusion.

use crate::DataType;
use crate::backend::attribute::{self, descriptor};
use crate::backend::content::{Content, Value};
use crate::tensor::Shape;

/// A tensor of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    pub id: i64,
    pub shape: Shape,
    /// Lives inside the graph only.
    pub is_virtual: bool,
    /// A number in host memory.
    pub is_by_value: bool,
    /// Its sequences lie one after the other, each as long as it is.
    pub is_ragged: bool,
}

impl Tensor {
    fn of(content: &Content) -> Tensor {
        let flag = |name| content.integer(name) == Some(1);
        let shape = Shape {
            of: DataType(content.integer(901).unwrap_or(0) as i32),
            dims: content.integers(902),
            strides: content.integers(903),
        };
        Tensor {
            id: content.integer(906).unwrap_or(-1),
            shape,
            is_virtual: flag(907),
            is_by_value: flag(908),
            is_ragged: !content.descriptors(913).is_empty(),
        }
    }

    /// Bytes that are surely written. A ragged tensor's extents are those of its longest sequence, and the lengths are
    /// device data: only one vector of each sequence is sure, and more would reach into its neighbours.
    pub fn written_bytes(&self) -> u64 {
        if !self.is_ragged {
            return self.shape.span_bytes();
        }
        self.shape.bytes().checked_div(self.shape.dim(2)).unwrap_or(0)
    }

    /// Whether it is in device memory.
    pub fn is_memory(&self) -> bool {
        !self.is_virtual && !self.is_by_value
    }
}

/// An operation with its tensors by attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    pub descriptor: i32,
    pub tensors: Vec<(i32, Tensor)>,
    /// Enumerations and integers by attribute.
    pub integers: Vec<(i32, i64)>,
    /// A pointwise operation's mode.
    pub pointwise: Option<i64>,
    /// Operations inside this one, as in a fused attention.
    pub inner: Vec<Operation>,
}

impl Operation {
    /// The operations of a graph.
    pub fn all(graph: &Content) -> Vec<Operation> {
        graph.descriptors(801).iter().map(|content| Operation::of(content)).collect()
    }

    fn of(content: &Content) -> Operation {
        let mut operation = Operation { descriptor: content.descriptor, ..Operation::default() };
        for (&name, value) in &content.values {
            let Value::Descriptors(list) = value else {
                operation.integers.extend(content.integer(name).map(|integer| (name, integer)));
                continue;
            };
            for child in list {
                match child.descriptor {
                    descriptor::TENSOR => operation.tensors.push((name, Tensor::of(child))),
                    0 => operation.pointwise = child.integer(0),
                    descriptor::GRAPH => operation.inner.extend(Operation::all(child)),
                    10.. => operation.inner.push(Operation::of(child)),
                    _ => {}
                }
            }
        }
        operation
    }

    /// The tensor under an attribute.
    pub fn tensor(&self, name: i32) -> Option<&Tensor> {
        self.tensors.iter().find(|(known, _)| *known == name).map(|(_, tensor)| tensor)
    }

    /// An enumeration or integer.
    pub fn integer(&self, name: i32) -> Option<i64> {
        self.integers.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// Tensors it reads.
    pub fn inputs(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.iter().filter(|(name, _)| !self.writes(*name)).map(|(_, tensor)| tensor)
    }

    /// Tensors it writes.
    pub fn outputs(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.iter().filter(|(name, _)| self.writes(*name)).map(|(_, tensor)| tensor)
    }

    /// Statistics of a norm are an input at inference (phase 0).
    fn writes(&self, name: i32) -> bool {
        attribute::is_output(name) && !(matches!(name, 2003 | 2004) && self.integer(2001) == Some(0))
    }
}
