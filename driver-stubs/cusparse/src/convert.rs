//! Changes between sparse formats, sorts, and sums of two sparse matrices.
//! Indices and values read zero, but an identity permutation is one; a sum has as many elements as two patterns that know nothing of each other.

use crate::context::{Context, Handle, MatDescr, context, read, size};
use crate::work::{range, run, sort, union};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{Complex32, Complex64, DataType, Element, Of, Ptr, typed, write_sequence};

ghost_abi::rows! { Cusparse;
    fn cusparseXcoo2csr(handle: Handle, rows: Ptr<i32>, nnz: i32, m: i32, offsets: Ptr<i32>, base: i32) => coo2csr;
    fn cusparseXcsr2coo(handle: Handle, offsets: Ptr<i32>, nnz: i32, m: i32, rows: Ptr<i32>, base: i32) => csr2coo;
    fn cusparseCreateIdentityPermutation(handle: Handle, n: i32, p: Ptr<i32>) => identity;
    fn cusparseXcoosort_bufferSizeExt(handle: Handle, m: i32, n: i32, nnz: i32, rows: Ptr<i32>, columns: Ptr<i32>,
        bytes: Out<usize>) => sort_size;
    fn cusparseXcoosortByRow(handle: Handle, m: i32, n: i32, nnz: i32, rows: Ptr<i32>, columns: Ptr<i32>, p: Ptr<i32>,
        buffer: Ptr<u8>) => coo_sort;
    fn cusparseXcoosortByColumn(handle: Handle, m: i32, n: i32, nnz: i32, rows: Ptr<i32>, columns: Ptr<i32>,
        p: Ptr<i32>, buffer: Ptr<u8>) => coo_sort;
    fn cusparseXcsrsort_bufferSizeExt(handle: Handle, m: i32, n: i32, nnz: i32, offsets: Ptr<i32>, columns: Ptr<i32>,
        bytes: Out<usize>) => sort_size;
    fn cusparseXcsrsort(handle: Handle, m: i32, n: i32, nnz: i32, descriptor: Of<MatDescr>, offsets: Ptr<i32>,
        columns: Ptr<i32>, p: Ptr<i32>, buffer: Ptr<u8>) => csr_sort;
    fn cusparseXcscsort_bufferSizeExt(handle: Handle, m: i32, n: i32, nnz: i32, offsets: Ptr<i32>, rows: Ptr<i32>,
        bytes: Out<usize>) => sort_size;
    fn cusparseXcscsort(handle: Handle, m: i32, n: i32, nnz: i32, descriptor: Of<MatDescr>, offsets: Ptr<i32>,
        rows: Ptr<i32>, p: Ptr<i32>, buffer: Ptr<u8>) => csr_sort;
    fn cusparseCsr2cscEx2_bufferSize(handle: Handle, m: i32, n: i32, nnz: i32, values: Ptr<u8>, offsets: Ptr<i32>,
        columns: Ptr<i32>, to_values: Ptr<u8>, to_offsets: Ptr<i32>, to_rows: Ptr<i32>, kind: DataType, action: i32,
        base: i32, algorithm: i32, bytes: Out<usize>) => csr2csc_size;
    fn cusparseCsr2cscEx2(handle: Handle, m: i32, n: i32, nnz: i32, values: Ptr<u8>, offsets: Ptr<i32>,
        columns: Ptr<i32>, to_values: Ptr<u8>, to_offsets: Ptr<i32>, to_rows: Ptr<i32>, kind: DataType, action: i32,
        base: i32, algorithm: i32, buffer: Ptr<u8>) => csr2csc;
    fn cusparseXcsrgeam2Nnz(handle: Handle, m: i32, n: i32, da: Of<MatDescr>, annz: i32, aoffsets: Ptr<i32>,
        acolumns: Ptr<i32>, db: Of<MatDescr>, bnnz: i32, boffsets: Ptr<i32>, bcolumns: Ptr<i32>, dc: Of<MatDescr>,
        coffsets: Ptr<i32>, total: Ptr<i32>, work: Ptr<u8>) => geam_nnz;
}

typed! { Cusparse;
    geam_size (handle: Handle, m: i32, n: i32, alpha: Ptr<T>, da: Of<MatDescr>, annz: i32, a: Ptr<T>,
               aoffsets: Ptr<i32>, acolumns: Ptr<i32>, beta: Ptr<T>, db: Of<MatDescr>, bnnz: i32, b: Ptr<T>,
               boffsets: Ptr<i32>, bcolumns: Ptr<i32>, dc: Of<MatDescr>, c: Ptr<T>, coffsets: Ptr<i32>,
               ccolumns: Ptr<i32>, bytes: Out<usize>) {
        f32: cusparseScsrgeam2_bufferSizeExt;
        f64: cusparseDcsrgeam2_bufferSizeExt;
        Complex32: cusparseCcsrgeam2_bufferSizeExt;
        Complex64: cusparseZcsrgeam2_bufferSizeExt;
    }
    geam (handle: Handle, m: i32, n: i32, alpha: Ptr<T>, da: Of<MatDescr>, annz: i32, a: Ptr<T>, aoffsets: Ptr<i32>,
          acolumns: Ptr<i32>, beta: Ptr<T>, db: Of<MatDescr>, bnnz: i32, b: Ptr<T>, boffsets: Ptr<i32>,
          bcolumns: Ptr<i32>, dc: Of<MatDescr>, c: Ptr<T>, coffsets: Ptr<i32>, ccolumns: Ptr<i32>, buffer: Ptr<u8>) {
        f32: cusparseScsrgeam2;
        f64: cusparseDcsrgeam2;
        Complex32: cusparseCcsrgeam2;
        Complex64: cusparseZcsrgeam2;
    }
}

