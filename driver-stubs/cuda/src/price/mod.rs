//! What a kernel costs, judged by its name, grid and readable arguments.
//! It runs nothing and reads no device memory; what it cannot judge it prices by grid and block.
//!
//! [`classify`] looks at a name once and finds the family; [`operation`] prices each launch from what the family knows
//! to stand in the parameters. Each family's file says where its layout comes from and how far its estimate can be off.
//! A family that does not find in the parameters what it expects prices the launch by its grid, as [`generic`] does.

mod attention;
mod copies;
mod elementwise;
mod families;
mod gemm;
mod generic;
mod name;
pub mod occupancy;
mod optimizer;
mod reduce;
mod row;
mod traffic;
mod triton;

use crate::fatbin::KernelInfo;
use ghost_model::cost::Operation;
use name::Name;
use traffic::Traffic;

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
}

impl Geometry {
    /// Blocks of the grid, at least one.
    pub fn blocks(&self) -> u64 {
        product(self.grid)
    }

    /// Threads of a block, at least one.
    pub fn threads(&self) -> u64 {
        product(self.block)
    }
}

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all, &n| u64::from(n.max(1)).saturating_mul(all))
}

/// How a kernel is priced; found once per kernel by its name.
#[derive(Clone, Copy, Debug)]
pub struct Class(Family);

#[derive(Clone, Copy, Debug)]
enum Family {
    Elementwise(elementwise::Elementwise),
    Reduce(reduce::Reduce),
    Attention(attention::Attention),
    Lists(optimizer::Lists),
    Concatenate(copies::Concatenate),
    Gemm(gemm::Tiles),
    Counted(row::Counted),
    Generated(triton::Generated),
    Generic(generic::Generic),
}

/// Judges a kernel by its name and parameter layout. Called once per kernel.
pub fn classify(kernel: &KernelInfo) -> Class {
    let name = Name::of(&kernel.name);
    let family = None
        .or_else(|| elementwise::Elementwise::of(&name, kernel).map(Family::Elementwise))
        .or_else(|| reduce::Reduce::of(&name, kernel).map(Family::Reduce))
        .or_else(|| attention::Attention::of(&name, kernel).map(Family::Attention))
        .or_else(|| optimizer::Lists::of(&name, kernel).map(Family::Lists))
        .or_else(|| copies::Concatenate::of(&name, kernel).map(Family::Concatenate))
        .or_else(|| families::counted(&name, kernel).map(Family::Counted))
        .or_else(|| triton::Generated::of(&name, kernel).map(Family::Generated))
        .or_else(|| gemm::Tiles::of(&name).map(Family::Gemm));
    Class(family.unwrap_or_else(|| Family::Generic(generic::Generic::of(&name))))
}

impl Class {
    /// The family's name, for what is listed and recorded.
    pub fn family(&self) -> &'static str {
        match self.0 {
            Family::Elementwise(_) => "elementwise",
            Family::Reduce(_) => "reduce",
            Family::Attention(_) => "attention",
            Family::Lists(_) => "tensor lists",
            Family::Concatenate(_) => "concatenate",
            Family::Gemm(_) => "gemm",
            Family::Counted(_) => "counted",
            Family::Generated(_) => "generated",
            Family::Generic(_) => "generic",
        }
    }
}

/// Prices one launch. `params` is the packed parameter buffer, empty if its layout is unknown. Called at every
/// launch: no allocation.
pub fn operation(class: &Class, geometry: &Geometry, params: &[u8]) -> Operation {
    let traffic = match &class.0 {
        Family::Elementwise(family) => family.traffic(params),
        Family::Reduce(family) => family.traffic(geometry, params),
        Family::Lists(family) => family.traffic(geometry, params),
        Family::Concatenate(family) => family.traffic(geometry, params),
        Family::Counted(family) => family.traffic(geometry, params),
        Family::Generated(family) => family.traffic(params),
        Family::Attention(family) => return family.operation(geometry, params),
        Family::Gemm(family) => return family.operation(geometry, params),
        Family::Generic(family) => Some(family.traffic(geometry)),
    };
    traffic.unwrap_or_else(|| Traffic::by_grid(geometry)).operation(geometry)
}

/// Where an integer parameter lies in the packed buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: u32,
    wide: bool,
}

impl Place {
    /// A parameter by ordinal, if it has the size of an integer.
    fn of(kernel: &KernelInfo, ordinal: u8) -> Option<Place> {
        let param = kernel.params.get(usize::from(ordinal))?;
        matches!(param.bytes, 4 | 8).then_some(Place { at: param.offset, wide: param.bytes == 8 })
    }

    /// The product of so many values that lie one behind the other.
    fn product(self, values: u32, params: &[u8]) -> Option<u64> {
        let width = if self.wide { 8 } else { 4 };
        (0..values).try_fold(1_u64, |all, value| {
            let place = Place { at: self.at + value * width, ..self };
            Some(all.saturating_mul(place.count(params)?))
        })
    }

    /// Its value as a number of things; a negative one is none.
    fn count(self, params: &[u8]) -> Option<u64> {
        let at = self.at as usize;
        if self.wide { read_i64(params, at) } else { read_i32(params, at).map(i64::from) }
            .map(|value| u64::try_from(value).unwrap_or(0))
    }
}

fn read_i32(params: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(params.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn read_i64(params: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(params.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// A 32-bit number of things; a negative one is none.
fn read_count(params: &[u8], at: usize) -> Option<u64> {
    read_i32(params, at).map(|value| u64::try_from(value).unwrap_or(0))
}

#[cfg(test)]
mod tests;
