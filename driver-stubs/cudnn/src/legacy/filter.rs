//! Filter descriptors: a packed tensor of weights.
//! It reads no element.

use super::tensor::{list, packed, shape};
use crate::place::{Handle, create, destroy};
use crate::tensor::Shape;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{InList, MaybeOut, Out, OutList};

/// What a filter descriptor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterShape {
    pub shape: Shape,
    /// A `cudnnTensorFormat_t`.
    pub format: i32,
}

kept!(FilterShape, b"gh.cnnfi");

/// A `cudnnFilterDescriptor_t`.
pub type Filter = Handle<FilterShape>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateFilterDescriptor(filter: Out<Filter>) => create;
    fn cudnnDestroyFilterDescriptor(filter: Filter) => destroy;
    fn cudnnSetFilter4dDescriptor(filter: Filter, of: DataType, format: i32, k: i32, c: i32, h: i32, w: i32) => set_4d;
    fn cudnnGetFilter4dDescriptor(filter: Filter, of: Out<DataType>, format: Out<i32>, k: Out<i32>, c: Out<i32>, h: Out<i32>, w: Out<i32>) => get_4d;
    fn cudnnSetFilterNdDescriptor(filter: Filter, of: DataType, format: i32, rank: i32, dims: InList<i32>) => set_nd;
    fn cudnnGetFilterNdDescriptor(filter: Filter, requested: i32, of: MaybeOut<DataType>, format: MaybeOut<i32>, rank: MaybeOut<i32>, dims: OutList<i32>) => get_nd;
    fn cudnnGetFilterSizeInBytes(filter: Filter, bytes: Out<usize>) => bytes;
}

fn put(filter: Filter, of: DataType, format: i32, dims: Vec<i64>) -> Result<(), Error> {
    let strides = packed(format, &dims)?;
    let shape = shape(of, dims, strides)?;
    filter.with(|place| *place = FilterShape { shape, format })
}

fn set_4d(filter: Filter, of: DataType, format: i32, k: i32, c: i32, h: i32, w: i32) -> Result<(), Error> {
    put(filter, of, format, [k, c, h, w].map(i64::from).to_vec())
}

fn set_nd(filter: Filter, of: DataType, format: i32, rank: i32, dims: InList<i32>) -> Result<(), Error> {
    put(filter, of, format, list(&dims, rank)?)
}

fn get_4d(
    filter: Filter,
    of: Out<DataType>,
    format: Out<i32>,
    k: Out<i32>,
    c: Out<i32>,
    h: Out<i32>,
    w: Out<i32>,
) -> Result<(), Error> {
    let FilterShape { shape, format: stored } = filter.value()?;
    if shape.dims.len() != 4 {
        return Err(Error::BadParam);
    }
    of.set(shape.of)?;
    format.set(stored)?;
    for (out, dim) in [k, c, h, w].into_iter().zip(shape.dims) {
        out.set(dim as i32)?;
    }
    Ok(())
}

fn get_nd(
    filter: Filter,
    requested: i32,
    of: MaybeOut<DataType>,
    format: MaybeOut<i32>,
    rank: MaybeOut<i32>,
    dims: OutList<i32>,
) -> Result<(), Error> {
    let FilterShape { shape, format: stored } = filter.value()?;
    let requested = usize::try_from(requested).map_err(|_| Error::BadParam)?;
    of.set(shape.of);
    format.set(stored);
    rank.set(shape.dims.len() as i32);
    dims.fill(requested, shape.dims.iter().map(|&dim| dim as i32))?;
    Ok(())
}

fn bytes(filter: Filter, bytes: Out<usize>) -> Result<(), Error> {
    Ok(bytes.set(filter.value()?.shape.bytes() as usize)?)
}
