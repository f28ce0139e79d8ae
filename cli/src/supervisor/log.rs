//! The supervisor's log file: 10 MiB, three files in all, then the oldest goes.
//! A log that cannot be written never stops a rack.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const MAX_BYTES: u64 = 10 << 20;
/// Files kept in all.
const FILES: u32 = 3;

/// The log.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// Lines go to standard error too.
    aloud: bool,
}

impl Log {
    pub fn open(dir: &Path, aloud: bool) -> io::Result<Log> {
        fs::create_dir_all(dir)?;
        let path = dir.join("rack.log");
        let file = append_to(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Log { path, file, bytes, aloud })
    }

    /// Writes one line, stamped with seconds since the Unix epoch.
    pub fn line(&mut self, who: &str, what: &str) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = format!("{}.{:03} {who}: {what}\n", since.as_secs(), since.subsec_millis());
        if self.aloud {
            let _ = io::stderr().write_all(format!("{who}: {what}\n").as_bytes());
        }
        if self.bytes + line.len() as u64 > MAX_BYTES {
            let _ = self.rotate();
        }
        if self.file.write_all(line.as_bytes()).is_ok() {
            self.bytes += line.len() as u64;
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        let old = |n: u32| self.path.with_extension(format!("log.{n}"));
        for n in (1..FILES - 1).rev() {
            let _ = fs::rename(old(n), old(n + 1));
        }
        fs::rename(&self.path, old(1))?;
        self.file = append_to(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_makes_room_for_a_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::open(dir.path(), false).unwrap();
        let long = "x".repeat(6 << 20);
        for _ in 0..5 {
            log.line("test", &long);
        }
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["rack.log", "rack.log.1", "rack.log.2"]);
    }
}
