//! `cudnnNormalization...`: batch normalization under its second name.
//! It has no rule of its own: `norm.rs` decides.

use super::activation::Activation;
use super::memory::{Address, run};
use super::norm::{derived, passes};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::Handle;
use crate::{Cudnn, Error};
use ghost_abi::Out;

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnDeriveNormTensorDescriptor(scale: Tensor, mean: Tensor, x: Tensor, mode: i32, groups: i32) => derive;
    fn cudnnGetNormalizationForwardTrainingWorkspaceSize(handle: Cudn, mode: i32, ops: i32, algorithm: i32, x: Tensor, z: Tensor, y: Tensor, scale: Tensor, activation: Activation, mean: Tensor, bytes: Out<usize>, groups: i32) => forward_workspace;
    fn cudnnGetNormalizationBackwardWorkspaceSize(handle: Cudn, mode: i32, ops: i32, algorithm: i32, x: Tensor, y: Tensor, dy: Tensor, dz: Tensor, dx: Tensor, scale: Tensor, activation: Activation, mean: Tensor, bytes: Out<usize>, groups: i32) => backward_workspace;
    fn cudnnGetNormalizationTrainingReserveSpaceSize(handle: Cudn, mode: i32, ops: i32, algorithm: i32, activation: Activation, x: Tensor, bytes: Out<usize>, groups: i32) => reserve;
    fn cudnnNormalizationForwardInference(handle: Cudn, mode: i32, ops: i32, algorithm: i32, alpha: Address, beta: Address, x: Tensor, x_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, mean: Tensor, mean_data: Address, variance: Address, z: Tensor, z_data: Address, activation: Activation, y: Tensor, y_data: Address, epsilon: f64, groups: i32) => inference;
    fn cudnnNormalizationForwardTraining(handle: Cudn, mode: i32, ops: i32, algorithm: i32, alpha: Address, beta: Address, x: Tensor, x_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, factor: f64, mean: Tensor, mean_data: Address, variance: Address, epsilon: f64, saved_mean: Address, saved_inverse: Address, activation: Activation, z: Tensor, z_data: Address, y: Tensor, y_data: Address, workspace: Address, workspace_bytes: usize, reserve: Address, reserve_bytes: usize, groups: i32) => training;
    fn cudnnNormalizationBackward(handle: Cudn, mode: i32, ops: i32, algorithm: i32, alpha: Address, beta: Address, alpha_weights: Address, beta_weights: Address, x: Tensor, x_data: Address, y: Tensor, y_data: Address, dy: Tensor, dy_data: Address, dz: Tensor, dz_data: Address, dx: Tensor, dx_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, dscale: Address, dbias: Address, epsilon: f64, mean: Tensor, mean_data: Address, inverse: Address, activation: Activation, workspace: Address, workspace_bytes: usize, reserve: Address, reserve_bytes: usize, groups: i32) => backward;
}

/// `CUDNN_NORM_PER_ACTIVATION` is 0 and `PER_CHANNEL` 1, as in batch normalization.
fn check(mode: i32, ops: i32, algorithm: i32) -> Result<(), Error> {
    if matches!((mode, ops, algorithm), (0..=1, 0..=2, 0..=1)) { Ok(()) } else { Err(Error::BadParam) }
}

fn derive(scale: Tensor, mean: Tensor, x: Tensor, mode: i32, _groups: i32) -> Result<(), Error> {
    let shape = derived(&x.value()?, mode)?;
    scale.with(|place| *place = shape.clone())?;
    if mean.is_null() { Ok(()) } else { mean.with(|place| *place = shape) }
}

fn forward_workspace(
    handle: Cudn,
    mode: i32,
    ops: i32,
    algorithm: i32,
    x: Tensor,
    _z: Tensor,
    _y: Tensor,
    _scale: Tensor,
    _activation: Activation,
    _mean: Tensor,
    bytes: Out<usize>,
    _groups: i32,
) -> Result<(), Error> {
    handle.value()?;
    check(mode, ops, algorithm)?;
    x.value()?;
    Ok(bytes.set(0)?)
}

