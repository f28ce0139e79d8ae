//! Element types of tensors: sizes, loads, stores and conversions as a GPU does them.
//! It knows one value at a time; shapes and addresses are elsewhere.

use super::minifloat;

/// An element type whose values can be computed with. Complex, quantised and packed types are not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    BF16,
    F32,
    F64,
    F8E4M3,
    F8E5M2,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
}

use Scalar::*;

/// A value in flight: any integer (bool = 0 or 1) or any float, exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    pub(super) const ZERO: Num = Num::Int(0);

    #[inline]
    pub(super) fn truth(self) -> bool {
        match self {
            Num::Int(value) => value != 0,
            Num::Float(value) => value != 0.0,
        }
    }

    #[inline]
    pub(super) fn float(self) -> f64 {
        match self {
            Num::Int(value) => value as f64,
            Num::Float(value) => value,
        }
    }

    /// Truncated towards zero, saturating; NaN is 0.
    #[inline]
    pub(super) fn int(self) -> i128 {
        match self {
            Num::Int(value) => value,
            Num::Float(value) => value as i128,
        }
    }

    #[inline]
    pub(super) fn of(truth: bool) -> Num {
        Num::Int(i128::from(truth))
    }
}

impl Scalar {
    /// By the C++ spelling in a demangled name.
    pub(super) fn named(name: &str) -> Option<Scalar> {
        Some(match name {
            "bool" => Bool,
            "unsigned char" => U8,
            "signed char" | "char" => I8,
            "unsigned short" => U16,
            "short" => I16,
            "unsigned int" => U32,
            "int" => I32,
            "unsigned long" | "unsigned long long" => U64,
            "long" | "long long" => I64,
            "c10::Half" => F16,
            "c10::BFloat16" => BF16,
            "float" => F32,
            "double" => F64,
            "c10::Float8_e4m3fn" => F8E4M3,
            "c10::Float8_e5m2" => F8E5M2,
            "c10::Float8_e4m3fnuz" => F8E4M3Fnuz,
            "c10::Float8_e5m2fnuz" => F8E5M2Fnuz,
            _ => return None,
        })
    }

    /// By the number of PyTorch's ScalarType (c10/core/ScalarType.h).
    pub(super) fn numbered(number: u8) -> Option<Scalar> {
        Some(match number {
            0 => U8,
            1 => I8,
            2 => I16,
            3 => I32,
            4 => I64,
            5 => F16,
            6 => F32,
            7 => F64,
            11 => Bool,
            15 => BF16,
            23 => F8E5M2,
            24 => F8E4M3,
            25 => F8E5M2Fnuz,
            26 => F8E4M3Fnuz,
            27 => U16,
            28 => U32,
            29 => U64,
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self {
            Bool | U8 | I8 | F8E4M3 | F8E5M2 | F8E4M3Fnuz | F8E5M2Fnuz => 1,
            U16 | I16 | F16 | BF16 => 2,
            U32 | I32 | F32 => 4,
            U64 | I64 | F64 => 8,
        }
    }

    #[inline]
    pub(super) fn is_float(self) -> bool {
        matches!(self, F16 | BF16 | F32 | F64 | F8E4M3 | F8E5M2 | F8E4M3Fnuz | F8E5M2Fnuz)
    }

    /// The type PyTorch computes in: float for the short floats, else the type itself.
    #[inline]
    pub(super) fn opmath(self) -> Scalar {
        if self.is_float() && self.bytes() < 4 { F32 } else { self }
    }

    /// The type PyTorch accumulates in on a GPU: 64-bit for integers, float for short floats and float.
    pub(super) fn accumulator(self) -> Scalar {
        if self.is_float() { self.opmath() } else { I64 }
    }

    /// Reads the value at the start of `at`.
    #[inline]
    pub(super) fn load(self, at: &[u8]) -> Num {
        let bits = match *at {
            [a, ..] if self.bytes() == 1 => u64::from(a),
            [a, b, ..] if self.bytes() == 2 => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d, ..] if self.bytes() == 4 => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h, ..] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        };
        match self {
            Bool => Num::of(bits != 0),
            U8 | U16 | U32 | U64 => Num::Int(bits.into()),
            I8 => Num::Int((bits as i8).into()),
            I16 => Num::Int((bits as i16).into()),
            I32 => Num::Int((bits as i32).into()),
            I64 => Num::Int((bits as i64).into()),
            F32 => Num::Float(f32::from_bits(bits as u32).into()),
            F64 => Num::Float(f64::from_bits(bits)),
            short => Num::Float(short.format().widen(bits as u32)),
        }
    }