/// Bytes of an index.
const INDEX: u64 = 4;

fn coo2csr(handle: Handle, rows: Ptr<i32>, nnz: i32, m: i32, offsets: Ptr<i32>, _base: i32) -> Result<(), Error> {
    let written = (size(m)? + 1) * INDEX;
    indices(handle, c"cusparse_coo2csr", rows, nnz, (offsets, written))
}

fn csr2coo(handle: Handle, offsets: Ptr<i32>, nnz: i32, m: i32, rows: Ptr<i32>, _base: i32) -> Result<(), Error> {
    let written = size(nnz)? * INDEX;
    indices(handle, c"cusparse_csr2coo", offsets, m, (rows, written))
}

/// Reads `count` indices and writes others.
fn indices(
    handle: Handle,
    name: &'static std::ffi::CStr,
    from: Ptr<i32>,
    count: i32,
    (to, written): (Ptr<i32>, u64),
) -> Result<(), Error> {
    let context = context(handle)?;
    let read = size(count)? * INDEX;
    if to.is_null() || (from.is_null() && read > 0) {
        return Err(Error::InvalidValue);
    }
    run(&context, name, DataType::R_32I, [read, written, 0], &[range(to.address(), written)])
}

/// A small one is really there: callers index with it.
fn identity(handle: Handle, n: i32, p: Ptr<i32>) -> Result<(), Error> {
    let context = context(handle)?;
    p.check()?;
    let bytes = size(n)? * INDEX;
    run(&context, c"cusparse_identity", DataType::R_32I, [0, bytes, 0], &[])?;
    write_sequence(p.address(), 0, size(n)?, INDEX as usize);
    Ok(())
}

fn sort_size(
    handle: Handle,
    m: i32,
    n: i32,
    nnz: i32,
    _rows: Ptr<i32>,
    _columns: Ptr<i32>,
    bytes: Out<usize>,
) -> Result<(), Error> {
    context(handle)?;
    size(m).and(size(n))?;
    Ok(bytes.set((size(nnz)? * 4 * INDEX).max(1) as usize)?)
}

fn coo_sort(
    handle: Handle,
    m: i32,
    n: i32,
    nnz: i32,
    rows: Ptr<i32>,
    columns: Ptr<i32>,
    p: Ptr<i32>,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    sorted(handle, [m, n, nnz], &[rows, columns, p])
}

fn csr_sort(
    handle: Handle,
    m: i32,
    n: i32,
    nnz: i32,
    descriptor: Of<MatDescr>,
    _offsets: Ptr<i32>,
    columns: Ptr<i32>,
    p: Ptr<i32>,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    read(descriptor)?;
    sorted(handle, [m, n, nnz], &[columns, p])
}

/// Sorts arrays of `nnz` indices; a missing one is not sorted along.
fn sorted(handle: Handle, [m, n, nnz]: [i32; 3], arrays: &[Ptr<i32>]) -> Result<(), Error> {
    let context = context(handle)?;
    size(m).and(size(n))?;
    let bytes = size(nnz)? * INDEX;
    let places: Vec<_> = arrays.iter().map(|array| range(array.address(), bytes)).collect();
    let moved = bytes * places.iter().flatten().count() as u64;
    run(&context, c"cusparse_sort", DataType::R_32I, sort(moved), &places)
}

fn csr2csc_size(
    handle: Handle,
    m: i32,
    n: i32,
    nnz: i32,
    _values: Ptr<u8>,
    offsets: Ptr<i32>,
    columns: Ptr<i32>,
    _to_values: Ptr<u8>,
    _to_offsets: Ptr<i32>,
    _to_rows: Ptr<i32>,
    kind: DataType,
    _action: i32,
    _base: i32,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    kind.bits().ok_or(Error::InvalidValue)?;
    sort_size(handle, m, n, nnz, offsets, columns, bytes)
}

fn csr2csc(
    handle: Handle,
    m: i32,
    n: i32,
    nnz: i32,
    _values: Ptr<u8>,
    _offsets: Ptr<i32>,
    _columns: Ptr<i32>,
    to_values: Ptr<u8>,
    to_offsets: Ptr<i32>,
    to_rows: Ptr<i32>,
    kind: DataType,
    action: i32,
    _base: i32,
    _algorithm: i32,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let context = context(handle)?;
    size(m)?;
    let (offsets, nnz) = ((size(n)? + 1) * INDEX, size(nnz)?);
    let values = if action == 1 { kind.bytes(nnz) } else { 0 };
    let [read, written, _] = sort(nnz * INDEX);
    let outputs = [
        range(to_offsets.address(), offsets),
        range(to_rows.address(), nnz * INDEX),
        range(to_values.address(), values),
    ];
    run(&context, c"cusparse_csr2csc", kind, [read + values, written + values + offsets, 0], &outputs)
}

