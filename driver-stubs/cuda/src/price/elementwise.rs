//! TensorIterator's elementwise kernels: one result for each of N elements from one or more operands.
//! It does not tell functions apart; all are taken as bound by memory.
//!
//! Source: torch 2.15's own headers (CUDALoops.cuh, MemoryAccess.cuh, OffsetCalculator.cuh). N is the `int` (or `long`)
//! at parameter 0. Sizes of operands, best first: the strides of the offset calculator (strided kernels: exact, and
//! a broadcast operand counts once); the element sizes of the casting loader (unrolled kernels: exact); the types of the
//! functor in the name. Guessed: a result whose type the name does not say is as large as the first operand; an operand
//! strided over more than 32 bytes is charged one sector of 32 for each element.

use super::name::{Name, Types, number};
use super::traffic::Traffic;
use super::{Place, read_count, read_i32};
use crate::fatbin::KernelInfo;

/// Most operands told apart, the result included; more are charged as much as the last.
const MOST_OPERANDS: usize = 8;
const MOST_DIMENSIONS: usize = 25;
const SECTOR_BYTES: u64 = 32;

/// How operand sizes are found at a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    /// As the name says.
    Named,
    /// In the casting loader and storer at these offsets.
    Cast { loader: u32, storer: u32 },
    /// In an offset calculator at this offset.
    Strided { calculator: u32 },
}

/// An elementwise kernel.
#[derive(Clone, Copy, Debug)]
pub struct Elementwise {
    count: Place,
    sizes: Sizes,
    /// Result first.
    operands: u8,
    bytes: [u8; MOST_OPERANDS],
}

impl Elementwise {
    pub fn of(name: &Name, kernel: &KernelInfo) -> Option<Elementwise> {
        let count = Place::of(kernel, 0)?;
        let signature = match name.base {
            "vectorized_elementwise_kernel" | "elementwise_kernel" | "vectorized_templated_elementwise_kernel" => {
                Signature::of(name)
            }
            "unrolled_elementwise_kernel" | "unrolled_elementwise_kernel_for_multi_outputs" => Signature::of(name),
            _ => return None,
        };
        Some(Elementwise { count, sizes: sizes(name, kernel), operands: signature.operands, bytes: signature.bytes })
    }

    /// What a launch moves; `None` if its parameters cannot be read.
    pub fn traffic(&self, params: &[u8]) -> Option<Traffic> {
        let count = self.count.count(params)?;
        let flops = count.saturating_mul(u64::from(self.operands));
        let (bytes_written, bytes_read) = match self.sizes {
            Sizes::Named => None,
            Sizes::Cast { loader, storer } => self.cast(count, loader as usize, storer as usize, params),
            Sizes::Strided { calculator } => self.strided(count, calculator as usize, params),
        }
        .unwrap_or_else(|| self.named(count));
        Some(Traffic { bytes_read, bytes_written, flops })
    }

    fn named(&self, count: u64) -> (u64, u64) {
        let inputs = usize::from(self.operands).saturating_sub(1);
        let read = (1..=inputs).map(|at| u64::from(self.bytes[at.min(MOST_OPERANDS - 1)])).sum::<u64>();
        (count.saturating_mul(u64::from(self.bytes[0])), count.saturating_mul(read))
    }

    /// A casting loader is one byte of type for each input, then four bytes of element size for each.
    fn cast(&self, count: u64, loader: usize, storer: usize, params: &[u8]) -> Option<(u64, u64)> {
        let inputs = usize::from(self.operands).saturating_sub(1);
        let element = |at| read_count(params, at).filter(|size| (1..=16).contains(size));
        let first = loader + inputs.next_multiple_of(4);
        let mut read = 0;
        for input in 0..inputs {
            read += element(first + input * 4)?;
        }
        Some((count.saturating_mul(element(storer + 4)?), count.saturating_mul(read)))
    }

