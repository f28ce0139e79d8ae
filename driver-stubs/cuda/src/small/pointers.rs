//! Kernels nobody runs: which words of their parameters may point at something they write.
//! Whatever such a word points at reads zero afterwards, from there on as far as it is one object.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::names::Name;
use super::params::{Params, calculator_bytes};
use super::store::Store;
use crate::fatbin::KernelInfo;

/// Where device memory lies unless told otherwise: 16 TiB from 32 TiB on.
pub const DEVICE_RANGE: Range<u64> = 32 << 40..48 << 40;

static DEVICE_START: AtomicU64 = AtomicU64::new(DEVICE_RANGE.start);
static DEVICE_END: AtomicU64 = AtomicU64::new(DEVICE_RANGE.end);

/// Tells where device memory was really reserved.
pub fn set_device_range(range: Range<u64>) {
    DEVICE_START.store(range.start, Ordering::Relaxed);
    DEVICE_END.store(range.end, Ordering::Relaxed);
}

fn device_range() -> Range<u64> {
    DEVICE_START.load(Ordering::Relaxed)..DEVICE_END.load(Ordering::Relaxed)
}

/// Whether an address is device memory.
pub(super) fn is_device(address: u64) -> bool {
    device_range().contains(&address)
}

/// Most tensors of one elementwise kernel that are looked for.
const MOST_TENSORS: u32 = 8;

/// The words that may be outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outputs {
    /// Stretches of 8-byte aligned words.
    spans: Vec<Range<u32>>,
    /// Only this one of the device pointers is written, counted from 0.
    only: Option<usize>,
}

impl Outputs {
    /// Every word of the parameters that the name does not call constant.
    pub(super) fn of(name: Option<&Name>, kernel: &KernelInfo) -> Outputs {
        let texts = name.map(|name| name.parameters.as_slice()).filter(|texts| texts.len() == kernel.params.len());
        let mut spans: Vec<Range<u32>> = Vec::new();
        for (i, param) in kernel.params.iter().enumerate() {
            if texts.is_some_and(|texts| is_constant(&texts[i])) {
                continue;
            }
            let text = texts.map_or("", |texts| texts[i].as_str());
            let start = param.offset.next_multiple_of(8);
            let span = start..(param.offset + param.bytes).min(start.saturating_add(pointer_bytes(text)));
            if span.start + 8 <= span.end {
                spans.push(span);
            }
        }
        if kernel.params.is_empty() {
            spans.push(0..u32::MAX);
        }
        Outputs { spans, only: None }
    }

    /// PyTorch's elementwise frames: the output is the first pointer, behind the index calculator of so many `tensors`
    /// if there is one (what its unused dimensions hold is whatever lay on the host's stack).
    pub(super) fn first_of(kernel: &KernelInfo, tensors: Option<u32>) -> Outputs {
        Outputs::nth_of(0, kernel, tensors)
    }

    /// As [`first_of`](Self::first_of), for frames that write another one of their pointers.
    pub(super) fn nth_of(nth: usize, kernel: &KernelInfo, tensors: Option<u32>) -> Outputs {
        let behind = |param: &crate::fatbin::Param| {
            let fits = |n: &u32| calculator_bytes(*n) + 8 * n <= param.bytes;
            let count = tensors.filter(fits).or_else(|| (1..=MOST_TENSORS).rev().find(fits));
            let start = param.offset + count.map_or(0, calculator_bytes);
            start.next_multiple_of(8)..param.offset + param.bytes
        };
        let spans = kernel.params.iter().map(behind).filter(|span| span.start + 8 <= span.end).collect();
        if kernel.params.is_empty() { Outputs::of(None, kernel) } else { Outputs { spans, only: Some(nth) } }
    }

    /// The words at these offsets.
    pub(super) fn at(offsets: &[u32]) -> Outputs {
        Outputs { spans: offsets.iter().map(|&at| at..at + 8).collect(), only: None }
    }

    /// Makes the outputs of one launch zero.
    pub(super) fn zero(&self, params: Params<'_>, store: &mut Store) {
        let device = device_range();
        let mut seen = 0;
        for span in &self.spans {
            let end = (span.end as usize).min(params.0.len());
            let start = (span.start as usize).min(end);
            for word in params.0[start..end].chunks_exact(8) {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(word);
                let address = u64::from_le_bytes(bytes);
                if device.contains(&address) {
                    if self.only.is_none_or(|only| only == seen) {
                        store.zero(address, None);
                    }
                    seen += 1;
                }
            }
        }
    }
}

