//! Factorisations of square and rectangular matrices: Cholesky, LU, Bunch-Kaufman, and inverses made from them.
//! Infos read 0 (success); factors read zero; pivots exchange nothing.

use crate::check::{choice, info, matrix, narrow, size};
use crate::context::{Handle, context};
use crate::work::{CHOLESKY_COLUMNS, Work};
use crate::{Cusolver, Error, flops};
use ghost_abi::Out;
use ghost_blas::{Complex32, Complex64, Element, Ptr, first_pointers, typed, write_sequence};

typed! { Cusolver;
    triangle_size (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, elements: Out<i32>) {
        f32: cusolverDnSpotrf_bufferSize;
        f64: cusolverDnDpotrf_bufferSize;
        Complex32: cusolverDnCpotrf_bufferSize;
        Complex64: cusolverDnZpotrf_bufferSize;
        f32: cusolverDnSpotri_bufferSize;
        f64: cusolverDnDpotri_bufferSize;
        Complex32: cusolverDnCpotri_bufferSize;
        Complex64: cusolverDnZpotri_bufferSize;
        f32: cusolverDnSlauum_bufferSize;
        f64: cusolverDnDlauum_bufferSize;
        Complex32: cusolverDnClauum_bufferSize;
        Complex64: cusolverDnZlauum_bufferSize;
    }
    potrf (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSpotrf;
        f64: cusolverDnDpotrf;
        Complex32: cusolverDnCpotrf;
        Complex64: cusolverDnZpotrf;
    }
    potri (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSpotri;
        f64: cusolverDnDpotri;
        Complex32: cusolverDnCpotri;
        Complex64: cusolverDnZpotri;
        f32: cusolverDnSlauum;
        f64: cusolverDnDlauum;
        Complex32: cusolverDnClauum;
        Complex64: cusolverDnZlauum;
    }
    potrf_batched (handle: Handle, uplo: i32, n: i32, a: Ptr<*const T>, lda: i32, info: Ptr<i32>, batch: i32) {
        f32: cusolverDnSpotrfBatched;
        f64: cusolverDnDpotrfBatched;
        Complex32: cusolverDnCpotrfBatched;
        Complex64: cusolverDnZpotrfBatched;
    }
    getrf_size (handle: Handle, m: i32, n: i32, a: Ptr<T>, lda: i32, elements: Out<i32>) {
        f32: cusolverDnSgetrf_bufferSize;
        f64: cusolverDnDgetrf_bufferSize;
        Complex32: cusolverDnCgetrf_bufferSize;
        Complex64: cusolverDnZgetrf_bufferSize;
    }
    getrf (handle: Handle, m: i32, n: i32, a: Ptr<T>, lda: i32, work: Ptr<T>, pivots: Ptr<i32>, info: Ptr<i32>) {
        f32: cusolverDnSgetrf;
        f64: cusolverDnDgetrf;
        Complex32: cusolverDnCgetrf;
        Complex64: cusolverDnZgetrf;
    }
    laswp (handle: Handle, n: i32, a: Ptr<T>, lda: i32, first: i32, last: i32, pivots: Ptr<i32>, step: i32) {
        f32: cusolverDnSlaswp;
        f64: cusolverDnDlaswp;
        Complex32: cusolverDnClaswp;
        Complex64: cusolverDnZlaswp;
    }
    sytrf_size (handle: Handle, n: i32, a: Ptr<T>, lda: i32, elements: Out<i32>) {
        f32: cusolverDnSsytrf_bufferSize;
        f64: cusolverDnDsytrf_bufferSize;
        Complex32: cusolverDnCsytrf_bufferSize;
        Complex64: cusolverDnZsytrf_bufferSize;
    }
    sytrf (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, pivots: Ptr<i32>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSsytrf;
        f64: cusolverDnDsytrf;
        Complex32: cusolverDnCsytrf;
        Complex64: cusolverDnZsytrf;
    }
    sytri_size (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, pivots: Ptr<i32>, elements: Out<i32>) {
        f32: cusolverDnSsytri_bufferSize;
        f64: cusolverDnDsytri_bufferSize;
        Complex32: cusolverDnCsytri_bufferSize;
        Complex64: cusolverDnZsytri_bufferSize;
    }
    sytri (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, pivots: Ptr<i32>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSsytri;
        f64: cusolverDnDsytri;
        Complex32: cusolverDnCsytri;
        Complex64: cusolverDnZsytri;
    }
}

/// Columns of scratch a blocked routine asks for.
const PANEL: u64 = 64;

fn square<T: Element>(a: Ptr<T>, n: i32, lda: i32) -> Result<(u64, ghost_blas::Matrix), Error> {
    let n = size(n)?;
    Ok((n, matrix(T::KIND, a.address(), [n, n], lda)?))
}

fn triangle_size<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    elements: Out<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    sytrf_size(handle, n, a, lda, elements)
}

