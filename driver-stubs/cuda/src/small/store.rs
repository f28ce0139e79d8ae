//! The map of what was written to device memory, piece by piece, newest wins.
//! It knows addresses only: no stream, no context, no kernel.
//!
//! Whatever is not in the map reads zero, so a write of zeros and a lost write look alike and old bytes never show.
//! A write of *unknown length* at `u` may have overwritten anything above `u`. It is kept as a mark: a read is taken
//! to be of one object, which begins at the nearest base (start of a write, or mark) at or below the read's start;
//! from that base's mark, and from every mark inside the read on, pieces older than the mark read zero.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::counters::{Counters, Skipped};
use super::near::Near;
use super::piece::{Body, Pattern, Piece, ZEROS, lay, pattern_of};

/// Bytes of one operation that are kept.
pub const OPERATION_LIMIT_BYTES: u64 = 1 << 20;
/// Bytes kept in one process; beyond it the least recently used pieces go.
pub const PROCESS_LIMIT_BYTES: u64 = 256 << 20;
/// How far above a write of unknown length a piece is still looked for.
const REACH_BYTES: u64 = 2 << 20;
/// Object starts of every allocator in use are multiples of this; other starts lie inside an object.
const OBJECT_ALIGN_BYTES: u64 = 256;
/// Of one bit of `Near`.
const PAGE_BYTES: u64 = 1 << 21;
const MARKS_BEFORE_PRUNING: usize = 1 << 14;

/// Kept bytes of one process's device memory.
#[derive(Debug, Default)]
pub struct Store {
    pieces: BTreeMap<u64, Piece>,
    /// Writes of unknown length: start and stamp.
    marks: BTreeMap<u64, u64>,
    near: Near,
    stamp: u64,
    held_bytes: u64,
    prune_at: usize,
    counters: Counters,
}

/// A stretch of a read: all visible bytes of one piece, or a gap.
pub(super) enum Stretch<'a> {
    Bytes(&'a [u8]),
    Repeat(Pattern, u64),
}