    /// An offset calculator is the number of dimensions, 25 dividers of 12 bytes that start with the size, and 25
    /// strides in bytes for each operand.
    fn strided(&self, count: u64, at: usize, params: &[u8]) -> Option<(u64, u64)> {
        let dimensions = usize::try_from(read_i32(params, at)?).ok().filter(|&n| (1..=MOST_DIMENSIONS).contains(&n))?;
        let operands = usize::from(self.operands);
        let strides = at + 4 + MOST_DIMENSIONS * 12;
        let mut elements = [1_u64; MOST_OPERANDS];
        let mut nearest = [u64::MAX; MOST_OPERANDS];
        let mut all = 1_u64;
        for dimension in 0..dimensions {
            let size = read_count(params, at + 4 + dimension * 12)?;
            all = all.saturating_mul(size);
            for operand in 0..operands.min(MOST_OPERANDS) {
                let stride =
                    u64::from(read_i32(params, strides + (dimension * operands + operand) * 4)?.unsigned_abs());
                if stride > 0 {
                    elements[operand] = elements[operand].saturating_mul(size);
                    nearest[operand] = nearest[operand].min(stride);
                }
            }
        }
        if all != count {
            return None;
        }
        let bytes = |operand: usize| match nearest[operand] {
            u64::MAX => u64::from(self.bytes[operand]),
            stride => elements[operand].saturating_mul(stride.min(SECTOR_BYTES)),
        };
        Some((bytes(0), (1..operands.min(MOST_OPERANDS)).map(bytes).sum()))
    }
}

fn sizes(name: &Name, kernel: &KernelInfo) -> Sizes {
    let at = |ordinal: usize| kernel.params.get(ordinal).map(|param| param.offset);
    match (name.base, at(1), at(5), at(6)) {
        ("elementwise_kernel", Some(calculator), ..) => Sizes::Strided { calculator },
        ("unrolled_elementwise_kernel", _, Some(loader), Some(storer)) if name.has("12LoadWithCastI") => {
            Sizes::Cast { loader, storer }
        }
        _ => Sizes::Named,
    }
}

/// Operands and their sizes as the name tells them.
struct Signature {
    operands: u8,
    bytes: [u8; MOST_OPERANDS],
}

impl Signature {
    fn of(name: &Name) -> Signature {
        let arrays = name.after("St5arrayIPcLm").and_then(number);
        let functor = name.rest.find("St5arrayIPcLm").map_or(name.rest, |end| &name.rest[..end]);
        let (result, inputs, given) = functor_types(name, functor);
        let operands = arrays.map_or(given + 1, |n| usize::try_from(n).unwrap_or(1)).clamp(1, 64);
        let first = if given > 0 { inputs[0] } else { result.unwrap_or(4) };
        let mut bytes = [first; MOST_OPERANDS];
        bytes[0] = result.unwrap_or(first);
        for (operand, slot) in bytes.iter_mut().enumerate().skip(1) {
            *slot = inputs[operand.min(given.max(1)) - 1].max(u8::from(given == 0) * first);
        }
        Signature { operands: operands as u8, bytes }
    }
}

