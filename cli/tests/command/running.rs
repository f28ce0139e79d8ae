//! `run`, `env` and `missing`: what a command finds, what becomes of its exit code and of signals.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use ghost_engine::client::Client;
use ghost_engine::place::Place;
use ghost_engine::wire::{Frame, Message, Role};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::{Home, is_empty, until};

/// Set for this program when it plays the part below.
const PART: &str = "GHOSTRACK_TEST_PART";

#[test]
fn the_exit_code_of_run_is_the_commands() {
    let home = Home::new();
    let code = |command: &[&str]| home.say(&[&["run", "--"], command].concat()).code;
    assert_eq!(code(&["true"]), Some(0));
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["no-such-command"]), Some(127));
    assert_eq!(code(&["/etc/passwd"]), Some(126));
    assert!(is_empty(&home.runtime()));
}

/// `run` of a shell script that has said "ready".
fn running(home: &Home, script: &str) -> Child {
    let mut child = home.command(&["run", "--", "sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

#[test]
fn a_signal_to_run_is_the_commands_to_answer() {
    let home = Home::new();
    let script = "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done";
    let mut child = running(&home, script);
    send(&child, Signal::SIGUSR1);
    assert_eq!(child.wait().unwrap().code(), Some(9));
    let mut child = running(&home, script);
    send(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(is_empty(&home.runtime()));
}

#[test]
fn a_run_that_was_killed_takes_its_rack_along() {
    let home = Home::new();
    let mut child = running(&home, "echo ready; exec sleep 3");
    assert!(!is_empty(&home.runtime()));
    child.kill().unwrap();
    child.wait().unwrap();
    until("an empty runtime directory", || is_empty(&home.runtime()));
}

#[test]
fn a_rack_that_is_up_is_used_and_stays() {
    let home = Home::new();
    home.must(&["up"]);
    let before = home.pids();
    let said =
        home.must(&["run", "--tray", "tray-1", "--", "sh", "-c", "echo $GHOSTRACK_SOCKET; echo $TRITON_CACHE_DIR"]);
    let socket = home.run_dir().join("tray-1/ghostd.sock");
    let cache = home.path().join(".cache/ghostrack/triton");
    assert_eq!(said.out, format!("{}\n{}\n", socket.display(), cache.display()));
    assert_eq!(home.pids(), before);
    assert!(is_empty(&home.runtime()));
}

#[test]
fn a_command_sees_as_many_gpus_as_it_was_given() {
    let home = Home::new();
    let said = home.must(&["run", "--gpus", "2", "--", "sh", "-c", "ls $GHOSTRACK_DEV_ROOT"]);
    assert_eq!(said.out, "nvidia-uvm\nnvidia0\nnvidia1\nnvidiactl\n");
    let said = home.say(&["run", "--gpus", "5", "--", "true"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--gpus 5: tray-0 has 4; expected 0 to 4"), "{said:?}");
    assert!(is_empty(&home.runtime()));
}

#[test]
fn a_command_within_a_command_uses_the_same_rack() {
    let home = Home::new();
    let said =
        home.must(&["run", "--", "sh", "-c", "echo $GHOSTRACK_RUN_DIR; ghostrack run -- printenv GHOSTRACK_RUN_DIR"]);
    let dirs: Vec<_> = said.out.lines().collect();
    assert!(dirs.len() == 2 && dirs[0] == dirs[1], "{said:?}");
}

#[test]
fn a_tray_that_is_not_there_is_told_what_there_is() {
    let home = Home::new();
    let said = home.say(&["run", "--tray", "7", "--", "true"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--tray 7") && said.err.contains("expected 0 to 1"), "{said:?}");
}

#[test]
fn a_shell_that_evaluates_env_is_on_the_tray() {
    let home = Home::new();
    assert_eq!(home.say(&["env"]).code, Some(1));
    home.must(&["up"]);
    let exports = home.must(&["env", "--tray", "1"]).out;
    let script = format!("{exports}printenv GHOSTRACK_SOCKET GHOSTRACK_DEV_ROOT LD_AUDIT PATH");
    let mut shell = std::process::Command::new("sh");
    let said = shell.args(["-c", &script]).env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
    let lines = String::from_utf8(said.stdout).unwrap();
    let lines: Vec<_> = lines.lines().collect();
    let tray = home.run_dir().join("tray-1");
    assert_eq!(lines[0], tray.join("ghostd.sock").to_str().unwrap());
    assert_eq!(lines[1], tray.join("dev").to_str().unwrap());
    assert!(lines[2].ends_with("/libghostrack-redirect.so"));
    assert!(lines[3].starts_with(home.run_dir().join("bin").to_str().unwrap()));
    assert!(said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn functions_that_were_missed_are_counted_at_the_end_and_listed_afterwards() {
    let home = Home::new();
    let itself = std::env::current_exe().unwrap();
    let part = ["run", "--", itself.to_str().unwrap(), "--exact", "running::a_program_that_misses_a_function"];
    let output = home.command(&part).env(PART, "1").output().unwrap();
    let said = crate::harness::Said::from(output);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("1 function without implementation was called"), "{said:?}");
    assert!(said.err.contains("/opt/static-program carries its own CUDA runtime"), "{said:?}");
    assert_eq!(home.must(&["missing"]).out, "2 libcuda cuNothing\n");
    home.must(&["run", "--", "true"]);
    assert_eq!(home.must(&["missing"]).out, "");
}

/// Not a test of its own: the program of the test above. It is on a tray only then.
#[test]
fn a_program_that_misses_a_function() {
    if std::env::var_os(PART).is_none() {
        return;
    }
    let client = Client::attach(Place::find(), Role::Reader).unwrap();
    client.tell(Frame::ask(Message::Missing, &[]).with_data(&b"libcuda\0cuNothing"[..]));
    client.tell(Frame::ask(Message::Missing, &[]).with_data(&b"libcuda\0cuNothing"[..]));
    client.tell(Frame::ask(Message::Unredirected, &[]).with_data("/opt/static-program"));
}
