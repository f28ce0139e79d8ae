//! The map of what was written to device memory, piece by piece, newest wins.
//! It knows addresses only: no stream, no context, no kernel.

/// Kept bytes of one process's device memory.
#[derive(Debug, Default)]
pub struct Store {}

impl Store {
    /// Bytes that were copied in.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let _ = (address, bytes);
    }

    /// A write of something that is not kept: `bytes` from `address` on read zero; `None` = length unknown.
    pub fn zero(&mut self, address: u64, bytes: Option<u64>) {
        let _ = (address, bytes);
    }

    /// A memset of `count` elements of `width` bytes (1, 2, 4).
    pub fn fill(&mut self, address: u64, width: u32, value: u32, count: u64) {
        let _ = (address, width, value, count);
    }

    /// A copy inside device memory.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) {
        let _ = (to, from, bytes);
    }

    /// What `[address, address + out.len())` holds; what is not kept reads zero.
    pub fn read(&self, address: u64, out: &mut [u8]) {
        let _ = address;
        out.fill(0);
    }

    /// The range is freed, unmapped or trimmed: nothing of it may show again.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let _ = (address, bytes);
    }
}
