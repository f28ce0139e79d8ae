//! Softmax, layer, group and batch normalisation, cross entropy, recurrent cells: rows of a matrix read and written.
//! Reading a row twice (a second pass that hits in L2 or shared memory) is not charged.
//!
//! Source: torch's public SoftMax.cu, layer_norm_kernel.cu, Loss.cu, Normalization.cuh, by their parameter order (checked
//! against the parameter sizes of torch 2.15). Rows are the grid and columns a parameter, except in the warp
//! softmaxes, which have both. Kernels whose sizes are hidden in accessors are priced by their grid: a guess.

use crate::price::row::Factor::{Accessor, Blocks, GridX, Param};
use crate::price::row::{Each, Row, each};

pub const ROWS: &[Row] = &[
    // (out, in, batch, stride, columns, ...): input type, output type, accumulator.
    Row { kernel: "softmax_warp_forward", count: &[Param(2), Param(4)], read: each(0, 1), write: each(1, 1), flops: 8 },
    // (grad in, grad, output, batch, stride, columns, ...)
    Row {
        kernel: "softmax_warp_backward",
        count: &[Param(3), Param(5)],
        read: each(0, 2),
        write: each(1, 1),
        flops: 6,
    },
    // (out, in, columns): input type, accumulator, output type; one block a row.
    Row { kernel: "cunn_SoftMaxForward*", count: &[GridX, Param(2)], read: each(0, 1), write: each(2, 1), flops: 8 },
    // (grad in, output, grad, columns): input type, accumulator, output type.
    Row { kernel: "cunn_SoftMaxBackward*", count: &[GridX, Param(3)], read: each(2, 2), write: each(0, 1), flops: 6 },
    // (out, in, outer, columns, inner)
    Row {
        kernel: "cunn_SpatialSoftMaxForward",
        count: &[Param(2), Param(3), Param(4)],
        read: each(0, 1),
        write: each(2, 1),
        flops: 8,
    },
    Row {
        kernel: "cunn_SpatialSoftMaxBackward",
        count: &[Param(3), Param(4), Param(5)],
        read: each(2, 2),
        write: each(0, 1),
        flops: 6,
    },
    // (columns, eps, in, gamma, beta, mean, rstd, out)
    Row {
        kernel: "vectorized_layer_norm_kernel",
        count: &[GridX, Param(0)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 8,
    },
    // (columns, eps, in, mean, rstd)
    Row {
        kernel: "RowwiseMomentsCUDAKernel",
        count: &[GridX, Param(0)],
        read: each(0, 1),
        write: Each::NONE,
        flops: 5,
    },
    Row {
        kernel: "RowwiseMomentsContiguous*",
        count: &[GridX, Param(0)],
        read: each(0, 1),
        write: Each::NONE,
        flops: 5,
    },
    Row {
        kernel: "LayerNormForwardCUDAKernel",
        count: &[GridX, Param(0)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 4,
    },
    // (grad, in, mean, rstd, gamma, grad in, columns)
    Row {
        kernel: "layer_norm_grad_input_kernel*",
        count: &[GridX, Param(6)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 10,
    },
    // (rows, columns, grad, in, ...)
    Row {
        kernel: "GammaBetaBackwardCUDAKernelTemplate",
        count: &[Param(0), Param(1)],
        read: each(0, 2),
        write: Each::NONE,
        flops: 4,
    },
    // Only the chosen class of each row is read: one sector.
    Row {
        kernel: "nll_loss_forward_reduce_cuda_kernel_2d",
        count: &[Param(6)],
        read: Each::NONE.and(40),
        write: Each::NONE,
        flops: 2,
    },
    Row {
        kernel: "nll_loss_backward_reduce_cuda_kernel_2d",
        count: &[Param(6)],
        read: Each::NONE.and(8),
        write: Each::NONE.and(32),
        flops: 2,
    },
    Row { kernel: "nll_loss_*", count: &[Blocks], read: Each::NONE.and(4096), write: Each::NONE.and(4096), flops: 0 },
    // (in, mean, ..., reduction size, stride): channels last.
    Row {
        kernel: "batch_norm_collect_statistics_channels_last_kernel",
        count: &[Param(5), Param(6)],
        read: each(0, 1),
        write: Each::NONE,
        flops: 4,
    },
    Row {
        kernel: "batch_norm_transform_input_channels_last_kernel",
        count: &[Param(7), Param(8)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 4,
    },
    Row {
        kernel: "batch_norm_backward_reduce_channels_last_kernel",
        count: &[Param(10), Param(11)],
        read: each(0, 2),
        write: Each::NONE,
        flops: 4,
    },
    Row {
        kernel: "batch_norm_backward_elemt_channels_last_kernel",
        count: &[Param(9), Param(10)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 6,
    },
    // (in, ...), (in, out, ...), (in, grad, ...): accessors of three dimensions.
    Row {
        kernel: "batch_norm_collect_statistics_kernel",
        count: &[Accessor(0, 3)],
        read: each(0, 1),
        write: Each::NONE,
        flops: 4,
    },
    Row {
        kernel: "batch_norm_transform_input_kernel",
        count: &[Accessor(0, 3)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 4,
    },
    Row {
        kernel: "batch_norm_backward_reduce_kernel",
        count: &[Accessor(0, 3)],
        read: each(0, 2),
        write: Each::NONE,
        flops: 4,
    },
    Row {
        kernel: "batch_norm_backward_elemt_kernel",
        count: &[Accessor(0, 3)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 6,
    },
    Row {
        kernel: "batch_norm_backward_kernel",
        count: &[Accessor(0, 3)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 10,
    },
    // (..., elements): gates of recurrent cells, three (four) of each input, with biases fused.
    Row { kernel: "lstm_cell_forward", count: &[Param(9)], read: each(0, 9), write: each(0, 6), flops: 60 },
    Row { kernel: "lstm_cell_backward", count: &[Param(8)], read: each(0, 8), write: each(0, 5), flops: 60 },
    Row { kernel: "gru_cell_forward", count: &[Param(8)], read: each(0, 7), write: each(0, 6), flops: 60 },
    Row { kernel: "gru_cell_backward", count: &[Param(6)], read: each(0, 6), write: each(0, 7), flops: 60 },
    // (in, grad, ..., columns) of weight normalisation: one block a row.
    Row {
        kernel: "weight_norm_fwd_first_dim_kernel",
        count: &[GridX, Param(4)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 4,
    },
    Row {
        kernel: "weight_norm_bwd_first_dim_kernel",
        count: &[GridX, Param(6)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 6,
    },
];
