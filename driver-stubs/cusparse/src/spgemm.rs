//! Products of two sparse matrices, in their steps.
//! The result has as many elements as two patterns give that know nothing of each other; offsets, indices and values
//! read zero.

use crate::context::{Context, Handle, SpMat, Spgemm, change, context, end, give, read, transposed};
use crate::matrix::set_nnz;
use crate::work::{product, range, run};
use crate::{Cusparse, Error};
use ghost_abi::{InOut, MaybeOut, Out};
use ghost_blas::{DataType, Of, Ptr};

ghost_abi::rows! { Cusparse;
    fn cusparseSpGEMM_createDescr(descriptor: Out<Of<Spgemm>>) => create;
    fn cusparseSpGEMM_destroyDescr(descriptor: Of<Spgemm>) => destroy;
    fn cusparseSpGEMM_getNumProducts(descriptor: Of<Spgemm>, products: Out<i64>) => products;
    fn cusparseSpGEMM_workEstimation(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<SpMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, descriptor: Of<Spgemm>, bytes: InOut<usize>,
        buffer: Ptr<u8>) => estimate;
    fn cusparseSpGEMM_estimateMemory(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<SpMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, descriptor: Of<Spgemm>, fraction: f32,
        bytes3: MaybeOut<usize>, buffer: Ptr<u8>, bytes2: MaybeOut<usize>) => estimate_memory;
    fn cusparseSpGEMM_compute(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<SpMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, descriptor: Of<Spgemm>, bytes: InOut<usize>,
        buffer: Ptr<u8>) => compute;
    fn cusparseSpGEMM_copy(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<SpMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, descriptor: Of<Spgemm>) => copy;
    fn cusparseSpGEMMreuse_workEstimation(handle: Handle, opa: i32, opb: i32, a: Of<SpMat>, b: Of<SpMat>, c: Of<SpMat>,
        algorithm: i32, descriptor: Of<Spgemm>, bytes: InOut<usize>, buffer: Ptr<u8>) => reuse_estimate;
    fn cusparseSpGEMMreuse_nnz(handle: Handle, opa: i32, opb: i32, a: Of<SpMat>, b: Of<SpMat>, c: Of<SpMat>,
        algorithm: i32, descriptor: Of<Spgemm>, bytes2: InOut<usize>, buffer2: Ptr<u8>, bytes3: InOut<usize>,
        buffer3: Ptr<u8>, bytes4: InOut<usize>, buffer4: Ptr<u8>) => reuse_nnz;
    fn cusparseSpGEMMreuse_copy(handle: Handle, opa: i32, opb: i32, a: Of<SpMat>, b: Of<SpMat>, c: Of<SpMat>,
        algorithm: i32, descriptor: Of<Spgemm>, bytes: InOut<usize>, buffer: Ptr<u8>) => reuse_copy;
    fn cusparseSpGEMMreuse_compute(handle: Handle, opa: i32, opb: i32, alpha: Ptr<u8>, a: Of<SpMat>, b: Of<SpMat>,
        beta: Ptr<u8>, c: Of<SpMat>, compute: DataType, algorithm: i32, descriptor: Of<Spgemm>) => reuse_compute;
}

/// A checked product.
struct Product {
    context: Context,
    a: SpMat,
    b: SpMat,
    c: SpMat,
    /// m, k, n.
    shape: [u64; 3],
}

impl Product {
    fn of(
        handle: Handle,
        [opa, opb]: [i32; 2],
        [a, b, c]: [Of<SpMat>; 3],
        descriptor: Of<Spgemm>,
    ) -> Result<Product, Error> {
        let context = context(handle)?;
        read(descriptor)?;
        let (a, b, c) = (read(a)?, read(b)?, read(c)?);
        let ([m, k], [inner, n]) = (a.shape(transposed(opa)?), b.shape(transposed(opb)?));
        if k != inner || c.shape(false) != [m, n] {
            return Err(Error::InvalidValue);
        }
        Ok(Product { context, a, b, c, shape: [m, k, n] })
    }

