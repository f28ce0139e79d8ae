//! The 64-bit interface: factorisations and solves whose types are arguments.
//! Infos read 0 (success); factors and solutions read zero; pivots exchange nothing. Host scratch is never needed.

use crate::check::{choice, info, matrix, operation, size, values};
use crate::context::{Handle, Params, context, params};
use crate::work::{CHOLESKY_COLUMNS, Work};
use crate::{Cusolver, Error, flops};
use ghost_abi::Out;
use ghost_blas::{DataType, Of, Ptr, write_sequence};

ghost_abi::rows! { Cusolver;
    fn cusolverDnXpotrf_bufferSize(handle: Handle, options: Of<Params>, uplo: i32, n: i64, kind: DataType, a: Ptr<u8>,
        lda: i64, compute: DataType, device: Out<usize>, host: Out<usize>) => potrf_size;
    fn cusolverDnXpotrf(handle: Handle, options: Of<Params>, uplo: i32, n: i64, kind: DataType, a: Ptr<u8>, lda: i64,
        compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>, host_bytes: usize, info: Ptr<i32>)
        => potrf;
    fn cusolverDnXpotrs(handle: Handle, options: Of<Params>, uplo: i32, n: i64, nrhs: i64, akind: DataType, a: Ptr<u8>,
        lda: i64, bkind: DataType, b: Ptr<u8>, ldb: i64, info: Ptr<i32>) => potrs;
    fn cusolverDnXgeqrf_bufferSize(handle: Handle, options: Of<Params>, m: i64, n: i64, kind: DataType, a: Ptr<u8>,
        lda: i64, tkind: DataType, tau: Ptr<u8>, compute: DataType, device: Out<usize>, host: Out<usize>)
        => geqrf_size;
    fn cusolverDnXgeqrf(handle: Handle, options: Of<Params>, m: i64, n: i64, kind: DataType, a: Ptr<u8>, lda: i64,
        tkind: DataType, tau: Ptr<u8>, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>,
        host_bytes: usize, info: Ptr<i32>) => geqrf;
    fn cusolverDnXgetrf_bufferSize(handle: Handle, options: Of<Params>, m: i64, n: i64, kind: DataType, a: Ptr<u8>,
        lda: i64, compute: DataType, device: Out<usize>, host: Out<usize>) => getrf_size;
    fn cusolverDnXgetrf(handle: Handle, options: Of<Params>, m: i64, n: i64, kind: DataType, a: Ptr<u8>, lda: i64,
        pivots: Ptr<i64>, compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>, host_bytes: usize,
        info: Ptr<i32>) => getrf;
    fn cusolverDnXgetrs(handle: Handle, options: Of<Params>, trans: i32, n: i64, nrhs: i64, akind: DataType,
        a: Ptr<u8>, lda: i64, pivots: Ptr<i64>, bkind: DataType, b: Ptr<u8>, ldb: i64, info: Ptr<i32>) => getrs;
    fn cusolverDnXsytrs_bufferSize(handle: Handle, uplo: i32, n: i64, nrhs: i64, akind: DataType, a: Ptr<u8>, lda: i64,
        pivots: Ptr<i64>, bkind: DataType, b: Ptr<u8>, ldb: i64, device: Out<usize>, host: Out<usize>) => sytrs_size;
    fn cusolverDnXsytrs(handle: Handle, uplo: i32, n: i64, nrhs: i64, akind: DataType, a: Ptr<u8>, lda: i64,
        pivots: Ptr<i64>, bkind: DataType, b: Ptr<u8>, ldb: i64, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>,
        host_bytes: usize, info: Ptr<i32>) => sytrs;
    fn cusolverDnXtrtri_bufferSize(handle: Handle, uplo: i32, diagonal: i32, n: i64, kind: DataType, a: Ptr<u8>,
        lda: i64, device: Out<usize>, host: Out<usize>) => trtri_size;
    fn cusolverDnXtrtri(handle: Handle, uplo: i32, diagonal: i32, n: i64, kind: DataType, a: Ptr<u8>, lda: i64,
        device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>, host_bytes: usize, info: Ptr<i32>) => trtri;
    fn cusolverDnXlarft_bufferSize(handle: Handle, options: Of<Params>, direct: i32, stored: i32, n: i64, k: i64,
        vkind: DataType, v: Ptr<u8>, ldv: i64, taukind: DataType, tau: Ptr<u8>, tkind: DataType, t: Ptr<u8>, ldt: i64,
        compute: DataType, device: Out<usize>, host: Out<usize>) => larft_size;
    fn cusolverDnXlarft(handle: Handle, options: Of<Params>, direct: i32, stored: i32, n: i64, k: i64, vkind: DataType,
        v: Ptr<u8>, ldv: i64, taukind: DataType, tau: Ptr<u8>, tkind: DataType, t: Ptr<u8>, ldt: i64,
        compute: DataType, device: Ptr<u8>, device_bytes: usize, host: Ptr<u8>, host_bytes: usize) => larft;
}

