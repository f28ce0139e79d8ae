//! Tensor descriptors: a type, extents and strides.
//! It reads no element.

use crate::place::{Handle, create, destroy};
use crate::tensor::Shape;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{InList, MaybeOut, Out, OutList};

kept!(Shape, b"gh.cnnte");

/// A `cudnnTensorDescriptor_t`.
pub type Tensor = Handle<Shape>;

/// `CUDNN_DIM_MAX`.
pub const DIM_MAX: usize = 8;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateTensorDescriptor(tensor: Out<Tensor>) => create;
    fn cudnnDestroyTensorDescriptor(tensor: Tensor) => destroy;
    fn cudnnSetTensor4dDescriptor(tensor: Tensor, format: i32, of: DataType, n: i32, c: i32, h: i32, w: i32) => set_4d;
    fn cudnnSetTensor4dDescriptorEx(tensor: Tensor, of: DataType, n: i32, c: i32, h: i32, w: i32, ns: i32, cs: i32, hs: i32, ws: i32) => set_4d_strided;
    fn cudnnGetTensor4dDescriptor(tensor: Tensor, of: Out<DataType>, n: Out<i32>, c: Out<i32>, h: Out<i32>, w: Out<i32>, ns: Out<i32>, cs: Out<i32>, hs: Out<i32>, ws: Out<i32>) => get_4d;
    fn cudnnSetTensorNdDescriptor(tensor: Tensor, of: DataType, rank: i32, dims: InList<i32>, strides: InList<i32>) => set_nd;
    fn cudnnSetTensorNdDescriptorEx(tensor: Tensor, format: i32, of: DataType, rank: i32, dims: InList<i32>) => set_nd_packed;
    fn cudnnGetTensorNdDescriptor(tensor: Tensor, requested: i32, of: MaybeOut<DataType>, rank: MaybeOut<i32>, dims: OutList<i32>, strides: OutList<i32>) => get_nd;
    fn cudnnGetTensorSizeInBytes(tensor: Tensor, bytes: Out<usize>) => bytes;
}

/// A shape whose extents are positive and whose type is one.
pub fn shape(of: DataType, dims: Vec<i64>, strides: Vec<i64>) -> Result<Shape, Error> {
    let good = of.is_known() && !dims.is_empty() && dims.iter().all(|&dim| dim > 0) && strides.iter().all(|&s| s >= 0);
    if good { Ok(Shape { of, dims, strides }) } else { Err(Error::BadParam) }
}

/// Strides without gaps: channels before the image (`CUDNN_TENSOR_NCHW`), or after it (`NHWC`).
pub fn packed(format: i32, dims: &[i64]) -> Result<Vec<i64>, Error> {
    let mut strides = vec![1_i64; dims.len()];
    let order: Vec<usize> = match format {
        // Vectors of channels lie as the channels do.
        0 | 2 => (0..dims.len()).rev().collect(),
        1 if dims.len() > 1 => std::iter::once(1).chain((2..dims.len()).rev()).chain([0]).collect(),
        _ => return Err(Error::BadParam),
    };
    let mut next = 1_i64;
    for index in order {
        strides[index] = next;
        next = next.saturating_mul(dims[index]);
    }
    Ok(strides)
}

/// As many integers as a rank says.
pub fn list(values: &InList<i32>, rank: i32) -> Result<Vec<i64>, Error> {
    let rank = usize::try_from(rank).ok().filter(|rank| (1..=DIM_MAX).contains(rank)).ok_or(Error::BadParam)?;
    Ok(values.get(rank)?.into_iter().map(i64::from).collect())
}

fn set_4d(tensor: Tensor, format: i32, of: DataType, n: i32, c: i32, h: i32, w: i32) -> Result<(), Error> {
    let dims = [n, c, h, w].map(i64::from).to_vec();
    let strides = packed(format, &dims)?;
    put(tensor, shape(of, dims, strides)?)
}

fn set_4d_strided(
    tensor: Tensor,
    of: DataType,
    n: i32,
    c: i32,
    h: i32,
    w: i32,
    ns: i32,
    cs: i32,
    hs: i32,
    ws: i32,
) -> Result<(), Error> {
    put(tensor, shape(of, [n, c, h, w].map(i64::from).to_vec(), [ns, cs, hs, ws].map(i64::from).to_vec())?)
}

fn get_4d(
    tensor: Tensor,
    of: Out<DataType>,
    n: Out<i32>,
    c: Out<i32>,
    h: Out<i32>,
    w: Out<i32>,
    ns: Out<i32>,
    cs: Out<i32>,
    hs: Out<i32>,
    ws: Out<i32>,
) -> Result<(), Error> {
    let shape = tensor.value()?;
    if shape.dims.len() != 4 {
        return Err(Error::BadParam);
    }
    of.set(shape.of)?;
    for (out, value) in [n, c, h, w, ns, cs, hs, ws].into_iter().zip(shape.dims.iter().chain(&shape.strides)) {
        out.set(*value as i32)?;
    }
    Ok(())
}

fn set_nd(tensor: Tensor, of: DataType, rank: i32, dims: InList<i32>, strides: InList<i32>) -> Result<(), Error> {
    put(tensor, shape(of, list(&dims, rank)?, list(&strides, rank)?)?)
}

fn set_nd_packed(tensor: Tensor, format: i32, of: DataType, rank: i32, dims: InList<i32>) -> Result<(), Error> {
    let dims = list(&dims, rank)?;
    let strides = packed(format, &dims)?;
    put(tensor, shape(of, dims, strides)?)
}

fn put(tensor: Tensor, shape: Shape) -> Result<(), Error> {
    tensor.with(|place| *place = shape)
}

fn get_nd(
    tensor: Tensor,
    requested: i32,
    of: MaybeOut<DataType>,
    rank: MaybeOut<i32>,
    dims: OutList<i32>,
    strides: OutList<i32>,
) -> Result<(), Error> {
    let shape = tensor.value()?;
    let requested = usize::try_from(requested).map_err(|_| Error::BadParam)?;
    of.set(shape.of);
    rank.set(shape.dims.len() as i32);
    dims.fill(requested, shape.dims.iter().map(|&dim| dim as i32))?;
    strides.fill(requested, shape.strides.iter().map(|&stride| stride as i32))?;
    Ok(())
}

fn bytes(tensor: Tensor, bytes: Out<usize>) -> Result<(), Error> {
    Ok(bytes.set(tensor.value()?.span_bytes() as usize)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_last_strides_begin_with_the_channels() {
        assert_eq!(packed(0, &[2, 3, 4, 5]), Ok(vec![60, 20, 5, 1]));
        assert_eq!(packed(1, &[2, 3, 4, 5]), Ok(vec![60, 1, 15, 3]));
        assert_eq!(packed(7, &[2, 3]), Err(Error::BadParam));
    }

    #[test]
    fn a_descriptor_tells_its_size_and_refuses_empty_extents() {
        let tensor = ghost_abi::ask(create::<Shape>).expect("a descriptor");
        assert_eq!(set_4d(tensor, 0, DataType::HALF, 2, 3, 4, 5), Ok(()));
        assert_eq!(ghost_abi::ask(|out| bytes(tensor, out)), Ok(240));
        assert_eq!(set_4d(tensor, 0, DataType::HALF, 2, 0, 4, 5), Err(Error::BadParam));
        assert_eq!(set_4d(tensor, 0, DataType(99), 2, 1, 4, 5), Err(Error::BadParam));
    }
}
