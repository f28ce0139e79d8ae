//! Triangular solves with a sparse matrix: size, analysis, solve.
//! Solutions read zero. Levels of dependent rows are not known, so a solve costs its traffic.

use crate::context::{Context, DnMat, DnVec, Handle, SpMat, Spsm, Spsv, change, context, end, give, read, transposed};
use crate::work::{range, run};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{DataType, Of, Ptr};

ghost_abi::rows! { Cusparse;
    fn cusparseSpSV_createDescr(descriptor: Out<Of<Spsv>>) => create_vector;
    fn cusparseSpSV_destroyDescr(descriptor: Of<Spsv>) => destroy_vector;
    fn cusparseSpSV_bufferSize(handle: Handle, op: i32, alpha: Ptr<u8>, a: Of<SpMat>, x: Of<DnVec>, y: Of<DnVec>,
        compute: DataType, algorithm: i32, descriptor: Of<Spsv>, bytes: Out<usize>) => vector_size;
    fn cusparseSpSV_analysis(handle: Handle, op: i32, alpha: Ptr<u8>, a: Of<SpMat>, x: Of<DnVec>, y: Of<DnVec>,
        compute: DataType, algorithm: i32, descriptor: Of<Spsv>, buffer: Ptr<u8>) => vector_analysis;
    fn cusparseSpSV_solve(handle: Handle, op: i32, alpha: Ptr<u8>, a: Of<SpMat>, x: Of<DnVec>, y: Of<DnVec>,
        compute: DataType, algorithm: i32, descriptor: Of<Spsv>) => vector_solve;
    fn cusparseSpSV_updateMatrix(handle: Handle, descriptor: Of<Spsv>, values: Ptr<u8>, part: i32) => vector_update;
    fn cusparseSpSM_createDescr(descriptor: Out<Of<Spsm>>) => create_matrix;
    fn cusparseSpSM_destroyDescr(descriptor: Of<Spsm>) => destroy_matrix;
    fn cusparseSpSM_bufferSize(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<DnMat>,
        c: Of<DnMat>, compute: DataType, algorithm: i32, descriptor: Of<Spsm>, bytes: Out<usize>) => matrix_size;
    fn cusparseSpSM_analysis(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<DnMat>,
        c: Of<DnMat>, compute: DataType, algorithm: i32, descriptor: Of<Spsm>, buffer: Ptr<u8>) => matrix_analysis;
    fn cusparseSpSM_solve(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<DnMat>,
        c: Of<DnMat>, compute: DataType, algorithm: i32, descriptor: Of<Spsm>) => matrix_solve;
    fn cusparseSpSM_updateMatrix(handle: Handle, descriptor: Of<Spsm>, values: Ptr<u8>, part: i32) => matrix_update;
}

/// Scratch of an analysis: two words a row.
fn scratch(a: &SpMat) -> usize {
    (a.rows.max(1) as usize).saturating_mul(8)
}

/// Reads the pattern once and writes the levels.
fn analyse(context: &Context, a: &SpMat) -> Result<(), Error> {
    run(context, c"cusparse_analysis", a.kind, [a.bytes(), scratch(a) as u64, 0], &[])
}

fn create_vector(descriptor: Out<Of<Spsv>>) -> Result<(), Error> {
    give(&descriptor, Spsv)
}

fn destroy_vector(descriptor: Of<Spsv>) -> Result<(), Error> {
    end(descriptor)
}

fn vector_operands(
    handle: Handle,
    op: i32,
    a: Of<SpMat>,
    [x, y]: [Of<DnVec>; 2],
    descriptor: Of<Spsv>,
) -> Result<(Context, SpMat, DnVec), Error> {
    let context = context(handle)?;
    transposed(op)?;
    read(descriptor)?;
    let (a, x, y) = (read(a)?, read(x)?, read(y)?);
    if a.rows != a.cols || x.size != a.rows || y.size != a.rows {
        return Err(Error::InvalidValue);
    }
    Ok((context, a, y))
}

fn vector_size(
    handle: Handle,
    op: i32,
    _alpha: Ptr<u8>,
    a: Of<SpMat>,
    x: Of<DnVec>,
    y: Of<DnVec>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spsv>,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (_, a, _) = vector_operands(handle, op, a, [x, y], descriptor)?;
    Ok(bytes.set(scratch(&a))?)
}

fn vector_analysis(
    handle: Handle,
    op: i32,
    _alpha: Ptr<u8>,
    a: Of<SpMat>,
    x: Of<DnVec>,
    y: Of<DnVec>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spsv>,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, a, _) = vector_operands(handle, op, a, [x, y], descriptor)?;
    analyse(&context, &a)
}

