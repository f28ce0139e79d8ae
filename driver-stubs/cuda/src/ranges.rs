//! Addresses: which ranges of this process are device memory, pinned host memory or managed memory, and where
//! new device memory goes. It counts no bytes against a GPU; that is ghostd's ledger.

use std::collections::BTreeMap;

/// First address of device memory; free in ordinary and in sanitised processes. Its upper half is no round number, so
/// that two small integers side by side in a kernel's arguments do not look like a pointer.
pub const BASE: u64 = 0x29a5 << 32;
/// Address space of one device.
pub const DEVICE_SPAN: u64 = 1 << 40;
/// Device memory is taken from the GPU in blocks of this size.
pub const BLOCK: u64 = 2 << 20;
/// Alignment of every allocation.
const ALIGN: u64 = 512;

/// What an address range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Device,
    /// Pinned by cuMemHostAlloc: host and device pointer are the same.
    HostAllocated,
    /// Pinned by cuMemHostRegister.
    HostRegistered,
    Managed,
    /// Reserved by cuMemAddressReserve; not mapped yet.
    Reserved,
}

/// One range this process got from us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub base: u64,
    pub bytes: u64,
    /// CUDA ordinal.
    pub device: usize,
    pub memory: Memory,
    /// Unique for the life of the process (CU_POINTER_ATTRIBUTE_BUFFER_ID).
    pub id: u64,
    pub flags: u32,
}

/// Every range by its base.
#[derive(Debug, Default)]
pub struct Ranges {
    by_base: BTreeMap<u64, Range>,
    next_id: u64,
}

impl Ranges {
    pub fn insert(&mut self, base: u64, bytes: u64, device: usize, memory: Memory, flags: u32) {
        self.next_id += 1;
        self.by_base.insert(base, Range { base, bytes, device, memory, id: self.next_id, flags });
    }

    /// The range an address lies in.
    pub fn find(&self, address: u64) -> Option<Range> {
        let (_, range) = self.by_base.range(..=address).next_back()?;
        (address - range.base < range.bytes.max(1)).then_some(*range)
    }

    /// The range that starts at `base`.
    pub fn at(&self, base: u64) -> Option<Range> {
        self.by_base.get(&base).copied()
    }

    pub fn remove(&mut self, base: u64) -> Option<Range> {
        self.by_base.remove(&base)
    }

    pub fn of_device(&self, device: usize) -> Vec<Range> {
        self.by_base.values().filter(|r| r.device == device).copied().collect()
    }

    /// Whether any range overlaps `[base, base + bytes)`.
    pub fn overlaps(&self, base: u64, bytes: u64) -> bool {
        let end = base.saturating_add(bytes);
        self.by_base.range(..end).next_back().is_some_and(|(_, r)| r.base.saturating_add(r.bytes) > base)
    }
}

/// Where device memory of one device lies: first fit over a list of holes.
#[derive(Debug)]
pub struct AddressSpace {
    base: u64,
    span: u64,
    holes: BTreeMap<u64, u64>,
    /// Blocks that small allocations share, each with its own holes.
    shared: BTreeMap<u64, BTreeMap<u64, u64>>,
}

/// What an allocation of `bytes` really takes.
pub fn rounded(bytes: u64) -> Option<u64> {
    let bytes = bytes.max(1).checked_next_multiple_of(ALIGN)?;
    if bytes >= BLOCK / 2 { bytes.checked_next_multiple_of(BLOCK) } else { Some(bytes) }
}

/// An allocation: where, how much it really takes, and how many bytes of blocks were taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub address: u64,
    pub bytes: u64,
    /// Bytes of new blocks; what the GPU's ledger must provide.
    pub taken: u64,
}

impl AddressSpace {
    pub fn new(base: u64, span: u64) -> AddressSpace {
        AddressSpace { base, span, holes: BTreeMap::from([(base, span)]), shared: BTreeMap::new() }
    }

    /// As new: everything placed is gone.
    pub fn reset(&mut self) {
        *self = AddressSpace::new(self.base, self.span);
    }

