//! PyTorch's reduce_kernel: sums, products, extremes and their indices, any and all, on small tensors.
//! It follows the ReduceOp structure (ATen/native/cuda/Reduce.cuh), not the kernel's blocks and steps.

use super::counters::Skipped;
use super::elementwise::MOST_ELEMENTS;
use super::functor::Layout;
use super::names::{self, Name};
use super::op::{self, is_nan};
use super::params::{Grid, Params, calculator_bytes};
use super::piece::{ZEROS, lay, pattern_of};
use super::scalar::{Num, Scalar};
use super::store::{OPERATION_LIMIT_BYTES, Store};
use crate::fatbin::KernelInfo;

/// What is kept while elements are folded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    Sum,
    /// Sum times a factor that stands at the start of the parameters.
    Mean,
    Product,
    Max,
    Min,
    /// Both, in this order, to the two outputs.
    MinMax,
    All,
    Any,
    /// Extreme and its index to the two outputs.
    MaxIndex,
    MinIndex,
    /// Index only.
    ArgMax,
    ArgMin,
    AbsSum,
    AbsMax,
    AbsMin,
    /// Square root of the sum of squares.
    Norm,
    SumOfSquares,
    CountNonzero,
}

/// A reduction of the table.
#[derive(Clone, Debug)]
pub(super) struct Reduce {
    fold: Fold,
    input: Scalar,
    output: Scalar,
    accumulator: Scalar,
    config_at: u32,
    end: u32,
}

/// Offsets from the end of ReduceOp's parameters: base index, flags and counts behind the pointers.
const SRC: u32 = 64;
const DST: u32 = 56;
const ACCUMULATE: u32 = 8;
const FINAL_OUTPUT: u32 = 7;
const OUTPUTS: u32 = 4;
/// Inside ReduceConfig.
const NUM_INPUTS: u32 = 4;
const NUM_OUTPUTS: u32 = 8;
const CONFIG_BYTES: u32 = 64;

pub(super) fn is_frame(name: &Name) -> bool {
    names::template(&name.path).0 == "reduce_kernel"
}

/// Where the two output pointers of any reduce_kernel lie.
pub(super) fn outputs(kernel: &KernelInfo) -> Option<[u32; 2]> {
    let end = kernel.params.first()?.bytes;
    (end > SRC).then(|| [end - DST, end - DST + 8])
}

pub(super) fn judge(name: &Name, kernel: &KernelInfo) -> Result<Reduce, Skipped> {
    let reduction = name.arguments.get(2).ok_or(Skipped::NotInTable)?;
    let (class, arguments) = names::template(reduction);
    let [input, ops, index, output, ..] = arguments.as_slice() else { return Err(Skipped::NotInTable) };
    let (Some(input), Some(output)) = (Scalar::named(input), Scalar::named(output)) else {
        return Err(Skipped::NotInTable);
    };
    if class != "ReduceOp" || index != "unsigned int" {
        return Err(Skipped::NotInTable);
    }
    let (fold, accumulator) = fold(ops).ok_or(Skipped::NotInTable)?;
    let mut layout = Layout::EMPTY;
    let bytes = accumulator.bytes() as u32;
    match fold {
        Fold::Mean => layout.add(bytes, bytes),
        _ => layout.add(1, 1),
    };
    match fold {
        Fold::MaxIndex | Fold::MinIndex | Fold::ArgMax | Fold::ArgMin => layout.add(16, 8),
        Fold::MinMax => layout.add(2 * bytes, bytes),
        _ => layout.add(bytes, bytes),
    };
    let config_at = layout.add(CONFIG_BYTES, 4);
    layout.add(calculator_bytes(1), 4);
    layout.add(calculator_bytes(2), 4);
    layout.add(SRC, 8);
    match kernel.params.as_slice() {
        [only] if only.bytes == layout.bytes() => {
            let end = only.offset + only.bytes;
            Ok(Reduce { fold, input, output, accumulator, config_at: only.offset + config_at, end })
        }
        _ => Err(Skipped::OtherLayout),
    }
}

