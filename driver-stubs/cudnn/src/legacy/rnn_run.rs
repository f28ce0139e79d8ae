//! Running an RNN: products with the inputs of all steps at once, and a chain of products with the state.
//! Nothing is computed: outputs, states and gradients read zero.

use super::dropout::mask_bytes;
use super::memory::{Address, run};
use super::network::Network;
use super::rnn::Rnn;
use super::rnn_data::{Data, Sequences};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::Handle;
use crate::work::Work;
use crate::{Cudnn, Error};
use ghost_abi::MaybeOut;
use ghost_table::{Kind, Type};

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnGetRNNTempSpaceSizes(handle: Cudn, rnn: Rnn, mode: i32, x: Data, workspace: MaybeOut<usize>, reserve: MaybeOut<usize>) => sizes;
    fn cudnnRNNForward(handle: Cudn, rnn: Rnn, mode: i32, lengths: Address, x: Data, x_data: Address, y: Data, y_data: Address, h: Tensor, hx: Address, hy: Address, c: Tensor, cx: Address, cy: Address, weight_bytes: usize, weights: Address, workspace_bytes: usize, workspace: Address, reserve_bytes: usize, reserve: Address) => forward;
    fn cudnnRNNBackwardData_v8(handle: Cudn, rnn: Rnn, lengths: Address, y: Data, y_data: Address, dy: Address, x: Data, dx: Address, h: Tensor, hx: Address, dhy: Address, dhx: Address, c: Tensor, cx: Address, dcy: Address, dcx: Address, weight_bytes: usize, weights: Address, workspace_bytes: usize, workspace: Address, reserve_bytes: usize, reserve: Address) => backward_data;
    fn cudnnRNNBackwardWeights_v8(handle: Cudn, rnn: Rnn, add: i32, lengths: Address, x: Data, x_data: Address, h: Tensor, hx: Address, y: Data, y_data: Address, weight_bytes: usize, dweights: Address, workspace_bytes: usize, workspace: Address, reserve_bytes: usize, reserve: Address) => backward_weights;
}

/// Gates of every step while it runs; for training also what each step leaves for the way back, and masks between
/// layers. Our own sizes, of the order of NVIDIA's.
fn sizes(
    handle: Cudn,
    rnn: Rnn,
    mode: i32,
    x: Data,
    workspace: MaybeOut<usize>,
    reserve: MaybeOut<usize>,
) -> Result<(), Error> {
    handle.value()?;
    let (network, x) = (rnn.value()?, x.value()?);
    if !matches!(mode, 0 | 1) {
        return Err(Error::BadParam);
    }
    let tokens = x.longest * x.batch;
    let cells = tokens * network.directions() * network.hidden;
    let masks = network.layers.saturating_sub(1) * mask_bytes(cells);
    let kept = network.of.bytes(cells * network.layers * (network.gates() + 2)) + masks;
    workspace.set(network.of.bytes(cells * network.gates()).next_multiple_of(256) as usize);
    reserve.set(if mode == 1 { kept.next_multiple_of(256) as usize } else { 0 });
    Ok(())
}

/// What one layer does, both directions together.
struct Layer {
    /// Every step's product with the input: dims as of a product.
    input: Option<Work>,
    /// One step's product with the state.
    step: Work,
    /// All steps' products with the state as if none waited for another.
    steps: Work,
    count: u64,
}

impl Layer {
    fn of(network: &Network, x: &Sequences, layer: u64) -> Layer {
        let directions = network.directions();
        let rows = network.gates() * network.hidden;
        let depth = network.input_of(layer * directions);
        let kinds = (network.of.priced(), network.of.arithmetic(network.tensor_cores()));
        let product = |name, dims| Work::product(name, dims, kinds.0, kinds.1);
        let tokens = x.tokens();
        // A projection is a second, smaller product of each step.
        let columns =
            network.output() + if network.projects() { network.output().div_ceil(network.gates()) } else { 0 };
        let count = x.longest.max(1);
        let each = tokens.div_ceil(count).max(1);
        Layer {
            input: (depth > 0).then(|| product(c"cudnn_rnn_input", [rows, tokens, depth, directions])),
            step: product(c"cudnn_rnn_step", [rows, each, columns, directions]),
            steps: product(c"cudnn_rnn_steps", [rows, each, columns, directions * count]),
            count,
        }
    }

    /// Puts it on the stream. The chain takes its steps one after the other, however little each of them fills.
    fn run(&self, handle: Cudn) -> Result<(), Error> {
        if let Some(input) = &self.input {
            run(handle, input, &[])?;
        }
        let chain_ns = self.step.price_ns()?.saturating_mul(self.count);
        let filled_ns = self.steps.price_ns()?;
        run(handle, &self.steps, &[])?;
        run(handle, &delay(chain_ns.saturating_sub(filled_ns)), &[])
    }
}

