//! Stream memory operations: a stream that writes a word, or that waits for one to have a value. A wait is unknown
//! work: the helper thread looks until the value is there. Nothing is priced.

use std::ffi::c_void;

use crate::core::Core;
use crate::queue::Action;
use crate::ranges::Memory;
use crate::stream::{Legacy, Named, PerThread};
use crate::{Cuda, Error, driver, graph, stream};

ghost_abi::rows! { Cuda;
    since 11070 fn cuStreamWriteValue32_v2(stream: Legacy, address: u64, value: u32, flags: u32) => write_32;
    since 11070 fn cuStreamWriteValue32_v2_ptsz(stream: PerThread, address: u64, value: u32, flags: u32) => write_32;
    since 11070 fn cuStreamWriteValue64_v2(stream: Legacy, address: u64, value: u64, flags: u32) => write_64;
    since 11070 fn cuStreamWriteValue64_v2_ptsz(stream: PerThread, address: u64, value: u64, flags: u32) => write_64;
    since 11070 fn cuStreamWaitValue32_v2(stream: Legacy, address: u64, value: u32, flags: u32) => wait_32;
    since 11070 fn cuStreamWaitValue32_v2_ptsz(stream: PerThread, address: u64, value: u32, flags: u32) => wait_32;
    since 11070 fn cuStreamWaitValue64_v2(stream: Legacy, address: u64, value: u64, flags: u32) => wait_64;
    since 11070 fn cuStreamWaitValue64_v2_ptsz(stream: PerThread, address: u64, value: u64, flags: u32) => wait_64;
    since 8000 fn cuStreamWriteValue32(stream: Legacy, address: u64, value: u32, flags: u32) => write_32;
    since 8000 fn cuStreamWriteValue32_ptsz(stream: PerThread, address: u64, value: u32, flags: u32) => write_32;
    since 9000 fn cuStreamWriteValue64(stream: Legacy, address: u64, value: u64, flags: u32) => write_64;
    since 9000 fn cuStreamWriteValue64_ptsz(stream: PerThread, address: u64, value: u64, flags: u32) => write_64;
    since 8000 fn cuStreamWaitValue32(stream: Legacy, address: u64, value: u32, flags: u32) => wait_32;
    since 8000 fn cuStreamWaitValue32_ptsz(stream: PerThread, address: u64, value: u32, flags: u32) => wait_32;
    since 9000 fn cuStreamWaitValue64(stream: Legacy, address: u64, value: u64, flags: u32) => wait_64;
    since 9000 fn cuStreamWaitValue64_ptsz(stream: PerThread, address: u64, value: u64, flags: u32) => wait_64;
}

const FLUSH: u32 = 1 << 30;

/// One word of memory a stream writes or looks at.
#[derive(Clone, Copy, Debug)]
struct Word {
    address: u64,
    bytes: usize,
}

impl Word {
    fn new(core: &Core, address: u64, bytes: usize) -> Result<Word, Error> {
        let range = core.ranges.find(address).ok_or(Error::InvalidValue)?;
        let fits = address - range.base + bytes as u64 <= range.bytes;
        if !fits || !address.is_multiple_of(bytes as u64) {
            return Err(Error::InvalidValue);
        }
        Ok(Word { address, bytes })
    }

    fn is_host(self, core: &Core) -> bool {
        let memory = core.ranges.find(self.address).map(|r| r.memory);
        matches!(memory, Some(Memory::HostAllocated | Memory::HostRegistered | Memory::Managed))
    }

    fn read(self, core: &Core) -> u64 {
        let mut bytes = [0; 8];
        if !self.is_host(core) {
            core.store.read(self.address, &mut bytes[..self.bytes]);
        } else if self.bytes == 4 {
            // SAFETY: an aligned word of pinned memory this process still has (checked just above).
            let value = unsafe { (self.address as *const u32).read_volatile() };
            bytes[..4].copy_from_slice(&value.to_ne_bytes());
        } else {
            // SAFETY: as above.
            bytes = unsafe { (self.address as *const u64).read_volatile() }.to_ne_bytes();
        }
        u64::from_ne_bytes(bytes)
    }

