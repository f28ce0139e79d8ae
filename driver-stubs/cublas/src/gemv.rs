//! A general or banded matrix times a vector, alone and in batches.
//! Its work is priced as in `level2`.

use crate::check::{leading, present, size, step, transposed};
use crate::context::{Context, Handle};
use crate::element::{Bfloat, Complex32, Complex64, Element, Half};
use crate::level2::Work;
use ghost_blas::{Cublas, DataType, Error, Matrix, Ptr, first_pointers, vector};
use ghost_table::Range;

family! {
    gemv (handle: Handle, trans: i32, m: I, n: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I, beta: Ptr<T>,
          y: Ptr<T>, incy: I) {
        f32: cublasSgemv_v2 cublasSgemv_v2_64;
        f64: cublasDgemv_v2 cublasDgemv_v2_64;
        Complex32: cublasCgemv_v2 cublasCgemv_v2_64;
        Complex64: cublasZgemv_v2 cublasZgemv_v2_64;
    }
    gemv_strided (handle: Handle, trans: i32, m: I, n: I, alpha: Ptr<R>, a: Ptr<T>, lda: I, stride_a: i64, x: Ptr<T>,
                  incx: I, stride_x: i64, beta: Ptr<R>, y: Ptr<T>, incy: I, stride_y: i64, batch: I) {
        f32: cublasSgemvStridedBatched cublasSgemvStridedBatched_64;
        f64: cublasDgemvStridedBatched cublasDgemvStridedBatched_64;
        Complex32: cublasCgemvStridedBatched cublasCgemvStridedBatched_64;
        Complex64: cublasZgemvStridedBatched cublasZgemvStridedBatched_64;
        Half: cublasHSHgemvStridedBatched cublasHSHgemvStridedBatched_64;
        Bfloat: cublasTSTgemvStridedBatched cublasTSTgemvStridedBatched_64;
    }
    gemv_strided (handle: Handle, trans: i32, m: I, n: I, alpha: Ptr<f32>, a: Ptr<T>, lda: I, stride_a: i64,
                  x: Ptr<T>, incx: I, stride_x: i64, beta: Ptr<f32>, y: Ptr<f32>, incy: I, stride_y: i64, batch: I) {
        Half: cublasHSSgemvStridedBatched cublasHSSgemvStridedBatched_64;
        Bfloat: cublasTSSgemvStridedBatched cublasTSSgemvStridedBatched_64;
    }
    gemv_batched (handle: Handle, trans: i32, m: I, n: I, alpha: Ptr<R>, a: Ptr<*const T>, lda: I, x: Ptr<*const T>,
                  incx: I, beta: Ptr<R>, y: Ptr<*const T>, incy: I, batch: I) {
        f32: cublasSgemvBatched cublasSgemvBatched_64;
        f64: cublasDgemvBatched cublasDgemvBatched_64;
        Complex32: cublasCgemvBatched cublasCgemvBatched_64;
        Complex64: cublasZgemvBatched cublasZgemvBatched_64;
        Half: cublasHSHgemvBatched cublasHSHgemvBatched_64;
        Bfloat: cublasTSTgemvBatched cublasTSTgemvBatched_64;
    }
    gemv_batched (handle: Handle, trans: i32, m: I, n: I, alpha: Ptr<f32>, a: Ptr<*const T>, lda: I, x: Ptr<*const T>,
                  incx: I, beta: Ptr<f32>, y: Ptr<*const f32>, incy: I, batch: I) {
        Half: cublasHSSgemvBatched cublasHSSgemvBatched_64;
        Bfloat: cublasTSSgemvBatched cublasTSSgemvBatched_64;
    }
    gbmv (handle: Handle, trans: i32, m: I, n: I, kl: I, ku: I, alpha: Ptr<T>, a: Ptr<T>, lda: I, x: Ptr<T>, incx: I,
          beta: Ptr<T>, y: Ptr<T>, incy: I) {
        f32: cublasSgbmv_v2 cublasSgbmv_v2_64;
        f64: cublasDgbmv_v2 cublasDgbmv_v2_64;
        Complex32: cublasCgbmv_v2 cublasCgbmv_v2_64;
        Complex64: cublasZgbmv_v2 cublasZgbmv_v2_64;
    }
}

fn gemv<T: Element, I: Into<i64>>(
    handle: Handle,
    trans: i32,
    m: I,
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
    gemv_strided(
        handle,
        trans,
        m.into(),
        n.into(),
        alpha,
        a,
        lda.into(),
        0,
        x,
        incx.into(),
        0,
        beta,
        y,
        incy.into(),
        0,
        1,
    )
}

