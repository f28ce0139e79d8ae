//! Solves with factors that are there already.
//! Solutions read zero; infos read 0.

use crate::check::{choice, info, matrix, operation, size};
use crate::context::{Handle, context};
use crate::work::Work;
use crate::{Cusolver, Error, flops};
use ghost_blas::{Complex32, Complex64, Element, Matrix, Ptr, first_pointers, typed};

typed! { Cusolver;
    potrs (handle: Handle, uplo: i32, n: i32, nrhs: i32, a: Ptr<T>, lda: i32, b: Ptr<T>, ldb: i32, info: Ptr<i32>) {
        f32: cusolverDnSpotrs;
        f64: cusolverDnDpotrs;
        Complex32: cusolverDnCpotrs;
        Complex64: cusolverDnZpotrs;
    }
    getrs (handle: Handle, trans: i32, n: i32, nrhs: i32, a: Ptr<T>, lda: i32, pivots: Ptr<i32>, b: Ptr<T>, ldb: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSgetrs;
        f64: cusolverDnDgetrs;
        Complex32: cusolverDnCgetrs;
        Complex64: cusolverDnZgetrs;
    }
    potrs_batched (handle: Handle, uplo: i32, n: i32, nrhs: i32, a: Ptr<*const T>, lda: i32, b: Ptr<*const T>,
                   ldb: i32, info: Ptr<i32>, batch: i32) {
        f32: cusolverDnSpotrsBatched;
        f64: cusolverDnDpotrsBatched;
        Complex32: cusolverDnCpotrsBatched;
        Complex64: cusolverDnZpotrsBatched;
    }
}

fn potrs<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    nrhs: i32,
    a: Ptr<T>,
    lda: i32,
    b: Ptr<T>,
    ldb: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (n, nrhs) = (size(n)?, size(nrhs)?);
    matrix(T::KIND, a.address(), [n, n], lda)?;
    let b = matrix(T::KIND, b.address(), [n, nrhs], ldb)?;
    let work = Work::blocked(c"cusolver_potrs", T::KIND, [n, n.max(nrhs)], flops::solve(n, nrhs));
    work.run(&context, &[b.range(), info(code, 1)])
}

fn getrs<T: Element>(
    handle: Handle,
    trans: i32,
    n: i32,
    nrhs: i32,
    a: Ptr<T>,
    lda: i32,
    _pivots: Ptr<i32>,
    b: Ptr<T>,
    ldb: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    operation(trans)?;
    let (n, nrhs) = (size(n)?, size(nrhs)?);
    matrix(T::KIND, a.address(), [n, n], lda)?;
    let b = matrix(T::KIND, b.address(), [n, nrhs], ldb)?;
    let work = Work::blocked(c"cusolver_getrs", T::KIND, [n, n.max(nrhs)], flops::solve(n, nrhs));
    work.run(&context, &[b.range(), info(code, 1)])
}

/// One right side a matrix, as the library allows; the info is one number.
fn potrs_batched<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    nrhs: i32,
    a: Ptr<*const T>,
    lda: i32,
    b: Ptr<*const T>,
    ldb: i32,
    code: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (n, nrhs, batch) = (size(n)?, size(nrhs)?, size(batch)?);
    if nrhs != 1 {
        return Err(Error::InvalidValue);
    }
    matrix(T::KIND, a.address(), [n, n], lda)?;
    let shape = matrix(T::KIND, b.address(), [n, nrhs], ldb)?;
    let [first, second, third, fourth] =
        first_pointers(b.address(), batch).map(|address| Matrix { address, ..shape }.range());
    let work = Work::blocked(c"cusolver_potrs_batched", T::KIND, [n, n], flops::solve(n, nrhs)).times(batch);
    work.run(&context, &[info(code, 1), first, second, third, fourth])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use ghost_blas::Of;

    fn at<T>(address: usize) -> Ptr<T> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn sides_are_checked_like_matrices() {
        let handle = Of::create(Context::default());
        let run = |n, nrhs, ldb| getrs::<f32>(handle, 0, n, nrhs, at(64), n, at(64), at(64), ldb, at(0));
        assert_eq!((run(4, 2, 3), run(4, -1, 4)), (Err(Error::InvalidValue), Err(Error::InvalidValue)));
        assert_eq!(getrs::<f32>(handle, 3, 4, 1, at(64), 4, at(64), at(64), 4, at(0)), Err(Error::InvalidValue));
        let batched = potrs_batched::<f32>(handle, 0, 4, 2, at(64), 4, at(64), 4, at(0), 1);
        assert_eq!(batched, Err(Error::InvalidValue));
    }
}