    /// Writes `value`, converted as `convert` does, to the start of `at`.
    #[inline]
    pub(super) fn store(self, value: Num, at: &mut [u8]) {
        let bits = self.bits(value);
        match self.bytes() {
            1 => at[0] = bits as u8,
            2 => at[..2].copy_from_slice(&(bits as u16).to_le_bytes()),
            4 => at[..4].copy_from_slice(&(bits as u32).to_le_bytes()),
            _ => at[..8].copy_from_slice(&bits.to_le_bytes()),
        }
    }

    /// The value's bits in this type.
    #[inline]
    pub(super) fn bits(self, value: Num) -> u64 {
        match self {
            Bool => u64::from(value.truth()),
            U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64 => self.wrap(value) as u64,
            F32 => u64::from((value.float() as f32).to_bits()),
            F64 => value.float().to_bits(),
            short => u64::from(short.format().narrow(value.float() as f32)),
        }
    }

    /// The value as it is after a cast to this type.
    #[inline]
    pub(super) fn convert(self, value: Num) -> Num {
        match (self, value) {
            (F64, Num::Float(_)) => value,
            (F32, _) => Num::Float(f64::from(value.float() as f32)),
            (F64, _) => Num::Float(value.float()),
            (Bool, _) => Num::of(value.truth()),
            _ if self.is_float() => Num::Float(self.format().widen(self.format().narrow(value.float() as f32))),
            _ => Num::Int(self.wrap(value)),
        }
    }

    #[inline]
    fn wrap(self, value: Num) -> i128 {
        let value = match value {
            Num::Int(value) => value,
            Num::Float(value) => self.truncated(value),
        };
        match self {
            U8 => (value as u8).into(),
            I8 => (value as i8).into(),
            U16 => (value as u16).into(),
            I16 => (value as i16).into(),
            U32 => (value as u32).into(),
            I32 => (value as i32).into(),
            U64 => (value as u64).into(),
            _ => (value as i64).into(),
        }
    }

    /// Float to integer as the GPU does: saturating at 32 or 64 bits, then cut to the type's width.
    #[inline]
    fn truncated(self, value: f64) -> i128 {
        match self {
            U64 => (value as u64).into(),
            I64 => (value as i64).into(),
            U32 => (value as u32).into(),
            _ => (value as i32).into(),
        }
    }

    fn format(self) -> minifloat::Format {
        match self {
            F16 => minifloat::F16,
            F8E4M3 => minifloat::F8E4M3,
            F8E5M2 => minifloat::F8E5M2,
            F8E4M3Fnuz => minifloat::F8E4M3FNUZ,
            F8E5M2Fnuz => minifloat::F8E5M2FNUZ,
            _ => minifloat::BF16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floats_saturate_when_cast() {
        assert_eq!(I8.convert(Num::Int(200)), Num::Int(-56));
        assert_eq!(U8.convert(Num::Int(-1)), Num::Int(255));
        assert_eq!(I32.convert(Num::Float(1e20)), Num::Int(i32::MAX.into()));
        assert_eq!(I64.convert(Num::Float(-2.9)), Num::Int(-2));
        assert_eq!(I32.convert(Num::Float(f64::NAN)), Num::Int(0));
        assert_eq!(Bool.convert(Num::Float(0.25)), Num::Int(1));
    }

    #[test]
    fn every_type_stores_what_it_loads() {
        for scalar in [Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64, F8E4M3, F8E5M2] {
            let mut at = [0xAA; 8];
            scalar.store(Num::Int(1), &mut at);
            assert!(scalar.load(&at).truth());
            assert_eq!(scalar.load(&at).float(), 1.0, "{scalar:?}");
            assert!(at[scalar.bytes()..].iter().all(|&byte| byte == 0xAA));
        }
    }

    #[test]
    fn a_float_cast_to_bfloat16_rounds_to_even() {
        assert_eq!(BF16.convert(Num::Float(1.003_906_25)), Num::Float(1.0));
        assert_eq!(BF16.convert(Num::Float(1.011_718_75)), Num::Float(1.015_625));
        assert_eq!(F16.convert(Num::Float(65520.0)), Num::Float(f64::INFINITY));
    }
}
