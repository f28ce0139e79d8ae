//! RNN descriptors and where each weight lies in the weight space: all matrices layer by layer, then all biases.
//! Running is in `rnn_run.rs`.

use super::dropout::Dropout;
use super::memory::Address;
use super::tensor::{Tensor, packed};
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::tensor::Shape;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{MaybeOut, Out};

/// What an RNN descriptor holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Network {
    algorithm: i32,
    /// A `cudnnRNNMode_t`.
    cell: i32,
    /// A `cudnnRNNBiasMode_t`.
    bias: i32,
    bidirectional: bool,
    skip_input: bool,
    pub of: DataType,
    math_precision: DataType,
    /// A `cudnnMathType_t`.
    math: i32,
    input: u64,
    pub hidden: u64,
    projection: u64,
    pub layers: u64,
    dropout: Option<Dropout>,
    flags: u32,
    clip: Clip,
}

// SAFETY: the one pointer in it is a handle, which is only followed by `Handle` itself, and places stay.
unsafe impl Send for Network {}

/// How a cell's state is clipped; kept for the caller.
#[derive(Clone, Copy, Debug, Default)]
struct Clip {
    mode: i32,
    nan: i32,
    low: f64,
    high: f64,
}

kept!(Network, b"gh.cnnrn");

/// A `cudnnRNNDescriptor_t`.
pub type Rnn = Handle<Network>;

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateRNNDescriptor(rnn: Out<Rnn>) => create;
    fn cudnnDestroyRNNDescriptor(rnn: Rnn) => destroy;
    fn cudnnSetRNNDescriptor_v8(rnn: Rnn, algorithm: i32, cell: i32, bias: i32, direction: i32, input_mode: i32, of: DataType, precision: DataType, math: i32, input: i32, hidden: i32, projection: i32, layers: i32, dropout: Dropout, flags: u32) => set;
    fn cudnnGetRNNDescriptor_v8(rnn: Rnn, algorithm: MaybeOut<i32>, cell: MaybeOut<i32>, bias: MaybeOut<i32>, direction: MaybeOut<i32>, input_mode: MaybeOut<i32>, of: MaybeOut<DataType>, precision: MaybeOut<DataType>, math: MaybeOut<i32>, input: MaybeOut<i32>, hidden: MaybeOut<i32>, projection: MaybeOut<i32>, layers: MaybeOut<i32>, dropout: MaybeOut<Dropout>, flags: MaybeOut<u32>) => get;
    fn cudnnRNNSetClip_v8(rnn: Rnn, mode: i32, nan: i32, low: f64, high: f64) => set_clip;
    fn cudnnRNNSetClip_v9(rnn: Rnn, mode: i32, low: f64, high: f64) => set_clip_9;
    fn cudnnRNNGetClip_v8(rnn: Rnn, mode: MaybeOut<i32>, nan: MaybeOut<i32>, low: MaybeOut<f64>, high: MaybeOut<f64>) => clip;
    fn cudnnRNNGetClip_v9(rnn: Rnn, mode: MaybeOut<i32>, low: MaybeOut<f64>, high: MaybeOut<f64>) => clip_9;
    fn cudnnBuildRNNDynamic(handle: Cudn, rnn: Rnn, batch: i32) => build;
    fn cudnnGetRNNWeightSpaceSize(handle: Cudn, rnn: Rnn, bytes: Out<usize>) => weight_space;
    fn cudnnGetRNNWeightParams(handle: Cudn, rnn: Rnn, layer: i32, space_bytes: usize, space: Address, linear: i32, matrix: Tensor, matrix_data: MaybeOut<Address>, bias: Tensor, bias_data: MaybeOut<Address>) => weight;
}

/// One weight: where it begins, in elements, and its rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    offset: u64,
    rows: u64,
    columns: u64,
}

impl Network {
    /// Gates of a cell: one product with the input and one with the state for each.
    pub fn gates(&self) -> u64 {
        match self.cell {
            2 => 4,
            3 => 3,
            _ => 1,
        }
    }

    pub fn directions(&self) -> u64 {
        1 + u64::from(self.bidirectional)
    }

