//! The rack a user names: a TOML file or a rack that ships with the project.
//! What a rack file may say is the model's to judge.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ghost_model::{Rack, RackError};

use crate::failure::{Usage, usage};

/// The rack that is started when none is named.
pub const DEFAULT: &str = "nvl8";

/// A rack that has been read and found good.
#[derive(Debug)]
pub struct Source {
    pub text: String,
    pub rack: Rack,
    /// How to name it to another process in another directory.
    pub argument: PathBuf,
}

impl Source {
    /// Reads a file of this name, or else a rack that ships with the project.
    pub fn read(name: &Path) -> anyhow::Result<Source> {
        match std::fs::read_to_string(name) {
            Ok(text) => Ok(Source { rack: parse(&text, name)?, text, argument: std::path::absolute(name)? }),
            Err(error) => {
                let shipped = name.to_str().and_then(Rack::embedded);
                let text = shipped.ok_or_else(|| unknown(name, &error))?;
                Ok(Source { rack: parse(text, name)?, text: text.to_owned(), argument: name.to_owned() })
            }
        }
    }
}

/// Reads the copy that a running rack keeps.
pub fn read_copy(file: &Path) -> anyhow::Result<Rack> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    parse(&text, file)
}

fn parse(text: &str, name: &Path) -> anyhow::Result<Rack> {
    Rack::parse(text, &name.display().to_string()).map_err(|error: RackError| Usage(error.to_string()).into())
}

fn unknown(name: &Path, error: &std::io::Error) -> anyhow::Error {
    let known: Vec<_> = Rack::EMBEDDED.iter().map(|(name, _)| *name).collect();
    usage(format!("--rack {}: {error}; expected a rack file (TOML) or one of: {}", name.display(), known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_file_and_no_shipped_rack_is_refused_with_those_that_are() {
        let error = Source::read(Path::new("nvl9")).unwrap_err().to_string();
        assert!(error.starts_with("--rack nvl9: ") && error.ends_with("nvl8, nvl72"), "{error}");
    }

    #[test]
    fn a_shipped_rack_needs_no_file() {
        assert_eq!(Source::read(Path::new(DEFAULT)).unwrap().rack.trays.len(), 2);
    }
}
