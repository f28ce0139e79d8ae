//! Which algorithm a convolution should use: there is one, and it needs no workspace.
//! It runs nothing.

use super::convolution::{Descriptor, convolution};
use super::filter::Filter;
use super::memory::Address;
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::Handle;
use crate::product::Pass;
use crate::{Cudnn, Error};
use ghost_abi::{Out, OutList};

ghost_abi::record! {
    /// `cudnnConvolution...AlgoPerf_t`, the same for all three passes.
    pub struct Performance: 48 bytes {
        pub algorithm: i32,
        pub status: i32,
        pub milliseconds: f32,
        pub padding: u32,
        pub workspace_bytes: u64,
        pub determinism: i32,
        pub math: i32,
        pub reserved: [i32; 4],
    }
}

/// Each enumeration's implicit product: `..._FWD_ALGO_IMPLICIT_PRECOMP_GEMM`, `..._BWD_..._ALGO_1`.
const ALGORITHM: i32 = 1;

type Cudn = Handle<Context>;
type Results = OutList<Performance>;

ghost_abi::rows! { Cudnn;
    fn cudnnGetConvolutionForwardAlgorithmMaxCount(handle: Cudn, count: Out<i32>) => forward_count;
    fn cudnnGetConvolutionBackwardDataAlgorithmMaxCount(handle: Cudn, count: Out<i32>) => data_count;
    fn cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(handle: Cudn, count: Out<i32>) => filter_count;
    fn cudnnGetConvolutionForwardAlgorithm_v7(handle: Cudn, x: Tensor, w: Filter, window: Descriptor, y: Tensor, requested: i32, returned: Out<i32>, results: Results) => forward;
    fn cudnnFindConvolutionForwardAlgorithm(handle: Cudn, x: Tensor, w: Filter, window: Descriptor, y: Tensor, requested: i32, returned: Out<i32>, results: Results) => forward;
    fn cudnnFindConvolutionForwardAlgorithmEx(handle: Cudn, x: Tensor, x_data: Address, w: Filter, w_data: Address, window: Descriptor, y: Tensor, y_data: Address, requested: i32, returned: Out<i32>, results: Results, workspace: Address, bytes: usize) => forward_ex;
    fn cudnnGetConvolutionForwardWorkspaceSize(handle: Cudn, x: Tensor, w: Filter, window: Descriptor, y: Tensor, algorithm: i32, bytes: Out<usize>) => forward_workspace;
    fn cudnnGetConvolutionBackwardDataAlgorithm_v7(handle: Cudn, w: Filter, dy: Tensor, window: Descriptor, dx: Tensor, requested: i32, returned: Out<i32>, results: Results) => data;
    fn cudnnFindConvolutionBackwardDataAlgorithm(handle: Cudn, w: Filter, dy: Tensor, window: Descriptor, dx: Tensor, requested: i32, returned: Out<i32>, results: Results) => data;
    fn cudnnFindConvolutionBackwardDataAlgorithmEx(handle: Cudn, w: Filter, w_data: Address, dy: Tensor, dy_data: Address, window: Descriptor, dx: Tensor, dx_data: Address, requested: i32, returned: Out<i32>, results: Results, workspace: Address, bytes: usize) => data_ex;
    fn cudnnGetConvolutionBackwardDataWorkspaceSize(handle: Cudn, w: Filter, dy: Tensor, window: Descriptor, dx: Tensor, algorithm: i32, bytes: Out<usize>) => data_workspace;
    fn cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle: Cudn, x: Tensor, dy: Tensor, window: Descriptor, dw: Filter, requested: i32, returned: Out<i32>, results: Results) => filter;
    fn cudnnFindConvolutionBackwardFilterAlgorithm(handle: Cudn, x: Tensor, dy: Tensor, window: Descriptor, dw: Filter, requested: i32, returned: Out<i32>, results: Results) => filter;
    fn cudnnFindConvolutionBackwardFilterAlgorithmEx(handle: Cudn, x: Tensor, x_data: Address, dy: Tensor, dy_data: Address, window: Descriptor, dw: Filter, dw_data: Address, requested: i32, returned: Out<i32>, results: Results, workspace: Address, bytes: usize) => filter_ex;
    fn cudnnGetConvolutionBackwardFilterWorkspaceSize(handle: Cudn, x: Tensor, dy: Tensor, window: Descriptor, dw: Filter, algorithm: i32, bytes: Out<usize>) => filter_workspace;
}

/// Algorithms that cudnn_cnn.h lists: the most results a caller makes room for.
const FORWARD_ALGORITHMS: i32 = 8;
const DATA_ALGORITHMS: i32 = 6;
const FILTER_ALGORITHMS: i32 = 7;

fn count(handle: Cudn, count: Out<i32>, algorithms: i32) -> Result<(), Error> {
    handle.value()?;
    Ok(count.set(algorithms)?)
}