fn vector_solve(
    handle: Handle,
    op: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    x: Of<DnVec>,
    y: Of<DnVec>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spsv>,
) -> Result<(), Error> {
    alpha.check()?;
    let (context, a, y) = vector_operands(handle, op, a, [x, y], descriptor)?;
    let nnz = a.nnz.max(0) as u64;
    let written = y.kind.bytes(y.size as u64);
    let cost = [a.bytes() + y.kind.bytes(nnz), written, 2 * nnz];
    run(&context, c"cusparse_spsv", y.kind, cost, &[range(y.values, written)])
}

fn vector_update(handle: Handle, descriptor: Of<Spsv>, values: Ptr<u8>, part: i32) -> Result<(), Error> {
    context(handle)?;
    values.check()?;
    if !matches!(part, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    change(descriptor, |_| ())
}

fn create_matrix(descriptor: Out<Of<Spsm>>) -> Result<(), Error> {
    give(&descriptor, Spsm)
}

fn destroy_matrix(descriptor: Of<Spsm>) -> Result<(), Error> {
    end(descriptor)
}

fn matrix_operands(
    handle: Handle,
    [opa, opb]: [i32; 2],
    a: Of<SpMat>,
    [b, c]: [Of<DnMat>; 2],
    descriptor: Of<Spsm>,
) -> Result<(Context, SpMat, DnMat), Error> {
    let context = context(handle)?;
    transposed(opa)?;
    read(descriptor)?;
    let (a, b, c) = (read(a)?, read(b)?, read(c)?);
    let [rows, cols] = b.shape(transposed(opb)?);
    if a.rows != a.cols || rows != a.rows as u64 || c.shape(false) != [rows, cols] {
        return Err(Error::InvalidValue);
    }
    Ok((context, a, c))
}

fn matrix_size(
    handle: Handle,
    opa: i32,
    opb: i32,
    _alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<DnMat>,
    c: Of<DnMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spsm>,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let (_, a, _) = matrix_operands(handle, [opa, opb], a, [b, c], descriptor)?;
    Ok(bytes.set(scratch(&a))?)
}

fn matrix_analysis(
    handle: Handle,
    opa: i32,
    opb: i32,
    _alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<DnMat>,
    c: Of<DnMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spsm>,
    _buffer: Ptr<u8>,
) -> Result<(), Error> {
    let (context, a, _) = matrix_operands(handle, [opa, opb], a, [b, c], descriptor)?;
    analyse(&context, &a)
}

fn matrix_solve(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<DnMat>,
    c: Of<DnMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spsm>,
) -> Result<(), Error> {
    alpha.check()?;
    let (context, a, c) = matrix_operands(handle, [opa, opb], a, [b, c], descriptor)?;
    let products = (a.nnz.max(0) as u64).saturating_mul(c.cols as u64);
    let written = c.kind.bytes((c.rows as u64).saturating_mul(c.cols as u64));
    let cost = [a.bytes().saturating_add(c.kind.bytes(products)), written, products.saturating_mul(2)];
    run(&context, c"cusparse_spsm", c.kind, cost, &[c.range()])
}

fn matrix_update(handle: Handle, descriptor: Of<Spsm>, values: Ptr<u8>, part: i32) -> Result<(), Error> {
    context(handle)?;
    values.check()?;
    if !matches!(part, 0 | 1) {
        return Err(Error::InvalidValue);
    }
    change(descriptor, |_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::tests::csr;
    use ghost_abi::ask;

    fn at(address: usize) -> Ptr<u8> {
        // SAFETY: device addresses are never followed.
        unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(address)) }
    }

    #[test]
    fn a_solve_needs_a_square_matrix_and_a_live_descriptor() {
        let handle = Of::create(Context::default());
        let descriptor = ask(create_vector).expect("a descriptor");
        let vector = Of::create(DnVec { size: 10, values: 64, kind: DataType::R_32F });
        let of = |cols, descriptor| {
            let a = csr(10, cols, 10).expect("a matrix");
            let call = |out| vector_size(handle, 0, at(1), a, vector, vector, DataType::R_32F, 0, descriptor, out);
            ask(call)
        };
        assert_eq!((of(10, descriptor), of(11, descriptor)), (Ok(80), Err(Error::InvalidValue)));
        assert_eq!(of(10, Of::null()), Err(Error::InvalidValue));
    }
}
