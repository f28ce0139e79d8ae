//! Convolution descriptors and the convolutions themselves.
//! Which algorithm would be best is asked in `search.rs`.

use super::activation::Activation;
use super::filter::Filter;
use super::memory::{Address, run};
use super::tensor::{DIM_MAX, Tensor, list};
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::product::{Convolution, Pass};
use crate::work::Work;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{InList, MaybeOut, Out, OutList};

/// What a convolution descriptor holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pads: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// A `cudnnConvolutionMode_t`.
    mode: i32,
    compute: DataType,
    /// A `cudnnMathType_t`.
    math: i32,
    groups: i32,
    reorder: i32,
}

kept!(Window, b"gh.cnncv");

/// A `cudnnConvolutionDescriptor_t`.
pub type Descriptor = Handle<Window>;

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnCreateConvolutionDescriptor(window: Out<Descriptor>) => create;
    fn cudnnDestroyConvolutionDescriptor(window: Descriptor) => destroy;
    fn cudnnSetConvolutionMathType(window: Descriptor, math: i32) => set_math;
    fn cudnnGetConvolutionMathType(window: Descriptor, math: Out<i32>) => math;
    fn cudnnSetConvolutionGroupCount(window: Descriptor, groups: i32) => set_groups;
    fn cudnnGetConvolutionGroupCount(window: Descriptor, groups: Out<i32>) => groups;
    fn cudnnSetConvolutionReorderType(window: Descriptor, reorder: i32) => set_reorder;
    fn cudnnGetConvolutionReorderType(window: Descriptor, reorder: Out<i32>) => reorder;
    fn cudnnSetConvolution2dDescriptor(window: Descriptor, pad_h: i32, pad_w: i32, stride_h: i32, stride_w: i32, dilation_h: i32, dilation_w: i32, mode: i32, compute: DataType) => set_2d;
    fn cudnnGetConvolution2dDescriptor(window: Descriptor, pad_h: MaybeOut<i32>, pad_w: MaybeOut<i32>, stride_h: MaybeOut<i32>, stride_w: MaybeOut<i32>, dilation_h: MaybeOut<i32>, dilation_w: MaybeOut<i32>, mode: MaybeOut<i32>, compute: MaybeOut<DataType>) => get_2d;
    fn cudnnSetConvolutionNdDescriptor(window: Descriptor, rank: i32, pads: InList<i32>, strides: InList<i32>, dilations: InList<i32>, mode: i32, compute: DataType) => set_nd;
    fn cudnnGetConvolutionNdDescriptor(window: Descriptor, requested: i32, rank: MaybeOut<i32>, pads: OutList<i32>, strides: OutList<i32>, dilations: OutList<i32>, mode: MaybeOut<i32>, compute: MaybeOut<DataType>) => get_nd;
    fn cudnnGetConvolution2dForwardOutputDim(window: Descriptor, x: Tensor, w: Filter, n: Out<i32>, c: Out<i32>, height: Out<i32>, width: Out<i32>) => output_2d;
    fn cudnnGetConvolutionNdForwardOutputDim(window: Descriptor, x: Tensor, w: Filter, rank: i32, dims: OutList<i32>) => output_nd;
    fn cudnnConvolutionForward(handle: Cudn, alpha: Address, x: Tensor, x_data: Address, w: Filter, w_data: Address, window: Descriptor, algorithm: i32, workspace: Address, workspace_bytes: usize, beta: Address, y: Tensor, y_data: Address) => forward;
    fn cudnnConvolutionBiasActivationForward(handle: Cudn, alpha1: Address, x: Tensor, x_data: Address, w: Filter, w_data: Address, window: Descriptor, algorithm: i32, workspace: Address, workspace_bytes: usize, alpha2: Address, z: Tensor, z_data: Address, bias: Tensor, bias_data: Address, activation: Activation, y: Tensor, y_data: Address) => forward_fused;
    fn cudnnConvolutionBackwardData(handle: Cudn, alpha: Address, w: Filter, w_data: Address, dy: Tensor, dy_data: Address, window: Descriptor, algorithm: i32, workspace: Address, workspace_bytes: usize, beta: Address, dx: Tensor, dx_data: Address) => backward_data;
    fn cudnnConvolutionBackwardFilter(handle: Cudn, alpha: Address, x: Tensor, x_data: Address, dy: Tensor, dy_data: Address, window: Descriptor, algorithm: i32, workspace: Address, workspace_bytes: usize, beta: Address, dw: Filter, dw_data: Address) => backward_filter;
    fn cudnnConvolutionBackwardBias(handle: Cudn, alpha: Address, dy: Tensor, dy_data: Address, beta: Address, db: Tensor, db_data: Address) => backward_bias;
}

