//! Activations and softmax.
//! Nothing is computed: a pass over the tensors.

use super::memory::{Address, run};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::work::Work;
use crate::{Cudnn, Error};
use ghost_abi::{MaybeOut, Out};

/// What an activation descriptor holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Function {
    /// A `cudnnActivationMode_t`.
    mode: i32,
    nan: i32,
    coefficient: f64,
    beta: f64,
}

kept!(Function, b"gh.cnnac");

/// A `cudnnActivationDescriptor_t`.
pub type Activation = Handle<Function>;

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateActivationDescriptor(activation: Out<Activation>) => create;
    fn cudnnDestroyActivationDescriptor(activation: Activation) => destroy;
    fn cudnnSetActivationDescriptor(activation: Activation, mode: i32, nan: i32, coefficient: f64) => set;
    fn cudnnGetActivationDescriptor(activation: Activation, mode: MaybeOut<i32>, nan: MaybeOut<i32>, coefficient: MaybeOut<f64>) => get;
    fn cudnnSetActivationDescriptorSwishBeta(activation: Activation, beta: f64) => set_beta;
    fn cudnnGetActivationDescriptorSwishBeta(activation: Activation, beta: Out<f64>) => beta;
    fn cudnnActivationForward(handle: Cudn, activation: Activation, alpha: Address, x: Tensor, x_data: Address, beta: Address, y: Tensor, y_data: Address) => forward;
    fn cudnnActivationBackward(handle: Cudn, activation: Activation, alpha: Address, y: Tensor, y_data: Address, dy: Tensor, dy_data: Address, x: Tensor, x_data: Address, beta: Address, dx: Tensor, dx_data: Address) => backward;
    fn cudnnSoftmaxForward(handle: Cudn, algorithm: i32, mode: i32, alpha: Address, x: Tensor, x_data: Address, beta: Address, y: Tensor, y_data: Address) => softmax;
    fn cudnnSoftmaxBackward(handle: Cudn, algorithm: i32, mode: i32, alpha: Address, y: Tensor, y_data: Address, dy: Tensor, dy_data: Address, beta: Address, dx: Tensor, dx_data: Address) => softmax_backward;
}

fn set(activation: Activation, mode: i32, nan: i32, coefficient: f64) -> Result<(), Error> {
    if !matches!((mode, nan), (0..=6, 0..=1)) {
        return Err(Error::BadParam);
    }
    activation.with(|function| *function = Function { mode, nan, coefficient, beta: 1.0 })
}

fn get(
    activation: Activation,
    mode: MaybeOut<i32>,
    nan: MaybeOut<i32>,
    coefficient: MaybeOut<f64>,
) -> Result<(), Error> {
    let function = activation.value()?;
    mode.set(function.mode);
    nan.set(function.nan);
    coefficient.set(function.coefficient);
    Ok(())
}

fn set_beta(activation: Activation, beta: f64) -> Result<(), Error> {
    activation.with(|function| function.beta = beta)
}

fn beta(activation: Activation, beta: Out<f64>) -> Result<(), Error> {
    Ok(beta.set(activation.value()?.beta)?)
}

/// One pass: so many tensors of x's size in, y out.
fn pass(handle: Cudn, name: &'static std::ffi::CStr, reads: u64, y: Tensor, y_data: Address) -> Result<(), Error> {
    y_data.check()?;
    let y = y.value()?;
    let work = Work::kernel(name, y.of, [y.bytes() * reads, y.bytes(), y.elements().saturating_mul(4)]);
    run(handle, &work, &[(y_data, y.span_bytes())])
}

fn forward(
    handle: Cudn,
    activation: Activation,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    x_data.check()?;
    activation.value()?;
    x.value()?;
    pass(handle, c"cudnn_activation_forward", 1, y, y_data)
}

fn backward(
    handle: Cudn,
    activation: Activation,
    _alpha: Address,
    y: Tensor,
    y_data: Address,
    dy: Tensor,
    dy_data: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    dx: Tensor,
    dx_data: Address,
) -> Result<(), Error> {
    [y_data, dy_data, x_data].into_iter().try_for_each(Address::check)?;
    activation.value()?;
    y.value()?;
    dy.value()?;
    x.value()?;
    pass(handle, c"cudnn_activation_backward", 3, dx, dx_data)
}

fn softmax(
    handle: Cudn,
    algorithm: i32,
    mode: i32,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    if !matches!((algorithm, mode), (0..=2, 0..=1)) {
        return Err(Error::BadParam);
    }
    x_data.check()?;
    x.value()?;
    pass(handle, c"cudnn_softmax_forward", 1, y, y_data)
}

fn softmax_backward(
    handle: Cudn,
    algorithm: i32,
    mode: i32,
    _alpha: Address,
    y: Tensor,
    y_data: Address,
    dy: Tensor,
    dy_data: Address,
    _beta: Address,
    dx: Tensor,
    dx_data: Address,
) -> Result<(), Error> {
    if !matches!((algorithm, mode), (0..=2, 0..=1)) {
        return Err(Error::BadParam);
    }
    [y_data, dy_data].into_iter().try_for_each(Address::check)?;
    y.value()?;
    dy.value()?;
    pass(handle, c"cudnn_softmax_backward", 2, dx, dx_data)
}
