//! A LAPACK-like routine as the kernels it launches: steps that wait for each other, and products between them.
//! It checks no argument.

use crate::Error;
use crate::context::Context;
use ghost_blas::{DataType, kernel, submit};
use ghost_table::{Kind, Operation, Range, Type};
use std::ffi::CStr;

/// Columns a blocked factorisation works on before it updates the rest.
const PANEL: u64 = 64;

/// Columns a Cholesky factorisation finishes in the time of a launch: they follow each other inside one block.
pub const CHOLESKY_COLUMNS: u64 = 4;

/// Calls of BLAS 1 and 2 a column of `latrd`, `labrd` and `lahr2` takes.
pub const TRIDIAGONAL_CALLS: u64 = 8;
pub const BIDIAGONAL_CALLS: u64 = 12;
pub const HESSENBERG_CALLS: u64 = 6;

/// Stretches of memory one operation names.
const MOST_OUTPUTS: usize = 4;

/// Most launches of one call; larger problems do more in each.
const MOST_STEPS: u64 = 8192;

/// One call's work for one problem, and how many problems run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub name: &'static CStr,
    pub kind: DataType,
    /// Launches that follow each other.
    pub steps: u64,
    /// Elements all steps read, and as many they write.
    pub elements: u64,
    /// Operations of all steps.
    pub flops: u64,
    /// m, n, k of the products of matrices; any 0 = none.
    pub product: [u64; 3],
    pub batch: u64,
}

impl Work {
    /// A blocked, one-sided routine on m x n: a panel a step, most operations in products.
    pub fn blocked(name: &'static CStr, kind: DataType, [m, n]: [u64; 2], flops: u64) -> Work {
        let short = m.min(n);
        let panel_flops = m.saturating_mul(short).saturating_mul(PANEL).min(flops);
        let area = m.saturating_mul(n);
        let depth = (flops - panel_flops) / (2 * area).max(1);
        let steps = short.div_ceil(PANEL).max(1);
        Work { name, kind, steps, elements: area, flops: panel_flops, product: [m, n, depth], batch: 1 }
    }

    /// Waits for the last one every so many columns instead of once a panel: a pivot or a norm is needed by the whole
    /// grid before the next column can start.
    pub fn waiting_every(self, columns: u64) -> Work {
        let [m, n, _] = self.product;
        Work { steps: m.min(n).div_ceil(columns).max(1), ..self }
    }

    /// A two-sided reduction of m x n: half of `reduction` reads all that is left for each column, the rest of `flops`
    /// is done in products. `reads` and `calls` are how often a column does the former, and how many calls of BLAS 1
    /// and 2 that wait for each other a column takes in LAPACK.
    pub fn two_sided(
        name: &'static CStr,
        kind: DataType,
        [m, n]: [u64; 2],
        [reads, calls]: [u64; 2],
        [reduction, flops]: [u64; 2],
    ) -> Work {
        let short = m.min(n);
        let area = m.saturating_mul(n);
        let step_flops = reduction / 2;
        let depth = flops.saturating_sub(step_flops) / (2 * area).max(1);
        let elements = area.saturating_mul(short).saturating_mul(reads) / 3;
        let steps = short.saturating_mul(calls).max(1);
        Work { name, kind, steps, elements, flops: step_flops, product: [m, n, depth], batch: 1 }
    }

    /// Jacobi sweeps over m x n: rounds of rotations, each over all columns in pairs.
    pub fn sweeps(name: &'static CStr, kind: DataType, [m, n]: [u64; 2], count: u64, flops: u64) -> Work {
        let elements = m.saturating_mul(n).saturating_mul(n.max(1)).saturating_mul(count);
        Work { name, kind, steps: (n.max(2) - 1).saturating_mul(count), elements, flops, product: [0; 3], batch: 1 }
    }

    /// As often side by side.
    pub fn times(self, batch: u64) -> Work {
        Work { batch, ..self }
    }

    /// The launches.
    fn operations(&self) -> Vec<Operation> {
        let all = |of_one: u64| of_one.saturating_mul(self.batch);
        let launches = self.steps.clamp(1, MOST_STEPS);
        let bytes = self.kind.bytes(all(self.elements)) / launches;
        let flops = all(self.flops).saturating_mul(if is_complex(self.kind) { 4 } else { 1 }) / launches;
        let step = kernel(self.name, self.kind, [bytes, bytes, flops]);
        let product = (!self.product.contains(&0)).then(|| self.products());
        product.into_iter().chain((0..launches).map(|_| step)).collect()
    }

    fn products(&self) -> Operation {
        let [m, n, k] = self.product;
        let priced = self.kind.priced().unwrap_or(Type::F32);
        Operation::new(Kind::Gemm, priced, priced, &[m, n, k, self.batch]).named(self.name)
    }

    /// Puts it on a context's stream; afterwards `outputs` read zero. An operation names four of them at most.
    pub fn run(&self, context: &Context, outputs: &[Option<Range>]) -> Result<(), Error> {
        if self.batch == 0 || self.elements == 0 {
            return Ok(());
        }
        let mut operations = self.operations();
        let ranges: Vec<Range> = outputs.iter().copied().flatten().collect();
        for (operation, group) in operations.iter_mut().rev().zip(ranges.chunks(MOST_OUTPUTS)) {
            *operation = group.iter().fold(*operation, |operation, range| operation.writes(range.address, range.bytes));
        }
        operations.iter().try_for_each(|operation| Ok(submit(context.stream, operation)?))
    }
}

fn is_complex(kind: DataType) -> bool {
    kind == DataType::C_32F || kind == DataType::C_64F
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flops;

    #[test]
    fn a_large_factorisation_is_mostly_products() {
        let n = 4096;
        let work = Work::blocked(c"test", DataType::R_32F, [n, n], flops::getrf(n, n));
        let [m, columns, k] = work.product;
        assert_eq!((work.steps, m, columns), (64, n, n));
        let products = 2 * m * columns * k;
        assert!(products > flops::getrf(n, n) * 9 / 10 && products + work.flops <= flops::getrf(n, n));
    }

    #[test]
    fn a_small_one_is_one_launch() {
        let work = Work::blocked(c"test", DataType::R_64F, [8, 8], flops::potrf(8)).times(3);
        let operations = work.operations();
        assert_eq!((operations.len(), operations[0].dims[0], operations[0].dims[2]), (1, 8 * 8 * 8 * 3, 170 * 3));
    }

    #[test]
    fn a_reduction_waits_for_every_column_up_to_a_limit() {
        let of = |n| {
            let flops = [flops::sytrd(n), flops::syevd(n, true)];
            Work::two_sided(c"test", DataType::R_32F, [n, n], [1, 8], flops)
        };
        assert_eq!(of(100).operations().len(), 801);
        assert_eq!(of(5000).operations().len(), MOST_STEPS as usize + 1);
        let lu = Work::blocked(c"test", DataType::R_32F, [100, 50], flops::getrf(100, 50));
        assert_eq!((lu.steps, lu.waiting_every(1).steps), (1, 50));
    }
}
