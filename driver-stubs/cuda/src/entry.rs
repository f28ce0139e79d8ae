//! cuGetProcAddress: a function by name, version and stream mode. It knows only the rows.

use std::ffi::c_void;

use ghost_abi::{CStrIn, In, MaybeOut, Out, Row};

use crate::{Cuda, Error, TABLE};

ghost_abi::rows! { Cuda;
    since 11030 fn cuGetProcAddress(name: CStrIn, function: Out<*const c_void>, version: i32, flags: u64) => get;
    since 12000 fn cuGetProcAddress_v2(name: CStrIn, function: Out<*const c_void>, version: i32, flags: u64, status: MaybeOut<i32>) => get_v2;
    since 4000 fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) => export_table;
}

const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;
const VERSION_NOT_SUFFICIENT: i32 = 2;
const PER_THREAD: u64 = 2;

/// The id under which NVIDIA's own runtime asks for its interface to the driver, as bytes.
const RUNTIME_INTERFACE: [u8; 16] =
    [0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9];

/// No undocumented table is handed out: the runtime of this project needs none. Who asks for the runtime's interface
/// carries a runtime that is not ours and will give up; compilers ask for other tables and go on without.
fn export_table(table: Out<*const c_void>, id: In<[u8; 16]>) -> Result<(), Error> {
    table.set(std::ptr::null())?;
    if id.get()? == RUNTIME_INTERFACE {
        crate::table::note_this_program();
    }
    Err(Error::InvalidValue)
}

fn get(name: CStrIn, function: Out<*const c_void>, version: i32, flags: u64) -> Result<(), Error> {
    match look_up(&name, &function, version, flags)? {
        FOUND => Ok(()),
        _ => Err(Error::NotFound),
    }
}

fn get_v2(
    name: CStrIn,
    function: Out<*const c_void>,
    version: i32,
    flags: u64,
    status: MaybeOut<i32>,
) -> Result<(), Error> {
    let found = look_up(&name, &function, version, flags)?;
    let wanted = !status.is_null();
    status.set(found);
    if found == FOUND || wanted { Ok(()) } else { Err(Error::NotFound) }
}

fn look_up(name: &CStrIn, function: &Out<*const c_void>, version: i32, flags: u64) -> Result<i32, Error> {
    let name = name.get()?.to_str().map_err(|_| Error::InvalidValue)?;
    if flags & !3 != 0 {
        return Err(Error::InvalidValue);
    }
    let (row, status) = choose(name, u32::try_from(version).unwrap_or(0), flags & PER_THREAD != 0);
    function.set(row.map_or(std::ptr::null(), |r| r.address().cast()))?;
    Ok(status)
}

/// The newest form of a function that `version` already had: plain name, then `_v2`, `_v3` ..., each with the
/// per-thread suffix if that is wanted and exists.
fn choose(name: &str, version: u32, per_thread: bool) -> (Option<&'static Row>, i32) {
    let mut known = false;
    let mut best: Option<&'static Row> = None;
    for form in 1..=4 {
        let base = if form == 1 { name.to_owned() } else { format!("{name}_v{form}") };
        let own = per_thread.then(|| find(&format!("{base}_ptsz")).or_else(|| find(&format!("{base}_ptds"))));
        let Some(row) = own.flatten().or_else(|| find(&base)) else { continue };
        known = true;
        let better = best.is_none_or(|b| row.is_implemented() || !b.is_implemented());
        if row.since() <= version && better {
            best = Some(row);
        }
    }
    let status = match (best, known) {
        (Some(_), _) => FOUND,
        (None, true) => VERSION_NOT_SUFFICIENT,
        (None, false) => NOT_FOUND,
    };
    (best, status)
}

fn find(name: &str) -> Option<&'static Row> {
    ghost_abi::find(TABLE, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(of: &str, version: u32, per_thread: bool) -> (Option<&'static str>, i32) {
        let (row, status) = choose(of, version, per_thread);
        (row.map(Row::name), status)
    }

    #[test]
    fn the_newest_form_the_caller_knows_is_chosen() {
        assert_eq!(name("cuMemAlloc", 12_000, false), (Some("cuMemAlloc_v2"), FOUND));
        assert_eq!(name("cuEventElapsedTime", 12_000, false).0, Some("cuEventElapsedTime"));
        assert_eq!(name("cuEventElapsedTime", 13_000, false).0, Some("cuEventElapsedTime_v2"));
        assert_eq!(name("cuMemcpyAsync", 13_000, true).0, Some("cuMemcpyAsync_ptsz"));
        assert_eq!(name("cuStreamGetCaptureInfo", 13_000, false).0, Some("cuStreamGetCaptureInfo_v3"));
    }

    #[test]
    fn what_does_not_exist_is_told_from_what_is_too_new() {
        assert_eq!(name("", 0, false), (None, NOT_FOUND));
        assert_eq!(name("cuNothing", 13_000, false), (None, NOT_FOUND));
        assert_eq!(name("cuLibraryLoadData", 11_000, false), (None, VERSION_NOT_SUFFICIENT));
    }
}