    /// Elements of the result.
    fn nnz(&self) -> u64 {
        product(self.shape, self.a.nnz.max(0) as u64, self.b.nnz.max(0) as u64)
    }

    /// Products of elements: each of A meets the elements of a row of B.
    fn products(&self) -> u64 {
        let row = self.b.nnz.max(0) as f64 / self.shape[1].max(1) as f64;
        (self.a.nnz.max(0) as f64 * row).round() as u64
    }

    /// An element with its column.
    fn element_bytes(&self) -> u64 {
        self.c.kind.bytes(1) + 4
    }

    /// Scratch: every product before those of one place are added.
    fn scratch(&self) -> u64 {
        self.products().saturating_mul(self.element_bytes())
    }

    /// The numbers: gathers a row of B for each element of A, and sorts or hashes what comes out once.
    fn run(&self, outputs: &[Option<ghost_table::Range>]) -> Result<(), Error> {
        let gathered = self.scratch();
        let written = self.nnz().saturating_mul(self.element_bytes());
        let cost = [self.a.bytes().saturating_add(gathered), gathered.saturating_add(written), 2 * self.products()];
        run(&self.context, c"cusparse_spgemm", self.c.kind, cost, outputs)
    }

    /// What of C is written: offsets, columns and values as far as they have places.
    fn outputs(&self) -> [Option<ghost_table::Range>; 3] {
        let [offsets, columns, values] = self.c.pointers;
        let nnz = self.c.nnz.max(0) as u64;
        [range(offsets, (self.shape[0] + 1) * 4), range(columns, nnz * 4), range(values, self.c.kind.bytes(nnz))]
    }
}

fn create(descriptor: Out<Of<Spgemm>>) -> Result<(), Error> {
    give(&descriptor, Spgemm::default())
}

fn destroy(descriptor: Of<Spgemm>) -> Result<(), Error> {
    end(descriptor)
}

fn products(descriptor: Of<Spgemm>, products: Out<i64>) -> Result<(), Error> {
    Ok(products.set(read(descriptor)?.products)?)
}

/// Without a buffer it says how many bytes are needed; with one it counts the products.
fn estimate(
    handle: Handle,
    opa: i32,
    opb: i32,
    _alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<SpMat>,
    _beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    algorithm: i32,
    descriptor: Of<Spgemm>,
    bytes: InOut<usize>,
    buffer: Ptr<u8>,
) -> Result<(), Error> {
    reuse_estimate(handle, opa, opb, a, b, c, algorithm, descriptor, bytes, buffer)
}

fn estimate_memory(
    handle: Handle,
    opa: i32,
    opb: i32,
    _alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<SpMat>,
    _beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
    fraction: f32,
    bytes3: MaybeOut<usize>,
    _buffer: Ptr<u8>,
    bytes2: MaybeOut<usize>,
) -> Result<(), Error> {
    if !(fraction > 0.0 && fraction <= 1.0) {
        return Err(Error::InvalidValue);
    }
    let scratch = Product::of(handle, [opa, opb], [a, b, c], descriptor)?.scratch().max(1);
    bytes3.set((scratch as f64 * f64::from(fraction)) as usize);
    bytes2.set(scratch as usize);
    Ok(())
}

fn compute(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<SpMat>,
    beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
    bytes: InOut<usize>,
    buffer: Ptr<u8>,
) -> Result<(), Error> {
    alpha.check().and(beta.check())?;
    let product = Product::of(handle, [opa, opb], [a, b, c], descriptor)?;
    if buffer.is_null() {
        return Ok(bytes.set(product.scratch().max(1) as usize)?);
    }
    product.run(&[])?;
    set_nnz(c, product.nnz())
}

fn copy(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<SpMat>,
    beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
) -> Result<(), Error> {
    alpha.check().and(beta.check())?;
    let product = Product::of(handle, [opa, opb], [a, b, c], descriptor)?;
    let bytes = product.c.bytes();
    run(&product.context, c"cusparse_spgemm_copy", product.c.kind, [bytes, bytes, 0], &product.outputs())
}

