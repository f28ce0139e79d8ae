//! Batch normalization of the older API: traffic of the tensors it passes over, each pass counted.
//! Statistics are not computed: they read zero.

use super::activation::Activation;
use super::memory::{Address, run};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::Handle;
use crate::tensor::Shape;
use crate::work::Work;
use crate::{Cudnn, DataType, Error};
use ghost_abi::Out;
use std::ffi::CStr;

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnDeriveBNTensorDescriptor(derived: Tensor, x: Tensor, mode: i32) => derive;
    fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(handle: Cudn, mode: i32, ops: i32, x: Tensor, z: Tensor, y: Tensor, scale: Tensor, activation: Activation, bytes: Out<usize>) => forward_workspace;
    fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(handle: Cudn, mode: i32, ops: i32, x: Tensor, y: Tensor, dy: Tensor, dz: Tensor, dx: Tensor, scale: Tensor, activation: Activation, bytes: Out<usize>) => backward_workspace;
    fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle: Cudn, mode: i32, ops: i32, activation: Activation, x: Tensor, bytes: Out<usize>) => reserve;
    fn cudnnBatchNormalizationForwardInference(handle: Cudn, mode: i32, alpha: Address, beta: Address, x: Tensor, x_data: Address, y: Tensor, y_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, mean: Address, variance: Address, epsilon: f64) => inference;
    fn cudnnBatchNormalizationForwardTraining(handle: Cudn, mode: i32, alpha: Address, beta: Address, x: Tensor, x_data: Address, y: Tensor, y_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, factor: f64, mean: Address, variance: Address, epsilon: f64, saved_mean: Address, saved_inverse: Address) => training;
    fn cudnnBatchNormalizationForwardTrainingEx(handle: Cudn, mode: i32, ops: i32, alpha: Address, beta: Address, x: Tensor, x_data: Address, z: Tensor, z_data: Address, y: Tensor, y_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, factor: f64, mean: Address, variance: Address, epsilon: f64, saved_mean: Address, saved_inverse: Address, activation: Activation, workspace: Address, workspace_bytes: usize, reserve: Address, reserve_bytes: usize) => training_ex;
    fn cudnnBatchNormalizationBackward(handle: Cudn, mode: i32, alpha: Address, beta: Address, alpha_weights: Address, beta_weights: Address, x: Tensor, x_data: Address, dy: Tensor, dy_data: Address, dx: Tensor, dx_data: Address, scale: Tensor, scale_data: Address, dscale: Address, dbias: Address, epsilon: f64, mean: Address, inverse: Address) => backward;
    fn cudnnBatchNormalizationBackwardEx(handle: Cudn, mode: i32, ops: i32, alpha: Address, beta: Address, alpha_weights: Address, beta_weights: Address, x: Tensor, x_data: Address, y: Tensor, y_data: Address, dy: Tensor, dy_data: Address, dz: Tensor, dz_data: Address, dx: Tensor, dx_data: Address, scale: Tensor, scale_data: Address, bias_data: Address, dscale: Address, dbias: Address, epsilon: f64, mean: Address, inverse: Address, activation: Activation, workspace: Address, workspace_bytes: usize, reserve: Address, reserve_bytes: usize) => backward_ex;
}

/// `CUDNN_BATCHNORM_PER_ACTIVATION`; 1 and 2 are spatial.
const PER_ACTIVATION: i32 = 0;

/// Statistics over the batch, or over the batch and the image; half precision keeps them in single.
pub fn derived(x: &Shape, mode: i32) -> Result<Shape, Error> {
    if !matches!(mode, 0..=2) || x.dims.is_empty() {
        return Err(Error::BadParam);
    }
    let kept = |index: usize| index == 1 || (index > 1 && mode == PER_ACTIVATION);
    let dims: Vec<i64> = x.dims.iter().enumerate().map(|(index, &dim)| if kept(index) { dim } else { 1 }).collect();
    let strides = super::tensor::packed(0, &dims)?;
    let of = if x.of == DataType::DOUBLE { DataType::DOUBLE } else { DataType::FLOAT };
    Ok(Shape { of, dims, strides })
}

