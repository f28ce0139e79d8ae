//! The matrix transform: a kernel that moves one or two matrices into a third.
//! Nothing is converted: the result reads zero.

use crate::descriptor::Desc;
use crate::descriptors::Layout;
use crate::emulation::Transform;
use crate::helper::{Handle, check};
use ghost_blas::{CublasLt, DataType, Error, Matrix, Ptr, Stream, kernel, submit};
use ghost_table::Operation;

ghost_abi::rows! { CublasLt;
    fn cublasLtMatrixTransform(handle: Handle, transform: Desc<Transform>, alpha: Ptr<u8>, a: Ptr<u8>, alayout: Desc<Layout>, beta: Ptr<u8>, b: Ptr<u8>, blayout: Desc<Layout>, c: Ptr<u8>, clayout: Desc<Layout>, stream: Stream) => transform;
}

/// Rows and columns after a transposition.
fn turned(layout: &Layout, transposed: i32) -> [u64; 2] {
    if transposed == 0 { [layout.rows, layout.columns] } else { [layout.columns, layout.rows] }
}

/// The kernel that writes `c` at `address` from `inputs`, which have their transpositions beside them.
fn plan(inputs: &[(Layout, i32)], c: &Layout, address: u64) -> Result<Option<Operation>, Error> {
    if inputs.iter().any(|(layout, transposed)| turned(layout, *transposed) != [c.rows, c.columns]) {
        return Err(Error::InvalidValue);
    }
    let batch = u64::try_from(c.batch).map_err(|_| Error::InvalidValue)?;
    let elements = c.rows.saturating_mul(c.columns).saturating_mul(batch);
    let read = inputs.iter().map(|(layout, _)| DataType(layout.kind).bytes(elements)).sum();
    let kind = DataType(c.kind);
    let (minor, major) = if c.order == 1 { (c.columns, c.rows) } else { (c.rows, c.columns) };
    let ld = u64::try_from(c.ld).map_err(|_| Error::InvalidValue)?.max(minor);
    let output = Matrix { address, kind, minor, major, ld, batch, stride: c.stride };
    let operation = kernel(c"cublaslt_transform", kind, [read, kind.bytes(elements), elements]);
    Ok(output.range().map(|range| operation.writes(range.address, range.bytes)))
}

fn transform(
    handle: Handle,
    transform: Desc<Transform>,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    alayout: Desc<Layout>,
    _beta: Ptr<u8>,
    b: Ptr<u8>,
    blayout: Desc<Layout>,
    c: Ptr<u8>,
    clayout: Desc<Layout>,
    stream: Stream,
) -> Result<(), Error> {
    check(handle)?;
    let transform = transform.load()?;
    alpha.check().and(a.check()).and(c.check())?;
    let mut inputs = vec![(alayout.load()?, transform.transa)];
    if !b.is_null() && !blayout.is_null() {
        inputs.push((blayout.load()?, transform.transb));
    }
    match plan(&inputs, &clayout.load()?, c.address())? {
        Some(operation) => submit(stream, &operation),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_reads_its_inputs_and_writes_the_result() {
        let (a, c) = (Layout::of(DataType::R_8I, 8, 4, 8), Layout::of(DataType::R_32F, 4, 8, 4));
        let operation = plan(&[(a, 1)], &c, 0x1000).expect("good arguments").expect("work");
        assert_eq!((operation.dims[..2].to_vec(), operation.outputs[0].bytes), (vec![32, 128], 128));
        assert_eq!(plan(&[(a, 0)], &c, 0x1000).err(), Some(Error::InvalidValue));
    }
}