/// Size of the result if the name says it, sizes of the inputs, and how many inputs there are.
fn functor_types(name: &Name, functor: &str) -> (Option<u8>, [u8; MOST_OPERANDS], usize) {
    let mut types = Types::new(name.all);
    let mut read = |mut rest: &str, most: usize| {
        let (mut sizes, mut found) = ([0_u8; MOST_OPERANDS], 0);
        while found < most.min(MOST_OPERANDS) {
            let Some((bytes, after)) = types.next(rest) else { break };
            sizes[found] = bytes;
            found += 1;
            rest = after;
        }
        (sizes, found)
    };
    let arguments = |marker: &str| functor.find(marker).map(|at| &functor[at + marker.len()..]);
    // Operators on one or two tensors: first operand, second operand, result. One of A (B) is a scalar in the functor.
    for (marker, input) in [
        ("14BinaryFunctorI", None),
        ("13BinaryFunctorI", None),
        ("13AUnaryFunctorI", Some(1)),
        ("13BUnaryFunctorI", Some(0)),
    ] {
        if let Some(rest) = arguments(marker) {
            let (sizes, _) = read(rest, 3);
            let mut inputs = [0; MOST_OPERANDS];
            (inputs[0], inputs[1]) = input.map_or((sizes[0], sizes[1]), |at| (sizes[at], 0));
            return (Some(sizes[2]).filter(|&size| size > 0), inputs, 2 - usize::from(input.is_some()));
        }
    }
    if let Some(rest) = arguments("11FillFunctorI") {
        return (Some(read(rest, 1).0[0].max(1)), [0; MOST_OPERANDS], 0);
    }
    if let Some(at) = functor.rfind("EUl").filter(|_| !functor.contains("CUDAFunctor")) {
        let (inputs, found) = read(&functor[at + 3..], MOST_OPERANDS);
        // A converting copy names its source and its result; a choice by a mask has the type of what is chosen.
        let converted = arguments("27converting_copy_kernel_cudaI").map(|rest| read(rest, 2).0[1]);
        let chosen = name.has("where_kernel").then(|| inputs[found.max(1) - 1]);
        return (converted.or(chosen).or_else(|| told(name)).filter(|&size| size > 0), inputs, found);
    }
    // A functor class such as CUDAFunctor_add<float>: operands of one type.
    let size = class_argument(functor).map_or(0, |rest| read(rest, 1).0[0]);
    (Some(size).filter(|&size| size > 0), [size.max(1); MOST_OPERANDS], if size > 0 { 2 } else { 0 })
}

/// What follows the `I` of the innermost functor class.
fn class_argument(functor: &str) -> Option<&str> {
    let at = functor.find("Functor")?;
    let open = functor[at..].find('I')?;
    Some(&functor[at + open + 1..])
}

