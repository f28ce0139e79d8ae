//! One bit per 2 MiB of device memory: does the store hold anything there.
//! It answers "maybe" or "certainly not"; it never knows what is held.

const PAGE_SHIFT: u32 = 21;
/// Pages told apart; addresses further apart than this many pages (16 TiB) share bits, which only costs time.
const PAGES: u64 = 1 << 23;

/// The bits; 1 MiB of address space, touched only where something is held.
#[derive(Debug, Default)]
pub(super) struct Near {
    words: Vec<u64>,
    any: bool,
}

impl Near {
    pub(super) fn set(&mut self, address: u64, bytes: u64) {
        if self.words.is_empty() {
            self.words = vec![0; (PAGES / 64) as usize];
        }
        self.any = true;
        for page in pages(address, bytes) {
            self.words[(page / 64) as usize] |= 1 << (page % 64);
        }
    }

    /// Forgets one page after the caller saw that nothing lies in it.
    pub(super) fn clear_page(&mut self, address: u64) {
        let page = (address >> PAGE_SHIFT) % PAGES;
        if let Some(word) = self.words.get_mut((page / 64) as usize) {
            *word &= !(1 << (page % 64));
        }
    }

    /// Whether anything may be held in `[address, address + bytes)`.
    #[inline]
    pub(super) fn test(&self, address: u64, bytes: u64) -> bool {
        if !self.any || bytes == 0 {
            return false;
        }
        let first = address >> PAGE_SHIFT;
        let last = address.saturating_add(bytes - 1) >> PAGE_SHIFT;
        if last - first >= PAGES {
            return true;
        }
        (first / 64..=last / 64).any(|word| {
            let low = if word == first / 64 { u64::MAX << (first % 64) } else { u64::MAX };
            let high = if word == last / 64 { u64::MAX >> (63 - last % 64) } else { u64::MAX };
            self.words[(word % (PAGES / 64)) as usize] & low & high != 0
        })
    }
}

fn pages(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let first = address >> PAGE_SHIFT;
    let last = address.saturating_add(bytes.saturating_sub(1)) >> PAGE_SHIFT;
    (first..=last).take(PAGES as usize).map(|page| page % PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 32 << 40;

    #[test]
    fn a_set_range_is_near_and_its_neighbours_are_not() {
        let mut near = Near::default();
        assert!(!near.test(BASE, 1 << 40));
        near.set(BASE + (5 << 21) - 1, 2);
        assert!(near.test(BASE + (4 << 21), 1));
        assert!(near.test(BASE + (5 << 21), 1));
        assert!(!near.test(BASE + (6 << 21), 1 << 30));
        assert!(near.test(BASE, 1 << 30));
    }

    #[test]
    fn a_cleared_page_is_not_near() {
        let mut near = Near::default();
        near.set(BASE, 4 << 21);
        near.clear_page(BASE + (1 << 21) + 77);
        assert!(!near.test(BASE + (1 << 21), 1 << 21));
        assert!(near.test(BASE + (2 << 21), 1));
    }
}
