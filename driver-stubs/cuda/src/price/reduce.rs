//! TensorIterator's reductions: sum, mean, max, norm and the like over any dimensions.
//! It does not tell the operations apart.
//!
//! Source: torch 2.15's Reduce.cuh. The only parameter holds, behind the operation itself, a configuration of 14 `int`s:
//! element size, inputs of one output, outputs, steps, blocks of one output, multipliers, and block width and height.
//! It is recognised by width and height being those of the launch. Element size comes from the name (the configuration
//! has that of the accumulator). An input that is itself broadcast is charged as if it were not: too much.

use super::name::{Name, Types};
use super::traffic::Traffic;
use super::{Geometry, read_count, read_i32};
use crate::fatbin::KernelInfo;

/// How far into the parameter the configuration is looked for: operation and identity are small.
const LOOK: usize = 128;
const INPUTS: usize = 4;
const OUTPUTS: usize = 8;
const BLOCKS_OF_OUTPUT: usize = 20;
const WIDTH: usize = 44;
const HEIGHT: usize = 48;
const THREADS: usize = 52;

/// A reduction.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    element_bytes: u8,
}

impl Reduce {
    pub fn of(name: &Name, kernel: &KernelInfo) -> Option<Reduce> {
        if name.base != "reduce_kernel" || kernel.params.len() > 1 {
            return None;
        }
        let element = name.after("8ReduceOpI").and_then(|rest| Types::new(name.all).next(rest));
        Some(Reduce { element_bytes: element.map_or(4, |(bytes, _)| bytes) })
    }

    /// What a launch moves; `None` if its parameters cannot be read.
    pub fn traffic(&self, geometry: &Geometry, params: &[u8]) -> Option<Traffic> {
        let at = (0..LOOK).step_by(4).find(|&at| configuration_at(at, geometry, params))?;
        let (inputs, outputs) = (read_count(params, at + INPUTS)?, read_count(params, at + OUTPUTS)?);
        let elements = inputs.saturating_mul(outputs);
        let element = u64::from(self.element_bytes);
        Some(Traffic {
            bytes_read: elements.saturating_mul(element),
            bytes_written: outputs.saturating_mul(element),
            flops: elements,
        })
    }
}

fn configuration_at(at: usize, geometry: &Geometry, params: &[u8]) -> bool {
    let holds =
        |offset: usize, value: u64| read_i32(params, at + offset).is_some_and(|have| i64::from(have) == value as i64);
    holds(WIDTH, u64::from(geometry.block[0]))
        && holds(HEIGHT, u64::from(geometry.block[1]))
        && holds(THREADS, geometry.threads())
        && holds(BLOCKS_OF_OUTPUT, u64::from(geometry.grid[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    const MEAN: &str = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_7MeanOpsIS4_ffS4_EEjS4_Li4ELi8EEEEEvT1_";

    fn reduce() -> Reduce {
        let kernel = KernelInfo { params: vec![Param { offset: 0, bytes: 1048 }], ..KernelInfo::default() };
        Reduce::of(&Name::of(MEAN), &kernel).unwrap()
    }

    #[test]
    fn inputs_and_outputs_stand_in_the_configuration() {
        let geometry = Geometry { grid: [16, 2, 1], block: [32, 16, 1], shared_bytes: 0 };
        let mut params = vec![0; 1048];
        let configuration = [4, 5000, 256, 1024, 16, 2, 1, 32, 512, 0, 0, 32, 16, 512];
        for (slot, value) in params[8..].chunks_exact_mut(4).zip(configuration) {
            slot.copy_from_slice(&i32::to_le_bytes(value));
        }
        let traffic = reduce().traffic(&geometry, &params).unwrap();
        assert_eq!((traffic.bytes_read, traffic.bytes_written), (5000 * 256 * 2, 512));
    }

    #[test]
    fn parameters_without_a_configuration_are_not_read() {
        let geometry = Geometry { grid: [16, 1, 1], block: [32, 16, 1], shared_bytes: 0 };
        assert_eq!(reduce().traffic(&geometry, &[7; 1048]), None);
        assert_eq!(reduce().traffic(&geometry, &[]), None);
    }
}
