//! Handles: numbers that name objects, checked at every use, so that a freed or foreign handle is an error
//! and never a stray pointer. It knows nothing of what the objects are.

use std::ffi::c_void;

/// What kind of object a handle names; the top byte of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Context = 0x11,
    Stream = 0x12,
    Event = 0x13,
    Module = 0x14,
    Function = 0x15,
    Graph = 0x16,
    GraphExec = 0x17,
    GraphNode = 0x18,
    Pool = 0x19,
    Allocation = 0x1a,
    Logger = 0x1b,
    UserObject = 0x1c,
}

/// A checked handle. Its number is no address of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(pub u64);

impl Handle {
    pub fn of(pointer: *mut c_void) -> Handle {
        Handle(pointer as u64)
    }

    pub fn pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }

    fn new(kind: Kind, index: usize, generation: u32) -> Handle {
        Handle((kind as u64) << 56 | u64::from(generation & 0xff_ffff) << 32 | index as u64)
    }
}

/// Objects of one kind.
#[derive(Debug)]
pub struct Arena<T> {
    kind: Kind,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Arena<T> {
    pub const fn new(kind: Kind) -> Arena<T> {
        Arena { kind, slots: Vec::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, value: T) -> Handle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, value: None });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        slot.value = Some(value);
        Handle::new(self.kind, index, slot.generation)
    }

    pub fn get(&self, handle: Handle) -> Option<&T> {
        self.slots[self.index(handle)?].value.as_ref()
    }

    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let index = self.index(handle)?;
        self.slots[index].value.as_mut()
    }

    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let index = self.index(handle)?;
        let slot = &mut self.slots[index];
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1) & 0xff_ffff;
        self.free.push(index);
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        let kind = self.kind;
        let named = move |(index, slot)| {
            let slot: &Slot<T> = slot;
            slot.value.as_ref().map(|value| (Handle::new(kind, index, slot.generation), value))
        };
        self.slots.iter().enumerate().filter_map(named)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Handle, &mut T)> {
        let kind = self.kind;
        let named = move |(index, slot)| {
            let slot: &mut Slot<T> = slot;
            let generation = slot.generation;
            slot.value.as_mut().map(|value| (Handle::new(kind, index, generation), value))
        };
        self.slots.iter_mut().enumerate().filter_map(named)
    }

    /// Removes every object `gone` says yes to.
    pub fn remove_if(&mut self, mut gone: impl FnMut(&T) -> bool) {
        let handles: Vec<Handle> = self.iter().filter(|(_, value)| gone(value)).map(|(handle, _)| handle).collect();
        for handle in handles {
            self.remove(handle);
        }
    }

    #[inline]
    fn index(&self, handle: Handle) -> Option<usize> {
        let index = (handle.0 & 0xffff_ffff) as usize;
        let slot = self.slots.get(index)?;
        (handle == Handle::new(self.kind, index, slot.generation)).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_is_refused_even_after_its_slot_is_reused() {
        let mut arena = Arena::new(Kind::Event);
        let old = arena.insert(1);
        assert_eq!(arena.remove(old), Some(1));
        let new = arena.insert(2);
        assert_ne!(old, new);
        assert_eq!((arena.get(old), arena.get(new)), (None, Some(&2)));
    }

    #[test]
    fn a_handle_of_another_kind_or_none_at_all_is_refused() {
        let mut streams = Arena::new(Kind::Stream);
        let mut events = Arena::new(Kind::Event);
        let stream = streams.insert(());
        events.insert(());
        assert!(events.get(stream).is_none());
        for odd in [0, 1, 2, u64::MAX, 0xdead_beef_0000] {
            assert!(streams.get(Handle(odd)).is_none());
        }
    }
}
