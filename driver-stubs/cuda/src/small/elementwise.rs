//! PyTorch's elementwise kernels: finding functor, tensors and shape among the parameters, and running them.
//! It knows frames (how a functor is launched), not operations.

use super::counters::Skipped;
use super::functor::{self, Functor, Layout, Operand};
use super::names::{self, Name};
use super::op::MOST_OPERANDS;
use super::params::{Grid, MAX_TENSORS, Params, calculator_bytes};
use super::piece::{Pattern, ZEROS, lay, pattern_of};
use super::scalar::{Num, Scalar};
use super::store::{OPERATION_LIMIT_BYTES, Store};
use crate::fatbin::KernelInfo;

/// Most elements that are computed one by one.
pub(super) const MOST_ELEMENTS: u64 = 64 << 10;
/// Most elements that are computed when nothing is known of any input; truth values always are.
const MOST_UNKNOWN_ELEMENTS: u64 = 4 << 10;

/// An elementwise kernel of the table.
#[derive(Clone, Debug)]
pub(super) struct Elementwise {
    functor: Functor,
    functor_at: u32,
    /// Pointers, output first.
    data_at: u32,
    /// Where the shared shape lies; `None` = every tensor is contiguous.
    grid_at: Option<u32>,
    types: Types,
}

/// Where the element types of the tensors stand.
#[derive(Clone, Copy, Debug)]
enum Types {
    OfFunctor,
    /// One byte each, inputs and output.
    Given {
        inputs_at: u32,
        output_at: u32,
    },
}

/// Whether the name is one of the frames; its first pointer is then its only output.
pub(super) fn is_frame(name: &Name) -> bool {
    matches!(
        names::template(&name.path).0,
        "vectorized_elementwise_kernel" | "unrolled_elementwise_kernel" | "elementwise_kernel"
    )
}

/// Finds the kernel in the table.
pub(super) fn judge(name: &Name, kernel: &KernelInfo) -> Result<Elementwise, Skipped> {
    match names::template(&name.path).0 {
        "vectorized_elementwise_kernel" => straight(name.arguments.get(1), kernel),
        "unrolled_elementwise_kernel" => straight(name.arguments.first(), kernel),
        "elementwise_kernel" => legacy(name.arguments.get(2), kernel),
        _ => Err(Skipped::NotInTable),
    }
}

fn functor_of(text: Option<&String>) -> Result<Functor, Skipped> {
    text.and_then(|text| functor::find(text))
        .filter(|functor| functor.inputs.len() < MAX_TENSORS)
        .ok_or(Skipped::NotInTable)
}

/// `(int N, functor, array<char*>)`, and for the unrolled one two offset calculators, a loader and a storer.
fn straight(text: Option<&String>, kernel: &KernelInfo) -> Result<Elementwise, Skipped> {
    let functor = functor_of(text)?;
    let tensors = functor.inputs.len() as u32 + 1;
    let [count, function, data, rest @ ..] = kernel.params.as_slice() else { return Err(Skipped::OtherLayout) };
    let cast = |n: u32| n.max(1).next_multiple_of(4) + 4 * n.max(1);
    let types = match rest.iter().map(|param| param.bytes).collect::<Vec<_>>()[..] {
        [] | [1, 1, 1, 1] => Types::OfFunctor,
        [1, 1, load, 8] if load == cast(tensors - 1) => {
            Types::Given { inputs_at: rest[2].offset, output_at: rest[3].offset }
        }
        _ => return Err(Skipped::OtherLayout),
    };
    if (count.offset, count.bytes) != (0, 4) || function.bytes != functor.layout.bytes() || data.bytes != 8 * tensors {
        return Err(Skipped::OtherLayout);
    }
    Ok(Elementwise { functor, functor_at: function.offset, data_at: data.offset, grid_at: None, types })
}

