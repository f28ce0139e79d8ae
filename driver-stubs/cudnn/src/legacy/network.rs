//! What an RNN descriptor says, and where each weight lies in the weight space: all matrices layer by layer, then all
//! biases.
//! It runs nothing.

use super::dropout::Dropout;
use crate::DataType;

/// What an RNN descriptor holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Network {
    pub algorithm: i32,
    /// A `cudnnRNNMode_t`.
    pub cell: i32,
    /// A `cudnnRNNBiasMode_t`.
    pub bias: i32,
    pub bidirectional: bool,
    pub skip_input: bool,
    pub of: DataType,
    pub math_precision: DataType,
    /// A `cudnnMathType_t`.
    pub math: i32,
    pub input: u64,
    pub hidden: u64,
    pub projection: u64,
    pub layers: u64,
    pub dropout: Option<Dropout>,
    pub flags: u32,
    pub clip: Clip,
}

/// How a cell's state is clipped; kept for the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clip {
    pub mode: i32,
    pub nan: i32,
    pub low: f64,
    pub high: f64,
}

kept!(Network, b"gh.cnnrn");

/// One weight: where it begins, in elements, and its rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    pub offset: u64,
    pub rows: u64,
    pub columns: u64,
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
    pub fn matrix(&self, pseudo_layer: u64, linear: u64) -> Option<Weight> {
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
    pub fn bias(&self, pseudo_layer: u64, linear: u64) -> Option<Weight> {
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
}
