//! Where this library lies, and the files beside it.
//! Found in /proc/self/maps, since the audit interface tells a library everything but its own path.

use crate::syscall::{self, Descriptor};
use core::ffi::CStr;

/// Where a package puts the libraries; used where /proc cannot be read.
const INSTALLED: &[u8] = b"/usr/lib/ghostrack/";

/// The longest path the kernel accepts, with its NUL.
const LONGEST: usize = 4096;

/// The directory, as the beginning of the path that is answered next.
#[derive(Debug)]
pub struct Directory {
    path: [u8; LONGEST],
    /// Length of the directory with its last slash; 0 while unknown.
    length: usize,
}

impl Directory {
    /// Nothing is redirected from here.
    pub const fn unknown() -> Self {
        Self { path: [0; LONGEST], length: 0 }
    }

    /// Becomes the directory of the file mapped at `address`.
    pub fn locate(&mut self, address: usize) {
        if !self.find(address) {
            self.take(INSTALLED);
        }
    }

    /// The path of a file in it, if the file can be read. Valid until the next call.
    pub fn file(&mut self, name: &[u8]) -> Option<&CStr> {
        let end = self.length.checked_add(name.len())?;
        if self.length == 0 || end >= LONGEST {
            return None;
        }
        self.path.get_mut(self.length..end)?.copy_from_slice(name);
        *self.path.get_mut(end)? = 0;
        let path = CStr::from_bytes_until_nul(&self.path).ok()?;
        syscall::readable(path).then_some(path)
    }

    fn find(&mut self, address: usize) -> bool {
        let Some(maps) = Descriptor::open(c"/proc/self/maps") else { return false };
        let mut lines = Lines::new(maps);
        while let Some(line) = lines.next() {
            if let Some(path) = mapped_at(line, address) {
                return self.take(path);
            }
        }
        false
    }

    fn take(&mut self, path: &[u8]) -> bool {
        let Some(slash) = path.iter().rposition(|&byte| byte == b'/') else { return false };
        let Some(place) = self.path.get_mut(..=slash) else { return false };
        place.copy_from_slice(path.get(..=slash).unwrap_or_default());
        self.length = slash + 1;
        true
    }
}

/// The lines of a file, read piece by piece. A line longer than the buffer is cut.
struct Lines {
    file: Descriptor,
    buffer: [u8; 2 * LONGEST],
    start: usize,
    end: usize,
}

impl Lines {
    fn new(file: Descriptor) -> Self {
        Self { file, buffer: [0; 2 * LONGEST], start: 0, end: 0 }
    }

    fn next(&mut self) -> Option<&[u8]> {
        loop {
            let held = self.buffer.get(self.start..self.end)?;
            if let Some(newline) = held.iter().position(|&byte| byte == b'\n') {
                let line = self.start..self.start + newline;
                self.start = line.end + 1;
                return self.buffer.get(line);
            }
            if !self.refill() {
                return None;
            }
        }
    }

    fn refill(&mut self) -> bool {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            self.end = 0;
        }
        let read = self.buffer.get_mut(self.end..).map_or(0, |rest| self.file.read(rest));
        self.end += read;
        read > 0
    }
}

/// The path of one line of a maps file, if the line covers `address`:
/// `start-end perms offset device inode   /path`.
fn mapped_at(line: &[u8], address: usize) -> Option<&[u8]> {
    let (start, rest) = hex(line)?;
    let (end, _) = hex(rest.strip_prefix(b"-")?)?;
    if !(start..end).contains(&address) {
        return None;
    }
    let slash = line.iter().position(|&byte| byte == b'/')?;
    line.get(slash..)
}

fn hex(text: &[u8]) -> Option<(usize, &[u8])> {
    let digits = text.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(digits)?;
    let mut value = 0_usize;
    for &byte in number {
        value = value.checked_mul(16)? | (byte as char).to_digit(16)? as usize;
    }
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"7f12a0000000-7f12a0003000 r-xp 00000000 08:01 42                         /opt/our rack/libghostrack-redirect.so";

    fn located(address: usize) -> Directory {
        let mut directory = Directory::unknown();
        directory.locate(address);
        directory
    }

    #[test]
    fn a_line_that_covers_the_address_gives_its_path() {
        assert_eq!(mapped_at(LINE, 0x7f12_a000_2fff), Some(b"/opt/our rack/libghostrack-redirect.so".as_slice()));
        assert_eq!(mapped_at(LINE, 0x7f12_a000_3000), None);
        assert_eq!(mapped_at(b"7f12a0000000-7f12a0003000 r-xp 00000000 00:00 0 [vdso]", 0x7f12_a000_0000), None);
    }

    #[test]
    fn a_process_finds_the_directory_of_its_own_code() {
        let mut directory = located(Directory::locate as *const () as usize);
        let program = std::env::current_exe().expect("a path");
        let name = program.file_name().expect("a name").as_encoded_bytes();
        let path = directory.file(name).expect("the program is readable").to_bytes().to_vec();
        assert_eq!(path, program.as_os_str().as_encoded_bytes());
        assert!(directory.file(b"no such file").is_none());
    }

    #[test]
    fn an_address_outside_every_file_means_the_installed_place() {
        let directory = located(1);
        assert_eq!(directory.path.get(..directory.length), Some(INSTALLED));
        assert!(Directory::unknown().file(b"libcuda.so.1").is_none());
    }

    #[test]
    fn a_name_too_long_for_a_path_is_refused() {
        let mut directory = located(1);
        assert!(directory.file(&[b'x'; LONGEST]).is_none());
    }
}