/// The matrix itself is not looked at: callers may ask before they have one.
fn sytrf_size<T: Element>(handle: Handle, n: i32, _a: Ptr<T>, lda: i32, elements: Out<i32>) -> Result<(), Error> {
    context(handle)?;
    let n = size(n)?;
    if size(lda)? < n {
        return Err(Error::InvalidValue);
    }
    Ok(elements.set(narrow((n * PANEL).max(1)))?)
}

fn sytri_size<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _pivots: Ptr<i32>,
    elements: Out<i32>,
) -> Result<(), Error> {
    triangle_size(handle, uplo, n, a, lda, elements)
}

fn potrf<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (n, a) = square(a, n, lda)?;
    let work = Work::blocked(c"cusolver_potrf", T::KIND, [n, n], flops::potrf(n)).waiting_every(CHOLESKY_COLUMNS);
    work.run(&context, &[a.range(), info(code, 1)])
}

/// An inverse, or a product, made of a triangle.
fn potri<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (n, a) = square(a, n, lda)?;
    let work = Work::blocked(c"cusolver_potri", T::KIND, [n, n], flops::potri(n));
    work.run(&context, &[a.range(), info(code, 1)])
}

fn potrf_batched<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<*const T>,
    lda: i32,
    code: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (n, batch) = (size(n)?, size(batch)?);
    let shape = matrix(T::KIND, a.address(), [n, n], lda)?;
    let matrices = first_pointers(a.address(), batch).map(|address| ghost_blas::Matrix { address, ..shape }.range());
    let work = Work::blocked(c"cusolver_potrf_batched", T::KIND, [n, n], flops::potrf(n))
        .waiting_every(CHOLESKY_COLUMNS)
        .times(batch);
    let [first, second, third, fourth] = matrices;
    work.run(&context, &[info(code, batch), first, second, third, fourth])
}

fn getrf_size<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    _a: Ptr<T>,
    lda: i32,
    elements: Out<i32>,
) -> Result<(), Error> {
    context(handle)?;
    let (m, n) = (size(m)?, size(n)?);
    if size(lda)? < m {
        return Err(Error::InvalidValue);
    }
    Ok(elements.set(narrow(((m + n) * PANEL).max(1)))?)
}

/// Without pivots the matrix is factorised as it stands.
fn getrf<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _work: Ptr<T>,
    pivots: Ptr<i32>,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let (m, n) = (size(m)?, size(n)?);
    let a = matrix(T::KIND, a.address(), [m, n], lda)?;
    let work = Work::blocked(c"cusolver_getrf", T::KIND, [m, n], flops::getrf(m, n)).waiting_every(1);
    work.run(&context, &[a.range(), info(code, 1)])?;
    write_sequence(pivots.address(), 1, m.min(n), size_of::<i32>());
    Ok(())
}

fn laswp<T: Element>(
    handle: Handle,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    first: i32,
    last: i32,
    pivots: Ptr<i32>,
    _step: i32,
) -> Result<(), Error> {
    let context = context(handle)?;
    if first < 1 || last < first || pivots.is_null() {
        return Err(Error::InvalidValue);
    }
    let a = matrix(T::KIND, a.address(), [size(lda)?, size(n)?], lda)?;
    Work::blocked(c"cusolver_laswp", T::KIND, [size(last - first + 1)?, a.major], 0).run(&context, &[a.range()])
}

fn sytrf<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    pivots: Ptr<i32>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let (n, a) = square(a, n, lda)?;
    let work = Work::blocked(c"cusolver_sytrf", T::KIND, [n, n], flops::sytrf(n)).waiting_every(1);
    work.run(&context, &[a.range(), info(code, 1)])?;
    write_sequence(pivots.address(), 1, n, size_of::<i32>());
    Ok(())
}

fn sytri<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _pivots: Ptr<i32>,
    work: Ptr<T>,
    elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    potri(handle, uplo, n, a, lda, work, elements, code)
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
    fn every_size_is_written_and_positive() {
        let handle = Of::create(Context::default());
        assert_eq!(ask(|out| triangle_size::<f32>(handle, 0, 100, at(0), 100, out)), Ok(6400));
        assert_eq!(ask(|out| getrf_size::<f64>(handle, 10, 20, at(0), 10, out)), Ok(1920));
        assert_eq!(ask(|out| sytrf_size::<f64>(handle, 0, at(0), 1, out)), Ok(1));
        assert_eq!(ask(|out| triangle_size::<f32>(handle, 3, 100, at(0), 100, out)), Err(Error::InvalidValue));
    }

    #[test]
    fn bad_handles_and_shapes_are_refused_and_nothing_to_do_is_success() {
        let handle = Of::create(Context::default());
        let run = |handle, n, address, lda| potrf::<f32>(handle, 1, n, at(address), lda, at(0), 0, at(0));
        assert_eq!(run(Of::null(), 4, 64, 4), Err(Error::NotInitialized));
        assert_eq!(
            (run(handle, -1, 64, 4), run(handle, 4, 64, 3)),
            (Err(Error::InvalidValue), Err(Error::InvalidValue))
        );
        assert_eq!(run(handle, 4, 0, 4), Err(Error::InvalidValue));
        assert_eq!(run(handle, 0, 0, 1), Ok(()));
    }
}
