//! Adding, scaling, setting, copying and reducing tensors.
//! Nothing is computed: a pass over the tensors.

use super::memory::{Address, run};
use super::tensor::Tensor;
use crate::handle::Context;
use crate::place::{Handle, create, destroy};
use crate::work::Work;
use crate::{Cudnn, DataType, Error};
use ghost_abi::{MaybeOut, Out};
use std::ffi::CStr;

/// What the descriptors of element-wise operations and of reductions hold: enumerations, kept for the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    operator: i32,
    compute: DataType,
    nan: i32,
}

kept!(Operator, b"gh.cnnot");

/// A reduction's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reduction {
    operator: Operator,
    indices: i32,
    index_type: i32,
}

kept!(Reduction, b"gh.cnnrt");

type Cudn = Handle<Context>;

ghost_abi::rows! { Cudnn;
    fn cudnnTransformTensor(handle: Cudn, alpha: Address, x: Tensor, x_data: Address, beta: Address, y: Tensor, y_data: Address) => transform;
    fn cudnnAddTensor(handle: Cudn, alpha: Address, a: Tensor, a_data: Address, beta: Address, c: Tensor, c_data: Address) => add;
    fn cudnnCreateOpTensorDescriptor(operator: Out<Handle<Operator>>) => create;
    fn cudnnDestroyOpTensorDescriptor(operator: Handle<Operator>) => destroy;
    fn cudnnSetOpTensorDescriptor(operator: Handle<Operator>, kind: i32, compute: DataType, nan: i32) => set_operator;
    fn cudnnGetOpTensorDescriptor(operator: Handle<Operator>, kind: MaybeOut<i32>, compute: MaybeOut<DataType>, nan: MaybeOut<i32>) => operator;
    fn cudnnOpTensor(handle: Cudn, operator: Handle<Operator>, alpha1: Address, a: Tensor, a_data: Address, alpha2: Address, b: Tensor, b_data: Address, beta: Address, c: Tensor, c_data: Address) => combine;
    fn cudnnCreateReduceTensorDescriptor(reduction: Out<Handle<Reduction>>) => create;
    fn cudnnDestroyReduceTensorDescriptor(reduction: Handle<Reduction>) => destroy;
    fn cudnnSetReduceTensorDescriptor(reduction: Handle<Reduction>, kind: i32, compute: DataType, nan: i32, indices: i32, index_type: i32) => set_reduction;
    fn cudnnGetReduceTensorDescriptor(reduction: Handle<Reduction>, kind: MaybeOut<i32>, compute: MaybeOut<DataType>, nan: MaybeOut<i32>, indices: MaybeOut<i32>, index_type: MaybeOut<i32>) => reduction;
    fn cudnnGetReductionIndicesSize(handle: Cudn, reduction: Handle<Reduction>, a: Tensor, c: Tensor, bytes: Out<usize>) => indices_size;
    fn cudnnGetReductionWorkspaceSize(handle: Cudn, reduction: Handle<Reduction>, a: Tensor, c: Tensor, bytes: Out<usize>) => workspace_size;
    fn cudnnReduceTensor(handle: Cudn, reduction: Handle<Reduction>, indices: Address, indices_bytes: usize, workspace: Address, workspace_bytes: usize, alpha: Address, a: Tensor, a_data: Address, beta: Address, c: Tensor, c_data: Address) => reduce;
    fn cudnnSetTensor(handle: Cudn, y: Tensor, y_data: Address, value: Address) => set;
    fn cudnnScaleTensor(handle: Cudn, y: Tensor, y_data: Address, alpha: Address) => scale;
}

/// One kernel that reads `read` tensors and writes one.
fn pass(handle: Cudn, name: &'static CStr, read: &[Tensor], to: Tensor, data: Address) -> Result<(), Error> {
    data.check()?;
    let mut bytes = 0_u64;
    for tensor in read {
        bytes += tensor.value()?.bytes();
    }
    let to = to.value()?;
    let work = Work::kernel(name, to.of, [bytes, to.bytes(), to.elements().saturating_mul(2)]);
    run(handle, &work, &[(data, to.span_bytes())])
}

fn transform(
    handle: Cudn,
    _alpha: Address,
    x: Tensor,
    x_data: Address,
    _beta: Address,
    y: Tensor,
    y_data: Address,
) -> Result<(), Error> {
    x_data.check()?;
    pass(handle, c"cudnn_transform_tensor", &[x], y, y_data)
}

fn add(
    handle: Cudn,
    _alpha: Address,
    a: Tensor,
    a_data: Address,
    _beta: Address,
    c: Tensor,
    c_data: Address,
) -> Result<(), Error> {
    a_data.check()?;
    pass(handle, c"cudnn_add_tensor", &[a, c], c, c_data)
}

