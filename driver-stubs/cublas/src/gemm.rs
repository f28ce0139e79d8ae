//! Products of one matrix pair, and how arguments become a plan.
//! Planning is pure: it follows no pointer and needs no driver.

use crate::check::{leading, size, transposed};
use crate::context::{Context, Handle};
use crate::element::{Complex32, Complex64, Element, Half};
use ghost_blas::{ComputeType, Cublas, DataType, Error, Gemm, Matrix, Ptr, first_pointers};

family! {
    gemm (handle: Handle, transa: i32, transb: i32, m: I, n: I, k: I, alpha: Ptr<T>, a: Ptr<T>, lda: I,
          b: Ptr<T>, ldb: I, beta: Ptr<T>, c: Ptr<T>, ldc: I) {
        f32: cublasSgemm_v2 cublasSgemm_v2_64;
        f64: cublasDgemm_v2 cublasDgemm_v2_64;
        Complex32: cublasCgemm_v2 cublasCgemm_v2_64;
        Complex64: cublasZgemm_v2 cublasZgemm_v2_64;
        Half: cublasHgemm cublasHgemm_64;
        Complex32: cublasCgemm3m cublasCgemm3m_64;
        Complex64: cublasZgemm3m cublasZgemm3m_64;
    }
}

/// One of the three matrices as C names it.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Of the matrix, or of the array of pointers to matrices.
    pub address: u64,
    pub kind: DataType,
    pub ld: i64,
    /// Elements to the next matrix of a strided batch.
    pub stride: i64,
}

impl Operand {
    /// A matrix of typed elements.
    pub fn of<T: Element>(matrix: Ptr<T>, ld: impl Into<i64>) -> Operand {
        Operand::at(matrix.bytes(), T::KIND, ld)
    }

    /// A matrix whose type is an argument.
    pub fn at(matrix: Ptr<u8>, kind: DataType, ld: impl Into<i64>) -> Operand {
        Operand { address: matrix.address(), kind, ld: ld.into(), stride: 0 }
    }

    /// The same, repeated `stride` elements apart.
    pub fn every(self, stride: i64) -> Operand {
        Operand { stride, ..self }
    }
}

/// The arguments of a product, as C passed them.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub transposed: [i32; 2],
    /// m, n, k.
    pub sizes: [i64; 3],
    pub a: Operand,
    pub b: Operand,
    pub c: Operand,
    pub batch: i64,
    pub layout: Layout,
}

/// What an operand's address points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A matrix, or several a stride apart.
    Strided,
    /// An array in device memory with a pointer for each matrix.
    Pointers,
}

/// Checks the arguments and says what is to be done. An empty product needs no matrices.
pub fn plan(product: &Product, compute: ComputeType) -> Result<Gemm, Error> {
    let Product { sizes, a, b, c, .. } = product;
    let [m, n, k] = [size(sizes[0])?, size(sizes[1])?, size(sizes[2])?];
    let batch = size(product.batch)?;
    let [ta, tb] = [transposed(product.transposed[0])?, transposed(product.transposed[1])?];
    leading(a.ld, if ta { k } else { m })?;
    leading(b.ld, if tb { n } else { k })?;
    let ldc = leading(c.ld, m)?;
    let is_empty = m == 0 || n == 0 || batch == 0;
    let is_missing = c.address == 0 || (k > 0 && (a.address == 0 || b.address == 0));
    if !is_empty && is_missing {
        return Err(Error::InvalidValue);
    }
    let input = a.kind.priced().ok_or(Error::NotSupported)?;
    let arithmetic = compute.arithmetic(input).ok_or(Error::NotSupported)?;
    let address = if product.layout == Layout::Strided { c.address } else { 0 };
    let output = Matrix { address, kind: c.kind, minor: m, major: n, ld: ldc, batch, stride: c.stride };
    Ok(Gemm { m, n, k, batch, input, arithmetic, output })
}

/// Plans a product and puts it on the handle's stream. Results behind an array of pointers are known only as far as
/// the array's bytes are kept, and four at most.
pub fn run(context: &Context, product: &Product, compute: ComputeType) -> Result<(), Error> {
    let gemm = plan(product, context.effective(compute))?;
    let Some(mut operation) = gemm.operation() else { return Ok(()) };
    if product.layout == Layout::Pointers {
        for address in first_pointers(product.c.address, gemm.batch) {
            if let Some(range) = (Matrix { address, batch: 1, stride: 0, ..gemm.output }).range() {
                operation = operation.writes(range.address, range.bytes);
            }
        }
    }
    context.run(Some(operation))
}

