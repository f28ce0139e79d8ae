//! Dropout: descriptors with a state in device memory, and the operation.
//! No random number is drawn.

use super::memory::{Address, run};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::work::Work;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{MaybeOut, Out};

/// What a dropout descriptor holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Generator {
    /// Share of elements that become zero.
    probability: f32,
    states: Address,
    seed: u64,
}

kept!(Generator, b"gh.cnndr");

/// A `cudnnDropoutDescriptor_t`.
pub type Dropout = Handle<Generator>;

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateDropoutDescriptor(dropout: Out<Dropout>) => create;
    fn cudnnDestroyDropoutDescriptor(dropout: Dropout) => destroy;
    fn cudnnDropoutGetStatesSize(handle: Cudn, bytes: Out<usize>) => states_size;
    fn cudnnDropoutGetReserveSpaceSize(x: Tensor, bytes: Out<usize>) => reserve_size;
    fn cudnnSetDropoutDescriptor(dropout: Dropout, handle: Cudn, probability: f32, states: Address, bytes: usize, seed: u64) => set;
    fn cudnnRestoreDropoutDescriptor(dropout: Dropout, handle: Cudn, probability: f32, states: Address, bytes: usize, seed: u64) => restore;
    fn cudnnGetDropoutDescriptor(dropout: Dropout, handle: Cudn, probability: MaybeOut<f32>, states: MaybeOut<Address>, seed: MaybeOut<u64>) => get;
    fn cudnnDropoutForward(handle: Cudn, dropout: Dropout, x: Tensor, x_data: Address, y: Tensor, y_data: Address, reserve: Address, bytes: usize) => forward;
    fn cudnnDropoutBackward(handle: Cudn, dropout: Dropout, dy: Tensor, dy_data: Address, dx: Tensor, dx_data: Address, reserve: Address, bytes: usize) => backward;
}

/// Bytes of the generators' states: our own number, of the order of NVIDIA's (48 bytes for each of some ten thousand
/// threads).
const STATES_BYTES: usize = 1 << 20;

fn states_size(handle: Cudn, bytes: Out<usize>) -> Result<(), Error> {
    handle.value()?;
    Ok(bytes.set(STATES_BYTES)?)
}

/// A bit an element.
pub fn mask_bytes(elements: u64) -> u64 {
    elements.div_ceil(8).next_multiple_of(16)
}

fn reserve_size(x: Tensor, bytes: Out<usize>) -> Result<(), Error> {
    Ok(bytes.set(mask_bytes(x.value()?.elements()) as usize)?)
}

/// Without states nothing is drawn, as callers do whose probability is 0.
fn keep(
    dropout: Dropout,
    handle: Cudn,
    probability: f32,
    states: Address,
    bytes: usize,
    seed: u64,
) -> Result<(), Error> {
    handle.value()?;
    let good = (0.0..=1.0).contains(&probability) && (states.0 == 0 || bytes >= STATES_BYTES);
    if !good {
        return Err(Error::BadParam);
    }
    dropout.with(|place| *place = Generator { probability, states, seed })
}

fn set(
    dropout: Dropout,
    handle: Cudn,
    probability: f32,
    states: Address,
    bytes: usize,
    seed: u64,
) -> Result<(), Error> {
    keep(dropout, handle, probability, states, bytes, seed)?;
    if states.0 == 0 {
        return Ok(());
    }
    let work = Work::kernel(c"cudnn_dropout_init", DataType::FLOAT, [0, STATES_BYTES as u64, 0]);
    run(handle, &work, &[(states, STATES_BYTES as u64)])
}

fn restore(
    dropout: Dropout,
    handle: Cudn,
    probability: f32,
    states: Address,
    bytes: usize,
    seed: u64,
) -> Result<(), Error> {
    keep(dropout, handle, probability, states, bytes, seed)
}

fn get(
    dropout: Dropout,
    handle: Cudn,
    probability: MaybeOut<f32>,
    states: MaybeOut<Address>,
    seed: MaybeOut<u64>,
) -> Result<(), Error> {
    handle.value()?;
    let generator = dropout.value()?;
    probability.set(generator.probability);
    states.set(generator.states);
    seed.set(generator.seed);
    Ok(())
}

fn forward(
    handle: Cudn,
    dropout: Dropout,
    x: Tensor,
    x_data: Address,
    y: Tensor,
    y_data: Address,
    reserve: Address,
    bytes: usize,
) -> Result<(), Error> {
    dropout.value()?;
    [x_data, y_data, reserve].into_iter().try_for_each(Address::check)?;
    let (x, y) = (x.value()?, y.value()?);
    let mask = mask_bytes(x.elements());
    if (bytes as u64) < mask {
        return Err(Error::BadParam);
    }
    let work = Work::kernel(c"cudnn_dropout_forward", x.of, [x.bytes(), y.bytes() + mask, x.elements()]);
    run(handle, &work, &[(y_data, y.span_bytes()), (reserve, mask)])
}

fn backward(
    handle: Cudn,
    dropout: Dropout,
    dy: Tensor,
    dy_data: Address,
    dx: Tensor,
    dx_data: Address,
    reserve: Address,
    _bytes: usize,
) -> Result<(), Error> {
    dropout.value()?;
    [dy_data, dx_data, reserve].into_iter().try_for_each(Address::check)?;
    let (dy, dx) = (dy.value()?, dx.value()?);
    let read = dy.bytes() + mask_bytes(dy.elements());
    let work = Work::kernel(c"cudnn_dropout_backward", dy.of, [read, dx.bytes(), dy.elements()]);
    run(handle, &work, &[(dx_data, dx.span_bytes())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_must_have_room_and_a_probability_is_one() {
        let (dropout, handle) = (Handle::new(Generator::default()), Handle::new(Context::default()));
        let keep = |probability, bytes| restore(dropout, handle, probability, Address(4096), bytes, 1);
        assert_eq!(
            (keep(0.5, STATES_BYTES), keep(0.5, 8), keep(1.5, STATES_BYTES)),
            (Ok(()), Err(Error::BadParam), Err(Error::BadParam))
        );
        assert_eq!(dropout.value().map(|generator| generator.probability), Ok(0.5));
    }
}
