//! Gather, scatter, embedding, index, triangular and roll kernels: elements moved to or from places read at run time.
//! Which places is not known: every access is charged once, as if nothing hit in the cache and nothing was shared.
//!
//! Source: torch's public Indexing.cu, IndexKernel.cu, Embedding.cu, ScatterGatherKernel.cu, TriangularOps.cu, by their
//! parameter order (checked against the parameter sizes of torch 2.15). Uncertain by about 2: repeated indices cost less,
//! single scattered elements cost a sector of 32 bytes and are charged their own size.

use crate::price::row::Factor::{Blocks, GridY, GridZ, Param, Tensor, Threads};
use crate::price::row::{Each, Row, each};

/// An element of an unknown type and its index.
const ELEMENT: Each = Each::NONE.and(4);
const ELEMENT_AND_INDEX: Each = Each::NONE.and(12);

pub const ROWS: &[Row] = &[
    // (n, function): copies with indices, puts, flips.
    Row { kernel: "index_elementwise_kernel", count: &[Param(0)], read: ELEMENT_AND_INDEX, write: ELEMENT, flops: 4 },
    Row {
        kernel: "_scatter_gather_elementwise_kernel",
        count: &[Param(0)],
        read: ELEMENT_AND_INDEX,
        write: ELEMENT,
        flops: 4,
    },
    Row {
        kernel: "elementwise_kernel_with_index",
        count: &[Param(0)],
        read: Each::NONE,
        write: Each::NONE.and(8),
        flops: 2,
    },
    // (out, in, indices, count, slice bytes, ...): bytes, not elements.
    Row {
        kernel: "vectorized_gather_kernel",
        count: &[Param(3), Param(4)],
        read: Each::NONE.and(1),
        write: Each::NONE.and(1),
        flops: 0,
    },
    // (out, in, indices, ...), and (inout, in, indices, ...): as many as the output, or the input, has.
    Row { kernel: "indexSelect*", count: &[Tensor(0)], read: each(0, 1).and(8), write: each(0, 1), flops: 2 },
    Row { kernel: "indexFunc*", count: &[Tensor(1)], read: each(0, 2).and(8), write: each(0, 1), flops: 2 },
    // (indices, grad, grad weight, n, stride, padding)
    Row {
        kernel: "embedding_backward_feature_kernel",
        count: &[Param(3), Param(4)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 1,
    },
    // (sorted indices, grad, counts, rows, stride, ...): sums of about ten rows are written.
    Row {
        kernel: "compute_grad_weight_bags",
        count: &[Param(4), Param(5)],
        read: each(0, 1),
        write: Each { of: 0, quarters: 1, bytes: 0 },
        flops: 1,
    },
    Row {
        kernel: "compute_grad_weight*",
        count: &[Param(3), Param(4)],
        read: each(0, 1),
        write: Each { of: 0, quarters: 1, bytes: 0 },
        flops: 1,
    },
    // As many as there could be segments.
    Row { kernel: "sum_and_scatter", count: &[Blocks, Threads], read: each(0, 2), write: each(0, 1), flops: 1 },
    // (sorted indices, indices, grad, grad weight, n, stride, ...)
    Row {
        kernel: "indexing_backward_kernel*",
        count: &[Param(4), Param(5)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 1,
    },
    Row { kernel: "triu_tril_kernel", count: &[Param(3)], read: each(0, 1), write: each(0, 1), flops: 1 },
    // (in, out, n, ...)
    Row { kernel: "roll_cuda_kernel", count: &[Param(2)], read: each(0, 1), write: each(0, 1), flops: 2 },
    // (out, boundaries, values, sorter, ..., values): a search of about 10 steps.
    Row {
        kernel: "searchsorted_cuda_kernel",
        count: &[Param(6)],
        read: each(0, 10),
        write: Each::NONE.and(8),
        flops: 10,
    },
    // (src, dst, width, height, ...)
    Row {
        kernel: "transpose_copy_tiled_kernel",
        count: &[Param(2), Param(3)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 0,
    },
    // (out, in, indices, count, slice elements, ...): added atomically.
    Row {
        kernel: "vectorized_scatter_kernel",
        count: &[Param(3), Param(4)],
        read: each(0, 2),
        write: each(0, 1),
        flops: 1,
    },
    Row { kernel: "tma_scatter_kernel", count: &[Param(3), Param(4)], read: each(0, 2), write: each(0, 1), flops: 1 },
    // (counts, partial counts, values, ...): type counted, type of the values.
    Row { kernel: "kernelHistogram1D", count: &[Tensor(2)], read: each(1, 1), write: Each::NONE, flops: 4 },
    // FSDP's copy in: (..., bytes of a slice, bytes of a chunk, ratio). A widening copy is charged as if it read as much as it writes.
    Row {
        kernel: "chunk_cat_cuda_kernel",
        count: &[GridY, GridZ, Param(9)],
        read: Each::NONE.and(1),
        write: Each::NONE.and(1),
        flops: 0,
    },
    // FSDP's copy out: (..., bytes of a chunk, chunks).
    Row {
        kernel: "split_with_sizes_copy_out_contiguous_no_cast_kernel",
        count: &[Param(5), Param(6)],
        read: Each::NONE.and(1),
        write: Each::NONE.and(1),
        flops: 0,
    },
];
