//! Kernels by their real mangled names, from judgement to bytes.
//! Layouts are tested beside each frame.

use super::testing::{BASE, Packed, kernel, read, write};
use super::*;
use scalar::Scalar::F32;

const FILL: &str =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0EEEviT0_T1_";

#[test]
fn a_kernel_of_the_table_runs_and_is_counted() {
    let mut info = kernel(&[(0, 4), (4, 4), (8, 8)]);
    info.name = FILL.to_owned();
    let effect = judge(&info);
    assert!(effect.runs());
    let mut store = Store::default();
    let params = Packed::new(&info).u32(0, 2).set(4, &1.5f32.to_le_bytes()).u64(8, BASE);
    apply(&effect, &Geometry::default(), &params.0, &mut store);
    assert_eq!(read(&store, BASE, F32, 3), [1.5, 1.5, 0.0]);
    assert_eq!(store.counters().ran, 1);
}

#[test]
fn a_kernel_nobody_knows_makes_its_outputs_zero_and_is_counted() {
    let mut info = kernel(&[(0, 8), (8, 8)]);
    info.name = "_Z6mysterPfPKf".to_owned();
    let effect = judge(&info);
    let mut store = Store::default();
    write(&mut store, BASE, F32, &[1.0]);
    write(&mut store, BASE + 512, F32, &[2.0]);
    let params = Packed::new(&info).u64(0, BASE).u64(8, BASE + 512);
    apply(&effect, &Geometry::default(), &params.0, &mut store);
    assert_eq!(read(&store, BASE, F32, 1), [0.0]);
    assert_eq!(read(&store, BASE + 512, F32, 1), [2.0]);
    assert_eq!(store.counters().not_in_table, 1);
}

#[test]
fn a_launch_without_readable_parameters_does_no_harm() {
    let mut info = kernel(&[(0, 4), (4, 4), (8, 8)]);
    info.name = FILL.to_owned();
    let mut store = Store::default();
    apply(&judge(&info), &Geometry::default(), &[], &mut store);
    assert_eq!(store.counters().no_parameters, 1);
}
