//! Vector operations that end in a vector: axpy, scal, copy, swap and the applied rotations.
//! They are priced by the bytes they move; the vectors they write read zero afterwards.

use crate::check::size;
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use ghost_blas::{Cublas, DataType, Error, Ptr, kernel, vector};
use ghost_table::Operation;
use std::ffi::CStr;

family! {
    axpy (handle: Handle, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I) {
        f32: cublasSaxpy_v2 cublasSaxpy_v2_64;
        f64: cublasDaxpy_v2 cublasDaxpy_v2_64;
        Complex32: cublasCaxpy_v2 cublasCaxpy_v2_64;
        Complex64: cublasZaxpy_v2 cublasZaxpy_v2_64;
    }
    axpy_ex (handle: Handle, n: I, alpha: Ptr<u8>, alpha_type: DataType, x: Ptr<u8>, xtype: DataType, incx: I,
             y: Ptr<u8>, ytype: DataType, incy: I, execution: DataType) {
        f32: cublasAxpyEx cublasAxpyEx_64;
    }
    scal (handle: Handle, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I) {
        f32: cublasSscal_v2 cublasSscal_v2_64;
        f64: cublasDscal_v2 cublasDscal_v2_64;
        Complex32: cublasCscal_v2 cublasCscal_v2_64;
        Complex64: cublasZscal_v2 cublasZscal_v2_64;
    }
    scal_real (handle: Handle, n: I, alpha: Ptr<R>, x: Ptr<T>, incx: I) {
        Complex32: cublasCsscal_v2 cublasCsscal_v2_64;
        Complex64: cublasZdscal_v2 cublasZdscal_v2_64;
    }
    scal_ex (handle: Handle, n: I, alpha: Ptr<u8>, alpha_type: DataType, x: Ptr<u8>, xtype: DataType, incx: I,
             execution: DataType) {
        f32: cublasScalEx cublasScalEx_64;
    }
    copy (handle: Handle, n: I, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I) {
        f32: cublasScopy_v2 cublasScopy_v2_64;
        f64: cublasDcopy_v2 cublasDcopy_v2_64;
        Complex32: cublasCcopy_v2 cublasCcopy_v2_64;
        Complex64: cublasZcopy_v2 cublasZcopy_v2_64;
    }
    copy_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, y: Ptr<u8>, ytype: DataType, incy: I) {
        f32: cublasCopyEx cublasCopyEx_64;
    }
    swap (handle: Handle, n: I, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I) {
        f32: cublasSswap_v2 cublasSswap_v2_64;
        f64: cublasDswap_v2 cublasDswap_v2_64;
        Complex32: cublasCswap_v2 cublasCswap_v2_64;
        Complex64: cublasZswap_v2 cublasZswap_v2_64;
    }
    swap_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, y: Ptr<u8>, ytype: DataType, incy: I) {
        f32: cublasSwapEx cublasSwapEx_64;
    }
    rot (handle: Handle, n: I, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, c: Ptr<R>, s: Ptr<T>) {
        f32: cublasSrot_v2 cublasSrot_v2_64;
        f64: cublasDrot_v2 cublasDrot_v2_64;
        Complex32: cublasCrot_v2 cublasCrot_v2_64;
        Complex64: cublasZrot_v2 cublasZrot_v2_64;
    }
    rot (handle: Handle, n: I, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, c: Ptr<R>, s: Ptr<R>) {
        Complex32: cublasCsrot_v2 cublasCsrot_v2_64;
        Complex64: cublasZdrot_v2 cublasZdrot_v2_64;
    }
    rot_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, y: Ptr<u8>, ytype: DataType, incy: I,
            c: Ptr<u8>, s: Ptr<u8>, factors: DataType, execution: DataType) {
        f32: cublasRotEx cublasRotEx_64;
    }
    rotm (handle: Handle, n: I, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, parameters: Ptr<T>) {
        f32: cublasSrotm_v2 cublasSrotm_v2_64;
        f64: cublasDrotm_v2 cublasDrotm_v2_64;
    }
    rotm_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, y: Ptr<u8>, ytype: DataType, incy: I,
             parameters: Ptr<u8>, ptype: DataType, execution: DataType) {
        f32: cublasRotmEx cublasRotmEx_64;
    }
}

/// A vector argument.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    pub address: u64,
    pub kind: DataType,
    pub n: i64,
    pub step: i64,
}

impl Vector {
    /// A vector of typed elements.
    pub fn of<T: Element>(vector: Ptr<T>, n: impl Into<i64>, step: impl Into<i64>) -> Vector {
        Vector::at(vector.bytes(), T::KIND, n, step)
    }

    /// A vector whose type is an argument.
    pub fn at(vector: Ptr<u8>, kind: DataType, n: impl Into<i64>, step: impl Into<i64>) -> Vector {
        Vector { address: vector.address(), kind, n: n.into(), step: step.into() }
    }
}

/// A kernel over vectors: `None` when they are empty or of negative length, which BLAS takes for empty. The written
/// vectors are among the inputs where they are read too. `flops` is for one element.
pub fn plan(
    name: &'static CStr,
    flops: u64,
    inputs: &[Vector],
    outputs: &[Vector],
) -> Result<Option<Operation>, Error> {
    let mut all = inputs.iter().chain(outputs);
    let Some(first) = inputs.first() else { return Err(Error::InternalError) };
    let Ok(n @ 1..) = size(first.n) else { return Ok(None) };
    if all.clone().any(|one| one.kind.priced().is_none()) {
        return Err(Error::NotSupported);
    }
    if all.any(|one| one.address == 0) {
        return Err(Error::InvalidValue);
    }
    let bytes = |list: &[Vector]| list.iter().map(|one| one.kind.bytes(n)).sum();
    let operation = kernel(name, first.kind, [bytes(inputs), bytes(outputs), flops.saturating_mul(n)]);
    let ranges = outputs.iter().filter_map(|one| vector(one.address, one.kind, n, one.step));
    Ok(Some(ranges.fold(operation, |operation, range| operation.writes(range.address, range.bytes))))
}

