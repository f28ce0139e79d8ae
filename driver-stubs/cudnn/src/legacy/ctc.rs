//! CTC loss.
//! The loss is not computed: costs and gradients read zero.

use super::memory::{Address, run};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::tensor::Shape;
use crate::work::Work;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{MaybeOut, Out};

/// What a CTC loss descriptor holds; all of it is kept for the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    compute: DataType,
    normalization: i32,
    gradient: i32,
    /// Longest label, 0 when it is not told.
    longest: i32,
}

kept!(Options, b"gh.cnnct");

type Loss = Handle<Options>;
type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateCTCLossDescriptor(loss: Out<Loss>) => create;
    fn cudnnDestroyCTCLossDescriptor(loss: Loss) => destroy;
    fn cudnnSetCTCLossDescriptor(loss: Loss, compute: DataType) => set;
    fn cudnnSetCTCLossDescriptorEx(loss: Loss, compute: DataType, normalization: i32, gradient: i32) => set_ex;
    fn cudnnSetCTCLossDescriptor_v8(loss: Loss, compute: DataType, normalization: i32, gradient: i32, longest: i32) => set_long;
    fn cudnnSetCTCLossDescriptor_v9(loss: Loss, compute: DataType, normalization: i32, gradient: i32, longest: i32) => set_long;
    fn cudnnGetCTCLossDescriptor(loss: Loss, compute: Out<DataType>) => get;
    fn cudnnGetCTCLossDescriptorEx(loss: Loss, compute: MaybeOut<DataType>, normalization: MaybeOut<i32>, gradient: MaybeOut<i32>) => get_ex;
    fn cudnnGetCTCLossDescriptor_v8(loss: Loss, compute: MaybeOut<DataType>, normalization: MaybeOut<i32>, gradient: MaybeOut<i32>, longest: MaybeOut<i32>) => get_long;
    fn cudnnGetCTCLossDescriptor_v9(loss: Loss, compute: MaybeOut<DataType>, normalization: MaybeOut<i32>, gradient: MaybeOut<i32>, longest: MaybeOut<i32>) => get_long;
    fn cudnnGetCTCLossWorkspaceSize(handle: Cudn, probabilities: Tensor, gradients: Tensor, labels: Address, label_lengths: Address, lengths: Address, algorithm: i32, loss: Loss, bytes: Out<usize>) => workspace;
    fn cudnnGetCTCLossWorkspaceSize_v8(handle: Cudn, algorithm: i32, loss: Loss, probabilities: Tensor, gradients: Tensor, bytes: Out<usize>) => workspace_long;
    fn cudnnCTCLoss(handle: Cudn, probabilities: Tensor, data: Address, labels: Address, label_lengths: Address, lengths: Address, costs: Address, gradients: Tensor, gradient_data: Address, algorithm: i32, loss: Loss, workspace: Address, bytes: usize) => run_host;
    fn cudnnCTCLoss_v8(handle: Cudn, algorithm: i32, loss: Loss, probabilities: Tensor, data: Address, labels: Address, label_lengths: Address, lengths: Address, costs: Address, gradients: Tensor, gradient_data: Address, bytes: usize, workspace: Address) => run_device;
}

/// Labels are shorter than this unless a descriptor says otherwise (cudnn_adv.h).
const LONGEST_LABEL: u64 = 255;

fn set(loss: Loss, compute: DataType) -> Result<(), Error> {
    set_long(loss, compute, 0, 0, 0)
}

fn set_ex(loss: Loss, compute: DataType, normalization: i32, gradient: i32) -> Result<(), Error> {
    set_long(loss, compute, normalization, gradient, 0)
}

fn set_long(loss: Loss, compute: DataType, normalization: i32, gradient: i32, longest: i32) -> Result<(), Error> {
    if compute != DataType::FLOAT || !matches!((normalization, gradient, longest), (0..=1, 0..=1, 0..)) {
        return Err(Error::BadParam);
    }
    loss.with(|place| *place = Options { compute, normalization, gradient, longest })
}

fn get(loss: Loss, compute: Out<DataType>) -> Result<(), Error> {
    Ok(compute.set(loss.value()?.compute)?)
}

fn get_ex(
    loss: Loss,
    compute: MaybeOut<DataType>,
    normalization: MaybeOut<i32>,
    gradient: MaybeOut<i32>,
) -> Result<(), Error> {
    let options = loss.value()?;
    compute.set(options.compute);
    normalization.set(options.normalization);
    gradient.set(options.gradient);
    Ok(())
}

