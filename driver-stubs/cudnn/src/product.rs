//! Convolutions and matrix products as the products that tensor cores do.
//! It puts nothing on a stream.

use crate::DataType;
use crate::tensor::Shape;
use crate::work::Work;
use ghost_table::{Kind, Type};
use std::ffi::CStr;

/// Which of the three convolutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// y from x and w.
    Forward,
    /// dx from dy and w.
    Data,
    /// dw from x and dy.
    Filter,
}

/// Channels below which a product without groups is thin.
const THIN: u64 = 32;

/// A convolution by its three tensors, whichever of them it writes.
#[derive(Clone, Debug)]
pub struct Convolution {
    pub pass: Pass,
    pub x: Shape,
    pub w: Shape,
    pub y: Shape,
    /// Whether single precision may be TF32.
    pub tensor_cores: bool,
}

impl Convolution {
    /// An implicit product (m = batch and places of y, n = filters, k = a filter's elements; likewise for the backward
    /// passes). The operand that is unfolded from an image is read from memory once, not once for each of a filter's
    /// places, so it is told as a narrower type: the price takes traffic from that and arithmetic from `compute`.
    pub fn work(&self) -> Work {
        let groups = (self.x.dim(1) / self.w.dim(1).max(1)).max(1);
        let filters = self.w.dim(0) / groups;
        let channels = self.w.dim(1);
        if filters.min(channels) < 4 && groups > 1 {
            return self.depthwise();
        }
        let places = self.y.dim(0) * self.y.volume(2);
        let pixels = (self.x.dim(0) * self.x.volume(2)).max(1);
        let window = self.w.volume(2);
        let (m, n, k, unfolded) = match self.pass {
            Pass::Forward => (places, filters, channels * window, self.x.elements()),
            Pass::Data => {
                (pixels, channels, (filters * window).saturating_mul(places).div_ceil(pixels), self.y.elements())
            }
            Pass::Filter => (filters, channels * window, places, self.x.elements()),
        };
        if groups == 1 && m.min(n) < THIN {
            return self.thin(m.max(n), k);
        }
        let operand = if self.pass == Pass::Filter { n * k } else { m * k };
        let input = narrowed(self.x.of, unfolded, operand.saturating_mul(groups));
        Work::product(self.name(), [m, n, k, groups], input, self.x.of.arithmetic(self.tensor_cores))
    }

    /// An image of few channels: no tile of a product is so narrow, and real kernels fill one of 16 to half its rate.
    fn thin(&self, wide: u64, k: u64) -> Work {
        const TILE: u64 = 16;
        let flops = (2 * wide).saturating_mul(TILE).saturating_mul(k).saturating_mul(2);
        let (read, written) = self.traffic();
        let arithmetic = self.x.of.arithmetic(self.tensor_cores);
        Work { compute: arithmetic, ..Work::kernel(self.name(), self.x.of, [read, written, flops]) }
    }

    /// Bytes read and written.
    fn traffic(&self) -> (u64, u64) {
        let [x, w, y] = [&self.x, &self.w, &self.y].map(Shape::bytes);
        match self.pass {
            Pass::Forward => (x + w, y),
            Pass::Data => (y + w, x),
            Pass::Filter => (x + y, w),
        }
    }

    /// Few channels a group leave tensor cores idle: traffic counts.
    fn depthwise(&self) -> Work {
        let flops = 2 * self.y.elements() * self.w.volume(1);
        let (read, written) = self.traffic();
        Work::kernel(self.name(), self.x.of, [read, written, flops])
    }

    fn name(&self) -> &'static CStr {
        match self.pass {
            Pass::Forward => c"cudnn_convolution_forward",
            Pass::Data => c"cudnn_convolution_backward_data",
            Pass::Filter => c"cudnn_convolution_backward_filter",
        }
    }
}

/// The type whose width is nearest above `of`'s times `read` over `operand` elements.
fn narrowed(of: DataType, read: u64, operand: u64) -> Type {
    let bits = of.bits() as f64 * read as f64 / operand.max(1) as f64;
    let widths = [(Type::F4, 4.0), (Type::F8, 8.0), (Type::F16, 16.0), (Type::F32, 32.0)];
    let nearest = widths.into_iter().find(|&(_, width)| width >= bits && width < of.bits() as f64);
    nearest.map_or(of.priced(), |(narrow, _)| narrow)
}

