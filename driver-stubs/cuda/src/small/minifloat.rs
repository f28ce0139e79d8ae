//! Floats shorter than 32 bits: half, bfloat16 and the 8-bit formats, to and from f32 with round to nearest even.
//! It does no arithmetic.

/// What a bit pattern with the largest exponent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Top {
    /// Infinity and NaN, as IEEE 754.
    Ieee,
    /// Numbers, but all ones is NaN; no infinity (`fn`).
    Finite,
    /// Numbers; the pattern of minus zero is the only NaN (`fnuz`).
    Unsigned,
}

/// A format of one sign bit, exponent and mantissa.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    top: Top,
}

pub(super) const F16: Format = Format { exponent_bits: 5, mantissa_bits: 10, bias: 15, top: Top::Ieee };
pub(super) const BF16: Format = Format { exponent_bits: 8, mantissa_bits: 7, bias: 127, top: Top::Ieee };
pub(super) const F8E5M2: Format = Format { exponent_bits: 5, mantissa_bits: 2, bias: 15, top: Top::Ieee };
pub(super) const F8E4M3: Format = Format { exponent_bits: 4, mantissa_bits: 3, bias: 7, top: Top::Finite };
pub(super) const F8E5M2FNUZ: Format = Format { exponent_bits: 5, mantissa_bits: 2, bias: 16, top: Top::Unsigned };
pub(super) const F8E4M3FNUZ: Format = Format { exponent_bits: 4, mantissa_bits: 3, bias: 8, top: Top::Unsigned };

impl Format {
    fn sign_shift(self) -> u32 {
        self.exponent_bits + self.mantissa_bits
    }

    fn nan(self) -> u32 {
        match self.top {
            Top::Ieee | Top::Finite => (1 << self.sign_shift()) - 1,
            Top::Unsigned => 1 << self.sign_shift(),
        }
    }

    /// Largest finite magnitude's bits.
    fn largest(self) -> u32 {
        let all = (1 << self.sign_shift()) - 1;
        match self.top {
            Top::Ieee => (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1,
            Top::Finite => all - 1,
            Top::Unsigned => all,
        }
    }

    pub(super) fn widen(self, bits: u32) -> f64 {
        let negative = bits >> self.sign_shift() & 1 == 1;
        let magnitude = bits & ((1 << self.sign_shift()) - 1);
        if magnitude > self.largest() {
            let infinite = self.top == Top::Ieee && magnitude == self.largest() + 1;
            return if !infinite {
                f64::NAN
            } else if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            };
        }
        if self.top == Top::Unsigned && bits == self.nan() {
            return f64::NAN;
        }
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let mantissa = f64::from(magnitude & ((1 << self.mantissa_bits) - 1));
        let unit = 2f64.powi(exponent.max(1) - self.bias - self.mantissa_bits as i32);
        let hidden = if exponent > 0 { f64::from(1u32 << self.mantissa_bits) } else { 0.0 };
        let value = (hidden + mantissa) * unit;
        if negative { -value } else { value }
    }

    pub(super) fn narrow(self, value: f32) -> u32 {
        if value.is_nan() {
            return self.nan();
        }
        let sign = u32::from(value.is_sign_negative()) << self.sign_shift();
        let magnitude = f64::from(value.abs());
        let bits = if magnitude.is_infinite() { self.largest() + 1 } else { self.nearest(magnitude) };
        if bits > self.largest() {
            return match self.top {
                Top::Ieee => sign | (self.largest() + 1),
                Top::Finite => sign | self.nan(),
                Top::Unsigned => self.nan(),
            };
        }
        if self.top == Top::Unsigned && bits == 0 { 0 } else { sign | bits }
    }

    /// Nearest pattern, ties to even; may be one past the largest.
    fn nearest(self, magnitude: f64) -> u32 {
        let lowest = 1 - self.bias;
        let exponent = if magnitude == 0.0 { lowest } else { (magnitude.log2().floor() as i32).max(lowest) };
        let steps = (magnitude / 2f64.powi(exponent - self.mantissa_bits as i32)).round_ties_even() as u64;
        let below = ((exponent - lowest) as u64) << self.mantissa_bits;
        (below + steps).min(1 << 16) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_every_format_survives_the_round_trip() {
        for format in [F16, BF16, F8E5M2, F8E4M3, F8E5M2FNUZ, F8E4M3FNUZ] {
            for bits in 0..1u32 << (format.sign_shift() + 1) {
                let value = format.widen(bits);
                if value.is_nan() {
                    assert!(format.widen(format.narrow(f32::NAN)).is_nan());
                } else {
                    assert_eq!(format.narrow(value as f32), bits, "{format:?} {value}");
                }
            }
        }
    }

    #[test]
    fn overflow_is_infinite_or_nan_as_the_format_has_it() {
        assert_eq!(F16.widen(F16.narrow(65519.0)), 65504.0);
        assert!(F16.widen(F16.narrow(65520.0)).is_infinite());
        assert_eq!(F8E4M3.widen(F8E4M3.narrow(448.0)), 448.0);
        assert_eq!(F8E4M3.widen(F8E4M3.narrow(464.0)), 448.0);
        assert!(F8E4M3.widen(F8E4M3.narrow(480.0)).is_nan());
        assert!(F8E4M3FNUZ.widen(F8E4M3FNUZ.narrow(f32::INFINITY)).is_nan());
    }

    #[test]
    fn halfway_values_round_to_even() {
        assert_eq!(BF16.narrow(f32::from_bits(0x3F80_8000)), 0x3F80);
        assert_eq!(BF16.narrow(f32::from_bits(0x3F81_8000)), 0x3F82);
        assert_eq!(BF16.narrow(f32::from_bits(0x3F80_8001)), 0x3F81);
    }
}
