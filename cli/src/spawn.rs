//! Starting ghostd and the supervisor: what they inherit and what they do not.
//! The only room of the command with unsafe code: what runs between fork and exec.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};

/// Variables that would change how our own daemons are linked: they may come from a shell in a tray.
const NOT_INHERITED: &[&str] = &["LD_AUDIT", "LD_PRELOAD", "LD_LIBRARY_PATH"];

/// How ghostd is started.
#[derive(Debug)]
pub struct Ghostd {
    pub program: PathBuf,
    /// The rack file in force.
    pub rack: PathBuf,
}

impl Ghostd {
    /// Starts one tray's ghostd. It ends when the supervisor does, however that ends.
    pub fn start(&self, tray: usize, directory: &Path) -> anyhow::Result<Child> {
        let mut command = ours(&self.program);
        command.arg("--rack").arg(&self.rack).arg("--tray").arg(tray.to_string()).arg("--run-dir").arg(directory);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let supervisor = nix::unistd::getpid();
        // SAFETY: only async-signal-safe calls (prctl, getppid, sigprocmask) between fork and exec.
        unsafe {
            command.pre_exec(move || {
                set_pdeathsig(Signal::SIGTERM)?;
                if nix::unistd::getppid() != supervisor {
                    return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                }
                SigSet::empty().thread_set_mask()?;
                Ok(())
            })
        };
        command.spawn().with_context(|| format!("{}: cannot be started", self.program.display()))
    }
}

/// A command for one of our own daemons.
pub fn ours(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    command
}

/// Starts a user's command with the signal mask that it would have had without us.
pub fn with_mask(program: &OsStr, mask: SigSet) -> Command {
    let mut command = Command::new(program);
    // SAFETY: sigprocmask is async-signal-safe.
    unsafe { command.pre_exec(move || Ok(mask.thread_set_mask()?)) };
    command
}
