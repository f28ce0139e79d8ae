//! Vector operations that end in a number: dot, nrm2, asum, amax, amin.
//! The vector reads zero, so the number is 0; the first of equal elements is index 1.

use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use crate::level1::{Vector, plan};
use ghost_abi::Plain;
use ghost_blas::{Cublas, DataType, Error, Ptr, kernel};
use std::ffi::CStr;

family! {
    norm (handle: Handle, n: I, x: Ptr<T>, incx: I, result: Ptr<R>) {
        f32: cublasSnrm2_v2 cublasSnrm2_v2_64;
        f64: cublasDnrm2_v2 cublasDnrm2_v2_64;
        Complex32: cublasScnrm2_v2 cublasScnrm2_v2_64;
        Complex64: cublasDznrm2_v2 cublasDznrm2_v2_64;
        f32: cublasSasum_v2 cublasSasum_v2_64;
        f64: cublasDasum_v2 cublasDasum_v2_64;
        Complex32: cublasScasum_v2 cublasScasum_v2_64;
        Complex64: cublasDzasum_v2 cublasDzasum_v2_64;
    }
    norm_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, result: Ptr<u8>, rtype: DataType,
             execution: DataType) {
        f32: cublasNrm2Ex cublasNrm2Ex_64;
        f32: cublasAsumEx cublasAsumEx_64;
    }
    dot (handle: Handle, n: I, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, result: Ptr<T>) {
        f32: cublasSdot_v2 cublasSdot_v2_64;
        f64: cublasDdot_v2 cublasDdot_v2_64;
        Complex32: cublasCdotu_v2 cublasCdotu_v2_64;
        Complex64: cublasZdotu_v2 cublasZdotu_v2_64;
        Complex32: cublasCdotc_v2 cublasCdotc_v2_64;
        Complex64: cublasZdotc_v2 cublasZdotc_v2_64;
    }
    dot_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, y: Ptr<u8>, ytype: DataType, incy: I,
            result: Ptr<u8>, rtype: DataType, execution: DataType) {
        f32: cublasDotEx cublasDotEx_64;
        f32: cublasDotcEx cublasDotcEx_64;
    }
    extreme (handle: Handle, n: I, x: Ptr<T>, incx: I, result: Ptr<I>) {
        f32: cublasIsamax_v2 cublasIsamax_v2_64;
        f64: cublasIdamax_v2 cublasIdamax_v2_64;
        Complex32: cublasIcamax_v2 cublasIcamax_v2_64;
        Complex64: cublasIzamax_v2 cublasIzamax_v2_64;
        f32: cublasIsamin_v2 cublasIsamin_v2_64;
        f64: cublasIdamin_v2 cublasIdamin_v2_64;
        Complex32: cublasIcamin_v2 cublasIcamin_v2_64;
        Complex64: cublasIzamin_v2 cublasIzamin_v2_64;
    }
    extreme_ex (handle: Handle, n: I, x: Ptr<u8>, xtype: DataType, incx: I, result: Ptr<I>) {
        f32: cublasIamaxEx cublasIamaxEx_64;
        f32: cublasIaminEx cublasIaminEx_64;
    }
}

/// Reduces vectors to one value of `bytes` bytes; empty ones give 0 as well.
fn reduce(
    context: &Context,
    name: &'static CStr,
    vectors: &[Vector],
    result: Ptr<u8>,
    rtype: DataType,
) -> Result<(), Error> {
    let bytes = rtype.bits().ok_or(Error::NotSupported)?.div_ceil(8);
    result.check()?;
    match plan(name, 2, vectors, &[])? {
        Some(operation) => context.run_to(operation, result, bytes),
        None if context.is_host_mode() => result.clear(bytes as usize),
        None => context.run_to(kernel(name, rtype, [0, bytes, 0]), result, bytes),
    }
}

fn norm<T: Element, R, I: Into<i64>>(handle: Handle, n: I, x: Ptr<T>, incx: I, result: Ptr<R>) -> Result<(), Error> {
    let real = if size_of::<R>() == 8 { DataType::R_64F } else { DataType::R_32F };
    norm_ex(handle, n, x.bytes(), T::KIND, incx, result.bytes(), real, T::KIND)
}

fn norm_ex<I: Into<i64>>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    result: Ptr<u8>,
    rtype: DataType,
    _execution: DataType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    reduce(context, c"cublas_norm", &[Vector::at(x, xtype, n, incx)], result, rtype)
}

fn dot<T: Element, I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
    result: Ptr<T>,
) -> Result<(), Error> {
    let kind = T::KIND;
    dot_ex(handle, n, x.bytes(), kind, incx, y.bytes(), kind, incy, result.bytes(), kind, kind)
}

fn dot_ex<I: Into<i64> + Copy>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    y: Ptr<u8>,
    ytype: DataType,
    incy: I,
    result: Ptr<u8>,
    rtype: DataType,
    _execution: DataType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let vectors = [Vector::at(x, xtype, n, incx), Vector::at(y, ytype, n, incy)];
    reduce(context, c"cublas_dot", &vectors, result, rtype)
}

fn extreme<T: Element, I: Plain + Into<i64> + From<bool>>(
    handle: Handle,
    n: I,
    x: Ptr<T>,
    incx: I,
    result: Ptr<I>,
) -> Result<(), Error> {
    extreme_ex(handle, n, x.bytes(), T::KIND, incx, result)
}

/// In device memory the index reads 0: outputs of operations are zeros.
fn extreme_ex<I: Plain + Into<i64> + From<bool>>(
    handle: Handle,
    n: I,
    x: Ptr<u8>,
    xtype: DataType,
    incx: I,
    result: Ptr<I>,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let index = if size_of::<I>() == 8 { DataType(24) } else { DataType::R_32I };
    reduce(context, c"cublas_extreme", &[Vector::at(x, xtype, n, incx)], result.bytes(), index)?;
    let is_empty = n.into() <= 0 || incx.into() <= 0;
    if context.is_host_mode() { result.store(I::from(!is_empty)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn null<T>() -> Ptr<T> {
        // SAFETY: null is never followed.
        unsafe { Ptr::from_raw(std::ptr::null_mut()) }
    }

    #[test]
    fn the_result_over_nothing_is_written_without_a_driver() {
        let handle = Handle::of(Context::create());
        let (mut product, mut index) = (5.0_f32, 9_i64);
        // SAFETY: both variables outlive the calls.
        let (dot_at, index_at) = unsafe { (Ptr::from_raw(&raw mut product), Ptr::from_raw(&raw mut index)) };
        assert_eq!(dot(handle, 0, null(), 1, null(), 1, dot_at), Ok(()));
        assert_eq!(extreme(handle, 0_i64, null::<f64>(), 1, index_at), Ok(()));
        assert_eq!((product, index), (0.0, 0));
    }

    #[test]
    fn a_missing_result_is_refused() {
        let handle = Handle::of(Context::create());
        assert_eq!(norm(handle, 0, null::<f32>(), 1, null::<f32>()), Err(Error::InvalidValue));
    }
}