fn derive(out: Tensor, x: Tensor, mode: i32) -> Result<(), Error> {
    let shape = derived(&x.value()?, mode)?;
    out.with(|place| *place = shape)
}

fn check(mode: i32, ops: i32) -> Result<(), Error> {
    if matches!(mode, 0..=2) && matches!(ops, 0..=2) { Ok(()) } else { Err(Error::BadParam) }
}

fn forward_workspace(
    handle: Cudn,
    mode: i32,
    ops: i32,
    x: Tensor,
    _z: Tensor,
    y: Tensor,
    _scale: Tensor,
    _activation: Activation,
    bytes: Out<usize>,
) -> Result<(), Error> {
    handle.value()?;
    check(mode, ops)?;
    x.value()?;
    y.value()?;
    Ok(bytes.set(0)?)
}

fn backward_workspace(
    handle: Cudn,
    mode: i32,
    ops: i32,
    x: Tensor,
    _y: Tensor,
    dy: Tensor,
    _dz: Tensor,
    dx: Tensor,
    _scale: Tensor,
    _activation: Activation,
    bytes: Out<usize>,
) -> Result<(), Error> {
    handle.value()?;
    check(mode, ops)?;
    x.value()?;
    dy.value()?;
    dx.value()?;
    Ok(bytes.set(0)?)
}

/// A bit an element where an activation must be undone later.
fn reserve(
    handle: Cudn,
    mode: i32,
    ops: i32,
    _activation: Activation,
    x: Tensor,
    bytes: Out<usize>,
) -> Result<(), Error> {
    handle.value()?;
    check(mode, ops)?;
    let elements = x.value()?.elements();
    Ok(bytes.set(if ops == 0 { 0 } else { elements.div_ceil(8).next_multiple_of(16) as usize })?)
}

/// A pass over tensors of `x`'s size: `reads` and `writes` of them.
pub fn passes(name: &'static CStr, x: &Shape, reads: u64, writes: u64) -> Work {
    let bytes = x.bytes();
    Work::kernel(name, x.of, [bytes * reads, bytes * writes, x.elements().saturating_mul(4)])
}

fn inference(
    handle: Cudn,
    mode: i32,
    _alpha: Address,
    _beta: Address,
    x: Tensor,
    x_data: Address,
    y: Tensor,
    y_data: Address,
    scale: Tensor,
    _scale_data: Address,
    _bias_data: Address,
    _mean: Address,
    _variance: Address,
    _epsilon: f64,
) -> Result<(), Error> {
    check(mode, 0)?;
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    scale.value()?;
    run(handle, &passes(c"cudnn_batchnorm_inference", &x.value()?, 1, 1), &[(y_data, y.value()?.span_bytes())])
}

fn training(
    handle: Cudn,
    mode: i32,
    alpha: Address,
    beta: Address,
    x: Tensor,
    x_data: Address,
    y: Tensor,
    y_data: Address,
    scale: Tensor,
    scale_data: Address,
    bias_data: Address,
    factor: f64,
    mean: Address,
    variance: Address,
    epsilon: f64,
    saved_mean: Address,
    saved_inverse: Address,
) -> Result<(), Error> {
    let none = Address(0);
    training_ex(
        handle,
        mode,
        0,
        alpha,
        beta,
        x,
        x_data,
        Tensor::null(),
        none,
        y,
        y_data,
        scale,
        scale_data,
        bias_data,
        factor,
        mean,
        variance,
        epsilon,
        saved_mean,
        saved_inverse,
        Activation::null(),
        none,
        0,
        none,
        0,
    )
}

