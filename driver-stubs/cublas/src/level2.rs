//! A special matrix and vectors: products, solves and updates of small rank.
//! They are priced by the bytes of the matrix; what they write reads zero afterwards.

use crate::check::{choice, half, leading, present, size, step, transposed};
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use ghost_blas::{Cublas, DataType, Error, Matrix, Ptr, kernel, vector};
use ghost_table::{Operation, Range};

family! {
    triangle (handle: Handle, uplo: i32, trans: i32, diag: i32, n: I, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I) {
        f32: cublasStrmv_v2 cublasStrmv_v2_64;
        f64: cublasDtrmv_v2 cublasDtrmv_v2_64;
        Complex32: cublasCtrmv_v2 cublasCtrmv_v2_64;
        Complex64: cublasZtrmv_v2 cublasZtrmv_v2_64;
        f32: cublasStrsv_v2 cublasStrsv_v2_64;
        f64: cublasDtrsv_v2 cublasDtrsv_v2_64;
        Complex32: cublasCtrsv_v2 cublasCtrsv_v2_64;
        Complex64: cublasZtrsv_v2 cublasZtrsv_v2_64;
    }
    band (handle: Handle, uplo: i32, trans: i32, diag: i32, n: I, k: I, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I) {
        f32: cublasStbmv_v2 cublasStbmv_v2_64;
        f64: cublasDtbmv_v2 cublasDtbmv_v2_64;
        Complex32: cublasCtbmv_v2 cublasCtbmv_v2_64;
        Complex64: cublasZtbmv_v2 cublasZtbmv_v2_64;
        f32: cublasStbsv_v2 cublasStbsv_v2_64;
        f64: cublasDtbsv_v2 cublasDtbsv_v2_64;
        Complex32: cublasCtbsv_v2 cublasCtbsv_v2_64;
        Complex64: cublasZtbsv_v2 cublasZtbsv_v2_64;
    }
    packed (handle: Handle, uplo: i32, trans: i32, diag: i32, n: I, a: Ptr<T>, x: Ptr<T>, incx: I) {
        f32: cublasStpmv_v2 cublasStpmv_v2_64;
        f64: cublasDtpmv_v2 cublasDtpmv_v2_64;
        Complex32: cublasCtpmv_v2 cublasCtpmv_v2_64;
        Complex64: cublasZtpmv_v2 cublasZtpmv_v2_64;
        f32: cublasStpsv_v2 cublasStpsv_v2_64;
        f64: cublasDtpsv_v2 cublasDtpsv_v2_64;
        Complex32: cublasCtpsv_v2 cublasCtpsv_v2_64;
        Complex64: cublasZtpsv_v2 cublasZtpsv_v2_64;
    }
    symv (handle: Handle, uplo: i32, n: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I, beta: Ptr<T>,
          y: Ptr<T>, incy: I) {
        f32: cublasSsymv_v2 cublasSsymv_v2_64;
        f64: cublasDsymv_v2 cublasDsymv_v2_64;
        Complex32: cublasCsymv_v2 cublasCsymv_v2_64;
        Complex64: cublasZsymv_v2 cublasZsymv_v2_64;
        Complex32: cublasChemv_v2 cublasChemv_v2_64;
        Complex64: cublasZhemv_v2 cublasZhemv_v2_64;
    }
    sbmv (handle: Handle, uplo: i32, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I, beta: Ptr<T>,
          y: Ptr<T>, incy: I) {
        f32: cublasSsbmv_v2 cublasSsbmv_v2_64;
        f64: cublasDsbmv_v2 cublasDsbmv_v2_64;
        Complex32: cublasChbmv_v2 cublasChbmv_v2_64;
        Complex64: cublasZhbmv_v2 cublasZhbmv_v2_64;
    }
    spmv (handle: Handle, uplo: i32, n: I, alpha: Ptr<T>, a: Ptr<T>, x: Ptr<T>, incx: I, beta: Ptr<T>, y: Ptr<T>,
          incy: I) {
        f32: cublasSspmv_v2 cublasSspmv_v2_64;
        f64: cublasDspmv_v2 cublasDspmv_v2_64;
        Complex32: cublasChpmv_v2 cublasChpmv_v2_64;
        Complex64: cublasZhpmv_v2 cublasZhpmv_v2_64;
    }
    ger (handle: Handle, m: I, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, a: Ptr<T>, lda: I) {
        f32: cublasSger_v2 cublasSger_v2_64;
        f64: cublasDger_v2 cublasDger_v2_64;
        Complex32: cublasCgeru_v2 cublasCgeru_v2_64;
        Complex64: cublasZgeru_v2 cublasZgeru_v2_64;
        Complex32: cublasCgerc_v2 cublasCgerc_v2_64;
        Complex64: cublasZgerc_v2 cublasZgerc_v2_64;
    }
    syr (handle: Handle, uplo: i32, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I, a: Ptr<T>, lda: I) {
        f32: cublasSsyr_v2 cublasSsyr_v2_64;
        f64: cublasDsyr_v2 cublasDsyr_v2_64;
        Complex32: cublasCsyr_v2 cublasCsyr_v2_64;
        Complex64: cublasZsyr_v2 cublasZsyr_v2_64;
    }
    syr (handle: Handle, uplo: i32, n: I, alpha: Ptr<R>, x: Ptr<T>, incx: I, a: Ptr<T>, lda: I) {
        Complex32: cublasCher_v2 cublasCher_v2_64;
        Complex64: cublasZher_v2 cublasZher_v2_64;
    }
    spr (handle: Handle, uplo: i32, n: I, alpha: Ptr<R>, x: Ptr<T>, incx: I, a: Ptr<T>) {
        f32: cublasSspr_v2 cublasSspr_v2_64;
        f64: cublasDspr_v2 cublasDspr_v2_64;
        Complex32: cublasChpr_v2 cublasChpr_v2_64;
        Complex64: cublasZhpr_v2 cublasZhpr_v2_64;
    }
    syr2 (handle: Handle, uplo: i32, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, a: Ptr<T>, lda: I) {
        f32: cublasSsyr2_v2 cublasSsyr2_v2_64;
        f64: cublasDsyr2_v2 cublasDsyr2_v2_64;
        Complex32: cublasCsyr2_v2 cublasCsyr2_v2_64;
        Complex64: cublasZsyr2_v2 cublasZsyr2_v2_64;
        Complex32: cublasCher2_v2 cublasCher2_v2_64;
        Complex64: cublasZher2_v2 cublasZher2_v2_64;
    }
    spr2 (handle: Handle, uplo: i32, n: I, alpha: Ptr<T>, x: Ptr<T>, incx: I, y: Ptr<T>, incy: I, a: Ptr<T>) {
        f32: cublasSspr2_v2 cublasSspr2_v2_64;
        f64: cublasDspr2_v2 cublasDspr2_v2_64;
        Complex32: cublasChpr2_v2 cublasChpr2_v2_64;
        Complex64: cublasZhpr2_v2 cublasZhpr2_v2_64;
    }
}

