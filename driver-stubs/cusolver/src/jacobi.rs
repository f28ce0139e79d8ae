//! Eigenvalues and singular values by sweeps of Jacobi rotations.
//! Results read zero; infos read 0.

use crate::check::{choice, info, matrix, narrow, size, values};
use crate::context::{Context, GesvdjInfo, Handle, SyevjInfo, context};
use crate::work::Work;
use crate::{Cusolver, Error, flops};
use ghost_abi::Out;
use ghost_blas::{Complex32, Complex64, DataType, Element, Matrix, Of, Ptr, typed};
use ghost_table::Range;

typed! { Cusolver;
    syevj_size (handle: Handle, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, w: Ptr<R>, elements: Out<i32>,
                params: Of<SyevjInfo>) {
        f32: cusolverDnSsyevj_bufferSize;
        f64: cusolverDnDsyevj_bufferSize;
        Complex32: cusolverDnCheevj_bufferSize;
        Complex64: cusolverDnZheevj_bufferSize;
    }
    syevj (handle: Handle, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, w: Ptr<R>, work: Ptr<T>, elements: i32,
           info: Ptr<i32>, params: Of<SyevjInfo>) {
        f32: cusolverDnSsyevj;
        f64: cusolverDnDsyevj;
        Complex32: cusolverDnCheevj;
        Complex64: cusolverDnZheevj;
    }
    syevj_batched_size (handle: Handle, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, w: Ptr<R>,
                        elements: Out<i32>, params: Of<SyevjInfo>, batch: i32) {
        f32: cusolverDnSsyevjBatched_bufferSize;
        f64: cusolverDnDsyevjBatched_bufferSize;
        Complex32: cusolverDnCheevjBatched_bufferSize;
        Complex64: cusolverDnZheevjBatched_bufferSize;
    }
    syevj_batched (handle: Handle, jobz: i32, uplo: i32, n: i32, a: Ptr<T>, lda: i32, w: Ptr<R>, work: Ptr<T>,
                   elements: i32, info: Ptr<i32>, params: Of<SyevjInfo>, batch: i32) {
        f32: cusolverDnSsyevjBatched;
        f64: cusolverDnDsyevjBatched;
        Complex32: cusolverDnCheevjBatched;
        Complex64: cusolverDnZheevjBatched;
    }
    gesvdj_size (handle: Handle, jobz: i32, econ: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, s: Ptr<R>, u: Ptr<T>,
                 ldu: i32, v: Ptr<T>, ldv: i32, elements: Out<i32>, params: Of<GesvdjInfo>) {
        f32: cusolverDnSgesvdj_bufferSize;
        f64: cusolverDnDgesvdj_bufferSize;
        Complex32: cusolverDnCgesvdj_bufferSize;
        Complex64: cusolverDnZgesvdj_bufferSize;
    }
    gesvdj (handle: Handle, jobz: i32, econ: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, s: Ptr<R>, u: Ptr<T>, ldu: i32,
            v: Ptr<T>, ldv: i32, work: Ptr<T>, elements: i32, info: Ptr<i32>, params: Of<GesvdjInfo>) {
        f32: cusolverDnSgesvdj;
        f64: cusolverDnDgesvdj;
        Complex32: cusolverDnCgesvdj;
        Complex64: cusolverDnZgesvdj;
    }
    gesvdj_batched_size (handle: Handle, jobz: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, s: Ptr<R>, u: Ptr<T>,
                         ldu: i32, v: Ptr<T>, ldv: i32, elements: Out<i32>, params: Of<GesvdjInfo>, batch: i32) {
        f32: cusolverDnSgesvdjBatched_bufferSize;
        f64: cusolverDnDgesvdjBatched_bufferSize;
        Complex32: cusolverDnCgesvdjBatched_bufferSize;
        Complex64: cusolverDnZgesvdjBatched_bufferSize;
    }
    gesvdj_batched (handle: Handle, jobz: i32, m: i32, n: i32, a: Ptr<T>, lda: i32, s: Ptr<R>, u: Ptr<T>, ldu: i32,
                    v: Ptr<T>, ldv: i32, work: Ptr<T>, elements: i32, info: Ptr<i32>, params: Of<GesvdjInfo>,
                    batch: i32) {
        f32: cusolverDnSgesvdjBatched;
        f64: cusolverDnDgesvdjBatched;
        Complex32: cusolverDnCgesvdjBatched;
        Complex64: cusolverDnZgesvdjBatched;
    }
}