/// Statistics first, then the result: x is read twice.
fn training_ex(
    handle: Cudn,
    mode: i32,
    ops: i32,
    _alpha: Address,
    _beta: Address,
    x: Tensor,
    x_data: Address,
    _z: Tensor,
    _z_data: Address,
    y: Tensor,
    y_data: Address,
    scale: Tensor,
    _scale_data: Address,
    _bias_data: Address,
    _factor: f64,
    mean: Address,
    variance: Address,
    _epsilon: f64,
    saved_mean: Address,
    saved_inverse: Address,
    _activation: Activation,
    _workspace: Address,
    _workspace_bytes: usize,
    reserve: Address,
    reserve_bytes: usize,
) -> Result<(), Error> {
    /// `CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION` reads a second tensor.
    const ADD_ACTIVATION: i32 = 2;
    check(mode, ops)?;
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    let statistics = scale.value()?.span_bytes();
    let reads = if ops == ADD_ACTIVATION { 3 } else { 2 };
    let small = [mean, variance, saved_mean, saved_inverse].map(|address| (address, statistics));
    let mut writes = vec![(y_data, y.value()?.span_bytes())];
    writes.extend(small);
    writes.push((reserve, reserve_bytes as u64));
    run(handle, &passes(c"cudnn_batchnorm_training", &x.value()?, reads, 1), &writes)
}

fn backward(
    handle: Cudn,
    mode: i32,
    alpha: Address,
    beta: Address,
    alpha_weights: Address,
    beta_weights: Address,
    x: Tensor,
    x_data: Address,
    dy: Tensor,
    dy_data: Address,
    dx: Tensor,
    dx_data: Address,
    scale: Tensor,
    scale_data: Address,
    dscale: Address,
    dbias: Address,
    epsilon: f64,
    mean: Address,
    inverse: Address,
) -> Result<(), Error> {
    let none = Address(0);
    backward_ex(
        handle,
        mode,
        0,
        alpha,
        beta,
        alpha_weights,
        beta_weights,
        x,
        x_data,
        Tensor::null(),
        none,
        dy,
        dy_data,
        Tensor::null(),
        none,
        dx,
        dx_data,
        scale,
        scale_data,
        none,
        dscale,
        dbias,
        epsilon,
        mean,
        inverse,
        Activation::null(),
        none,
        0,
        none,
        0,
    )
}

/// Sums over x and dy first, then dx from both again.
fn backward_ex(
    handle: Cudn,
    mode: i32,
    ops: i32,
    _alpha: Address,
    _beta: Address,
    _alpha_weights: Address,
    _beta_weights: Address,
    x: Tensor,
    x_data: Address,
    _y: Tensor,
    _y_data: Address,
    dy: Tensor,
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
    _mean: Address,
    _inverse: Address,
    _activation: Activation,
    _workspace: Address,
    _workspace_bytes: usize,
    _reserve: Address,
    _reserve_bytes: usize,
) -> Result<(), Error> {
    check(mode, ops)?;
    [x_data, dy_data, dx_data].into_iter().try_for_each(Address::check)?;
    dy.value()?;
    let statistics = scale.value()?.span_bytes();
    let mut writes = vec![(dx_data, dx.value()?.span_bytes()), (dscale, statistics), (dbias, statistics)];
    if !dz.is_null() {
        writes.push((dz_data, dz.value()?.span_bytes()));
    }
    run(handle, &passes(c"cudnn_batchnorm_backward", &x.value()?, 4, 1), &writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_of_channels_or_of_activations_and_never_half() {
        let x = Shape { of: DataType::HALF, dims: vec![8, 3, 4, 5], strides: vec![60, 20, 5, 1] };
        let spatial = derived(&x, 1).expect("spatial");
        assert_eq!((spatial.dims, spatial.of), (vec![1, 3, 1, 1], DataType::FLOAT));
        assert_eq!(derived(&x, 0).map(|shape| shape.dims), Ok(vec![1, 3, 4, 5]));
        assert_eq!(derived(&x, 3), Err(Error::BadParam));
    }

    #[test]
    fn training_reads_twice_and_reserves_only_for_an_activation() {
        let x = Shape { of: DataType::FLOAT, dims: vec![2, 3, 4, 4], strides: vec![48, 16, 4, 1] };
        assert_eq!(passes(c"norm", &x, 2, 1).dims[..2], [768, 384]);
        let (handle, tensor) = (Handle::new(Context::default()), Handle::new(x));
        let asked = |ops| ghost_abi::ask(|out| reserve(handle, 1, ops, Activation::null(), tensor, out));
        assert_eq!((asked(0), asked(1), asked(3)), (Ok(0), Ok(16), Err(Error::BadParam)));
    }
}