fn backward_workspace(
    handle: Cudn,
    mode: i32,
    ops: i32,
    algorithm: i32,
    x: Tensor,
    _y: Tensor,
    _dy: Tensor,
    _dz: Tensor,
    _dx: Tensor,
    _scale: Tensor,
    _activation: Activation,
    _mean: Tensor,
    bytes: Out<usize>,
    _groups: i32,
) -> Result<(), Error> {
    handle.value()?;
    check(mode, ops, algorithm)?;
    x.value()?;
    Ok(bytes.set(0)?)
}

fn reserve(
    handle: Cudn,
    mode: i32,
    ops: i32,
    algorithm: i32,
    _activation: Activation,
    x: Tensor,
    bytes: Out<usize>,
    _groups: i32,
) -> Result<(), Error> {
    handle.value()?;
    check(mode, ops, algorithm)?;
    let elements = x.value()?.elements();
    Ok(bytes.set(if ops == 0 { 0 } else { elements.div_ceil(8).next_multiple_of(16) as usize })?)
}

fn inference(
    handle: Cudn,
    mode: i32,
    ops: i32,
    algorithm: i32,
    _alpha: Address,
    _beta: Address,
    x: Tensor,
    x_data: Address,
    _scale: Tensor,
    _scale_data: Address,
    _bias_data: Address,
    _mean: Tensor,
    _mean_data: Address,
    _variance: Address,
    _z: Tensor,
    _z_data: Address,
    _activation: Activation,
    y: Tensor,
    y_data: Address,
    _epsilon: f64,
    _groups: i32,
) -> Result<(), Error> {
    check(mode, ops, algorithm)?;
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    run(handle, &passes(c"cudnn_norm_inference", &x.value()?, 1, 1), &[(y_data, y.value()?.span_bytes())])
}

fn training(
    handle: Cudn,
    mode: i32,
    ops: i32,
    algorithm: i32,
    _alpha: Address,
    _beta: Address,
    x: Tensor,
    x_data: Address,
    _scale: Tensor,
    _scale_data: Address,
    _bias_data: Address,
    _factor: f64,
    mean: Tensor,
    mean_data: Address,
    variance: Address,
    _epsilon: f64,
    saved_mean: Address,
    saved_inverse: Address,
    _activation: Activation,
    _z: Tensor,
    _z_data: Address,
    y: Tensor,
    y_data: Address,
    _workspace: Address,
    _workspace_bytes: usize,
    reserve: Address,
    reserve_bytes: usize,
    _groups: i32,
) -> Result<(), Error> {
    check(mode, ops, algorithm)?;
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    let statistics = mean.value()?.span_bytes();
    let mut writes = vec![(y_data, y.value()?.span_bytes()), (reserve, reserve_bytes as u64)];
    writes.extend([mean_data, variance, saved_mean, saved_inverse].map(|address| (address, statistics)));
    run(handle, &passes(c"cudnn_norm_training", &x.value()?, 2, 1), &writes)
}

fn backward(
    handle: Cudn,
    mode: i32,
    ops: i32,
    algorithm: i32,
    _alpha: Address,
    _beta: Address,
    _alpha_weights: Address,
    _beta_weights: Address,
    x: Tensor,
    x_data: Address,
    _y: Tensor,
    _y_data: Address,
    _dy: Tensor,
    dy_data: Address,
    dz: Tensor,
    dz_data: Address,
    dx: Tensor,
    dx_data: Address,
    scale: Tensor,
    _scale_data: Address,
    _bias_data: Address,
    dscale: Address,
    dbias: Address,
    _epsilon: f64,
    _mean: Tensor,
    _mean_data: Address,
    _inverse: Address,
    _activation: Activation,
    _workspace: Address,
    _workspace_bytes: usize,
    _reserve: Address,
    _reserve_bytes: usize,
    _groups: i32,
) -> Result<(), Error> {
    check(mode, ops, algorithm)?;
    [x_data, dy_data, dx_data].into_iter().try_for_each(Address::check)?;
    let statistics = scale.value()?.span_bytes();
    let mut writes = vec![(dx_data, dx.value()?.span_bytes()), (dscale, statistics), (dbias, statistics)];
    if !dz.is_null() {
        writes.push((dz_data, dz.value()?.span_bytes()));
    }
    run(handle, &passes(c"cudnn_norm_backward", &x.value()?, 4, 1), &writes)
}
