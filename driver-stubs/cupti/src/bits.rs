//! A set of small numbers that any thread may read while another changes it. No locks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORDS: usize = 16;

/// Numbers below 1024.
#[derive(Debug)]
pub struct Bits([AtomicU64; WORDS]);

impl Bits {
    pub const fn new() -> Bits {
        Bits([const { AtomicU64::new(0) }; WORDS])
    }

    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word.load(Relaxed) >> (number % 64) & 1 != 0)
    }

    /// Adds or removes a number; larger ones than fit are ignored.
    pub fn set(&self, number: u32, on: bool) {
        let Some(word) = self.0.get(number as usize / 64) else { return };
        let bit = 1_u64 << (number % 64);
        if on {
            word.fetch_or(bit, Relaxed)
        } else {
            word.fetch_and(!bit, Relaxed)
        };
    }

    /// Adds or removes every number.
    pub fn set_all(&self, on: bool) {
        self.0.iter().for_each(|word| word.store(if on { u64::MAX } else { 0 }, Relaxed));
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_in_after_it_was_added_and_out_after_it_was_removed() {
        let bits = Bits::new();
        bits.set(307, true);
        bits.set(5000, true);
        assert!(bits.has(307) && !bits.has(306) && !bits.has(5000) && !bits.is_empty());
        bits.set_all(true);
        bits.set(307, false);
        assert!(!bits.has(307) && bits.has(1023));
        bits.set_all(false);
        assert!(bits.is_empty());
    }
}
