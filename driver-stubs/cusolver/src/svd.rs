//! Singular values by reduction to two diagonals, and approximately through the Gram matrix.
//! Results read zero; infos read 0.

use crate::check::{Job, choice, info, job, matrix, narrow, real, size, values};
use crate::context::{Context, Handle, context};
use crate::work::{BIDIAGONAL_CALLS, Work};
use crate::{Cusolver, Error, flops};
use ghost_abi::{Out, OutList};
use ghost_blas::{Complex32, Complex64, Element, Matrix, Ptr, typed};
use ghost_table::Range;

typed! { Cusolver;
    gesvd_size (handle: Handle, m: i32, n: i32, elements: Out<i32>) {
        f32: cusolverDnSgesvd_bufferSize;
        f64: cusolverDnDgesvd_bufferSize;
        Complex32: cusolverDnCgesvd_bufferSize;
        Complex64: cusolverDnZgesvd_bufferSize;
    }
    gesvd (handle: Handle, jobu: i8, jobvt: i8, m: i32, n: i32, a: Ptr<T>, lda: i32, s: Ptr<R>, u: Ptr<T>, ldu: i32,
           vt: Ptr<T>, ldvt: i32, work: Ptr<T>, elements: i32, rwork: Ptr<R>, info: Ptr<i32>) {
        f32: cusolverDnSgesvd;
        f64: cusolverDnDgesvd;
        Complex32: cusolverDnCgesvd;
        Complex64: cusolverDnZgesvd;
    }
    gesvda_size (handle: Handle, jobz: i32, rank: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, stride_a: i64, s: Ptr<R>,
                 stride_s: i64, u: Ptr<T>, ldu: i32, stride_u: i64, v: Ptr<T>, ldv: i32, stride_v: i64,
                 elements: Out<i32>, batch: i32) {
        f32: cusolverDnSgesvdaStridedBatched_bufferSize;
        f64: cusolverDnDgesvdaStridedBatched_bufferSize;
        Complex32: cusolverDnCgesvdaStridedBatched_bufferSize;
        Complex64: cusolverDnZgesvdaStridedBatched_bufferSize;
    }
    gesvda (handle: Handle, jobz: i32, rank: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, stride_a: i64, s: Ptr<R>,
            stride_s: i64, u: Ptr<T>, ldu: i32, stride_u: i64, v: Ptr<T>, ldv: i32, stride_v: i64, work: Ptr<T>,
            elements: i32, info: Ptr<i32>, residuals: OutList<f64>, batch: i32) {
        f32: cusolverDnSgesvdaStridedBatched;
        f64: cusolverDnDgesvdaStridedBatched;
        Complex32: cusolverDnCgesvdaStridedBatched;
        Complex64: cusolverDnZgesvdaStridedBatched;
    }
}

fn gesvd_size(handle: Handle, m: i32, n: i32, elements: Out<i32>) -> Result<(), Error> {
    context(handle)?;
    Ok(elements.set(narrow(scratch(size(m)?, size(n)?)))?)
}

/// Elements of scratch: a square of the shorter side and panels.
pub fn scratch(m: u64, n: u64) -> u64 {
    let short = m.min(n);
    short.saturating_mul(short).saturating_add(64 * (m + n)).max(1)
}

/// A singular value problem with its jobs.
#[derive(Debug)]
pub struct Problem {
    pub a: Matrix,
    pub s: u64,
    /// Job, address and leading dimension of U and of V.
    pub u: (Job, u64, i64),
    pub v: (Job, u64, i64),
}

impl Problem {
    /// Runs it; `info` says success.
    pub fn run(&self, context: &Context, code: Ptr<i32>) -> Result<(), Error> {
        let Matrix { minor: m, major: n, kind, .. } = self.a;
        let short = m.min(n);
        let vectors = self.u.0 != Job::None || self.v.0 != Job::None;
        let u = side(&self.a, self.u, |columns| [m, columns], m)?;
        let v = side(&self.a, self.v, |rows| [rows, n], n)?;
        let flops = [flops::gebrd(m, n), flops::gesvd(m, n, vectors)];
        let work = Work::two_sided(c"cusolver_gesvd", kind, [m.max(n), short], [2, BIDIAGONAL_CALLS], flops);
        work.run(context, &[values(real(kind), self.s, short), u, v, info(code, 1), self.a.range()])
    }
}