/// c = a b, all [batch..., rows, columns].
pub fn matrix_product(a: &Shape, c: &Shape, tensor_cores: bool) -> Work {
    let rank = c.dims.len();
    let [m, n] = [rank.saturating_sub(2), rank.saturating_sub(1)].map(|index| c.dim(index));
    let k = a.dim(a.dims.len().saturating_sub(1));
    let batch = c.elements().checked_div(m * n).unwrap_or(0);
    Work::product(c"cudnn_matmul", [m, n, k, batch], a.of.priced(), a.of.arithmetic(tensor_cores))
}

/// Fused attention over `[batch, heads, query length, key length, head dimension]`.
pub fn attention(of: DataType, [batch, heads, queries, keys, depth]: [u64; 5], causal: bool, backward: bool) -> Work {
    let name = if backward { c"cudnn_sdpa_backward" } else { c"cudnn_sdpa_forward" };
    let kind = of.arithmetic(true);
    let dims = [batch, heads, queries, keys, depth, u64::from(causal), u64::from(backward)];
    Work { kind: Kind::Attention, input: kind, compute: kind, dims, name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(of: DataType, dims: &[i64]) -> Shape {
        let mut strides = vec![1; dims.len()];
        for index in (1..dims.len()).rev() {
            strides[index - 1] = strides[index] * dims[index];
        }
        Shape { of, dims: dims.to_vec(), strides }
    }

    /// ResNet's second stage: 3 x 3, stride 2.
    fn convolution(pass: Pass) -> Convolution {
        let of = DataType::BFLOAT16;
        Convolution {
            pass,
            x: shape(of, &[32, 128, 56, 56]),
            w: shape(of, &[256, 128, 3, 3]),
            y: shape(of, &[32, 256, 28, 28]),
            tensor_cores: true,
        }
    }

    #[test]
    fn the_three_convolutions_are_products_with_the_same_arithmetic() {
        let flops = 2 * 32 * 28 * 28 * 256 * 128 * 9_u64;
        for pass in [Pass::Forward, Pass::Data, Pass::Filter] {
            let [m, n, k, batch, ..] = convolution(pass).work().dims;
            assert_eq!((2 * m * n * k * batch, batch), (flops, 1), "{pass:?}");
        }
        assert_eq!(convolution(Pass::Forward).work().dims[..3], [32 * 28 * 28, 256, 128 * 9]);
        assert_eq!(convolution(Pass::Filter).work().dims[..3], [256, 128 * 9, 32 * 28 * 28]);
    }

    #[test]
    fn an_unfolded_image_is_told_narrower_but_multiplied_in_its_own_type() {
        let work = convolution(Pass::Forward).work();
        assert_eq!((work.input, work.compute), (Type::F8, Type::Bf16));
        let mut one = convolution(Pass::Forward);
        (one.w, one.x) = (shape(DataType::BFLOAT16, &[256, 128, 1, 1]), shape(DataType::BFLOAT16, &[32, 128, 28, 28]));
        assert_eq!(one.work().input, Type::Bf16);
    }

    #[test]
    fn groups_are_a_batch_and_single_channels_a_kernel() {
        let mut grouped = convolution(Pass::Forward);
        grouped.w = shape(DataType::BFLOAT16, &[256, 4, 3, 3]);
        assert_eq!(grouped.work().dims[..4], [32 * 28 * 28, 8, 36, 32]);
        grouped.w = shape(DataType::BFLOAT16, &[256, 1, 3, 3]);
        assert_eq!(grouped.work().kind, Kind::Kernel);
    }

    #[test]
    fn an_image_of_three_channels_is_no_wide_product() {
        let of = DataType::BFLOAT16;
        let (x, w, y) = (shape(of, &[8, 3, 224, 224]), shape(of, &[64, 3, 7, 7]), shape(of, &[8, 64, 112, 112]));
        let work = |pass| Convolution { pass, x: x.clone(), w: w.clone(), y: y.clone(), tensor_cores: true }.work();
        assert_eq!((work(Pass::Data).kind, work(Pass::Data).compute), (Kind::Kernel, Type::Bf16));
        assert_eq!((work(Pass::Forward).kind, work(Pass::Filter).kind), (Kind::Gemm, Kind::Gemm));
    }

    #[test]
    fn a_batched_matrix_product_counts_its_batches() {
        let [a, c] = [[2, 8, 64, 32], [2, 8, 64, 16]].map(|dims| shape(DataType::HALF, &dims));
        assert_eq!(matrix_product(&a, &c, true).dims[..4], [64, 16, 32, 16]);
    }
}
