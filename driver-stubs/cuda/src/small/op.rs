//! What one elementwise operation does to one set of operands.
//! It knows values, not where they come from.

use super::scalar::{Num, Scalar};

use Num::{Float, Int};

/// An operation; its operands' order is in the comment where it is not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Copy,
    /// a + b * c
    MulAdd,
    /// a + d * (b * c)
    AddCMul,
    /// a + d * (b / c)
    AddCDiv,
    /// a + c * (b - a)
    Lerp,
    Mul,
    Div,
    DivTrunc,
    DivFloor,
    Remainder,
    Fmod,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    And,
    Or,
    Xor,
    Not,
    Shl,
    Shr,
    /// which (0 equal, 1 not equal), a, b
    Equal,
    /// which (0 >=, 1 >, 2 <=, 3 <), a, b
    Compare,
    /// NaN wins.
    Max,
    Min,
    /// NaN loses.
    FMax,
    FMin,
    Abs,
    Neg,
    Sign,
    SignBit,
    Ceil,
    Floor,
    Round,
    Trunc,
    Frac,
    Reciprocal,
    Square,
    Cube,
    Sqrt,
    Rsqrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Sigmoid,
    Silu,
    Atan2,
    Hypot,
    SquaredDifference,
    IsPositiveInfinity,
    IsNegativeInfinity,
    /// condition, then, else
    Where,
    /// value, mask, filling
    MaskedFill,
    /// value, lower, upper
    Clamp,
    /// value, which (0 lower only, 1 upper only, 2 both), first limit, second limit
    ClampScalar,
}

/// Most operands an operation takes.
pub(super) const MOST_OPERANDS: usize = 4;

impl Op {
    #[inline]
    pub(super) fn operands(self) -> usize {
        match self {
            Op::AddCMul | Op::AddCDiv | Op::ClampScalar => 4,
            Op::MulAdd | Op::Lerp | Op::Equal | Op::Compare | Op::Where | Op::MaskedFill | Op::Clamp => 3,
            Op::Mul
            | Op::Div
            | Op::DivTrunc
            | Op::DivFloor
            | Op::Remainder
            | Op::Fmod
            | Op::BitAnd
            | Op::BitOr
            | Op::BitXor
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Shl
            | Op::Shr
            | Op::Max
            | Op::Min
            | Op::FMax
            | Op::FMin
            | Op::Atan2
            | Op::Hypot
            | Op::SquaredDifference => 2,
            _ => 1,
        }
    }

    /// The result on `x` (as many as `operands`, converted to the type computed in, `math`), not yet converted.
    #[inline]
    pub(super) fn on(self, x: &[Num; MOST_OPERANDS], math: Scalar) -> Num {
        let [a, b, c, d] = *x;
        let round = |value| math.convert(value);
        match self {
            Op::Copy => a,
            Op::MulAdd => add(a, mul(b, c)),
            Op::AddCMul => add(a, round(mul(d, round(mul(b, c))))),
            Op::AddCDiv => add(a, round(mul(d, round(div(b, c))))),
            Op::Lerp => add(a, round(mul(c, round(sub(b, a))))),
            Op::Where => {
                if a.truth() {
                    b
                } else {
                    c
                }
            }
            Op::MaskedFill => {
                if b.truth() {
                    c
                } else {
                    a
                }
            }
            Op::Equal => Num::of((b == c) != a.truth()),
            Op::Compare => Num::of(compare(a, b, c)),
            Op::Clamp => min(max(a, b, true), c, true),
            Op::ClampScalar => clamp(a, b.int(), c, d),
            _ if self.operands() == 2 => self.binary(a, b, math),
            _ => self.unary(a),
        }
    }

    #[inline]
    fn binary(self, a: Num, b: Num, math: Scalar) -> Num {
        match self {
            Op::Mul if math == Scalar::Bool => Num::of(a.truth() && b.truth()),
            Op::Mul => mul(a, b),
            Op::Div => div(a, b),
            Op::DivTrunc => divided(a, b, f64::trunc, |a, b| a / b),
            Op::DivFloor => divided(a, b, f64::floor, floor_div),
            Op::Remainder => modulo(a, b),
            Op::Fmod => match (a, b) {
                (Int(_), Int(0)) => Num::ZERO,
                (Int(a), Int(b)) => Int(a % b),
                _ => Float(a.float() % b.float()),
            },
            Op::BitAnd => Int(a.int() & b.int()),
            Op::BitOr => Int(a.int() | b.int()),
            Op::BitXor => Int(a.int() ^ b.int()),
            Op::And => Num::of(a.truth() && b.truth()),
            Op::Or => Num::of(a.truth() || b.truth()),
            Op::Xor => Num::of(a.truth() != b.truth()),
            Op::Shl => shift(a, b, math, true),
            Op::Shr => shift(a, b, math, false),
            Op::Max => max(a, b, true),
            Op::Min => min(a, b, true),
            Op::FMax => max(a, b, false),
            Op::FMin => min(a, b, false),
            Op::Atan2 => Float(a.float().atan2(b.float())),
            Op::Hypot => Float(a.float().hypot(b.float())),
            _ => {
                let difference = math.convert(sub(a, b));
                mul(difference, difference)
            }
        }
    }

