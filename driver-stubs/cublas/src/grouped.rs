//! Groups of batched products: shapes in host arrays, one operation for each group.
//! Their plan is `gemm::plan`.

use crate::check::size;
use crate::context::{Context, Handle};
use crate::element::Element;
use crate::gemm::{Layout, Operand, Product, run};
use crate::products::check;
use ghost_abi::Plain;
use ghost_blas::{ComputeType, Cublas, DataType, Error, Ptr};

family! {
    grouped (handle: Handle, transa: Ptr<i32>, transb: Ptr<i32>, m: Ptr<I>, n: Ptr<I>, k: Ptr<I>, alpha: Ptr<T>,
             a: Ptr<*const T>, lda: Ptr<I>, b: Ptr<*const T>, ldb: Ptr<I>, beta: Ptr<T>, c: Ptr<*const T>,
             ldc: Ptr<I>, groups: I, group_sizes: Ptr<I>) {
        f32: cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64;
        f64: cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64;
    }
    grouped_ex (handle: Handle, transa: Ptr<i32>, transb: Ptr<i32>, m: Ptr<I>, n: Ptr<I>, k: Ptr<I>, alpha: Ptr<u8>,
                a: Ptr<u8>, atype: DataType, lda: Ptr<I>, b: Ptr<u8>, btype: DataType, ldb: Ptr<I>, beta: Ptr<u8>,
                c: Ptr<u8>, ctype: DataType, ldc: Ptr<I>, groups: I, group_sizes: Ptr<I>, compute: ComputeType) {
        f32: cublasGemmGroupedBatchedEx cublasGemmGroupedBatchedEx_64;
    }
}

/// The host arrays of a call and its device arrays of pointers.
struct Groups<I> {
    transposed: [Ptr<i32>; 2],
    sizes: [Ptr<I>; 3],
    /// Pointer array, type and leading dimensions of A, B and C.
    matrices: [(Ptr<u8>, DataType, Ptr<I>); 3],
    counts: Ptr<I>,
}

impl<I: Plain + Into<i64>> Groups<I> {
    /// The product of group `index`, whose pointers begin `before` places into the arrays.
    fn product(&self, index: usize, before: u64) -> Result<Product, Error> {
        let at = |list: Ptr<I>| list.load(index).map(Into::into);
        let operand = |(array, kind, ld): (Ptr<u8>, DataType, Ptr<I>)| -> Result<Operand, Error> {
            let address = if array.is_null() { 0 } else { array.address() + before * 8 };
            Ok(Operand { address, kind, ld: at(ld)?, stride: 0 })
        };
        Ok(Product {
            transposed: [self.transposed[0].load(index)?, self.transposed[1].load(index)?],
            sizes: [at(self.sizes[0])?, at(self.sizes[1])?, at(self.sizes[2])?],
            a: operand(self.matrices[0])?,
            b: operand(self.matrices[1])?,
            c: operand(self.matrices[2])?,
            batch: at(self.counts)?,
            layout: Layout::Pointers,
        })
    }

    /// All products; an error in one refuses all.
    fn products(&self, count: u64) -> Result<Vec<Product>, Error> {
        let mut before = 0;
        let each = |index| {
            let product = self.product(index, before)?;
            before += size(product.batch)?;
            Ok(product)
        };
        (0..count as usize).map(each).collect()
    }
}

fn run_all<I: Plain + Into<i64>>(
    context: &Context,
    groups: &Groups<I>,
    count: I,
    compute: ComputeType,
) -> Result<(), Error> {
    let products = groups.products(size(count)?)?;
    products.iter().try_for_each(|product| run(context, product, compute))
}

fn grouped<T: Element, I: Plain + Into<i64>>(
    handle: Handle,
    transa: Ptr<i32>,
    transb: Ptr<i32>,
    m: Ptr<I>,
    n: Ptr<I>,
    k: Ptr<I>,
    alpha: Ptr<T>,
    a: Ptr<*const T>,
    lda: Ptr<I>,
    b: Ptr<*const T>,
    ldb: Ptr<I>,
    beta: Ptr<T>,
    c: Ptr<*const T>,
    ldc: Ptr<I>,
    groups: I,
    group_sizes: Ptr<I>,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let matrices = [(a.bytes(), T::KIND, lda), (b.bytes(), T::KIND, ldb), (c.bytes(), T::KIND, ldc)];
    let all = Groups { transposed: [transa, transb], sizes: [m, n, k], matrices, counts: group_sizes };
    run_all(context, &all, groups, T::COMPUTE)
}

fn grouped_ex<I: Plain + Into<i64>>(
    handle: Handle,
    transa: Ptr<i32>,
    transb: Ptr<i32>,
    m: Ptr<I>,
    n: Ptr<I>,
    k: Ptr<I>,
    alpha: Ptr<u8>,
    a: Ptr<u8>,
    atype: DataType,
    lda: Ptr<I>,
    b: Ptr<u8>,
    btype: DataType,
    ldb: Ptr<I>,
    beta: Ptr<u8>,
    c: Ptr<u8>,
    ctype: DataType,
    ldc: Ptr<I>,
    groups: I,
    group_sizes: Ptr<I>,
    compute: ComputeType,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    check(compute, [atype, btype, ctype])?;
    let matrices = [(a, atype, lda), (b, btype, ldb), (c, ctype, ldc)];
    let all = Groups { transposed: [transa, transb], sizes: [m, n, k], matrices, counts: group_sizes };
    run_all(context, &all, groups, compute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list<T: Copy>(values: &[T]) -> Ptr<T> {
        // SAFETY: leaked, so the list outlives the pointer.
        unsafe { Ptr::from_raw(values.to_vec().leak().as_mut_ptr()) }
    }

    fn groups(counts: &[i32]) -> Groups<i32> {
        // SAFETY: a pointer array is device memory and never followed.
        let array = unsafe { Ptr::from_raw(std::ptr::without_provenance_mut(0x1000)) };
        let matrix = (array, DataType::R_32F, list(&[8, 8]));
        Groups {
            transposed: [list(&[0, 1]), list(&[0, 0])],
            sizes: [list(&[8, 4]), list(&[2, 2]), list(&[3, 3])],
            matrices: [matrix; 3],
            counts: list(counts),
        }
    }

    #[test]
    fn each_group_takes_its_shape_and_its_part_of_the_pointers() {
        let products = groups(&[5, 2]).products(2).expect("good arguments");
        assert_eq!((products[0].sizes, products[0].batch, products[0].c.address), ([8, 2, 3], 5, 0x1000));
        assert_eq!((products[1].sizes, products[1].batch, products[1].c.address), ([4, 2, 3], 2, 0x1000 + 40));
        assert_eq!(products[1].transposed, [1, 0]);
    }

    #[test]
    fn a_negative_group_size_refuses_the_call() {
        assert_eq!(groups(&[5, -2]).products(2).err(), Some(Error::InvalidValue));
    }
}
