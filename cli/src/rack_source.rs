//! The rack a user names: a TOML file or a rack that ships with the project.
//! What a rack file may say is the model's to judge.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ghost_model::{Rack, RackError};

use crate::failure::{Usage, usage};

/// The rack that is started when none is named.
pub const DEFAULT: &str = "nvl8";

/// The longest rack file that is read. A full rack takes some kilobytes.
const LONGEST_BYTES: u64 = 1 << 20;

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
        match read_text(name) {
            Ok(text) => Ok(Source { rack: parse(&text, name)?, text, argument: std::path::absolute(name)? }),
            Err(error) => {
                if std::fs::metadata(name).is_ok_and(|facts| !facts.is_dir()) {
                    return Err(usage(format!("--rack {}: {error}", name.display())));
                }
                let shipped = name.to_str().and_then(Rack::embedded);
                let text = shipped.ok_or_else(|| unknown(name, &error))?;
                Ok(Source { rack: parse(text, name)?, text: text.to_owned(), argument: name.to_owned() })
            }
        }
    }
}

/// Reads the copy that a running rack keeps.
pub fn read_copy(file: &Path) -> anyhow::Result<Rack> {
    let text = read_text(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    parse(&text, file)
}

/// A plain file's text. Devices never end and pipes never begin: neither is read.
fn read_text(name: &Path) -> io::Result<String> {
    // Opening a pipe must not wait for its other end.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(name)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("found something that is no regular file, expected a rack file (TOML)"));
    }
    let mut text = String::new();
    file.take(LONGEST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_BYTES {
        return Err(io::Error::other("found more than 1 MiB, expected a rack file (TOML) of at most 1 MiB"));
    }
    Ok(text)
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

    #[test]
    fn what_never_ends_or_never_begins_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in [Path::new("/dev/zero"), &pipe] {
            let error = Source::read(name).unwrap_err().to_string();
            assert!(error.contains(name.to_str().unwrap()) && error.contains("no regular file"), "{error}");
        }
    }

    #[test]
    fn a_file_too_long_to_be_a_rack_is_refused_with_the_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 40).unwrap();
        let error = Source::read(file.path()).unwrap_err().to_string();
        assert!(error.contains("at most 1 MiB"), "{error}");
    }
}