/// The fold of a C++ operation, and the type it accumulates in.
fn fold(text: &str) -> Option<(Fold, Scalar)> {
    let (class, arguments) = names::template(text);
    let argument = |i: usize| arguments.get(i).and_then(|name| Scalar::named(name));
    Some(match class {
        "MeanOps" => (Fold::Mean, argument(1)?),
        "MaxOps" => (Fold::MaxIndex, argument(0)?),
        "MinOps" => (Fold::MinIndex, argument(0)?),
        "ArgMaxOps" => (Fold::ArgMax, argument(0)?),
        "ArgMinOps" => (Fold::ArgMin, argument(0)?),
        "MinMaxOps" => (Fold::MinMax, argument(1)?),
        "NormOneOps" => (Fold::AbsSum, argument(1)?),
        "AbsMaxOps" => (Fold::AbsMax, argument(1)?),
        "AbsMinOps" => (Fold::AbsMin, argument(1)?),
        "NormZeroOps" => (Fold::CountNonzero, argument(1)?),
        "NormTwoOps" if arguments.get(3).is_none_or(|root| root == "true") => (Fold::Norm, argument(1)?),
        "NormTwoOps" => (Fold::SumOfSquares, argument(1)?),
        "func_wrapper_t" => return wrapped(arguments.get(1)?),
        _ => return None,
    })
}

/// `func_wrapper_t<out, f>` accumulates in the type of f's first parameter.
fn wrapped(text: &str) -> Option<(Fold, Scalar)> {
    if let Some(lambda) = text.ends_with('}').then(|| names::lambda(text)).flatten() {
        let first = Scalar::named(lambda.parameters.first()?)?;
        return match lambda.function.as_str() {
            // The lambda of and/or takes the input's type, but returns and accumulates truth.
            "and_kernel_cuda" => Some((Fold::All, Scalar::Bool)),
            "or_kernel_cuda" => Some((Fold::Any, Scalar::Bool)),
            "operator()" if text.contains("sum_functor<") && !text.contains("xor_sum") => Some((Fold::Sum, first)),
            "operator()" if text.contains("prod_functor<bool") => Some((Fold::All, first)),
            _ => None,
        };
    }
    let (class, arguments) = names::template(text);
    let first = Scalar::named(arguments.first()?)?;
    match class {
        "MaxNanFunctor" => Some((Fold::Max, first)),
        "MinNanFunctor" => Some((Fold::Min, first)),
        "ReductionAddOp" => Some((Fold::Sum, first)),
        "ReductionMulOp" => Some((Fold::Product, first)),
        _ => None,
    }
}

/// One launch, all found.
struct Launch {
    inputs: u64,
    outputs: u64,
    over: Grid,
    kept: Grid,
    source: u64,
    source_bytes: u64,
    targets: Vec<(u64, Scalar)>,
    factor: Num,
}

impl Reduce {
    pub(super) fn run(&self, params: Params<'_>, store: &mut Store) -> Result<(), Skipped> {
        let done = self.launch(params).and_then(|launch| {
            self.compute(&launch, store).inspect_err(|_| {
                for &(target, scalar) in &launch.targets {
                    store.zero(target, Some(launch.extent(scalar, self.output)));
                }
            })
        });
        if matches!(done, Err(Skipped::UnknownArgument | Skipped::OtherLayout)) {
            for at in [self.end - DST, self.end - DST + 8] {
                store.zero(params.u64(at)?, None);
            }
        }
        done
    }