fn forward_count(handle: Cudn, out: Out<i32>) -> Result<(), Error> {
    count(handle, out, FORWARD_ALGORITHMS)
}

fn data_count(handle: Cudn, out: Out<i32>) -> Result<(), Error> {
    count(handle, out, DATA_ALGORITHMS)
}

fn filter_count(handle: Cudn, out: Out<i32>) -> Result<(), Error> {
    count(handle, out, FILTER_ALGORITHMS)
}

/// A convolution as its descriptors say it.
struct Asked {
    pass: Pass,
    x: Tensor,
    w: Filter,
    y: Tensor,
    window: Descriptor,
}

impl Asked {
    /// Writes the one algorithm with the time it takes alone.
    fn answer(self, handle: Cudn, requested: i32, returned: &Out<i32>, results: &Results) -> Result<(), Error> {
        handle.value()?;
        if requested < 1 {
            return Err(Error::BadParam);
        }
        let convolution = convolution(self.pass, self.x, self.w, self.y, self.window)?;
        let best = Performance {
            algorithm: ALGORITHM,
            status: 0,
            milliseconds: convolution.work().price_ns()? as f32 / 1e6,
            padding: 0,
            workspace_bytes: 0,
            determinism: 1,
            math: i32::from(convolution.tensor_cores),
            reserved: [0; 4],
        };
        results.fill(1, std::iter::once(best))?;
        Ok(returned.set(1)?)
    }

    fn workspace(self, handle: Cudn, bytes: &Out<usize>) -> Result<(), Error> {
        handle.value()?;
        convolution(self.pass, self.x, self.w, self.y, self.window)?;
        Ok(bytes.set(0)?)
    }
}

fn forward(
    handle: Cudn,
    x: Tensor,
    w: Filter,
    window: Descriptor,
    y: Tensor,
    requested: i32,
    returned: Out<i32>,
    results: Results,
) -> Result<(), Error> {
    Asked { pass: Pass::Forward, x, w, y, window }.answer(handle, requested, &returned, &results)
}

fn forward_ex(
    handle: Cudn,
    x: Tensor,
    _x_data: Address,
    w: Filter,
    _w_data: Address,
    window: Descriptor,
    y: Tensor,
    _y_data: Address,
    requested: i32,
    returned: Out<i32>,
    results: Results,
    _workspace: Address,
    _bytes: usize,
) -> Result<(), Error> {
    Asked { pass: Pass::Forward, x, w, y, window }.answer(handle, requested, &returned, &results)
}

fn forward_workspace(
    handle: Cudn,
    x: Tensor,
    w: Filter,
    window: Descriptor,
    y: Tensor,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    Asked { pass: Pass::Forward, x, w, y, window }.workspace(handle, &bytes)
}

fn data(
    handle: Cudn,
    w: Filter,
    y: Tensor,
    window: Descriptor,
    x: Tensor,
    requested: i32,
    returned: Out<i32>,
    results: Results,
) -> Result<(), Error> {
    Asked { pass: Pass::Data, x, w, y, window }.answer(handle, requested, &returned, &results)
}

fn data_ex(
    handle: Cudn,
    w: Filter,
    _w_data: Address,
    y: Tensor,
    _dy_data: Address,
    window: Descriptor,
    x: Tensor,
    _dx_data: Address,
    requested: i32,
    returned: Out<i32>,
    results: Results,
    _workspace: Address,
    _bytes: usize,
) -> Result<(), Error> {
    Asked { pass: Pass::Data, x, w, y, window }.answer(handle, requested, &returned, &results)
}

fn data_workspace(
    handle: Cudn,
    w: Filter,
    y: Tensor,
    window: Descriptor,
    x: Tensor,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    Asked { pass: Pass::Data, x, w, y, window }.workspace(handle, &bytes)
}

fn filter(
    handle: Cudn,
    x: Tensor,
    y: Tensor,
    window: Descriptor,
    w: Filter,
    requested: i32,
    returned: Out<i32>,
    results: Results,
) -> Result<(), Error> {
    Asked { pass: Pass::Filter, x, w, y, window }.answer(handle, requested, &returned, &results)
}

fn filter_ex(
    handle: Cudn,
    x: Tensor,
    _x_data: Address,
    y: Tensor,
    _dy_data: Address,
    window: Descriptor,
    w: Filter,
    _dw_data: Address,
    requested: i32,
    returned: Out<i32>,
    results: Results,
    _workspace: Address,
    _bytes: usize,
) -> Result<(), Error> {
    Asked { pass: Pass::Filter, x, w, y, window }.answer(handle, requested, &returned, &results)
}

fn filter_workspace(
    handle: Cudn,
    x: Tensor,
    y: Tensor,
    window: Descriptor,
    w: Filter,
    _algorithm: i32,
    bytes: Out<usize>,
) -> Result<(), Error> {
    Asked { pass: Pass::Filter, x, w, y, window }.workspace(handle, &bytes)
}
