//! The 64-bit interface: eigenvalues and singular values whose types are arguments.
//! Values and vectors read zero; infos read 0. Host scratch is never needed.

use crate::check::{Job, choice, info, job, matrix, size, values};
use crate::context::{Handle, Params, context, params};
use crate::eigen;
use crate::general::{known, scratch};
use crate::jacobi::stacked;
use crate::svd::{self, Problem};
use crate::work::{HESSENBERG_CALLS, Work};
use crate::{Cusolver, Error, flops};
use ghost_abi::{MaybeOut, Out};
use ghost_blas::{DataType, Of, Ptr};

ghost_abi::rows! { Cusolver;
    fn cusolverDnXsyevd_bufferSize(handle: Handle, options: Of<Params>, jobz: i32, uplo: i32, n: i64, kind: DataType,
        a: Ptr<u8>, lda: i64, wkind: DataType, w: Ptr<u8>, compute: DataType, device: Out<usize>, host: Out<usize>)
        => syevd_size;
    fn cusolverDnXsyevd(handle: Handle, options: Of<Params>, jobz: i32, uplo: i32, n: i64, kind: DataType, a: Ptr<u8>,
        lda: i64, wkind: DataType, w: Ptr<u8>, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>,
        host_bytes: usize, info: Ptr<i32>) => syevd;
    fn cusolverDnXsyevBatched_bufferSize(handle: Handle, options: Of<Params>, jobz: i32, uplo: i32, n: i64,
        kind: DataType, a: Ptr<u8>, lda: i64, wkind: DataType, w: Ptr<u8>, compute: DataType, device: Out<usize>,
        host: Out<usize>, batch: i64) => syev_batched_size;
    fn cusolverDnXsyevBatched(handle: Handle, options: Of<Params>, jobz: i32, uplo: i32, n: i64, kind: DataType,
        a: Ptr<u8>, lda: i64, wkind: DataType, w: Ptr<u8>, compute: DataType, device: Ptr<u8>, device_bytes: usize,
        host: Ptr<u8>, host_bytes: usize, info: Ptr<i32>, batch: i64) => syev_batched;
    fn cusolverDnXsyevdx_bufferSize(handle: Handle, options: Of<Params>, jobz: i32, range: i32, uplo: i32, n: i64,
        kind: DataType, a: Ptr<u8>, lda: i64, vl: Ptr<u8>, vu: Ptr<u8>, il: i64, iu: i64, found: MaybeOut<i64>,
        wkind: DataType, w: Ptr<u8>, compute: DataType, device: Out<usize>, host: Out<usize>) => syevdx_size;
    fn cusolverDnXsyevdx(handle: Handle, options: Of<Params>, jobz: i32, range: i32, uplo: i32, n: i64, kind: DataType,
        a: Ptr<u8>, lda: i64, vl: Ptr<u8>, vu: Ptr<u8>, il: i64, iu: i64, found: MaybeOut<i64>, wkind: DataType,
        w: Ptr<u8>, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>, host_bytes: usize,
        info: Ptr<i32>) => syevdx;
    fn cusolverDnXgeev_bufferSize(handle: Handle, options: Of<Params>, jobvl: i32, jobvr: i32, n: i64, kind: DataType,
        a: Ptr<u8>, lda: i64, wkind: DataType, w: Ptr<u8>, lkind: DataType, vl: Ptr<u8>, ldvl: i64, rkind: DataType,
        vr: Ptr<u8>, ldvr: i64, compute: DataType, device: Out<usize>, host: Out<usize>) => geev_size;
    fn cusolverDnXgeev(handle: Handle, options: Of<Params>, jobvl: i32, jobvr: i32, n: i64, kind: DataType, a: Ptr<u8>,
        lda: i64, wkind: DataType, w: Ptr<u8>, lkind: DataType, vl: Ptr<u8>, ldvl: i64, rkind: DataType, vr: Ptr<u8>,
        ldvr: i64, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>, host_bytes: usize,
        info: Ptr<i32>) => geev;
    fn cusolverDnXgesvd_bufferSize(handle: Handle, options: Of<Params>, jobu: i8, jobvt: i8, m: i64, n: i64,
        kind: DataType, a: Ptr<u8>, lda: i64, skind: DataType, s: Ptr<u8>, ukind: DataType, u: Ptr<u8>, ldu: i64,
        vkind: DataType, vt: Ptr<u8>, ldvt: i64, compute: DataType, device: Out<usize>, host: Out<usize>)
        => gesvd_size;
    fn cusolverDnXgesvd(handle: Handle, options: Of<Params>, jobu: i8, jobvt: i8, m: i64, n: i64, kind: DataType,
        a: Ptr<u8>, lda: i64, skind: DataType, s: Ptr<u8>, ukind: DataType, u: Ptr<u8>, ldu: i64, vkind: DataType,
        vt: Ptr<u8>, ldvt: i64, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>,
        host_bytes: usize, info: Ptr<i32>) => gesvd;
    fn cusolverDnXgesvdp_bufferSize(handle: Handle, options: Of<Params>, jobz: i32, econ: i32, m: i64, n: i64,
        kind: DataType, a: Ptr<u8>, lda: i64, skind: DataType, s: Ptr<u8>, ukind: DataType, u: Ptr<u8>, ldu: i64,
        vkind: DataType, v: Ptr<u8>, ldv: i64, compute: DataType, device: Out<usize>, host: Out<usize>)
        => gesvdp_size;
    fn cusolverDnXgesvdp(handle: Handle, options: Of<Params>, jobz: i32, econ: i32, m: i64, n: i64, kind: DataType,
        a: Ptr<u8>, lda: i64, skind: DataType, s: Ptr<u8>, ukind: DataType, u: Ptr<u8>, ldu: i64, vkind: DataType,
        v: Ptr<u8>, ldv: i64, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>,
        host_bytes: usize, info: Ptr<i32>, error: MaybeOut<f64>) => gesvdp;
    fn cusolverDnXgesvdr_bufferSize(handle: Handle, options: Of<Params>, jobu: i8, jobv: i8, m: i64, n: i64, k: i64,
        p: i64, iterations: i64, kind: DataType, a: Ptr<u8>, lda: i64, skind: DataType, s: Ptr<u8>, ukind: DataType,
        u: Ptr<u8>, ldu: i64, vkind: DataType, v: Ptr<u8>, ldv: i64, compute: DataType, device: Out<usize>,
        host: Out<usize>) => gesvdr_size;
    fn cusolverDnXgesvdr(handle: Handle, options: Of<Params>, jobu: i8, jobv: i8, m: i64, n: i64, k: i64, p: i64,
        iterations: i64, kind: DataType, a: Ptr<u8>, lda: i64, skind: DataType, s: Ptr<u8>, ukind: DataType,
        u: Ptr<u8>, ldu: i64, vkind: DataType, v: Ptr<u8>, ldv: i64, compute: DataType, device: Ptr<u8>,
        device_bytes: usize, host: Ptr<u8>, host_bytes: usize, info: Ptr<i32>) => gesvdr;
}

