//! Random numbers and dropout: n elements written, none or as many read.
//! The generator's arithmetic is charged (Philox: about 100 integer operations for four numbers), as floating point.
//!
//! Source: torch's public DistributionTemplates.h and Dropout.cu. n is exact; the type written is not in the name's first
//! arguments and is taken as 4 bytes.

use crate::price::row::Factor::{Blocks, Param, Threads, Times};
use crate::price::row::{Each, Row, each};

pub const ROWS: &[Row] = &[
    // (n, generator state, distribution, transform)
    Row {
        kernel: "distribution_elementwise_grid_stride_kernel",
        count: &[Param(0)],
        read: Each::NONE,
        write: Each::NONE.and(4),
        flops: 40,
    },
    Row {
        kernel: "distribution_binary_elementwise_kernel",
        count: &[Param(0)],
        read: Each::NONE.and(8),
        write: Each::NONE.and(4),
        flops: 60,
    },
    // (in, out, mask, n, ...): input type, accumulator.
    Row { kernel: "fused_dropout_kernel*", count: &[Param(3)], read: each(0, 1), write: each(0, 1).and(1), flops: 30 },
    Row { kernel: "rrelu_with_noise_cuda_kernel", count: &[Param(0)], read: each(0, 1), write: each(0, 2), flops: 40 },
    Row { kernel: "kernelPointwiseApply2", count: &[Param(2)], read: each(0, 1), write: each(0, 1), flops: 40 },
    Row {
        kernel: "philox_*",
        count: &[Blocks, Threads, Times(4)],
        read: Each::NONE,
        write: Each::NONE.and(4),
        flops: 40,
    },
];
