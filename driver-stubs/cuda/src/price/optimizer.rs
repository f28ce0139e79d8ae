//! multi_tensor_apply: one launch over lists of tensors (foreach operations, fused optimizers, gradient norms).
//! It does not follow the addresses in the lists.
//!
//! Source: torch 2.15's MultiTensorApply.cuh. Parameter 0 holds addresses of every list's tensors, their element counts,
//! sometimes a scalar or a step for each, then for every block its tensor and its chunk of 65536 elements. Room for 770 /
//! 448 / 336 / 252 / 210 tensors and 2240 blocks since CUDA 13, for 110 / 64 / 48 / 36 / 30 and 320 before; which it is
//! shows in the parameter's size. Counts are exact; one element type is taken for all
//! lists of a launch, except in copies and mixed-precision Adam.

use super::name::{Name, Types, identifier, number};
use super::traffic::Traffic;
use super::{Geometry, read_count, read_i64};
use crate::fatbin::KernelInfo;

const CHUNK: u64 = 65_536;

struct Room {
    tensors: [usize; 5],
    tensors_with_scalars: [usize; 5],
    blocks: usize,
    tensor_index_bytes: usize,
}

const ROOMS: [Room; 2] = [
    Room {
        tensors: [770, 448, 336, 252, 210],
        tensors_with_scalars: [672, 448, 336, 252, 210],
        blocks: 2240,
        tensor_index_bytes: 2,
    },
    Room {
        tensors: [110, 64, 48, 36, 30],
        tensors_with_scalars: [96, 64, 48, 36, 30],
        blocks: 320,
        tensor_index_bytes: 1,
    },
];

/// A kernel over lists of tensors.
#[derive(Clone, Copy, Debug)]
pub struct Lists {
    counts_at: u32,
    tensor_of_block_at: u32,
    chunk_of_block_at: u32,
    tensors: u32,
    blocks: u32,
    tensor_index_bytes: u8,
    /// For each element.
    bytes_read: u16,
    bytes_written: u16,
    flops: u16,
}

impl Lists {
    pub fn of(name: &Name, kernel: &KernelInfo) -> Option<Lists> {
        if name.base != "multi_tensor_apply_kernel" {
            return None;
        }
        let (scalar_bytes, steps, depth) = metadata(name)?;
        let depth = depth.clamp(1, 5);
        let size = kernel.params.first()?.bytes as usize;
        let layouts = ROOMS.iter().map(|room| layout(room, depth, scalar_bytes, steps));
        let (mut lists, _) = layouts.into_iter().find(|(_, bytes)| bytes.abs_diff(size) < 8)?;
        (lists.bytes_read, lists.bytes_written) = moved(name, depth);
        lists.flops = if steps { 12 } else { 2 };
        Some(lists)
    }

    /// What a launch moves; `None` if its parameters cannot be read.
    pub fn traffic(&self, geometry: &Geometry, params: &[u8]) -> Option<Traffic> {
        let last = u32::try_from(geometry.blocks()).ok()?.min(self.blocks) - 1;
        let (first_tensor, first_chunk) = self.block(0, params)?;
        let (last_tensor, last_chunk) = self.block(last, params)?;
        if first_tensor > last_tensor || last_tensor >= self.tensors {
            return None;
        }
        let from = self.counts_at as usize + first_tensor as usize * 8;
        let to = self.counts_at as usize + (last_tensor as usize + 1) * 8;
        let counts = params.get(from..to)?.chunks_exact(8);
        let all = counts.fold(0_u64, |all, count| all.saturating_add(u64_of(count)));
        // A tensor that began in an earlier launch, or ends in a later one, is only partly of this one.
        let before = first_chunk.saturating_mul(CHUNK);
        let last_count = u64::try_from(read_i64(params, to - 8)?).unwrap_or(0);
        let after = last_count.saturating_sub((last_chunk + 1).saturating_mul(CHUNK));
        let elements = all.saturating_sub(before).saturating_sub(after);
        Some(Traffic {
            bytes_read: elements.saturating_mul(u64::from(self.bytes_read)),
            bytes_written: elements.saturating_mul(u64::from(self.bytes_written)),
            flops: elements.saturating_mul(u64::from(self.flops)),
        })
    }

