//! Pooling.
//! Nothing is computed: a pass over the tensors.

use super::memory::{Address, run};
use super::tensor::{DIM_MAX, Tensor, list};
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::work::Work;
use crate::{Cudnn, Error};
use ghost_abi::{InList, MaybeOut, Out, OutList};

/// What a pooling descriptor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// A `cudnnPoolingMode_t`.
    mode: i32,
    nan: i32,
    window: Vec<i64>,
    pads: Vec<i64>,
    strides: Vec<i64>,
}

kept!(Pool, b"gh.cnnpo");

type Pooling = Handle<Pool>;
type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreatePoolingDescriptor(pooling: Out<Pooling>) => create;
    fn cudnnDestroyPoolingDescriptor(pooling: Pooling) => destroy;
    fn cudnnSetPooling2dDescriptor(pooling: Pooling, mode: i32, nan: i32, height: i32, width: i32, pad_h: i32, pad_w: i32, stride_h: i32, stride_w: i32) => set_2d;
    fn cudnnSetPoolingNdDescriptor(pooling: Pooling, mode: i32, nan: i32, rank: i32, window: InList<i32>, pads: InList<i32>, strides: InList<i32>) => set_nd;
    fn cudnnGetPooling2dDescriptor(pooling: Pooling, mode: MaybeOut<i32>, nan: MaybeOut<i32>, height: MaybeOut<i32>, width: MaybeOut<i32>, pad_h: MaybeOut<i32>, pad_w: MaybeOut<i32>, stride_h: MaybeOut<i32>, stride_w: MaybeOut<i32>) => get_2d;
    fn cudnnGetPoolingNdDescriptor(pooling: Pooling, requested: i32, mode: MaybeOut<i32>, nan: MaybeOut<i32>, rank: MaybeOut<i32>, window: OutList<i32>, pads: OutList<i32>, strides: OutList<i32>) => get_nd;
    fn cudnnGetPoolingNdForwardOutputDim(pooling: Pooling, x: Tensor, rank: i32, dims: OutList<i32>) => output_nd;
    fn cudnnGetPooling2dForwardOutputDim(pooling: Pooling, x: Tensor, n: Out<i32>, c: Out<i32>, h: Out<i32>, w: Out<i32>) => output_2d;
    fn cudnnPoolingForward(handle: Cudn, pooling: Pooling, alpha: Address, x: Tensor, x_data: Address, beta: Address, y: Tensor, y_data: Address) => forward;
    fn cudnnPoolingBackward(handle: Cudn, pooling: Pooling, alpha: Address, y: Tensor, y_data: Address, dy: Tensor, dy_data: Address, x: Tensor, x_data: Address, beta: Address, dx: Tensor, dx_data: Address) => backward;
}

fn put(pooling: Pooling, pool: Pool) -> Result<(), Error> {
    let good = matches!((pool.mode, pool.nan), (0..=3, 0..=1))
        && pool.window.iter().chain(&pool.strides).all(|&size| size > 0)
        && pool.pads.iter().all(|&pad| pad >= 0);
    if good { pooling.with(|place| *place = pool) } else { Err(Error::BadParam) }
}

fn set_2d(
    pooling: Pooling,
    mode: i32,
    nan: i32,
    height: i32,
    width: i32,
    pad_h: i32,
    pad_w: i32,
    stride_h: i32,
    stride_w: i32,
) -> Result<(), Error> {
    let [window, pads, strides] =
        [[height, width], [pad_h, pad_w], [stride_h, stride_w]].map(|list| list.map(i64::from).to_vec());
    put(pooling, Pool { mode, nan, window, pads, strides })
}

fn set_nd(
    pooling: Pooling,
    mode: i32,
    nan: i32,
    rank: i32,
    window: InList<i32>,
    pads: InList<i32>,
    strides: InList<i32>,
) -> Result<(), Error> {
    let (window, pads, strides) = (list(&window, rank)?, list(&pads, rank)?, list(&strides, rank)?);
    put(pooling, Pool { mode, nan, window, pads, strides })
}