fn gemm<T: Element, I: Into<i64>>(
    handle: Handle,
    transa: i32,
    transb: i32,
    m: I,
    n: I,
    k: I,
    alpha: Ptr<T>,
    a: Ptr<T>,
    lda: I,
    b: Ptr<T>,
    ldb: I,
    beta: Ptr<T>,
    c: Ptr<T>,
    ldc: I,
) -> Result<(), Error> {
    let context = Context::of(handle)?;
    alpha.check().and(beta.check())?;
    let product = Product {
        transposed: [transa, transb],
        sizes: [m.into(), n.into(), k.into()],
        a: Operand::of(a, lda),
        b: Operand::of(b, ldb),
        c: Operand::of(c, ldc),
        batch: 1,
        layout: Layout::Strided,
    };
    run(context, &product, T::COMPUTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_table::{Kind, Type};

    fn operand(address: u64, ld: i64) -> Operand {
        Operand { address, kind: DataType::R_32F, ld, stride: 0 }
    }

    fn product() -> Product {
        Product {
            transposed: [0, 1],
            sizes: [8, 4, 16],
            a: operand(0x1000, 8),
            b: operand(0x2000, 4),
            c: operand(0x3000, 10),
            batch: 1,
            layout: Layout::Strided,
        }
    }

    #[test]
    fn a_product_is_planned_with_its_shape_and_result() {
        let gemm = plan(&product(), ComputeType::F32_FAST_TF32).expect("good arguments");
        assert_eq!((gemm.m, gemm.n, gemm.k, gemm.batch), (8, 4, 16, 1));
        assert_eq!((gemm.input, gemm.arithmetic), (Type::F32, Type::Tf32));
        let operation = gemm.operation().expect("work");
        assert_eq!((operation.kind, operation.compute), (Kind::Gemm as u32, Type::Tf32 as u32));
        assert_eq!((operation.outputs[0].address, operation.outputs[0].bytes), (0x3000, (3 * 10 + 8) * 4));
    }

    #[test]
    fn a_leading_dimension_below_its_run_is_refused() {
        let short_a = Product { a: operand(0x1000, 7), ..product() };
        let short_b = Product { b: operand(0x2000, 3), ..product() };
        let short_c = Product { c: operand(0x3000, 7), ..product() };
        for bad in [short_a, short_b, short_c] {
            assert_eq!(plan(&bad, ComputeType::F32), Err(Error::InvalidValue));
        }
        let transposed = Product { transposed: [1, 1], a: operand(0x1000, 15), ..product() };
        assert_eq!(plan(&transposed, ComputeType::F32), Err(Error::InvalidValue));
    }

    #[test]
    fn negative_sizes_bad_transposes_and_missing_matrices_are_refused() {
        let bad = [
            Product { sizes: [-1, 4, 16], ..product() },
            Product { transposed: [5, 0], ..product() },
            Product { batch: -1, ..product() },
            Product { a: operand(0, 8), ..product() },
            Product { c: operand(0, 10), ..product() },
        ];
        for bad in bad {
            assert_eq!(plan(&bad, ComputeType::F32), Err(Error::InvalidValue), "{bad:?}");
        }
    }

    #[test]
    fn an_empty_product_needs_no_matrices() {
        let empty = Product { sizes: [0, 4, 16], a: operand(0, 8), c: operand(0, 10), ..product() };
        assert!(plan(&empty, ComputeType::F32).expect("allowed").operation().is_none());
        let no_depth = Product { sizes: [8, 4, 0], a: operand(0, 8), b: operand(0, 4), ..product() };
        assert!(plan(&no_depth, ComputeType::F32).expect("allowed").operation().is_some());
    }

    #[test]
    fn a_compute_type_that_cannot_multiply_the_operands_is_not_supported() {
        assert_eq!(plan(&product(), ComputeType::F16), Err(Error::NotSupported));
    }

    #[test]
    fn a_null_handle_comes_before_bad_arguments() {
        // SAFETY: null is never followed.
        let null = unsafe { Ptr::<f32>::from_raw(std::ptr::null_mut()) };
        let answer = gemm(Handle::null(), 9, 9, -1, -1, -1, null, null, 0, null, 0, null, null, 0);
        assert_eq!(answer, Err(Error::NotInitialized));
        let handle = Handle::of(Context::create());
        let answer = gemm(handle, 0, 0, 1, 1, 1, null, null, 1, null, 1, null, null, 1);
        assert_eq!(answer, Err(Error::InvalidValue));
    }
}
