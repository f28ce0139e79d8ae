//! Elementwise frames on parameter buffers laid out as PyTorch's kernels take them.
//! Operations themselves are tested where they are.

use super::super::params::build::calculator;
use super::super::testing::{BASE, Packed, kernel, name, read, write};
use super::*;
use Scalar::{BF16, Bool, F32, I64};

const A: u64 = BASE;
const B: u64 = BASE + 4096;
const OUT: u64 = BASE + 8192;

fn vectorized(functor: &str, function: (u32, u32), data: (u32, u32)) -> (Elementwise, KernelInfo) {
    let kernel = kernel(&[(0, 4), function, data]);
    let name = name("vectorized_elementwise_kernel", &["4", functor, "std::array<char*, 3ul>", "false"]);
    (judge(&name, &kernel).unwrap(), kernel)
}

#[test]
fn addition_runs_on_two_small_tensors() {
    let (add, info) = vectorized("at::native::CUDAFunctor_add<float>", (4, 4), (8, 24));
    let mut store = Store::default();
    write(&mut store, A, F32, &[1.0, 2.0, 3.0]);
    write(&mut store, B, F32, &[10.0, 20.0, 30.0]);
    let params = Packed::new(&info).u32(0, 3).set(4, &2f32.to_le_bytes()).u64(8, OUT).u64(16, A).u64(24, B);
    add.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, F32, 4), [21.0, 42.0, 63.0, 0.0]);
}

#[test]
fn a_large_tensor_of_mixed_values_counts_as_zeros() {
    let (add, info) = vectorized("at::native::CUDAFunctor_add<float>", (4, 4), (8, 24));
    let mut store = Store::default();
    write(&mut store, A, F32, &[1.0, 2.0]);
    write(&mut store, OUT, F32, &[9.0]);
    let params = Packed::new(&info).u32(0, 1 << 20).set(4, &1f32.to_le_bytes()).u64(8, OUT).u64(16, A).u64(24, A);
    add.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, F32, 1), [0.0]);
}

#[test]
fn a_middling_tensor_of_mixed_values_is_not_computed_and_reads_zero() {
    let (add, info) = vectorized("at::native::CUDAFunctor_add<float>", (4, 4), (8, 24));
    let mut store = Store::default();
    write(&mut store, A, F32, &[1.0, 2.0]);
    let params = Packed::new(&info).u32(0, 100_000).set(4, &1f32.to_le_bytes()).u64(8, A).u64(16, A).u64(24, A);
    assert_eq!(add.run(Params(&params.0), &mut store), Err(Skipped::TooLarge));
    assert_eq!(read(&store, A, F32, 1), [0.0]);
}

#[test]
fn a_tensor_of_one_value_is_computed_at_any_size() {
    let (fill, info) = vectorized("at::native::FillFunctor<float>", (4, 4), (8, 8));
    let mut store = Store::default();
    let params = Packed::new(&info).u32(0, 1 << 28).set(4, &3f32.to_le_bytes()).u64(8, A);
    fill.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, A + (1 << 29), F32, 1), [3.0]);
    let (mul, info) = vectorized(
        "at::native::BUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >",
        (4, 8),
        (16, 16),
    );
    let params = Packed::new(&info).u32(0, 1 << 28).set(8, &2f32.to_le_bytes()).u64(16, A).u64(24, A);
    mul.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, A + (1 << 20), F32, 2), [6.0, 6.0]);
}

#[test]
fn truth_about_what_nobody_computed_is_truth_about_zeros() {
    let equal = "at::native::BinaryFunctor<float, float, bool, at::native::(anonymous \
                 namespace)::CompareEqFunctor<float> >";
    let (equal, info) = vectorized(equal, (4, 4), (8, 24));
    let mut store = Store::default();
    let params = Packed::new(&info).u32(0, 1 << 24).u32(4, 0).u64(8, OUT).u64(16, A).u64(24, A);
    equal.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, Bool, 2), [1.0, 1.0]);
}

#[test]
fn the_unrolled_frame_casts_by_the_types_it_is_given() {
    let info = kernel(&[(0, 4), (4, 1), (8, 16), (24, 1), (25, 1), (28, 8), (36, 8)]);
    let copy = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() \
                const::{lambda()#7}::operator()() const::{lambda(float)#1}";
    let copy = judge(&name("unrolled_elementwise_kernel", &[copy, "", "4"]), &info).unwrap();
    let mut store = Store::default();
    write(&mut store, A, I64, &[1.0, -2.0, 300.0]);
    let params = Packed::new(&info).u32(0, 3).u64(8, OUT).u64(16, A).set(28, &[4]).set(36, &[15]);
    copy.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, BF16, 3), [1.0, -2.0, 300.0]);
}

/// A legacy kernel that copies `float` tensors through a shape.
fn strided() -> (Elementwise, KernelInfo) {
    let info = kernel(&[(0, 4), (8, 536)]);
    let launcher = "void at::native::gpu_kernel_impl_nocast<at::native::AbsFunctor<float> \
                    >(at::TensorIteratorBase&, at::native::AbsFunctor<float> const&)::{lambda(int)#1}";
    (judge(&name("elementwise_kernel", &["128", "2", launcher]), &info).unwrap(), info)
}

#[test]
fn the_legacy_frame_follows_strides() {
    let (abs, info) = strided();
    let mut store = Store::default();
    write(&mut store, A, F32, &[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]);
    write(&mut store, OUT, F32, &[7.0; 8]);
    // Transposes 2 x 3 and leaves every fourth element of the output alone.
    let shape = calculator(&[2, 3], &[&[4, 12], &[12, 4]], 2);
    let params = Packed::new(&info).u32(0, 6).set(8, &shape).u64(8 + 504, OUT).u64(8 + 512, A);
    abs.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, F32, 9), [1.0, 4.0, 7.0, 2.0, 5.0, 7.0, 3.0, 6.0, 0.0]);
}

#[test]
fn a_shape_that_does_not_fit_makes_the_output_zero() {
    let (abs, info) = strided();
    let mut store = Store::default();
    write(&mut store, OUT, F32, &[7.0; 8]);
    let shape = calculator(&[2, 3], &[&[4, 12], &[12, 4]], 2);
    let params = Packed::new(&info).u32(0, 7).set(8, &shape).u64(8 + 504, OUT).u64(8 + 512, A);
    assert_eq!(abs.run(Params(&params.0), &mut store), Err(Skipped::UnknownArgument));
    assert_eq!(read(&store, OUT, F32, 2), [0.0, 0.0]);
}

#[test]
fn another_parameter_size_is_another_kernel() {
    let name = name("vectorized_elementwise_kernel", &["4", "at::native::FillFunctor<double>"]);
    assert_eq!(judge(&name, &kernel(&[(0, 4), (4, 4), (8, 8)])).unwrap_err(), Skipped::OtherLayout);
}
