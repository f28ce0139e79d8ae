//! The store against a slow model in which every object knows its true bytes, under a random caching allocator.
//! It tests no kernel.

use super::*;
use proptest::prelude::*;

const BASE: u64 = 32 << 40;

fn bytes_of(store: &Store, address: u64, bytes: usize) -> Vec<u8> {
    let mut out = vec![0xEE; bytes];
    store.read(address, &mut out);
    out
}

#[test]
fn what_is_written_is_read_back_and_the_rest_reads_zero() {
    let mut store = Store::default();
    store.write(BASE + 3, &[1, 2, 3]);
    assert_eq!(bytes_of(&store, BASE, 8), [0, 0, 0, 1, 2, 3, 0, 0]);
}

#[test]
fn the_newest_write_wins_piece_by_piece() {
    let mut store = Store::default();
    store.write(BASE, &[1; 8]);
    store.write(BASE + 2, &[2; 3]);
    store.fill(BASE + 4, 2, 0x0403, 1);
    assert_eq!(bytes_of(&store, BASE, 8), [1, 1, 2, 2, 3, 4, 1, 1]);
}

#[test]
fn a_fill_of_any_width_and_length_reads_back() {
    let mut store = Store::default();
    store.fill(BASE + 4, 4, 0x0102_0304, 3);
    assert_eq!(bytes_of(&store, BASE, 16), [0, 0, 0, 0, 4, 3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1]);
    store.fill(BASE + (1 << 30), 1, 7, 1 << 29);
    assert_eq!(bytes_of(&store, BASE + (1 << 30) + (1 << 28), 3), [7; 3]);
}

#[test]
fn a_copy_takes_what_is_visible_and_overlaps_as_memmove_does() {
    let mut store = Store::default();
    store.write(BASE, &[1, 2, 3, 4, 5]);
    store.copy(BASE + 2, BASE, 5);
    assert_eq!(bytes_of(&store, BASE, 8), [1, 2, 1, 2, 3, 4, 5, 0]);
    store.copy(BASE, BASE + 4096, 4);
    assert_eq!(bytes_of(&store, BASE, 8), [0, 0, 0, 0, 3, 4, 5, 0]);
}

#[test]
fn a_copied_fill_keeps_its_phase() {
    let mut store = Store::default();
    store.fill(BASE, 4, 0x0403_0201, 8);
    store.copy(BASE + 4096 + 3, BASE, 32);
    assert_eq!(bytes_of(&store, BASE + 4096 + 2, 6), [0, 1, 2, 3, 4, 1]);
}

#[test]
fn a_write_of_unknown_length_hides_older_bytes_of_its_object_and_spares_the_neighbour() {
    let mut store = Store::default();
    store.write(BASE, &[1; 512]);
    store.write(BASE + 512, &[2; 512]);
    store.zero(BASE, None);
    assert_eq!(bytes_of(&store, BASE, 512), [0; 512]);
    assert_eq!(bytes_of(&store, BASE + 512, 512), [2; 512]);
    assert_eq!(bytes_of(&store, BASE, 1024), [0; 1024], "read as one object");
    store.write(BASE + 600, &[3; 4]);
    assert_eq!(bytes_of(&store, BASE, 1024)[600..605], [3, 3, 3, 3, 0], "newer than the unknown write");
}

#[test]
fn a_write_of_unknown_length_inside_an_object_hides_its_tail() {
    let mut store = Store::default();
    store.write(BASE, &[1; 64]);
    store.zero(BASE + 32, None);
    let mut expected = [1; 64];
    expected[32..].fill(0);
    assert_eq!(bytes_of(&store, BASE, 64), expected);
    assert_eq!(bytes_of(&store, BASE + 40, 8), [0; 8]);
}

#[test]
fn forgotten_memory_reads_zero() {
    let mut store = Store::default();
    store.write(BASE, &[1; 4096]);
    store.fill(BASE + (4 << 20), 1, 1, 64 << 20);
    store.forget(BASE + 1024, 1024);
    assert_eq!(bytes_of(&store, BASE + 1000, 48)[23..26], [1, 0, 0]);
    store.forget(BASE, 1 << 30);
    assert!(!store.has_near(BASE, 1 << 30));
    assert!(store.pieces.is_empty());
    assert_eq!(store.held_bytes, 0);
}

#[test]
fn a_copy_over_the_limit_is_not_kept_and_is_counted() {
    let mut store = Store::default();
    let large = vec![1; OPERATION_LIMIT_BYTES as usize + 1];
    store.write(BASE, &[9; 8]);
    store.write(BASE, &large);
    assert_eq!(bytes_of(&store, BASE, 8), [0; 8]);
    store.write(BASE, &large[1..]);
    assert_eq!(bytes_of(&store, BASE, 8), [1; 8]);
    assert_eq!(store.counters().copies_over_limit, 1);
}