    #[inline]
    fn unary(self, a: Num) -> Num {
        match (self, a) {
            (Op::BitNot, _) => Int(!a.int()),
            (Op::Not, _) => Num::of(!a.truth()),
            (Op::Abs, Int(a)) => Int(a.abs()),
            (Op::Neg, Int(a)) => Int(-a),
            (Op::Sign, Int(a)) => Int(a.signum()),
            (Op::SignBit, Int(a)) => Num::of(a < 0),
            (Op::Square, _) => mul(a, a),
            (Op::Cube, _) => mul(a, mul(a, a)),
            (Op::Ceil | Op::Floor | Op::Round | Op::Trunc, Int(_)) => a,
            (Op::SignBit, Float(a)) => Num::of(a.is_sign_negative()),
            (Op::IsPositiveInfinity, _) => Num::of(a.float() == f64::INFINITY),
            (Op::IsNegativeInfinity, _) => Num::of(a.float() == f64::NEG_INFINITY),
            _ => Float(self.function(a.float())),
        }
    }

    fn function(self, a: f64) -> f64 {
        match self {
            Op::Abs => a.abs(),
            Op::Neg => -a,
            Op::Sign if a == 0.0 || a.is_nan() => 0.0,
            Op::Sign => a.signum(),
            Op::Ceil => a.ceil(),
            Op::Floor => a.floor(),
            Op::Round => a.round_ties_even(),
            Op::Trunc => a.trunc(),
            Op::Frac => a - a.trunc(),
            Op::Reciprocal => 1.0 / a,
            Op::Sqrt => a.sqrt(),
            Op::Rsqrt => 1.0 / a.sqrt(),
            Op::Exp => a.exp(),
            Op::Exp2 => a.exp2(),
            Op::Expm1 => a.exp_m1(),
            Op::Log => a.ln(),
            Op::Log2 => a.log2(),
            Op::Log10 => a.log10(),
            Op::Log1p => a.ln_1p(),
            Op::Sin => a.sin(),
            Op::Cos => a.cos(),
            Op::Tan => a.tan(),
            Op::Asin => a.asin(),
            Op::Acos => a.acos(),
            Op::Atan => a.atan(),
            Op::Sinh => a.sinh(),
            Op::Cosh => a.cosh(),
            Op::Tanh => a.tanh(),
            Op::Sigmoid => 1.0 / (1.0 + (-a).exp()),
            Op::Silu => a / (1.0 + (-a).exp()),
            _ => a,
        }
    }
}

#[inline]
pub(super) fn add(a: Num, b: Num) -> Num {
    match (a, b) {
        (Int(a), Int(b)) => Int(a.wrapping_add(b)),
        _ => Float(a.float() + b.float()),
    }
}

#[inline]
fn sub(a: Num, b: Num) -> Num {
    match (a, b) {
        (Int(a), Int(b)) => Int(a.wrapping_sub(b)),
        _ => Float(a.float() - b.float()),
    }
}

#[inline]
pub(super) fn mul(a: Num, b: Num) -> Num {
    match (a, b) {
        (Int(a), Int(b)) => Int(a.wrapping_mul(b)),
        _ => Float(a.float() * b.float()),
    }
}

#[inline]
fn div(a: Num, b: Num) -> Num {
    match (a, b) {
        (Int(_), Int(0)) => Num::ZERO,
        (Int(a), Int(b)) => Int(a / b),
        _ => Float(a.float() / b.float()),
    }
}

fn divided(a: Num, b: Num, float: fn(f64) -> f64, int: fn(i128, i128) -> i128) -> Num {
    match (a, b) {
        (Int(_), Int(0)) => Num::ZERO,
        (Int(a), Int(b)) => Int(int(a, b)),
        _ => Float(float(a.float() / b.float())),
    }
}