    /// Layers times directions, as weights are numbered.
    pub fn pseudo_layers(&self) -> u64 {
        self.layers * self.directions()
    }

    /// Length of a cell's output.
    pub fn output(&self) -> u64 {
        if self.projects() { self.projection } else { self.hidden }
    }

    /// Whether outputs are projected to fewer elements.
    pub fn projects(&self) -> bool {
        self.projection > 0 && self.projection < self.hidden
    }

    /// Length of what a pseudo-layer reads; 0 when the input skips its product.
    pub fn input_of(&self, pseudo_layer: u64) -> u64 {
        match pseudo_layer / self.directions() {
            0 if self.skip_input => 0,
            0 => self.input,
            _ => self.output() * self.directions(),
        }
    }

    /// Whether single precision may be TF32: `CUDNN_FMA_MATH` says no.
    pub fn tensor_cores(&self) -> bool {
        self.math != 3
    }

    /// Elements of a pseudo-layer's matrices.
    fn matrices_of(&self, pseudo_layer: u64) -> u64 {
        let projection = if self.projects() { self.projection * self.hidden } else { 0 };
        self.gates() * self.hidden * (self.input_of(pseudo_layer) + self.output()) + projection
    }

    /// Elements of all matrices.
    fn matrices(&self) -> u64 {
        (0..self.pseudo_layers()).map(|layer| self.matrices_of(layer)).sum()
    }

    /// Which halves of a pseudo-layer's biases are there: of the input, of the state.
    fn biases(&self) -> [bool; 2] {
        [matches!(self.bias, 1 | 2), matches!(self.bias, 2 | 3)]
    }

    fn biases_of_one(&self) -> u64 {
        self.biases().into_iter().map(u64::from).sum::<u64>() * self.gates() * self.hidden
    }

    /// Bytes of all weights and biases.
    pub fn weight_bytes(&self) -> u64 {
        self.of.bytes(self.matrices() + self.pseudo_layers() * self.biases_of_one())
    }

    /// The matrix of a linear layer: gates of the input, gates of the state, projection.
    fn matrix(&self, pseudo_layer: u64, linear: u64) -> Option<Weight> {
        let (gates, hidden, input) = (self.gates(), self.hidden, self.input_of(pseudo_layer));
        let begin: u64 = (0..pseudo_layer).map(|layer| self.matrices_of(layer)).sum();
        let states = begin + gates * hidden * input;
        let (offset, rows, columns) = if linear < gates {
            (begin + linear * hidden * input, hidden, input)
        } else if linear < 2 * gates {
            (states + (linear - gates) * hidden * self.output(), hidden, self.output())
        } else if linear == 2 * gates && self.projects() {
            (states + gates * hidden * self.output(), self.projection, hidden)
        } else {
            return None;
        };
        (columns > 0).then_some(Weight { offset, rows, columns })
    }

    /// Its bias.
    fn bias(&self, pseudo_layer: u64, linear: u64) -> Option<Weight> {
        let (gates, [of_input, of_state]) = (self.gates(), self.biases());
        let place = match linear {
            _ if linear < gates && of_input => linear,
            _ if (gates..2 * gates).contains(&linear) && of_state => linear - if of_input { 0 } else { gates },
            _ => return None,
        };
        let begin = self.matrices() + pseudo_layer * self.biases_of_one();
        Some(Weight { offset: begin + place * self.hidden, rows: self.hidden, columns: 1 })
    }
}

