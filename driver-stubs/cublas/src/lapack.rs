//! Small factorisations and solves in batches, and changes of triangle storage.
//! Nothing is factorised: infos read 0 (success), pivots and factors read zero.

use crate::check::{choice, half, leading, present, size, transposed};
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element};
use ghost_blas::{Cublas, DataType, Error, Matrix, Ptr, first_pointers, kernel, vector};
use ghost_table::Range;

family! {
    getrf (handle: Handle, n: i32, a: Ptr<*const T>, lda: i32, pivots: Ptr<i32>, info: Ptr<i32>, batch: i32) {
        f32: cublasSgetrfBatched;
        f64: cublasDgetrfBatched;
        Complex32: cublasCgetrfBatched;
        Complex64: cublasZgetrfBatched;
    }
    getri (handle: Handle, n: i32, a: Ptr<*const T>, lda: i32, pivots: Ptr<i32>, c: Ptr<*const T>, ldc: i32,
           info: Ptr<i32>, batch: i32) {
        f32: cublasSgetriBatched;
        f64: cublasDgetriBatched;
        Complex32: cublasCgetriBatched;
        Complex64: cublasZgetriBatched;
    }
    matinv (handle: Handle, n: i32, a: Ptr<*const T>, lda: i32, inverse: Ptr<*const T>, ldi: i32, info: Ptr<i32>,
            batch: i32) {
        f32: cublasSmatinvBatched;
        f64: cublasDmatinvBatched;
        Complex32: cublasCmatinvBatched;
        Complex64: cublasZmatinvBatched;
    }
    getrs (handle: Handle, trans: i32, n: i32, nrhs: i32, a: Ptr<*const T>, lda: i32, pivots: Ptr<i32>,
           b: Ptr<*const T>, ldb: i32, info: Ptr<i32>, batch: i32) {
        f32: cublasSgetrsBatched;
        f64: cublasDgetrsBatched;
        Complex32: cublasCgetrsBatched;
        Complex64: cublasZgetrsBatched;
    }
    geqrf (handle: Handle, m: i32, n: i32, a: Ptr<*const T>, lda: i32, tau: Ptr<*const T>, info: Ptr<i32>,
           batch: i32) {
        f32: cublasSgeqrfBatched;
        f64: cublasDgeqrfBatched;
        Complex32: cublasCgeqrfBatched;
        Complex64: cublasZgeqrfBatched;
    }
    gels (handle: Handle, trans: i32, m: i32, n: i32, nrhs: i32, a: Ptr<*const T>, lda: i32, c: Ptr<*const T>,
          ldc: i32, info: Ptr<i32>, device_info: Ptr<i32>, batch: i32) {
        f32: cublasSgelsBatched;
        f64: cublasDgelsBatched;
        Complex32: cublasCgelsBatched;
        Complex64: cublasZgelsBatched;
    }
    unpack (handle: Handle, uplo: i32, n: i32, packed: Ptr<T>, a: Ptr<T>, lda: i32) {
        f32: cublasStpttr;
        f64: cublasDtpttr;
        Complex32: cublasCtpttr;
        Complex64: cublasZtpttr;
    }
    pack (handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, packed: Ptr<T>) {
        f32: cublasStrttp;
        f64: cublasDtrttp;
        Complex32: cublasCtrttp;
        Complex64: cublasZtrttp;
    }
}

/// A batch of small matrix problems.
struct Batch {
    kind: DataType,
    /// Elements read, elements written and operations of one problem.
    one: [u64; 3],
    count: u64,
}

/// Matrices behind an array of pointers in device memory: their shape, without an address.
fn shape(kind: DataType, rows: u64, columns: u64, ld: u64) -> Matrix {
    Matrix { address: 0, kind, minor: rows, major: columns, ld, batch: 1, stride: 0 }
}