/// `batch` matrices one behind the other.
pub fn stacked(matrix: Matrix, batch: u64) -> Option<Range> {
    let stride = i64::try_from(matrix.ld.saturating_mul(matrix.major)).unwrap_or(i64::MAX);
    Matrix { batch, stride, ..matrix }.range()
}

fn syevj_size<T: Element>(
    handle: Handle,
    jobz: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    w: Ptr<T::Real>,
    elements: Out<i32>,
    params: Of<SyevjInfo>,
) -> Result<(), Error> {
    syevj_batched_size(handle, jobz, uplo, n, a, lda, w, elements, params, 1)
}

fn syevj<T: Element>(
    handle: Handle,
    jobz: i32,
    uplo: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    w: Ptr<T::Real>,
    work: Ptr<T>,
    elements: i32,
    code: Ptr<i32>,
    params: Of<SyevjInfo>,
) -> Result<(), Error> {
    syevj_batched(handle, jobz, uplo, n, a, lda, w, work, elements, code, params, 1)
}

fn syevj_batched_size<T: Element>(
    handle: Handle,
    jobz: i32,
    uplo: i32,
    n: i32,
    _a: Ptr<T>,
    lda: i32,
    _w: Ptr<T::Real>,
    elements: Out<i32>,
    params: Of<SyevjInfo>,
    batch: i32,
) -> Result<(), Error> {
    context(handle)?;
    choice(jobz).and(choice(uplo))?;
    params.check().map_err(|_| Error::InvalidValue)?;
    let (n, batch) = (size(n)?, size(batch)?);
    if size(lda)? < n {
        return Err(Error::InvalidValue);
    }
    Ok(elements.set(narrow((n.saturating_mul(n + 1)).saturating_mul(batch).max(1)))?)
}

fn syevj_batched<T: Element>(
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
    params: Of<SyevjInfo>,
    batch: i32,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(jobz).and(choice(uplo))?;
    let sweeps = params.with(|params| params.0.sweeps()).map_err(|_| Error::InvalidValue)?;
    let (n, batch) = (size(n)?, size(batch)?);
    let a = matrix(T::KIND, a.address(), [n, n], lda)?;
    let work = rotations(c"cusolver_syevj", T::KIND, [n, n], sweeps).times(batch);
    let w = values(T::Real::KIND, w.address(), n.saturating_mul(batch));
    work.run(&context, &[stacked(a, batch), w, info(code, batch)])
}

fn rotations(name: &'static std::ffi::CStr, kind: DataType, shape: [u64; 2], sweeps: i32) -> Work {
    let count = sweeps.max(1) as u64;
    let [m, n] = shape;
    Work::sweeps(name, kind, shape, count, flops::sweep(m, n).saturating_mul(count))
}

fn gesvdj_size<T: Element>(
    handle: Handle,
    jobz: i32,
    _econ: i32,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    s: Ptr<T::Real>,
    u: Ptr<T>,
    ldu: i32,
    v: Ptr<T>,
    ldv: i32,
    elements: Out<i32>,
    params: Of<GesvdjInfo>,
) -> Result<(), Error> {
    gesvdj_batched_size(handle, jobz, m, n, a, lda, s, u, ldu, v, ldv, elements, params, 1)
}

fn gesvdj<T: Element>(
    handle: Handle,
    jobz: i32,
    econ: i32,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    s: Ptr<T::Real>,
    u: Ptr<T>,
    ldu: i32,
    v: Ptr<T>,
    ldv: i32,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
    params: Of<GesvdjInfo>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let sides = [(u.address(), ldu), (v.address(), ldv)];
    let problem = Problem { vectors: choice(jobz)?, econ: econ != 0, shape: [size(m)?, size(n)?], batch: 1 };
    problem.run(&context, matrix(T::KIND, a.address(), problem.shape, lda)?, s.address(), sides, code, params)
}