/// Where a side's vectors go: all of them, or as many as there are values.
fn side(
    a: &Matrix,
    (job, address, ld): (Job, u64, i64),
    shape: impl Fn(u64) -> [u64; 2],
    all: u64,
) -> Result<Option<Range>, Error> {
    let count = match job {
        Job::All => all,
        Job::Economic => a.minor.min(a.major),
        Job::Overwrite | Job::None => return Ok(None),
    };
    Ok(matrix(a.kind, address, shape(count), ld)?.range())
}

fn gesvd<T: Element>(
    handle: Handle,
    jobu: i8,
    jobvt: i8,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    s: Ptr<T::Real>,
    u: Ptr<T>,
    ldu: i32,
    vt: Ptr<T>,
    ldvt: i32,
    _work: Ptr<T>,
    _elements: i32,
    _rwork: Ptr<T::Real>,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let a = matrix(T::KIND, a.address(), [size(m)?, size(n)?], lda)?;
    // The library has no code for wide matrices.
    if m < n {
        return Err(Error::InvalidValue);
    }
    let (u, v) = ((job(jobu)?, u.address(), ldu.into()), (job(jobvt)?, vt.address(), ldvt.into()));
    Problem { a, s: s.address(), u, v }.run(&context, code)
}

fn gesvda_size<T: Element>(
    handle: Handle,
    jobz: i32,
    rank: i32,
    m: i32,
    n: i32,
    _a: Ptr<T>,
    lda: i32,
    _stride_a: i64,
    _s: Ptr<T::Real>,
    _stride_s: i64,
    _u: Ptr<T>,
    _ldu: i32,
    _stride_u: i64,
    _v: Ptr<T>,
    _ldv: i32,
    _stride_v: i64,
    elements: Out<i32>,
    batch: i32,
) -> Result<(), Error> {
    context(handle)?;
    choice(jobz)?;
    let (n, batch) = (size(n)?, size(batch)?);
    if lda < m || size(rank)? > n {
        return Err(Error::InvalidValue);
    }
    let one = n.saturating_mul(2 * n) + size(m)?;
    Ok(elements.set(narrow(one.saturating_mul(batch).max(1)))?)
}

/// Residuals are host memory and those of an exact result.
fn gesvda<T: Element>(
    handle: Handle,
    jobz: i32,
    rank: i32,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    _stride_a: i64,
    s: Ptr<T::Real>,
    stride_s: i64,
    u: Ptr<T>,
    ldu: i32,
    stride_u: i64,
    v: Ptr<T>,
    ldv: i32,
    stride_v: i64,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
    residuals: OutList<f64>,
    batch: i32,
) -> Result<(), Error> {
    let context = context(handle)?;
    let vectors = choice(jobz)?;
    let (m, n, rank, batch) = (size(m)?, size(n)?, size(rank)?, size(batch)?);
    matrix(T::KIND, a.address(), [m, n], lda)?;
    if rank > n {
        return Err(Error::InvalidValue);
    }
    let strided = |matrix: Matrix, stride| Matrix { batch, stride, ..matrix }.range();
    let side = |address, rows, ld: i32, stride| -> Result<_, Error> {
        if !vectors {
            return Ok(None);
        }
        Ok(strided(matrix(T::KIND, address, [rows, rank], ld)?, stride))
    };
    let (u, v) = (side(u.address(), m, ldu, stride_u)?, side(v.address(), n, ldv, stride_v)?);
    let singular = matrix(T::Real::KIND, s.address(), [rank, 1], rank.max(1) as i64)?;
    let gram = m.saturating_mul(n).saturating_mul(2 * n);
    let work = Work::blocked(c"cusolver_gesvda", T::KIND, [m, n], gram + flops::syevd(n, true)).times(batch);
    work.run(&context, &[strided(singular, stride_s), u, v, info(code, batch)])?;
    if !residuals.is_null() {
        residuals.fill(batch as usize, std::iter::repeat(0.0))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;
    use ghost_blas::Of;

    fn at<T>(address: usize) -> Ptr<T> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn a_wide_matrix_is_refused_and_scratch_is_written() {
        let handle = Of::create(Context::default());
        assert_eq!(ask(|out| gesvd_size(handle, 10, 4, out)), Ok(16 + 64 * 14));
        let (all, no) = (b'A' as i8, b'N' as i8);
        let run = |job, m, n, ldu| {
            gesvd::<f32>(handle, job, no, m, n, at(64), m, at(64), at(64), ldu, at(0), 1, at(0), 0, at(0), at(0))
        };
        assert_eq!((run(all, 4, 8, 4), run(all, 8, 4, 7)), (Err(Error::InvalidValue), Err(Error::InvalidValue)));
        assert_eq!(run(b'?' as i8, 8, 4, 8), Err(Error::InvalidValue));
    }
}