impl Batch {
    /// Runs it; it writes `known` and, of the matrices behind `array`, those whose pointers are known. An operation
    /// names four outputs at most.
    fn run(&self, context: &Context, known: &[Option<Range>], array: u64, matrix: Matrix) -> Result<(), Error> {
        if self.count == 0 || self.one[1] == 0 {
            return Ok(());
        }
        let [read, written, flops] = self.one.map(|of_one| of_one.saturating_mul(self.count));
        let operation =
            kernel(c"cublas_small_batch", self.kind, [self.kind.bytes(read), self.kind.bytes(written), flops]);
        let matrices = first_pointers(array, self.count).map(|address| Matrix { address, ..matrix }.range());
        let ranges = known.iter().copied().chain(matrices).flatten();
        context.run(Some(ranges.fold(operation, |operation, range| operation.writes(range.address, range.bytes))))
    }
}

/// n^3 x `numerator` / 3, the leading term of the usual counts.
fn thirds(n: u64, numerator: u64) -> u64 {
    n.saturating_pow(3).saturating_mul(numerator) / 3
}

fn square(n: u64) -> u64 {
    n.saturating_mul(n)
}

/// `count` integers in device memory.
fn integers(address: u64, count: u64) -> Option<Range> {
    vector(address, DataType::R_32I, count, 1)
}

fn getrf<T: Element>(
    handle: Handle,
    n: i32,
    a: Ptr<*const T>,
    lda: i32,
    pivots: Ptr<i32>,
    info: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let (n, count) = (size(n)?, size(batch)?);
    let ld = leading(lda, n)?;
    present(n > 0 && count > 0, &[a.address(), info.address()])?;
    let known = [integers(info.address(), count), integers(pivots.address(), n.saturating_mul(count))];
    let batch = Batch { kind: T::KIND, one: [square(n), square(n), thirds(n, 2)], count };
    batch.run(context, &known, a.address(), shape(T::KIND, n, n, ld))
}

fn getri<T: Element>(
    handle: Handle,
    n: i32,
    a: Ptr<*const T>,
    lda: i32,
    _pivots: Ptr<i32>,
    c: Ptr<*const T>,
    ldc: i32,
    info: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    invert(handle, [n, lda, ldc, batch], a, c, info, 4)
}

fn matinv<T: Element>(
    handle: Handle,
    n: i32,
    a: Ptr<*const T>,
    lda: i32,
    inverse: Ptr<*const T>,
    ldi: i32,
    info: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    /// The largest matrix the combined call takes.
    const LARGEST: i32 = 32;
    Context::of(handle)?;
    if n > LARGEST {
        return Err(Error::InvalidValue);
    }
    invert(handle, [n, lda, ldi, batch], a, inverse, info, 6)
}

/// An inversion of `work` / 3 times n^3 operations; infos are in device memory.
fn invert<T: Element>(
    handle: Handle,
    [n, lda, ldc, batch]: [i32; 4],
    a: Ptr<*const T>,
    c: Ptr<*const T>,
    info: Ptr<i32>,
    work: u64,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    let (n, count) = (size(n)?, size(batch)?);
    leading(lda, n)?;
    let ld = leading(ldc, n)?;
    present(n > 0 && count > 0, &[a.address(), c.address(), info.address()])?;
    let batch = Batch { kind: T::KIND, one: [square(n), square(n), thirds(n, work)], count };
    batch.run(context, &[integers(info.address(), count)], c.address(), shape(T::KIND, n, n, ld))
}

/// The info of the next three is one number in host memory about the arguments: 0, or minus the place of a bad one.
fn getrs<T: Element>(
    handle: Handle,
    trans: i32,
    n: i32,
    nrhs: i32,
    a: Ptr<*const T>,
    lda: i32,
    _pivots: Ptr<i32>,
    b: Ptr<*const T>,
    ldb: i32,
    info: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    info.store(0)?;
    transposed(trans)?;
    let (n, nrhs, count) = (size(n)?, size(nrhs)?, size(batch)?);
    leading(lda, n)?;
    let ld = leading(ldb, n)?;
    present(n > 0 && nrhs > 0 && count > 0, &[a.address(), b.address()])?;
    let sides = n.saturating_mul(nrhs);
    let one = [square(n).saturating_add(sides), sides, square(n).saturating_mul(2 * nrhs)];
    Batch { kind: T::KIND, one, count }.run(context, &[], b.address(), shape(T::KIND, n, nrhs, ld))
}

