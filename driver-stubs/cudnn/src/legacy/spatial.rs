//! The spatial transformer: a grid from an affine map, and sampling by a grid.
//! Nothing is sampled.

use super::memory::{Address, run};
use super::tensor::{Tensor, list, packed, shape};
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::tensor::Shape;
use crate::work::Work;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{InList, Out};

/// What a spatial transformer descriptor holds: the shape of its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target(Shape);

kept!(Target, b"gh.cnnst");

type Transformer = Handle<Target>;
type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateSpatialTransformerDescriptor(transformer: Out<Transformer>) => create;
    fn cudnnDestroySpatialTransformerDescriptor(transformer: Transformer) => destroy;
    fn cudnnSetSpatialTransformerNdDescriptor(transformer: Transformer, sampler: i32, of: DataType, rank: i32, dims: InList<i32>) => set;
    fn cudnnSpatialTfGridGeneratorForward(handle: Cudn, transformer: Transformer, theta: Address, grid: Address) => grid;
    fn cudnnSpatialTfGridGeneratorBackward(handle: Cudn, transformer: Transformer, dgrid: Address, dtheta: Address) => grid_backward;
    fn cudnnSpatialTfSamplerForward(handle: Cudn, transformer: Transformer, alpha: Address, x: Tensor, x_data: Address, grid: Address, beta: Address, y: Tensor, y_data: Address) => sample;
    fn cudnnSpatialTfSamplerBackward(handle: Cudn, transformer: Transformer, alpha: Address, x: Tensor, x_data: Address, beta: Address, dx: Tensor, dx_data: Address, alpha_grid: Address, dy: Tensor, dy_data: Address, grid: Address, beta_grid: Address, dgrid: Address) => sample_backward;
}

impl Target {
    /// Two coordinates for each place of the result.
    fn grid_bytes(&self) -> u64 {
        self.0.of.bytes(self.0.dim(0) * self.0.volume(2) * 2)
    }

    /// A 2 x 3 map for each image.
    fn theta_bytes(&self) -> u64 {
        self.0.of.bytes(self.0.dim(0) * 6)
    }
}

fn set(transformer: Transformer, sampler: i32, of: DataType, rank: i32, dims: InList<i32>) -> Result<(), Error> {
    let dims = list(&dims, rank)?;
    let strides = packed(0, &dims)?;
    let target = Target(shape(of, dims, strides)?);
    // `CUDNN_SAMPLER_BILINEAR` is the only one.
    if sampler != 0 {
        return Err(Error::BadParam);
    }
    transformer.with(|place| *place = target)
}

fn grid(handle: Cudn, transformer: Transformer, theta: Address, grid: Address) -> Result<(), Error> {
    [theta, grid].into_iter().try_for_each(Address::check)?;
    let target = transformer.value()?;
    let bytes = [target.theta_bytes(), target.grid_bytes(), target.grid_bytes()];
    run(handle, &Work::kernel(c"cudnn_affine_grid", target.0.of, bytes), &[(grid, target.grid_bytes())])
}

fn grid_backward(handle: Cudn, transformer: Transformer, dgrid: Address, dtheta: Address) -> Result<(), Error> {
    [dgrid, dtheta].into_iter().try_for_each(Address::check)?;
    let target = transformer.value()?;
    let bytes = [target.grid_bytes(), target.theta_bytes(), target.grid_bytes()];
    run(handle, &Work::kernel(c"cudnn_affine_grid_backward", target.0.of, bytes), &[(dtheta, target.theta_bytes())])
}

fn sample(
    handle: Cudn,
    transformer: Transformer,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    grid: Address,
    _beta: Address,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    [x_data, grid, y_data].into_iter().try_for_each(Address::check)?;
    let (target, x, y) = (transformer.value()?, x.value()?, y.value()?);
    let bytes = [x.bytes() + target.grid_bytes(), y.bytes(), y.elements().saturating_mul(8)];
    run(handle, &Work::kernel(c"cudnn_grid_sample", x.of, bytes), &[(y_data, y.span_bytes())])
}

fn sample_backward(
    handle: Cudn,
    transformer: Transformer,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    dx: Tensor,
    dx_data: Address,
    _alpha_grid: Address,
    dy: Tensor,
    dy_data: Address,
    grid: Address,
    _beta_grid: Address,
    dgrid: Address,
) -> Result<(), Error> {
    [x_data, dx_data, dy_data, grid, dgrid].into_iter().try_for_each(Address::check)?;
    let (target, x, dx, dy) = (transformer.value()?, x.value()?, dx.value()?, dy.value()?);
    let read = x.bytes() + dy.bytes() + target.grid_bytes();
    let bytes = [read, dx.bytes() + target.grid_bytes(), dy.elements().saturating_mul(16)];
    let writes = [(dx_data, dx.span_bytes()), (dgrid, target.grid_bytes())];
    run(handle, &Work::kernel(c"cudnn_grid_sample_backward", x.of, bytes), &writes)
}