impl Store {
    /// Bytes that were copied in.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let length = bytes.len() as u64;
        if length > OPERATION_LIMIT_BYTES {
            self.counters.copies_over_limit += 1;
            return self.drop_range(address, length);
        }
        if length == 0 || self.overwrite(address, bytes) {
            return;
        }
        self.put(address, length, Body::Bytes(bytes.to_vec()));
    }

    /// A write of something that is not kept: `bytes` from `address` on read zero; `None` = length unknown.
    #[inline]
    pub fn zero(&mut self, address: u64, bytes: Option<u64>) {
        match bytes {
            Some(bytes) => {
                if self.near.test(address, bytes) {
                    self.repeat(address, bytes, ZEROS);
                }
            }
            None => {
                if self.near.test(address, REACH_BYTES) {
                    self.mark(address);
                }
            }
        }
    }

    /// A memset of `count` elements of `width` bytes (1, 2, 4).
    pub fn fill(&mut self, address: u64, width: u32, value: u32, count: u64) {
        if !matches!(width, 1 | 2 | 4) {
            return self.drop_range(address, u64::from(width).saturating_mul(count));
        }
        let pattern = pattern_of(address, width, u64::from(value));
        self.repeat(address, u64::from(width).saturating_mul(count), pattern);
    }

    /// A copy inside device memory.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        if bytes == 0 || to == from {
            return;
        }
        if let Some(pattern) = self.uniform(from, bytes) {
            let shift = (to.wrapping_sub(from) % 8) as usize;
            let mut moved = pattern;
            moved.rotate_right(shift);
            return if moved == ZEROS { self.zero(to, Some(bytes)) } else { self.repeat(to, bytes, moved) };
        }
        if bytes > OPERATION_LIMIT_BYTES {
            self.counters.copies_over_limit += 1;
            return self.drop_range(to, bytes);
        }
        let mut held = vec![0; bytes as usize];
        self.read(from, &mut held);
        self.write(to, &held);
    }

    /// What `[address, address + out.len())` holds; what is not kept reads zero.
    pub fn read(&self, address: u64, out: &mut [u8]) {
        let mut at = 0;
        self.walk(address, out.len() as u64, |stretch| match stretch {
            Stretch::Bytes(bytes) => {
                out[at..at + bytes.len()].copy_from_slice(bytes);
                at += bytes.len();
            }
            Stretch::Repeat(pattern, bytes) => {
                let to = at + bytes as usize;
                lay(&pattern, address + at as u64, &mut out[at..to]);
                at = to;
            }
        });
    }

    /// The range is freed, unmapped or trimmed: nothing of it may show again.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        if !self.near.test(address, bytes) {
            return;
        }
        self.carve(address, bytes);
        let marks: Vec<u64> = self.marks.range(address..address.saturating_add(bytes)).map(|(&at, _)| at).collect();
        for at in marks {
            self.marks.remove(&at);
        }
        self.clear_near(address, bytes);
    }

    /// What was done and what could not be done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether anything is kept in the range or may be.
    #[inline]
    pub fn has_near(&self, address: u64, bytes: u64) -> bool {
        self.near.test(address, bytes)
    }

    pub(super) fn count(&mut self, reason: Skipped) {
        self.counters.count(reason);
    }

    pub(super) fn count_run(&mut self) {
        self.counters.ran += 1;
    }

    /// `bytes` from `address` on hold `pattern`, at any length: it costs the same. Zeros over the limit are not kept.
    pub(super) fn repeat(&mut self, address: u64, bytes: u64, pattern: Pattern) {
        if bytes == 0 {
            return;
        }
        if pattern == ZEROS && bytes > OPERATION_LIMIT_BYTES {
            return self.drop_range(address, bytes);
        }
        self.put(address, bytes, Body::Repeat(pattern));
    }

    /// The pattern the whole range holds, if it is one. A range over the limit is uniform unless pieces say otherwise.
    pub(super) fn uniform(&self, address: u64, bytes: u64) -> Option<Pattern> {
        if !self.near.test(address, bytes) {
            return Some(ZEROS);
        }
        let mut seen: Option<Pattern> = None;
        let mut same = true;
        self.walk(address, bytes, |stretch| match stretch {
            Stretch::Bytes(_) => same = false,
            Stretch::Repeat(pattern, _) => same &= *seen.get_or_insert(pattern) == pattern,
        });
        if same { seen.or(Some(ZEROS)) } else { None }
    }

    /// A range whose content is lost; unlike `zero` it leaves no piece.
    fn drop_range(&mut self, address: u64, bytes: u64) {
        if self.near.test(address, bytes) {
            self.carve(address, bytes);
            self.clear_near(address, bytes);
        }
    }

    /// The frequent case: the same range is written again.
    fn overwrite(&mut self, address: u64, bytes: &[u8]) -> bool {
        let Some(piece) = self.pieces.get_mut(&address) else { return false };
        if piece.bytes != bytes.len() as u64 {
            return false;
        }
        let Body::Bytes(held) = &mut piece.body else { return false };
        held.copy_from_slice(bytes);
        self.stamp += 1;
        piece.stamp = self.stamp;
        if address.is_multiple_of(OBJECT_ALIGN_BYTES) {
            piece.base = address;
        }
        piece.touch(self.stamp);
        true
    }

    fn put(&mut self, address: u64, bytes: u64, body: Body) {
        if self.near.test(address, bytes) {
            self.carve(address, bytes);
        }
        self.stamp += 1;
        let base = self.base_for(address);
        let piece = Piece::new(base, bytes, self.stamp, body);
        self.held_bytes += piece.cost_bytes();
        self.near.set(address, bytes);
        self.pieces.insert(address, piece);
        if self.held_bytes > PROCESS_LIMIT_BYTES {
            self.evict();
        }
    }

    /// An object begins at an aligned start; another start belongs to the object below it, wherever that begins.
    fn base_for(&self, address: u64) -> u64 {
        if address.is_multiple_of(OBJECT_ALIGN_BYTES) {
            return address;
        }
        let piece = self.pieces.range(..address).next_back().map(|(_, piece)| piece.base);
        let mark = self.marked_base(address);
        let lowest = address.saturating_sub(OPERATION_LIMIT_BYTES);
        piece.max(mark).map_or(lowest, |base| base.max(lowest))
    }

    fn mark(&mut self, address: u64) {
        let around = (address & !(PAGE_BYTES - 1))..address.saturating_add(REACH_BYTES);
        let below = self.pieces.range(..address).next_back().is_some_and(|(&at, piece)| at + piece.bytes > address);
        if !below && self.pieces.range(around).next().is_none() {
            return self.clear_near(address, REACH_BYTES);
        }
        self.stamp += 1;
        self.marks.insert(address, self.stamp);
        self.remove_from(address);
        if self.marks.len() > self.prune_at.max(MARKS_BEFORE_PRUNING) {
            self.prune_marks();
        }
    }

    /// Frees what no read can see any more after a mark at `address`: the piece written from there.
    fn remove_from(&mut self, address: u64) {
        if self.pieces.get(&address).is_some_and(|piece| piece.base <= address) {
            self.remove(address);
        }
    }

    fn remove(&mut self, start: u64) -> Option<Piece> {
        let piece = self.pieces.remove(&start)?;
        self.held_bytes -= piece.cost_bytes();
        Some(piece)
    }

    /// Marks with nothing above them to hide only tell where objects begin; they go when there are many.
    fn prune_marks(&mut self) {
        let pieces = &self.pieces;
        self.marks.retain(|&at, _| {
            pieces.range(at..at.saturating_add(REACH_BYTES)).next().is_some()
                || pieces.range(..at).next_back().is_some_and(|(&start, piece)| start + piece.bytes > at)
        });
        self.prune_at = self.marks.len() * 2;
    }

    /// Cuts `[address, address + bytes)` out of the pieces.
    fn carve(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        if let Some((&start, piece)) = self.pieces.range(..address).next_back()
            && start + piece.bytes > address
        {
            self.cut(start, address, end);
        }
        loop {
            let Some((&start, _)) = self.pieces.range(address..end).next() else { return };
            self.cut(start, address, end);
        }
    }

    /// Cuts `[address, end)` out of the piece at `start`.
    fn cut(&mut self, start: u64, address: u64, end: u64) {
        let Some(mut piece) = self.remove(start) else { return };
        let piece_end = start + piece.bytes;
        if piece_end > end {
            let tail = piece.part(end - start, piece.bytes);
            self.held_bytes += tail.cost_bytes();
            self.pieces.insert(end, tail);
        }
        if start < address {
            piece.shorten(address - start);
            self.held_bytes += piece.cost_bytes();
            self.pieces.insert(start, piece);
        }
    }

    /// Clears the bits of pages in which nothing is left.
    fn clear_near(&mut self, address: u64, bytes: u64) {
        if bytes > 1 << 36 {
            return;
        }
        let mut page = address & !(PAGE_BYTES - 1);
        let end = address.saturating_add(bytes);
        while page < end {
            let inside = self.pieces.range(page..page + PAGE_BYTES).next().is_some();
            let across = self.pieces.range(..page).next_back().is_some_and(|(&at, piece)| at + piece.bytes > page);
            if !inside && !across {
                self.near.clear_page(page);
            }
            page += PAGE_BYTES;
        }
    }

    /// Drops the least recently used pieces until three quarters of the limit are left.
    fn evict(&mut self) {
        let mut by_use: Vec<(u64, u64)> = self.pieces.iter().map(|(&start, piece)| (piece.used(), start)).collect();
        by_use.sort_unstable();
        for (_, start) in by_use {
            if self.held_bytes <= PROCESS_LIMIT_BYTES / 4 * 3 {
                return;
            }
            if let Some(piece) = self.remove(start) {
                self.counters.evicted_pieces += 1;
                self.counters.evicted_bytes += piece.bytes;
            }
        }
    }

    /// Shows the visible stretches of a range in order; together they cover it.
    fn walk<'a>(&'a self, address: u64, bytes: u64, mut show: impl FnMut(Stretch<'a>)) {
        if bytes == 0 {
            return;
        }
        if !self.near.test(address, bytes) || (bytes > OPERATION_LIMIT_BYTES && !self.one_piece(address, bytes)) {
            return show(Stretch::Repeat(ZEROS, bytes));
        }
        let end = address + bytes;
        let mut view = View { store: self, cutoff: self.cutoff_at(address), at: address };
        let first = self.pieces.range(..=address).next_back().map_or(address, |(&start, _)| start);
        for (&start, piece) in self.pieces.range(first..end) {
            if start + piece.bytes > view.at {
                view.piece(start, piece, end, &mut show);
            }
        }
        view.gap(end, &mut show);
    }

    fn one_piece(&self, address: u64, bytes: u64) -> bool {
        self.pieces
            .range(..=address)
            .next_back()
            .is_some_and(|(&start, piece)| start + piece.bytes >= address.saturating_add(bytes))
    }

    /// Pieces older than this do not show in a read that starts at `address`.
    fn cutoff_at(&self, address: u64) -> u64 {
        if self.marks.is_empty() {
            return 0;
        }
        let mark = self.marked_base(address).unwrap_or(0);
        let piece = self.pieces.range(..=address).next_back().map_or(0, |(_, piece)| piece.base);
        self.marks.range(mark.max(piece).min(address)..=address).map(|(_, &stamp)| stamp).max().unwrap_or(0)
    }

    /// The nearest mark at or below `address` at which an object may begin.
    fn marked_base(&self, address: u64) -> Option<u64> {
        self.marks.range(..=address).rev().map(|(&at, _)| at).find(|at| at.is_multiple_of(OBJECT_ALIGN_BYTES))
    }
}