fn gesvdj_batched_size<T: Element>(
    handle: Handle,
    jobz: i32,
    m: i32,
    n: i32,
    _a: Ptr<T>,
    lda: i32,
    _s: Ptr<T::Real>,
    _u: Ptr<T>,
    _ldu: i32,
    _v: Ptr<T>,
    _ldv: i32,
    elements: Out<i32>,
    params: Of<GesvdjInfo>,
    batch: i32,
) -> Result<(), Error> {
    context(handle)?;
    choice(jobz)?;
    params.check().map_err(|_| Error::InvalidValue)?;
    let (m, n, batch) = (size(m)?, size(n)?, size(batch)?);
    if size(lda)? < m {
        return Err(Error::InvalidValue);
    }
    let one = m.saturating_mul(n) + n.saturating_mul(n) + n;
    Ok(elements.set(narrow(one.saturating_mul(batch).max(1)))?)
}

fn gesvdj_batched<T: Element>(
    handle: Handle,
    jobz: i32,
    m: i32,
    n: i32,
    a: Ptr<T>,
    lda: i32,
    s: Ptr<T::Real>,
    u: Ptr<T>,
    ldu: i32,
    v: Ptr<T>,
    ldv: i32,
    _work: Ptr<T>,
    _elements: i32,
    code: Ptr<i32>,
    params: Of<GesvdjInfo>,
    batch: i32,
) -> Result<(), Error> {
    let context = context(handle)?;
    let sides = [(u.address(), ldu), (v.address(), ldv)];
    let problem = Problem { vectors: choice(jobz)?, econ: false, shape: [size(m)?, size(n)?], batch: size(batch)? };
    problem.run(&context, matrix(T::KIND, a.address(), problem.shape, lda)?, s.address(), sides, code, params)
}

/// Singular values of a batch of matrices.
struct Problem {
    vectors: bool,
    econ: bool,
    shape: [u64; 2],
    batch: u64,
}

impl Problem {
    fn run(
        &self,
        context: &Context,
        a: Matrix,
        s: u64,
        sides: [(u64, i32); 2],
        code: Ptr<i32>,
        params: Of<GesvdjInfo>,
    ) -> Result<(), Error> {
        let sweeps = params.with(|params| params.0.sweeps()).map_err(|_| Error::InvalidValue)?;
        let short = a.minor.min(a.major);
        let side = |(address, ld): (u64, i32), rows: u64| -> Result<Option<Range>, Error> {
            if !self.vectors {
                return Ok(None);
            }
            let columns = if self.econ { short } else { rows };
            Ok(stacked(matrix(a.kind, address, [rows, columns], ld)?, self.batch))
        };
        let (u, v) = (side(sides[0], a.minor)?, side(sides[1], a.major)?);
        let s = values(crate::check::real(a.kind), s, short.saturating_mul(self.batch));
        let work = rotations(c"cusolver_gesvdj", a.kind, [a.minor.max(a.major), short], sweeps).times(self.batch);
        work.run(context, &[s, u, v, info(code, self.batch), stacked(a, self.batch)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    fn at<T>(address: usize) -> Ptr<T> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn parameters_must_be_alive() {
        let handle = Of::create(Context::default());
        let params = Of::create(SyevjInfo::default());
        let of = |params| ask(|out| syevj_size::<f32>(handle, 1, 0, 8, at(0), 8, at(0), out, params));
        assert_eq!((of(params), of(Of::null())), (Ok(72), Err(Error::InvalidValue)));
    }

    #[test]
    fn a_batch_lies_one_matrix_behind_the_other() {
        let one = matrix(DataType::R_32F, 4096, [3, 2], 4).expect("a matrix");
        assert_eq!(stacked(one, 2), Some(Range { address: 4096, bytes: (8 + 4 + 3) * 4 }));
    }
}