macro_rules! numbers {
    ($($get:ident $set:ident $field:ident in $accepted:expr;)*) => { $(
        fn $set(window: Descriptor, value: i32) -> Result<(), Error> {
            let good = ($accepted).contains(&value);
            if good { window.with(|window| window.$field = value) } else { Err(Error::BadParam) }
        }

        fn $get(window: Descriptor, value: Out<i32>) -> Result<(), Error> {
            Ok(value.set(window.with(|window| window.$field)?)?)
        }
    )* };
}

numbers! {
    math set_math math in 0..=3;
    groups set_groups groups in 1..;
    reorder set_reorder reorder in 0..=1;
}

fn put(window: Descriptor, lists: [Vec<i64>; 3], mode: i32, compute: DataType) -> Result<(), Error> {
    let [pads, strides, dilations] = lists;
    let good = pads.iter().all(|&pad| pad >= 0) && strides.iter().chain(&dilations).all(|&step| step > 0);
    if !good || !matches!(mode, 0 | 1) || !compute.is_known() {
        return Err(Error::BadParam);
    }
    window.with(|window| {
        let groups = window.groups.max(1);
        let (math, reorder) = (window.math, window.reorder);
        *window = Window { pads, strides, dilations, mode, compute, math, groups, reorder };
    })
}

fn set_2d(
    window: Descriptor,
    pad_h: i32,
    pad_w: i32,
    stride_h: i32,
    stride_w: i32,
    dilation_h: i32,
    dilation_w: i32,
    mode: i32,
    compute: DataType,
) -> Result<(), Error> {
    let lists = [[pad_h, pad_w], [stride_h, stride_w], [dilation_h, dilation_w]];
    put(window, lists.map(|list| list.map(i64::from).to_vec()), mode, compute)
}

fn get_2d(
    window: Descriptor,
    pad_h: MaybeOut<i32>,
    pad_w: MaybeOut<i32>,
    stride_h: MaybeOut<i32>,
    stride_w: MaybeOut<i32>,
    dilation_h: MaybeOut<i32>,
    dilation_w: MaybeOut<i32>,
    mode: MaybeOut<i32>,
    compute: MaybeOut<DataType>,
) -> Result<(), Error> {
    let window = window.value()?;
    let outs = [pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w];
    let [[pad_y, pad_x], [stride_y, stride_x], [dilation_y, dilation_x]] =
        [&window.pads, &window.strides, &window.dilations]
            .map(|list| [0, 1].map(|index| list.get(index).copied().unwrap_or(0)));
    for (out, value) in outs.into_iter().zip([pad_y, pad_x, stride_y, stride_x, dilation_y, dilation_x]) {
        out.set(value as i32);
    }
    mode.set(window.mode);
    compute.set(window.compute);
    if window.pads.len() == 2 { Ok(()) } else { Err(Error::BadParam) }
}

fn set_nd(
    window: Descriptor,
    rank: i32,
    pads: InList<i32>,
    strides: InList<i32>,
    dilations: InList<i32>,
    mode: i32,
    compute: DataType,
) -> Result<(), Error> {
    let lists = [list(&pads, rank)?, list(&strides, rank)?, list(&dilations, rank)?];
    put(window, lists, mode, compute)
}