fn geqrf<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    a: Ptr<*const T>,
    lda: i32,
    tau: Ptr<*const T>,
    info: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    info.store(0)?;
    let (m, n, count) = (size(m)?, size(n)?, size(batch)?);
    let ld = leading(lda, m)?;
    let elements = m.saturating_mul(n);
    present(elements > 0 && count > 0, &[a.address(), tau.address()])?;
    let one = [elements, elements, elements.saturating_mul(2 * m.min(n))];
    Batch { kind: T::KIND, one, count }.run(context, &[], a.address(), shape(T::KIND, m, n, ld))
}

fn gels<T: Element>(
    handle: Handle,
    trans: i32,
    m: i32,
    n: i32,
    nrhs: i32,
    a: Ptr<*const T>,
    lda: i32,
    c: Ptr<*const T>,
    ldc: i32,
    info: Ptr<i32>,
    device_info: Ptr<i32>,
    batch: i32,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    info.store(0)?;
    if transposed(trans)? {
        return Err(Error::NotSupported);
    }
    let (m, n, nrhs, count) = (size(m)?, size(n)?, size(nrhs)?, size(batch)?);
    leading(lda, m)?;
    let ld = leading(ldc, m.max(n))?;
    let elements = m.saturating_mul(n);
    present(elements > 0 && count > 0, &[a.address(), c.address()])?;
    let one = [elements, m.saturating_mul(nrhs), elements.saturating_mul(2 * (n + nrhs))];
    let known = [integers(device_info.address(), count)];
    Batch { kind: T::KIND, one, count }.run(context, &known, c.address(), shape(T::KIND, m, nrhs, ld))
}

fn unpack<T: Element>(handle: Handle, uplo: i32, n: i32, packed: Ptr<T>, a: Ptr<T>, lda: i32) -> Result<(), Error> {
    let n = size(n)?;
    let written = Matrix { address: a.address(), ..shape(T::KIND, n, n, leading(lda, n)?) }.range();
    change(handle, uplo, T::KIND, n, [packed.address(), a.address()], written)
}

fn pack<T: Element>(handle: Handle, uplo: i32, n: i32, a: Ptr<T>, lda: i32, packed: Ptr<T>) -> Result<(), Error> {
    let n = size(n)?;
    leading(lda, n)?;
    let written = vector(packed.address(), T::KIND, half(n), 1);
    change(handle, uplo, T::KIND, n, [a.address(), packed.address()], written)
}

/// Moves a triangle from one storage to the other.
fn change(
    handle: Handle,
    uplo: i32,
    kind: DataType,
    n: u64,
    addresses: [u64; 2],
    written: Option<Range>,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    choice(uplo)?;
    present(n > 0, &addresses)?;
    let Some(range) = written else { return Ok(()) };
    let bytes = kind.bytes(half(n));
    context.run(Some(kernel(c"cublas_triangle", kind, [bytes, bytes, 0]).writes(range.address, range.bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<T>(address: usize) -> Ptr<T> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn an_empty_batch_writes_its_host_info_and_does_nothing() {
        let handle = Handle::of(Context::create());
        let mut info = -7;
        // SAFETY: `info` outlives the call.
        let place = unsafe { Ptr::from_raw(&raw mut info) };
        assert_eq!(getrs::<f64>(handle, 0, 4, 1, at(0), 4, at(0), at(0), 4, place, 0), Ok(()));
        assert_eq!(info, 0);
    }

    #[test]
    fn bad_shapes_are_refused() {
        let handle = Handle::of(Context::create());
        assert_eq!(getrf::<f32>(handle, 4, at(0x100), 3, at(0), at(0x200), 1), Err(Error::InvalidValue));
        assert_eq!(getrf::<f32>(handle, 4, at(0x100), 4, at(0), at(0), 1), Err(Error::InvalidValue));
        assert_eq!(matinv::<f32>(handle, 33, at(0x100), 33, at(0x100), 33, at(0x100), 1), Err(Error::InvalidValue));
        assert_eq!(thirds(3, 2), 18);
    }
}