fn get_long(
    loss: Loss,
    compute: MaybeOut<DataType>,
    normalization: MaybeOut<i32>,
    gradient: MaybeOut<i32>,
    longest: MaybeOut<i32>,
) -> Result<(), Error> {
    longest.set(loss.value()?.longest);
    get_ex(loss, compute, normalization, gradient)
}

/// Forward variables for every time, sequence and place of a label with blanks between.
fn workspace_bytes(loss: Loss, probabilities: Tensor) -> Result<usize, Error> {
    let (options, probabilities) = (loss.value()?, probabilities.value()?);
    let longest = u64::try_from(options.longest).ok().filter(|&length| length > 0).unwrap_or(LONGEST_LABEL);
    let bytes = probabilities.dim(0) * probabilities.dim(1) * (2 * longest + 1) * 4;
    usize::try_from(bytes.next_multiple_of(256)).map_err(|_| Error::BadParam)
}

fn workspace(
    handle: Cudn,
    probabilities: Tensor,
    _gradients: Tensor,
    _labels: Address,
    _label_lengths: Address,
    _lengths: Address,
    algorithm: i32,
    loss: Loss,
    bytes: Out<usize>,
) -> Result<(), Error> {
    workspace_long(handle, algorithm, loss, probabilities, Tensor::null(), bytes)
}

fn workspace_long(
    handle: Cudn,
    algorithm: i32,
    loss: Loss,
    probabilities: Tensor,
    _gradients: Tensor,
    bytes: Out<usize>,
) -> Result<(), Error> {
    handle.value()?;
    if !matches!(algorithm, 0 | 1) {
        return Err(Error::BadParam);
    }
    Ok(bytes.set(workspace_bytes(loss, probabilities)?)?)
}

/// Probabilities in, gradients and one cost a sequence out.
fn work(probabilities: &Shape, gradient_bytes: u64) -> Work {
    let bytes = [probabilities.bytes(), gradient_bytes, probabilities.elements().saturating_mul(8)];
    Work::kernel(c"cudnn_ctc_loss", probabilities.of, bytes)
}

fn run_host(
    handle: Cudn,
    probabilities: Tensor,
    data: Address,
    labels: Address,
    label_lengths: Address,
    lengths: Address,
    costs: Address,
    gradients: Tensor,
    gradient_data: Address,
    algorithm: i32,
    loss: Loss,
    workspace: Address,
    bytes: usize,
) -> Result<(), Error> {
    run_device(
        handle,
        algorithm,
        loss,
        probabilities,
        data,
        labels,
        label_lengths,
        lengths,
        costs,
        gradients,
        gradient_data,
        bytes,
        workspace,
    )
}

fn run_device(
    handle: Cudn,
    algorithm: i32,
    loss: Loss,
    probabilities: Tensor,
    data: Address,
    _labels: Address,
    label_lengths: Address,
    lengths: Address,
    costs: Address,
    gradients: Tensor,
    gradient_data: Address,
    bytes: usize,
    _workspace: Address,
) -> Result<(), Error> {
    let short = bytes < workspace_bytes(loss, probabilities)?;
    if short || !matches!(algorithm, 0 | 1) {
        return Err(Error::BadParam);
    }
    [data, label_lengths, lengths, costs].into_iter().try_for_each(Address::check)?;
    let probabilities = probabilities.value()?;
    let gradient_bytes = if gradients.is_null() { 0 } else { gradients.value()?.span_bytes() };
    let cost_bytes = probabilities.of.bytes(probabilities.dim(1));
    run(handle, &work(&probabilities, gradient_bytes), &[(costs, cost_bytes), (gradient_data, gradient_bytes)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_grows_with_time_sequences_and_labels() {
        let loss = Handle::new(Options::default());
        let shape = Shape { of: DataType::FLOAT, dims: vec![50, 16, 20], strides: vec![320, 20, 1] };
        let tensor = Handle::new(shape);
        assert_eq!(workspace_bytes(loss, tensor), Ok((50 * 16 * 511 * 4_usize).next_multiple_of(256)));
        assert_eq!(set_long(loss, DataType::FLOAT, 1, 1, 10), Ok(()));
        assert_eq!(workspace_bytes(loss, tensor), Ok((50 * 16 * 21 * 4_usize).next_multiple_of(256)));
        assert_eq!(set(loss, DataType::HALF), Err(Error::BadParam));
    }
}
