//! Factorisations by reflectors: QR, reductions to two and three diagonals, and products with their reflectors.
//! Reflectors and factors read zero; infos read 0.

use crate::check::{choice, info, matrix, narrow, operation, real, size, values};
use crate::context::{Handle, context};
use crate::work::{BIDIAGONAL_CALLS, TRIDIAGONAL_CALLS, Work};
use crate::{Cusolver, Error, flops};
use ghost_abi::Out;
use ghost_blas::{Complex32, Complex64, Element, Ptr, typed};

typed! { Cusolver;
    geqrf_size (handle: Handle, m: i32, n: i32, a: Ptr<T>, lda: i32, elements: Out<i32>) {
        f32: cusolverDnSgeqrf_bufferSize;
        f64: cusolverDnDgeqrf_bufferSize;
        Complex32: cusolverDnCgeqrf_bufferSize;
        Complex64: cusolverDnZgeqrf_bufferSize;
    }
    geqrf (handle: Handle, m: i32, n: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSgeqrf;
        f64: cusolverDnDgeqrf;
        Complex32: cusolverDnCgeqrf;
        Complex64: cusolverDnZgeqrf;
    }
    orgqr_size (handle: Handle, m: i32, n: i32, k: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, elements: Out<i32>) {
        f32: cusolverDnSorgqr_bufferSize;
        f64: cusolverDnDorgqr_bufferSize;
        Complex32: cusolverDnCungqr_bufferSize;
        Complex64: cusolverDnZungqr_bufferSize;
    }
    orgqr (handle: Handle, m: i32, n: i32, k: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSorgqr;
        f64: cusolverDnDorgqr;
        Complex32: cusolverDnCungqr;
        Complex64: cusolverDnZungqr;
    }
    ormqr_size (handle: Handle, side: i32, trans: i32, m: i32, n: i32, k: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>,
                c: Ptr<T>, ldc: i32, elements: Out<i32>) {
        f32: cusolverDnSormqr_bufferSize;
        f64: cusolverDnDormqr_bufferSize;
        Complex32: cusolverDnCunmqr_bufferSize;
        Complex64: cusolverDnZunmqr_bufferSize;
    }
    ormqr (handle: Handle, side: i32, trans: i32, m: i32, n: i32, k: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, c: Ptr<T>,
           ldc: i32, work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSormqr;
        f64: cusolverDnDormqr;
        Complex32: cusolverDnCunmqr;
        Complex64: cusolverDnZunmqr;
    }
    gebrd_size (handle: Handle, m: i32, n: i32, elements: Out<i32>) {
        f32: cusolverDnSgebrd_bufferSize;
        f64: cusolverDnDgebrd_bufferSize;
        Complex32: cusolverDnCgebrd_bufferSize;
        Complex64: cusolverDnZgebrd_bufferSize;
    }
    gebrd (handle: Handle, m: i32, n: i32, a: Ptr<T>, lda: i32, d: Ptr<R>, e: Ptr<R>, tauq: Ptr<T>, taup: Ptr<T>,
           work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSgebrd;
        f64: cusolverDnDgebrd;
        Complex32: cusolverDnCgebrd;
        Complex64: cusolverDnZgebrd;
    }
    orgbr_size (handle: Handle, side: i32, m: i32, n: i32, k: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>,
                elements: Out<i32>) {
        f32: cusolverDnSorgbr_bufferSize;
        f64: cusolverDnDorgbr_bufferSize;
        Complex32: cusolverDnCungbr_bufferSize;
        Complex64: cusolverDnZungbr_bufferSize;
    }
    orgbr (handle: Handle, side: i32, m: i32, n: i32, k: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, work: Ptr<T>,
           elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSorgbr;
        f64: cusolverDnDorgbr;
        Complex32: cusolverDnCungbr;
        Complex64: cusolverDnZungbr;
    }
    sytrd_size (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, d: Ptr<R>, e: Ptr<R>, tau: Ptr<T>,
                elements: Out<i32>) {
        f32: cusolverDnSsytrd_bufferSize;
        f64: cusolverDnDsytrd_bufferSize;
        Complex32: cusolverDnChetrd_bufferSize;
        Complex64: cusolverDnZhetrd_bufferSize;
    }
    sytrd (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, d: Ptr<R>, e: Ptr<R>, tau: Ptr<T>, work: Ptr<T>,
           elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSsytrd;
        f64: cusolverDnDsytrd;
        Complex32: cusolverDnChetrd;
        Complex64: cusolverDnZhetrd;
    }
    orgtr_size (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, elements: Out<i32>) {
        f32: cusolverDnSorgtr_bufferSize;
        f64: cusolverDnDorgtr_bufferSize;
        Complex32: cusolverDnCungtr_bufferSize;
        Complex64: cusolverDnZungtr_bufferSize;
    }
    orgtr (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>) {
        f32: cusolverDnSorgtr;
        f64: cusolverDnDorgtr;
        Complex32: cusolverDnCungtr;
        Complex64: cusolverDnZungtr;
    }
    ormtr_size (handle: Handle, side: i32, uplo: i32, trans: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>,
                c: Ptr<T>, ldc: i32, elements: Out<i32>) {
        f32: cusolverDnSormtr_bufferSize;
        f64: cusolverDnDormtr_bufferSize;
        Complex32: cusolverDnCunmtr_bufferSize;
        Complex64: cusolverDnZunmtr_bufferSize;
    }
    ormtr (handle: Handle, side: i32, uplo: i32, trans: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, tau: Ptr<T>,
           c: Ptr<T>, ldc: i32, work: Ptr<T>, elements: i32, info: Ptr<i32>) {
        f32: cusolverDnSormtr;
        f64: cusolverDnDormtr;
        Complex32: cusolverDnCunmtr;
        Complex64: cusolverDnZunmtr;
    }
}

