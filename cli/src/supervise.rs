//! `ghostrack supervise`, the hidden command behind `up` and `run`: detaches, tells its parent how it went, supervises.
//! It says one line on standard output (`listening`, `occupied` or a reason) and nothing more.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::args::Supervise;
use crate::parts::Parts;
use crate::rack_source::Source;
use crate::run_dir::RunDir;
use crate::supervisor::{Manner, Occupied, Supervisor};

pub fn run(args: &Supervise, run_dir: RunDir) -> ExitCode {
    close_inherited();
    let _ = nix::unistd::setsid();
    let manner = Manner { lifeline: args.lifeline, aloud: false };
    let supervisor = Parts::find()
        .and_then(|parts| Ok((Source::read(&args.rack)?, parts)))
        .and_then(|(source, parts)| Supervisor::new(run_dir, &source, &parts, manner));
    let supervisor = match supervisor {
        Ok(supervisor) => supervisor,
        Err(error) => {
            tell(&if error.is::<Occupied>() { "occupied".to_owned() } else { format!("{error:#}") });
            return ExitCode::FAILURE;
        }
    };
    let _ = nix::unistd::chdir("/");
    tell("listening");
    match supervisor.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Says the line and lets go of the pipe, so that whoever reads it does not wait for the rack's end.
fn tell(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{}", line.replace('\n', "; ")).and_then(|()| out.flush());
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdout(null);
    }
}

/// A shell's or a test's pipes must not stay open for as long as a rack is up.
fn close_inherited() {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc/self/fd")) else {
        return;
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let inherited: Vec<i32> = numbers.filter(|fd| *fd > 2).collect();
    for fd in inherited {
        // The listing's own descriptor is among them and closed by now.
        let _ = nix::unistd::close(fd);
    }
}
