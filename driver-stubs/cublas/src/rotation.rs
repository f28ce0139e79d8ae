//! Making Givens rotations: scalars only, so in host memory the real numbers are computed.
//! The modified rotation (rotmg) is not: it answers not-supported.

use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use ghost_blas::{Cublas, DataType, Error, Ptr, kernel};
use std::ops::{Add, Div, Mul};

family! {
    rotg (handle: Handle, a: Ptr<T>, b: Ptr<T>, c: Ptr<R>, s: Ptr<T>) {
        f32: cublasSrotg_v2;
        f64: cublasDrotg_v2;
        Complex32: cublasCrotg_v2;
        Complex64: cublasZrotg_v2;
    }
}

/// What a rotation that turns (a, b) into (r, 0) is made of.
pub trait Rotate: Element {
    /// r, z, c and s; z encodes the rotation in the place of b.
    fn rotation(a: Self, b: Self) -> (Self, Self, Self::Real, Self);
}

/// r, z, c and s of two reals.
fn real<F>(a: F, b: F, [zero, one]: [F; 2], root: impl Fn(F) -> F, abs: impl Fn(F) -> F) -> (F, F, F, F)
where
    F: Copy + PartialOrd + Add<Output = F> + Mul<Output = F> + Div<Output = F> + std::ops::Neg<Output = F>,
{
    if b == zero {
        return (a, zero, one, zero);
    }
    let is_a_larger = abs(a) > abs(b);
    let larger = if is_a_larger { a } else { b };
    let length = root(a * a + b * b);
    let r = if larger < zero { -length } else { length };
    let (c, s) = (a / r, b / r);
    let z = match is_a_larger {
        true => s,
        false if c != zero => one / c,
        false => one,
    };
    (r, z, c, s)
}

impl Rotate for f32 {
    fn rotation(a: f32, b: f32) -> (f32, f32, f32, f32) {
        real(a, b, [0.0, 1.0], f32::sqrt, f32::abs)
    }
}

impl Rotate for f64 {
    fn rotation(a: f64, b: f64) -> (f64, f64, f64, f64) {
        real(a, b, [0.0, 1.0], f64::sqrt, f64::abs)
    }
}

macro_rules! complex {
    ($($name:ident $real:ty;)*) => { $(
        impl Rotate for $name {
            fn rotation(a: $name, b: $name) -> ($name, $name, $real, $name) {
                let size = |z: $name| z.re.hypot(z.im);
                let (la, lb) = (size(a), size(b));
                if la == 0.0 {
                    return (b, b, 0.0, $name { re: 1.0, im: 0.0 });
                }
                let length = la.hypot(lb);
                let unit = $name { re: a.re / la, im: a.im / la };
                let s = $name {
                    re: (unit.re * b.re + unit.im * b.im) / length,
                    im: (unit.im * b.re - unit.re * b.im) / length,
                };
                ($name { re: unit.re * length, im: unit.im * length }, b, la / length, s)
            }
        }
    )* };
}
complex! { Complex32 f32; Complex64 f64; }

fn rotg<T: Rotate>(handle: Handle, a: Ptr<T>, b: Ptr<T>, c: Ptr<T::Real>, s: Ptr<T>) -> Result<(), Error> {
    let context = Context::of(handle)?;
    c.check().and(s.check())?;
    a.check().and(b.check())?;
    if context.is_host_mode() {
        let (r, z, cosine, sine) = T::rotation(a.load(0)?, b.load(0)?);
        a.store(r)?;
        b.store(z)?;
        return c.store(cosine).and(s.store(sine));
    }
    let bytes = size_of::<T>() as u64;
    let operation = kernel(c"cublas_rotg", DataType::R_32F, [2 * bytes, 4 * bytes, 16]);
    let writes =
        [(a.address(), bytes), (b.address(), bytes), (c.address(), size_of::<T::Real>() as u64), (s.address(), bytes)];
    context.run(Some(writes.into_iter().fold(operation, |operation, (at, bytes)| operation.writes(at, bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_turns_the_second_number_into_zero() {
        let (r, z, c, s) = f64::rotation(3.0, 4.0);
        assert!((r - 5.0).abs() < 1e-12 && (c - 0.6).abs() < 1e-12 && (s - 0.8).abs() < 1e-12);
        assert!((z - 1.0 / 0.6).abs() < 1e-12);
        assert!((-s * 3.0 + c * 4.0).abs() < 1e-12);
        assert_eq!(f32::rotation(2.0, 0.0), (2.0, 0.0, 1.0, 0.0));
    }

    #[test]
    fn a_complex_rotation_keeps_the_length() {
        let (a, b) = (Complex64 { re: 1.0, im: 2.0 }, Complex64 { re: 2.0, im: -4.0 });
        let (r, _, c, s) = Complex64::rotation(a, b);
        assert!((r.re.hypot(r.im) - 5.0).abs() < 1e-12);
        assert!((c * c + s.re * s.re + s.im * s.im - 1.0).abs() < 1e-12);
    }
}
