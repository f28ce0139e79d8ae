//! The rules of descriptors, asked as C asks.

use super::*;
use crate::graph::Step;

/// A C caller's array.
fn array<T>(values: &[T]) -> InList<u8> {
    // SAFETY: every use below passes the count and type of `values`, which outlive the call.
    unsafe { InList::from_raw(values.as_ptr().cast()) }
}

fn null() -> InList<u8> {
    // SAFETY: null lends nothing.
    unsafe { InList::from_raw(std::ptr::null()) }
}

fn make(of: i32) -> Raw {
    ghost_abi::ask(|out| create(of, out)).expect("a descriptor")
}

/// Sets handles of descriptors.
fn link(to: Raw, name: i32, children: &[Raw]) -> Result<(), Error> {
    set(to, name, kind::DESCRIPTOR, children.len() as i64, array(children))
}

fn integers(to: Raw, name: i32, values: &[i64]) -> Result<(), Error> {
    set(to, name, kind::INT64, values.len() as i64, array(values))
}

fn tensor(id: i64, dims: &[i64]) -> Raw {
    let tensor = make(descriptor::TENSOR);
    let strides: Vec<i64> = (0..dims.len()).map(|index| dims[index + 1..].iter().product()).collect();
    set(tensor, 901, kind::DATA_TYPE, 1, array(&[9_i32])).expect("type");
    integers(tensor, 902, dims).expect("dimensions");
    integers(tensor, 903, &strides).expect("strides");
    integers(tensor, 906, &[id]).expect("id");
    finalize(tensor).expect("a tensor");
    tensor
}

/// A finalized plan of one matrix product.
fn plan() -> Raw {
    let product = make(descriptor::MATMUL);
    for (name, id, dims) in [(1520, 1, [1, 64, 32]), (1521, 2, [1, 32, 16]), (1522, 3, [1, 64, 16])] {
        let tensor = tensor(id, &dims);
        link(product, name, &[tensor]).expect("an operand");
        destroy(tensor).expect("gone");
    }
    finalize(product).expect("an operation");
    let graph = make(descriptor::GRAPH);
    link(graph, 801, &[product]).expect("operations");
    finalize(graph).expect("a graph");
    let heuristics = make(descriptor::HEURISTICS);
    link(heuristics, 201, &[graph]).expect("a graph");
    set(heuristics, 200, 8, 1, array(&[3_i32])).expect("a mode");
    finalize(heuristics).expect("heuristics");
    let mut results = [make(descriptor::ENGINE_CONFIG)];
    let (mut count, elements) = (0_i64, results.as_mut_ptr().cast());
    // SAFETY: one handle is lent, and one is asked for; `count` outlives the call.
    let (elements, out) = unsafe { (Elements::from_raw(elements), MaybeOut::from_raw(&mut count)) };
    get(heuristics, 202, kind::DESCRIPTOR, 1, out, elements).expect("results");
    assert_eq!(count, 1);
    let plan = make(descriptor::PLAN);
    link(plan, 401, &results).expect("a configuration");
    finalize(plan).expect("a plan");
    plan
}

#[test]
fn a_graph_becomes_a_plan_though_its_tensors_are_destroyed() {
    let plan = plan().with(|plan| plan.plan.clone()).expect("live").expect("finalized");
    let [Step { work, writes }] = &plan.steps[..] else { panic!("{plan:?}") };
    assert_eq!((&work.dims[..4], &writes[..]), (&[64, 16, 32, 1][..], &[(3, 64 * 16 * 2)][..]));
}

#[test]
fn a_wrong_type_count_null_or_foreign_attribute_is_a_bad_parameter() {
    let tensor = make(descriptor::TENSOR);
    let bad = Err(Error::BadParam);
    assert_eq!(set(tensor, 902, kind::INT32, 2, array(&[1_i32, 2])), bad);
    assert_eq!(set(tensor, 906, kind::INT64, 2, array(&[1_i64, 2])), bad);
    assert_eq!(set(tensor, 902, kind::INT64, -1, array(&[1_i64])), bad);
    assert_eq!(set(tensor, 902, kind::INT64, 2, null()), bad);
    assert_eq!(set(tensor, 100, kind::DATA_TYPE, 1, array(&[0_i32])), bad);
    assert_eq!(set(Handle::null(), 902, kind::INT64, 1, array(&[1_i64])), bad);
}