fn axpy<T: Element, I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    alpha: Ptr<T>,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    let (kind, alpha, x, y) = (T::KIND, alpha.bytes(), x.bytes(), y.bytes());
    axpy_ex(handle, n, alpha, kind, x, kind, incx, y, kind, incy, kind)
}

fn axpy_ex<I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    alpha: Ptr<u8>,
    _alpha_type: DataType,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    y: Ptr<u8>,
    ytype: DataType,
    incy: I,
    _execution: DataType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check()?;
    let [x, y] = [Vector::at(x, xtype, n, incx), Vector::at(y, ytype, n, incy)];
    context.run(plan(c"cublas_axpy", 2, &[x, y], &[y])?)
}

fn scal<T: Element, I: Into<i64>>(handle: Handle, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I) -> Result<(), Error> {
    scal_ex(handle, n, alpha.bytes(), T::KIND, x.bytes(), T::KIND, incx, T::KIND)
}

fn scal_real<A, T: Element, I: Into<i64>>(
    handle: Handle,
    n: I,
    alpha: Ptr<A>,
    x: Ptr<T>,
    incx: I,
) -> Result<(), Error> {
    scal_ex(handle, n, alpha.bytes(), T::KIND, x.bytes(), T::KIND, incx, T::KIND)
}

fn scal_ex<I: Into<i64>>(
    handle: Handle,
    n: I,
    alpha: Ptr<u8>,
    _alpha_type: DataType,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    _execution: DataType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check()?;
    let x = Vector::at(x, xtype, n, incx);
    context.run(plan(c"cublas_scal", 1, &[x], &[x])?)
}

fn copy<T: Element, I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    copy_ex(handle, n, x.bytes(), T::KIND, incx, y.bytes(), T::KIND, incy)
}

fn copy_ex<I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    y: Ptr<u8>,
    ytype: DataType,
    incy: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let [x, y] = [Vector::at(x, xtype, n, incx), Vector::at(y, ytype, n, incy)];
    context.run(plan(c"cublas_copy", 0, &[x], &[y])?)
}

fn swap<T: Element, I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    swap_ex(handle, n, x.bytes(), T::KIND, incx, y.bytes(), T::KIND, incy)
}

fn swap_ex<I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    y: Ptr<u8>,
    ytype: DataType,
    incy: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let both = [Vector::at(x, xtype, n, incx), Vector::at(y, ytype, n, incy)];
    context.run(plan(c"cublas_swap", 0, &both, &both)?)
}

fn rot<T: Element, C, S, I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
    c: Ptr<C>,
    s: Ptr<S>,
) -> Result<(), Error> {
    let (kind, c, s) = (T::KIND, c.bytes(), s.bytes());
    rot_ex(handle, n, x.bytes(), kind, incx, y.bytes(), kind, incy, c, s, kind, kind)
}

fn rot_ex<I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    y: Ptr<u8>,
    ytype: DataType,
    incy: I,
    c: Ptr<u8>,
    s: Ptr<u8>,
    _factors: DataType,
    _execution: DataType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    c.check().and(s.check())?;
    let both = [Vector::at(x, xtype, n, incx), Vector::at(y, ytype, n, incy)];
    context.run(plan(c"cublas_rot", 6, &both, &both)?)
}

fn rotm<T: Element, I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
    parameters: Ptr<T>,
) -> Result<(), Error> {
    let kind = T::KIND;
    rotm_ex(handle, n, x.bytes(), kind, incx, y.bytes(), kind, incy, parameters.bytes(), kind, kind)
}

fn rotm_ex<I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    y: Ptr<u8>,
    ytype: DataType,
    incy: I,
    parameters: Ptr<u8>,
    _ptype: DataType,
    _execution: DataType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    parameters.check()?;
    let both = [Vector::at(x, xtype, n, incx), Vector::at(y, ytype, n, incy)];
    context.run(plan(c"cublas_rotm", 6, &both, &both)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(address: u64, n: i64, step: i64) -> Vector {
        Vector { address, kind: DataType::R_32F, n, step }
    }

    #[test]
    fn a_vector_operation_counts_what_it_reads_and_writes() {
        let [x, y] = [floats(0x1000, 10, 1), floats(0x2000, 10, 3)];
        let operation = plan(c"axpy", 2, &[x, y], &[y]).expect("good arguments").expect("work");
        assert_eq!(operation.dims[..3], [80, 40, 20]);
        assert_eq!((operation.outputs[0].address, operation.outputs[0].bytes), (0x2000, 28 * 4));
    }

    #[test]
    fn empty_and_negative_lengths_do_nothing_even_without_vectors() {
        for n in [0, -3] {
            assert!(plan(c"scal", 1, &[floats(0, n, 1)], &[]).expect("allowed").is_none());
        }
    }

    #[test]
    fn a_missing_vector_and_an_unknown_type_are_refused() {
        assert_eq!(plan(c"scal", 1, &[floats(0, 1, 1)], &[]).err(), Some(Error::InvalidValue));
        let odd = Vector { kind: DataType(99), ..floats(0x1000, 1, 1) };
        assert_eq!(plan(c"scal", 1, &[odd], &[]).err(), Some(Error::NotSupported));
    }
}