    fn write(self, core: &mut Core, value: u64) {
        let bytes = value.to_ne_bytes();
        if !self.is_host(core) {
            core.store.write(self.address, &bytes[..self.bytes]);
        } else if self.bytes == 4 {
            // SAFETY: an aligned word of pinned memory this process still has (checked just above).
            unsafe { (self.address as *mut u32).write_volatile(value as u32) };
        } else {
            // SAFETY: as above.
            unsafe { (self.address as *mut u64).write_volatile(value) };
        }
    }
}

fn write(stream: *mut c_void, address: u64, bytes: usize, value: u64, flags: u32) -> Result<(), Error> {
    if flags > 1 {
        return Err(Error::InvalidValue);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let handle = stream::resolve(&mut core, stream)?;
    let word = Word::new(&core, address, bytes)?;
    graph::forbid_capture(&mut core, handle)?;
    // The word appears when the stream gets there, which somebody on the host may be waiting for.
    core.push(
        handle,
        Vec::new(),
        Action::When(Box::new(move |core, start, now| {
            let due = start <= now;
            if due {
                word.write(core, value);
            }
            due
        })),
    )?;
    drop(core);
    crate::host::wake(driver);
    Ok(())
}

/// Conditions by `CUstreamWaitValue_flags`.
fn met(word: Word, seen: u64, value: u64, condition: u32) -> bool {
    let mask = if word.bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
    match condition {
        0 if word.bytes == 4 => (seen as i32).wrapping_sub(value as i32) >= 0,
        0 => (seen as i64).wrapping_sub(value as i64) >= 0,
        1 => seen == value,
        2 => seen & value != 0,
        _ => !(seen | value) & mask != 0,
    }
}

fn wait(stream: *mut c_void, address: u64, bytes: usize, value: u64, flags: u32) -> Result<(), Error> {
    let condition = flags & !FLUSH;
    if condition > 3 {
        return Err(Error::InvalidValue);
    }
    let driver = driver::get()?;
    let mut core = driver.core();
    let handle = stream::resolve(&mut core, stream)?;
    let word = Word::new(&core, address, bytes)?;
    graph::forbid_capture(&mut core, handle)?;
    core.push(
        handle,
        Vec::new(),
        Action::When(Box::new(move |core, start, now| start <= now && met(word, word.read(core), value, condition))),
    )?;
    drop(core);
    crate::host::wake(driver);
    Ok(())
}

fn write_32(stream: impl Named, address: u64, value: u32, flags: u32) -> Result<(), Error> {
    write(stream.named(), address, 4, value.into(), flags)
}

fn write_64(stream: impl Named, address: u64, value: u64, flags: u32) -> Result<(), Error> {
    write(stream.named(), address, 8, value, flags)
}

fn wait_32(stream: impl Named, address: u64, value: u32, flags: u32) -> Result<(), Error> {
    wait(stream.named(), address, 4, value.into(), flags)
}

fn wait_64(stream: impl Named, address: u64, value: u64, flags: u32) -> Result<(), Error> {
    wait(stream.named(), address, 8, value, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_compares_as_the_reference_says() {
        let word = Word { address: 0, bytes: 4 };
        assert!(met(word, 5, 5, 0) && met(word, 6, 5, 0) && !met(word, 4, 5, 0));
        assert!(met(word, 0, u64::from(u32::MAX), 0), "the difference wraps");
        assert!(met(word, 5, 5, 1) && !met(word, 4, 5, 1));
        assert!(met(word, 6, 2, 2) && !met(word, 5, 2, 2));
        assert!(met(word, 0, 0, 3) && !met(word, u64::from(u32::MAX), 0, 3));
    }
}
