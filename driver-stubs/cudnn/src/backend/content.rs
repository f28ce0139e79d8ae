//! What a backend descriptor holds: values by attribute, with what they point to as it was when they were set.
//! It knows no rule: which value may be set is in `attribute.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

/// One attribute's value.
#[derive(Clone, Debug)]
pub enum Value {
    /// Elements as the caller's bytes, with their type.
    Plain { kind: i32, count: usize, bytes: Vec<u8> },
    /// Other descriptors, frozen: their handles may be destroyed.
    Descriptors(Vec<Arc<Content>>),
}

/// A descriptor's type and values.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// A `cudnnBackendDescriptorType_t`.
    pub descriptor: i32,
    /// By `cudnnBackendAttributeName_t`.
    pub values: BTreeMap<i32, Value>,
}

impl Content {
    /// Nothing set yet.
    pub fn new(descriptor: i32) -> Content {
        Content { descriptor, values: BTreeMap::new() }
    }

    /// Integers of any width; booleans and enumerations are integers too. Empty when it is not set.
    pub fn integers(&self, name: i32) -> Vec<i64> {
        let Some(Value::Plain { count, bytes, .. }) = self.values.get(&name) else {
            return Vec::new();
        };
        let width = bytes.len().checked_div(*count).unwrap_or(0);
        bytes.chunks_exact(width.max(1)).map(integer).collect()
    }

    /// One integer.
    pub fn integer(&self, name: i32) -> Option<i64> {
        self.integers(name).first().copied()
    }

    /// Descriptors under an attribute.
    pub fn descriptors(&self, name: i32) -> &[Arc<Content>] {
        match self.values.get(&name) {
            Some(Value::Descriptors(list)) => list,
            _ => &[],
        }
    }

    /// The first of them.
    pub fn descriptor(&self, name: i32) -> Option<&Content> {
        self.descriptors(name).first().map(|content| &**content)
    }

    /// Sets integers, as our own answers do.
    pub fn set_integer(&mut self, name: i32, kind: i32, value: i64) {
        self.values.insert(name, Value::Plain { kind, count: 1, bytes: value.to_le_bytes().to_vec() });
    }

    /// Sets one descriptor.
    pub fn set_descriptor(&mut self, name: i32, content: Arc<Content>) {
        self.values.insert(name, Value::Descriptors(vec![content]));
    }
}

/// Little-endian, sign-extended from four bytes, as enumerations are signed.
fn integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [byte] => i64::from(byte),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_at_their_own_width() {
        let mut content = Content::new(17);
        content.values.insert(907, Value::Plain { kind: 2, count: 1, bytes: vec![1] });
        content.values.insert(901, Value::Plain { kind: 1, count: 1, bytes: vec![9, 0, 0, 0] });
        content.set_integer(906, 3, -5);
        assert_eq!([907, 901, 906, 902].map(|name| content.integer(name)), [Some(1), Some(9), Some(-5), None]);
    }
}
