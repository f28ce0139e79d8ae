//! Algorithms: there is one, it needs no workspace, and its options are kept for the caller.
//! It puts nothing on a stream.

use crate::descriptor::{Desc, answer, attributes};
use crate::descriptors::{Layout, Matmul, Preference};
use crate::helper::{Handle, check};
use crate::plan::{Plan, plan};
use ghost_abi::{MaybeOut, Out, OutList, Plain, record};
use ghost_blas::{ComputeType, CublasLt, DataType, Error, Ptr, multiprocessors};

ghost_abi::rows! { CublasLt;
    fn cublasLtMatmulAlgoGetHeuristic(handle: Handle, matmul: Desc<Matmul>, a: Desc<Layout>, b: Desc<Layout>, c: Desc<Layout>, d: Desc<Layout>, preference: Desc<Preference>, requested: i32, results: OutList<Heuristic>, count: Out<i32>) => heuristic;
    fn cublasLtMatmulAlgoGetIds(handle: Handle, compute: ComputeType, scale: DataType, a: DataType, b: DataType, c: DataType, d: DataType, requested: i32, ids: OutList<i32>, count: Out<i32>) => ids;
    fn cublasLtMatmulAlgoInit(handle: Handle, compute: ComputeType, scale: DataType, a: DataType, b: DataType, c: DataType, d: DataType, id: i32, algorithm: Desc<Algorithm>) => init;
    fn cublasLtMatmulAlgoCheck(handle: Handle, matmul: Desc<Matmul>, a: Desc<Layout>, b: Desc<Layout>, c: Desc<Layout>, d: Desc<Layout>, algorithm: Desc<Algorithm>, result: Desc<Heuristic>) => check_algorithm;
    fn cublasLtMatmulAlgoCapGetAttribute(algorithm: Desc<Algorithm>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => capability;
    fn cublasLtMatmulAlgoConfigSetAttribute(algorithm: Desc<Algorithm>, id: i32, value: Ptr<u8>, bytes: usize) => set_option;
    fn cublasLtMatmulAlgoConfigGetAttribute(algorithm: Desc<Algorithm>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => option;
}

/// The number of the one algorithm; any would do.
const ONLY: i32 = 66;

record! {
    /// `cublasLtMatmulAlgo_t`: eight words whose meaning is the library's. Callers copy it bytewise.
    pub struct Algorithm: 64 bytes {
        id: i32,
        tile: u32,
        split_k: i32,
        reduction: u32,
        swizzle: u32,
        custom: u32,
        stages: u32,
        inner_shape: u16,
        cluster_shape: u16,
        spare: [u64; 4],
    }
}
attributes! { Algorithm, 0;
    0: id, 1: tile, 2: split_k, 3: reduction, 4: swizzle, 5: custom, 6: stages, 7: inner_shape, 8: cluster_shape,
}

impl Default for Algorithm {
    fn default() -> Self {
        Algorithm { id: ONLY, split_k: 1, ..Algorithm::zeroed() }
    }
}

record! {
    /// `cublasLtMatmulHeuristicResult_t`.
    #[derive(Default)]
    pub struct Heuristic: 96 bytes {
        algorithm: Algorithm,
        workspace_bytes: u64,
        state: i32,
        waves: f32,
        reserved: [i32; 4],
    }
}
attributes! { Heuristic, 0; }

/// What the algorithm is good for.
fn estimate(matmul: &Matmul, plan: &Plan) -> Heuristic {
    let targeted = u32::try_from(matmul.sm_count_target).unwrap_or(0);
    let available = if targeted > 0 { targeted } else { multiprocessors() };
    Heuristic { waves: plan.waves(available), ..Heuristic::default() }
}

/// Reads the descriptors and plans the product.
pub fn planned(matmul: Desc<Matmul>, layouts: [Desc<Layout>; 4]) -> Result<(Matmul, Plan), Error> {
    let matmul = matmul.load()?;
    let [a, b, c, d] = layouts;
    let layouts = [a.load()?, b.load()?, c.load()?, d.load()?];
    Ok((matmul, plan(&matmul, layouts.each_ref())?))
}

fn heuristic(
    handle: Handle,
    matmul: Desc<Matmul>,
    a: Desc<Layout>,
    b: Desc<Layout>,
    c: Desc<Layout>,
    d: Desc<Layout>,
    preference: Desc<Preference>,
    requested: i32,
    results: OutList<Heuristic>,
    count: Out<i32>,
) -> Result<(), Error> {
    check(handle)?;
    count.set(0)?;
    results.check()?;
    preference.load()?;
    if requested <= 0 {
        return Err(Error::InvalidValue);
    }
    let (matmul, plan) = planned(matmul, [a, b, c, d])?;
    results.fill(1, [estimate(&matmul, &plan)].into_iter())?;
    Ok(count.set(1)?)
}

/// The algorithm multiplies whatever has a price.
fn known(compute: ComputeType, a: DataType) -> Result<(), Error> {
    if !compute.is_known() {
        return Err(Error::InvalidValue);
    }
    let input = a.priced().ok_or(Error::NotSupported)?;
    compute.arithmetic(input).map(|_| ()).ok_or(Error::NotSupported)
}

fn ids(
    handle: Handle,
    compute: ComputeType,
    _scale: DataType,
    a: DataType,
    _b: DataType,
    _c: DataType,
    _d: DataType,
    requested: i32,
    ids: OutList<i32>,
    count: Out<i32>,
) -> Result<(), Error> {
    check(handle)?;
    count.set(0)?;
    if requested <= 0 {
        return Err(Error::InvalidValue);
    }
    known(compute, a)?;
    ids.fill(1, [ONLY].into_iter())?;
    Ok(count.set(1)?)
}

fn init(
    handle: Handle,
    compute: ComputeType,
    _scale: DataType,
    a: DataType,
    _b: DataType,
    _c: DataType,
    _d: DataType,
    id: i32,
    algorithm: Desc<Algorithm>,
) -> Result<(), Error> {
    check(handle)?;
    if id != ONLY {
        return Err(Error::InvalidValue);
    }
    known(compute, a)?;
    algorithm.init(size_of::<Algorithm>(), Algorithm::default())
}

fn check_algorithm(
    handle: Handle,
    matmul: Desc<Matmul>,
    a: Desc<Layout>,
    b: Desc<Layout>,
    c: Desc<Layout>,
    d: Desc<Layout>,
    algorithm: Desc<Algorithm>,
    result: Desc<Heuristic>,
) -> Result<(), Error> {
    check(handle)?;
    if algorithm.load()?.id != ONLY {
        return Err(Error::InvalidValue);
    }
    let (matmul, plan) = planned(matmul, [a, b, c, d])?;
    // The algorithm inside the result may be the one asked about; it stays as it is.
    let kept = result.load()?.algorithm;
    result.init(size_of::<Heuristic>(), Heuristic { algorithm: kept, ..estimate(&matmul, &plan) })
}

/// The value of a capability; the numbers are those of `cublasLtMatmulAlgoCapAttributes_t`.
fn capability(
    algorithm: Desc<Algorithm>,
    id: i32,
    value: OutList<u8>,
    bytes: usize,
    written: MaybeOut<usize>,
) -> Result<(), Error> {
    /// Every pointer mode; every epilogue; alignment of operands in bytes.
    const POINTER_MODES: u32 = 31;
    const EPILOGUES: u32 = 0x3FF;
    const ALIGNED: u32 = 16;
    algorithm.load()?;
    let word: u32 = match id {
        // Strided and pointer-array batches, and a D that is not C.
        3 | 4 | 21 => 1,
        11 => POINTER_MODES,
        12 => EPILOGUES,
        16..=19 => ALIGNED,
        // No split-k, swizzle, triangle, custom option or order, negative ld, emulation or groups; tile and stages
        // "undefined".
        0..=2 | 5..=7 | 10 | 13 | 14 | 22 | 23 => 0,
        15 => return answer(&0_u64.to_ne_bytes(), value, bytes, written),
        _ => return Err(Error::InvalidValue),
    };
    answer(&word.to_ne_bytes(), value, bytes, written)
}

fn set_option(algorithm: Desc<Algorithm>, id: i32, value: Ptr<u8>, bytes: usize) -> Result<(), Error> {
    /// `CUBLASLT_ALGO_CONFIG_ID`, which only `Init` sets.
    const ID: i32 = 0;
    if id == ID {
        return Err(Error::InvalidValue);
    }
    algorithm.set(id, value, bytes)
}

fn option(
    algorithm: Desc<Algorithm>,
    id: i32,
    value: OutList<u8>,
    bytes: usize,
    written: MaybeOut<usize>,
) -> Result<(), Error> {
    algorithm.get(id, value, bytes, written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_kept_but_the_number_is_read_only() {
        let algorithm = Desc::create(Algorithm::default());
        let split = 4_i32.to_ne_bytes();
        // SAFETY: the bytes outlive the calls and are only read.
        let value = unsafe { Ptr::from_raw(split.as_ptr().cast_mut()) };
        assert_eq!(set_option(algorithm, 2, value, 4), Ok(()));
        assert_eq!(set_option(algorithm, 0, value, 4), Err(Error::InvalidValue));
        assert_eq!(set_option(algorithm, 7, value, 4), Err(Error::InvalidValue));
        assert_eq!(algorithm.load().map(|it| (it.id, it.split_k)), Ok((ONLY, 4)));
        assert_eq!(algorithm.destroy(), Ok(()));
    }

    #[test]
    fn types_without_a_product_have_no_algorithm() {
        assert_eq!(known(ComputeType::F32, DataType::R_8F_E4M3), Ok(()));
        assert_eq!(known(ComputeType::F64, DataType::R_16F), Err(Error::NotSupported));
        assert_eq!(known(ComputeType(1), DataType::R_16F), Err(Error::InvalidValue));
    }
}
