//! Descriptors of sparse matrices of every format.
//! It plans no operation.

use crate::context::{SpMat, change, end, give, read, size};
use crate::dense::known;
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{DataType, Of, Ptr};

ghost_abi::rows! { Cusparse;
    fn cusparseDestroySpMat(matrix: Of<SpMat>) => destroy;
    fn cusparseSpMatGetFormat(matrix: Of<SpMat>, format: Out<i32>) => format;
    fn cusparseSpMatGetIndexBase(matrix: Of<SpMat>, base: Out<i32>) => base;
    fn cusparseSpMatGetValues(matrix: Of<SpMat>, values: Out<u64>) => values;
    fn cusparseConstSpMatGetValues(matrix: Of<SpMat>, values: Out<u64>) => values;
    fn cusparseSpMatSetValues(matrix: Of<SpMat>, values: Ptr<u8>) => set_values;
    fn cusparseSpMatGetSize(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>) => get_size;
    fn cusparseSpMatGetStridedBatch(matrix: Of<SpMat>, batch: Out<i32>) => batch;
    fn cusparseCooSetStridedBatch(matrix: Of<SpMat>, batch: i32, stride: i64) => set_coo_batch;
    fn cusparseCsrSetStridedBatch(matrix: Of<SpMat>, batch: i32, offsets: i64, columns: i64) => set_csr_batch;
    fn cusparseBsrSetStridedBatch(matrix: Of<SpMat>, batch: i32, offsets: i64, columns: i64, values: i64)
        => set_bsr_batch;
    fn cusparseSpMatGetAttribute(matrix: Of<SpMat>, attribute: i32, data: Ptr<i32>, bytes: usize) => attribute;
    fn cusparseSpMatSetAttribute(matrix: Of<SpMat>, attribute: i32, data: Ptr<i32>, bytes: usize) => set_attribute;
    fn cusparseCreateCsr(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, offsets: Ptr<u8>, columns: Ptr<u8>,
        values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType) => create_csr;
    fn cusparseCreateConstCsr(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, offsets: Ptr<u8>,
        columns: Ptr<u8>, values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType) => create_csr;
    fn cusparseCreateCsc(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, offsets: Ptr<u8>, columns: Ptr<u8>,
        values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType) => create_csc;
    fn cusparseCreateConstCsc(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, offsets: Ptr<u8>,
        columns: Ptr<u8>, values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType) => create_csc;
    fn cusparseCsrGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>, offsets: Out<u64>,
        columns: Out<u64>, values: Out<u64>, offset: Out<i32>, column: Out<i32>, base: Out<i32>, kind: Out<i32>)
        => get_compressed;
    fn cusparseConstCsrGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>, offsets: Out<u64>,
        columns: Out<u64>, values: Out<u64>, offset: Out<i32>, column: Out<i32>, base: Out<i32>, kind: Out<i32>)
        => get_compressed;
    fn cusparseCscGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>, offsets: Out<u64>,
        columns: Out<u64>, values: Out<u64>, offset: Out<i32>, column: Out<i32>, base: Out<i32>, kind: Out<i32>)
        => get_compressed;
    fn cusparseConstCscGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>, offsets: Out<u64>,
        columns: Out<u64>, values: Out<u64>, offset: Out<i32>, column: Out<i32>, base: Out<i32>, kind: Out<i32>)
        => get_compressed;
    fn cusparseCsrSetPointers(matrix: Of<SpMat>, offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>) => set_pointers;
    fn cusparseCscSetPointers(matrix: Of<SpMat>, offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>) => set_pointers;
    fn cusparseCooSetPointers(matrix: Of<SpMat>, rows: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>) => set_pointers;
    fn cusparseCreateCoo(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, row: Ptr<u8>, column: Ptr<u8>,
        values: Ptr<u8>, index: i32, base: i32, kind: DataType) => create_coo;
    fn cusparseCreateConstCoo(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, row: Ptr<u8>, column: Ptr<u8>,
        values: Ptr<u8>, index: i32, base: i32, kind: DataType) => create_coo;
    fn cusparseCooGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>, row: Out<u64>,
        column: Out<u64>, values: Out<u64>, index: Out<i32>, base: Out<i32>, kind: Out<i32>) => get_coo;
    fn cusparseConstCooGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>, row: Out<u64>,
        column: Out<u64>, values: Out<u64>, index: Out<i32>, base: Out<i32>, kind: Out<i32>) => get_coo;
    fn cusparseCreateBsr(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, height: i64, width: i64,
        offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType,
        order: i32) => create_bsr;
    fn cusparseCreateConstBsr(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, height: i64, width: i64,
        offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType,
        order: i32) => create_bsr;
    fn cusparseCreateBlockedEll(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, block: i64, ell_cols: i64,
        columns: Ptr<u8>, values: Ptr<u8>, index: i32, base: i32, kind: DataType) => create_ell;
    fn cusparseCreateConstBlockedEll(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, block: i64, ell_cols: i64,
        columns: Ptr<u8>, values: Ptr<u8>, index: i32, base: i32, kind: DataType) => create_ell;
    fn cusparseBlockedEllGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, block: Out<i64>, ell_cols: Out<i64>,
        columns: Out<u64>, values: Out<u64>, index: Out<i32>, base: Out<i32>, kind: Out<i32>) => get_ell;
    fn cusparseConstBlockedEllGet(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, block: Out<i64>,
        ell_cols: Out<i64>, columns: Out<u64>, values: Out<u64>, index: Out<i32>, base: Out<i32>, kind: Out<i32>)
        => get_ell;
    fn cusparseCreateSlicedEll(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, stored: i64, slice: i64,
        offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType)
        => create_sell;
    fn cusparseCreateConstSlicedEll(matrix: Out<Of<SpMat>>, rows: i64, cols: i64, nnz: i64, stored: i64, slice: i64,
        offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>, offset: i32, column: i32, base: i32, kind: DataType)
        => create_sell;
}

