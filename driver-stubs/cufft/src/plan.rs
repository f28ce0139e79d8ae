//! Creating plans, their settings, and the functions that describe a transform in full.
//! It runs nothing.

use crate::store::{Handle, Plan, add, remove, with};
use crate::transform::{Layout, Transform};
use crate::{Cufft, Error};
use ghost_abi::{InList, MaybeOut, Out};
use ghost_blas::{DataType, Ptr, Stream, start_driver};

ghost_abi::rows! { Cufft;
    fn cufftCreate(handle: Out<Handle>) => create;
    fn cufftDestroy(plan: Handle) => destroy;
    fn cufftSetStream(plan: Handle, stream: Stream) => set_stream;
    fn cufftSetAutoAllocation(plan: Handle, allocates: i32) => set_auto_allocation;
    fn cufftSetWorkArea(plan: Handle, area: Ptr<u8>) => set_work_area;
    fn cufftGetSize(plan: Handle, size: Out<usize>) => size;
    fn cufftXtSetWorkAreaPolicy(plan: Handle, policy: i32, size: MaybeOut<usize>) => set_policy;
    fn cufftSetPlanPropertyInt64(plan: Handle, property: i32, value: i64) => set_property;
    fn cufftGetPlanPropertyInt64(plan: Handle, property: i32, value: Out<i64>) => get_property;
    fn cufftResetPlanProperty(plan: Handle, property: i32) => reset_property;
    fn cufftPlanMany(plan: Out<Handle>, rank: i32, n: InList<i32>, inembed: InList<i32>, istride: i32, idist: i32,
        onembed: InList<i32>, ostride: i32, odist: i32, kind: i32, batch: i32) => plan_many;
    fn cufftMakePlanMany(plan: Handle, rank: i32, n: InList<i32>, inembed: InList<i32>, istride: i32, idist: i32,
        onembed: InList<i32>, ostride: i32, odist: i32, kind: i32, batch: i32, size: Out<usize>) => make_many;
    fn cufftMakePlanMany64(plan: Handle, rank: i32, n: InList<i64>, inembed: InList<i64>, istride: i64, idist: i64,
        onembed: InList<i64>, ostride: i64, odist: i64, kind: i32, batch: i64, size: Out<usize>) => make_many;
    fn cufftGetSizeMany(plan: Handle, rank: i32, n: InList<i32>, inembed: InList<i32>, istride: i32, idist: i32,
        onembed: InList<i32>, ostride: i32, odist: i32, kind: i32, batch: i32, size: Out<usize>) => size_many;
    fn cufftGetSizeMany64(plan: Handle, rank: i32, n: InList<i64>, inembed: InList<i64>, istride: i64, idist: i64,
        onembed: InList<i64>, ostride: i64, odist: i64, kind: i32, batch: i64, size: Out<usize>) => size_many;
    fn cufftEstimateMany(rank: i32, n: InList<i32>, inembed: InList<i32>, istride: i32, idist: i32,
        onembed: InList<i32>, ostride: i32, odist: i32, kind: i32, batch: i32, size: Out<usize>) => estimate_many;
    fn cufftXtMakePlanMany(plan: Handle, rank: i32, n: InList<i64>, inembed: InList<i64>, istride: i64, idist: i64,
        input: DataType, onembed: InList<i64>, ostride: i64, odist: i64, output: DataType, batch: i64,
        size: Out<usize>, execution: DataType) => xt_make_many;
    fn cufftXtGetSizeMany(plan: Handle, rank: i32, n: InList<i64>, inembed: InList<i64>, istride: i64, idist: i64,
        input: DataType, onembed: InList<i64>, ostride: i64, odist: i64, output: DataType, batch: i64,
        size: Out<usize>, execution: DataType) => xt_size_many;
}

/// Input and output of a `cufftType`.
pub fn kinds(kind: i32) -> Result<[DataType; 2], Error> {
    match kind {
        0x2a => Ok([DataType::R_32F, DataType::C_32F]),
        0x2c => Ok([DataType::C_32F, DataType::R_32F]),
        0x29 => Ok([DataType::C_32F; 2]),
        0x6a => Ok([DataType::R_64F, DataType::C_64F]),
        0x6c => Ok([DataType::C_64F, DataType::R_64F]),
        0x69 => Ok([DataType::C_64F; 2]),
        _ => Err(Error::InvalidType),
    }
}

fn size_of(value: impl Into<i64>) -> Result<u64, Error> {
    u64::try_from(value.into()).map_err(|_| Error::InvalidSize)
}

fn create(handle: Out<Handle>) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(add(Plan::new()))?)
}

fn destroy(plan: Handle) -> Result<(), Error> {
    remove(plan)
}

