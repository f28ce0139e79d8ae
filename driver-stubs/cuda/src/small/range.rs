//! arange, range, linspace: PyTorch's elementwise_kernel_with_index, which writes a function of the index.
//! The element type shows only in the number of the lambda that the dispatch macro made for it.

use super::counters::Skipped;
use super::elementwise::MOST_ELEMENTS;
use super::functor::Layout;
use super::names::{self, Name};
use super::op;
use super::params::Params;
use super::scalar::{Num, Scalar};
use super::store::Store;
use crate::fatbin::KernelInfo;

use Scalar::{BF16, F16, F32, F64, I8, I16, I32, I64, U8};

/// A kernel that writes start + index * step.
#[derive(Clone, Debug)]
pub(super) struct Range {
    scalar: Scalar,
    /// Type of start and step, and of the arithmetic.
    math: Scalar,
    wide_count: bool,
    start_at: u32,
    step_at: u32,
    output_at: u32,
}

/// Order of AT_DISPATCH_ALL_TYPES_AND2(Half, BFloat16): the n-th type has lambda n.
const TYPES: [Scalar; 9] = [U8, I8, I32, I64, I16, F64, F32, F16, BF16];

pub(super) fn judge(name: &Name, kernel: &KernelInfo) -> Result<Range, Skipped> {
    let lambda = name.arguments.get(1).and_then(|text| names::lambda(text)).ok_or(Skipped::NotInTable)?;
    if !matches!(lambda.function.as_str(), "arange_cuda_out" | "range_cuda_out") {
        return Err(Skipped::NotInTable);
    }
    let number = lambda.around.last().copied().unwrap_or(0) as usize;
    let scalar = number.checked_sub(1).and_then(|i| TYPES.get(i)).copied().ok_or(Skipped::NotInTable)?;
    let math = scalar.accumulator();
    let bytes = math.bytes() as u32;
    let mut layout = Layout::EMPTY;
    let start = layout.add(bytes, bytes);
    let step = layout.add(bytes, bytes);
    layout.add(8, 8);
    match kernel.params.as_slice() {
        [count, function, output] if function.bytes == layout.bytes() && output.bytes == 8 => Ok(Range {
            scalar,
            math,
            wide_count: count.bytes == 8,
            start_at: function.offset + start,
            step_at: function.offset + step,
            output_at: output.offset,
        }),
        _ => Err(Skipped::OtherLayout),
    }
}

impl Range {
    pub(super) fn run(&self, params: Params<'_>, store: &mut Store) -> Result<(), Skipped> {
        let output = params.u64(self.output_at)?;
        let count = if self.wide_count { params.u64(0)? } else { params.u32(0)?.into() };
        if count > MOST_ELEMENTS {
            store.zero(output, Some(count.saturating_mul(self.scalar.bytes() as u64)));
            return Err(Skipped::TooLarge);
        }
        let scalar = |at| params.bytes(at, self.math.bytes()).map(|bytes| self.math.load(bytes));
        let (start, step) = (scalar(self.start_at)?, scalar(self.step_at)?);
        let mut bytes = vec![0; count as usize * self.scalar.bytes()];
        for (index, element) in bytes.chunks_exact_mut(self.scalar.bytes()).enumerate() {
            let grown = self.math.convert(op::mul(step, Num::Int(index as i128)));
            self.scalar.store(self.math.convert(op::add(start, grown)), element);
        }
        store.write(output, &bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    fn kernel() -> (Name, KernelInfo) {
        let lambda = "at::native::arange_cuda_out(c10::Scalar const&)::{lambda()#1}::operator()() \
                      const::{lambda()#4}::operator()() const::{lambda(long)#1}";
        let path = "(anonymous namespace)::elementwise_kernel_with_index".to_owned();
        let name = Name { path, arguments: vec!["int".into(), lambda.into()], parameters: Vec::new() };
        let params = [(0, 4), (8, 24), (32, 8)].map(|(offset, bytes)| Param { offset, bytes });
        (name, KernelInfo { params: params.to_vec(), param_bytes: 40, ..KernelInfo::default() })
    }

    #[test]
    fn arange_counts_in_its_own_type() {
        let (name, kernel) = kernel();
        let range = judge(&name, &kernel).unwrap();
        let mut params = vec![0; 40];
        params[..4].copy_from_slice(&3u32.to_le_bytes());
        params[8..16].copy_from_slice(&5i64.to_le_bytes());
        params[16..24].copy_from_slice(&(-2i64).to_le_bytes());
        params[32..40].copy_from_slice(&(32u64 << 40).to_le_bytes());
        let mut store = Store::default();
        range.run(Params(&params), &mut store).unwrap();
        let mut out = [0; 24];
        store.read(32 << 40, &mut out);
        let values: Vec<i64> = out.chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(values, [5, 3, 1]);
    }
}