fn get_2d(
    pooling: Pooling,
    mode: MaybeOut<i32>,
    nan: MaybeOut<i32>,
    height: MaybeOut<i32>,
    width: MaybeOut<i32>,
    pad_h: MaybeOut<i32>,
    pad_w: MaybeOut<i32>,
    stride_h: MaybeOut<i32>,
    stride_w: MaybeOut<i32>,
) -> Result<(), Error> {
    let pool = pooling.value()?;
    if pool.window.len() != 2 {
        return Err(Error::BadParam);
    }
    mode.set(pool.mode);
    nan.set(pool.nan);
    let values = pool.window.iter().chain(&pool.pads).chain(&pool.strides);
    for (out, value) in [height, width, pad_h, pad_w, stride_h, stride_w].into_iter().zip(values) {
        out.set(*value as i32);
    }
    Ok(())
}

fn get_nd(
    pooling: Pooling,
    requested: i32,
    mode: MaybeOut<i32>,
    nan: MaybeOut<i32>,
    rank: MaybeOut<i32>,
    window: OutList<i32>,
    pads: OutList<i32>,
    strides: OutList<i32>,
) -> Result<(), Error> {
    let pool = pooling.value()?;
    let requested = usize::try_from(requested).ok().filter(|&count| count <= DIM_MAX).ok_or(Error::BadParam)?;
    mode.set(pool.mode);
    nan.set(pool.nan);
    rank.set(pool.window.len() as i32);
    for (out, list) in [(window, &pool.window), (pads, &pool.pads), (strides, &pool.strides)] {
        out.fill(requested, list.iter().map(|&value| value as i32))?;
    }
    Ok(())
}

fn output(pooling: Pooling, x: Tensor) -> Result<Vec<i32>, Error> {
    let (pool, x) = (pooling.value()?, x.value()?);
    let rank = pool.window.len();
    if rank == 0 || x.dims.len() != rank + 2 {
        return Err(Error::BadParam);
    }
    let places = |index: usize| {
        let room = x.dims[index + 2] + 2 * pool.pads[index] - pool.window[index];
        room.div_euclid(pool.strides[index]) + 1
    };
    Ok(x.dims[..2].iter().copied().chain((0..rank).map(places)).map(|dim| dim as i32).collect())
}

fn output_nd(pooling: Pooling, x: Tensor, rank: i32, dims: OutList<i32>) -> Result<(), Error> {
    let output = output(pooling, x)?;
    if usize::try_from(rank) != Ok(output.len()) {
        return Err(Error::BadParam);
    }
    Ok(dims.set(output.len(), output.into_iter())?)
}

fn output_2d(pooling: Pooling, x: Tensor, n: Out<i32>, c: Out<i32>, h: Out<i32>, w: Out<i32>) -> Result<(), Error> {
    let output = output(pooling, x)?;
    if output.len() != 4 {
        return Err(Error::BadParam);
    }
    for (out, dim) in [n, c, h, w].into_iter().zip(output) {
        out.set(dim)?;
    }
    Ok(())
}

fn forward(
    handle: Cudn,
    pooling: Pooling,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    pooling.with(|_| ())?;
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    let (x, y) = (x.value()?, y.value()?);
    let work = Work::kernel(c"cudnn_pooling_forward", x.of, [x.bytes(), y.bytes(), x.elements()]);
    run(handle, &work, &[(y_data, y.span_bytes())])
}

fn backward(
    handle: Cudn,
    pooling: Pooling,
    _alpha: Address,
    y: Tensor,
    y_data: Address,
    _dy: Tensor,
    dy_data: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    dx: Tensor,
    dx_data: Address,
) -> Result<(), Error> {
    pooling.with(|_| ())?;
    [y_data, dy_data, x_data, dx_data].into_iter().try_for_each(Address::check)?;
    let (x, y, dx) = (x.value()?, y.value()?, dx.value()?);
    let read = x.bytes() + 2 * y.bytes();
    let work = Work::kernel(c"cudnn_pooling_backward", x.of, [read, dx.bytes(), x.elements()]);
    run(handle, &work, &[(dx_data, dx.span_bytes())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, tensor::Shape};

    #[test]
    fn a_pool_takes_places_by_its_strides() {
        let pooling = Handle::new(Pool::default());
        set_2d(pooling, 0, 0, 3, 3, 1, 1, 2, 2).expect("a pool");
        let x = Handle::new(Shape { of: DataType::FLOAT, dims: vec![8, 64, 112, 112], strides: vec![1; 4] });
        assert_eq!(output(pooling, x), Ok(vec![8, 64, 56, 56]));
        assert_eq!(set_2d(pooling, 0, 0, 3, 3, 1, 1, 0, 2), Err(Error::BadParam));
    }
}