/// Columns of scratch a blocked routine asks for.
const PANEL: u64 = 64;

/// Writes the scratch of a routine over m x n: a panel of the longer side and its triangle.
fn scratch(handle: Handle, [m, n]: [i32; 2], elements: &Out<i32>) -> Result<(), Error> {
    context(handle)?;
    let longer = size(m)?.max(size(n)?);
    Ok(elements.set(narrow(longer * PANEL + PANEL * PANEL))?)
}

fn geqrf_size<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    _a: Ptr<T>,
    lda: i32,
    elements: Out<i32>,
) -> Result<(), Error> {
    if lda < m {
        return Err(Error::InvalidValue);
    }
    scratch(handle, [m, n], &elements)
}

fn geqrf<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    tau: Ptr<T>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let (m, n) = (size(m)?, size(n)?);
    let a = matrix(T::KIND, a.address(), [m, n], lda)?;
    let work = Work::blocked(c"cusolver_geqrf", T::KIND, [m, n], flops::geqrf(m, n)).waiting_every(1);
    work.run(&context, &[a.range(), values(T::KIND, tau.address(), m.min(n)), info(code, 1)])
}

fn orgqr_size<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    k: i32,
    a: Ptr<T>,
    lda: i32,
    _tau: Ptr<T>,
    elements: Out<i32>,
) -> Result<(), Error> {
    reflectors(m, n, k)?;
    geqrf_size(handle, m, n, a, lda, elements)
}

/// A Q of k reflectors has at least as many columns and no more than rows.
fn reflectors(m: i32, n: i32, k: i32) -> Result<[u64; 3], Error> {
    let sizes = [size(m)?, size(n)?, size(k)?];
    if sizes[1] > sizes[0] || sizes[2] > sizes[1] { Err(Error::InvalidValue) } else { Ok(sizes) }
}

fn orgqr<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    k: i32,
    a: Ptr<T>,
    lda: i32,
    _tau: Ptr<T>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let [m, n, k] = reflectors(m, n, k)?;
    let a = matrix(T::KIND, a.address(), [m, n], lda)?;
    let work = Work::blocked(c"cusolver_orgqr", T::KIND, [m, n], flops::orgqr(m, n, k)).waiting_every(1);
    work.run(&context, &[a.range(), info(code, 1)])
}

fn ormqr_size<T: Element>(
    handle: Handle,
    side: i32,
    trans: i32,
    m: i32,
    n: i32,
    _k: i32,
    _a: Ptr<T>,
    _lda: i32,
    _tau: Ptr<T>,
    _c: Ptr<T>,
    _ldc: i32,
    elements: Out<i32>,
) -> Result<(), Error> {
    choice(side)?;
    operation(trans)?;
    scratch(handle, [m, n], &elements)
}

fn ormqr<T: Element>(
    handle: Handle,
    side: i32,
    trans: i32,
    m: i32,
    n: i32,
    k: i32,
    a: Ptr<T>,
    lda: i32,
    _tau: Ptr<T>,
    c: Ptr<T>,
    ldc: i32,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let right = choice(side)?;
    operation(trans)?;
    let (m, n, k) = (size(m)?, size(n)?, size(k)?);
    let (reflected, others) = if right { (n, m) } else { (m, n) };
    if k > reflected {
        return Err(Error::InvalidValue);
    }
    matrix(T::KIND, a.address(), [reflected, k], lda)?;
    let c = matrix(T::KIND, c.address(), [m, n], ldc)?;
    let work = Work::blocked(c"cusolver_ormqr", T::KIND, [m, n], flops::ormqr(reflected, others, k));
    work.run(&context, &[c.range(), info(code, 1)])
}

fn gebrd_size(handle: Handle, m: i32, n: i32, elements: Out<i32>) -> Result<(), Error> {
    scratch(handle, [m, n], &elements)
}