#[test]
fn the_least_recently_used_pieces_go_when_the_process_keeps_too_much() {
    let mut store = Store::default();
    let piece = vec![1; OPERATION_LIMIT_BYTES as usize];
    let at = |i: u64| BASE + i * (2 << 20);
    for i in 0..255 {
        store.write(at(i), &piece);
    }
    assert_eq!(bytes_of(&store, at(0), 1), [1]);
    store.write(at(255), &piece);
    assert_eq!(bytes_of(&store, at(0), 1), [1], "used a moment ago");
    assert_eq!(bytes_of(&store, at(1), 1), [0], "least recently used");
    assert_eq!(bytes_of(&store, at(255), 1), [1]);
    let counters = store.counters();
    assert_eq!(counters.evicted_bytes, counters.evicted_pieces * OPERATION_LIMIT_BYTES);
    assert!(store.held_bytes <= PROCESS_LIMIT_BYTES);
}

#[test]
fn marks_that_hide_nothing_do_not_pile_up() {
    let mut store = Store::default();
    for i in 0..40_000u64 {
        store.write(BASE + 512 * i, &[1; 8]);
        store.zero(BASE + 512 * i, None);
    }
    assert!(store.marks.len() <= MARKS_BEFORE_PRUNING);
}

#[test]
fn a_write_into_an_object_nobody_computed_shows_whatever_happens_to_its_neighbours() {
    let mut store = Store::default();
    store.write(BASE, &[1; 512]);
    store.zero(BASE + 512, None);
    store.write(BASE + 512 + 100, &[7]);
    store.zero(BASE, None);
    assert_eq!(bytes_of(&store, BASE + 512, 102)[99..], [0, 7, 0]);
}

#[test]
fn a_uniform_range_is_recognised_through_several_pieces() {
    let mut store = Store::default();
    store.fill(BASE, 4, 5, 4);
    store.fill(BASE + 16, 4, 5, 4);
    assert_eq!(store.uniform(BASE, 32), Some(pattern_of(BASE, 4, 5)));
    assert_eq!(store.uniform(BASE, 36), None);
    assert_eq!(store.uniform(BASE + 64, 8), Some(ZEROS));
}

/// An object of the model: what its bytes truly are.
#[derive(Clone, Debug)]
struct Object {
    at: u64,
    /// `None` = never written since it was allocated: anything may show, as on the hardware.
    truth: Vec<Option<Byte>>,
    /// Its start was written in a way the store keeps.
    recorded: bool,
}

#[derive(Clone, Copy, Debug)]
struct Byte {
    value: u8,
    /// The store knew where the object begins when this was written: it may not be lost.
    sure: bool,
}

const LOST: Option<Byte> = Some(Byte { value: 0, sure: true });

#[derive(Clone, Debug)]
enum Step {
    Allocate { blocks: usize, trim: usize },
    Release { which: usize },
    Write { which: usize, from: usize, to: usize, value: u8 },
    Fill { which: usize, from: usize, words: usize, value: u32 },
    Unknown { which: usize, from: usize },
    Zero { which: usize, from: usize, to: usize },
    Copy { to: usize, from: usize },
    Read { which: usize, from: usize },
    Trim,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = 0usize..64;
    let at = || prop_oneof![3 => Just(0usize), 2 => 0usize..3000];
    let step = prop_oneof![
        4 => (1usize..6, 0usize..300).prop_map(|(blocks, trim)| Step::Allocate { blocks, trim }),
        2 => which.clone().prop_map(|which| Step::Release { which }),
        4 => (which.clone(), at(), at(), 1u8..).prop_map(|(which, from, to, value)| Step::Write { which, from, to, value }),
        2 => (which.clone(), at(), 0usize..200, any::<u32>())
            .prop_map(|(which, from, words, value)| Step::Fill { which, from, words, value }),
        3 => (which.clone(), at()).prop_map(|(which, from)| Step::Unknown { which, from }),
        1 => (which.clone(), at(), at()).prop_map(|(which, from, to)| Step::Zero { which, from, to }),
        1 => (which.clone(), which.clone()).prop_map(|(to, from)| Step::Copy { to, from }),
        6 => (which, at()).prop_map(|(which, from)| Step::Read { which, from }),
        1 => Just(Step::Trim),
    ];
    prop::collection::vec(step, 1..200)
}

#[derive(Debug, Default)]
struct Model {
    store: Store,
    live: Vec<Object>,
    free: Vec<(u64, u64)>,
    end: u64,
}

