//! The edge as a C caller meets it.

use ghost_abi::{
    AnyVersion, Fault, In, InOut, MaybeIn, MaybeOut, Out, OutList, Text, Versioned, absent, ask, ask_text, find,
};
use ghost_abi::{library, rows, status, versioned};
use std::cell::Cell;
use std::ffi::c_char;
use std::ptr;

library! {
    Demo { name: "libdemo", not_supported: 3, panic: 999, invalid_argument: 2, too_short: 7, version_mismatch: 25,
           enter: guard, leave: remember }
}

status! {
    Error for Demo { InvalidArgument = 2, InsufficientSize = 7, Version = 25 }
    faults: InvalidArgument, short: InsufficientSize, version: Version
}

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
    static FORKED: Cell<bool> = const { Cell::new(false) };
}

fn guard(_row: &'static ghost_abi::Row) -> i32 {
    if FORKED.get() { 1 } else { 0 }
}

fn remember(_row: &'static ghost_abi::Row, status: i32) -> i32 {
    LAST.set(status);
    status
}

mod door {
    use super::*;

    rows! { Demo;
        /// A link of a device.
        fn demoLink(link: u32, up: Out<u32>) => link;
        fn demoPanic(depth: u32) => fall;
        fn demoRaw(status: i32) => raw;
        since 12 fn demoName() -> *const c_char => name;
        fn demoPanicName() -> *const c_char => no_name;
        fn demoAbsent(a: u32, b: Out<u32>);
        fn demoAbsentPointer() -> *mut u32;
        fn demoAbsentVoid(a: u64) -> ();
        fn demoAbsentRead(a: u64) -> isize = -1;
        fn demoReported();
    }
    absent! { Demo; demoAxpy demoScal }

    fn link(link: u32, up: Out<u32>) -> Result<(), Error> {
        if link > 17 {
            return Err(Error::InvalidArgument);
        }
        Ok(up.set(1)?)
    }

    fn fall(depth: u32) -> Result<(), Error> {
        panic!("a handler fell {depth} deep")
    }

    fn raw(status: i32) -> i32 {
        status
    }

    fn name() -> *const c_char {
        c"demo".as_ptr()
    }

    fn no_name() -> *const c_char {
        panic!("no name")
    }
}

static TABLE: ghost_abi::Table = &[door::ROWS, door::ABSENT];

fn link(number: u32, up: *mut u32) -> i32 {
    // SAFETY: `up` is null or a live variable of the test.
    unsafe { door::demoLink(number, Out::from_raw(up)) }
}

#[test]
fn null_and_out_of_range_are_the_librarys_invalid_argument() {
    let mut up = 9;
    assert_eq!((link(3, &mut up), up), (0, 1));
    assert_eq!(link(3, ptr::null_mut()), 2);
    assert_eq!((link(18, &mut up), LAST.get()), (2, 2));
}

#[test]
fn a_row_without_an_arrow_answers_not_supported_and_touches_nothing() {
    let mut out = 9;
    // SAFETY: `out` lives through the call.
    unsafe {
        assert_eq!(door::demoAbsent(1, Out::from_raw(&mut out)), 3);
        assert!(door::demoAbsentPointer().is_null());
        door::demoAbsentVoid(1);
        assert_eq!(door::demoAbsentRead(1), -1);
        assert_eq!(door::demoAxpy(), 3);
    }
    assert_eq!(out, 9);
    assert_eq!(find(TABLE, "demoAxpy").map(|row| (row.is_implemented(), row.calls())), Some((false, 1)));
}

#[test]
fn a_panicking_handler_never_crosses_the_edge() {
    let before = ghost_abi::panics();
    // SAFETY: no pointers.
    unsafe {
        assert_eq!(door::demoPanic(2), 999);
        assert!(door::demoPanicName().is_null());
    }
    assert_eq!(ghost_abi::panics(), before + 2);
    assert_eq!(LAST.get(), 999);
}

#[test]
fn enter_can_refuse_and_leave_sees_every_status() {
    // SAFETY: no pointers.
    unsafe {
        assert_eq!((door::demoRaw(77), LAST.get()), (77, 77));
        FORKED.set(true);
        assert_eq!((door::demoRaw(77), LAST.get()), (1, 1));
        FORKED.set(false);
        assert_eq!(door::demoScal(), 3);
    }
    assert_eq!(LAST.get(), 3);
}