/// Columns of scratch a blocked routine asks for.
const PANEL: u64 = 64;

/// A type the library has code for.
pub fn known(kind: DataType) -> Result<DataType, Error> {
    match kind {
        DataType::R_32F | DataType::R_64F | DataType::C_32F | DataType::C_64F => Ok(kind),
        _ => Err(Error::InvalidValue),
    }
}

/// Writes both sizes: `elements` of `kind` on the device, nothing on the host.
pub fn scratch(kind: DataType, elements: u64, device: &Out<usize>, host: &Out<usize>) -> Result<(), Error> {
    device.check().and(host.check())?;
    device.set(known(kind)?.bytes(elements.max(1)) as usize)?;
    Ok(host.set(0)?)
}

fn potrf_size(
    handle: Handle,
    options: Of<Params>,
    uplo: i32,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    choice(uplo)?;
    if lda < n {
        return Err(Error::InvalidValue);
    }
    scratch(kind, size(n)? * PANEL, &device, &host)
}

fn potrf(
    handle: Handle,
    options: Of<Params>,
    uplo: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    choice(uplo)?;
    let n = size(n)?;
    let a = matrix(known(kind)?, a.address(), [n, n], lda)?;
    let work = Work::blocked(c"cusolver_potrf", kind, [n, n], flops::potrf(n)).waiting_every(CHOLESKY_COLUMNS);
    work.run(&context, &[a.range(), info(code, 1)])
}

/// A solve of `nrhs` sides with factors of n x n.
fn solve(
    handle: Handle,
    name: &'static std::ffi::CStr,
    [n, nrhs]: [i64; 2],
    (akind, a, lda): (DataType, Ptr<u8>, i64),
    (bkind, b, ldb): (DataType, Ptr<u8>, i64),
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    let (n, nrhs) = (size(n)?, size(nrhs)?);
    matrix(known(akind)?, a.address(), [n, n], lda)?;
    let b = matrix(known(bkind)?, b.address(), [n, nrhs], ldb)?;
    let work = Work::blocked(name, akind, [n, n.max(nrhs)], flops::solve(n, nrhs));
    work.run(&context, &[b.range(), info(code, 1)])
}

fn potrs(
    handle: Handle,
    options: Of<Params>,
    uplo: i32,
    n: i64,
    nrhs: i64,
    akind: DataType,
    a: Ptr<u8>,
    lda: i64,
    bkind: DataType,
    b: Ptr<u8>,
    ldb: i64,
    code: Ptr<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    params(options)?;
    solve(handle, c"cusolver_potrs", [n, nrhs], (akind, a, lda), (bkind, b, ldb), code)
}

fn geqrf_size(
    handle: Handle,
    options: Of<Params>,
    m: i64,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _tkind: DataType,
    _tau: Ptr<u8>,
    compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    getrf_size(handle, options, m, n, kind, a, lda, compute, device, host)
}

fn geqrf(
    handle: Handle,
    options: Of<Params>,
    m: i64,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    tkind: DataType,
    tau: Ptr<u8>,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let (m, n) = (size(m)?, size(n)?);
    let a = matrix(known(kind)?, a.address(), [m, n], lda)?;
    let work = Work::blocked(c"cusolver_geqrf", kind, [m, n], flops::geqrf(m, n)).waiting_every(1);
    work.run(&context, &[a.range(), values(tkind, tau.address(), m.min(n)), info(code, 1)])
}

fn getrf_size(
    handle: Handle,
    options: Of<Params>,
    m: i64,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    if lda < m {
        return Err(Error::InvalidValue);
    }
    scratch(kind, (size(m)? + size(n)?) * PANEL, &device, &host)
}

fn getrf(
    handle: Handle,
    options: Of<Params>,
    m: i64,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    pivots: Ptr<i64>,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let (m, n) = (size(m)?, size(n)?);
    let a = matrix(known(kind)?, a.address(), [m, n], lda)?;
    let work = Work::blocked(c"cusolver_getrf", kind, [m, n], flops::getrf(m, n)).waiting_every(1);
    work.run(&context, &[a.range(), info(code, 1)])?;
    write_sequence(pivots.address(), 1, m.min(n), size_of::<i64>());
    Ok(())
}

