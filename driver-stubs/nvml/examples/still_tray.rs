//! Runs a command on an idle GB200 tray that nobody moves: `still_tray nvidia-smi -L`.
//! For trying NVML clients without a rack; put `libnvidia-ml.so.1` on the command's library path yourself.
//! `STILL_TRAY_LOST=2` takes GPU 2 off the bus; `STILL_TRAY_PIDS=41,42` lists processes on GPU 0.

use std::process::{Command, ExitCode};

use ghost_engine::layout::Facts;
use ghost_engine::place::{DEV_ROOT_VAR, SOCKET_VAR};

#[path = "../tests/common/facts.rs"]
mod facts;
#[path = "../tests/common/tray.rs"]
mod tray;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(program) = words.next() else {
        eprintln!("usage: still_tray COMMAND [ARGUMENT]...");
        return ExitCode::from(2);
    };
    let directory = std::env::temp_dir().join(format!("still-tray-{}", std::process::id()));
    let tray = tray::StillTray::serve(&directory, 4, edit).expect("a socket can be made in the temporary directory");
    let status = Command::new(program)
        .args(words)
        .env(SOCKET_VAR, tray.socket())
        .env(DEV_ROOT_VAR, directory.join("dev"))
        .status();
    for said in tray.said.lock().unwrap().iter() {
        eprintln!("said: {said}");
    }
    let _ = std::fs::remove_dir_all(&directory);
    match status {
        Ok(status) => ExitCode::from(status.code().unwrap_or(128) as u8),
        Err(error) => {
            eprintln!("still_tray: {error}");
            ExitCode::FAILURE
        }
    }
}

fn edit(facts: &mut Facts) {
    if let Some(gpu) = number("STILL_TRAY_LOST").first() {
        facts.gpus[*gpu as usize].modes.lost = 1;
    }
    for (row, pid) in number("STILL_TRAY_PIDS").into_iter().enumerate() {
        facts.processes[row].pid = pid;
        facts.processes[row].used_bytes = 600 << 20;
        facts.gpus[0].live.memory_used_bytes += 600 << 20;
        facts.tray.process_count += 1;
    }
}

fn number(variable: &str) -> Vec<u32> {
    let text = std::env::var(variable).unwrap_or_default();
    text.split(',').filter_map(|word| word.parse().ok()).collect()
}
