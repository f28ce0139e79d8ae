//! Xids as the kernel log has them, in a file of the tray that rotates, and in the host's kernel log if the rack says so.
//! It never fails a change: a log that cannot be written is only reported.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use ghost_model::BusId;

const MAX_BYTES: u64 = 10 << 20;
/// Files kept in all.
const FILES: u32 = 3;

/// The log.
#[derive(Debug)]
pub struct XidLog {
    path: PathBuf,
    to_kernel: bool,
}

/// One Xid in words.
#[derive(Debug)]
pub struct Line<'a> {
    pub bus_id: BusId,
    pub code: u32,
    pub pid: Option<u32>,
    /// Command name; empty if not known.
    pub name: &'a str,
}

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BusId { domain, bus, device, .. } = self.bus_id;
        write!(f, "NVRM: Xid (PCI:{domain:04x}:{bus:02x}:{device:02x}): {}, ", self.code)?;
        match self.pid {
            Some(pid) => write!(f, "pid={pid}, ")?,
            None => f.write_str("pid='<unknown>', ")?,
        }
        let name = if self.name.is_empty() { "<unknown>" } else { self.name };
        write!(f, "name={name}, {}", text(self.code))
    }
}

/// What happened, in a few words of our own.
fn text(code: u32) -> &'static str {
    match code {
        13 => "Graphics Exception: illegal instruction or access",
        31 => "MMU Fault: access to an address that is not mapped",
        43 => "Channel stopped by the application's fault",
        45 => "Channel removed after an earlier fault",
        48 => "Double bit ECC error",
        63 => "Row remapper: a row will be remapped",
        64 => "Row remapper: a row could not be remapped",
        74 => "NVLink error",
        79 => "GPU has fallen off the bus.",
        92 => "High rate of single bit ECC errors",
        94 => "Contained ECC error",
        95 => "Uncontained ECC error",
        119 | 120 => "GSP does not answer",
        144..=150 => "NVLink: link error",
        154 => "GPU recovery action changed",
        _ => "Reported by fault injection",
    }
}

impl XidLog {
    pub fn new(path: PathBuf, to_kernel: bool) -> XidLog {
        XidLog { path, to_kernel }
    }

    /// Appends a line, stamped with seconds since boot as the kernel log does.
    pub fn write(&self, now_ns: u64, line: &Line<'_>) {
        let (seconds, micros) = (now_ns / 1_000_000_000, now_ns / 1000 % 1_000_000);
        if let Err(error) = self.append(&format!("[{seconds:>5}.{micros:06}] {line}\n")) {
            tracing::warn!(file = %self.path.display(), %error, "an Xid could not be logged");
        }
        if self.to_kernel
            && let Err(error) = fs::write("/dev/kmsg", format!("<4>{line}\n"))
        {
            tracing::warn!(%error, "/dev/kmsg: an Xid could not be written; this needs root");
        }
    }

    fn append(&self, line: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        if file.metadata()?.len() + line.len() as u64 > MAX_BYTES {
            self.rotate()?;
            file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        }
        file.write_all(line.as_bytes())
    }

    fn rotate(&self) -> io::Result<()> {
        let old = |n: u32| self.path.with_extension(format!("log.{n}"));
        for n in (1..FILES - 1).rev() {
            let _ = fs::rename(old(n), old(n + 1));
        }
        fs::rename(&self.path, old(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(code: u32, pid: Option<u32>) -> String {
        let bus_id = BusId { domain: 8, bus: 1, device: 0, function: 0 };
        Line { bus_id, code, pid, name: if pid.is_some() { "python3" } else { "" } }.to_string()
    }

    #[test]
    fn a_line_reads_as_the_drivers_does() {
        assert_eq!(
            line(79, None),
            "NVRM: Xid (PCI:0008:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
        );
        assert_eq!(line(94, Some(1234)), "NVRM: Xid (PCI:0008:01:00): 94, pid=1234, name=python3, Contained ECC error");
    }

    #[test]
    fn a_full_log_makes_room_for_a_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let log = XidLog::new(dir.path().join("xid.log"), false);
        let long = "x".repeat(6 << 20);
        for _ in 0..5 {
            log.append(&long).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["xid.log", "xid.log.1", "xid.log.2"]);
    }
}
