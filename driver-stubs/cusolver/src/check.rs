//! What cuSOLVER refuses before it does anything, and where its results lie.
//! It knows no function.

use crate::Error;
use ghost_blas::{DataType, Matrix, Ptr, vector};
use ghost_table::Range;

/// A size: not negative.
pub fn size(value: impl Into<i64>) -> Result<u64, Error> {
    u64::try_from(value.into()).map_err(|_| Error::InvalidValue)
}

/// A `rows` x `columns` matrix at `address`: sizes not negative, leading dimension wide enough, not null unless empty.
pub fn matrix(kind: DataType, address: u64, [rows, columns]: [u64; 2], ld: impl Into<i64>) -> Result<Matrix, Error> {
    let ld = size(ld)?;
    if ld < rows.max(1) || (address == 0 && rows > 0 && columns > 0) || kind.bits().is_none() {
        return Err(Error::InvalidValue);
    }
    Ok(Matrix { address, kind, minor: rows, major: columns, ld, batch: 1, stride: 0 })
}

/// An enum of two values: fill mode, side, whether vectors are wanted.
pub fn choice(value: i32) -> Result<bool, Error> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

/// `cublasOperation_t`.
pub fn operation(value: i32) -> Result<(), Error> {
    if (0..=2).contains(&value) { Ok(()) } else { Err(Error::InvalidValue) }
}

/// A LAPACK job letter.
pub fn job(letter: i8) -> Result<Job, Error> {
    match letter as u8 {
        b'A' => Ok(Job::All),
        b'S' => Ok(Job::Economic),
        b'O' => Ok(Job::Overwrite),
        b'N' => Ok(Job::None),
        _ => Err(Error::InvalidValue),
    }
}

/// Which vectors are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    All,
    Economic,
    Overwrite,
    None,
}

/// `count` values in device memory; null is nowhere.
pub fn values(kind: DataType, address: u64, count: u64) -> Option<Range> {
    vector(address, kind, count, 1)
}

/// The info of a batch of `count` in device memory: it reads 0, success.
pub fn info(info: Ptr<i32>, count: u64) -> Option<Range> {
    values(DataType::R_32I, info.address(), count)
}

/// The real type of a type: what its eigenvalues and singular values are.
pub fn real(kind: DataType) -> DataType {
    match kind {
        DataType::C_32F => DataType::R_32F,
        DataType::C_64F => DataType::R_64F,
        other => other,
    }
}

/// A size as the 32-bit functions write it; what does not fit is the largest number.
pub fn narrow(elements: u64) -> i32 {
    i32::try_from(elements).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_needs_a_place_and_a_wide_enough_step() {
        let make = |address, ld: i32| matrix(DataType::R_32F, address, [4, 3], ld).map(|matrix| matrix.ld);
        assert_eq!((make(64, 4), make(64, 3), make(0, 4)), (Ok(4), Err(Error::InvalidValue), Err(Error::InvalidValue)));
        assert!(matrix(DataType::R_32F, 0, [0, 0], 1).is_ok() && matrix(DataType(99), 64, [1, 1], 1).is_err());
        assert_eq!(size(-1), Err(Error::InvalidValue));
    }

    #[test]
    fn letters_and_enums_outside_their_range_are_refused() {
        assert_eq!((job(b'A' as i8), job(b'x' as i8)), (Ok(Job::All), Err(Error::InvalidValue)));
        assert_eq!(
            (choice(1), choice(2), operation(3)),
            (Ok(true), Err(Error::InvalidValue), Err(Error::InvalidValue))
        );
    }
}
