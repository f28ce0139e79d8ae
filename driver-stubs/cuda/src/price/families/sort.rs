//! CUB's and torch's sorts, scans, selections and top-k: passes over n keys.
//! How many passes a sort takes is the caller's loop; each launch is one pass.
//!
//! Source: CUB's public dispatch headers and torch's Sort.cu, TensorTopK.cu, ScanUtils.cuh. n is a parameter where there is
//! one; otherwise the grid times the items of a block (CUB tunes 128 to 512 threads with 8 to 23 items: 12 are taken),
//! good to a factor of two. In-place sorts of a slice in one block read and write each key and value once.

use crate::price::row::Factor::{Blocks, Param, Threads, Times};
use crate::price::row::{Each, Row, each};

const KEY: Each = Each::NONE.and(4);
const PAIR: Each = Each::NONE.and(12);

pub const ROWS: &[Row] = &[
    Row { kernel: "DeviceRadixSortOnesweepKernel", count: &[Param(8)], read: PAIR, write: PAIR, flops: 4 },
    Row { kernel: "DeviceRadixSortHistogramKernel", count: &[Param(2)], read: KEY, write: Each::NONE, flops: 4 },
    Row { kernel: "DeviceRadixSortUpsweepKernel", count: &[Param(3)], read: KEY, write: Each::NONE, flops: 4 },
    Row { kernel: "DeviceRadixSortDownsweepKernel", count: &[Param(6)], read: PAIR, write: PAIR, flops: 4 },
    Row { kernel: "DeviceRadixSortSingleTileKernel", count: &[Param(4)], read: PAIR, write: PAIR, flops: 32 },
    Row {
        kernel: "DeviceSegmentedRadixSortKernel",
        count: &[Blocks, Threads, Times(12)],
        read: PAIR,
        write: PAIR,
        flops: 8,
    },
    Row { kernel: "DeviceMergeSortBlockSortKernel", count: &[Param(5)], read: PAIR, write: PAIR, flops: 16 },
    Row {
        kernel: "DeviceMergeSortMergeKernel",
        count: &[Blocks, Threads, Times(12)],
        read: PAIR,
        write: PAIR,
        flops: 8,
    },
    Row { kernel: "DeviceScanKernel", count: &[Param(6)], read: KEY, write: KEY, flops: 2 },
    Row { kernel: "DeviceScanByKeyKernel", count: &[Blocks, Threads, Times(12)], read: PAIR, write: KEY, flops: 2 },
    Row { kernel: "DeviceReduceSingleTileKernel", count: &[Param(2)], read: KEY, write: Each::NONE, flops: 1 },
    Row { kernel: "DeviceReduceKernel", count: &[Param(2)], read: KEY, write: Each::NONE, flops: 1 },
    Row { kernel: "DeviceReduceByKeyKernel", count: &[Blocks, Threads, Times(12)], read: PAIR, write: KEY, flops: 2 },
    Row { kernel: "DeviceSelectSweepKernel", count: &[Param(7)], read: KEY, write: KEY, flops: 2 },
    Row {
        kernel: "DeviceUniqueByKeySweepKernel",
        count: &[Blocks, Threads, Times(12)],
        read: PAIR,
        write: KEY,
        flops: 2,
    },
    Row { kernel: "DeviceAdjacentDifference*", count: &[Blocks, Threads, Times(12)], read: KEY, write: KEY, flops: 1 },
    // One block sorts one slice in place.
    Row { kernel: "radixSortKVInPlace", count: &[Blocks, Threads, Times(32)], read: PAIR, write: PAIR, flops: 64 },
    Row { kernel: "bitonicSortKVInPlace", count: &[Blocks, Threads, Times(2)], read: PAIR, write: PAIR, flops: 64 },
    Row { kernel: "warpMergeSortKVInPlace", count: &[Blocks, Threads, Times(4)], read: PAIR, write: PAIR, flops: 32 },
    // (in, slice size, k, ..., slices, ...): one block a slice, about four passes over digits, of which all but the first hit in L2.
    Row { kernel: "gatherTopK", count: &[Param(1), Param(4)], read: each(0, 2), write: Each::NONE, flops: 8 },
    Row { kernel: "gatherKthValue", count: &[Param(1), Param(3)], read: each(0, 2), write: Each::NONE, flops: 8 },
    // (values, indices, in, slice size, slices, ...)
    Row { kernel: "gatherMedian", count: &[Param(3), Param(4)], read: each(0, 2), write: Each::NONE, flops: 8 },
    // (in, slice size, ..., bit, items of a thread, ...)
    Row {
        kernel: "computeBlockDigitCounts",
        count: &[Blocks, Threads, Param(6)],
        read: each(0, 1),
        write: Each::NONE,
        flops: 4,
    },
    // (out, in, outer, inner, length, ...)
    Row {
        kernel: "tensor_kernel_scan_outer_dim",
        count: &[Param(2), Param(3), Param(4)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 2,
    },
    Row {
        kernel: "tensor_kernel_scan_innermost_dim",
        count: &[Param(2), Param(3)],
        read: each(0, 1),
        write: each(0, 1),
        flops: 2,
    },
    Row {
        kernel: "tensor_kernel_scan_outer_dim_with_indices",
        count: &[Param(3), Param(4), Param(5)],
        read: each(0, 1),
        write: each(0, 1).and(8),
        flops: 2,
    },
    Row {
        kernel: "tensor_kernel_scan_innermost_dim_with_indices",
        count: &[Param(3), Param(4)],
        read: each(0, 1),
        write: each(0, 1).and(8),
        flops: 2,
    },
];