fn set(
    rnn: Rnn,
    algorithm: i32,
    cell: i32,
    bias: i32,
    direction: i32,
    input_mode: i32,
    of: DataType,
    precision: DataType,
    math: i32,
    input: i32,
    hidden: i32,
    projection: i32,
    layers: i32,
    dropout: Dropout,
    flags: u32,
) -> Result<(), Error> {
    let known = matches!((algorithm, cell, bias), (0..=3, 0..=3, 0..=3))
        && matches!((direction, input_mode, math), (0..=1, 0..=1, 0..=3))
        && [of, precision].iter().all(|of| of.is_known());
    let sizes = [input, hidden, layers].map(|size| u64::try_from(size).unwrap_or(0));
    let projection = u64::try_from(projection).map_err(|_| Error::BadParam)?;
    if !known || sizes.contains(&0) || projection > sizes[1] {
        return Err(Error::BadParam);
    }
    if !dropout.is_null() {
        dropout.value()?;
    }
    let [input, hidden, layers] = sizes;
    let (bidirectional, skip_input) = (direction == 1, input_mode == 1);
    let dropout = (!dropout.is_null()).then_some(dropout);
    rnn.with(|place| {
        let clip = place.clip;
        *place = Network {
            algorithm,
            cell,
            bias,
            bidirectional,
            skip_input,
            of,
            math_precision: precision,
            math,
            input,
            hidden,
            projection,
            layers,
            dropout,
            flags,
            clip,
        };
    })
}

fn get(
    rnn: Rnn,
    algorithm: MaybeOut<i32>,
    cell: MaybeOut<i32>,
    bias: MaybeOut<i32>,
    direction: MaybeOut<i32>,
    input_mode: MaybeOut<i32>,
    of: MaybeOut<DataType>,
    precision: MaybeOut<DataType>,
    math: MaybeOut<i32>,
    input: MaybeOut<i32>,
    hidden: MaybeOut<i32>,
    projection: MaybeOut<i32>,
    layers: MaybeOut<i32>,
    dropout: MaybeOut<Dropout>,
    flags: MaybeOut<u32>,
) -> Result<(), Error> {
    let network = rnn.value()?;
    algorithm.set(network.algorithm);
    cell.set(network.cell);
    bias.set(network.bias);
    direction.set(i32::from(network.bidirectional));
    input_mode.set(i32::from(network.skip_input));
    of.set(network.of);
    precision.set(network.math_precision);
    math.set(network.math);
    for (out, size) in
        [(input, network.input), (hidden, network.hidden), (projection, network.projection), (layers, network.layers)]
    {
        out.set(size as i32);
    }
    dropout.set(network.dropout.unwrap_or(Dropout::null()));
    flags.set(network.flags);
    Ok(())
}

fn set_clip(rnn: Rnn, mode: i32, nan: i32, low: f64, high: f64) -> Result<(), Error> {
    if !matches!((mode, nan), (0..=1, 0..=1)) || (mode == 1 && low > high) {
        return Err(Error::BadParam);
    }
    rnn.with(|network| network.clip = Clip { mode, nan, low, high })
}

fn set_clip_9(rnn: Rnn, mode: i32, low: f64, high: f64) -> Result<(), Error> {
    set_clip(rnn, mode, 0, low, high)
}

fn clip(
    rnn: Rnn,
    mode: MaybeOut<i32>,
    nan: MaybeOut<i32>,
    low: MaybeOut<f64>,
    high: MaybeOut<f64>,
) -> Result<(), Error> {
    nan.set(rnn.value()?.clip.nan);
    clip_9(rnn, mode, low, high)
}

fn clip_9(rnn: Rnn, mode: MaybeOut<i32>, low: MaybeOut<f64>, high: MaybeOut<f64>) -> Result<(), Error> {
    let clip = rnn.value()?.clip;
    mode.set(clip.mode);
    low.set(clip.low);
    high.set(clip.high);
    Ok(())
}

/// Nothing is compiled at run time.
fn build(handle: Cudn, rnn: Rnn, batch: i32) -> Result<(), Error> {
    handle.value()?;
    rnn.value()?;
    if batch > 0 { Ok(()) } else { Err(Error::BadParam) }
}

fn weight_space(handle: Cudn, rnn: Rnn, bytes: Out<usize>) -> Result<(), Error> {
    handle.value()?;
    Ok(bytes.set(rnn.value()?.weight_bytes() as usize)?)
}

