//! Buffers a profiler lends: asked for, filled record by record, given back. A record never straddles a buffer's end;
//! what finds no buffer is counted as dropped. It does not know where records come from.

use crate::record::{Layout, size_of_kind};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// `CUpti_BuffersCallbackRequestFunc`.
pub type Request = unsafe extern "C" fn(buffer: *mut *mut u8, bytes: *mut usize, most_records: *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`.
pub type Complete =
    unsafe extern "C" fn(context: *mut c_void, stream: u32, buffer: *mut u8, bytes: usize, valid: usize);

static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Records that found no buffer since this was asked last.
pub fn take_dropped() -> usize {
    DROPPED.swap(0, Relaxed)
}

/// A buffer the profiler has lent.
#[derive(Debug)]
struct Lent {
    base: *mut u8,
    bytes: usize,
    used: usize,
    records: usize,
    most_records: usize,
}

/// Where records go.
#[derive(Debug)]
pub struct Outlet {
    request: Request,
    complete: Complete,
    lent: Option<Lent>,
    /// The profiler gave no buffer when it was asked last.
    refused: bool,
}

// SAFETY: a lent buffer belongs to its holder alone, and both callbacks may be called from any thread.
unsafe impl Send for Outlet {}

impl Outlet {
    pub fn new(request: Request, complete: Complete) -> Outlet {
        Outlet { request, complete, lent: None, refused: false }
    }

    /// Has a buffer in hand, unless the profiler gives none. Some profilers ask for their records only while they
    /// have lent a buffer.
    pub fn open(&mut self) {
        if self.lent.is_none() && !self.refused {
            self.lent = self.borrow();
            self.refused = self.lent.is_none();
        }
    }

    /// Appends a record.
    pub fn put<T: Layout>(&mut self, record: &T) {
        let bytes = size_of::<T>();
        if self.lent.as_ref().is_some_and(|lent| !lent.has_room(bytes)) {
            self.give_back();
        }
        self.open();
        match self.lent.as_mut().filter(|lent| lent.has_room(bytes)) {
            Some(lent) => lent.append(record),
            None => {
                DROPPED.fetch_add(1, Relaxed);
            }
        }
    }

    /// Gives the buffer in hand back, with what is in it.
    pub fn give_back(&mut self) {
        if let Some(lent) = self.lent.take() {
            // SAFETY: the profiler's own buffer, of which `used` bytes are records.
            unsafe { (self.complete)(std::ptr::null_mut(), 0, lent.base, lent.bytes, lent.used) };
        }
        self.refused = false;
    }

    fn borrow(&self) -> Option<Lent> {
        let (mut base, mut bytes, mut most_records) = (std::ptr::null_mut(), 0, 0);
        // SAFETY: the profiler writes one value to each.
        unsafe { (self.request)(&raw mut base, &raw mut bytes, &raw mut most_records) };
        let most_records = if most_records == 0 { usize::MAX } else { most_records };
        (!base.is_null() && bytes > 0).then_some(Lent { base, bytes, used: 0, records: 0, most_records })
    }
}

impl Lent {
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes - self.used >= bytes && self.records < self.most_records
    }

    fn append<T: Layout>(&mut self, record: &T) {
        // SAFETY: the profiler lends `bytes` at `base`, and `has_room` was asked before.
        unsafe { self.base.add(self.used).cast::<T>().write_unaligned(*record) };
        self.used += size_of::<T>();
        self.records += 1;
    }
}

/// The record after `previous` (or the first, if that is null) among `valid` bytes at `buffer`; null = no more.
///
/// # Safety
/// `buffer` has `valid` bytes that [`Outlet`] wrote, and `previous` is null or one of its records.
pub unsafe fn next(buffer: *mut u8, valid: usize, previous: *mut u8) -> *mut u8 {
    let at = if previous.is_null() {
        0
    } else {
        // SAFETY: a record begins with its kind.
        let kind = unsafe { previous.cast::<u32>().read_unaligned() };
        let Some(bytes) = size_of_kind(kind) else { return std::ptr::null_mut() };
        (previous as usize).wrapping_sub(buffer as usize).wrapping_add(bytes)
    };
    // SAFETY: inside the buffer.
    if at + 4 <= valid { unsafe { buffer.add(at) } } else { std::ptr::null_mut() }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::record::{Api, External, kind};
    use parking_lot::Mutex;

    const BYTES: usize = 100;

    static LENT: Mutex<Vec<Box<[u64]>>> = Mutex::new(Vec::new());
    static GIVEN_BACK: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new());
    pub static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    unsafe extern "C" fn lend(buffer: *mut *mut u8, bytes: *mut usize, most: *mut usize) {
        let mut lent = LENT.lock();
        lent.push(vec![0; BYTES.div_ceil(8)].into_boxed_slice());
        let base = lent.last_mut().map_or(std::ptr::null_mut(), |b| b.as_mut_ptr());
        // SAFETY: the outlet passes places for one value each.
        unsafe { (buffer.write(base.cast()), bytes.write(BYTES), most.write(0)) };
    }

    unsafe extern "C" fn refuse(buffer: *mut *mut u8, bytes: *mut usize, most: *mut usize) {
        // SAFETY: the outlet passes places for one value each.
        unsafe { (buffer.write(std::ptr::null_mut()), bytes.write(0), most.write(0)) };
    }

    unsafe extern "C" fn take(_context: *mut c_void, _stream: u32, buffer: *mut u8, _bytes: usize, valid: usize) {
        let mut kinds = Vec::new();
        let mut at = std::ptr::null_mut();
        loop {
            // SAFETY: a buffer as the outlet filled it.
            at = unsafe { next(buffer, valid, at) };
            if at.is_null() {
                break;
            }
            // SAFETY: a record begins with its kind.
            kinds.push(unsafe { at.cast::<u32>().read() });
        }
        GIVEN_BACK.lock().push(kinds);
    }

    fn api(of: u32) -> Api {
        Api { kind: of, callback: 0, start: 0, end: 0, process: 0, thread: 0, correlation: 0, status: 0 }
    }

    #[test]
    fn a_record_that_does_not_fit_goes_to_the_next_buffer_whole() {
        let _one = ONE_AT_A_TIME.lock();
        GIVEN_BACK.lock().clear();
        let mut outlet = Outlet::new(lend, take);
        let external = External {
            kind: kind::EXTERNAL_CORRELATION,
            external_kind: 1,
            external_id: 7,
            correlation: 1,
            reserved: 0,
        };
        outlet.put(&api(kind::RUNTIME));
        outlet.put(&api(kind::DRIVER));
        outlet.put(&external);
        outlet.put(&api(kind::RUNTIME));
        outlet.give_back();
        outlet.give_back();
        assert_eq!(
            *GIVEN_BACK.lock(),
            [vec![kind::RUNTIME, kind::DRIVER], vec![kind::EXTERNAL_CORRELATION, kind::RUNTIME]]
        );
    }

    #[test]
    fn a_record_without_a_buffer_is_counted_as_dropped_once() {
        let _one = ONE_AT_A_TIME.lock();
        take_dropped();
        let mut outlet = Outlet::new(refuse, take);
        outlet.put(&api(kind::RUNTIME));
        outlet.put(&api(kind::RUNTIME));
        assert_eq!((take_dropped(), take_dropped()), (2, 0));
    }
}