    fn launch(&self, params: Params<'_>) -> Result<Launch, Skipped> {
        let over_at = self.config_at + CONFIG_BYTES;
        let over = Grid::read(params, over_at, 1)?;
        let kept = Grid::read(params, over_at + calculator_bytes(1), 2)?;
        let inputs = u64::from(params.u32(self.config_at + NUM_INPUTS)?);
        let outputs = u64::from(params.u32(self.config_at + NUM_OUTPUTS)?);
        let accumulates = params.u8(self.end - ACCUMULATE)? != 0 || params.u8(self.end - FINAL_OUTPUT)? != 1;
        if accumulates || over.elements() != inputs || kept.elements() != outputs {
            return Err(Skipped::UnknownArgument);
        }
        let source = params.u64(self.end - SRC)?;
        let source_bytes = over.farthest(0) + kept.farthest(1) + self.input.bytes() as u64;
        let mut targets = vec![(params.u64(self.end - DST)?, self.output)];
        if params.u32(self.end - OUTPUTS)? > 1 {
            targets.push((params.u64(self.end - DST + 8)?, self.second()));
        }
        let factor = match self.fold {
            Fold::Mean => self.accumulator.load(params.bytes(0, self.accumulator.bytes())?),
            _ => Num::ZERO,
        };
        Ok(Launch { inputs, outputs, over, kept, source, source_bytes, targets, factor })
    }

    fn second(&self) -> Scalar {
        if self.fold == Fold::MinMax { self.output } else { Scalar::I64 }
    }

    fn compute(&self, launch: &Launch, store: &mut Store) -> Result<(), Skipped> {
        let work = launch.inputs.saturating_mul(launch.outputs);
        let extent = launch.extent(self.output, self.output);
        if launch.source_bytes <= OPERATION_LIMIT_BYTES && work <= MOST_ELEMENTS && extent <= OPERATION_LIMIT_BYTES {
            let mut source = vec![0; launch.source_bytes as usize];
            store.read(launch.source, &mut source);
            self.one_by_one(launch, &source, store);
            return Ok(());
        }
        self.uniform(launch, store)
    }

    /// A large input of one value throughout.
    fn uniform(&self, launch: &Launch, store: &mut Store) -> Result<(), Skipped> {
        let bytes = self.input.bytes();
        let aligned = launch.source.is_multiple_of(bytes as u64);
        let dense = launch.extent(self.output, self.output) == launch.outputs * self.output.bytes() as u64;
        let pattern = store.uniform(launch.source, launch.source_bytes).filter(|_| aligned && dense);
        let pattern = pattern.ok_or(Skipped::TooLarge)?;
        let mut element = [0; 8];
        lay(&pattern, launch.source, &mut element[..bytes]);
        let results = self.of_one_value(self.input.load(&element), launch).ok_or(Skipped::TooLarge)?;
        for (&(target, scalar), value) in launch.targets.iter().zip(results) {
            let total = launch.extent(scalar, self.output);
            match pattern_of(target, scalar.bytes() as u32, scalar.bits(value)) {
                ZEROS => store.zero(target, Some(total)),
                pattern => store.repeat(target, total, pattern),
            }
        }
        Ok(())
    }

    fn of_one_value(&self, value: Num, launch: &Launch) -> Option<[Num; 2]> {
        let mut state = State::start(self.fold);
        self.fold_in(&mut state, value, 0);
        let times = Num::Int(launch.inputs.into());
        match self.fold {
            Fold::Sum | Fold::AbsSum | Fold::Mean | Fold::SumOfSquares | Fold::CountNonzero | Fold::Norm => {
                state.value = op::mul(state.value, times);
            }
            Fold::Product => return None,
            _ => {}
        }
        Some(self.finish(&state, launch))
    }

    fn one_by_one(&self, launch: &Launch, source: &[u8], store: &mut Store) {
        let mut targets: Vec<Vec<u8>> = Vec::new();
        for &(target, scalar) in &launch.targets {
            let mut bytes = vec![0; launch.extent(scalar, self.output) as usize];
            store.read(target, &mut bytes);
            targets.push(bytes);
        }
        for output in 0..launch.outputs {
            let base = launch.kept.offset(output, 1);
            let mut state = State::start(self.fold);
            for input in 0..launch.inputs {
                let value = self.input.load(&source[base + launch.over.offset(input, 0)..]);
                self.fold_in(&mut state, value, input);
            }
            let results = self.finish(&state, launch);
            let at = launch.kept.offset(output, 0) / self.output.bytes();
            for ((bytes, &(_, scalar)), result) in targets.iter_mut().zip(&launch.targets).zip(results) {
                scalar.store(result, &mut bytes[at * scalar.bytes()..]);
            }
        }
        for (bytes, &(target, _)) in targets.iter().zip(&launch.targets) {
            store.write(target, bytes);
        }
    }

