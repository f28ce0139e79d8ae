//! What a plan transforms: sizes, layouts and types, what that costs and what it writes.
//! It knows no plan handle and reads no memory.

use crate::Error;
use ghost_blas::{DataType, kernel};
use ghost_table::{Operation, Range};

/// The longest transform one kernel does: its data is held in shared memory. Longer ones pass over memory again.
const ONE_KERNEL_LOG2: u32 = 12;

/// The largest prime factor cuFFT has code for; lengths with a larger one are made a convolution (Bluestein).
const LARGEST_RADIX: u64 = 127;

/// One side of a transform in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub kind: DataType,
    /// Elements of the dimensions as stored; empty = packed.
    pub embed: Vec<u64>,
    pub stride: u64,
    /// Elements from one batch to the next.
    pub distance: u64,
}

impl Layout {
    /// Elements one behind the other.
    pub fn packed(kind: DataType) -> Layout {
        Layout { kind, embed: Vec::new(), stride: 1, distance: 0 }
    }

    /// Bytes from the first to the last element of `batch` times `sizes`.
    fn span(&self, sizes: &[u64], batch: u64) -> u64 {
        if self.embed.is_empty() {
            return self.kind.bytes(sizes.iter().product::<u64>().saturating_mul(batch));
        }
        let inner = self.embed.iter().skip(1).chain([&1]);
        let last = sizes
            .iter()
            .zip(inner)
            .fold(0_u64, |at, (&size, &next)| at.saturating_add(size.saturating_sub(1)).saturating_mul(next));
        let one = last.saturating_mul(self.stride).saturating_add(1);
        self.kind.bytes(self.distance.saturating_mul(batch - 1).saturating_add(one))
    }
}

/// A checked transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// Logical sizes, the slowest first.
    pub sizes: Vec<u64>,
    pub batch: u64,
    pub input: Layout,
    pub output: Layout,
}

/// Whether a `cudaDataType` is real or complex, and the bits of one number.
fn number(kind: DataType) -> Result<(bool, u64), Error> {
    match kind.0 {
        0 => Ok((false, 32)),
        1 => Ok((false, 64)),
        2 | 14 => Ok((false, 16)),
        4 => Ok((true, 32)),
        5 => Ok((true, 64)),
        6 | 15 => Ok((true, 16)),
        _ => Err(Error::InvalidType),
    }
}

impl Transform {
    /// Refuses what cuFFT refuses: real to real, mixed precision, half precision off powers of two, empty sizes.
    pub fn check(&self) -> Result<(), Error> {
        let (from_complex, from) = number(self.input.kind)?;
        let (to_complex, to) = number(self.output.kind)?;
        if from != to || !(from_complex || to_complex) {
            return Err(Error::InvalidType);
        }
        if !(1..=3).contains(&self.sizes.len()) || self.batch == 0 || self.sizes.contains(&0) {
            return Err(Error::InvalidSize);
        }
        if from == 16 && !self.sizes.iter().all(|size| size.is_power_of_two()) {
            return Err(Error::NotSupported);
        }
        Ok(())
    }

    /// Whether both sides are complex, so that a direction matters.
    pub fn is_complex(&self) -> bool {
        self.is_complex_in() && self.is_complex_out()
    }

    pub fn is_complex_in(&self) -> bool {
        number(self.input.kind).is_ok_and(|(complex, _)| complex)
    }

    pub fn is_complex_out(&self) -> bool {
        number(self.output.kind).is_ok_and(|(complex, _)| complex)
    }

    /// Sizes as a side stores them: a complex side of a real transform has half of the last one, and one.
    fn stored(&self, complex: bool) -> Vec<u64> {
        let mut sizes = self.sizes.clone();
        if let Some(last) = sizes.last_mut().filter(|_| complex && !self.is_complex()) {
            *last = *last / 2 + 1;
        }
        sizes
    }

    fn input_bytes(&self) -> u64 {
        self.input.kind.bytes(self.stored(self.is_complex_in()).iter().product::<u64>().saturating_mul(self.batch))
    }

    fn output_bytes(&self) -> u64 {
        self.output.kind.bytes(self.stored(self.is_complex_out()).iter().product::<u64>().saturating_mul(self.batch))
    }

    /// Passes over memory: one a dimension, more for long ones, three times as many for lengths with a large prime.
    fn passes(&self) -> u64 {
        self.sizes.iter().filter(|&&size| size > 1).map(|&size| passes(size)).sum::<u64>().max(1)
    }

    /// Bytes of scratch memory: a copy of the larger side when there is more than one pass.
    pub fn work_bytes(&self) -> u64 {
        match self.passes() {
            1 => 0,
            _ => self.input_bytes().max(self.output_bytes()),
        }
    }

