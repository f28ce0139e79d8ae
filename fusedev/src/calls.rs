//! What programs asked for and did not get: functions without an implementation, programs we could not redirect.
//! Bounded whatever clients send; it must not judge which of them matter.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const MAX_CALLS: usize = 4096;
const MAX_PROGRAMS: usize = 64;
const MAX_NAME: usize = 256;

/// Calls and programs seen since ghostd started.
#[derive(Debug, Default)]
pub struct Calls {
    missing: BTreeMap<(String, String), u64>,
    unredirected: Vec<String>,
    /// Reports that found no room.
    dropped: u64,
}

impl Calls {
    /// Counts `library NUL function`; false if the bytes are no such pair.
    pub fn missing(&mut self, bytes: &[u8]) -> bool {
        let mut parts = bytes.splitn(2, |b| *b == 0).map(name);
        let (Some(Some(library)), Some(Some(function))) = (parts.next(), parts.next()) else {
            return false;
        };
        let full = self.missing.len() >= MAX_CALLS;
        match self.missing.entry((library, function)) {
            std::collections::btree_map::Entry::Vacant(_) if full => self.dropped += 1,
            entry => *entry.or_insert(0) += 1,
        }
        true
    }

    /// Remembers a program; false if the bytes are no path.
    pub fn unredirected(&mut self, bytes: &[u8]) -> bool {
        let Some(program) = name(bytes) else {
            return false;
        };
        if self.unredirected.contains(&program) {
            return true;
        }
        if self.unredirected.len() < MAX_PROGRAMS {
            self.unredirected.push(program);
        } else {
            self.dropped += 1;
        }
        true
    }

    /// Different missing functions.
    pub fn missing_count(&self) -> usize {
        self.missing.len()
    }

    pub fn programs(&self) -> &[String] {
        &self.unredirected
    }

    /// Lines `count library function`, most called first.
    pub fn missing_text(&self) -> String {
        let mut rows: Vec<_> = self.missing.iter().collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        rows.iter().fold(String::new(), |mut out, ((library, function), count)| {
            let _ = writeln!(out, "{count} {library} {function}");
            out
        })
    }
}

/// A printable name of sensible length, without the trailing NUL C callers like to send.
fn name(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).ok()?;
    let fine = !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control);
    fine.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_library_and_function() {
        let mut calls = Calls::default();
        for call in [&b"libcuda\0cuFoo"[..], b"libcuda\0cuBar", b"libcuda\0cuFoo\0"] {
            assert!(calls.missing(call));
        }
        assert_eq!(calls.missing_text(), "2 libcuda cuFoo\n1 libcuda cuBar\n");
    }

    #[test]
    fn garbage_and_floods_are_bounded() {
        let mut calls = Calls::default();
        assert!(
            !calls.missing(b"") && !calls.missing(b"\0") && !calls.missing(b"a\0\x1b[2J") && !calls.missing(&[0xff; 9])
        );
        for i in 0..MAX_CALLS + 10 {
            calls.missing(format!("l\0f{i}").as_bytes());
            calls.unredirected(format!("/bin/{i}").as_bytes());
        }
        assert_eq!((calls.missing_count(), calls.programs().len()), (MAX_CALLS, MAX_PROGRAMS));
    }
}