fn reuse_estimate(
    handle: Handle,
    opa: i32,
    opb: i32,
    a: Of<SpMat>,
    b: Of<SpMat>,
    c: Of<SpMat>,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
    bytes: InOut<usize>,
    buffer: Ptr<u8>,
) -> Result<(), Error> {
    let product = Product::of(handle, [opa, opb], [a, b, c], descriptor)?;
    if buffer.is_null() {
        return Ok(bytes.set((product.shape[0].max(1) * 8) as usize)?);
    }
    let count = i64::try_from(product.products()).unwrap_or(i64::MAX);
    change(descriptor, |descriptor| descriptor.products = count)?;
    let (read, written) = (product.a.bytes(), product.shape[0] * 8);
    run(&product.context, c"cusparse_spgemm_estimate", product.c.kind, [read, written, 0], &[])
}

fn reuse_nnz(
    handle: Handle,
    opa: i32,
    opb: i32,
    a: Of<SpMat>,
    b: Of<SpMat>,
    c: Of<SpMat>,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
    bytes2: InOut<usize>,
    buffer2: Ptr<u8>,
    bytes3: InOut<usize>,
    buffer3: Ptr<u8>,
    bytes4: InOut<usize>,
    buffer4: Ptr<u8>,
) -> Result<(), Error> {
    let product = Product::of(handle, [opa, opb], [a, b, c], descriptor)?;
    if buffer2.is_null() || buffer3.is_null() || buffer4.is_null() {
        let needed = product.scratch().max(1) as usize;
        bytes2.set(needed)?;
        bytes3.set(needed)?;
        return Ok(bytes4.set(needed)?);
    }
    product.run(&[])?;
    set_nnz(c, product.nnz())
}

fn reuse_copy(
    handle: Handle,
    opa: i32,
    opb: i32,
    a: Of<SpMat>,
    b: Of<SpMat>,
    c: Of<SpMat>,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
    bytes: InOut<usize>,
    buffer: Ptr<u8>,
) -> Result<(), Error> {
    let product = Product::of(handle, [opa, opb], [a, b, c], descriptor)?;
    if buffer.is_null() {
        return Ok(bytes.set(product.scratch().max(1) as usize)?);
    }
    let moved = product.c.bytes();
    run(&product.context, c"cusparse_spgemm_copy", product.c.kind, [moved, moved, 0], &product.outputs())
}

fn reuse_compute(
    handle: Handle,
    opa: i32,
    opb: i32,
    alpha: Ptr<u8>,
    a: Of<SpMat>,
    b: Of<SpMat>,
    beta: Ptr<u8>,
    c: Of<SpMat>,
    _compute: DataType,
    _algorithm: i32,
    descriptor: Of<Spgemm>,
) -> Result<(), Error> {
    alpha.check().and(beta.check())?;
    let product = Product::of(handle, [opa, opb], [a, b, c], descriptor)?;
    product.run(&product.outputs()[2..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::tests::csr;
    use ghost_abi::ask;

    #[test]
    fn a_product_knows_its_shape_and_elements() {
        let handle = Of::create(Context::default());
        let descriptor = ask(create).expect("a descriptor");
        let [a, b, c] = [csr(10, 20, 200), csr(20, 30, 600), csr(10, 30, 0)].map(|matrix| matrix.expect("a matrix"));
        let product = Product::of(handle, [0, 0], [a, b, c], descriptor).expect("a product");
        assert_eq!((product.shape, product.nnz(), product.products()), ([10, 20, 30], 300, 200 * 30));
        assert!(Product::of(handle, [1, 0], [a, b, c], descriptor).is_err());
        assert!(Product::of(handle, [0, 0], [a, b, c], Of::null()).is_err());
        assert_eq!(ask(|out| products(descriptor, out)), Ok(0));
    }
}