impl Model {
    /// First fit among what was released, then fresh memory; addresses are reused at once, pieces split and joined.
    fn allocate(&mut self, blocks: usize, trim: usize) {
        let bytes = blocks as u64 * 512;
        let at = match self.free.iter().position(|&(_, free)| free >= bytes) {
            Some(i) => {
                let (at, free) = self.free.swap_remove(i);
                if free > bytes {
                    self.free.push((at + bytes, free - bytes));
                }
                at
            }
            None => {
                self.end += bytes;
                BASE + self.end - bytes
            }
        };
        let truth = vec![None; bytes as usize - trim.min(bytes as usize - 1)];
        self.live.push(Object { at, truth, recorded: false });
    }

    fn release(&mut self, which: usize) {
        let object = self.live.swap_remove(which);
        let bytes = (object.truth.len() as u64).next_multiple_of(512);
        self.free.push((object.at, bytes));
        self.free.sort_unstable();
        self.free.dedup_by(|next, last| {
            let joined = last.0 + last.1 == next.0;
            last.1 += if joined { next.1 } else { 0 };
            joined
        });
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Allocate { blocks, trim } => return self.allocate(blocks, trim),
            Step::Trim => {
                for (at, bytes) in self.free.drain(..) {
                    self.store.forget(at, bytes);
                }
                return;
            }
            _ => {}
        }
        if self.live.is_empty() {
            return;
        }
        let count = self.live.len();
        match *step {
            Step::Release { which } => self.release(which % count),
            Step::Copy { to, from } => self.copy(to % count, from % count),
            Step::Read { which, from } => self.check(which % count, from % 256),
            Step::Write { which, from, to, value } => self.write(which % count, from, to, value),
            Step::Fill { which, from, words, value } => self.fill(which % count, from, words, value),
            Step::Unknown { which, from } => {
                let object = &mut self.live[which % count];
                let from = from % object.truth.len();
                object.truth[from..].fill(LOST);
                self.store.zero(object.at + from as u64, None);
            }
            Step::Zero { which, from, to } => {
                let (object, from, to) = range(&mut self.live[which % count], from, to);
                object.truth[from..to].fill(LOST);
                self.store.zero(object.at + from as u64, Some((to - from) as u64));
            }
            Step::Allocate { .. } | Step::Trim => {}
        }
    }

    fn write(&mut self, which: usize, from: usize, to: usize, value: u8) {
        let (object, from, to) = range(&mut self.live[which], from, to);
        let bytes: Vec<u8> = (from..to).map(|i| value.wrapping_add(i as u8) | 1).collect();
        object.recorded |= from == 0;
        for (slot, &value) in object.truth[from..to].iter_mut().zip(&bytes) {
            *slot = Some(Byte { value, sure: object.recorded });
        }
        self.store.write(object.at + from as u64, &bytes);
    }

    fn fill(&mut self, which: usize, from: usize, words: usize, value: u32) {
        let object = &mut self.live[which];
        let from = from % object.truth.len();
        let words = words.min((object.truth.len() - from) / 4);
        object.recorded |= from == 0 && words > 0;
        for (i, slot) in object.truth[from..from + words * 4].iter_mut().enumerate() {
            *slot = Some(Byte { value: value.to_le_bytes()[i % 4], sure: object.recorded });
        }
        self.store.fill(object.at + from as u64, 4, value, words as u64);
    }

    fn copy(&mut self, to: usize, from: usize) {
        if to == from {
            return;
        }
        let bytes = self.live[to].truth.len().min(self.live[from].truth.len());
        let mut held = vec![0; bytes];
        self.store.read(self.live[from].at, &mut held);
        let (target, source) = (self.live[to].at, self.live[from].at);
        self.store.copy(target, source, bytes as u64);
        for (slot, value) in self.live[to].truth.iter_mut().zip(held) {
            *slot = Some(Byte { value, sure: false });
        }
    }

    fn check(&self, which: usize, from: usize) {
        let object = &self.live[which];
        let from = from % object.truth.len();
        let held = bytes_of(&self.store, object.at + from as u64, object.truth.len() - from);
        for (i, (truth, &byte)) in object.truth[from..].iter().zip(&held).enumerate() {
            let Some(Byte { value, sure }) = *truth else { continue };
            // A read that begins inside an object cannot know where it begins: it may miss bytes, never show others'.
            let lost = byte == 0 && (!sure || from > 0);
            assert!(byte == value || lost, "byte {i} from {from} on reads {byte}, not {value}: {object:?}");
        }
    }
}

fn range(object: &mut Object, from: usize, to: usize) -> (&mut Object, usize, usize) {
    let bytes = object.truth.len();
    let (from, to) = (from % bytes, to % bytes);
    if to > from { (object, from, to) } else { (object, from, bytes) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_object_reads_its_own_bytes_and_never_those_of_one_that_was_there_before(steps in steps()) {
        let mut model = Model::default();
        for step in &steps {
            model.step(step);
        }
        for which in 0..model.live.len() {
            model.check(which, 0);
        }
    }
}
