//! RNN descriptors and their weights, as C asks for them.
//! Where a weight lies is in `network.rs`, running in `rnn_run.rs`.

use super::dropout::Dropout;
use super::memory::Address;
use super::network::{Clip, Network, Weight};
use super::tensor::{Tensor, packed};
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::tensor::Shape;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{MaybeOut, Out};

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
