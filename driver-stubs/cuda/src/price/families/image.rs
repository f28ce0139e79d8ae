//! Pooling, upsampling, padding and unfolding of images: an output element from a few input elements.
//! Direct convolutions (depthwise) are priced here by their grid; all others come through cuDNN's stub.
//!
//! Source: torch's public DilatedMaxPool2d.cu, AveragePool2d.cu, im2col.cuh. n is the output's size where it is the first
//! parameter; overlapping windows are taken to hit in the cache: an input element for each of four output elements
//! of an upsampling, four for each of a pooling. Uncertain by about 2.

use crate::price::row::Factor::{Blocks, Param, Threads};
use crate::price::row::{Each, Row, each};

pub const ROWS: &[Row] = &[
    Row { kernel: "max_pool_forward_nchw", count: &[Param(0)], read: each(0, 4), write: each(0, 1).and(8), flops: 9 },
    Row { kernel: "avg_pool2d_out_cuda_frame*", count: &[Param(0)], read: each(0, 4), write: each(0, 1), flops: 9 },
    Row {
        kernel: "avg_pool2d_backward_out_cuda_frame*",
        count: &[Param(0)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 9,
    },
    Row {
        kernel: "max_pool_backward_nchw",
        count: &[Blocks, Threads],
        read: each(0, 1).and(8),
        write: each(0, 4),
        flops: 2,
    },
    Row { kernel: "im2col_kernel", count: &[Param(0)], read: each(0, 2), write: each(0, 9), flops: 9 },
    Row { kernel: "col2im_kernel", count: &[Param(0)], read: each(0, 9), write: each(0, 1), flops: 9 },
    Row { kernel: "upsample_*", count: &[Blocks, Threads], read: each(0, 1), write: each(0, 4), flops: 16 },
    Row {
        kernel: "conv_depthwise2d_forward_kernel*",
        count: &[Blocks, Threads],
        read: each(0, 2),
        write: each(0, 1),
        flops: 18,
    },
    Row {
        kernel: "conv_depthwise2d_backward_kernel",
        count: &[Blocks, Threads],
        read: each(0, 2),
        write: each(0, 1),
        flops: 18,
    },
    Row {
        kernel: "grid_sampler_2d_kernel",
        count: &[Param(0)],
        read: Each::NONE.and(24),
        write: Each::NONE.and(4),
        flops: 40,
    },
];
