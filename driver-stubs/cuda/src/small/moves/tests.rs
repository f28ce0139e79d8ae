//! Moving kernels on parameter buffers laid out as PyTorch's lambdas are.
//! Elements are longs throughout.

use super::super::params::build::calculator;
use super::super::testing::{BASE, Packed, kernel, name, read, write};
use super::*;
use Scalar::I64;

const IN: u64 = BASE;
const INDEX: u64 = BASE + 4096;
const OUT: u64 = BASE + 8192;

fn indexing(inner: &str) -> (Moves, KernelInfo) {
    let info = kernel(&[(0, 8), (8, 1240)]);
    let text = format!(
        "void at::native::gpu_index_kernel<at::native::{inner}<at::native::OpaqueType<8> >(at::TensorIteratorBase&, \
         c10::ArrayRef<long>)::{{lambda(char*, char const*, long)#1}}>(at::TensorIteratorBase&, \
         bool)::{{lambda(int)#1}}"
    );
    (judge(&name("index_elementwise_kernel", &["128", "4", &text]), &info).unwrap(), info)
}

/// Three elements, one tensor of indices into a dimension of four longs.
fn indexed(info: &KernelInfo, shape: &[u32]) -> Packed {
    let words = 8 + 608;
    Packed::new(info)
        .u64(0, 3)
        .set(8, &calculator(&[3], &[shape], 3))
        .u64(words, OUT)
        .u64(words + 8, IN)
        .u64(words + 16, 1)
        .u64(words + 24, INDEX)
        .u64(words + 24 + 200, 4)
        .u64(words + 24 + 400, 8)
}

#[test]
fn an_index_picks_elements_and_counts_negative_ones_from_the_end() {
    let (index, info) = indexing("index_kernel_impl");
    let mut store = Store::default();
    write(&mut store, IN, I64, &[10.0, 11.0, 12.0, 13.0]);
    write(&mut store, INDEX, I64, &[2.0, 0.0, -1.0]);
    index.run(Params(&indexed(&info, &[8, 0, 8]).0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, I64, 4), [12.0, 10.0, 13.0, 0.0]);
}

#[test]
fn an_index_put_changes_only_what_is_indexed() {
    let (put, info) = indexing("index_put_kernel_impl");
    let mut store = Store::default();
    write(&mut store, IN, I64, &[1.0, 2.0, 3.0]);
    write(&mut store, INDEX, I64, &[3.0, 0.0, 1.0]);
    write(&mut store, OUT, I64, &[7.0; 4]);
    put.run(Params(&indexed(&info, &[0, 8, 8]).0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, I64, 4), [2.0, 3.0, 7.0, 1.0]);
}

#[test]
fn an_index_out_of_bounds_moves_nothing_and_the_output_reads_zero() {
    let (index, info) = indexing("index_kernel_impl");
    let mut store = Store::default();
    write(&mut store, OUT, I64, &[7.0; 3]);
    write(&mut store, INDEX, I64, &[2.0, 0.0, 9.0]);
    let params = indexed(&info, &[8, 0, 8]);
    assert_eq!(index.run(Params(&params.0), &mut store), Err(Skipped::UnknownArgument));
    assert_eq!(read(&store, OUT, I64, 3), [0.0; 3]);
}

#[test]
fn a_gather_takes_the_pointers_from_either_order_of_the_lambda() {
    let text = "void at::native::_cuda_scatter_gather_internal_kernel<false, at::native::OpaqueType<8>, \
                long>::operator()<at::native::TensorAssign>(at::TensorIterator&, long, long, long, \
                at::native::TensorAssign const&)::{lambda(int)#1}";
    let info = kernel(&[(0, 4), (8, 664)]);
    let gather = judge(&name("_scatter_gather_elementwise_kernel", &["128", "8", text]), &info).unwrap();
    for pointers in [8 + 608 + 16, 8 + 608 + 24] {
        let mut store = Store::default();
        write(&mut store, IN, I64, &[10.0, 11.0, 12.0]);
        write(&mut store, INDEX, I64, &[2.0, 1.0]);
        let params = Packed::new(&info)
            .u32(0, 2)
            .set(8, &calculator(&[2], &[&[8, 0, 8]], 3))
            .u64(8 + 608, INDEX)
            .u64(8 + 616, 3)
            .u64(pointers, OUT)
            .u64(pointers + 8, 1)
            .u64(pointers + 24, IN);
        gather.run(Params(&params.0), &mut store).unwrap();
        assert_eq!(read(&store, OUT, I64, 2), [12.0, 11.0]);
    }
}

#[test]
fn a_flip_follows_negative_strides() {
    let text = "void at::native::flip_kernel_impl<at::native::OpaqueType<8> >(at::TensorIterator&)::{lambda(int)#1}";
    let info = kernel(&[(0, 8), (8, 520)]);
    let flip = judge(&name("index_elementwise_kernel", &["128", "4", text]), &info).unwrap();
    let mut store = Store::default();
    write(&mut store, IN, I64, &[1.0, 2.0, 3.0]);
    let shape = calculator(&[3], &[&[(-8i32) as u32, 8]], 2);
    let params = Packed::new(&info).u64(0, 3).set(8, &shape).u64(8 + 504, OUT + 16).u64(8 + 512, IN);
    flip.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, I64, 3), [3.0, 2.0, 1.0]);
}

#[test]
fn whole_slices_are_gathered() {
    let info = kernel(&[(0, 8), (8, 8), (16, 8), (24, 4), (32, 8), (40, 8), (48, 8), (56, 8), (64, 1)]);
    let gather = judge(&name("vectorized_gather_kernel", &["16", "long"]), &info).unwrap();
    let mut store = Store::default();
    write(&mut store, IN, I64, &[1.0, 2.0, 3.0, 4.0]);
    write(&mut store, INDEX, I64, &[1.0, 1.0]);
    let params = Packed::new(&info).u64(0, OUT).u64(8, IN).u64(16, INDEX).u32(24, 2);
    let params = params.u64(32, 16).u64(40, 2).u64(48, 16).u64(56, 16);
    gather.run(Params(&params.0), &mut store).unwrap();
    assert_eq!(read(&store, OUT, I64, 4), [3.0, 4.0, 3.0, 4.0]);
}
