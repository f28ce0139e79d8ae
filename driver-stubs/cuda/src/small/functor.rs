//! The table of elementwise functors: which C++ type is which operation, and where its scalars lie inside it.
//! It reads type names; it runs nothing.
//!
//! Layouts follow PyTorch 2.15's sources. A lambda marked for host and device that captures carries one pointer behind
//! its captures; seen in the parameter sizes of the wheel's kernels.

use super::names;
use super::op::Op;
use super::scalar::Scalar;

use Scalar::{Bool, I32};

/// One operand of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    /// The n-th input tensor.
    Input(usize),
    /// A scalar inside the functor, at this byte.
    Held(u32, Scalar),
}

/// An elementwise functor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Functor {
    pub(super) op: Op,
    pub(super) operands: Vec<Operand>,
    /// Types its call operator takes.
    pub(super) inputs: Vec<Scalar>,
    /// Type it returns.
    pub(super) output: Scalar,
    /// Type it computes in.
    pub(super) math: Scalar,
    pub(super) layout: Layout,
}

/// Size and alignment of a C++ struct as its members are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    end: u32,
    pub(super) align: u32,
}

impl Layout {
    pub(super) const EMPTY: Layout = Layout { end: 0, align: 1 };

    /// Adds a member and tells where it lies.
    pub(super) fn add(&mut self, bytes: u32, align: u32) -> u32 {
        let at = self.end.next_multiple_of(align);
        self.end = at + bytes;
        self.align = self.align.max(align);
        at
    }

    pub(super) fn bytes(self) -> u32 {
        self.end.max(1).next_multiple_of(self.align)
    }

    fn hold(&mut self, scalar: Scalar) -> Operand {
        let bytes = scalar.bytes() as u32;
        Operand::Held(self.add(bytes, bytes), scalar)
    }

    /// The pointer of a host and device lambda that captures.
    fn closure(mut self) -> Layout {
        self.add(8, 8);
        self
    }
}

/// Finds the functor of a C++ type name.
pub(super) fn find(text: &str) -> Option<Functor> {
    let functor = if text.ends_with('}') { of_lambda(text)? } else { of_class(text)? };
    (functor.operands.len() == functor.op.operands()).then_some(functor)
}

fn of_class(text: &str) -> Option<Functor> {
    let (name, arguments) = names::template(text);
    match name {
        "AUnaryFunctor" | "BUnaryFunctor" | "BinaryFunctor" => return wrapped(name, &arguments),
        _ => {}
    }
    if name == "ConvertFloatToFloat8E5M2Op" {
        return Some(plain(Op::Copy, vec![Scalar::F32], Scalar::F8E5M2));
    }
    let scalar = Scalar::named(arguments.first()?)?;
    if name == "ConvertToFloat8E4M3fnOp" {
        return Some(plain(Op::Copy, vec![scalar], Scalar::F8E4M3));
    }
    let math = scalar.opmath();
    let mut layout = Layout::EMPTY;
    let (op, operands, inputs) = match name {
        "FillFunctor" => (Op::Copy, vec![layout.hold(scalar)], 0),
        "AbsFunctor" => (Op::Abs, vec![Operand::Input(0)], 1),
        "CUDAFunctor_add" => (Op::MulAdd, vec![Operand::Input(0), Operand::Input(1), layout.hold(math)], 2),
        "CUDAFunctorOnSelf_add" => (Op::MulAdd, vec![Operand::Input(0), layout.hold(math), layout.hold(math)], 1),
        "CUDAFunctorOnOther_add" => (Op::MulAdd, vec![layout.hold(math), Operand::Input(0), layout.hold(math)], 1),
        "CompareFunctor" => return Some(comparison(Op::Compare, scalar)),
        "CompareEqFunctor" => return Some(comparison(Op::Equal, scalar)),
        _ => return None,
    };
    Some(Functor { op, operands, inputs: vec![scalar; inputs], output: scalar, math, layout })
}

fn comparison(op: Op, scalar: Scalar) -> Functor {
    let mut layout = Layout::EMPTY;
    let which = layout.hold(I32);
    let operands = vec![which, Operand::Input(0), Operand::Input(1)];
    Functor { op, operands, inputs: vec![scalar; 2], output: Bool, math: scalar.opmath(), layout }
}

