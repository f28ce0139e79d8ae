//! Algorithm choices and plans.
//! There is one algorithm; its settings are kept for the caller.

use crate::descriptor::{load, store};
use crate::records::{Algorithm, Handle, Marked, Matmul, Plan, handle as live, read, read_mut};
use crate::{CusparseLt, Error};
use ghost_abi::{In, InOut, Out};
use ghost_blas::Ptr;

ghost_abi::rows! { CusparseLt;
    fn cusparseLtMatmulAlgSelectionInit(handle: In<Handle>, algorithm: Out<Algorithm>, matmul: In<Matmul>, kind: i32)
        => select;
    fn cusparseLtMatmulAlgSelectionDestroy(algorithm: InOut<Algorithm>) => destroy_selection;
    fn cusparseLtMatmulAlgSetAttribute(handle: In<Handle>, algorithm: InOut<Algorithm>, attribute: i32, data: Ptr<u8>,
        bytes: usize) => set_attribute;
    fn cusparseLtMatmulAlgGetAttribute(handle: In<Handle>, algorithm: In<Algorithm>, attribute: i32, data: Ptr<u8>,
        bytes: usize) => attribute;
    fn cusparseLtMatmulGetWorkspace(handle: In<Handle>, plan: In<Plan>, bytes: Out<usize>) => workspace;
    fn cusparseLtMatmulPlanInit(handle: In<Handle>, plan: Out<Plan>, matmul: In<Matmul>, algorithm: In<Algorithm>)
        => init;
    fn cusparseLtMatmulPlanDestroy(plan: InOut<Plan>) => destroy;
}

/// Configurations a caller may try; they cost the same.
const CONFIGURATIONS: i32 = 1;

/// Trials of a search unless the caller says otherwise.
const ITERATIONS: i32 = 5;

fn select(handle: In<Handle>, algorithm: Out<Algorithm>, matmul: In<Matmul>, kind: i32) -> Result<(), Error> {
    live(&handle)?;
    read(&matmul)?;
    if kind != 0 {
        return Err(Error::InvalidValue);
    }
    let magic = Algorithm::MAGIC;
    let chosen = Algorithm { magic, config: 0, iterations: ITERATIONS, split_k: 1, mode: 0, buffers: 0, unused: 0 };
    Ok(algorithm.set(chosen)?)
}

fn destroy_selection(algorithm: InOut<Algorithm>) -> Result<(), Error> {
    let found = read_mut(&algorithm)?;
    Ok(algorithm.set(Algorithm { magic: 0, ..found })?)
}

fn set_attribute(
    handle: In<Handle>,
    algorithm: InOut<Algorithm>,
    attribute: i32,
    data: Ptr<u8>,
    bytes: usize,
) -> Result<(), Error> {
    live(&handle)?;
    let mut found = read_mut(&algorithm)?;
    let value = load(data, bytes, false)? as i32;
    match attribute {
        0 if (0..CONFIGURATIONS).contains(&value) => found.config = value,
        2 if value > 0 => found.iterations = value,
        3 if value > 0 => found.split_k = value,
        4 if (0..=6).contains(&value) => found.mode = value,
        5 if value >= 0 => found.buffers = value,
        _ => return Err(Error::InvalidValue),
    }
    Ok(algorithm.set(found)?)
}

fn attribute(
    handle: In<Handle>,
    algorithm: In<Algorithm>,
    attribute: i32,
    data: Ptr<u8>,
    bytes: usize,
) -> Result<(), Error> {
    live(&handle)?;
    let found = read(&algorithm)?;
    let values = [found.config, CONFIGURATIONS, found.iterations, found.split_k, found.mode, found.buffers];
    let value = usize::try_from(attribute).ok().and_then(|index| values.get(index)).ok_or(Error::InvalidValue)?;
    store(data, bytes, false, *value as u64)
}

/// Split k adds its parts in scratch memory.
fn workspace(handle: In<Handle>, plan: In<Plan>, bytes: Out<usize>) -> Result<(), Error> {
    live(&handle)?;
    let Plan { matmul, algorithm, .. } = read(&plan)?;
    let parts = if algorithm.split_k > 1 { algorithm.split_k as u64 } else { 0 };
    Ok(bytes.set(matmul.d.bytes().saturating_mul(parts) as usize)?)
}

fn init(handle: In<Handle>, plan: Out<Plan>, matmul: In<Matmul>, algorithm: In<Algorithm>) -> Result<(), Error> {
    live(&handle)?;
    let (matmul, algorithm) = (read(&matmul)?, read(&algorithm)?);
    Ok(plan.set(Plan { magic: Plan::MAGIC, matmul, algorithm })?)
}

fn destroy(plan: InOut<Plan>) -> Result<(), Error> {
    let found = read_mut(&plan)?;
    Ok(plan.set(Plan { magic: 0, ..found })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::tests::{handle, lent, matrix, product};
    use ghost_abi::ask;

    #[test]
    fn a_plan_carries_its_product_and_says_its_workspace() {
        let product = product(matrix(64, 32, 1), matrix(32, 48, 0), matrix(64, 48, 0)).expect("a product");
        let algorithm = ask(|out| select(handle(), out, lent(product), 0)).expect("an algorithm");
        let plan = ask(|out| init(handle(), out, lent(product), lent(algorithm))).expect("a plan");
        assert_eq!(plan.matmul.b.cols, 48);
        assert_eq!(ask(|out| workspace(handle(), lent(plan), out)), Ok(0));
        let split = Plan { algorithm: Algorithm { split_k: 2, ..algorithm }, ..plan };
        assert_eq!(ask(|out| workspace(handle(), lent(split), out)), Ok(64 * 48 * 2 * 2));
        let dead = lent(Algorithm { magic: 0, ..algorithm });
        assert!(ask(|out| init(handle(), out, lent(product), dead)).is_err());
    }
}