    /// 5 N log2 N a batch, the usual count; half of it when one side is real.
    fn flops(&self) -> u64 {
        let n = self.sizes.iter().product::<u64>().saturating_mul(self.batch) as f64;
        let log2: f64 = self.sizes.iter().map(|&size| padded(size) as f64).map(f64::log2).sum();
        let whole = 5.0 * n * log2;
        (if self.is_complex() { whole } else { whole / 2.0 }) as u64
    }

    /// The kernels of one execution; the last one writes the output.
    pub fn operations(&self, output: u64) -> impl Iterator<Item = Operation> {
        let passes = self.passes();
        let (read, written) = (self.input_bytes(), self.output_bytes());
        let flops = self.flops() / passes;
        let kind = self.output.kind;
        let range = self.written(output);
        (1..=passes).map(move |pass| {
            let operation = kernel(c"cufft_transform", kind, [read, written, flops]);
            if pass == passes { operation.writes(range.address, range.bytes) } else { operation }
        })
    }

    /// What an execution writes.
    pub fn written(&self, output: u64) -> Range {
        Range { address: output, bytes: self.output.span(&self.stored(self.is_complex_out()), self.batch) }
    }
}

/// The length that is really transformed.
fn padded(size: u64) -> u64 {
    if has_large_prime(size) { (2 * size - 1).next_power_of_two() } else { size.max(1) }
}

fn passes(size: u64) -> u64 {
    let length = padded(size);
    let one = u64::from(u64::BITS - (length - 1).leading_zeros()).div_ceil(u64::from(ONE_KERNEL_LOG2));
    if length == size { one } else { 3 * one }
}

fn has_large_prime(mut size: u64) -> bool {
    for factor in 2..=LARGEST_RADIX {
        while size > 1 && size.is_multiple_of(factor) {
            size /= factor;
        }
    }
    size > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(sizes: &[u64], batch: u64, from: i32, to: i32) -> Transform {
        let [input, output] = [from, to].map(|kind| Layout::packed(DataType(kind)));
        Transform { sizes: sizes.to_vec(), batch, input, output }
    }

    #[test]
    fn a_real_transform_writes_half_and_one() {
        let r2c = transform(&[4, 8], 3, 0, 4);
        assert_eq!((r2c.check(), r2c.is_complex()), (Ok(()), false));
        assert_eq!(r2c.written(0x1000), Range { address: 0x1000, bytes: 4 * 5 * 3 * 8 });
        assert_eq!(transform(&[4, 8], 3, 4, 0).written(0x1000).bytes, 4 * 8 * 3 * 4);
    }

    #[test]
    fn types_and_sizes_are_checked() {
        assert_eq!(transform(&[8], 1, 0, 0).check(), Err(Error::InvalidType));
        assert_eq!(transform(&[8], 1, 0, 5).check(), Err(Error::InvalidType));
        assert_eq!(transform(&[8, 0], 1, 4, 4).check(), Err(Error::InvalidSize));
        assert_eq!(transform(&[8], 0, 4, 4).check(), Err(Error::InvalidSize));
        assert_eq!(transform(&[12], 1, 6, 6).check(), Err(Error::NotSupported));
        assert_eq!(transform(&[16], 1, 2, 6).check(), Ok(()));
    }

    #[test]
    fn the_cost_is_five_n_log_n_and_a_pass_over_memory_a_dimension() {
        let one = transform(&[1024], 2, 4, 4);
        let operations: Vec<_> = one.operations(64).collect();
        assert_eq!(operations.len(), 1);
        assert_eq!(operations[0].dims[..3], [1024 * 2 * 8, 1024 * 2 * 8, 5 * 2048 * 10]);
        assert_eq!((operations[0].output_count, one.work_bytes()), (1, 0));
        let three = transform(&[64, 64, 64], 1, 4, 4);
        assert_eq!((three.operations(64).count(), three.work_bytes()), (3, 64 * 64 * 64 * 8));
        assert_eq!(transform(&[1 << 20], 1, 4, 4).operations(64).count(), 2);
    }

    #[test]
    fn a_large_prime_costs_a_convolution() {
        assert!(!has_large_prime(127 * 128) && has_large_prime(131));
        assert_eq!((padded(131), passes(131), passes(128)), (512, 3, 1));
    }

    #[test]
    fn an_embedded_output_spans_its_strides() {
        let embed = Layout { kind: DataType::C_32F, embed: vec![4, 10], stride: 2, distance: 100 };
        let transform = Transform { output: embed, ..transform(&[4, 8], 2, 4, 4) };
        assert_eq!(transform.written(0).bytes, (100 + (3 * 10 + 7) * 2 + 1) * 8);
    }
}