fn get_nd(
    window: Descriptor,
    requested: i32,
    rank: MaybeOut<i32>,
    pads: OutList<i32>,
    strides: OutList<i32>,
    dilations: OutList<i32>,
    mode: MaybeOut<i32>,
    compute: MaybeOut<DataType>,
) -> Result<(), Error> {
    let window = window.value()?;
    let requested = usize::try_from(requested).ok().filter(|&count| count <= DIM_MAX).ok_or(Error::BadParam)?;
    rank.set(window.pads.len() as i32);
    for (out, list) in [(pads, &window.pads), (strides, &window.strides), (dilations, &window.dilations)] {
        out.fill(requested, list.iter().map(|&value| value as i32))?;
    }
    mode.set(window.mode);
    compute.set(window.compute);
    Ok(())
}

/// Extents of y: batch, filters, and the places a window takes in each dimension.
fn output(window: Descriptor, x: Tensor, w: Filter) -> Result<Vec<i64>, Error> {
    let (window, x, w) = (window.value()?, x.value()?, w.value()?.shape);
    let rank = window.pads.len();
    if rank == 0 || x.dims.len() != rank + 2 || w.dims.len() != rank + 2 {
        return Err(Error::BadParam);
    }
    let places = |index: usize| {
        let reach = (w.dims[index + 2] - 1) * window.dilations[index] + 1;
        (x.dims[index + 2] + 2 * window.pads[index] - reach).div_euclid(window.strides[index]) + 1
    };
    let dims: Vec<i64> = [x.dims[0], w.dims[0]].into_iter().chain((0..rank).map(places)).collect();
    if dims.iter().all(|&dim| dim > 0) { Ok(dims) } else { Err(Error::BadParam) }
}

fn output_2d(
    window: Descriptor,
    x: Tensor,
    w: Filter,
    n: Out<i32>,
    c: Out<i32>,
    height: Out<i32>,
    width: Out<i32>,
) -> Result<(), Error> {
    let dims = output(window, x, w)?;
    if dims.len() != 4 {
        return Err(Error::BadParam);
    }
    for (out, dim) in [n, c, height, width].into_iter().zip(dims) {
        out.set(dim as i32)?;
    }
    Ok(())
}

fn output_nd(window: Descriptor, x: Tensor, w: Filter, rank: i32, dims: OutList<i32>) -> Result<(), Error> {
    let output = output(window, x, w)?;
    if usize::try_from(rank) != Ok(output.len()) {
        return Err(Error::BadParam);
    }
    Ok(dims.set(output.len(), output.iter().map(|&dim| dim as i32))?)
}

/// The convolution that three descriptors and a window say.
pub fn convolution(pass: Pass, x: Tensor, w: Filter, y: Tensor, window: Descriptor) -> Result<Convolution, Error> {
    /// `CUDNN_FMA_MATH`: no tensor cores.
    const FMA: i32 = 3;
    let tensor_cores = window.with(|window| window.math != FMA)?;
    Ok(Convolution { pass, x: x.value()?, w: w.value()?.shape, y: y.value()?, tensor_cores })
}

fn forward(
    handle: Cudn,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    w: Filter,
    w_data: Address,
    window: Descriptor,
    _algorithm: i32,
    _workspace: Address,
    _workspace_bytes: usize,
    _beta: Address,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    [x_data, w_data, y_data].into_iter().try_for_each(Address::check)?;
    let convolution = convolution(Pass::Forward, x, w, y, window)?;
    run(handle, &convolution.work(), &[(y_data, convolution.y.span_bytes())])
}

