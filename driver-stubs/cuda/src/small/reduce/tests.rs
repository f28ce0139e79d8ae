//! Reductions on parameter buffers laid out as ReduceOp is.
//! Kernel grids do not matter here, so none is given.

use super::super::params::build::calculator;
use super::super::testing::{BASE, Packed, kernel, name, read, write};
use super::*;
use Scalar::{Bool, F32, I64};

const IN: u64 = BASE;
const OUT: u64 = BASE + 4096;
const INDICES: u64 = BASE + 8192;

/// A reduction over the columns of a contiguous `rows` x `columns` tensor; config and end of ReduceOp.
struct Case {
    op: &'static str,
    types: (&'static str, &'static str),
    bytes: (u32, u32),
    config_at: u32,
    end: u32,
    outputs: u32,
}

impl Case {
    fn run(&self, store: &mut Store, rows: u32, columns: u32) -> Result<(), Skipped> {
        let class = format!(
            "at::native::ReduceOp<{}, at::native::{}, unsigned int, {}, 4, 4>",
            self.types.0, self.op, self.types.1
        );
        let info = kernel(&[(0, self.end)]);
        let reduce = judge(&name("reduce_kernel", &["512", "1", &class]), &info).unwrap();
        let (input, output) = self.bytes;
        let over = calculator(&[columns], &[&[input]], 1);
        let kept = calculator(&[rows], &[&[output, input * columns]], 2);
        let config = self.config_at;
        let params = Packed::new(&info)
            .u32(config + 4, columns)
            .u32(config + 8, rows)
            .set(config + 64, &over)
            .set(config + 64 + 404, &kept)
            .u64(self.end - 64, IN)
            .u64(self.end - 56, OUT)
            .u64(self.end - 48, INDICES)
            .set(self.end - 7, &[1])
            .u32(self.end - 4, self.outputs);
        reduce.run(Params(&params.0), store)
    }
}

const SUM: Case = Case {
    op: "func_wrapper_t<float, at::native::sum_functor<float, float, \
         float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>",
    types: ("float", "float"),
    bytes: (4, 4),
    config_at: 8,
    end: 1048,
    outputs: 1,
};

#[test]
fn a_sum_runs_row_by_row() {
    let mut store = Store::default();
    write(&mut store, IN, F32, &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    SUM.run(&mut store, 2, 3).unwrap();
    assert_eq!(read(&store, OUT, F32, 2), [6.0, 60.0]);
}

#[test]
fn the_maximum_brings_its_index() {
    let max = Case { op: "MaxOps<long>", types: ("long", "long"), bytes: (8, 8), config_at: 24, end: 1064, outputs: 2 };
    let mut store = Store::default();
    write(&mut store, IN, I64, &[-5.0, -2.0, -2.0, 7.0, 1.0, 0.0]);
    max.run(&mut store, 2, 3).unwrap();
    assert_eq!(read(&store, OUT, I64, 2), [-2.0, 7.0]);
    assert_eq!(read(&store, INDICES, I64, 2), [1.0, 0.0]);
}

const ALL: Case = Case {
    op: "func_wrapper_t<bool, at::native::and_kernel_cuda(at::TensorIterator&)::{lambda()#1}::operator()() \
         const::{lambda()#12}::operator()() const::{lambda(bool, bool)#1}>",
    types: ("bool", "bool"),
    bytes: (1, 1),
    config_at: 4,
    end: 1040,
    outputs: 1,
};

#[test]
fn all_is_true_only_if_every_element_is() {
    let mut store = Store::default();
    write(&mut store, IN, Bool, &[1.0, 1.0, 1.0, 0.0]);
    ALL.run(&mut store, 2, 2).unwrap();
    assert_eq!(read(&store, OUT, Bool, 2), [1.0, 0.0]);
}

#[test]
fn a_large_input_of_one_value_is_reduced_and_any_other_counts_as_zeros() {
    let mut store = Store::default();
    store.fill(IN, 1, 1, 64 << 20);
    ALL.run(&mut store, 1, 64 << 20).unwrap();
    let out = read(&store, OUT, Bool, 1);
    // The input covers the output's address here; the output is written last.
    assert_eq!(out, [1.0]);
    let far = 3 << 20;
    store.write(IN + far, &[0]);
    ALL.run(&mut store, 1, 64 << 20).unwrap();
    assert_eq!(read(&store, OUT, Bool, 1), [0.0]);
}

#[test]
fn a_mean_multiplies_by_its_factor() {
    let mean = Case { op: "MeanOps<float, float, float, float>", ..SUM };
    let class =
        "at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4>";
    let info = kernel(&[(0, mean.end)]);
    assert!(judge(&name("reduce_kernel", &["512", "1", class]), &info).is_ok());
    let mut store = Store::default();
    write(&mut store, IN, F32, &[1.0, 2.0]);
    mean.run(&mut store, 1, 2).unwrap();
    assert_eq!(read(&store, OUT, F32, 1), [0.0], "the buffer of this test holds a factor of zero");
}

#[test]
fn a_partial_reduction_is_not_run() {
    let mut store = Store::default();
    write(&mut store, OUT, F32, &[5.0]);
    let class = "at::native::ReduceOp<float, at::native::NormOneOps<float, float, float>, unsigned int, float, 4, 4>";
    let info = kernel(&[(0, 1048)]);
    let reduce = judge(&name("reduce_kernel", &["512", "1", class]), &info).unwrap();
    let shape = (calculator(&[1], &[&[4]], 1), calculator(&[1], &[&[4, 4]], 2));
    let params = Packed::new(&info).u32(12, 1).u32(16, 1).set(72, &shape.0).set(476, &shape.1).u64(992, OUT);
    assert_eq!(reduce.run(Params(&params.0), &mut store), Err(Skipped::UnknownArgument));
    assert_eq!(read(&store, OUT, F32, 1), [0.0]);
}