/// A binary functor behind one of the three wrappers: first or second operand a scalar, or none.
fn wrapped(wrapper: &str, arguments: &[String]) -> Option<Functor> {
    let [first, second, result, inner] = arguments else { return None };
    let (first, second) = (Scalar::named(first)?, Scalar::named(second)?);
    let inner = binary(inner)?;
    let mut layout = Layout::EMPTY;
    layout.add(inner.layout.bytes(), inner.layout.align);
    let inputs = match wrapper {
        "BinaryFunctor" => vec![first, second],
        "AUnaryFunctor" => vec![second],
        _ => vec![first],
    };
    let scalar = match wrapper {
        "BinaryFunctor" => None,
        "AUnaryFunctor" => Some((0, layout.hold(inner.inputs[0]))),
        _ => Some((1, layout.hold(inner.inputs[1]))),
    };
    let operands = inner.operands.iter().map(|&operand| match (operand, scalar) {
        (Operand::Input(i), Some((which, held))) if i == which => held,
        (Operand::Input(_), Some(_)) => Operand::Input(0),
        _ => operand,
    });
    let operands = operands.collect();
    Some(Functor { operands, inputs, output: Scalar::named(result)?, layout, ..inner })
}

fn binary(text: &str) -> Option<Functor> {
    if text.ends_with('}') {
        return find(text).filter(|functor| functor.inputs.len() == 2);
    }
    let (name, arguments) = names::template(text);
    let op = match name {
        "MulFunctor" => Op::Mul,
        "DivFunctor" => Op::Div,
        "BitwiseAndFunctor" => Op::BitAnd,
        "BitwiseOrFunctor" => Op::BitOr,
        "BitwiseXorFunctor" => Op::BitXor,
        _ => return of_class(text).filter(|functor| functor.inputs.len() == 2),
    };
    let scalar = Scalar::named(arguments.first()?)?;
    Some(plain(op, vec![scalar; 2], scalar))
}

/// Inputs in order are the operands; nothing is held.
fn plain(op: Op, inputs: Vec<Scalar>, output: Scalar) -> Functor {
    let operands = (0..inputs.len()).map(Operand::Input).collect();
    let math = inputs.last().copied().unwrap_or(output).opmath();
    Functor { op, operands, inputs, output, math, layout: Layout::EMPTY }
}

fn of_lambda(text: &str) -> Option<Functor> {
    let lambda = names::lambda(text)?;
    let inputs: Vec<Scalar> = lambda.parameters.iter().map(|name| Scalar::named(name)).collect::<Option<_>>()?;
    if let Some(functor) = capturing(&lambda.function, &inputs) {
        return Some(functor);
    }
    let scalar = *inputs.first()?;
    let (op, output) = match lambda.function.as_str() {
        "converting_copy_kernel_cuda" => (Op::Copy, Scalar::named(lambda.function_arguments.get(1)?)?),
        "pow_tensor_scalar_kernel_impl" => {
            let layout = Layout::EMPTY.closure();
            return Some(Functor { layout, ..plain(power(lambda.number)?, inputs, scalar) });
        }
        name => row(name, scalar)?,
    };
    Some(plain(op, inputs, output))
}

/// Lambdas that hold scalars.
fn capturing(function: &str, inputs: &[Scalar]) -> Option<Functor> {
    let scalar = *inputs.first()?;
    let math = scalar.opmath();
    let mut layout = Layout::EMPTY;
    let input = Operand::Input;
    let (op, operands, output) = match function {
        "compare_scalar_kernel" => (Op::Compare, vec![layout.hold(I32), input(0), layout.hold(scalar)], Bool),
        "launch_clamp_scalar" => {
            let which = layout.hold(I32);
            (Op::ClampScalar, vec![input(0), which, layout.hold(math), layout.hold(math)], scalar)
        }
        "masked_fill_kernel" => (Op::MaskedFill, vec![input(0), input(1), layout.hold(scalar)], scalar),
        "lerp_scalar_kernel" => (Op::Lerp, vec![input(0), input(1), layout.hold(math)], scalar),
        "addcmul_cuda_kernel" => (Op::AddCMul, vec![input(0), input(1), input(2), layout.hold(math)], scalar),
        "addcdiv_cuda_kernel" => (Op::AddCDiv, vec![input(0), input(1), input(2), layout.hold(math)], scalar),
        "where_kernel_impl" => {
            let output = *inputs.get(1)?;
            let operands = vec![input(0), input(1), input(2)];
            let layout = layout.closure();
            return Some(Functor { op: Op::Where, operands, inputs: inputs.to_vec(), output, math: output, layout });
        }
        _ => return None,
    };
    Some(Functor { op, operands, inputs: inputs.to_vec(), output, math, layout: layout.closure() })
}

/// `pow_tensor_scalar` has one lambda per easy exponent: 2, 3, -2.
fn power(number: u32) -> Option<Op> {
    match number {
        1 => Some(Op::Square),
        2 => Some(Op::Cube),
        _ => None,
    }
}

