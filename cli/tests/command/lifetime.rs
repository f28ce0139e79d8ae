//! From `up` to `down`: what is there meanwhile and what is left.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::{Home, Said, is_running, until};

fn mentions(file: &str, what: &str) -> bool {
    fs::read_to_string(file).unwrap_or_default().contains(what)
}

fn shared_memory() -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.file_name());
    entries.filter(|name| name.to_string_lossy().contains("ghost")).collect()
}

#[test]
fn a_rack_that_went_down_has_left_nothing() {
    let home = Home::new();
    let up = home.must(&["up"]);
    assert!(up.out.contains("rack nvl8 is up: 2 trays, 8 GPUs") && up.out.contains("ghostrack run"), "{up:?}");
    assert!(up.out.contains("plain tree: redirection by `ghostrack run`"), "{up:?}");
    let pids = home.pids();
    assert!(pids.len() == 3 && pids.iter().all(|pid| is_running(*pid)));

    let down = home.must(&["down"]);
    assert_eq!(down.out, "rack nvl8 is down\n");
    assert!(!pids.iter().any(|pid| is_running(*pid)));
    assert!(!home.run_dir().exists());
    let home = home.path().to_str().unwrap();
    assert!(!mentions("/proc/net/unix", home) && !mentions("/proc/self/mountinfo", home));
    assert_eq!(shared_memory(), Vec::<std::ffi::OsString>::new());
}

#[test]
fn a_rack_that_is_up_already_is_left_as_it_is() {
    let home = Home::new();
    home.must(&["up"]);
    let before = home.pids();
    assert!(home.must(&["up"]).out.contains("is up already"));
    assert!(home.must(&["up", "--rack", "nvl72"]).out.contains("it is not the rack of nvl72"));
    assert_eq!(home.pids(), before);
}

#[test]
fn without_a_rack_down_has_nothing_to_do_and_status_says_how_to_start_one() {
    let home = Home::new();
    assert!(home.must(&["down"]).out.contains("no rack is up"));
    let status = home.say(&["status"]);
    assert_eq!(status.code, Some(1));
    assert!(status.err.contains("`ghostrack up`"), "{status:?}");
    assert_eq!(home.status()["up"], false);
}

#[test]
fn two_racks_live_side_by_side() {
    let (one, other) = (Home::new(), Home::new());
    one.must(&["up"]);
    other.must(&["up", "--rack", "nvl8"]);
    let kept = other.pids();
    one.must(&["down"]);
    assert_eq!(other.pids(), kept);
    assert_eq!(other.status()["trays"][1]["phase"], "ready");
}

#[test]
fn a_ghostd_that_was_killed_is_started_again() {
    let home = Home::new();
    home.must(&["up"]);
    let pid = home.pids()[0];
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    until("a new ghostd", || {
        let tray = &home.status()["trays"][0];
        tray["phase"] == "ready" && tray["pid"] != pid
    });
    let tray = &home.status()["trays"][0];
    assert_eq!((&tray["restarts"], &tray["last_exit"]), (&1.into(), &"ghostd was ended by SIGKILL".into()));
}

#[test]
fn a_killed_supervisor_takes_its_trays_along_and_down_clears_what_it_left() {
    let home = Home::new();
    home.must(&["up"]);
    let pids = home.pids();
    kill(Pid::from_raw(*pids.last().unwrap()), Signal::SIGKILL).unwrap();
    until("the end of every ghostd", || !pids.iter().any(|pid| is_running(*pid)));
    assert!(home.must(&["down"]).out.contains("removed what one that was killed had left"));
    assert!(!home.run_dir().exists());
}

#[test]
fn a_rack_file_that_is_wrong_is_refused_with_its_line_and_key_and_nothing_is_started() {
    let home = Home::new();
    let file = home.path().join("bad.toml");
    fs::write(&file, "name = \"x\"\n[[tray]]\ngpus = 4\nwheels = 3\n").unwrap();
    for subcommand in [&["up", "--rack"][..], &["run", "--rack"]] {
        let mut arguments = subcommand.to_vec();
        arguments.push(file.to_str().unwrap());
        if subcommand[0] == "run" {
            arguments.push("true");
        }
        let said = home.say(&arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains("bad.toml:4: `wheels`"), "{said:?}");
    }
    assert!(!home.run_dir().exists() && crate::harness::is_empty(&home.runtime()));
}

#[test]
fn a_rack_in_the_foreground_ends_with_its_command() {
    let home = Home::new();
    let mut up = home.command(&["up", "--foreground"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("both trays", || {
        let status = home.status();
        status["trays"].as_array().unwrap().iter().filter(|tray| tray["phase"] == "ready").count() == 2
    });
    kill(Pid::from_raw(up.id().cast_signed()), Signal::SIGINT).unwrap();
    assert!(up.wait().unwrap().success());
    assert!(!home.run_dir().exists());
}

#[test]
fn a_run_directory_may_be_deep() {
    let home = Home::new();
    let deep = home.path().join("d".repeat(60)).join("e".repeat(60));
    let deep = deep.to_str().unwrap();
    home.must(&["up", "--run-dir", deep]);
    home.must(&["run", "--run-dir", deep, "--", "true"]);
    home.must(&["power", "--run-dir", deep, "--tray", "1", "cycle"]);
    home.must(&["down", "--run-dir", deep]);
    assert!(!std::path::Path::new(deep).exists());
}

/// A copy of the command with another ghostd beside it.
fn with_ghostd(home: &Home, script: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let (command, ghostd) = (home.path().join("ghostrack"), home.path().join("ghostd"));
    fs::copy(env!("CARGO_BIN_EXE_ghostrack"), &command).unwrap();
    fs::write(&ghostd, script).unwrap();
    fs::set_permissions(&ghostd, fs::Permissions::from_mode(0o755)).unwrap();
    command
}

#[test]
fn a_rack_whose_trays_do_not_come_up_says_why_and_leaves_nothing() {
    let home = Home::new();
    let command = with_ghostd(&home, "#!/bin/sh\necho no memory left >&2\nexit 3\n");
    for arguments in [&["up"][..], &["run", "--", "true"]] {
        let said = Said::from(home.command_of(&command, arguments).output().unwrap());
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains("does not come up: ghostd ended with exit code 3: no memory left"), "{said:?}");
        assert!(!home.run_dir().exists() && crate::harness::is_empty(&home.runtime()), "{arguments:?}");
    }
}

#[test]
fn a_ghostd_that_hangs_is_told_of_and_killed_in_the_end() {
    let home = Home::new();
    home.must(&["up"]);
    let pids = home.pids();
    kill(Pid::from_raw(pids[0]), Signal::SIGSTOP).unwrap();
    assert!(home.must(&["status"]).out.contains("tray-0: its ghostd does not answer"));
    home.must(&["down"]);
    assert!(!home.run_dir().exists() && !pids.iter().any(|pid| is_running(*pid)));
}