#[test]
fn the_table_lists_every_row_with_its_address() {
    let names: Vec<_> = TABLE.iter().copied().flatten().map(|row| row.name()).collect();
    assert_eq!(names.len(), 12);
    let row = find(TABLE, "demoName").expect("declared above");
    assert_eq!((row.is_implemented(), row.since()), (true, 12));
    assert_eq!(row.address(), door::demoName as *const ());
    assert!(find(TABLE, "demoNam").is_none());
}

#[test]
fn the_first_miss_is_reported_once() {
    static SEEN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    unsafe extern "C" fn take(library: *const c_char, name: *const c_char) {
        // SAFETY: a reporter is given two NUL-terminated strings.
        let (library, name) = unsafe { (std::ffi::CStr::from_ptr(library), std::ffi::CStr::from_ptr(name)) };
        if library == c"libdemo" && name == c"demoReported" {
            SEEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    ghost_abi::set_reporter(take);
    // SAFETY: no pointers.
    let answers = unsafe { [door::demoReported(), door::demoReported(), door::demoReported()] };
    assert_eq!(answers, [3, 3, 3]);
    assert_eq!(SEEN.load(std::sync::atomic::Ordering::Relaxed), 1);
}

versioned! {
    struct MemoryV2: v 2, 40 bytes { total: u64, reserved: u64, free: u64, used: u64 }
}

#[test]
fn a_version_word_is_matched_before_anything_else_is_read() {
    assert_eq!(MemoryV2::VERSION, 0x0200_0028);
    let mut memory = MemoryV2 { used: 5, ..MemoryV2::blank() };
    // SAFETY: `memory` lives to the end of the test.
    let lens = unsafe { InOut::from_raw(&raw mut memory) };
    assert_eq!(lens.checked().map(|m| m.used), Ok(5));
    let mut short = 0x0100_0018_u32;
    // SAFETY: one word lives; a wrong word keeps both lenses from reading on.
    let (any, typed) =
        unsafe { (AnyVersion::from_raw(&mut short), InOut::<MemoryV2>::from_raw((&raw mut short).cast())) };
    assert!(any.of::<MemoryV2>().is_none());
    assert_eq!((any.word(), typed.checked().err()), (Ok(0x0100_0018), Some(Fault::Version)));
    assert_eq!(Error::from(Fault::Version), Error::Version);
}

#[test]
fn a_text_that_does_not_fit_writes_nothing() {
    assert_eq!(ask_text(5, |text, len| text.set(len, "demo")), Ok("demo".to_owned()));
    assert_eq!(ask_text(4, |text, len| text.set(len, "demo")), Err(Fault::Short));
    assert_eq!(ask_text(4, |text, len| text.set_truncated(len, "demo")), Ok("dem".to_owned()));
    // SAFETY: null is allowed.
    let null = unsafe { Text::from_raw(ptr::null_mut()) };
    assert_eq!(null.set(9, "demo"), Err(Fault::Null));
}

#[test]
fn optional_lenses_accept_null() {
    // SAFETY: null is allowed.
    unsafe {
        MaybeOut::from_raw(ptr::null_mut()).set(1_u32);
        assert_eq!(MaybeIn::<u32>::from_raw(ptr::null()).get(), None);
        assert_eq!(In::<u32>::from_raw(ptr::null()).get(), Err(Fault::Null));
        assert_eq!(OutList::<u32>::from_raw(ptr::null_mut()).set(0, [].into_iter()), Ok(()));
        assert_eq!(OutList::<u32>::from_raw(ptr::null_mut()).set(1, [1].into_iter()), Err(Fault::Null));
    }
}

#[test]
fn a_list_writes_only_what_the_caller_declared() {
    let mut list = [0_u32; 3];
    // SAFETY: `list` lives to the end of the test.
    let lens = unsafe { OutList::from_raw(list.as_mut_ptr()) };
    assert_eq!(lens.set(2, [1, 2, 3].into_iter()), Err(Fault::Short));
    assert_eq!(lens.fill(2, [1, 2, 3].into_iter()), Ok(2));
    assert_eq!(list, [1, 2, 0]);
    assert_eq!(ask(|out: Out<u32>| out.set(5)), Ok(5));
}