/// What a function of this file does: how many matrix elements it touches, whether it writes them, what it writes.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub kind: DataType,
    /// Elements of the matrix that are read.
    pub elements: u64,
    /// The stretch that is written; `None` when it is unknown or empty.
    pub written: Option<Range>,
}

impl Work {
    /// Two operations for each element: a multiplication and an addition.
    pub fn operation(&self) -> Option<Operation> {
        if self.elements == 0 {
            return None;
        }
        let Range { address, bytes } = self.written.unwrap_or_default();
        let read = self.kind.bytes(self.elements);
        let operation = kernel(c"cublas_level2", self.kind, [read, bytes, self.elements.saturating_mul(2)]);
        Some(if bytes > 0 { operation.writes(address, bytes) } else { operation })
    }

    /// Puts it on the handle's stream.
    pub fn run(&self, context: &Context) -> Result<(), Error> {
        context.run(self.operation())
    }
}

/// A triangular matrix of `elements` elements at `a` times, or solved for, the vector `x` in place.
fn in_place<T: Element>(
    handle: Handle,
    options: [i32; 3],
    n: u64,
    elements: u64,
    a: Ptr<T>,
    x: Ptr<T>,
    incx: i64,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    choice(options[0]).and(choice(options[2]))?;
    transposed(options[1])?;
    let incx = step(incx)?;
    present(n > 0, &[a.address(), x.address()])?;
    Work { kind: T::KIND, elements, written: vector(x.address(), T::KIND, n, incx) }.run(context)
}

fn triangle<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    diag: i32,
    n: I,
    a: Ptr<T>,
    lda: I,
    x: Ptr<T>,
    incx: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let n = size(n)?;
    leading(lda, n)?;
    in_place(handle, [uplo, trans, diag], n, half(n), a, x, incx.into())
}

fn band<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    diag: i32,
    n: I,
    k: I,
    a: Ptr<T>,
    lda: I,
    x: Ptr<T>,
    incx: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let (n, width) = (size(n)?, size(k)?.saturating_add(1));
    leading(lda, width)?;
    in_place(handle, [uplo, trans, diag], n, width.saturating_mul(n), a, x, incx.into())
}

fn packed<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    trans: i32,
    diag: i32,
    n: I,
    a: Ptr<T>,
    x: Ptr<T>,
    incx: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let n = size(n)?;
    in_place(handle, [uplo, trans, diag], n, half(n), a, x, incx.into())
}