/// The rows: the function a lambda stands in, its operation and what it returns for inputs of `scalar`.
fn row(function: &str, scalar: Scalar) -> Option<(Op, Scalar)> {
    let op = match function {
        "logical_and_kernel_cuda" => return Some((Op::And, Bool)),
        "logical_or_kernel_cuda" => return Some((Op::Or, Bool)),
        "logical_xor_kernel_cuda" => return Some((Op::Xor, Bool)),
        "logical_not_kernel_cuda" => return Some((Op::Not, Bool)),
        "isposinf_kernel_impl" => return Some((Op::IsPositiveInfinity, Bool)),
        "isneginf_kernel_impl" => return Some((Op::IsNegativeInfinity, Bool)),
        "signbit_kernel_cuda" => return Some((Op::SignBit, Bool)),
        "direct_copy_kernel_cuda" | "float8_copy_kernel_cuda" => Op::Copy,
        "bitwise_not_kernel_cuda" if scalar == Bool => Op::Not,
        "bitwise_not_kernel_cuda" => Op::BitNot,
        "clamp_kernel_impl" => Op::Clamp,
        "maximum_kernel_cuda" => Op::Max,
        "minimum_kernel_cuda" => Op::Min,
        "fmax_kernel_cuda" => Op::FMax,
        "fmin_kernel_cuda" => Op::FMin,
        "div_trunc_kernel_cuda" => Op::DivTrunc,
        "div_floor_kernel_cuda" => Op::DivFloor,
        "remainder_kernel_cuda" => Op::Remainder,
        "fmod_kernel_cuda" => Op::Fmod,
        "lshift_kernel_cuda" => Op::Shl,
        "rshift_kernel_cuda" => Op::Shr,
        "atan2_kernel_cuda" => Op::Atan2,
        "hypot_kernel_cuda" => Op::Hypot,
        "mse_kernel_cuda" => Op::SquaredDifference,
        "neg_kernel_cuda" => Op::Neg,
        "sign_kernel_cuda" => Op::Sign,
        "ceil_kernel_cuda" => Op::Ceil,
        "floor_kernel_cuda" => Op::Floor,
        "round_kernel_cuda" => Op::Round,
        "trunc_kernel_cuda" => Op::Trunc,
        "frac_kernel_cuda" => Op::Frac,
        "reciprocal_kernel_cuda" => Op::Reciprocal,
        "sqrt_kernel_cuda" => Op::Sqrt,
        "rsqrt_kernel_cuda" => Op::Rsqrt,
        "exp_kernel_cuda" => Op::Exp,
        "exp2_kernel_cuda" => Op::Exp2,
        "expm1_kernel_cuda" => Op::Expm1,
        "log_kernel_cuda" => Op::Log,
        "log2_kernel_cuda" => Op::Log2,
        "log10_kernel_cuda" => Op::Log10,
        "log1p_kernel_cuda" => Op::Log1p,
        "sin_kernel_cuda" => Op::Sin,
        "cos_kernel_cuda" => Op::Cos,
        "tan_kernel_cuda" => Op::Tan,
        "asin_kernel_cuda" => Op::Asin,
        "acos_kernel_cuda" => Op::Acos,
        "atan_kernel_cuda" => Op::Atan,
        "sinh_kernel_cuda" => Op::Sinh,
        "cosh_kernel_cuda" => Op::Cosh,
        "tanh_kernel_cuda" => Op::Tanh,
        "sigmoid_kernel_cuda" => Op::Sigmoid,
        "silu_kernel" => Op::Silu,
        _ => return None,
    };
    Some((op, scalar))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::{BF16, F32, I64};

    #[test]
    fn a_wrapped_comparison_with_a_scalar_knows_where_both_lie() {
        let text = "at::native::AUnaryFunctor<long, long, bool, at::native::(anonymous \
                    namespace)::CompareEqFunctor<long> >";
        let functor = find(text).unwrap();
        assert_eq!(functor.operands, [Operand::Held(0, I32), Operand::Held(8, I64), Operand::Input(0)]);
        assert_eq!((functor.output, functor.layout.bytes()), (Bool, 16));
    }

    #[test]
    fn short_floats_hold_their_scalars_as_float() {
        let functor = find("at::native::CUDAFunctorOnSelf_add<c10::BFloat16>").unwrap();
        assert_eq!(functor.operands, [Operand::Input(0), Operand::Held(0, F32), Operand::Held(4, F32)]);
        assert_eq!((functor.inputs[0], functor.math, functor.layout.bytes()), (BF16, F32, 8));
    }

    #[test]
    fn a_capturing_lambda_has_its_pointer_behind_the_captures() {
        let text = "at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, \
                    c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::\
                    {lambda()#7}::operator()() const::{lambda(float)#1}";
        assert_eq!(find(text).unwrap().layout.bytes(), 24);
    }

    #[test]
    fn what_is_not_in_the_table_is_not_found() {
        assert_eq!(find("at::native::FillFunctor<c10::complex<float> >"), None);
        assert_eq!(find("at::native::lgamma_kernel_cuda(int)::{lambda(float)#1}"), None);
    }
}