    /// Finds room for `bytes`; half a block and more gets blocks of its own.
    pub fn place(&mut self, bytes: u64) -> Option<Placed> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        if bytes >= BLOCK / 2 {
            let taken = bytes.checked_next_multiple_of(BLOCK)?;
            let address = take(&mut self.holes, taken)?;
            return Some(Placed { address, bytes: taken, taken });
        }
        if let Some(address) = self.shared.values_mut().find_map(|holes| take(holes, bytes)) {
            return Some(Placed { address, bytes, taken: 0 });
        }
        let block = take(&mut self.holes, BLOCK)?;
        self.shared.insert(block, BTreeMap::from([(block + bytes, BLOCK - bytes)]));
        Some(Placed { address: block, bytes, taken: BLOCK })
    }

    /// Takes back what [`place`](Self::place) gave. Returns the bytes of blocks that are free again.
    pub fn release(&mut self, address: u64, bytes: u64) -> u64 {
        if bytes >= BLOCK / 2 {
            give(&mut self.holes, address, bytes);
            return bytes;
        }
        let block = address - address % BLOCK;
        let Some(holes) = self.shared.get_mut(&block) else { return 0 };
        give(holes, address, bytes);
        if holes.get(&block) != Some(&BLOCK) {
            return 0;
        }
        self.shared.remove(&block);
        give(&mut self.holes, block, BLOCK);
        BLOCK
    }

    /// Takes addresses only, for reservations that are mapped later.
    pub fn reserve(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(BLOCK)?;
        let align = alignment.max(BLOCK).checked_next_power_of_two()?;
        let (&base, &len) = self.holes.iter().find(|&(&b, &l)| b.next_multiple_of(align) - b + bytes <= l)?;
        let address = base.next_multiple_of(align);
        self.holes.remove(&base);
        give(&mut self.holes, base, address - base);
        give(&mut self.holes, address + bytes, base + len - address - bytes);
        Some(address)
    }
}

fn take(holes: &mut BTreeMap<u64, u64>, bytes: u64) -> Option<u64> {
    let (&base, &len) = holes.iter().find(|&(_, &len)| len >= bytes)?;
    holes.remove(&base);
    if len > bytes {
        holes.insert(base + bytes, len - bytes);
    }
    Some(base)
}

fn give(holes: &mut BTreeMap<u64, u64>, base: u64, bytes: u64) {
    if bytes == 0 {
        return;
    }
    let (mut base, mut bytes) = (base, bytes);
    if let Some((&before, &len)) = holes.range(..base).next_back()
        && before + len == base
    {
        holes.remove(&before);
        (base, bytes) = (before, bytes + len);
    }
    if let Some(&len) = holes.get(&(base + bytes)) {
        holes.remove(&(base + bytes));
        bytes += len;
    }
    holes.insert(base, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_allocations_share_a_block_and_give_it_back_together() {
        let mut space = AddressSpace::new(BASE, 64 * BLOCK);
        let a = space.place(100).unwrap();
        let b = space.place(1000).unwrap();
        assert_eq!((a.taken, b.taken, b.address), (BLOCK, 0, a.address + 512));
        assert_eq!(space.release(a.address, a.bytes), 0);
        assert_eq!(space.release(b.address, b.bytes), BLOCK);
        assert_eq!(space.place(64 * BLOCK).unwrap().address, BASE);
    }

    proptest! {
        #[test]
        fn allocations_never_overlap_and_everything_comes_back(sizes in prop::collection::vec((1u64..8 * BLOCK, any::<bool>()), 1..200)) {
            let span = 1 << 34;
            let mut space = AddressSpace::new(BASE, span);
            let mut live: Vec<Placed> = Vec::new();
            let mut taken = 0;
            for (size, drop_one) in sizes {
                let placed = space.place(size).unwrap();
                prop_assert!(live.iter().all(|l| l.address + l.bytes <= placed.address || placed.address + placed.bytes <= l.address));
                taken += placed.taken;
                live.push(placed);
                if drop_one {
                    let gone = live.swap_remove(size as usize % live.len());
                    taken -= space.release(gone.address, gone.bytes);
                }
            }
            for placed in live {
                taken -= space.release(placed.address, placed.bytes);
            }
            prop_assert_eq!(taken, 0);
            prop_assert_eq!(space.place(span).unwrap().address, BASE);
        }
    }
}
