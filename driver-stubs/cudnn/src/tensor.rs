//! A tensor's shape, as prices and writes need it.
//! It knows neither the graph API's descriptors nor the older ones.

use crate::DataType;

/// Type, extents and strides in elements; dimension 0 is the batch, 1 the channels, as everywhere in cuDNN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub of: DataType,
    pub dims: Vec<i64>,
    pub strides: Vec<i64>,
}

impl Shape {
    /// Elements; 0 when a dimension is none.
    pub fn elements(&self) -> u64 {
        self.dims.iter().fold(1_u64, |all, &dim| all.saturating_mul(dim.max(0) as u64))
    }

    /// Bytes that its elements take.
    pub fn bytes(&self) -> u64 {
        self.of.bytes(self.elements())
    }

    /// Bytes from its first element to its last, gaps included: what a write may touch.
    pub fn span_bytes(&self) -> u64 {
        if self.elements() == 0 {
            return 0;
        }
        let reach = |(&dim, &stride): (&i64, &i64)| (dim.max(1) - 1) as u64 * stride.max(0) as u64;
        let last = self.dims.iter().zip(&self.strides).map(reach).fold(0_u64, u64::saturating_add);
        self.of.bytes(last.saturating_add(1))
    }

    /// An extent; 1 where there is no such dimension.
    pub fn dim(&self, index: usize) -> u64 {
        self.dims.get(index).map_or(1, |&dim| dim.max(0) as u64)
    }

    /// Product of the extents from `from` on.
    pub fn volume(&self, from: usize) -> u64 {
        self.dims.iter().skip(from).fold(1_u64, |all, &dim| all.saturating_mul(dim.max(0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_covers_the_gaps_between_rows() {
        let shape = Shape { of: DataType::HALF, dims: vec![2, 3], strides: vec![8, 1] };
        assert_eq!((shape.bytes(), shape.span_bytes()), (12, 22));
        assert_eq!((shape.dim(1), shape.dim(5), shape.volume(1)), (3, 1, 3));
    }
}
