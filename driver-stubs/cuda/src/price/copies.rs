//! Concatenation: one launch that copies a batch of inputs into one output.
//! It does not look at strides.
//!
//! Source: torch's Shape.cu (CatArrayBatchedCopy and its variants). Parameter 1 holds, for up to n inputs, their
//! pointers, then offsets, sizes along the dimension and element counts as indices; the grid's second dimension is the
//! number of inputs. Exact, unless inputs are strided (then too little).

use super::name::{Name, number};
use super::traffic::Traffic;
use super::{Geometry, read_count, read_i64};
use crate::fatbin::KernelInfo;

/// A concatenating kernel.
#[derive(Clone, Copy, Debug)]
pub struct Concatenate {
    counts_at: u32,
    inputs: u32,
    wide: bool,
    element_bytes: u8,
}

impl Concatenate {
    pub fn of(name: &Name, kernel: &KernelInfo) -> Option<Concatenate> {
        if !name.base.starts_with("CatArrayBatchedCopy") {
            return None;
        }
        // Element type, index type, dimensions, inputs.
        let rest = name.after("10OpaqueTypeILj")?;
        let element = number(rest)?;
        let rest = &rest[rest.find("EEE")? + 3..];
        let wide = matches!(rest.as_bytes().first()?, b'l' | b'm');
        let rest = rest.get(1..)?.strip_prefix("Li")?;
        let inputs = number(rest[rest.find('E')? + 1..].strip_prefix("Li")?)?.min(1024);
        let index_bytes = if wide { 8 } else { 4 };
        let counts_at = kernel.params.get(1)?.offset + inputs * 8 + inputs * index_bytes * 2;
        Some(Concatenate { counts_at, inputs, wide, element_bytes: u8::try_from(element).ok()? })
    }

    /// What a launch moves; `None` if its parameters cannot be read.
    pub fn traffic(&self, geometry: &Geometry, params: &[u8]) -> Option<Traffic> {
        let mut elements = 0_u64;
        for input in 0..geometry.grid[1].min(self.inputs) as usize {
            let at = self.counts_at as usize;
            elements = elements.saturating_add(match self.wide {
                true => u64::try_from(read_i64(params, at + input * 8)?).unwrap_or(0),
                false => read_count(params, at + input * 4)?,
            });
        }
        let bytes = elements.saturating_mul(u64::from(self.element_bytes));
        Some(Traffic { bytes_read: bytes, bytes_written: bytes, flops: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    #[test]
    fn the_inputs_of_the_grid_are_added_up() {
        let name = "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c26CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj2EEEjLi1ELi128ELi1EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_";
        let params = [(0, 8), (8, 2720)].map(|(offset, bytes)| Param { offset, bytes }).to_vec();
        let kernel = KernelInfo { params, ..KernelInfo::default() };
        let cat = Concatenate::of(&Name::of(name), &kernel).unwrap();
        let mut params = vec![0; 2728];
        for (input, count) in [1000_i32, 24, 7].into_iter().enumerate() {
            let at = 8 + 1024 + 1024 + input * 4;
            params[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
        let geometry = Geometry { grid: [8, 2, 1], block: [512, 1, 1], shared_bytes: 0 };
        assert_eq!(cat.traffic(&geometry, &params).unwrap().bytes_read, 2048);
    }
}
