//! Kernels priced by a table: how many elements a launch handles and how many bytes it moves for each.
//! A row holds no numbers of any GPU; where parameters cannot be read the caller prices the launch by its grid.

use super::name::Name;
use super::traffic::Traffic;
use super::{Geometry, Place};
use crate::fatbin::KernelInfo;

/// One factor of the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// An integer parameter, by ordinal.
    Param(u8),
    GridX,
    GridY,
    /// All blocks.
    Blocks,
    /// Threads of a block.
    Threads,
    Times(u16),
}

/// Bytes moved for one element: bytes of a template type times a count, and fixed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Each {
    /// Which template type (0 to 3).
    pub of: u8,
    /// How many elements of it, in quarters.
    pub quarters: u16,
    /// Added, such as indices and masks.
    pub bytes: u16,
}

/// A family of kernels that share an identifier.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The identifier, or its start if it ends in `*`.
    pub kernel: &'static str,
    pub count: &'static [Factor],
    pub read: Each,
    pub write: Each,
    /// Arithmetic for one element.
    pub flops: u16,
}

/// `n` elements of template type `of` for each.
pub const fn each(of: u8, n: u16) -> Each {
    Each { of, quarters: n * 4, bytes: 0 }
}

impl Each {
    pub const NONE: Each = each(0, 0);

    /// And these bytes.
    pub const fn and(self, bytes: u16) -> Each {
        Each { bytes, ..self }
    }

    fn quarter_bytes(self, types: [u8; 4]) -> u32 {
        let size = match types[usize::from(self.of) & 3] {
            0 => 4,
            size => u32::from(size),
        };
        size * u32::from(self.quarters) + u32::from(self.bytes) * 4
    }
}

/// A row resolved for one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    factors: [Resolved; 4],
    read_quarter_bytes: u32,
    write_quarter_bytes: u32,
    flops: u16,
}

#[derive(Clone, Copy, Debug)]
enum Resolved {
    Param(Place),
    GridX,
    GridY,
    Blocks,
    Threads,
    Times(u16),
}

impl Counted {
    /// Finds the row of a kernel; `None` if there is none or a parameter that it needs is not there.
    pub fn find(rows: &[Row], name: &Name, kernel: &KernelInfo) -> Option<Counted> {
        let row = rows.iter().find(|row| match row.kernel.strip_suffix('*') {
            Some(start) => name.base.starts_with(start),
            None => name.base == row.kernel,
        })?;
        let mut factors = [Resolved::Times(1); 4];
        for (slot, factor) in factors.iter_mut().zip(row.count) {
            *slot = match *factor {
                Factor::Param(ordinal) => Resolved::Param(Place::of(kernel, ordinal)?),
                Factor::GridX => Resolved::GridX,
                Factor::GridY => Resolved::GridY,
                Factor::Blocks => Resolved::Blocks,
                Factor::Threads => Resolved::Threads,
                Factor::Times(n) => Resolved::Times(n),
            };
        }
        let types = name.template_types();
        Some(Counted {
            factors,
            read_quarter_bytes: row.read.quarter_bytes(types),
            write_quarter_bytes: row.write.quarter_bytes(types),
            flops: row.flops,
        })
    }

    /// What a launch moves; `None` if its parameters cannot be read.
    pub fn traffic(&self, geometry: &Geometry, params: &[u8]) -> Option<Traffic> {
        let mut count = 1_u64;
        for factor in self.factors {
            count = count.saturating_mul(match factor {
                Resolved::Param(place) => place.count(params)?,
                Resolved::GridX => u64::from(geometry.grid[0]),
                Resolved::GridY => u64::from(geometry.grid[1]),
                Resolved::Blocks => geometry.blocks(),
                Resolved::Threads => geometry.threads(),
                Resolved::Times(n) => u64::from(n),
            });
        }
        Some(Traffic {
            bytes_read: count.saturating_mul(u64::from(self.read_quarter_bytes)) / 4,
            bytes_written: count.saturating_mul(u64::from(self.write_quarter_bytes)) / 4,
            flops: count.saturating_mul(u64::from(self.flops)),
        })
    }
}