/// Bias, residual and activation are hidden behind the product.
fn forward_fused(
    handle: Cudn,
    alpha: Address,
    x: Tensor,
    x_data: Address,
    w: Filter,
    w_data: Address,
    window: Descriptor,
    algorithm: i32,
    workspace: Address,
    workspace_bytes: usize,
    _alpha2: Address,
    z: Tensor,
    _z_data: Address,
    bias: Tensor,
    _bias_data: Address,
    activation: Activation,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    z.value()?;
    bias.value()?;
    activation.value()?;
    forward(handle, alpha, x, x_data, w, w_data, window, algorithm, workspace, workspace_bytes, alpha, y, y_data)
}

fn backward_data(
    handle: Cudn,
    _alpha: Address,
    w: Filter,
    w_data: Address,
    dy: Tensor,
    dy_data: Address,
    window: Descriptor,
    _algorithm: i32,
    _workspace: Address,
    _workspace_bytes: usize,
    _beta: Address,
    dx: Tensor,
    dx_data: Address,
) -> Result<(), Error> {
    [w_data, dy_data, dx_data].into_iter().try_for_each(Address::check)?;
    let convolution = convolution(Pass::Data, dx, w, dy, window)?;
    run(handle, &convolution.work(), &[(dx_data, convolution.x.span_bytes())])
}

fn backward_filter(
    handle: Cudn,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    dy: Tensor,
    dy_data: Address,
    window: Descriptor,
    _algorithm: i32,
    _workspace: Address,
    _workspace_bytes: usize,
    _beta: Address,
    dw: Filter,
    dw_data: Address,
) -> Result<(), Error> {
    [x_data, dy_data, dw_data].into_iter().try_for_each(Address::check)?;
    let convolution = convolution(Pass::Filter, x, dw, dy, window)?;
    run(handle, &convolution.work(), &[(dw_data, convolution.w.span_bytes())])
}

fn backward_bias(
    handle: Cudn,
    _alpha: Address,
    dy: Tensor,
    dy_data: Address,
    _beta: Address,
    db: Tensor,
    db_data: Address,
) -> Result<(), Error> {
    [dy_data, db_data].into_iter().try_for_each(Address::check)?;
    let (dy, db) = (dy.value()?, db.value()?);
    let work = Work::kernel(c"cudnn_convolution_backward_bias", dy.of, [dy.bytes(), db.bytes(), dy.elements()]);
    run(handle, &work, &[(db_data, db.span_bytes())])
}

#[cfg(test)]
mod tests {
    use super::super::filter::FilterShape;
    use super::*;
    use crate::tensor::Shape;

    #[test]
    fn a_window_takes_places_by_stride_padding_and_dilation() {
        let window = Handle::new(Window::default());
        put(window, [vec![1, 2], vec![2, 1], vec![1, 2]], 1, DataType::FLOAT).expect("a window");
        let shape = |dims: &[i64]| Shape { of: DataType::FLOAT, dims: dims.to_vec(), strides: vec![1; dims.len()] };
        let x = Handle::new(shape(&[8, 3, 32, 32]));
        let w = Handle::new(FilterShape { shape: shape(&[16, 3, 3, 3]), ..FilterShape::default() });
        assert_eq!(output(window, x, w), Ok(vec![8, 16, 16, 32]));
        let large = Handle::new(FilterShape { shape: shape(&[16, 3, 64, 64]), ..FilterShape::default() });
        assert_eq!(output(window, x, large), Err(Error::BadParam));
    }

    #[test]
    fn groups_outlive_a_new_window_and_bad_ones_are_refused() {
        let window = Handle::new(Window::default());
        assert_eq!((set_groups(window, 4), set_groups(window, 0)), (Ok(()), Err(Error::BadParam)));
        put(window, [vec![0], vec![1], vec![1]], 0, DataType::FLOAT).expect("a window");
        assert_eq!(ghost_abi::ask(|out| groups(window, out)), Ok(4));
        assert_eq!(put(window, [vec![0], vec![0], vec![1]], 0, DataType::FLOAT), Err(Error::BadParam));
    }
}