/// Kernels whose own names tell the result's type: copies that convert, comparisons, tests.
fn told(name: &Name) -> Option<u8> {
    let kernels = [
        ("float8_copy_kernel_cuda", 1),
        ("bfloat16tofloat32_copy_kernel_cuda", 4),
        ("bfloat16_copy_kernel_cuda", 2),
        ("float16_copy_kernel_cuda", 2),
        ("compare_scalar_kernel", 1),
        ("isnan_kernel", 1),
        ("isfinite_kernel", 1),
        ("isneginf_kernel", 1),
        ("isposinf_kernel", 1),
        ("logical_not_kernel", 1),
        ("signbit_kernel", 1),
    ];
    kernels.iter().find(|(kernel, _)| name.has(kernel)).map(|&(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    fn kernel(name: &str, places: &[(u32, u32)]) -> KernelInfo {
        let params = places.iter().map(|&(offset, bytes)| Param { offset, bytes }).collect();
        KernelInfo { name: name.to_owned(), params, ..KernelInfo::default() }
    }

    fn priced(name: &str, places: &[(u32, u32)], params: &[u8]) -> (u64, u64) {
        let kernel = kernel(name, places);
        let traffic = Elementwise::of(&Name::of(name), &kernel).unwrap().traffic(params).unwrap();
        (traffic.bytes_read, traffic.bytes_written)
    }

    fn with_count(count: i32) -> Vec<u8> {
        let mut params = vec![0; 64];
        params[..4].copy_from_slice(&count.to_le_bytes());
        params
    }

    const PLACES: [(u32, u32); 3] = [(0, 4), (4, 1), (8, 24)];

    #[test]
    fn operands_of_a_named_functor_are_counted_by_type() {
        let cases = [
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_13BinaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEESt5arrayIPcLm3EELb0EEEviT0_T1_",
                (8, 4),
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELb0EEEviT0_T1_",
                (8, 4),
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIN3c108BFloat16EEESt5arrayIPcLm1EELb0EEEviT0_T1_",
                (0, 2),
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_13AUnaryFunctorIlllZZZNS0_18lshift_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_clEvENKUlvE2_clEvEUlllE_EESt5arrayIPcLm2EELb0EEEviT0_T1_",
                (8, 8),
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELb0EEEviT0_T1_",
                (2, 2),
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_67_GLOBAL__N__12fa4e86_28_ActivationLeakyReluKernel_cu_e5d96c45_4275226leaky_relu_backward_kernelERNS_18TensorIteratorBaseERKN3c106ScalarEENKUlvE_clEvENKUlvE1_clEvEUlNS5_4HalfESB_E_St5arrayIPcLm3EELb0EEEviT0_T1_",
                (4, 2),
            ),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi2EZNS0_59_GLOBAL__N__7fea3eb9_20_group_norm_kernel_cu_e5d96c45_7385735GroupNormBackwardKernelImplInternalIN3c108BFloat16EEEvRKNS_6TensorES8_S8_S8_S8_llllRS6_S9_S9_EUlS5_S5_fffE_St5arrayIPcLm6EELb0EEEviT0_T1_",
                (16, 2),
            ),
        ];
        for (name, (read, written)) in cases {
            assert_eq!(priced(name, &PLACES, &with_count(1000)), (read * 1000, written * 1000), "{name}");
        }
    }

    #[test]
    fn a_choice_by_a_mask_writes_what_is_chosen() {
        let name = "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_49_GLOBAL__N__037c6ad9_16_TensorCompare_cu_71e06f4e17where_kernel_implERNS_14TensorIteratorEENKUlvE_clEvENKUlvE_clEvEUlbddE_St5arrayIPcLm4EELb0EEEviT0_T1_";
        assert_eq!(priced(name, &PLACES, &with_count(10)), (170, 80));
    }

    #[test]
    fn a_comparison_writes_one_byte() {
        let name = "_ZN2at6native27unrolled_elementwise_kernelINS0_13BinaryFunctorIiibZZZNS0_23logical_and_kernel_cudaERNS_14TensorIteratorEENKUlvE0_clEvENKUlvE1_clEvEUliiE_EESt5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjESC_ILi1EjENS0_6memory15LoadWithoutCastENSF_16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_";
        let places = [(0, 4), (4, 1), (8, 24), (32, 1), (33, 1), (34, 1), (35, 1)];
        assert_eq!(priced(name, &places, &with_count(10)), (80, 10));
    }

    #[test]
    fn a_casting_kernel_is_priced_by_the_sizes_in_its_loader() {
        let name = "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_16log2_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE1_clEvEUlN3c104HalfEE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESD_NS0_6memory12LoadWithCastILi1EEENSE_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_";
        let places = [(0, 4), (4, 1), (8, 16), (24, 1), (25, 1), (28, 8), (36, 8)];
        let mut params = with_count(100);
        params[32] = 8;
        params[40] = 4;
        assert_eq!(priced(name, &places, &params), (800, 400));
        params[32] = 0;
        assert_eq!(priced(name, &places, &params), (200, 200), "nonsense falls back to the name");
    }

    #[test]
    fn a_broadcast_operand_counts_once() {
        let name = "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_13BinaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_";
        let mut params = vec![0; 700];
        let put =
            |params: &mut Vec<u8>, at: usize, value: i32| params[at..at + 4].copy_from_slice(&value.to_le_bytes());
        put(&mut params, 0, 64 * 32);
        put(&mut params, 8, 2);
        put(&mut params, 12, 64);
        put(&mut params, 24, 32);
        // Result and first operand are dense, the second repeats over dimension 1.
        for (at, stride) in [4, 4, 4, 256, 256, 0].into_iter().enumerate() {
            put(&mut params, 8 + 304 + at * 4, stride);
        }
        let dense = 64 * 32 * 4;
        assert_eq!(priced(name, &[(0, 4), (8, 632)], &params), (dense + 64 * 4, dense));
        put(&mut params, 24, 33);
        assert_eq!(priced(name, &[(0, 4), (8, 632)], &params), (dense * 2, dense), "sizes that do not match the count");
    }
}