/// How much of a parameter can be pointers: PyTorch's views begin with theirs, and what follows (sizes, strides, unused
/// places that nobody initialised) may look like one; its index calculators hold none.
fn pointer_bytes(text: &str) -> u32 {
    let class = text.split('<').next().unwrap_or("").rsplit("::").next().unwrap_or("");
    match class {
        "TensorInfo"
        | "PackedTensorAccessor"
        | "GenericPackedTensorAccessor"
        | "PackedTensorAccessor32"
        | "PackedTensorAccessor64"
        | "TensorAccessor" => 8,
        "OffsetCalculator" | "TrivialOffsetCalculator" | "IntDivider" => 0,
        _ => u32::MAX,
    }
}

/// A parameter that only reads: a pointer to const, or a view of or an iterator over const elements.
fn is_constant(text: &str) -> bool {
    let pointer = text.trim_end_matches("__restrict__").trim_end();
    let pointer = pointer.strip_suffix(" const").unwrap_or(pointer);
    let view = [" const,", " const>", " const*,", " const*>"];
    pointer.ends_with("const*") || view.iter().any(|part| text.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    const BASE: u64 = DEVICE_RANGE.start;

    fn kernel(sizes: &[u32]) -> KernelInfo {
        let mut kernel = KernelInfo::default();
        for &bytes in sizes {
            let offset = kernel.param_bytes.next_multiple_of(bytes.min(8));
            kernel.params.push(Param { offset, bytes });
            kernel.param_bytes = offset + bytes;
        }
        kernel
    }

    fn name(parameters: &[&str]) -> Name {
        let parameters = parameters.iter().map(|text| text.to_string()).collect();
        Name { path: "f".into(), arguments: Vec::new(), parameters }
    }

    fn after(outputs: &Outputs, words: &[u64]) -> Vec<u8> {
        let mut store = Store::default();
        for i in 0..4 {
            store.write(BASE + 512 * i, &[1]);
        }
        let params: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        outputs.zero(Params(&params), &mut store);
        let read = |i: u64| {
            let mut byte = [0];
            store.read(BASE + 512 * i, &mut byte);
            byte[0]
        };
        (0..4).map(read).collect()
    }

    #[test]
    fn pointers_read_zero_afterwards_but_constant_ones_do_not() {
        let outputs = Outputs::of(Some(&name(&["float*", "float const*", "int"])), &kernel(&[8, 8, 4]));
        assert_eq!(after(&outputs, &[BASE, BASE + 512, BASE + 1024]), [0, 1, 1, 1]);
        let outputs = Outputs::of(Some(&name(&["TensorInfo<int const, unsigned int>", "float*"])), &kernel(&[8, 8]));
        assert_eq!(after(&outputs, &[BASE, BASE + 512]), [1, 0, 1, 1]);
    }

    #[test]
    fn what_an_index_calculator_leaves_uninitialised_is_no_output() {
        let bytes = calculator_bytes(2);
        let outputs = Outputs::first_of(&kernel(&[8, bytes + 56]), None);
        let mut words = vec![1, BASE, BASE + 512];
        words.resize(1 + bytes as usize / 8, 0);
        words.extend([BASE + 1024, BASE + 1536, 0, 0, 0, 0, 0]);
        assert_eq!(after(&outputs, &words), [1, 1, 0, 1]);
    }

    #[test]
    fn only_the_first_word_of_a_view_is_its_pointer() {
        let names =
            name(&["at::cuda::detail::TensorInfo<long, unsigned int>", "OffsetCalculator<2, unsigned int, false>"]);
        let outputs = Outputs::of(Some(&names), &kernel(&[24, 16]));
        assert_eq!(after(&outputs, &[BASE, BASE + 512, 7, BASE + 1024, BASE + 1536]), [0, 1, 1, 1]);
    }

    #[test]
    fn every_word_of_a_structure_counts_when_nothing_is_known() {
        let outputs = Outputs::of(None, &kernel(&[24]));
        assert_eq!(after(&outputs, &[BASE, 77, BASE + 1024]), [0, 1, 0, 1]);
        assert_eq!(after(&Outputs::of(None, &KernelInfo::default()), &[BASE + 512]), [1, 0, 1, 1]);
    }

    #[test]
    fn an_elementwise_frame_writes_its_first_pointer_only() {
        let outputs = Outputs::first_of(&kernel(&[4, 32]), None);
        assert_eq!(after(&outputs, &[3, 9, BASE + 512, BASE, 0]), [1, 0, 1, 1]);
    }
}