/// Callers who ask for one of the two pass no descriptor for the other. A weight that is not there has no address and a descriptor without dimensions.
fn weight(
    handle: Cudn,
    rnn: Rnn,
    layer: i32,
    space_bytes: usize,
    space: Address,
    linear: i32,
    matrix: Tensor,
    matrix_data: MaybeOut<Address>,
    bias: Tensor,
    bias_data: MaybeOut<Address>,
) -> Result<(), Error> {
    handle.value()?;
    let network = rnn.value()?;
    let index = |number: i32, below: u64| u64::try_from(number).ok().filter(|&n| n < below).ok_or(Error::BadParam);
    let layer = index(layer, network.pseudo_layers())?;
    let linear = index(linear, 2 * network.gates() + 1)?;
    if (space_bytes as u64) < network.weight_bytes() {
        return Err(Error::BadParam);
    }
    let tell = |weight: Option<Weight>, tensor: Tensor, data: MaybeOut<Address>| {
        let shape = weight.map(|weight| [1, weight.rows as i64, weight.columns as i64].to_vec());
        let shape = match shape {
            Some(dims) => Shape { of: network.of, strides: packed(0, &dims)?, dims },
            None => Shape { of: network.of, ..Shape::default() },
        };
        if !tensor.is_null() {
            tensor.with(|place| *place = shape)?;
        }
        data.set(Address(weight.map_or(0, |weight| space.0 + network.of.bytes(weight.offset))));
        Ok(())
    };
    tell(network.matrix(layer, linear), matrix, matrix_data)?;
    tell(network.bias(layer, linear), bias, bias_data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lstm() -> Network {
        Network {
            cell: 2,
            bias: 2,
            of: DataType::FLOAT,
            input: 32,
            hidden: 64,
            layers: 2,
            bidirectional: true,
            ..Network::default()
        }
    }

    /// Every weight there is, in the order of its place.
    fn all(network: &Network) -> Vec<Weight> {
        let ids =
            || (0..network.pseudo_layers()).flat_map(|layer| (0..=2 * network.gates()).map(move |id| (layer, id)));
        let matrices = ids().filter_map(|(layer, id)| network.matrix(layer, id));
        matrices.chain(ids().filter_map(|(layer, id)| network.bias(layer, id))).collect()
    }

    #[test]
    fn weights_fill_the_weight_space_without_gaps_or_overlaps() {
        for (cell, bias, projection, skip_input) in
            [(0, 2, 0, false), (2, 2, 16, false), (3, 1, 0, true), (2, 3, 0, false), (3, 0, 0, false)]
        {
            let network = Network { cell, bias, projection, skip_input, ..lstm() };
            let mut next = 0;
            for weight in all(&network) {
                assert_eq!(weight.offset, next, "cell {cell}, bias {bias}");
                next += weight.rows * weight.columns;
            }
            assert_eq!(next * 4, network.weight_bytes(), "cell {cell}, bias {bias}");
        }
    }

    #[test]
    fn gates_of_the_input_lie_together_and_before_those_of_the_state() {
        let network = lstm();
        assert_eq!(network.matrix(0, 0), Some(Weight { offset: 0, rows: 64, columns: 32 }));
        assert_eq!(network.matrix(0, 4), Some(Weight { offset: 4 * 64 * 32, rows: 64, columns: 64 }));
        // The second layer reads both directions.
        assert_eq!(network.matrix(2, 0).map(|weight| weight.columns), Some(128));
        assert_eq!(network.matrix(0, 8), None);
        assert_eq!(network.weight_bytes(), 4 * (2 * 256 * (32 + 64) + 2 * 256 * (128 + 64) + 4 * 512));
    }

    #[test]
    fn sizes_and_modes_are_checked() {
        let rnn = Handle::new(Network::default());
        let set = |cell, hidden, projection| {
            set(
                rnn,
                0,
                cell,
                2,
                0,
                0,
                DataType::FLOAT,
                DataType::FLOAT,
                0,
                8,
                hidden,
                projection,
                1,
                Dropout::null(),
                0,
            )
        };
        assert_eq!(
            [set(2, 16, 16), set(4, 16, 0), set(2, 0, 0), set(2, 16, 17)],
            [Ok(()), Err(Error::BadParam), Err(Error::BadParam), Err(Error::BadParam)]
        );
    }
}
