//! Eigenvalues of symmetric matrices by reduction to three diagonals.
//! Values and vectors read zero; infos read 0; the number of values found is as if all were.

use crate::check::{choice, info, matrix, narrow, size, values};
use crate::context::{Handle, context};
use crate::work::{TRIDIAGONAL_CALLS, Work};
use crate::{Cusolver, Error, flops};
use ghost_abi::{MaybeOut, Out};
use ghost_blas::{Complex32, Complex64, Element, Ptr, typed};

typed! { Cusolver;
    syevd_size (handle: Handle, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, w: Ptr<R>, elements: Out<i32>) {
        f32: cusolverDnSsyevd_bufferSize;
        f64: cusolverDnDsyevd_bufferSize;
        Complex32: cusolverDnCheevd_bufferSize;
        Complex64: cusolverDnZheevd_bufferSize;
    }
    syevd (handle: Handle, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, w: Ptr<R>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSsyevd;
        f64: cusolverDnDsyevd;
        Complex32: cusolverDnCheevd;
        Complex64: cusolverDnZheevd;
    }
    syevdx_size (handle: Handle, jobz: i32, range: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, vl: R, vu: R, il: i32,
                 iu: i32, found: MaybeOut<i32>, w: Ptr<R>, elements: Out<i32>) {
        f32: cusolverDnSsyevdx_bufferSize;
        f64: cusolverDnDsyevdx_bufferSize;
        Complex32: cusolverDnCheevdx_bufferSize;
        Complex64: cusolverDnZheevdx_bufferSize;
    }
    syevdx (handle: Handle, jobz: i32, range: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, vl: R, vu: R, il: i32,
            iu: i32, found: MaybeOut<i32>, w: Ptr<R>, work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSsyevdx;
        f64: cusolverDnDsyevdx;
        Complex32: cusolverDnCheevdx;
        Complex64: cusolverDnZheevdx;
    }
    sygvd_size (handle: Handle, itype: i32, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, b: Ptr<T>, ldb: i32,
                w: Ptr<R>, elements: Out<i32>) {
        f32: cusolverDnSsygvd_bufferSize;
        f64: cusolverDnDsygvd_bufferSize;
        Complex32: cusolverDnChegvd_bufferSize;
        Complex64: cusolverDnZhegvd_bufferSize;
    }
    sygvd (handle: Handle, itype: i32, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, b: Ptr<T>, ldb: i32,
           w: Ptr<R>, work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSsygvd;
        f64: cusolverDnDsygvd;
        Complex32: cusolverDnChegvd;
        Complex64: cusolverDnZhegvd;
    }
}

/// Elements of scratch: two squares with vectors, a panel without.
pub fn scratch(n: u64, vectors: bool) -> u64 {
    let panel = 64 * n + 1;
    if vectors { 2 * n.saturating_mul(n) + panel } else { panel }
}

/// The work of all values of an n x n matrix.
pub fn work(kind: ghost_blas::DataType, n: u64, vectors: bool) -> Work {
    let flops = [flops::sytrd(n), flops::syevd(n, vectors)];
    Work::two_sided(c"cusolver_syevd", kind, [n, n], [1, TRIDIAGONAL_CALLS], flops)
}

/// How many values a range selects: all, between two bounds (unknown: all), or by index.
pub fn selected(range: i32, n: u64, il: i64, iu: i64) -> Result<u64, Error> {
    match range {
        1001 | 1003 => Ok(n),
        1002 if n == 0 => Ok(0),
        1002 if il >= 1 && il <= iu && iu as u64 <= n => Ok((iu - il + 1) as u64),
        _ => Err(Error::InvalidValue),
    }
}

fn syevd_size<T: Element>(
    handle: Handle,
    jobz: i32,
    uplo: i32,
    n: i32,
    _a: Ptr<T>,
    lda: i32,
    _w: Ptr<T::Real>,
    elements: Out<i32>,
) -> Result<(), Error> {
    context(handle)?;
    choice(uplo)?;
    let vectors = choice(jobz)?;
    if lda < n {
        return Err(Error::InvalidValue);
    }
    Ok(elements.set(narrow(scratch(size(n)?, vectors)))?)
}

fn syevd<T: Element>(
    handle: Handle,
    jobz: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    w: Ptr<T::Real>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (vectors, n) = (choice(jobz)?, size(n)?);
    let a = matrix(T::KIND, a.address(), [n, n], lda)?;
    work(T::KIND, n, vectors).run(&context, &[a.range(), values(T::Real::KIND, w.address(), n), info(code, 1)])
}

fn syevdx_size<T: Element>(
    handle: Handle,
    jobz: i32,
    range: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _vl: T::Real,
    _vu: T::Real,
    il: i32,
    iu: i32,
    found: MaybeOut<i32>,
    w: Ptr<T::Real>,
    elements: Out<i32>,
) -> Result<(), Error> {
    let count = selected(range, size(n)?, il.into(), iu.into())?;
    found.set(narrow(count));
    syevd_size(handle, jobz, uplo, n, a, lda, w, elements)
}

fn syevdx<T: Element>(
    handle: Handle,
    jobz: i32,
    range: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _vl: T::Real,
    _vu: T::Real,
    il: i32,
    iu: i32,
    found: MaybeOut<i32>,
    w: Ptr<T::Real>,
    work: Ptr<T>,
    elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let count = selected(range, size(n)?, il.into(), iu.into())?;
    syevd(handle, jobz, uplo, n, a, lda, w, work, elements, code)?;
    found.set(narrow(count));
    Ok(())
}

fn sygvd_size<T: Element>(
    handle: Handle,
    itype: i32,
    jobz: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _b: Ptr<T>,
    ldb: i32,
    w: Ptr<T::Real>,
    elements: Out<i32>,
) -> Result<(), Error> {
    if !(1..=3).contains(&itype) || ldb < n {
        return Err(Error::InvalidValue);
    }
    syevd_size(handle, jobz, uplo, n, a, lda, w, elements)
}

/// A factorisation of B, two solves, and a standard problem.
fn sygvd<T: Element>(
    handle: Handle,
    itype: i32,
    jobz: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    b: Ptr<T>,
    ldb: i32,
    w: Ptr<T::Real>,
    scratch: Ptr<T>,
    elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    if !(1..=3).contains(&itype) {
        return Err(Error::InvalidValue);
    }
    let side = size(n)?;
    let factor = matrix(T::KIND, b.address(), [side, side], ldb)?;
    let total = flops::potrf(side) + flops::solve(side, side);
    Work::blocked(c"cusolver_sygst", T::KIND, [side, side], total).run(&context, &[factor.range()])?;
    syevd(handle, jobz, uplo, n, a, lda, w, scratch, elements, code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use ghost_abi::ask;
    use ghost_blas::Of;

    fn at<T>(address: usize) -> Ptr<T> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn vectors_need_squares_of_scratch() {
        let handle = Of::create(Context::default());
        let of = |jobz| ask(|out| syevd_size::<f64>(handle, jobz, 0, 10, at(0), 10, at(0), out));
        assert_eq!((of(0), of(1), of(2)), (Ok(641), Ok(841), Err(Error::InvalidValue)));
    }

    #[test]
    fn a_range_selects_by_index_or_all() {
        assert_eq!((selected(1001, 8, 0, 0), selected(1002, 8, 2, 4)), (Ok(8), Ok(3)));
        assert_eq!(
            (selected(1002, 8, 0, 4), selected(5, 8, 1, 1)),
            (Err(Error::InvalidValue), Err(Error::InvalidValue))
        );
    }
}