/// `(int N, lambda)`, the lambda holding calculator, pointers, functor and, if it casts, the tensors' types.
fn legacy(text: Option<&String>, kernel: &KernelInfo) -> Result<Elementwise, Skipped> {
    let launcher = text.and_then(|text| names::lambda(text)).ok_or(Skipped::NotInTable)?;
    let casts = match launcher.function.as_str() {
        "gpu_kernel_impl" => true,
        "gpu_kernel_impl_nocast" => false,
        _ => return Err(Skipped::NotInTable),
    };
    let functor = functor_of(launcher.function_arguments.first())?;
    let [count, lambda] = kernel.params.as_slice() else { return Err(Skipped::OtherLayout) };
    let tensors = functor.inputs.len() as u32 + 1;
    let mut layout = Layout::EMPTY;
    let grid = layout.add(calculator_bytes(tensors), 4);
    let data = layout.add(8 * tensors, 8);
    let function = layout.add(functor.layout.bytes(), functor.layout.align);
    let types = if casts { layout.add(tensors, 1) } else { 0 };
    layout.add(8, 8);
    if (count.offset, count.bytes) != (0, 4) || lambda.bytes != layout.bytes() {
        return Err(Skipped::OtherLayout);
    }
    let at = lambda.offset;
    let given = Types::Given { inputs_at: at + types + 1, output_at: at + types };
    Ok(Elementwise {
        functor,
        functor_at: at + function,
        data_at: at + data,
        grid_at: Some(at + grid),
        types: if casts { given } else { Types::OfFunctor },
    })
}

/// One tensor of a launch.
#[derive(Clone, Copy, Debug)]
struct Tensor {
    address: u64,
    scalar: Scalar,
    /// From its first to behind its last element.
    extent_bytes: u64,
}

/// One launch, all found.
struct Launch {
    elements: u64,
    grid: Option<Grid>,
    tensors: [Tensor; MAX_TENSORS],
}

impl Elementwise {
    /// Runs one launch, or makes its output zero and says why.
    pub(super) fn run(&self, params: Params<'_>, store: &mut Store) -> Result<(), Skipped> {
        let launch = match self.launch(params) {
            Ok(launch) => launch,
            Err(reason) => {
                store.zero(params.u64(self.data_at)?, None);
                return Err(reason);
            }
        };
        if launch.elements == 0 {
            return Ok(());
        }
        let output = launch.tensors[0];
        self.compute(params, &launch, store).inspect_err(|_| store.zero(output.address, Some(output.extent_bytes)))
    }

    fn launch(&self, params: Params<'_>) -> Result<Launch, Skipped> {
        let count = params.u32(0)?;
        let elements = u64::from(count);
        if count > i32::MAX as u32 {
            return Err(Skipped::UnknownArgument);
        }
        let tensors = self.functor.inputs.len() + 1;
        let grid = self.grid_at.map(|at| Grid::read(params, at, tensors as u32)).transpose()?;
        if grid.as_ref().is_some_and(|grid| grid.elements() != elements) {
            return Err(Skipped::UnknownArgument);
        }
        let mut found = [Tensor { address: 0, scalar: Scalar::U8, extent_bytes: 0 }; MAX_TENSORS];
        for (i, tensor) in found[..tensors].iter_mut().enumerate() {
            *tensor = self.tensor(params, elements, grid.as_ref(), i)?;
        }
        Ok(Launch { elements, grid, tensors: found })
    }

    fn tensor(&self, params: Params<'_>, elements: u64, grid: Option<&Grid>, i: usize) -> Result<Tensor, Skipped> {
        let address = params.u64(self.data_at + 8 * i as u32)?;
        let scalar = self.scalar(params, i)?;
        let bytes = scalar.bytes() as u64;
        let extent_bytes = grid.map_or(elements * bytes, |grid| grid.farthest(i) + bytes);
        Ok(Tensor { address, scalar, extent_bytes })
    }

    fn scalar(&self, params: Params<'_>, i: usize) -> Result<Scalar, Skipped> {
        match (self.types, i) {
            (Types::OfFunctor, 0) => Ok(self.functor.output),
            (Types::OfFunctor, _) => Ok(self.functor.inputs[i - 1]),
            (Types::Given { output_at, .. }, 0) => numbered(params, output_at),
            (Types::Given { inputs_at, .. }, _) => numbered(params, inputs_at + i as u32 - 1),
        }
    }