fn gemv_strided<T: Element, S, Y: Element, I: Into<i64>>(
    handle: Handle,
    trans: i32,
    m: I,
    n: I,
    alpha: Ptr<S>,
    a: Ptr<T>,
    lda: I,
    _stride_a: i64,
    x: Ptr<T>,
    incx: I,
    _stride_x: i64,
    beta: Ptr<S>,
    y: Ptr<Y>,
    incy: I,
    stride_y: i64,
    batch: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let shape = Gemv::check(trans, m.into(), n.into(), lda.into(), [incx.into(), incy.into()], batch.into())?;
    present(shape.elements() > 0, &[a.address(), x.address(), y.address()])?;
    let written = shape.result(y.address(), Y::KIND, shape.batch, stride_y);
    Work { kind: T::KIND, elements: shape.elements(), written }.run(context)
}

fn gemv_batched<T: Element, S, Y: Element, I: Into<i64>>(
    handle: Handle,
    trans: i32,
    m: I,
    n: I,
    alpha: Ptr<S>,
    a: Ptr<*const T>,
    lda: I,
    x: Ptr<*const T>,
    incx: I,
    beta: Ptr<S>,
    y: Ptr<*const Y>,
    incy: I,
    batch: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let shape = Gemv::check(trans, m.into(), n.into(), lda.into(), [incx.into(), incy.into()], batch.into())?;
    present(shape.elements() > 0, &[a.address(), x.address(), y.address()])?;
    let Some(operation) = (Work { kind: T::KIND, elements: shape.elements(), written: None }).operation() else {
        return Ok(());
    };
    let results = first_pointers(y.address(), shape.batch);
    let ranges = results.iter().filter_map(|&address| shape.result(address, Y::KIND, 1, 0));
    context.run(Some(ranges.fold(operation, |operation, range| operation.writes(range.address, range.bytes))))
}

/// The checked shape of a matrix-vector product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gemv {
    m: u64,
    n: u64,
    /// Elements of y and the step between them.
    y: (u64, i64),
    batch: u64,
}

impl Gemv {
    fn check(trans: i32, m: i64, n: i64, lda: i64, steps: [i64; 2], batch: i64) -> Result<Gemv, Error> {
        let (transposed, m, n, batch) = (transposed(trans)?, size(m)?, size(n)?, size(batch)?);
        leading(lda, m)?;
        step(steps[0])?;
        Ok(Gemv { m, n, y: (if transposed { n } else { m }, step(steps[1])?), batch })
    }

    fn elements(&self) -> u64 {
        self.m.saturating_mul(self.n).saturating_mul(self.batch)
    }

    fn result(&self, address: u64, kind: DataType, batch: u64, stride: i64) -> Option<Range> {
        let (major, step) = self.y;
        Matrix { address, kind, minor: 1, major, ld: step.unsigned_abs(), batch, stride }.range()
    }
}

fn gbmv<T: Element, I: Into<i64>>(
    handle: Handle,
    trans: i32,
    m: I,
    n: I,
    kl: I,
    ku: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    x: Ptr<T>,
    incx: I,
    beta: Ptr<T>,
    y: Ptr<T>,
    incy: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let (is_transposed, m, n) = (transposed(trans)?, size(m)?, size(n)?);
    let width = size(kl)?.saturating_add(size(ku)?).saturating_add(1);
    leading(lda, width)?;
    let (_, incy) = (step(incx)?, step(incy)?);
    let elements = if m == 0 { 0 } else { width.saturating_mul(n) };
    present(elements > 0, &[a.address(), x.address(), y.address()])?;
    let written = vector(y.address(), T::KIND, if is_transposed { n } else { m }, incy);
    Work { kind: T::KIND, elements, written }.run(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_product_is_as_long_as_the_other_side_of_the_matrix() {
        let plain = Gemv::check(0, 5, 3, 8, [1, 2], 1).expect("good arguments");
        assert_eq!(plain.result(0x1000, DataType::R_32F, 1, 0), Some(Range { address: 0x1000, bytes: 9 * 4 }));
        let transposed = Gemv::check(1, 5, 3, 8, [1, 2], 1).expect("good arguments");
        assert_eq!(transposed.result(0x1000, DataType::R_32F, 1, 0), Some(Range { address: 0x1000, bytes: 5 * 4 }));
    }

    #[test]
    fn bad_shapes_are_refused() {
        assert_eq!(Gemv::check(0, 5, 3, 4, [1, 1], 1), Err(Error::InvalidValue));
        assert_eq!(Gemv::check(0, 5, 3, 5, [0, 1], 1), Err(Error::InvalidValue));
        assert_eq!(Gemv::check(0, -5, 3, 5, [1, 1], 1), Err(Error::InvalidValue));
    }
}
