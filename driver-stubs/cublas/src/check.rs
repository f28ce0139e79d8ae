//! What cuBLAS refuses before it does anything: bad sizes, strides and options.
//! It knows no function.

use ghost_blas::Error;

/// A size: not negative.
pub fn size(value: impl Into<i64>) -> Result<u64, Error> {
    u64::try_from(value.into()).map_err(|_| Error::InvalidValue)
}

/// A leading dimension: positive and not below the length of a run.
pub fn leading(ld: impl Into<i64>, run: u64) -> Result<u64, Error> {
    let ld = size(ld)?;
    if ld < run.max(1) { Err(Error::InvalidValue) } else { Ok(ld) }
}

/// A step between elements: not zero.
pub fn step(increment: impl Into<i64>) -> Result<i64, Error> {
    let increment = increment.into();
    if increment == 0 { Err(Error::InvalidValue) } else { Ok(increment) }
}

/// `cublasOperation_t`: whether the operand is transposed.
pub fn transposed(operation: i32) -> Result<bool, Error> {
    match operation {
        0 => Ok(false),
        1 | 2 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

/// `cublasSideMode_t`: whether the special operand stands left.
pub fn left(side: i32) -> Result<bool, Error> {
    match side {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(Error::InvalidValue),
    }
}

/// `cublasFillMode_t` of a triangle, and `cublasDiagType_t`: 0 or 1.
pub fn choice(value: i32) -> Result<(), Error> {
    if matches!(value, 0 | 1) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// Refuses null among the pointers of a call that has work.
pub fn present(has_work: bool, addresses: &[u64]) -> Result<(), Error> {
    if has_work && addresses.contains(&0) { Err(Error::InvalidValue) } else { Ok(()) }
}

/// Elements of a triangle of `n` rows with its diagonal.
pub fn half(n: u64) -> u64 {
    n.saturating_mul(n + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_steps_and_leading_dimensions_have_bounds() {
        assert_eq!((size(-1), size(3_i64)), (Err(Error::InvalidValue), Ok(3)));
        assert_eq!(
            (leading(3, 4), leading(4, 4), leading(0, 0)),
            (Err(Error::InvalidValue), Ok(4), Err(Error::InvalidValue))
        );
        assert_eq!((step(0), step(-2)), (Err(Error::InvalidValue), Ok(-2)));
    }

    #[test]
    fn options_outside_their_enum_are_refused() {
        assert_eq!((transposed(2), transposed(3)), (Ok(true), Err(Error::InvalidValue)));
        assert_eq!((left(0), left(2)), (Ok(true), Err(Error::InvalidValue)));
        assert_eq!((choice(1), choice(2)), (Ok(()), Err(Error::InvalidValue)));
    }
}