/// `cusparseFormat_t`.
const CSR: i32 = 1;
const CSC: i32 = 2;
const COO: i32 = 3;
const BLOCKED_ELL: i32 = 5;
const BSR: i32 = 6;
const SLICED_ELL: i32 = 7;

/// A checked matrix of one format without blocks.
fn plain(
    format: i32,
    [rows, cols, nnz]: [i64; 3],
    pointers: [Ptr<u8>; 3],
    index: [i32; 2],
    base: i32,
    kind: DataType,
) -> Result<SpMat, Error> {
    let area = size(rows)?.saturating_mul(size(cols)?);
    if size(nnz)? > area || !index.iter().all(|index| (1..=3).contains(index)) || !matches!(base, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    Ok(SpMat {
        format,
        rows,
        cols,
        nnz,
        block: [1, 1],
        ell_cols: 0,
        pointers: pointers.map(|pointer| pointer.address()),
        index,
        base,
        kind: known(kind)?,
        fill: 0,
        diagonal: 0,
        batch: 1,
    })
}

fn destroy(matrix: Of<SpMat>) -> Result<(), Error> {
    end(matrix)
}

fn format(matrix: Of<SpMat>, format: Out<i32>) -> Result<(), Error> {
    Ok(format.set(read(matrix)?.format)?)
}

fn base(matrix: Of<SpMat>, base: Out<i32>) -> Result<(), Error> {
    Ok(base.set(read(matrix)?.base)?)
}

fn values(matrix: Of<SpMat>, values: Out<u64>) -> Result<(), Error> {
    Ok(values.set(read(matrix)?.pointers[2])?)
}

fn set_values(matrix: Of<SpMat>, values: Ptr<u8>) -> Result<(), Error> {
    change(matrix, |matrix| matrix.pointers[2] = values.address())
}

fn get_size(matrix: Of<SpMat>, rows: Out<i64>, cols: Out<i64>, nnz: Out<i64>) -> Result<(), Error> {
    let matrix = read(matrix)?;
    rows.set(matrix.rows)?;
    cols.set(matrix.cols)?;
    Ok(nnz.set(matrix.nnz)?)
}

fn batch(matrix: Of<SpMat>, batch: Out<i32>) -> Result<(), Error> {
    Ok(batch.set(read(matrix)?.batch)?)
}

fn set_coo_batch(matrix: Of<SpMat>, batch: i32, _stride: i64) -> Result<(), Error> {
    set_batch(matrix, batch)
}

fn set_csr_batch(matrix: Of<SpMat>, batch: i32, _offsets: i64, _columns: i64) -> Result<(), Error> {
    set_batch(matrix, batch)
}

fn set_bsr_batch(matrix: Of<SpMat>, batch: i32, _offsets: i64, _columns: i64, _values: i64) -> Result<(), Error> {
    set_batch(matrix, batch)
}

/// Strides place what is read only; the count decides how much it is.
fn set_batch(matrix: Of<SpMat>, batch: i32) -> Result<(), Error> {
    if batch < 1 {
        return Err(Error::InvalidValue);
    }
    change(matrix, |matrix| matrix.batch = batch)
}

fn attribute(matrix: Of<SpMat>, attribute: i32, data: Ptr<i32>, bytes: usize) -> Result<(), Error> {
    let matrix = read(matrix)?;
    let value = match attribute {
        0 => matrix.fill,
        1 => matrix.diagonal,
        _ => return Err(Error::InvalidValue),
    };
    if bytes != size_of::<i32>() {
        return Err(Error::InvalidValue);
    }
    Ok(data.store(value)?)
}

fn set_attribute(matrix: Of<SpMat>, attribute: i32, data: Ptr<i32>, bytes: usize) -> Result<(), Error> {
    if bytes != size_of::<i32>() {
        return Err(Error::InvalidValue);
    }
    let value = data.load(0)?;
    if !matches!(value, 0 | 1) || !matches!(attribute, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    change(matrix, |matrix| if attribute == 0 { matrix.fill = value } else { matrix.diagonal = value })
}

fn create_csr(
    matrix: Out<Of<SpMat>>,
    rows: i64,
    cols: i64,
    nnz: i64,
    offsets: Ptr<u8>,
    columns: Ptr<u8>,
    values: Ptr<u8>,
    offset: i32,
    column: i32,
    base: i32,
    kind: DataType,
) -> Result<(), Error> {
    give(&matrix, plain(CSR, [rows, cols, nnz], [offsets, columns, values], [offset, column], base, kind)?)
}

fn create_csc(
    matrix: Out<Of<SpMat>>,
    rows: i64,
    cols: i64,
    nnz: i64,
    offsets: Ptr<u8>,
    columns: Ptr<u8>,
    values: Ptr<u8>,
    offset: i32,
    column: i32,
    base: i32,
    kind: DataType,
) -> Result<(), Error> {
    give(&matrix, plain(CSC, [rows, cols, nnz], [offsets, columns, values], [offset, column], base, kind)?)
}

fn get_compressed(
    matrix: Of<SpMat>,
    rows: Out<i64>,
    cols: Out<i64>,
    nnz: Out<i64>,
    offsets: Out<u64>,
    columns: Out<u64>,
    values: Out<u64>,
    offset: Out<i32>,
    column: Out<i32>,
    base: Out<i32>,
    kind: Out<i32>,
) -> Result<(), Error> {
    let found = read(matrix)?;
    get_coo(matrix, rows, cols, nnz, offsets, columns, values, offset, base, kind)?;
    Ok(column.set(found.index[1])?)
}

fn set_pointers(matrix: Of<SpMat>, offsets: Ptr<u8>, columns: Ptr<u8>, values: Ptr<u8>) -> Result<(), Error> {
    let pointers = [offsets, columns, values].map(|pointer| pointer.address());
    change(matrix, |matrix| matrix.pointers = pointers)
}

fn create_coo(
    matrix: Out<Of<SpMat>>,
    rows: i64,
    cols: i64,
    nnz: i64,
    row: Ptr<u8>,
    column: Ptr<u8>,
    values: Ptr<u8>,
    index: i32,
    base: i32,
    kind: DataType,
) -> Result<(), Error> {
    give(&matrix, plain(COO, [rows, cols, nnz], [row, column, values], [index; 2], base, kind)?)
}

fn get_coo(
    matrix: Of<SpMat>,
    rows: Out<i64>,
    cols: Out<i64>,
    nnz: Out<i64>,
    row: Out<u64>,
    column: Out<u64>,
    values: Out<u64>,
    index: Out<i32>,
    base: Out<i32>,
    kind: Out<i32>,
) -> Result<(), Error> {
    let found = read(matrix)?;
    get_size(matrix, rows, cols, nnz)?;
    row.set(found.pointers[0])?;
    column.set(found.pointers[1])?;
    values.set(found.pointers[2])?;
    index.set(found.index[0])?;
    base.set(found.base)?;
    Ok(kind.set(found.kind.0)?)
}

/// Rows, columns and elements come counted in blocks and are kept counted in elements.
fn create_bsr(
    matrix: Out<Of<SpMat>>,
    rows: i64,
    cols: i64,
    nnz: i64,
    height: i64,
    width: i64,
    offsets: Ptr<u8>,
    columns: Ptr<u8>,
    values: Ptr<u8>,
    offset: i32,
    column: i32,
    base: i32,
    kind: DataType,
    _order: i32,
) -> Result<(), Error> {
    if height < 1 || width < 1 {
        return Err(Error::InvalidValue);
    }
    let blocks = plain(BSR, [rows, cols, nnz], [offsets, columns, values], [offset, column], base, kind)?;
    let area = height.saturating_mul(width);
    let (rows, cols, nnz) = (rows.saturating_mul(height), cols.saturating_mul(width), nnz.saturating_mul(area));
    give(&matrix, SpMat { rows, cols, nnz, block: [height, width], ..blocks })
}

fn create_ell(
    matrix: Out<Of<SpMat>>,
    rows: i64,
    cols: i64,
    block: i64,
    ell_cols: i64,
    columns: Ptr<u8>,
    values: Ptr<u8>,
    index: i32,
    base: i32,
    kind: DataType,
) -> Result<(), Error> {
    // SAFETY: null is never followed.
    let none = unsafe { Ptr::from_raw(std::ptr::null_mut()) };
    if block < 1 || size(ell_cols)? > size(cols)? {
        return Err(Error::InvalidValue);
    }
    let nnz = rows.saturating_mul(ell_cols);
    let plain = plain(BLOCKED_ELL, [rows, cols, nnz], [none, columns, values], [index; 2], base, kind)?;
    give(&matrix, SpMat { block: [block, block], ell_cols, ..plain })
}

fn get_ell(
    matrix: Of<SpMat>,
    rows: Out<i64>,
    cols: Out<i64>,
    block: Out<i64>,
    ell_cols: Out<i64>,
    columns: Out<u64>,
    values: Out<u64>,
    index: Out<i32>,
    base: Out<i32>,
    kind: Out<i32>,
) -> Result<(), Error> {
    let found = read(matrix)?;
    rows.set(found.rows)?;
    cols.set(found.cols)?;
    block.set(found.block[0])?;
    ell_cols.set(found.ell_cols)?;
    columns.set(found.pointers[1])?;
    values.set(found.pointers[2])?;
    index.set(found.index[0])?;
    base.set(found.base)?;
    Ok(kind.set(found.kind.0)?)
}

fn create_sell(
    matrix: Out<Of<SpMat>>,
    rows: i64,
    cols: i64,
    nnz: i64,
    stored: i64,
    slice: i64,
    offsets: Ptr<u8>,
    columns: Ptr<u8>,
    values: Ptr<u8>,
    offset: i32,
    column: i32,
    base: i32,
    kind: DataType,
) -> Result<(), Error> {
    if slice < 1 || stored < nnz {
        return Err(Error::InvalidValue);
    }
    give(&matrix, plain(SLICED_ELL, [rows, cols, nnz], [offsets, columns, values], [offset, column], base, kind)?)
}

/// Says how many elements a result has, once a computation knows.
pub fn set_nnz(matrix: Of<SpMat>, nnz: u64) -> Result<(), Error> {
    change(matrix, |matrix| matrix.nnz = i64::try_from(nnz).unwrap_or(i64::MAX))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use ghost_abi::ask;

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    /// A CSR matrix of floats for the tests of other files.
    pub fn csr(rows: i64, cols: i64, nnz: i64) -> Result<Of<SpMat>, Error> {
        let kind = DataType::R_32F;
        ask(|out| create_csr(out, rows, cols, nnz, at(4096), at(8192), at(16384), 2, 2, 0, kind))
    }

    #[test]
    fn a_matrix_tells_its_size_and_bytes() {
        let matrix = csr(10, 20, 30).expect("a matrix");
        assert_eq!(
            ask(|nnz| ask(|cols| ask(|rows| get_size(matrix, rows, cols, nnz)).map(|_| ())).map(|_| ())),
            Ok(30)
        );
        assert_eq!(read(matrix).expect("it").bytes(), 11 * 4 + 30 * 4 + 30 * 4);
        assert!(csr(10, 20, 201).is_err() && csr(-1, 2, 0).is_err());
        assert_eq!((destroy(matrix), destroy(matrix)), (Ok(()), Err(Error::InvalidValue)));
    }

    #[test]
    fn blocks_are_counted_in_elements() {
        let kind = DataType::R_32F;
        let make = |out| create_bsr(out, 4, 4, 3, 2, 2, at(64), at(64), at(64), 2, 2, 0, kind, 1);
        let matrix = read(ask(make).expect("a matrix")).expect("it");
        assert_eq!((matrix.rows, matrix.nnz, matrix.bytes()), (8, 12, 5 * 4 + 3 * 4 + 12 * 4));
    }

    #[test]
    fn attributes_are_checked_and_kept() {
        let matrix = csr(4, 4, 4).expect("a matrix");
        let mut upper = 1;
        // SAFETY: `upper` outlives the calls.
        let data = unsafe { Ptr::from_raw(&raw mut upper) };
        assert_eq!(
            (set_attribute(matrix, 0, data, 4), set_attribute(matrix, 2, data, 4)),
            (Ok(()), Err(Error::InvalidValue))
        );
        assert_eq!(set_attribute(matrix, 0, data, 8), Err(Error::InvalidValue));
        assert_eq!(read(matrix).expect("it").fill, 1);
    }
}