    fn compute(&self, params: Params<'_>, launch: &Launch, store: &mut Store) -> Result<(), Skipped> {
        let tensors = &launch.tensors[..self.functor.inputs.len() + 1];
        let (output, inputs) = (&tensors[0], &tensors[1..]);
        let dense = output.extent_bytes == launch.elements * output.scalar.bytes() as u64;
        let unknown = !inputs.is_empty() && !inputs.iter().any(|t| store.has_near(t.address, t.extent_bytes));
        if unknown && launch.elements > MOST_UNKNOWN_ELEMENTS && output.scalar != Scalar::Bool {
            return Err(Skipped::TooLarge);
        }
        let held = self.held(params)?;
        if dense && let Some(pattern) = self.uniform(&held, output, inputs, store) {
            match pattern {
                ZEROS => store.zero(output.address, Some(output.extent_bytes)),
                _ => store.repeat(output.address, output.extent_bytes, pattern),
            }
            return Ok(());
        }
        let longest = tensors.iter().map(|tensor| tensor.extent_bytes).max().unwrap_or(0);
        if launch.elements > MOST_ELEMENTS || longest > OPERATION_LIMIT_BYTES {
            return Err(Skipped::TooLarge);
        }
        self.one_by_one(&held, launch, store);
        Ok(())
    }

    /// If every input is one value throughout, so is the output.
    fn uniform(&self, held: &Held, output: &Tensor, inputs: &[Tensor], store: &Store) -> Option<Pattern> {
        let mut values = [Num::ZERO; MAX_TENSORS];
        for (value, tensor) in values.iter_mut().zip(inputs) {
            let bytes = tensor.scalar.bytes();
            if !tensor.address.is_multiple_of(bytes as u64) {
                return None;
            }
            let pattern = store.uniform(tensor.address, tensor.extent_bytes)?;
            let mut element = [0; 8];
            lay(&pattern, tensor.address, &mut element[..bytes]);
            *value = tensor.scalar.load(&element);
        }
        let result = self.value(held, &values);
        Some(pattern_of(output.address, output.scalar.bytes() as u32, output.scalar.bits(result)))
    }

    fn one_by_one(&self, held: &Held, launch: &Launch, store: &mut Store) {
        let tensors = &launch.tensors[..self.functor.inputs.len() + 1];
        let mut buffers: Vec<Vec<u8>> = Vec::with_capacity(tensors.len());
        for (i, tensor) in tensors.iter().enumerate() {
            let mut bytes = vec![0; tensor.extent_bytes as usize];
            if i > 0 || launch.grid.is_some() {
                store.read(tensor.address, &mut bytes);
            }
            buffers.push(bytes);
        }
        for element in 0..launch.elements {
            let at = |tensor: usize| match &launch.grid {
                Some(grid) => grid.offset(element, tensor),
                None => element as usize * tensors[tensor].scalar.bytes(),
            };
            let mut values = [Num::ZERO; MAX_TENSORS];
            for i in 1..tensors.len() {
                values[i - 1] = tensors[i].scalar.load(&buffers[i][at(i)..]);
            }
            let result = self.value(held, &values);
            tensors[0].scalar.store(result, &mut buffers[0][at(0)..]);
        }
        store.write(tensors[0].address, &buffers[0]);
    }

    /// The functor on one set of input elements, converted to what it returns.
    #[inline]
    fn value(&self, held: &Held, inputs: &[Num; MAX_TENSORS]) -> Num {
        let functor = &self.functor;
        let mut operands = *held;
        for (slot, operand) in operands.iter_mut().zip(&functor.operands) {
            if let Operand::Input(i) = *operand {
                let value = functor.inputs[i].convert(inputs[i]);
                let as_is = functor.inputs[i] == Scalar::Bool || functor.inputs[i] == functor.math;
                *slot = if as_is { value } else { functor.math.convert(value) };
            }
        }
        let result = functor.math.convert(functor.op.on(&operands, functor.math));
        if functor.output == functor.math { result } else { functor.output.convert(result) }
    }

    fn held(&self, params: Params<'_>) -> Result<Held, Skipped> {
        let mut held = [Num::ZERO; MOST_OPERANDS];
        for (slot, operand) in held.iter_mut().zip(&self.functor.operands) {
            if let Operand::Held(at, scalar) = *operand {
                *slot = scalar.load(params.bytes(self.functor_at + at, scalar.bytes())?);
            }
        }
        Ok(held)
    }
}

/// The functor's scalars, each at its operand's place.
type Held = [Num; MOST_OPERANDS];

fn numbered(params: Params<'_>, at: u32) -> Result<Scalar, Skipped> {
    Scalar::numbered(params.u8(at)?).ok_or(Skipped::UnknownArgument)
}

#[cfg(test)]
mod tests;