fn getrs(
    handle: Handle,
    options: Of<Params>,
    trans: i32,
    n: i64,
    nrhs: i64,
    akind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _pivots: Ptr<i64>,
    bkind: DataType,
    b: Ptr<u8>,
    ldb: i64,
    code: Ptr<i32>,
) -> Result<(), Error> {
    operation(trans)?;
    params(options)?;
    solve(handle, c"cusolver_getrs", [n, nrhs], (akind, a, lda), (bkind, b, ldb), code)
}

fn sytrs_size(
    handle: Handle,
    uplo: i32,
    n: i64,
    nrhs: i64,
    akind: DataType,
    _a: Ptr<u8>,
    _lda: i64,
    _pivots: Ptr<i64>,
    _bkind: DataType,
    _b: Ptr<u8>,
    _ldb: i64,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    choice(uplo)?;
    scratch(akind, size(n)?.saturating_mul(size(nrhs)?), &device, &host)
}

fn sytrs(
    handle: Handle,
    uplo: i32,
    n: i64,
    nrhs: i64,
    akind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _pivots: Ptr<i64>,
    bkind: DataType,
    b: Ptr<u8>,
    ldb: i64,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    choice(uplo)?;
    solve(handle, c"cusolver_sytrs", [n, nrhs], (akind, a, lda), (bkind, b, ldb), code)
}

fn trtri_size(
    handle: Handle,
    uplo: i32,
    diagonal: i32,
    n: i64,
    kind: DataType,
    _a: Ptr<u8>,
    lda: i64,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    choice(uplo).and(choice(diagonal))?;
    if lda < n {
        return Err(Error::InvalidValue);
    }
    scratch(kind, size(n)? * PANEL, &device, &host)
}

fn trtri(
    handle: Handle,
    uplo: i32,
    diagonal: i32,
    n: i64,
    kind: DataType,
    a: Ptr<u8>,
    lda: i64,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
    code: Ptr<i32>,
) -> Result<(), Error> {
    let context = context(handle)?;
    choice(uplo).and(choice(diagonal))?;
    let n = size(n)?;
    let a = matrix(known(kind)?, a.address(), [n, n], lda)?;
    // A triangular inverse is n^3 / 3 as a Cholesky factorisation is.
    let work = Work::blocked(c"cusolver_trtri", kind, [n, n], flops::potrf(n));
    work.run(&context, &[a.range(), info(code, 1)])
}

fn larft_size(
    handle: Handle,
    options: Of<Params>,
    _direct: i32,
    _stored: i32,
    _n: i64,
    k: i64,
    vkind: DataType,
    _v: Ptr<u8>,
    _ldv: i64,
    _taukind: DataType,
    _tau: Ptr<u8>,
    _tkind: DataType,
    _t: Ptr<u8>,
    _ldt: i64,
    _compute: DataType,
    device: Out<usize>,
    host: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    params(options)?;
    scratch(vkind, size(k)? * PANEL, &device, &host)
}

fn larft(
    handle: Handle,
    options: Of<Params>,
    _direct: i32,
    _stored: i32,
    n: i64,
    k: i64,
    _vkind: DataType,
    _v: Ptr<u8>,
    _ldv: i64,
    _taukind: DataType,
    _tau: Ptr<u8>,
    tkind: DataType,
    t: Ptr<u8>,
    ldt: i64,
    _compute: DataType,
    _device: Ptr<u8>,
    _device_bytes: usize,
    _host: Ptr<u8>,
    _host_bytes: usize,
) -> Result<(), Error> {
    let context = context(handle)?;
    params(options)?;
    let (n, k) = (size(n)?, size(k)?);
    let t = matrix(known(tkind)?, t.address(), [k, k], ldt)?;
    // The triangle of k reflectors: their products with each other, once.
    let work = Work::blocked(c"cusolver_larft", tkind, [n, k], n.saturating_mul(k).saturating_mul(k));
    work.run(&context, &[t.range()])
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
    fn both_sizes_are_written_in_bytes() {
        let handle = Of::create(Context::default());
        let of = |kind| {
            ask(|device| {
                let host = ask(|host| potrf_size(handle, Of::null(), 0, 10, kind, at(0), 10, kind, device, host))?;
                assert_eq!(host, 0);
                Ok::<(), Error>(())
            })
        };
        assert_eq!((of(DataType::R_64F), of(DataType::R_16F)), (Ok(640 * 8), Err(Error::InvalidValue)));
    }

    #[test]
    fn dead_parameters_are_refused_and_null_ones_are_defaults() {
        let dead = Of::create(Params::default());
        assert!(dead.destroy().is_ok());
        assert_eq!((params(dead), params(Of::null())), (Err(Error::InvalidValue), Ok(())));
    }
}
