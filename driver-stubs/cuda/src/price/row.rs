//! Kernels priced by a table: how many elements a launch handles and how many bytes it moves for each.
//! A row holds no numbers of any GPU; where parameters cannot be read the caller prices the launch by its grid.

use super::name::Name;
use super::traffic::Traffic;
use super::{Geometry, Place, read_count};
use crate::fatbin::KernelInfo;

/// One factor of the number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// An integer parameter, by ordinal.
    Param(u8),
    /// All elements of a packed accessor of so many dimensions (pointer, sizes, strides), by ordinal.
    Accessor(u8, u8),
    /// All elements of a `TensorInfo` (pointer, 25 sizes, 25 strides, dimensions), by ordinal.
    Tensor(u8),
    GridX,
    GridY,
    GridZ,
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
    Sizes { first: Place, dimensions: u8 },
    Tensor { first: Place, dimensions_at: u32 },
    GridX,
    GridY,
    GridZ,
    Blocks,
    Threads,
    Times(u16),
}

const TENSOR_DIMENSIONS: u32 = 25;

impl Resolved {
    fn of(factor: Factor, kernel: &KernelInfo) -> Option<Resolved> {
        Some(match factor {
            Factor::Param(ordinal) => Resolved::Param(Place::of(kernel, ordinal)?),
            Factor::Accessor(ordinal, dimensions) => {
                let param = kernel.params.get(usize::from(ordinal))?;
                let index_bytes = param.bytes.checked_sub(8)? / (2 * u32::from(dimensions));
                let first = Place { at: param.offset + 8, wide: index_bytes == 8 };
                matches!(index_bytes, 4 | 8).then_some(Resolved::Sizes { first, dimensions })?
            }
            Factor::Tensor(ordinal) => {
                let param = kernel.params.get(usize::from(ordinal))?;
                let index_bytes = param.bytes.checked_sub(8)? / (2 * TENSOR_DIMENSIONS);
                let dimensions_at = param.offset + 8 + index_bytes * TENSOR_DIMENSIONS * 2;
                let first = Place { at: param.offset + 8, wide: index_bytes == 8 };
                matches!(index_bytes, 4 | 8).then_some(Resolved::Tensor { first, dimensions_at })?
            }
            Factor::GridX => Resolved::GridX,
            Factor::GridY => Resolved::GridY,
            Factor::GridZ => Resolved::GridZ,
            Factor::Blocks => Resolved::Blocks,
            Factor::Threads => Resolved::Threads,
            Factor::Times(n) => Resolved::Times(n),
        })
    }

    fn count(self, geometry: &Geometry, params: &[u8]) -> Option<u64> {
        Some(match self {
            Resolved::Param(place) => place.count(params)?,
            Resolved::Sizes { first, dimensions } => first.product(u32::from(dimensions), params)?,
            Resolved::Tensor { first, dimensions_at } => {
                let dimensions = read_count(params, dimensions_at as usize)?;
                let dimensions = u32::try_from(dimensions).ok().filter(|&n| n <= TENSOR_DIMENSIONS)?;
                first.product(dimensions, params)?
            }
            Resolved::GridX => u64::from(geometry.grid[0]),
            Resolved::GridY => u64::from(geometry.grid[1]),
            Resolved::GridZ => u64::from(geometry.grid[2]),
            Resolved::Blocks => geometry.blocks(),
            Resolved::Threads => geometry.threads(),
            Resolved::Times(n) => u64::from(n),
        })
    }
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
            *slot = Resolved::of(*factor, kernel)?;
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
            count = count.saturating_mul(factor.count(geometry, params)?);
        }
        Some(Traffic {
            bytes_read: count.saturating_mul(u64::from(self.read_quarter_bytes)) / 4,
            bytes_written: count.saturating_mul(u64::from(self.write_quarter_bytes)) / 4,
            flops: count.saturating_mul(u64::from(self.flops)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fatbin::Param;

    fn counted(factor: Factor, bytes: u32) -> Option<Counted> {
        let rows: &'static [Row] = Box::leak(Box::new([Row {
            kernel: "walk*",
            count: Box::leak(Box::new([factor])),
            read: each(0, 1),
            write: Each::NONE.and(1),
            flops: 0,
        }]));
        let params = vec![Param { offset: 16, bytes }];
        let kernel = KernelInfo { params, ..KernelInfo::default() };
        Counted::find(rows, &Name::of("_Z9walk_faster"), &kernel).or(Counted::find(
            rows,
            &Name::of("walk_all"),
            &kernel,
        ))
    }

    fn written(counted: Option<Counted>, values: &[(usize, i32)]) -> Option<u64> {
        let mut params = vec![0; 512];
        for &(at, value) in values {
            params[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        Some(
            counted?.traffic(&Geometry { grid: [3, 5, 1], block: [32, 1, 1], shared_bytes: 0 }, &params)?.bytes_written,
        )
    }

    #[test]
    fn an_accessor_holds_its_sizes_behind_its_pointer() {
        assert_eq!(written(counted(Factor::Accessor(0, 3), 32), &[(24, 2), (28, 3), (32, 4)]), Some(24));
        assert_eq!(written(counted(Factor::Accessor(0, 3), 56), &[(24, 2), (32, 3), (40, 4)]), Some(24));
        assert_eq!(written(counted(Factor::Accessor(0, 3), 16), &[]), None, "not an accessor");
    }

    #[test]
    fn a_tensor_holds_as_many_sizes_as_it_has_dimensions() {
        assert_eq!(written(counted(Factor::Tensor(0), 216), &[(24, 7), (28, 6), (32, 9), (224, 2)]), Some(42));
        assert_eq!(written(counted(Factor::Tensor(0), 416), &[(24, 7), (32, 6), (424, 2)]), Some(42));
        assert_eq!(written(counted(Factor::Tensor(0), 216), &[(224, 26)]), None, "more dimensions than there can be");
    }

    #[test]
    fn grid_and_block_count_too() {
        assert_eq!(written(counted(Factor::Blocks, 4), &[]), Some(15));
        assert_eq!(written(counted(Factor::Threads, 4), &[]), Some(32));
        assert_eq!(written(counted(Factor::Param(0), 4), &[(16, -1)]), Some(0));
        assert_eq!(written(counted(Factor::Param(1), 4), &[]), None, "no such parameter");
    }
}
