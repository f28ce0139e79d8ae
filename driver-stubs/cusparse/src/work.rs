//! A sparse routine as one kernel: what it reads, writes and multiplies.
//! It checks no argument.

use crate::Error;
use crate::context::Context;
use ghost_blas::{DataType, kernel, submit};
use ghost_table::Range;
use std::ffi::CStr;

/// Read bytes, written bytes, operations of real numbers.
pub type Cost = [u64; 3];

/// Puts a kernel on a context's stream; afterwards `outputs` read zero (at most four).
pub fn run(
    context: &Context,
    name: &'static CStr,
    kind: DataType,
    [read, written, flops]: Cost,
    outputs: &[Option<Range>],
) -> Result<(), Error> {
    if read == 0 && written == 0 {
        return Ok(());
    }
    let complex = matches!(kind, DataType::C_32F | DataType::C_64F);
    let flops = if complex { flops.saturating_mul(4) } else { flops };
    let operation = kernel(name, kind, [read, written, flops]);
    let ranges = outputs.iter().copied().flatten();
    let operation = ranges.fold(operation, |operation, range| operation.writes(range.address, range.bytes));
    Ok(submit(context.stream, &operation)?)
}

/// `bytes` at `address`; null and nothing are nowhere.
pub fn range(address: u64, bytes: u64) -> Option<Range> {
    (address != 0 && bytes > 0).then_some(Range { address, bytes })
}

/// Traffic of a sort of `bytes`: a radix sort of 32-bit keys passes four times, reading and writing.
pub fn sort(bytes: u64) -> Cost {
    [bytes.saturating_mul(4), bytes.saturating_mul(4), 0]
}

/// Elements of a sum of two patterns that know nothing of each other.
pub fn union(a: u64, b: u64, area: u64) -> u64 {
    let common = a as f64 * b as f64 / (area.max(1) as f64);
    (a + b - (common as u64).min(a.min(b))).min(area)
}

/// Elements of a product of two patterns that know nothing of each other: m x k with `a`, k x n with `b` elements.
pub fn product([m, k, n]: [u64; 3], a: u64, b: u64) -> u64 {
    let [m, k, n] = [m.max(1) as f64, k.max(1) as f64, n.max(1) as f64];
    let hit = (a as f64 / (m * k)).min(1.0) * (b as f64 / (k * n)).min(1.0);
    (m * n * -(k * (-hit).ln_1p()).exp_m1()).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_as_often_as_chance_says() {
        assert_eq!((union(10, 0, 100), union(50, 50, 100), union(100, 100, 100)), (10, 75, 100));
        assert_eq!((product([10, 10, 10], 100, 100), product([10, 10, 10], 0, 50)), (100, 0));
        let sparse = product([1000, 1000, 1000], 1000, 1000);
        assert!((999..=1000).contains(&sparse), "{sparse}");
    }

    #[test]
    fn null_is_nowhere() {
        assert_eq!((range(0, 8), range(64, 0)), (None, None));
        assert_eq!(range(64, 8), Some(Range { address: 64, bytes: 8 }));
    }
}
