//! Matrix descriptors and info objects of the interface before the generic one.
//! They are kept for the caller; nothing is analysed.

use crate::context::{Handle, Info, MatDescr, change, context, end, give};
use crate::{Cusparse, Error};
use ghost_abi::Out;
use ghost_blas::{Of, Ptr};

ghost_abi::rows! { Cusparse;
    fn cusparseCreateMatDescr(descriptor: Out<Of<MatDescr>>) => create;
    fn cusparseDestroyMatDescr(descriptor: Of<MatDescr>) => destroy;
    fn cusparseSetMatType(descriptor: Of<MatDescr>, kind: i32) => set_kind;
    fn cusparseGetMatType(descriptor: Of<MatDescr>) -> i32 => kind;
    fn cusparseSetMatFillMode(descriptor: Of<MatDescr>, fill: i32) => set_fill;
    fn cusparseGetMatFillMode(descriptor: Of<MatDescr>) -> i32 => fill;
    fn cusparseSetMatDiagType(descriptor: Of<MatDescr>, diagonal: i32) => set_diagonal;
    fn cusparseGetMatDiagType(descriptor: Of<MatDescr>) -> i32 => diagonal;
    fn cusparseSetMatIndexBase(descriptor: Of<MatDescr>, base: i32) => set_base;
    fn cusparseGetMatIndexBase(descriptor: Of<MatDescr>) -> i32 => base;
    fn cusparseCreateBsrsv2Info(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyBsrsv2Info(info: Of<Info>) => destroy_info;
    fn cusparseCreateBsrsm2Info(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyBsrsm2Info(info: Of<Info>) => destroy_info;
    fn cusparseCreateCsrilu02Info(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyCsrilu02Info(info: Of<Info>) => destroy_info;
    fn cusparseCreateCsric02Info(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyCsric02Info(info: Of<Info>) => destroy_info;
    fn cusparseCreateBsrilu02Info(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyBsrilu02Info(info: Of<Info>) => destroy_info;
    fn cusparseCreateBsric02Info(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyBsric02Info(info: Of<Info>) => destroy_info;
    fn cusparseCreateCsru2csrInfo(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyCsru2csrInfo(info: Of<Info>) => destroy_info;
    fn cusparseCreatePruneInfo(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyPruneInfo(info: Of<Info>) => destroy_info;
    fn cusparseCreateColorInfo(info: Out<Of<Info>>) => create_info;
    fn cusparseDestroyColorInfo(info: Of<Info>) => destroy_info;
    fn cusparseXbsrsv2_zeroPivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) => no_zero_pivot;
    fn cusparseXbsrsm2_zeroPivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) => no_zero_pivot;
    fn cusparseXcsrilu02_zeroPivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) => no_zero_pivot;
    fn cusparseXcsric02_zeroPivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) => no_zero_pivot;
    fn cusparseXbsrilu02_zeroPivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) => no_zero_pivot;
    fn cusparseXbsric02_zeroPivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) => no_zero_pivot;
}

fn create(descriptor: Out<Of<MatDescr>>) -> Result<(), Error> {
    give(&descriptor, MatDescr::default())
}

fn destroy(descriptor: Of<MatDescr>) -> Result<(), Error> {
    end(descriptor)
}

/// Getter and setter of each part, with its largest value. A dead descriptor reads as the default.
macro_rules! parts {
    ($($get:ident $set:ident $field:ident $most:literal;)*) => { $(
        fn $get(descriptor: Of<MatDescr>) -> i32 {
            descriptor.with(|descriptor| descriptor.$field).unwrap_or_default()
        }

        fn $set(descriptor: Of<MatDescr>, value: i32) -> Result<(), Error> {
            if !(0..=$most).contains(&value) {
                return Err(Error::InvalidValue);
            }
            change(descriptor, |descriptor| descriptor.$field = value)
        }
    )* };
}

parts! {
    kind set_kind kind 3;
    fill set_fill fill 1;
    diagonal set_diagonal diagonal 1;
    base set_base base 1;
}

fn create_info(info: Out<Of<Info>>) -> Result<(), Error> {
    give(&info, Info)
}

fn destroy_info(info: Of<Info>) -> Result<(), Error> {
    end(info)
}

/// Says -1, no zero pivot, to the host or to the device.
fn no_zero_pivot(handle: Handle, info: Of<Info>, position: Ptr<i32>) -> Result<(), Error> {
    let context = context(handle)?;
    info.check().map_err(|_| Error::InvalidValue)?;
    position.check()?;
    if context.pointer_mode == 0 {
        return Ok(position.store(-1)?);
    }
    ghost_table::table().ok_or(Error::NotInitialized).and_then(|table| {
        let none = (-1_i32).to_le_bytes();
        // SAFETY: `none` lives through the call; libcuda checks the address.
        match unsafe { (table.write_backed)(position.address(), none.as_ptr(), none.len()) } {
            0 => Ok(()),
            _ => Err(Error::ExecutionFailed),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use ghost_abi::ask;

    #[test]
    fn a_descriptor_keeps_its_parts() {
        let descriptor = ask(create).expect("a descriptor");
        assert_eq!((set_fill(descriptor, 1), set_fill(descriptor, 2)), (Ok(()), Err(Error::InvalidValue)));
        assert_eq!((fill(descriptor), kind(descriptor)), (1, 0));
        assert_eq!((destroy(descriptor), destroy(descriptor)), (Ok(()), Err(Error::InvalidValue)));
        assert_eq!((fill(descriptor), destroy(Of::null())), (0, Ok(())));
    }

    #[test]
    fn there_is_no_zero_pivot() {
        let handle = Of::create(Context::default());
        let info = ask(create_info).expect("an info");
        let mut position = 7;
        // SAFETY: `position` outlives the call.
        let place = unsafe { Ptr::from_raw(&raw mut position) };
        assert_eq!(no_zero_pivot(handle, info, place), Ok(()));
        assert_eq!(position, -1);
    }
}