fn gebrd<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    d: Ptr<T::Real>,
    e: Ptr<T::Real>,
    tauq: Ptr<T>,
    taup: Ptr<T>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let (m, n) = (size(m)?, size(n)?);
    let short = m.min(n);
    let a = matrix(T::KIND, a.address(), [m, n], lda)?;
    let of = |kind, address, count| values(kind, address, count);
    let (diagonal, beside) = (of(T::Real::KIND, d.address(), short), of(T::Real::KIND, e.address(), short.max(1) - 1));
    let taus = [of(T::KIND, tauq.address(), short), of(T::KIND, taup.address(), short)];
    let total = flops::gebrd(m, n);
    let work = Work::two_sided(c"cusolver_gebrd", T::KIND, [m, n], [2, BIDIAGONAL_CALLS], [total, total]);
    work.run(&context, &[a.range(), diagonal, beside, info(code, 1), taus[0], taus[1]])
}

fn orgbr_size<T: Element>(
    handle: Handle,
    side: i32,
    m: i32,
    n: i32,
    _k: i32,
    _a: Ptr<T>,
    _lda: i32,
    _tau: Ptr<T>,
    elements: Out<i32>,
) -> Result<(), Error> {
    choice(side)?;
    scratch(handle, [m, n], &elements)
}

fn orgbr<T: Element>(
    handle: Handle,
    side: i32,
    m: i32,
    n: i32,
    k: i32,
    a: Ptr<T>,
    lda: i32,
    _tau: Ptr<T>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(side)?;
    let (m, n, k) = (size(m)?, size(n)?, size(k)?);
    let a = matrix(T::KIND, a.address(), [m, n], lda)?;
    let work = Work::blocked(c"cusolver_orgbr", T::KIND, [m, n], flops::orgqr(m, n, k.min(m).min(n)));
    work.run(&context, &[a.range(), info(code, 1)])
}

fn sytrd_size<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    _a: Ptr<T>,
    _lda: i32,
    _d: Ptr<T::Real>,
    _e: Ptr<T::Real>,
    _tau: Ptr<T>,
    elements: Out<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    scratch(handle, [n, n], &elements)
}

fn sytrd<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    d: Ptr<T::Real>,
    e: Ptr<T::Real>,
    tau: Ptr<T>,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo)?;
    let n = size(n)?;
    let a = matrix(T::KIND, a.address(), [n, n], lda)?;
    let beside = n.max(1) - 1;
    let diagonals = [values(real(T::KIND), d.address(), n), values(real(T::KIND), e.address(), beside)];
    let total = flops::sytrd(n);
    let work = Work::two_sided(c"cusolver_sytrd", T::KIND, [n, n], [1, TRIDIAGONAL_CALLS], [total, total]);
    let tau = values(T::KIND, tau.address(), beside);
    work.run(&context, &[a.range(), diagonals[0], diagonals[1], info(code, 1), tau])
}

fn orgtr_size<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    _a: Ptr<T>,
    _lda: i32,
    _tau: Ptr<T>,
    elements: Out<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    scratch(handle, [n, n], &elements)
}

fn orgtr<T: Element>(
    handle: Handle,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    tau: Ptr<T>,
    work: Ptr<T>,
    elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    orgqr(handle, n, n, n, a, lda, tau, work, elements, code)
}

fn ormtr_size<T: Element>(
    handle: Handle,
    side: i32,
    uplo: i32,
    trans: i32,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    tau: Ptr<T>,
    c: Ptr<T>,
    ldc: i32,
    elements: Out<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    ormqr_size(handle, side, trans, m, n, 0, a, lda, tau, c, ldc, elements)
}

fn ormtr<T: Element>(
    handle: Handle,
    side: i32,
    uplo: i32,
    trans: i32,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    tau: Ptr<T>,
    c: Ptr<T>,
    ldc: i32,
    work: Ptr<T>,
    elements: i32,
    code: Ptr<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    let k = if choice(side)? { n } else { m };
    ormqr(handle, side, trans, m, n, k, a, lda, tau, c, ldc, work, elements, code)
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
    fn scratch_grows_with_the_longer_side() {
        let handle = Of::create(Context::default());
        assert_eq!(ask(|out| geqrf_size::<f32>(handle, 100, 10, at(0), 100, out)), Ok(6400 + 4096));
        assert_eq!(ask(|out| geqrf_size::<f32>(handle, 100, 10, at(0), 99, out)), Err(Error::InvalidValue));
        assert_eq!(ask(|out| gebrd_size(Of::null(), 1, 1, out)), Err(Error::NotInitialized));
    }

    #[test]
    fn more_reflectors_than_columns_are_refused() {
        let handle = Of::create(Context::default());
        let run = |n, k| orgqr::<f32>(handle, 8, n, k, at(64), 8, at(64), at(0), 0, at(0));
        assert_eq!((run(4, 5), run(9, 4)), (Err(Error::InvalidValue), Err(Error::InvalidValue)));
        assert_eq!(run(0, 0), Ok(()));
    }
}
