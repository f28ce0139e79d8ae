//! Graphs as frontends build them, and what they come to.

use super::*;
use ghost_table::Kind;

fn tensor(id: i64, dims: &[i64], is_virtual: bool) -> Tensor {
    let strides = (0..dims.len()).map(|index| dims[index + 1..].iter().product()).collect();
    let shape = Shape { of: DataType::BFLOAT16, dims: dims.to_vec(), strides };
    Tensor { id, shape, is_virtual, ..Tensor::default() }
}

fn operation(descriptor: i32, tensors: Vec<(i32, Tensor)>) -> Operation {
    Operation { descriptor, tensors, ..Operation::default() }
}

/// Queries by keys, a softmax's reduction, and the product with the values.
fn attention() -> Vec<Operation> {
    let (q, k, v) =
        (tensor(1, &[2, 8, 128, 64], false), tensor(2, &[2, 2, 64, 256], false), tensor(3, &[2, 2, 256, 64], false));
    let (s, p, o) =
        (tensor(4, &[2, 8, 128, 256], true), tensor(5, &[2, 8, 128, 256], true), tensor(6, &[2, 8, 128, 64], false));
    let stats = tensor(7, &[2, 8, 128, 1], false);
    vec![
        operation(descriptor::MATMUL, vec![(1520, q), (1521, k), (1522, s.clone())]),
        operation(descriptor::REDUCTION, vec![(1610, s), (1611, stats)]),
        operation(descriptor::MATMUL, vec![(1520, p), (1521, v), (1522, o)]),
    ]
}

#[test]
fn two_products_around_a_softmax_are_one_attention() {
    let plan = Plan::of_operations(&attention(), true);
    let [Step { work, writes }] = &plan.steps[..] else { panic!("{plan:?}") };
    assert_eq!((work.kind, work.dims), (Kind::Attention, [2, 8, 128, 256, 64, 0, 0]));
    assert_eq!(writes[..], [(6, 2 * 8 * 128 * 64 * 2), (7, 2 * 8 * 128 * 2)]);
}

#[test]
fn a_band_mask_or_a_comparison_of_numbers_makes_it_causal() {
    let mut masked = attention();
    masked.push(operation(descriptor::BAND_MASK, Vec::new()));
    assert_eq!(Plan::of_operations(&masked, true).steps[0].work.dims[5], 1);
    let mut compared = attention();
    let pointwise = |mode, tensors| Operation { pointwise: Some(mode), ..operation(descriptor::POINTWISE, tensors) };
    compared.push(pointwise(501, Vec::new()));
    // A row's number against a length in memory is a padding mask.
    compared.push(pointwise(303, vec![(751, tensor(8, &[1, 1, 1, 1], false))]));
    assert_eq!(Plan::of_operations(&compared, true).steps[0].work.dims[5], 0);
    compared.push(pointwise(303, vec![(751, tensor(9, &[2, 8, 128, 256], true))]));
    assert_eq!(Plan::of_operations(&compared, true).steps[0].work.dims[5], 1);
}

#[test]
fn an_operation_that_says_attention_backward_is_one() {
    let shape = [1, 4, 512, 128];
    let names = [2851, 2852, 2853, 2854, 2859, 2860, 2861, 2862];
    let tensors = names.iter().map(|&name| (name, tensor(i64::from(name), &shape, false))).collect();
    let plan = Plan::of_operations(&[operation(descriptor::SDPA_BACKWARD, tensors)], true);
    assert_eq!(plan.steps[0].work.dims, [1, 4, 512, 512, 128, 0, 1]);
    assert_eq!(plan.steps[0].writes.iter().map(|write| write.0).collect::<Vec<_>>(), [2859, 2860, 2861]);
}

#[test]
fn what_follows_a_product_is_hidden_and_writes_with_it() {
    let y = tensor(3, &[4, 16, 16], true);
    let operations = [
        operation(descriptor::MATMUL, vec![(1520, tensor(1, &[4, 16, 32], false)), (1522, y.clone())]),
        operation(descriptor::POINTWISE, vec![(751, y), (753, tensor(4, &[4, 16, 16], false))]),
    ];
    let plan = Plan::of_operations(&operations, true);
    assert_eq!((plan.steps.len(), plan.steps[0].work.kind), (1, Kind::Gemm));
    assert_eq!(plan.steps[0].writes, [(4, 4 * 16 * 16 * 2)]);
}

#[test]
fn a_norm_is_priced_by_its_traffic() {
    let sizes = [8, 64, 32, 32];
    let [x, y] = [1, 2].map(|id| tensor(id, &sizes, false));
    let plan = Plan::of_operations(&[operation(descriptor::NORM_FORWARD, vec![(2002, x), (2013, y)])], true);
    let bytes = 8 * 64 * 32 * 32 * 2;
    assert_eq!((plan.steps[0].work.kind, &plan.steps[0].work.dims[..2]), (Kind::Kernel, &[bytes, bytes][..]));
}

#[test]
fn a_ragged_result_writes_no_further_than_a_vector_of_each_sequence() {
    let mut ragged = tensor(1, &[4, 8, 512, 64], false);
    assert_eq!(ragged.written_bytes(), 4 * 8 * 512 * 64 * 2);
    ragged.is_ragged = true;
    assert_eq!(ragged.written_bytes(), 4 * 8 * 64 * 2);
}
