//! Kernels that torch.compile's Inductor writes in Triton: pointwise (`triton_poi_`) and reductions (`triton_red_`, `_per_`).
//! It sees sizes and the number of operands, not their types.
//!
//! Source: Inductor's public code generator, checked against compiled kernels of torch 2.15 with Triton 3.9: pointers to
//! all operands, then the element counts of each dimension as `int`s, then two scratch pointers of Triton. Guessed:
//! an element has 2 bytes (half of what single precision has); every operand of a pointwise kernel has full size
//! (broadcast ones have not); of a reduction's operands every second has full size. Off by about 2 either way.

use super::Place;
use super::name::Name;
use super::traffic::Traffic;
use crate::fatbin::KernelInfo;

const ELEMENT_BYTES: u64 = 2;
const MOST_COUNTS: usize = 4;

/// A generated kernel.
#[derive(Clone, Copy, Debug)]
pub struct Generated {
    counts: [Option<Place>; MOST_COUNTS],
    /// Operands of full size.
    read: u8,
    written: u8,
}

impl Generated {
    pub fn of(name: &Name, kernel: &KernelInfo) -> Option<Generated> {
        let reduces = match name.base.strip_prefix("triton_")?.get(..4)? {
            "poi_" => false,
            "red_" | "per_" => true,
            _ => return None,
        };
        let operands = kernel.params.iter().take_while(|param| param.bytes == 8).count();
        let mut counts = [None; MOST_COUNTS];
        for (slot, param) in counts.iter_mut().zip(&kernel.params[operands..]).take_while(|(_, param)| param.bytes == 4)
        {
            *slot = Some(Place { at: param.offset, wide: false });
        }
        let operands = u8::try_from(operands).ok().filter(|&n| n > 0)?;
        counts[0]?;
        let (read, written) = if reduces {
            let full = operands.div_ceil(2);
            (full.div_ceil(2), full / 2)
        } else {
            (operands - 1, 1)
        };
        Some(Generated { counts, read, written })
    }

    /// What a launch moves; `None` if its parameters cannot be read.
    pub fn traffic(&self, params: &[u8]) -> Option<Traffic> {
        let elements = self
            .counts
            .iter()
            .flatten()
            .try_fold(1_u64, |all, place| Some(all.saturating_mul(place.count(params)?)))?;
        let bytes = |operands: u8| elements.saturating_mul(u64::from(operands) * ELEMENT_BYTES);
        Some(Traffic {
            bytes_read: bytes(self.read),
            bytes_written: bytes(self.written),
            flops: elements.saturating_mul(8),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    fn moved(name: &str, pointers: u32, counts: &[i32]) -> (u64, u64) {
        let mut params = Vec::new();
        let mut packed = vec![0; pointers as usize * 8];
        params.extend((0..pointers).map(|at| Param { offset: at * 8, bytes: 8 }));
        for &count in counts {
            params.push(Param { offset: packed.len() as u32, bytes: 4 });
            packed.extend(count.to_le_bytes());
        }
        params.extend([8, 16].map(|more| Param { offset: packed.len() as u32 + more, bytes: 8 }));
        let kernel = KernelInfo { params, ..KernelInfo::default() };
        let traffic = Generated::of(&Name::of(name), &kernel).unwrap().traffic(&packed).unwrap();
        (traffic.bytes_read, traffic.bytes_written)
    }

    #[test]
    fn a_pointwise_kernel_moves_every_operand() {
        assert_eq!(moved("triton_poi_fused_add_mul_silu_0", 3, &[1000]), (4000, 2000));
        assert_eq!(moved("triton_poi_fused_add_clone_t_0", 2, &[10, 100]), (2000, 2000));
    }

    #[test]
    fn a_reduction_moves_every_second_operand() {
        assert_eq!(moved("triton_red_fused__to_copy_sum_0", 2, &[10, 100]), (2000, 0));
        assert_eq!(moved("triton_red_fused_native_layer_norm_0", 3, &[10, 100]), (2000, 2000));
    }

    #[test]
    fn what_inductor_did_not_write_is_not_taken() {
        assert!(Generated::of(&Name::of("triton_tem_fused_mm_0"), &KernelInfo::default()).is_none());
        assert!(Generated::of(&Name::of("triton_poi_fused_0"), &KernelInfo::default()).is_none());
    }
}
