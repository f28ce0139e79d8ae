//! Kernels and parameter buffers as PyTorch makes them, and a store to run them on. For tests only.

use super::names::Name;
use super::scalar::{Num, Scalar};
use super::store::Store;
use crate::fatbin::{KernelInfo, Param};

pub(super) const BASE: u64 = 32 << 40;

/// A kernel's name taken apart, without parameter types.
pub(super) fn name(path: &str, arguments: &[&str]) -> Name {
    let arguments = arguments.iter().map(|text| text.to_string()).collect();
    Name { path: format!("at::native::{path}"), arguments, parameters: Vec::new() }
}

/// A kernel whose parameters have these offsets and sizes.
pub(super) fn kernel(params: &[(u32, u32)]) -> KernelInfo {
    let params: Vec<Param> = params.iter().map(|&(offset, bytes)| Param { offset, bytes }).collect();
    let param_bytes = params.last().map_or(0, |param| param.offset + param.bytes);
    KernelInfo { params, param_bytes, ..KernelInfo::default() }
}

/// A packed parameter buffer, filled piece by piece.
pub(super) struct Packed(pub(super) Vec<u8>);

impl Packed {
    pub(super) fn new(kernel: &KernelInfo) -> Packed {
        Packed(vec![0; kernel.param_bytes as usize])
    }

    pub(super) fn set(mut self, at: u32, bytes: &[u8]) -> Packed {
        self.0[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(super) fn u32(self, at: u32, value: u32) -> Packed {
        self.set(at, &value.to_le_bytes())
    }

    pub(super) fn u64(self, at: u32, value: u64) -> Packed {
        self.set(at, &value.to_le_bytes())
    }
}

/// A tensor of these values as contiguous bytes.
pub(super) fn write(store: &mut Store, address: u64, scalar: Scalar, values: &[f64]) {
    let mut bytes = vec![0; values.len() * scalar.bytes()];
    for (element, &value) in bytes.chunks_exact_mut(scalar.bytes()).zip(values) {
        scalar.store(Num::Float(value), element);
    }
    store.write(address, &bytes);
}

/// The values of a contiguous tensor.
pub(super) fn read(store: &Store, address: u64, scalar: Scalar, count: usize) -> Vec<f64> {
    let mut bytes = vec![0; count * scalar.bytes()];
    store.read(address, &mut bytes);
    bytes.chunks_exact(scalar.bytes()).map(|element| scalar.load(element).float()).collect()
}