fn syevd_size(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    uplo: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    wkind: DataType,
    w: Ptr<u8>,
    compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    syev_batched_size(handle, options, jobz, uplo, n, kind, a, lda, wkind, w, compute, device, host, 1)
}

fn syevd(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    uplo: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    wkind: DataType,
    w: Ptr<u8>,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    symmetric(handle, options, [jobz, uplo], n, (kind, a, lda), (wkind, w), code, 1)
}

fn syev_batched_size(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    uplo: i32,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _wkind: DataType,
    _w: Ptr<u8>,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
    batch: i64,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    choice(uplo)?;
    let vectors = choice(jobz)?;
    if lda < n {
        return Err(Error::InvalidValue);
    }
    let elements = eigen::scratch(size(n)?, vectors).saturating_mul(size(batch)?);
    scratch(kind, elements, &device, &host)
}

fn syev_batched(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    uplo: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    wkind: DataType,
    w: Ptr<u8>,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
    batch: i64,
) -> Result<(), Error> {
    symmetric(handle, options, [jobz, uplo], n, (kind, a, lda), (wkind, w), code, batch)
}

/// A batch of symmetric problems one behind the other.
fn symmetric(
    handle: Handle,
    options: Of<Params>,
    [jobz, uplo]: [i32; 2],
    n: i64,
    (kind, a, lda): (DataType, Ptr<u8>, i64),
    (wkind, w): (DataType, Ptr<u8>),
    code: Ptr<i32>,
    batch: i64,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    choice(uplo)?;
    let (vectors, n, batch) = (choice(jobz)?, size(n)?, size(batch)?);
    let a = matrix(known(kind)?, a.address(), [n, n], lda)?;
    let w = values(wkind, w.address(), n.saturating_mul(batch));
    eigen::work(kind, n, vectors).times(batch).run(&context, &[stacked(a, batch), w, info(code, batch)])
}