/// A walk over one read.
struct View<'a> {
    store: &'a Store,
    cutoff: u64,
    at: u64,
}

impl<'a> View<'a> {
    fn gap(&mut self, to: u64, show: &mut impl FnMut(Stretch<'a>)) {
        if to > self.at {
            show(Stretch::Repeat(ZEROS, to - self.at));
            self.pass(to);
        }
    }

    /// Moves on, meeting the marks on the way.
    fn pass(&mut self, to: u64) {
        for (_, &stamp) in self.store.marks.range((Bound::Excluded(self.at), Bound::Included(to))) {
            self.cutoff = self.cutoff.max(stamp);
        }
        self.at = to;
    }

    fn piece(&mut self, start: u64, piece: &'a Piece, end: u64, show: &mut impl FnMut(Stretch<'a>)) {
        self.gap(start, show);
        let until = end.min(start + piece.bytes);
        while self.at < until {
            let marks = (Bound::Excluded(self.at), Bound::Excluded(until));
            let stop = self.store.marks.range(marks).next().map_or(until, |(&at, _)| at);
            if piece.stamp < self.cutoff {
                show(Stretch::Repeat(ZEROS, stop - self.at));
            } else {
                piece.touch(self.store.stamp);
                match &piece.body {
                    Body::Bytes(held) => {
                        show(Stretch::Bytes(&held[(self.at - start) as usize..(stop - start) as usize]));
                    }
                    Body::Repeat(pattern) => show(Stretch::Repeat(*pattern, stop - self.at)),
                }
            }
            self.pass(stop);
        }
    }
}

#[cfg(test)]
mod tests;
