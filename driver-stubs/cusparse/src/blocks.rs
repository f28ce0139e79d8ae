//! Block sparse matrices of the interface before the generic one: products and triangular solves.
//! Results read zero.

use crate::context::{Context, Handle, Info, MatDescr, context, read, size, transposed};
use crate::work::{range, run};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{Complex32, Complex64, Element, Matrix, Of, Ptr, typed};

typed! { Cusparse;
    bsrmv (handle: Handle, direction: i32, op: i32, mb: i32, nb: i32, nnzb: i32, alpha: Ptr<T>, descriptor: Of<MatDescr>,
           values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32, x: Ptr<T>, beta: Ptr<T>, y: Ptr<T>) {
        f32: cusparseSbsrmv;
        f64: cusparseDbsrmv;
        Complex32: cusparseCbsrmv;
        Complex64: cusparseZbsrmv;
    }
    bsrmm (handle: Handle, direction: i32, opa: i32, opb: i32, mb: i32, n: i32, kb: i32, nnzb: i32, alpha: Ptr<T>,
           descriptor: Of<MatDescr>, values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32, b: Ptr<T>,
           ldb: i32, beta: Ptr<T>, c: Ptr<T>, ldc: i32) {
        f32: cusparseSbsrmm;
        f64: cusparseDbsrmm;
        Complex32: cusparseCbsrmm;
        Complex64: cusparseZbsrmm;
    }
    bsrsv_size (handle: Handle, direction: i32, op: i32, mb: i32, nnzb: i32, descriptor: Of<MatDescr>, values: Ptr<T>,
                offsets: Ptr<i32>, columns: Ptr<i32>, block: i32, info: Of<Info>, bytes: Out<i32>) {
        f32: cusparseSbsrsv2_bufferSize;
        f64: cusparseDbsrsv2_bufferSize;
        Complex32: cusparseCbsrsv2_bufferSize;
        Complex64: cusparseZbsrsv2_bufferSize;
    }
    bsrsv_analysis (handle: Handle, direction: i32, op: i32, mb: i32, nnzb: i32, descriptor: Of<MatDescr>,
                    values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32, info: Of<Info>, policy: i32,
                    buffer: Ptr<u8>) {
        f32: cusparseSbsrsv2_analysis;
        f64: cusparseDbsrsv2_analysis;
        Complex32: cusparseCbsrsv2_analysis;
        Complex64: cusparseZbsrsv2_analysis;
    }
    bsrsv (handle: Handle, direction: i32, op: i32, mb: i32, nnzb: i32, alpha: Ptr<T>, descriptor: Of<MatDescr>,
           values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32, info: Of<Info>, f: Ptr<T>, x: Ptr<T>,
           policy: i32, buffer: Ptr<u8>) {
        f32: cusparseSbsrsv2_solve;
        f64: cusparseDbsrsv2_solve;
        Complex32: cusparseCbsrsv2_solve;
        Complex64: cusparseZbsrsv2_solve;
    }
    bsrsm_size (handle: Handle, direction: i32, opa: i32, opx: i32, mb: i32, n: i32, nnzb: i32,
                descriptor: Of<MatDescr>, values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32,
                info: Of<Info>, bytes: Out<i32>) {
        f32: cusparseSbsrsm2_bufferSize;
        f64: cusparseDbsrsm2_bufferSize;
        Complex32: cusparseCbsrsm2_bufferSize;
        Complex64: cusparseZbsrsm2_bufferSize;
    }
    bsrsm_analysis (handle: Handle, direction: i32, opa: i32, opx: i32, mb: i32, n: i32, nnzb: i32,
                    descriptor: Of<MatDescr>, values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32,
                    info: Of<Info>, policy: i32, buffer: Ptr<u8>) {
        f32: cusparseSbsrsm2_analysis;
        f64: cusparseDbsrsm2_analysis;
        Complex32: cusparseCbsrsm2_analysis;
        Complex64: cusparseZbsrsm2_analysis;
    }
    bsrsm (handle: Handle, direction: i32, opa: i32, opx: i32, mb: i32, n: i32, nnzb: i32, alpha: Ptr<T>,
           descriptor: Of<MatDescr>, values: Ptr<T>, offsets: Ptr<i32>, columns: Ptr<i32>, block: i32, info: Of<Info>,
           b: Ptr<T>, ldb: i32, x: Ptr<T>, ldx: i32, policy: i32, buffer: Ptr<u8>) {
        f32: cusparseSbsrsm2_solve;
        f64: cusparseDbsrsm2_solve;
        Complex32: cusparseCbsrsm2_solve;
        Complex64: cusparseZbsrsm2_solve;
    }
}

