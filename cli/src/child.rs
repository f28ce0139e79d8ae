//! The user's command: started with the signal mask it would have had without us, signals passed on, exit code told.
//! It knows nothing of racks.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use anyhow::Context;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;

use crate::say;
use crate::spawn;

/// Signals that are the command's to answer. Those that stop and continue reach it through its process group.
const PASSED_ON: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];

/// Runs the command to its end. The code is its own, 128 + N for a signal, 127 or 126 if it could not start.
pub fn run(command: &[OsString], variables: &[(&'static str, OsString)]) -> anyhow::Result<u8> {
    let watched: SigSet = PASSED_ON.into_iter().chain([Signal::SIGCHLD]).collect();
    let before = watched.thread_swap_mask(SigmaskHow::SIG_BLOCK).context("block signals")?;
    let signals = SignalFd::new(&watched).context("signalfd")?;
    let (program, arguments) = command.split_first().context("no command")?;
    let mut start = spawn::with_mask(program, before);
    start.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    let ended = match start.spawn() {
        Ok(child) => wait(child, &signals).map(code),
        Err(error) => {
            say::note!("{}: {error}", program.display());
            Ok(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    };
    ended.context("wait for the command")
}

fn wait(mut child: Child, signals: &SignalFd) -> anyhow::Result<ExitStatus> {
    loop {
        let Some(signal) = signals.read_signal()? else {
            continue;
        };
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        // A key on the terminal has reached the command already: it is in the same process group.
        let from_a_process = signal.ssi_code <= 0;
        let number = Signal::try_from(signal.ssi_signo.cast_signed())?;
        if from_a_process && number != Signal::SIGCHLD {
            let _ = kill(Pid::from_raw(child.id().cast_signed()), number);
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_becomes_128_and_its_number() {
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
    }
}