fn set_stream(plan: Handle, stream: Stream) -> Result<(), Error> {
    with(plan, |plan| plan.stream = stream)
}

fn set_auto_allocation(plan: Handle, allocates: i32) -> Result<(), Error> {
    with(plan, |plan| plan.allocates = allocates != 0)
}

fn set_work_area(plan: Handle, area: Ptr<u8>) -> Result<(), Error> {
    with(plan, |plan| plan.work_area = area.address())
}

fn size(plan: Handle, size: Out<usize>) -> Result<(), Error> {
    let bytes = with(plan, |plan| plan.transform.as_ref().map_or(0, Transform::work_bytes))?;
    Ok(size.set(bytes as usize)?)
}

/// Every policy gets what the plan needs; the size is the user's limit with policy 1 and is left as it is.
fn set_policy(plan: Handle, policy: i32, size: MaybeOut<usize>) -> Result<(), Error> {
    let bytes = with(plan, |plan| plan.transform.as_ref().map_or(0, Transform::work_bytes))?;
    match policy {
        0 | 2 => size.set(bytes as usize),
        1 => {}
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

fn property_of(plan: &mut Plan, property: i32) -> Result<&mut i64, Error> {
    let index = usize::try_from(property - 1).map_err(|_| Error::InvalidValue)?;
    plan.properties.get_mut(index).ok_or(Error::InvalidValue)
}

fn set_property(plan: Handle, property: i32, value: i64) -> Result<(), Error> {
    with(plan, |plan| property_of(plan, property).map(|place| *place = value))?
}

fn get_property(plan: Handle, property: i32, value: Out<i64>) -> Result<(), Error> {
    let found = with(plan, |plan| property_of(plan, property).map(|place| *place))??;
    Ok(value.set(found)?)
}

fn reset_property(plan: Handle, property: i32) -> Result<(), Error> {
    set_property(plan, property, 0)
}

/// One side as C describes it. Without an embedding, stride and distance are ignored.
struct Side<I> {
    kind: DataType,
    embed: InList<I>,
    stride: I,
    distance: I,
}

impl<I: Copy + Into<i64>> Side<I> {
    fn layout(self, rank: usize) -> Result<Layout, Error> {
        if self.embed.is_null() {
            return Ok(Layout::packed(self.kind));
        }
        let embed = self.embed.get(rank)?.into_iter().map(size_of).collect::<Result<_, _>>()?;
        let (stride, distance) = (size_of(self.stride)?, size_of(self.distance)?);
        Ok(Layout { kind: self.kind, embed, stride, distance })
    }
}

/// The transform C describes, checked.
fn transform<I: Copy + Into<i64>>(
    rank: i32,
    n: InList<I>,
    input: Side<I>,
    output: Side<I>,
    batch: I,
) -> Result<Transform, Error> {
    let rank = usize::try_from(rank).ok().filter(|rank| (1..=3).contains(rank)).ok_or(Error::InvalidSize)?;
    let sizes = n.get(rank)?.into_iter().map(size_of).collect::<Result<_, _>>()?;
    let (input, output) = (input.layout(rank)?, output.layout(rank)?);
    let transform = Transform { sizes, batch: size_of(batch)?, input, output };
    transform.check()?;
    Ok(transform)
}

/// Gives a plan its transform and writes the size of its work area.
pub fn make(plan: Handle, transform: Transform, size: &Out<usize>) -> Result<(), Error> {
    size.check()?;
    let bytes = transform.work_bytes();
    with(plan, |plan| plan.transform = Some(transform))?;
    Ok(size.set(bytes as usize)?)
}

/// A plan made and given a transform in one step.
pub fn plan(handle: &Out<Handle>, transform: Transform) -> Result<(), Error> {
    handle.check()?;
    start_driver()?;
    Ok(handle.set(add(Plan { transform: Some(transform), ..Plan::new() }))?)
}

fn plan_many(
    handle: Out<Handle>,
    rank: i32,
    n: InList<i32>,
    inembed: InList<i32>,
    istride: i32,
    idist: i32,
    onembed: InList<i32>,
    ostride: i32,
    odist: i32,
    kind: i32,
    batch: i32,
) -> Result<(), Error> {
    let [from, to] = kinds(kind)?;
    let input = Side { kind: from, embed: inembed, stride: istride, distance: idist };
    let output = Side { kind: to, embed: onembed, stride: ostride, distance: odist };
    plan(&handle, transform(rank, n, input, output, batch)?)
}

fn make_many<I: Copy + Into<i64>>(
    plan: Handle,
    rank: i32,
    n: InList<I>,
    inembed: InList<I>,
    istride: I,
    idist: I,
    onembed: InList<I>,
    ostride: I,
    odist: I,
    kind: i32,
    batch: I,
    size: Out<usize>,
) -> Result<(), Error> {
    with(plan, |_| ())?;
    let [from, to] = kinds(kind)?;
    let input = Side { kind: from, embed: inembed, stride: istride, distance: idist };
    let output = Side { kind: to, embed: onembed, stride: ostride, distance: odist };
    make(plan, transform(rank, n, input, output, batch)?, &size)
}

fn size_many<I: Copy + Into<i64>>(
    plan: Handle,
    rank: i32,
    n: InList<I>,
    inembed: InList<I>,
    istride: I,
    idist: I,
    onembed: InList<I>,
    ostride: I,
    odist: I,
    kind: i32,
    batch: I,
    size: Out<usize>,
) -> Result<(), Error> {
    with(plan, |_| ())?;
    estimate_many(rank, n, inembed, istride, idist, onembed, ostride, odist, kind, batch, size)
}

fn estimate_many<I: Copy + Into<i64>>(
    rank: i32,
    n: InList<I>,
    inembed: InList<I>,
    istride: I,
    idist: I,
    onembed: InList<I>,
    ostride: I,
    odist: I,
    kind: i32,
    batch: I,
    size: Out<usize>,
) -> Result<(), Error> {
    let [from, to] = kinds(kind)?;
    let input = Side { kind: from, embed: inembed, stride: istride, distance: idist };
    let output = Side { kind: to, embed: onembed, stride: ostride, distance: odist };
    Ok(size.set(transform(rank, n, input, output, batch)?.work_bytes() as usize)?)
}

fn xt_make_many(
    plan: Handle,
    rank: i32,
    n: InList<i64>,
    inembed: InList<i64>,
    istride: i64,
    idist: i64,
    input: DataType,
    onembed: InList<i64>,
    ostride: i64,
    odist: i64,
    output: DataType,
    batch: i64,
    size: Out<usize>,
    _execution: DataType,
) -> Result<(), Error> {
    with(plan, |_| ())?;
    let from = Side { kind: input, embed: inembed, stride: istride, distance: idist };
    let to = Side { kind: output, embed: onembed, stride: ostride, distance: odist };
    make(plan, transform(rank, n, from, to, batch)?, &size)
}

fn xt_size_many(
    plan: Handle,
    rank: i32,
    n: InList<i64>,
    inembed: InList<i64>,
    istride: i64,
    idist: i64,
    input: DataType,
    onembed: InList<i64>,
    ostride: i64,
    odist: i64,
    output: DataType,
    batch: i64,
    size: Out<usize>,
    _execution: DataType,
) -> Result<(), Error> {
    with(plan, |_| ())?;
    let from = Side { kind: input, embed: inembed, stride: istride, distance: idist };
    let to = Side { kind: output, embed: onembed, stride: ostride, distance: odist };
    Ok(size.set(transform(rank, n, from, to, batch)?.work_bytes() as usize)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    fn list<T>(values: &[T]) -> InList<T> {
        // SAFETY: the tests keep `values` for longer than the call.
        unsafe { InList::from_raw(values.as_ptr()) }
    }

    fn none() -> InList<i64> {
        // SAFETY: null is allowed.
        unsafe { InList::from_raw(std::ptr::null()) }
    }

    #[test]
    fn a_plan_gets_its_work_size() {
        let handle = add(Plan::new());
        let sizes = [64_i64, 64];
        let made = ask(|size| make_many(handle, 2, list(&sizes), none(), 1, 0, none(), 1, 0, 0x29, 2, size));
        assert_eq!(made, Ok(64 * 64 * 2 * 8));
        assert_eq!(ask(|out| size(handle, out)), Ok(64 * 64 * 2 * 8));
    }

    #[test]
    fn bad_plans_types_and_ranks_are_refused() {
        let sizes = [8_i64];
        let make = |plan, rank, kind| {
            ask(|size| make_many(plan, rank, list(&sizes), none(), 1, 0, none(), 1, 0, kind, 1, size))
        };
        let handle = add(Plan::new());
        assert_eq!(make(-1, 1, 0x29), Err(Error::InvalidPlan));
        assert_eq!(make(handle, 4, 0x29), Err(Error::InvalidSize));
        assert_eq!(make(handle, 1, 1), Err(Error::InvalidType));
        assert_eq!(make(handle, 1, 0x29), Ok(0));
    }

    #[test]
    fn properties_are_kept_until_reset() {
        let handle = add(Plan::new());
        assert_eq!(set_property(handle, 2, 7), Ok(()));
        assert_eq!(ask(|out| get_property(handle, 2, out)), Ok(7));
        assert_eq!(reset_property(handle, 2), Ok(()));
        assert_eq!(ask(|out| get_property(handle, 2, out)), Ok(0));
        assert_eq!(set_property(handle, 3, 7), Err(Error::InvalidValue));
    }
}
