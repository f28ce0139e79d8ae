//! What profilers show of a piece of work besides its times, under one number that priced work carries around.
//! Found out only while a profiler listens, and for what becomes part of a graph. It knows no stream and no time.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;

use ghost_table::trace::{Direction, Memory, What};
use parking_lot::Mutex;

use crate::module::Loaded;
use crate::price::Geometry;

/// What a piece of work is, as far as profilers show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    pub what: u32,
    pub detail: u32,
    /// Address of a name that lives as long as the process; 0 = none.
    pub name: usize,
    pub bytes: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub static_shared_bytes: u32,
    pub dynamic_shared_bytes: u32,
    pub registers: u32,
    pub local_bytes: u32,
    pub value: u32,
    pub from: Memory,
    pub to: Memory,
}

impl Label {
    pub fn new(what: What) -> Label {
        Label {
            what: what as u32,
            detail: 0,
            name: 0,
            bytes: 0,
            grid: [0; 3],
            block: [0; 3],
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
            registers: 0,
            local_bytes: 0,
            value: 0,
            from: Memory::Unknown,
            to: Memory::Unknown,
        }
    }

    pub fn named(mut self, name: &CStr) -> Label {
        static NAMES: Mutex<Option<HashSet<&'static CStr>>> = Mutex::new(None);
        let mut names = NAMES.lock();
        let names = names.get_or_insert_default();
        let known = names.get(name).copied().unwrap_or_else(|| {
            let kept: &'static CStr = Box::leak(name.to_owned().into_boxed_c_str());
            names.insert(kept);
            kept
        });
        self.name = known.as_ptr() as usize;
        self
    }
}

/// Labels are few: a program repeats itself. Beyond this many, work has none and is not told of.
const LABELS: usize = 1 << 20;

type Labels = (Vec<Label>, HashMap<Label, u32>);

/// Labels by number, and their numbers; number 0 is no label.
static ALL: Mutex<Option<Labels>> = Mutex::new(None);

/// The number of a label, which is what priced work carries.
pub fn number(label: Label) -> u32 {
    let mut all = ALL.lock();
    let (labels, numbers) = all.get_or_insert_default();
    if let Some(number) = numbers.get(&label) {
        return *number;
    }
    if labels.len() >= LABELS {
        return 0;
    }
    labels.push(label);
    let number = labels.len() as u32;
    numbers.insert(label, number);
    number
}

/// The label with a number.
pub fn of(number: u32) -> Option<Label> {
    let all = ALL.lock();
    all.as_ref()?.0.get((number as usize).checked_sub(1)?).copied()
}

/// The label of a kernel launch.
#[cold]
pub fn kernel(loaded: &Loaded, geometry: &Geometry) -> u32 {
    let info = &loaded.info;
    let label = Label {
        grid: geometry.grid,
        block: geometry.block,
        dynamic_shared_bytes: geometry.shared_bytes,
        static_shared_bytes: info.static_shared_bytes,
        registers: info.registers,
        local_bytes: info.local_bytes,
        ..Label::new(What::Kernel)
    };
    number(label.named(&loaded.name))
}

/// The label of a copy.
#[cold]
pub fn copy(direction: Direction, from: Memory, to: Memory, bytes: u64) -> u32 {
    number(Label { detail: direction as u32, bytes, from, to, ..Label::new(What::Copy) })
}

/// The label of a fill.
#[cold]
pub fn fill(to: Memory, value: u32, bytes: u64) -> u32 {
    number(Label { bytes, value, to, ..Label::new(What::Fill) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_have_one_number_and_none_is_zero() {
        let one = || Label { bytes: 7, ..Label::new(What::Kernel) }.named(c"_Z4kernv");
        assert_eq!(number(one()), number(one()));
        assert_ne!(number(one()), number(Label { bytes: 8, ..one() }));
        assert_eq!((of(number(one())), of(0)), (Some(one()), None));
    }
}
