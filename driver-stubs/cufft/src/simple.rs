//! Plans of one, two and three packed dimensions.
//! It runs nothing.

use crate::plan::{kinds, make, plan};
use crate::store::{Handle, with};
use crate::transform::{Layout, Transform};
use crate::{Cufft, Error};
use ghost_abi::Out;

ghost_abi::rows! { Cufft;
    fn cufftPlan1d(plan: Out<Handle>, nx: i32, kind: i32, batch: i32) => plan_1d;
    fn cufftPlan2d(plan: Out<Handle>, nx: i32, ny: i32, kind: i32) => plan_2d;
    fn cufftPlan3d(plan: Out<Handle>, nx: i32, ny: i32, nz: i32, kind: i32) => plan_3d;
    fn cufftMakePlan1d(plan: Handle, nx: i32, kind: i32, batch: i32, size: Out<usize>) => make_1d;
    fn cufftMakePlan2d(plan: Handle, nx: i32, ny: i32, kind: i32, size: Out<usize>) => make_2d;
    fn cufftMakePlan3d(plan: Handle, nx: i32, ny: i32, nz: i32, kind: i32, size: Out<usize>) => make_3d;
    fn cufftGetSize1d(plan: Handle, nx: i32, kind: i32, batch: i32, size: Out<usize>) => size_1d;
    fn cufftGetSize2d(plan: Handle, nx: i32, ny: i32, kind: i32, size: Out<usize>) => size_2d;
    fn cufftGetSize3d(plan: Handle, nx: i32, ny: i32, nz: i32, kind: i32, size: Out<usize>) => size_3d;
    fn cufftEstimate1d(nx: i32, kind: i32, batch: i32, size: Out<usize>) => estimate_1d;
    fn cufftEstimate2d(nx: i32, ny: i32, kind: i32, size: Out<usize>) => estimate_2d;
    fn cufftEstimate3d(nx: i32, ny: i32, nz: i32, kind: i32, size: Out<usize>) => estimate_3d;
}

fn packed(sizes: &[i32], kind: i32, batch: i32) -> Result<Transform, Error> {
    let [input, output] = kinds(kind)?.map(Layout::packed);
    let positive = |&size: &i32| u64::try_from(size).map_err(|_| Error::InvalidSize);
    let sizes = sizes.iter().map(positive).collect::<Result<_, _>>()?;
    let transform = Transform { sizes, batch: positive(&batch)?, input, output };
    transform.check()?;
    Ok(transform)
}

fn work(sizes: &[i32], kind: i32, batch: i32, size: &Out<usize>) -> Result<(), Error> {
    Ok(size.set(packed(sizes, kind, batch)?.work_bytes() as usize)?)
}

fn plan_1d(handle: Out<Handle>, nx: i32, kind: i32, batch: i32) -> Result<(), Error> {
    plan(&handle, packed(&[nx], kind, batch)?)
}

fn plan_2d(handle: Out<Handle>, nx: i32, ny: i32, kind: i32) -> Result<(), Error> {
    plan(&handle, packed(&[nx, ny], kind, 1)?)
}

fn plan_3d(handle: Out<Handle>, nx: i32, ny: i32, nz: i32, kind: i32) -> Result<(), Error> {
    plan(&handle, packed(&[nx, ny, nz], kind, 1)?)
}

fn make_1d(plan: Handle, nx: i32, kind: i32, batch: i32, size: Out<usize>) -> Result<(), Error> {
    make(plan, packed(&[nx], kind, batch)?, &size)
}

fn make_2d(plan: Handle, nx: i32, ny: i32, kind: i32, size: Out<usize>) -> Result<(), Error> {
    make(plan, packed(&[nx, ny], kind, 1)?, &size)
}

fn make_3d(plan: Handle, nx: i32, ny: i32, nz: i32, kind: i32, size: Out<usize>) -> Result<(), Error> {
    make(plan, packed(&[nx, ny, nz], kind, 1)?, &size)
}

fn size_1d(plan: Handle, nx: i32, kind: i32, batch: i32, size: Out<usize>) -> Result<(), Error> {
    with(plan, |_| ())?;
    work(&[nx], kind, batch, &size)
}

fn size_2d(plan: Handle, nx: i32, ny: i32, kind: i32, size: Out<usize>) -> Result<(), Error> {
    with(plan, |_| ())?;
    work(&[nx, ny], kind, 1, &size)
}

fn size_3d(plan: Handle, nx: i32, ny: i32, nz: i32, kind: i32, size: Out<usize>) -> Result<(), Error> {
    with(plan, |_| ())?;
    work(&[nx, ny, nz], kind, 1, &size)
}

fn estimate_1d(nx: i32, kind: i32, batch: i32, size: Out<usize>) -> Result<(), Error> {
    work(&[nx], kind, batch, &size)
}

fn estimate_2d(nx: i32, ny: i32, kind: i32, size: Out<usize>) -> Result<(), Error> {
    work(&[nx, ny], kind, 1, &size)
}

fn estimate_3d(nx: i32, ny: i32, nz: i32, kind: i32, size: Out<usize>) -> Result<(), Error> {
    work(&[nx, ny, nz], kind, 1, &size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Plan, add};
    use ghost_abi::ask;

    #[test]
    fn sizes_are_written_and_bad_ones_refused() {
        assert_eq!(ask(|size| estimate_2d(32, 32, 0x69, size)), Ok(32 * 32 * 16));
        assert_eq!(ask(|size| estimate_1d(0, 0x29, 1, size)), Err(Error::InvalidSize));
        assert_eq!(ask(|size| estimate_1d(-4, 0x29, 1, size)), Err(Error::InvalidSize));
        let handle = add(Plan::new());
        assert_eq!(ask(|size| make_3d(handle, 8, 8, 8, 0x2a, size)), Ok(8 * 8 * 5 * 8));
        assert_eq!(ask(|size| size_1d(-1, 8, 0x2a, 1, size)), Err(Error::InvalidPlan));
    }
}