fn floor_div(a: i128, b: i128) -> i128 {
    let quotient = a / b;
    if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// Python's `%`: the sign of the divisor.
fn modulo(a: Num, b: Num) -> Num {
    match (a, b) {
        (Int(_), Int(0)) => Num::ZERO,
        (Int(a), Int(b)) => Int(a - floor_div(a, b) * b),
        _ => {
            let (a, b) = (a.float(), b.float());
            let rest = a % b;
            Float(if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest })
        }
    }
}

fn shift(a: Num, b: Num, math: Scalar, left: bool) -> Num {
    let bits = 8 * math.bytes() as i128;
    let (a, b) = (a.int(), b.int());
    match (b >= 0 && b < bits, left) {
        (true, true) => Int(a << b),
        (true, false) => Int(a >> b),
        (false, true) => Num::ZERO,
        (false, false) => Int(if a < 0 { -1 } else { 0 }),
    }
}

#[inline]
fn less(a: Num, b: Num) -> bool {
    match (a, b) {
        (Int(a), Int(b)) => a < b,
        _ => a.float() < b.float(),
    }
}

#[inline]
fn compare(which: Num, a: Num, b: Num) -> bool {
    let equal = a == b;
    match which.int() {
        0 => equal || less(b, a),
        1 => less(b, a),
        2 => equal || less(a, b),
        _ => less(a, b),
    }
}

#[inline]
pub(super) fn is_nan(a: Num) -> bool {
    matches!(a, Float(value) if value.is_nan())
}

#[inline]
pub(super) fn max(a: Num, b: Num, nan_wins: bool) -> Num {
    if is_nan(a) || is_nan(b) {
        return if is_nan(a) == nan_wins { a } else { b };
    }
    if less(a, b) { b } else { a }
}

#[inline]
pub(super) fn min(a: Num, b: Num, nan_wins: bool) -> Num {
    if is_nan(a) || is_nan(b) {
        return if is_nan(a) == nan_wins { a } else { b };
    }
    if less(b, a) { b } else { a }
}

fn clamp(value: Num, which: i128, first: Num, second: Num) -> Num {
    if is_nan(value) {
        return value;
    }
    match which {
        0 => {
            if less(value, first) {
                first
            } else {
                value
            }
        }
        1 => {
            if less(first, value) {
                first
            } else {
                value
            }
        }
        _ => {
            let raised = if less(value, first) { first } else { value };
            if less(second, raised) { second } else { raised }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline]
    fn on(op: Op, x: &[Num]) -> Num {
        let mut all = [Num::ZERO; MOST_OPERANDS];
        all[..x.len()].copy_from_slice(x);
        op.on(&all, if matches!(x[0], Float(_)) { Scalar::F64 } else { Scalar::I64 })
    }

    #[test]
    fn division_and_remainder_follow_python() {
        assert_eq!(on(Op::DivFloor, &[Int(-7), Int(2)]), Int(-4));
        assert_eq!(on(Op::DivTrunc, &[Int(-7), Int(2)]), Int(-3));
        assert_eq!(on(Op::Remainder, &[Int(-7), Int(2)]), Int(1));
        assert_eq!(on(Op::Remainder, &[Float(5.5), Float(-2.0)]), Float(-0.5));
        assert_eq!(on(Op::Fmod, &[Int(-7), Int(2)]), Int(-1));
    }

    #[test]
    fn nan_is_equal_to_nothing_and_wins_the_maximum() {
        let nan = Float(f64::NAN);
        assert_eq!(on(Op::Equal, &[Int(0), nan, nan]), Int(0));
        assert_eq!(on(Op::Equal, &[Int(1), nan, nan]), Int(1));
        assert!(is_nan(on(Op::Max, &[Float(1.0), nan])));
        assert_eq!(on(Op::FMax, &[Float(1.0), nan]), Float(1.0));
        assert_eq!(on(Op::FMin, &[nan, Float(1.0)]), Float(1.0));
        assert!(is_nan(on(Op::Clamp, &[nan, Float(0.0), Float(1.0)])));
    }

    #[test]
    fn clamp_holds_both_limits() {
        assert_eq!(on(Op::Clamp, &[Int(7), Int(0), Int(5)]), Int(5));
        assert_eq!(on(Op::ClampScalar, &[Int(-7), Int(0), Int(2), Int(0)]), Int(2));
        assert_eq!(on(Op::ClampScalar, &[Int(7), Int(1), Int(2), Int(0)]), Int(2));
        assert_eq!(on(Op::ClampScalar, &[Int(7), Int(2), Int(2), Int(4)]), Int(4));
    }
}