    fn fold_in(&self, state: &mut State, value: Num, index: u64) {
        let value = match self.fold {
            Fold::All | Fold::Any | Fold::CountNonzero => Num::of(value.truth()),
            Fold::AbsSum | Fold::AbsMax | Fold::AbsMin => absolute(value),
            _ => self.accumulator.convert(value),
        };
        let started = std::mem::replace(&mut state.started, true);
        let kept = state.value;
        state.value = match self.fold {
            Fold::Sum | Fold::Mean | Fold::AbsSum | Fold::CountNonzero => op::add(kept, value),
            Fold::Norm | Fold::SumOfSquares => op::add(kept, op::mul(value, value)),
            Fold::Product => self.exact(op::mul(kept, value)),
            Fold::All => Num::of(kept.truth() && value.truth()),
            Fold::Any => Num::of(kept.truth() || value.truth()),
            _ if !started => {
                state.other = value;
                value
            }
            Fold::Max | Fold::AbsMax => op::max(kept, value, true),
            Fold::Min | Fold::AbsMin => op::min(kept, value, true),
            Fold::MinMax => {
                state.other = op::max(state.other, value, true);
                op::min(kept, value, true)
            }
            Fold::MaxIndex | Fold::ArgMax if better(value, kept, true) => state.take(value, index),
            Fold::MinIndex | Fold::ArgMin if better(value, kept, false) => state.take(value, index),
            _ => kept,
        };
    }

    /// Integers wrap as they go; floats are rounded once, at the end.
    fn exact(&self, value: Num) -> Num {
        if self.accumulator.is_float() { value } else { self.accumulator.convert(value) }
    }

    fn finish(&self, state: &State, launch: &Launch) -> [Num; 2] {
        let value = self.accumulator.convert(state.value);
        let index = Num::Int(state.index.into());
        match self.fold {
            Fold::Mean => [op::mul(value, launch.factor), Num::ZERO],
            Fold::Norm => [Num::Float(state.value.float().sqrt()), Num::ZERO],
            Fold::ArgMax | Fold::ArgMin => [index, Num::ZERO],
            Fold::MaxIndex | Fold::MinIndex => [value, index],
            Fold::MinMax => [value, self.accumulator.convert(state.other)],
            _ => [value, Num::ZERO],
        }
    }
}

impl Launch {
    /// Bytes of an output of `scalar`; strides are told for the first output's type.
    fn extent(&self, scalar: Scalar, first: Scalar) -> u64 {
        (self.kept.farthest(0) / first.bytes() as u64 + 1) * scalar.bytes() as u64
    }
}

/// A reduction on its way.
struct State {
    started: bool,
    value: Num,
    other: Num,
    index: u64,
}

impl State {
    fn start(fold: Fold) -> State {
        let value = if matches!(fold, Fold::Product | Fold::All) { 1 } else { 0 };
        State { started: false, value: Num::Int(value), other: Num::ZERO, index: 0 }
    }

    fn take(&mut self, value: Num, index: u64) -> Num {
        self.index = index;
        value
    }
}

fn absolute(value: Num) -> Num {
    match value {
        Num::Int(value) => Num::Int(value.abs()),
        Num::Float(value) => Num::Float(value.abs()),
    }
}

/// Whether a later element replaces the extreme: the first of equals stays, the first NaN wins.
fn better(value: Num, kept: Num, larger: bool) -> bool {
    if is_nan(kept) {
        return false;
    }
    if is_nan(value) {
        return true;
    }
    let (low, high) = if larger { (kept, value) } else { (value, kept) };
    match (low, high) {
        (Num::Int(low), Num::Int(high)) => low < high,
        _ => low.float() < high.float(),
    }
}

#[cfg(test)]
mod tests;