#[test]
fn an_incomplete_descriptor_is_not_finalized_and_a_finalized_one_not_changed() {
    let unfinished = make(descriptor::TENSOR);
    assert_eq!(finalize(unfinished), Err(Error::BadParam));
    assert_eq!(link(make(descriptor::MATMUL), 1520, &[unfinished]), Err(Error::BadParam));
    let finished = tensor(1, &[2, 2]);
    assert_eq!(integers(finished, 906, &[2]), Err(Error::NotInitialized));
}

#[test]
fn a_getter_says_how_many_there_are_and_writes_what_fits() {
    let tensor = tensor(1, &[5, 6, 7]);
    let mut values = [0_i64; 2];
    let mut count = 0;
    // SAFETY: two integers are lent, and two are asked for; `count` outlives the call.
    let (out, elements) = unsafe { (MaybeOut::from_raw(&mut count), Elements::from_raw(values.as_mut_ptr().cast())) };
    assert_eq!(get(tensor, 902, kind::INT64, 2, out, elements), Ok(()));
    assert_eq!((count, values), (3, [5, 6]));
    let unfinished = make(descriptor::TENSOR);
    // SAFETY: null lends nothing.
    let nothing = || unsafe { (MaybeOut::from_raw(std::ptr::null_mut()), Elements::from_raw(std::ptr::null_mut())) };
    let (out, elements) = nothing();
    assert_eq!(get(unfinished, 902, kind::INT64, 2, out, elements), Err(Error::NotInitialized));
    let (out, elements) = nothing();
    assert_eq!(get(tensor, 902, kind::INT32, 2, out, elements), Err(Error::BadParam));
}

#[test]
fn a_plan_needs_no_workspace_and_an_unknown_descriptor_is_not_supported() {
    let content = plan().with(|plan| plan.content.clone()).expect("live");
    assert!(matches!(answers::value(&content, 402), Some(Value::Plain { count: 1, bytes, .. }) if bytes == [0; 8]));
    assert_eq!(ghost_abi::ask(|out| create(51, out)).err(), Some(Error::NotSupported));
}

#[test]
fn of_two_engines_one_fills_one_descriptor() {
    let product = make(descriptor::MATMUL);
    for (name, id) in [(1520, 1), (1521, 2), (1522, 3)] {
        let float = make(descriptor::TENSOR);
        set(float, 901, kind::DATA_TYPE, 1, array(&[0_i32])).expect("type");
        for (name, values) in [(902, &[8, 8][..]), (903, &[8, 1]), (906, &[id])] {
            integers(float, name, values).expect("integers");
        }
        finalize(float).expect("a tensor");
        link(product, name, &[float]).expect("an operand");
    }
    finalize(product).expect("an operation");
    let graph = make(descriptor::GRAPH);
    link(graph, 801, &[product]).expect("operations");
    finalize(graph).expect("a graph");
    let heuristics = make(descriptor::HEURISTICS);
    link(heuristics, 201, &[graph]).expect("a graph");
    set(heuristics, 200, 8, 1, array(&[3_i32])).expect("a mode");
    finalize(heuristics).expect("heuristics");
    let (mut results, mut count) = ([make(descriptor::ENGINE_CONFIG)], 0_i64);
    for (place, requested, expected) in [(std::ptr::null_mut(), 0, 2), (results.as_mut_ptr().cast(), 1, 1)] {
        // SAFETY: null, or one handle is lent and one is asked for; `count` outlives the call.
        let (elements, out) = unsafe { (Elements::from_raw(place), MaybeOut::from_raw(&mut count)) };
        get(heuristics, 202, kind::DESCRIPTOR, requested, out, elements).expect("results");
        assert_eq!(count, expected);
    }
}