fn delay(ns: u64) -> Work {
    Work {
        kind: Kind::Delay,
        input: Type::F32,
        compute: Type::F32,
        dims: [ns, 0, 0, 0, 0, 0, 0],
        name: c"cudnn_rnn_chain",
    }
}

/// All layers, then what they write: the way back costs as much as the way there.
fn layers(handle: Cudn, network: &Network, x: &Sequences, writes: &[(Address, u64)]) -> Result<(), Error> {
    for layer in 0..network.layers {
        Layer::of(network, x, layer).run(handle)?;
    }
    let bytes = writes.iter().filter(|(address, _)| address.0 != 0).map(|(_, bytes)| bytes).sum();
    run(handle, &Work::kernel(c"cudnn_rnn_output", network.of, [bytes, bytes, 0]), writes)
}

/// Bytes of a state; none without a descriptor, as cells without one have.
fn state_bytes(tensor: Tensor) -> Result<u64, Error> {
    if tensor.is_null() { Ok(0) } else { Ok(tensor.value()?.span_bytes()) }
}

fn checked(rnn: Rnn, weight_bytes: usize, weights: Address) -> Result<Network, Error> {
    let network = rnn.value()?;
    weights.check()?;
    if (weight_bytes as u64) < network.weight_bytes() { Err(Error::BadParam) } else { Ok(network) }
}

fn forward(
    handle: Cudn,
    rnn: Rnn,
    mode: i32,
    _lengths: Address,
    x: Data,
    x_data: Address,
    y: Data,
    y_data: Address,
    h: Tensor,
    _hx: Address,
    hy: Address,
    c: Tensor,
    _cx: Address,
    cy: Address,
    weight_bytes: usize,
    weights: Address,
    _workspace_bytes: usize,
    _workspace: Address,
    reserve_bytes: usize,
    reserve: Address,
) -> Result<(), Error> {
    let network = checked(rnn, weight_bytes, weights)?;
    if !matches!(mode, 0 | 1) {
        return Err(Error::BadParam);
    }
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    let kept = if mode == 1 { reserve_bytes as u64 } else { 0 };
    let writes = [(y_data, y.value()?.bytes()), (hy, state_bytes(h)?), (cy, state_bytes(c)?), (reserve, kept)];
    layers(handle, &network, &x.value()?, &writes)
}

fn backward_data(
    handle: Cudn,
    rnn: Rnn,
    _lengths: Address,
    y: Data,
    _y_data: Address,
    dy: Address,
    x: Data,
    dx: Address,
    h: Tensor,
    _hx: Address,
    _dhy: Address,
    dhx: Address,
    c: Tensor,
    _cx: Address,
    _dcy: Address,
    dcx: Address,
    weight_bytes: usize,
    weights: Address,
    _workspace_bytes: usize,
    _workspace: Address,
    _reserve_bytes: usize,
    _reserve: Address,
) -> Result<(), Error> {
    let network = checked(rnn, weight_bytes, weights)?;
    y.with(|_| ())?;
    [dy, dx].into_iter().try_for_each(Address::check)?;
    let x = x.value()?;
    layers(handle, &network, &x, &[(dx, x.bytes()), (dhx, state_bytes(h)?), (dcx, state_bytes(c)?)])
}

/// No step waits for another here: one product a layer, as deep as there are vectors.
fn backward_weights(
    handle: Cudn,
    rnn: Rnn,
    _add: i32,
    _lengths: Address,
    x: Data,
    x_data: Address,
    _h: Tensor,
    _hx: Address,
    _y: Data,
    y_data: Address,
    weight_bytes: usize,
    dweights: Address,
    _workspace_bytes: usize,
    _workspace: Address,
    _reserve_bytes: usize,
    _reserve: Address,
) -> Result<(), Error> {
    let network = checked(rnn, weight_bytes, dweights)?;
    [x_data, y_data].into_iter().try_for_each(Address::check)?;
    let tokens = x.value()?.tokens();
    let directions = network.directions();
    let kinds = (network.of.priced(), network.of.arithmetic(network.tensor_cores()));
    let last = network.layers.saturating_sub(1);
    for layer in 0..network.layers {
        let columns = network.input_of(layer * directions) + network.output();
        let dims = [network.gates() * network.hidden, columns, tokens, directions];
        let writes = [(dweights, network.weight_bytes())];
        let work = Work::product(c"cudnn_rnn_backward_weights", dims, kinds.0, kinds.1);
        run(handle, &work, if layer == last { &writes } else { &[] })?;
    }
    Ok(())
}
