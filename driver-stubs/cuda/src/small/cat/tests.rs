//! Concatenation on parameter buffers laid out as PyTorch's kernels take them.
//! Only the number of inputs is taken from the grid.

use super::super::testing::{BASE, Packed, kernel, name};
use super::*;

const OUT: u64 = BASE + (1 << 20);

fn contiguous() -> (Cat, KernelInfo) {
    let info = kernel(&[(0, 8), (8, 2720), (2728, 32), (2760, 4), (2764, 4)]);
    let arguments = ["at::native::(anonymous namespace)::OpaqueType<(unsigned int)4>", "unsigned int", "2", "128", "1"];
    (judge(&name("CatArrayBatchedCopy_contig", &arguments), &info).unwrap(), info)
}

fn input(packed: Packed, i: u32, address: u64, offset: u32, size: u32, elements: u32) -> Packed {
    let words = 8 + 8 * 128;
    let packed = packed.u64(8 + 8 * i, address).u32(words + 4 * i, offset);
    packed.u32(words + 4 * (128 + i), size).u32(words + 4 * (256 + i), elements)
}

#[test]
fn two_matrices_are_joined_along_their_columns() {
    let (cat, info) = contiguous();
    let mut store = Store::default();
    let words = |values: &[u32]| values.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    store.write(BASE, &words(&[1, 2, 3, 4]));
    store.write(BASE + 512, &words(&[9, 8]));
    // Output 2 x 3, strides 3 and 1, along dimension 1.
    let packed = Packed::new(&info).u64(0, OUT).u32(2728, 2).u32(2732, 3).u32(2744, 3).u32(2748, 1);
    let packed = packed.u32(2760, 1).u32(2764, 1);
    let packed = input(input(packed, 0, BASE, 0, 2, 4), 1, BASE + 512, 2, 1, 2);
    let geometry = Geometry { grid: [1, 2, 1], block: [128, 1, 1], shared_bytes: 0 };
    cat.run(&geometry, Params(&packed.0), &mut store).unwrap();
    let mut out = [0; 24];
    store.read(OUT, &mut out);
    assert_eq!(out.to_vec(), words(&[1, 2, 9, 3, 4, 8]));
}

#[test]
fn too_much_is_not_joined_and_reads_zero() {
    let (cat, info) = contiguous();
    let mut store = Store::default();
    store.write(OUT, &[1; 8]);
    let packed = input(Packed::new(&info).u64(0, OUT), 0, BASE, 0, 1 << 20, 1 << 20);
    let geometry = Geometry { grid: [1, 1, 1], ..Geometry::default() };
    assert_eq!(cat.run(&geometry, Params(&packed.0), &mut store), Err(Skipped::TooLarge));
    let mut out = [1; 8];
    store.read(OUT, &mut out);
    assert_eq!(out, [0; 8]);
}