    /// Tensor and chunk of a block.
    fn block(&self, block: u32, params: &[u8]) -> Option<(u32, u64)> {
        let width = u32::from(self.tensor_index_bytes);
        let at = (self.tensor_of_block_at + block * width) as usize;
        let index = params.get(at..at + width as usize)?;
        let tensor = index.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
        Some((tensor, read_count(params, (self.chunk_of_block_at + block * 4) as usize)?))
    }
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Bytes of the scalar kept for each tensor (0 = none), whether there is a step for each, and the number of lists.
fn metadata(name: &Name) -> Option<(usize, bool, usize)> {
    let lists = |rest| number(rest).and_then(|n| usize::try_from(n).ok());
    if let Some(rest) = name.after("32FusedOptimizerTensorListMetadataILi") {
        return Some((0, true, lists(rest)?));
    }
    if let Some(rest) = name.after("18TensorListMetadataILi") {
        return Some((0, false, lists(rest)?));
    }
    let rest = name.after("28TensorListScalarListMetadataI")?;
    let (bytes, after) = Types::new(name.all).next(rest)?;
    Some((usize::from(bytes), false, lists(after.strip_prefix("Li")?)?))
}

/// Where things lie, and how large it all is.
fn layout(room: &Room, depth: usize, scalar_bytes: usize, steps: bool) -> (Lists, usize) {
    let tensors = match scalar_bytes {
        0 => room.tensors[depth - 1],
        // Two lists with 16-byte scalars would not fit the parameter space.
        16 if depth <= 2 => room.tensors_with_scalars[depth - 1] * [504, 420][depth - 1] / [672, 448][depth - 1],
        _ => room.tensors_with_scalars[depth - 1],
    };
    let counts = depth * tensors * 8;
    let tensor_of_block = counts + tensors * 8 + tensors * scalar_bytes + if steps { tensors * 8 } else { 0 };
    let chunk_of_block = (tensor_of_block + room.blocks * room.tensor_index_bytes).next_multiple_of(4);
    let end = chunk_of_block + room.blocks * 4 + if scalar_bytes == 0 { 4 } else { 0 };
    let lists = Lists {
        counts_at: counts as u32,
        tensor_of_block_at: tensor_of_block as u32,
        chunk_of_block_at: chunk_of_block as u32,
        tensors: tensors as u32,
        blocks: room.blocks as u32,
        tensor_index_bytes: room.tensor_index_bytes as u8,
        bytes_read: 0,
        bytes_written: 0,
        flops: 0,
    };
    (lists, end.next_multiple_of(8))
}

/// Bytes read and written for each element of the lists.
fn moved(name: &Name, depth: usize) -> (u16, u16) {
    let Some((functor, rest)) = functor(name) else { return (depth as u16 * 4, 4) };
    let mut types = Types::new(name.all);
    if functor == "FusedAdamMathFunctorMP" {
        return mixed(&mut types, rest, depth);
    }
    let (element, after) = types.next(rest).unwrap_or((4, rest));
    let (element, depth) = (u16::from(element), depth as u16);
    match functor {
        // Everything is read; everything but the gradient is written.
        _ if functor.starts_with("Fused") => (depth * element, (depth - 1).max(1) * element),
        _ if functor.starts_with("LpNorm") || functor.starts_with("LpMax") => (depth * element, 0),
        "ZeroFunctor" => (0, element),
        "CopyFunctor" => (types.next(after).map_or(element, |(from, _)| u16::from(from)), element),
        // Depth, number of lists read, list written.
        _ => (literal(after, 1).unwrap_or(depth) * element, element),
    }
}

/// Arithmetic type, then parameter, gradient and the averages, each of its own type.
fn mixed(types: &mut Types, mut rest: &str, depth: usize) -> (u16, u16) {
    let mut sizes = [0; 6];
    for size in &mut sizes {
        let Some((bytes, after)) = types.next(rest) else { break };
        (*size, rest) = (u16::from(bytes), after);
    }
    let read = sizes[1..=depth].iter().sum::<u16>();
    (read, read - sizes[2])
}

/// The functor's identifier and what follows its `I`: the second template argument of the kernel.
fn functor<'a>(name: &Name<'a>) -> Option<(&'a str, &'a str)> {
    let mut rest = name.all;
    loop {
        let at = rest.find("Functor")?;
        let digits = rest[..at].rfind(|c: char| c.is_ascii_digit())?;
        let start = rest[..=digits].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        match identifier(&rest[start..]) {
            Some((identifier, after)) if identifier.contains("Functor") => {
                return Some((identifier, after.strip_prefix('I')?));
            }
            _ => rest = &rest[at + 7..],
        }
    }
}

