//! A piece of device memory whose content is known: bytes, or eight bytes repeated (zeros above all).
//! It knows nothing of other pieces.

use std::sync::atomic::{AtomicU64, Ordering};

/// Eight bytes repeated; the byte at address `a` is `pattern[a % 8]`.
pub(super) type Pattern = [u8; 8];

pub(super) const ZEROS: Pattern = [0; 8];

/// What a piece is charged beside its bytes.
pub(super) const PIECE_COST_BYTES: u64 = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Bytes(Vec<u8>),
    Repeat(Pattern),
}

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: u64,
    /// When it was written; larger is newer.
    pub(super) stamp: u64,
    /// Where the write it came from began: an object begins there, as far as is known.
    pub(super) base: u64,
    pub(super) body: Body,
    used: AtomicU64,
}

impl Piece {
    pub(super) fn new(base: u64, bytes: u64, stamp: u64, body: Body) -> Piece {
        Piece { bytes, stamp, base, body, used: AtomicU64::new(stamp) }
    }

    pub(super) fn touch(&self, stamp: u64) {
        self.used.store(stamp, Ordering::Relaxed);
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn cost_bytes(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64 + PIECE_COST_BYTES,
            Body::Repeat(_) => PIECE_COST_BYTES,
        }
    }

    /// The part `[from, to)` of this piece, offsets in bytes; same write, so same stamp and base.
    pub(super) fn part(&self, from: u64, to: u64) -> Piece {
        let body = match &self.body {
            Body::Bytes(bytes) => Body::Bytes(bytes[from as usize..to as usize].to_vec()),
            Body::Repeat(pattern) => Body::Repeat(*pattern),
        };
        let piece = Piece::new(self.base, to - from, self.stamp, body);
        piece.touch(self.used());
        piece
    }

    /// Keeps only the first `bytes`.
    pub(super) fn shorten(&mut self, bytes: u64) {
        self.bytes = bytes;
        if let Body::Bytes(held) = &mut self.body {
            held.truncate(bytes as usize);
        }
    }
}

/// The repeated form of `value`'s first `width` bytes, written from `address` on; `width` is 1, 2, 4 or 8.
pub(super) fn pattern_of(address: u64, width: u32, value: u64) -> Pattern {
    let bytes = value.to_le_bytes();
    let mut pattern = ZEROS;
    for i in 0..8u64 {
        pattern[((address + i) % 8) as usize] = bytes[(i % u64::from(width)) as usize];
    }
    pattern
}

/// Writes `pattern` as it lies from `address` on.
pub(super) fn lay(pattern: &Pattern, address: u64, out: &mut [u8]) {
    if *pattern == ZEROS {
        out.fill(0);
        return;
    }
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = pattern[((address + i as u64) % 8) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_follows_addresses_not_the_start_of_the_fill() {
        let pattern = pattern_of(0x1002, 4, 0x0403_0201);
        let mut out = [0; 10];
        lay(&pattern, 0x1002, &mut out);
        assert_eq!(out, [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]);
        lay(&pattern, 0x1004, &mut out[..3]);
        assert_eq!(out[..3], [3, 4, 1]);
    }
}