/// A block sparse operand, checked.
struct Blocks {
    context: Context,
    /// Rows in elements.
    rows: u64,
    /// Stored elements.
    elements: u64,
    /// Bytes of indices.
    indices: u64,
}

impl Blocks {
    fn of(handle: Handle, mb: i32, nnzb: i32, block: i32, descriptor: Of<MatDescr>) -> Result<Blocks, Error> {
        let context = context(handle)?;
        read(descriptor)?;
        let (mb, nnzb, block) = (size(mb)?, size(nnzb)?, size(block)?);
        if block == 0 {
            return Err(Error::InvalidValue);
        }
        let elements = nnzb.saturating_mul(block * block);
        Ok(Blocks { context, rows: mb * block, elements, indices: (mb + 1 + nnzb) * 4 })
    }

    /// Scratch of a solve: two words a row.
    fn scratch(&self) -> i32 {
        i32::try_from((self.rows * 8).max(1)).unwrap_or(i32::MAX)
    }

    /// The levels of dependent rows.
    fn analyse<T: Element>(&self, info: Of<Info>) -> Result<(), Error> {
        read(info)?;
        let cost = [self.indices, self.rows * 8, 0];
        run(&self.context, c"cusparse_bsr_analysis", T::KIND, cost, &[])
    }

    /// Multiplies with, or solves for, `columns` columns and writes `output`.
    fn run<T: Element>(
        &self,
        name: &'static std::ffi::CStr,
        columns: u64,
        output: Option<ghost_table::Range>,
    ) -> Result<(), Error> {
        let products = self.elements.saturating_mul(columns);
        // A block of the other operand serves a block, so it is read once a block row, not once an element.
        let read =
            T::KIND.bytes(self.elements).saturating_add(self.indices).saturating_add(T::KIND.bytes(products / 4));
        let written = T::KIND.bytes(self.rows.saturating_mul(columns));
        run(&self.context, name, T::KIND, [read, written, products.saturating_mul(2)], &[output])
    }
}

fn bsrmv<T: Element>(
    handle: Handle,
    _direction: i32,
    op: i32,
    mb: i32,
    nb: i32,
    nnzb: i32,
    alpha: Ptr<T>,
    descriptor: Of<MatDescr>,
    _values: Ptr<T>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    block: i32,
    _x: Ptr<T>,
    beta: Ptr<T>,
    y: Ptr<T>,
) -> Result<(), Error> {
    let blocks = Blocks::of(handle, mb, nnzb, block, descriptor)?;
    alpha.check().and(beta.check())?;
    let length = if transposed(op)? { size(nb)? * size(block)? } else { blocks.rows };
    blocks.run::<T>(c"cusparse_bsrmv", 1, range(y.address(), T::KIND.bytes(length)))
}

fn bsrmm<T: Element>(
    handle: Handle,
    _direction: i32,
    opa: i32,
    opb: i32,
    mb: i32,
    n: i32,
    kb: i32,
    nnzb: i32,
    alpha: Ptr<T>,
    descriptor: Of<MatDescr>,
    _values: Ptr<T>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    block: i32,
    _b: Ptr<T>,
    _ldb: i32,
    beta: Ptr<T>,
    c: Ptr<T>,
    ldc: i32,
) -> Result<(), Error> {
    let blocks = Blocks::of(handle, mb, nnzb, block, descriptor)?;
    alpha.check().and(beta.check())?;
    size(kb)?;
    if transposed(opa)? {
        return Err(Error::NotSupported);
    }
    transposed(opb)?;
    let n = size(n)?;
    blocks.run::<T>(c"cusparse_bsrmm", n, columns(c, blocks.rows, n, ldc)?)
}

/// A column-major result.
fn columns<T: Element>(c: Ptr<T>, rows: u64, n: u64, ld: i32) -> Result<Option<ghost_table::Range>, Error> {
    let ld = size(ld)?;
    if ld < rows {
        return Err(Error::InvalidValue);
    }
    Ok(Matrix { address: c.address(), kind: T::KIND, minor: rows, major: n, ld, batch: 1, stride: 0 }.range())
}