/// The integer literal of this place in `Li1ELi2E...`.
fn literal(rest: &str, place: usize) -> Option<u16> {
    let mut rest = rest;
    for _ in 0..place {
        rest = rest.strip_prefix("Li")?;
        rest = &rest[rest.find('E')? + 1..];
    }
    u16::try_from(number(rest.strip_prefix("Li")?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    const ADAM: &str = "_ZN2at6native51_GLOBAL__N__890b71a8_18_fused_adam_impl_cu_7510a93525multi_tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKfdddddbS8_S8_EEEvT_T0_DpT1_";
    const ZERO: &str = "_ZN2at6native50_GLOBAL__N__637ba612_17_ForeachUnaryOp_cu_77fe623d25multi_tensor_apply_kernelINS1_18TensorListMetadataILi1EEENS1_11ZeroFunctorIfLi1ELi1ELi0EEEJEEEvT_T0_DpT1_";
    const SCALARS: &str = "_ZN2at6native54_GLOBAL__N__637ba612_21_ForeachPointwiseOp_cu_77fe623d25multi_tensor_apply_kernelINS1_28TensorListScalarListMetadataIfLi3EEENS1_28PointwiseOpScalarListFunctorIN3c108BFloat16ELi3ELi3ELi0EEEJSt10multipliesIfEEEEvT_T0_DpT1_";

    fn lists(name: &str, bytes: u32) -> Option<Lists> {
        let kernel = KernelInfo { params: vec![Param { offset: 0, bytes }], ..KernelInfo::default() };
        Lists::of(&Name::of(name), &kernel)
    }

    #[test]
    fn layouts_have_the_sizes_that_the_library_has() {
        assert_eq!(lists(ZERO, 25_768).unwrap().counts_at, 770 * 8);
        assert_eq!(lists(ZERO, 3_368).unwrap().tensors, 110);
        assert_eq!(lists(SCALARS, 25_536).unwrap().tensors, 336);
        assert!(lists(ZERO, 1000).is_none());
    }

    fn launch(lists: &Lists, counts: &[u64], blocks: &[(u16, u32)]) -> Option<Traffic> {
        let mut params = vec![0; 30_000];
        for (at, count) in counts.iter().enumerate() {
            let at = lists.counts_at as usize + at * 8;
            params[at..at + 8].copy_from_slice(&count.to_le_bytes());
        }
        for (at, (tensor, chunk)) in blocks.iter().enumerate() {
            let place = lists.tensor_of_block_at as usize + at * 2;
            params[place..place + 2].copy_from_slice(&tensor.to_le_bytes());
            let place = lists.chunk_of_block_at as usize + at * 4;
            params[place..place + 4].copy_from_slice(&chunk.to_le_bytes());
        }
        let geometry = Geometry { grid: [blocks.len() as u32, 1, 1], block: [512, 1, 1], shared_bytes: 0 };
        lists.traffic(&geometry, &params)
    }

    #[test]
    fn an_adam_step_reads_four_lists_and_writes_three() {
        let adam = lists(ADAM, 25_544).unwrap();
        let traffic = launch(&adam, &[100, 70_000], &[(0, 0), (1, 0), (1, 1)]).unwrap();
        assert_eq!((traffic.bytes_read, traffic.bytes_written), (70_100 * 16, 70_100 * 12));
    }

    #[test]
    fn averages_of_another_type_count_by_that_type() {
        let mixed = ADAM.replace("20FusedAdamMathFunctorIfLi4E", "22FusedAdamMathFunctorMPIfffN3c108BFloat16ES7_fLi4E");
        let traffic = launch(&lists(&mixed, 25_544).unwrap(), &[100], &[(0, 0)]).unwrap();
        assert_eq!((traffic.bytes_read, traffic.bytes_written), (1200, 800));
    }

    #[test]
    fn a_tensor_that_spans_launches_is_split_between_them() {
        let zero = lists(ZERO, 25_768).unwrap();
        let (first, second) =
            (launch(&zero, &[200_000], &[(0, 0), (0, 1)]), launch(&zero, &[200_000], &[(0, 2), (0, 3)]));
        assert_eq!(first.unwrap().bytes_written, 2 * CHUNK * 4);
        assert_eq!(second.unwrap().bytes_written, (200_000 - 2 * CHUNK) * 4);
        assert_eq!(launch(&zero, &[], &[(900, 0)]), None, "a tensor that there is no room for");
    }

    #[test]
    fn scalars_beside_each_tensor_are_passed_over() {
        let traffic = launch(&lists(SCALARS, 25_536).unwrap(), &[10], &[(0, 0)]).unwrap();
        assert_eq!((traffic.bytes_read, traffic.bytes_written), (60, 20));
    }
}