fn combine(
    handle: Cudn,
    operator: Handle<Operator>,
    _alpha1: Address,
    a: Tensor,
    a_data: Address,
    _alpha2: Address,
    b: Tensor,
    _b_data: Address,
    _beta: Address,
    c: Tensor,
    c_data: Address,
) -> Result<(), Error> {
    /// `CUDNN_OP_TENSOR_SQRT` and `NOT` have no second operand.
    const UNARY: std::ops::RangeInclusive<i32> = 4..=5;
    a_data.check()?;
    let operands = if UNARY.contains(&operator.value()?.operator) { 1 } else { 2 };
    pass(handle, c"cudnn_op_tensor", &[a, b][..operands], c, c_data)
}

fn set(handle: Cudn, y: Tensor, y_data: Address, value: Address) -> Result<(), Error> {
    value.check()?;
    pass(handle, c"cudnn_set_tensor", &[], y, y_data)
}

fn scale(handle: Cudn, y: Tensor, y_data: Address, alpha: Address) -> Result<(), Error> {
    alpha.check()?;
    pass(handle, c"cudnn_scale_tensor", &[y], y, y_data)
}

fn set_operator(operator: Handle<Operator>, kind: i32, compute: DataType, nan: i32) -> Result<(), Error> {
    if !matches!((kind, nan), (0..=5, 0..=1)) || !compute.is_known() {
        return Err(Error::BadParam);
    }
    operator.with(|place| *place = Operator { operator: kind, compute, nan })
}

fn operator(
    operator: Handle<Operator>,
    kind: MaybeOut<i32>,
    compute: MaybeOut<DataType>,
    nan: MaybeOut<i32>,
) -> Result<(), Error> {
    let operator = operator.value()?;
    kind.set(operator.operator);
    compute.set(operator.compute);
    nan.set(operator.nan);
    Ok(())
}

fn set_reduction(
    reduction: Handle<Reduction>,
    kind: i32,
    compute: DataType,
    nan: i32,
    indices: i32,
    index_type: i32,
) -> Result<(), Error> {
    if !matches!((kind, nan, indices, index_type), (0..=8, 0..=1, 0..=1, 0..=3)) || !compute.is_known() {
        return Err(Error::BadParam);
    }
    let operator = Operator { operator: kind, compute, nan };
    reduction.with(|place| *place = Reduction { operator, indices, index_type })
}

fn reduction(
    reduction: Handle<Reduction>,
    kind: MaybeOut<i32>,
    compute: MaybeOut<DataType>,
    nan: MaybeOut<i32>,
    indices: MaybeOut<i32>,
    index_type: MaybeOut<i32>,
) -> Result<(), Error> {
    let reduction = reduction.value()?;
    kind.set(reduction.operator.operator);
    compute.set(reduction.operator.compute);
    nan.set(reduction.operator.nan);
    indices.set(reduction.indices);
    index_type.set(reduction.index_type);
    Ok(())
}

/// An index of 32 bits for each result, where indices are asked for.
fn indices_size(
    handle: Cudn,
    reduction: Handle<Reduction>,
    a: Tensor,
    c: Tensor,
    bytes: Out<usize>,
) -> Result<(), Error> {
    handle.value()?;
    a.value()?;
    let wanted = reduction.value()?.indices as u64;
    Ok(bytes.set((c.value()?.elements() * 4 * wanted) as usize)?)
}

fn workspace_size(
    handle: Cudn,
    reduction: Handle<Reduction>,
    a: Tensor,
    c: Tensor,
    bytes: Out<usize>,
) -> Result<(), Error> {
    handle.value()?;
    reduction.value()?;
    a.value()?;
    c.value()?;
    Ok(bytes.set(0)?)
}

fn reduce(
    handle: Cudn,
    reduction: Handle<Reduction>,
    indices: Address,
    indices_bytes: usize,
    _workspace: Address,
    _workspace_bytes: usize,
    _alpha: Address,
    a: Tensor,
    a_data: Address,
    _beta: Address,
    c: Tensor,
    c_data: Address,
) -> Result<(), Error> {
    reduction.value()?;
    [a_data, c_data].into_iter().try_for_each(Address::check)?;
    let (a, c) = (a.value()?, c.value()?);
    let work = Work::kernel(c"cudnn_reduce_tensor", a.of, [a.bytes(), c.bytes(), a.elements()]);
    run(handle, &work, &[(c_data, c.span_bytes()), (indices, indices_bytes as u64)])
}