fn syevdx_size(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    range: i32,
    uplo: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _vl: Ptr<u8>,
    _vu: Ptr<u8>,
    il: i64,
    iu: i64,
    found: MaybeOut<i64>,
    wkind: DataType,
    w: Ptr<u8>,
    compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    found.set(eigen::selected(range, size(n)?, il, iu)? as i64);
    syevd_size(handle, options, jobz, uplo, n, kind, a, lda, wkind, w, compute, device, host)
}

fn syevdx(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    range: i32,
    uplo: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _vl: Ptr<u8>,
    _vu: Ptr<u8>,
    il: i64,
    iu: i64,
    found: MaybeOut<i64>,
    wkind: DataType,
    w: Ptr<u8>,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let count = eigen::selected(range, size(n)?, il, iu)?;
    symmetric(handle, options, [jobz, uplo], n, (kind, a, lda), (wkind, w), code, 1)?;
    found.set(count as i64);
    Ok(())
}

fn geev_size(
    handle: Handle,
    options: Of<Params>,
    jobvl: i32,
    jobvr: i32,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _wkind: DataType,
    _w: Ptr<u8>,
    _lkind: DataType,
    _vl: Ptr<u8>,
    _ldvl: i64,
    _rkind: DataType,
    _vr: Ptr<u8>,
    _ldvr: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    let vectors = choice(jobvl)? | choice(jobvr)?;
    if lda < n {
        return Err(Error::InvalidValue);
    }
    scratch(kind, eigen::scratch(size(n)?, vectors), &device, &host)
}

fn geev(
    handle: Handle,
    options: Of<Params>,
    jobvl: i32,
    jobvr: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    wkind: DataType,
    w: Ptr<u8>,
    lkind: DataType,
    vl: Ptr<u8>,
    ldvl: i64,
    rkind: DataType,
    vr: Ptr<u8>,
    ldvr: i64,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let (left, right, n) = (choice(jobvl)?, choice(jobvr)?, size(n)?);
    let a = matrix(known(kind)?, a.address(), [n, n], lda)?;
    let side = |wanted, kind, address, ld: i64| match wanted {
        true => Ok(matrix(kind, address, [n, n], ld)?.range()),
        false => Ok::<_, Error>(None),
    };
    let (vl, vr) = (side(left, lkind, vl.address(), ldvl)?, side(right, rkind, vr.address(), ldvr)?);
    // Hessenberg reduction is 10/3 n^3, one column after the other.
    let reduction = n.saturating_pow(3).saturating_mul(10) / 3;
    let work = Work::two_sided(
        c"cusolver_geev",
        kind,
        [n, n],
        [2, HESSENBERG_CALLS],
        [reduction, flops::geev(n, left || right)],
    );
    work.run(&context, &[values(wkind, w.address(), n), vl, vr, info(code, 1), a.range()])
}

fn gesvd_size(
    handle: Handle,
    options: Of<Params>,
    jobu: i8,
    jobvt: i8,
    m: i64,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _skind: DataType,
    _s: Ptr<u8>,
    _ukind: DataType,
    _u: Ptr<u8>,
    _ldu: i64,
    _vkind: DataType,
    _vt: Ptr<u8>,
    _ldvt: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    job(jobu)?;
    job(jobvt)?;
    if lda < m {
        return Err(Error::InvalidValue);
    }
    scratch(kind, svd::scratch(size(m)?, size(n)?), &device, &host)
}

fn gesvd(
    handle: Handle,
    options: Of<Params>,
    jobu: i8,
    jobvt: i8,
    m: i64,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _skind: DataType,
    s: Ptr<u8>,
    _ukind: DataType,
    u: Ptr<u8>,
    ldu: i64,
    _vkind: DataType,
    vt: Ptr<u8>,
    ldvt: i64,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let a = matrix(known(kind)?, a.address(), [size(m)?, size(n)?], lda)?;
    let (u, v) = ((job(jobu)?, u.address(), ldu), (job(jobvt)?, vt.address(), ldvt));
    Problem { a, s: s.address(), u, v }.run(&context, code)
}

fn gesvdp_size(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    _econ: i32,
    m: i64,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _skind: DataType,
    _s: Ptr<u8>,
    _ukind: DataType,
    _u: Ptr<u8>,
    _ldu: i64,
    _vkind: DataType,
    _v: Ptr<u8>,
    _ldv: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    choice(jobz)?;
    if lda < m {
        return Err(Error::InvalidValue);
    }
    scratch(kind, svd::scratch(size(m)?, size(n)?), &device, &host)
}