/// The three descriptors of a sum must be alive.
fn sum_operands(handle: Handle, descriptors: [Of<MatDescr>; 3], sizes: [i32; 4]) -> Result<(Context, [u64; 4]), Error> {
    let context = context(handle)?;
    for descriptor in descriptors {
        read(descriptor)?;
    }
    let [m, n, a, b] = sizes;
    Ok((context, [size(m)?, size(n)?, size(a)?, size(b)?]))
}

fn geam_size<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    _alpha: Ptr<T>,
    da: Of<MatDescr>,
    annz: i32,
    _a: Ptr<T>,
    _aoffsets: Ptr<i32>,
    _acolumns: Ptr<i32>,
    _beta: Ptr<T>,
    db: Of<MatDescr>,
    bnnz: i32,
    _b: Ptr<T>,
    _boffsets: Ptr<i32>,
    _bcolumns: Ptr<i32>,
    dc: Of<MatDescr>,
    _c: Ptr<T>,
    _coffsets: Ptr<i32>,
    _ccolumns: Ptr<i32>,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (_, [rows, ..]) = sum_operands(handle, [da, db, dc], [m, n, annz, bnnz])?;
    Ok(bytes.set(((rows + 1) * INDEX) as usize)?)
}

/// Writes the number of elements to the host, or lets it read zero on the device.
fn geam_nnz(
    handle: Handle,
    m: i32,
    n: i32,
    da: Of<MatDescr>,
    annz: i32,
    _aoffsets: Ptr<i32>,
    _acolumns: Ptr<i32>,
    db: Of<MatDescr>,
    bnnz: i32,
    _boffsets: Ptr<i32>,
    _bcolumns: Ptr<i32>,
    dc: Of<MatDescr>,
    coffsets: Ptr<i32>,
    total: Ptr<i32>,
    _work: Ptr<u8>,
) -> Result<(), Error> {
    let (context, [m, n, a, b]) = sum_operands(handle, [da, db, dc], [m, n, annz, bnnz])?;
    total.check()?;
    let offsets = (m + 1) * INDEX;
    let is_host = context.pointer_mode == 0;
    let counted = if is_host { None } else { range(total.address(), INDEX) };
    let cost = [(a + b) * INDEX + 2 * offsets, offsets, 0];
    run(&context, c"cusparse_geam_nnz", DataType::R_32I, cost, &[range(coffsets.address(), offsets), counted])?;
    if is_host {
        total.store(i32::try_from(union(a, b, m.saturating_mul(n))).unwrap_or(i32::MAX))?;
    }
    Ok(())
}

fn geam<T: Element>(
    handle: Handle,
    m: i32,
    n: i32,
    alpha: Ptr<T>,
    da: Of<MatDescr>,
    annz: i32,
    _a: Ptr<T>,
    _aoffsets: Ptr<i32>,
    _acolumns: Ptr<i32>,
    beta: Ptr<T>,
    db: Of<MatDescr>,
    bnnz: i32,
    _b: Ptr<T>,
    _boffsets: Ptr<i32>,
    _bcolumns: Ptr<i32>,
    dc: Of<MatDescr>,
    c: Ptr<T>,
    coffsets: Ptr<i32>,
    ccolumns: Ptr<i32>,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, [m, n, a, b]) = sum_operands(handle, [da, db, dc], [m, n, annz, bnnz])?;
    alpha.check().and(beta.check())?;
    let nnz = union(a, b, m.saturating_mul(n));
    let element = T::KIND.bytes(1) + INDEX;
    let outputs = [
        range(c.address(), T::KIND.bytes(nnz)),
        range(ccolumns.address(), nnz * INDEX),
        range(coffsets.address(), (m + 1) * INDEX),
    ];
    run(&context, c"cusparse_geam", T::KIND, [(a + b) * element, nnz * element, a + b + nnz], &outputs)
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
    fn sizes_are_written_and_checked() {
        let handle = Of::create(Context::default());
        assert_eq!(ask(|out| sort_size(handle, 4, 4, 10, at(0), at(0), out)), Ok(160));
        assert_eq!(ask(|out| sort_size(handle, 4, -4, 10, at(0), at(0), out)), Err(Error::InvalidValue));
        assert_eq!(coo2csr(handle, at(64), 4, 4, at(0), 0), Err(Error::InvalidValue));
        assert_eq!(identity(Of::null(), 4, at(64)), Err(Error::NotInitialized));
    }

    #[test]
    fn a_sum_needs_live_descriptors() {
        let handle = Of::create(Context::default());
        let alive = || Of::create(MatDescr::default());
        assert!(sum_operands(handle, [alive(), alive(), alive()], [2, 2, 1, 1]).is_ok());
        assert!(sum_operands(handle, [alive(), Of::null(), alive()], [2, 2, 1, 1]).is_err());
    }
}
