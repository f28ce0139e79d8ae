//! RNN data descriptors: sequences of several lengths, packed or padded.
//! It reads no element.

use super::memory::Address;
use crate::place::{Handle, create, destroy};
use crate::{Cudnn, DataType, Error};
use ghost_abi::{InList, MaybeOut, Out, OutList};

/// What an RNN data descriptor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequences {
    pub of: DataType,
    /// A `cudnnRNNDataLayout_t`: 1 is packed.
    layout: i32,
    pub longest: u64,
    pub batch: u64,
    pub vector: u64,
    lengths: Vec<i32>,
}

kept!(Sequences, b"gh.cnnrd");

/// A `cudnnRNNDataDescriptor_t`.
pub type Data = Handle<Sequences>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateRNNDataDescriptor(data: Out<Data>) => create;
    fn cudnnDestroyRNNDataDescriptor(data: Data) => destroy;
    fn cudnnSetRNNDataDescriptor(data: Data, of: DataType, layout: i32, longest: i32, batch: i32, vector: i32, lengths: InList<i32>, fill: Address) => set;
    fn cudnnGetRNNDataDescriptor(data: Data, of: MaybeOut<DataType>, layout: MaybeOut<i32>, longest: MaybeOut<i32>, batch: MaybeOut<i32>, vector: MaybeOut<i32>, requested: i32, lengths: OutList<i32>, fill: Address) => get;
}

impl Sequences {
    /// Vectors that are really there.
    pub fn tokens(&self) -> u64 {
        self.lengths.iter().map(|&length| length.max(0) as u64).sum()
    }

    /// Bytes of the tensor, padding included unless it is packed.
    pub fn bytes(&self) -> u64 {
        let vectors = if self.layout == 1 { self.tokens() } else { self.longest * self.batch };
        self.of.bytes(vectors.saturating_mul(self.vector))
    }
}

fn set(
    data: Data,
    of: DataType,
    layout: i32,
    longest: i32,
    batch: i32,
    vector: i32,
    lengths: InList<i32>,
    _fill: Address,
) -> Result<(), Error> {
    let positive = |size: i32| u64::try_from(size).ok().filter(|&size| size > 0).ok_or(Error::BadParam);
    let (most, batch, vector) = (positive(longest)?, positive(batch)?, positive(vector)?);
    if !of.is_known() || !matches!(layout, 0..=2) {
        return Err(Error::BadParam);
    }
    // One by one: a bad length ends the list before its claimed end.
    let one = |index| match lengths.at(index) {
        Ok(length) if (0..=longest).contains(&length) => Ok(length),
        _ => Err(Error::BadParam),
    };
    let lengths = (0..batch as usize).map(one).collect::<Result<Vec<_>, _>>()?;
    data.with(|place| *place = Sequences { of, layout, longest: most, batch, vector, lengths })
}

fn get(
    data: Data,
    of: MaybeOut<DataType>,
    layout: MaybeOut<i32>,
    longest: MaybeOut<i32>,
    batch: MaybeOut<i32>,
    vector: MaybeOut<i32>,
    requested: i32,
    lengths: OutList<i32>,
    _fill: Address,
) -> Result<(), Error> {
    let sequences = data.value()?;
    let requested = usize::try_from(requested).map_err(|_| Error::BadParam)?;
    of.set(sequences.of);
    layout.set(sequences.layout);
    longest.set(sequences.longest as i32);
    batch.set(sequences.batch as i32);
    vector.set(sequences.vector as i32);
    lengths.fill(requested, sequences.lengths.into_iter())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_sequences_take_only_their_own_vectors() {
        let sequences =
            Sequences { of: DataType::HALF, layout: 1, longest: 10, batch: 3, vector: 4, lengths: vec![10, 7, 2] };
        assert_eq!((sequences.tokens(), sequences.bytes()), (19, 19 * 4 * 2));
        assert_eq!(Sequences { layout: 0, ..sequences }.bytes(), 30 * 4 * 2);
    }
}
