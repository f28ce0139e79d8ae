//! What every vendor library says of itself: its version and the texts of its codes.
//! The values belong to the libraries; only the look-up is here.

use std::ffi::{CStr, c_char};

/// A library's version, as its `GetProperty` function counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// `libraryPropertyType` 0.
    pub major: i32,
    /// `libraryPropertyType` 1.
    pub minor: i32,
    /// `libraryPropertyType` 2.
    pub patch: i32,
}

impl Version {
    /// The part that a `libraryPropertyType` asks for.
    pub fn property(self, kind: i32) -> Option<i32> {
        [self.major, self.minor, self.patch].get(usize::try_from(kind).ok()?).copied()
    }
}

/// Texts of a library's status values, and one for all others.
#[derive(Debug)]
pub struct Texts {
    /// Value and text.
    pub known: &'static [(i32, &'static CStr)],
    /// The text of any other value.
    pub other: &'static CStr,
}

impl Texts {
    /// The text of a value, valid as long as the library.
    pub fn of(&self, status: i32) -> *const c_char {
        let known = self.known.iter().find(|(code, _)| *code == status);
        known.map_or(self.other, |(_, text)| text).as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_property_or_status_still_has_an_answer() {
        let version = Version { major: 12, minor: 2, patch: 0 };
        assert_eq!([version.property(1), version.property(3), version.property(-1)], [Some(2), None, None]);
        let texts = Texts { known: &[(0, c"fine")], other: c"what" };
        assert_eq!(texts.of(7), texts.other.as_ptr());
    }
}