fn bsrsv_size<T: Element>(
    handle: Handle,
    _direction: i32,
    op: i32,
    mb: i32,
    nnzb: i32,
    descriptor: Of<MatDescr>,
    _values: Ptr<T>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    block: i32,
    info: Of<Info>,
    bytes: Out<i32>,
) -> Result<(), Error> {
    transposed(op)?;
    read(info)?;
    Ok(bytes.set(Blocks::of(handle, mb, nnzb, block, descriptor)?.scratch())?)
}

fn bsrsv_analysis<T: Element>(
    handle: Handle,
    _direction: i32,
    op: i32,
    mb: i32,
    nnzb: i32,
    descriptor: Of<MatDescr>,
    _values: Ptr<T>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    block: i32,
    info: Of<Info>,
    _policy: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    transposed(op)?;
    Blocks::of(handle, mb, nnzb, block, descriptor)?.analyse::<T>(info)
}

fn bsrsv<T: Element>(
    handle: Handle,
    _direction: i32,
    op: i32,
    mb: i32,
    nnzb: i32,
    alpha: Ptr<T>,
    descriptor: Of<MatDescr>,
    _values: Ptr<T>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    block: i32,
    info: Of<Info>,
    _f: Ptr<T>,
    x: Ptr<T>,
    _policy: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    transposed(op)?;
    read(info)?;
    alpha.check()?;
    let blocks = Blocks::of(handle, mb, nnzb, block, descriptor)?;
    blocks.run::<T>(c"cusparse_bsrsv", 1, range(x.address(), T::KIND.bytes(blocks.rows)))
}

fn bsrsm_size<T: Element>(
    handle: Handle,
    direction: i32,
    opa: i32,
    opx: i32,
    mb: i32,
    n: i32,
    nnzb: i32,
    descriptor: Of<MatDescr>,
    values: Ptr<T>,
    offsets: Ptr<i32>,
    columns: Ptr<i32>,
    block: i32,
    info: Of<Info>,
    bytes: Out<i32>,
) -> Result<(), Error> {
    transposed(opx)?;
    size(n)?;
    bsrsv_size(handle, direction, opa, mb, nnzb, descriptor, values, offsets, columns, block, info, bytes)
}

fn bsrsm_analysis<T: Element>(
    handle: Handle,
    direction: i32,
    opa: i32,
    opx: i32,
    mb: i32,
    n: i32,
    nnzb: i32,
    descriptor: Of<MatDescr>,
    values: Ptr<T>,
    offsets: Ptr<i32>,
    columns: Ptr<i32>,
    block: i32,
    info: Of<Info>,
    policy: i32,
    buffer: Ptr<u8>,
) -> Result<(), Error> {
    transposed(opx)?;
    size(n)?;
    bsrsv_analysis(handle, direction, opa, mb, nnzb, descriptor, values, offsets, columns, block, info, policy, buffer)
}

fn bsrsm<T: Element>(
    handle: Handle,
    _direction: i32,
    opa: i32,
    opx: i32,
    mb: i32,
    n: i32,
    nnzb: i32,
    alpha: Ptr<T>,
    descriptor: Of<MatDescr>,
    _values: Ptr<T>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    block: i32,
    info: Of<Info>,
    _b: Ptr<T>,
    _ldb: i32,
    x: Ptr<T>,
    ldx: i32,
    _policy: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    transposed(opa)?;
    read(info)?;
    alpha.check()?;
    let blocks = Blocks::of(handle, mb, nnzb, block, descriptor)?;
    let n = size(n)?;
    let (rows, major) = if transposed(opx)? { (n, blocks.rows) } else { (blocks.rows, n) };
    blocks.run::<T>(c"cusparse_bsrsm", n, columns(x, rows, major, ldx)?)
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
    fn a_solve_says_how_much_scratch_it_needs() {
        let (handle, info) = (Of::create(Context::default()), Of::create(Info));
        let of = |block, descriptor| {
            ask(|out| bsrsv_size::<f32>(handle, 0, 0, 10, 20, descriptor, at(0), at(0), at(0), block, info, out))
        };
        let alive = Of::create(MatDescr::default());
        assert_eq!((of(2, alive), of(0, alive)), (Ok(160), Err(Error::InvalidValue)));
        assert_eq!(of(2, Of::null()), Err(Error::InvalidValue));
    }

    #[test]
    fn a_narrow_result_is_refused() {
        assert!(columns::<f32>(at(64), 4, 2, 3).is_err());
        assert_eq!(columns::<f32>(at(64), 4, 2, 4).map(|range| range.map(|range| range.bytes)), Ok(Some(32)));
    }
}
