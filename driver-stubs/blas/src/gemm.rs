//! A product of matrices, or a simple kernel, as the one operation libcuda is asked for.
//! It checks no argument: its caller has.

use crate::{DataType, Matrix};
use ghost_table::{Kind, Operation, Type};
use std::ffi::CStr;

/// `batch` times C (m x n) = A (m x k) B (k x n).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    pub m: u64,
    pub n: u64,
    pub k: u64,
    pub batch: u64,
    /// What the operands are stored in.
    pub input: Type,
    /// What they are multiplied in.
    pub arithmetic: Type,
    /// What is written.
    pub output: Matrix,
}

impl Gemm {
    /// The operation; `None` when nothing is written. With k = 0 it only scales C.
    pub fn operation(&self) -> Option<Operation> {
        if self.m == 0 || self.n == 0 || self.batch == 0 {
            return None;
        }
        let written = self.output.kind.bytes(self.m.saturating_mul(self.n).saturating_mul(self.batch));
        let operation = match self.k {
            0 => kernel(c"cublas_scale", self.output.kind, [written, written, 0]),
            k => Operation::new(Kind::Gemm, self.input, self.arithmetic, &[self.m, self.n, k, self.batch])
                .named(name(self.arithmetic)),
        };
        Some(match self.output.range() {
            Some(range) => operation.writes(range.address, range.bytes),
            None => operation,
        })
    }
}

/// A kernel that reads and writes so many bytes and does so many floating point operations.
pub fn kernel(name: &'static CStr, kind: DataType, [read, written, flops]: [u64; 3]) -> Operation {
    /// What a block of 256 threads handles: four 16-byte accesses a thread.
    const BLOCK_BYTES: u64 = 16 * 1024;
    const THREADS: u64 = 256;
    let priced = kind.priced().unwrap_or(Type::F32);
    let blocks = read.max(written).div_ceil(BLOCK_BYTES).max(1);
    Operation::new(Kind::Kernel, priced, priced, &[read, written, flops, blocks, THREADS]).named(name)
}

/// What profilers show; ours says plainly that no tile was chosen.
fn name(arithmetic: Type) -> &'static CStr {
    match arithmetic {
        Type::F64 => c"cublas_gemm_f64",
        Type::F32 => c"cublas_gemm_f32",
        Type::Tf32 => c"cublas_gemm_tf32",
        Type::F16 => c"cublas_gemm_f16",
        Type::Bf16 => c"cublas_gemm_bf16",
        Type::F8 => c"cublas_gemm_f8",
        Type::F4 => c"cublas_gemm_f4",
        Type::I8 => c"cublas_gemm_i8",
        Type::I32 => c"cublas_gemm_i32",
        Type::C64 => c"cublas_gemm_c64",
        Type::C128 => c"cublas_gemm_c128",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gemm(m: u64, n: u64, k: u64) -> Gemm {
        let output = Matrix { address: 4096, kind: DataType::R_16BF, minor: m, major: n, ld: m, batch: 1, stride: 0 };
        Gemm { m, n, k, batch: 1, input: Type::Bf16, arithmetic: Type::Bf16, output }
    }

    #[test]
    fn a_product_carries_its_shape_and_writes_its_result() {
        let operation = gemm(64, 32, 16).operation().expect("work");
        assert_eq!((operation.kind, &operation.dims[..4]), (Kind::Gemm as u32, &[64, 32, 16, 1][..]));
        assert_eq!((operation.output_count, operation.outputs[0].bytes), (1, 64 * 32 * 2));
    }

    #[test]
    fn without_depth_the_result_is_only_scaled() {
        let operation = gemm(64, 32, 0).operation().expect("work");
        assert_eq!((operation.kind, operation.output_count), (Kind::Kernel as u32, 1));
    }

    #[test]
    fn an_empty_product_is_no_operation() {
        assert!(gemm(0, 32, 16).operation().is_none() && gemm(64, 0, 16).operation().is_none());
    }
}
