//! The tables of kernels whose element count can be read or worked out from the grid, one file for each family.
//! A row says what one launch moves; what is not in a table is priced elsewhere.

mod image;
mod index;
mod norm;
mod random;
mod sort;

use super::name::Name;
use super::row::{Counted, Row};
use crate::fatbin::KernelInfo;

const FAMILIES: [&[Row]; 5] = [norm::ROWS, index::ROWS, sort::ROWS, random::ROWS, image::ROWS];

/// The row of a kernel, in whichever table it is.
pub fn counted(name: &Name, kernel: &KernelInfo) -> Option<Counted> {
    FAMILIES.iter().find_map(|rows| Counted::find(rows, name, kernel))
}