/// A symmetric matrix of `elements` elements at `a` times `x`, added to `y`.
fn symmetric<T: Element>(
    handle: Handle,
    uplo: i32,
    n: u64,
    elements: u64,
    [alpha, a, x, beta, y]: [Ptr<T>; 5],
    steps: [i64; 2],
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    choice(uplo)?;
    alpha.check().and(beta.check())?;
    let (_, incy) = (step(steps[0])?, step(steps[1])?);
    present(n > 0, &[a.address(), x.address(), y.address()])?;
    Work { kind: T::KIND, elements, written: vector(y.address(), T::KIND, n, incy) }.run(context)
}

fn symv<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    x: Ptr<T>,
    incx: I,
    beta: Ptr<T>,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let n = size(n)?;
    leading(lda, n)?;
    symmetric(handle, uplo, n, half(n), [alpha, a, x, beta, y], [incx.into(), incy.into()])
}

fn sbmv<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    x: Ptr<T>,
    incx: I,
    beta: Ptr<T>,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let (n, width) = (size(n)?, size(k)?.saturating_add(1));
    leading(lda, width)?;
    symmetric(handle, uplo, n, width.saturating_mul(n), [alpha, a, x, beta, y], [incx.into(), incy.into()])
}

fn spmv<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    x: Ptr<T>,
    incx: I,
    beta: Ptr<T>,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let n = size(n)?;
    symmetric(handle, uplo, n, half(n), [alpha, a, x, beta, y], [incx.into(), incy.into()])
}

fn ger<T: Element, I: Into<i64>>(
    handle: Handle,
    m: I,
    n: I,
    alpha: Ptr<T>,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
    a: Ptr<T>,
    lda: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check()?;
    let (m, n) = (size(m)?, size(n)?);
    let ld = leading(lda, m)?;
    step(incx).and(step(incy))?;
    present(m > 0 && n > 0, &[x.address(), y.address(), a.address()])?;
    let matrix = Matrix { address: a.address(), kind: T::KIND, minor: m, major: n, ld, batch: 1, stride: 0 };
    Work { kind: T::KIND, elements: m.saturating_mul(n), written: matrix.range() }.run(context)
}

/// An update of the triangle of a square matrix; `ld` is `None` where it is packed.
fn update<T: Element, S>(
    handle: Handle,
    uplo: i32,
    n: u64,
    alpha: Ptr<S>,
    vectors: &[(Ptr<T>, i64)],
    a: Ptr<T>,
    ld: Option<u64>,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    choice(uplo).and(alpha.check())?;
    for &(x, increment) in vectors {
        step(increment)?;
        present(n > 0, &[x.address(), a.address()])?;
    }
    let kind = T::KIND;
    let written = match ld {
        Some(ld) => Matrix { address: a.address(), kind, minor: n, major: n, ld, batch: 1, stride: 0 }.range(),
        None => vector(a.address(), kind, half(n), 1),
    };
    Work { kind, elements: half(n), written }.run(context)
}

fn syr<T: Element, S, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    alpha: Ptr<S>,
    x: Ptr<T>,
    incx: I,
    a: Ptr<T>,
    lda: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let n = size(n)?;
    let ld = leading(lda, n)?;
    update(handle, uplo, n, alpha, &[(x, incx.into())], a, Some(ld))
}

fn spr<T: Element, S, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    alpha: Ptr<S>,
    x: Ptr<T>,
    incx: I,
    a: Ptr<T>,
) -> Result<(), Error> {
    Context::of(handle)?;
    update(handle, uplo, size(n)?, alpha, &[(x, incx.into())], a, None)
}

fn syr2<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    alpha: Ptr<T>,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
    a: Ptr<T>,
    lda: I,
) -> Result<(), Error> {
    Context::of(handle)?;
    let n = size(n)?;
    let ld = leading(lda, n)?;
    update(handle, uplo, n, alpha, &[(x, incx.into()), (y, incy.into())], a, Some(ld))
}

fn spr2<T: Element, I: Into<i64>>(
    handle: Handle,
    uplo: i32,
    n: I,
    alpha: Ptr<T>,
    x: Ptr<T>,
    incx: I,
    y: Ptr<T>,
    incy: I,
    a: Ptr<T>,
) -> Result<(), Error> {
    Context::of(handle)?;
    update(handle, uplo, size(n)?, alpha, &[(x, incx.into()), (y, incy.into())], a, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_costs_its_bytes_and_an_empty_one_nothing() {
        let work = Work { kind: DataType::R_64F, elements: half(4), written: None };
        assert_eq!(work.operation().expect("work").dims[..3], [80, 0, 20]);
        assert!(Work { elements: 0, ..work }.operation().is_none());
    }
}
