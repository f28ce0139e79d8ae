//! A rack file that was refused: where, which key, what was found, what would be accepted.
//! Only messages are made here; what is wrong is decided in check.rs or by the TOML reader.

use std::fmt;

use super::check::Fault;

/// A rack file that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RackError {
    /// As given by the caller.
    pub file: String,
    /// From 1; absent where the fault is in what is not there.
    pub line: Option<usize>,
    /// The key, with its table.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What would be accepted.
    pub expected: String,
}

impl fmt::Display for RackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": found {}, expected {}", self.found, self.expected)
    }
}

impl RackError {
    pub(super) fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map(|span| span.start);
        let message = error.message().replace('\n', "; ");
        let (found, expected) = message.split_once(", expected ").unwrap_or((&message, "a rack file in valid TOML"));
        let key = match found.split_once('`') {
            Some((what, rest)) if what.ends_with("field ") => rest.split('`').next().unwrap_or_default(),
            _ => start.map_or("", |start| key_at(text, start)),
        };
        let missing = found.starts_with("missing field");
        Self {
            file: file.to_owned(),
            line: start.map(|start| 1 + text[..start.min(text.len())].matches('\n').count()),
            key: key.to_owned(),
            found: if missing { "nothing".to_owned() } else { found.to_owned() },
            expected: if missing { "a value".to_owned() } else { expected.to_owned() },
        }
    }

    pub(super) fn from_fault(file: &str, text: &str, fault: Fault) -> Self {
        let Fault { table, nth, key, found, expected } = fault;
        let own = line_of(text, table, nth, key);
        // A key left out of its table may take its value from the key of the same name at the top.
        let top = line_of(text, "", 0, key).key;
        let (table, line) = match (own.key, top) {
            (None, Some(line)) => ("", Some(line)),
            (line, _) => (table, line.or(own.header)),
        };
        let key = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
        Self { file: file.to_owned(), line, key, found, expected }
    }
}

/// The key on the line of a byte, if the line has one.
fn key_at(text: &str, start: usize) -> &str {
    let before = text.get(..start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    line.split_once('=').map_or("", |(key, _)| key.trim())
}

/// Where a table and a key in it stand, from 1.
struct Place {
    header: Option<usize>,
    key: Option<usize>,
}

/// Where the nth table of a name and its key stand; the table without a name is the top of the file.
fn line_of(text: &str, table: &str, nth: usize, key: &str) -> Place {
    let (mut inside, mut seen, mut header) = (table.is_empty(), 0, None);
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = header_name(line) {
            inside = name == table && seen == nth;
            seen += usize::from(name == table);
            if inside {
                header = Some(place + 1);
            }
        } else if inside && line.split_once('=').is_some_and(|(found, _)| found.trim() == key) {
            return Place { header, key: Some(place + 1) };
        }
    }
    Place { header, key: None }
}

/// The name in a line such as `[[tray]]`; lines of arrays begin with a bracket too, but hold quotes or commas.
fn header_name(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.trim_start_matches('[').split(']').next()?.trim();
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (!name.is_empty() && name.bytes().all(bare)).then_some(name)
}