fn gesvdp(
    handle: Handle,
    options: Of<Params>,
    jobz: i32,
    econ: i32,
    m: i64,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _skind: DataType,
    s: Ptr<u8>,
    _ukind: DataType,
    u: Ptr<u8>,
    ldu: i64,
    _vkind: DataType,
    v: Ptr<u8>,
    ldv: i64,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
    error: MaybeOut<f64>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let (m, n) = (size(m)?, size(n)?);
    let a = matrix(known(kind)?, a.address(), [m, n], lda)?;
    let side = |address, ld: i64, rows: u64| -> Result<_, Error> {
        if !choice(jobz)? {
            return Ok(None);
        }
        let columns = if econ != 0 { m.min(n) } else { rows };
        Ok(matrix(kind, address, [rows, columns], ld)?.range())
    };
    let (u, v) = (side(u.address(), ldu, m)?, side(v.address(), ldv, n)?);
    let s = values(crate::check::real(kind), s.address(), m.min(n));
    // A polar decomposition by QR iterations, then eigenvalues: all blocked. Six iterations of two QR's cost at most
    // this much (Nakatsukasa and Higham, 2013).
    let polar = flops::geqrf(m, n).saturating_mul(12);
    let work = Work::blocked(c"cusolver_gesvdp", kind, [m, n], polar + flops::syevd(m.min(n), true));
    work.run(&context, &[s, u, v, info(code, 1), a.range()])?;
    error.set(0.0);
    Ok(())
}

fn gesvdr_size(
    handle: Handle,
    options: Of<Params>,
    jobu: i8,
    jobv: i8,
    m: i64,
    n: i64,
    k: i64,
    p: i64,
    _iterations: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _skind: DataType,
    _s: Ptr<u8>,
    _ukind: DataType,
    _u: Ptr<u8>,
    _ldu: i64,
    _vkind: DataType,
    _v: Ptr<u8>,
    _ldv: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    job(jobu).and(job(jobv))?;
    if lda < m {
        return Err(Error::InvalidValue);
    }
    let columns = size(k)?.saturating_add(size(p)?);
    scratch(kind, columns.saturating_mul(size(m)? + 2 * size(n)?), &device, &host)
}

fn gesvdr(
    handle: Handle,
    options: Of<Params>,
    jobu: i8,
    jobv: i8,
    m: i64,
    n: i64,
    k: i64,
    p: i64,
    iterations: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    skind: DataType,
    s: Ptr<u8>,
    ukind: DataType,
    u: Ptr<u8>,
    ldu: i64,
    vkind: DataType,
    v: Ptr<u8>,
    ldv: i64,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let (m, n, k, p, rounds) = (size(m)?, size(n)?, size(k)?, size(p)?, size(iterations)?);
    let a = matrix(known(kind)?, a.address(), [m, n], lda)?;
    if k == 0 || k.saturating_add(p) > m.min(n) {
        return Err(Error::InvalidValue);
    }
    let side = |letter, kind, address, rows, ld: i64| match job(letter)? {
        Job::None => Ok(None),
        _ => Ok::<_, Error>(matrix(kind, address, [rows, k], ld)?.range()),
    };
    let (u, v) = (side(jobu, ukind, u.address(), m, ldu)?, side(jobv, vkind, v.address(), n, ldv)?);
    // Two products with A an iteration, and one before and after (Halko, Martinsson, Tropp, 2011).
    let products = m.saturating_mul(n).saturating_mul(2 * (k + p)).saturating_mul(2 * rounds + 2);
    let work = Work::blocked(c"cusolver_gesvdr", kind, [m, n], products + flops::gesvd(n, k + p, true));
    work.run(&context, &[values(skind, s.address(), k), u, v, info(code, 1), a.range()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use ghost_abi::ask;

    fn at<T>(address: usize) -> Ptr<T> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn a_batch_needs_the_scratch_of_each() {
        let handle = Of::create(Context::default());
        let kind = DataType::R_32F;
        let of = |batch| {
            ask(|device| {
                let none = Of::null();
                let call = |host| {
                    syev_batched_size(handle, none, 1, 0, 10, kind, at(0), 10, kind, at(0), kind, device, host, batch)
                };
                ask(call).map(|host| assert_eq!(host, 0))
            })
        };
        assert_eq!((of(1), of(3), of(-1)), (Ok(841 * 4), Ok(3 * 841 * 4), Err(Error::InvalidValue)));
    }
}
