//! ghostd's own end: in good order, by kill -9, and twice on one directory.

use std::process::Stdio;

use ghost_engine::client::Failure;
use ghost_engine::wire::{Message, Role};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::{Daemon, balance, change, command, play, until};

#[test]
fn after_kill_9_faults_are_still_there_and_old_holders_are_not() {
    let mut daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    change(&operator, r#"{"change":"power_limit","gpu":1,"milliwatts":700000}"#).unwrap();
    change(&operator, r#"{"change":"xid","gpu":2,"code":95,"pid":null,"time_ns":12}"#).unwrap();
    let old = daemon.attach(Role::Holder);
    let _other = play("hold", &daemon);
    let boot = operator.facts().boot_id();
    daemon.restart();
    until("death noticed", || !old.is_alive());
    assert!(matches!(balance(&old, Message::MemoryInfo, &[0]), Err(Failure::Gone)));
    let new = daemon.attach(Role::Holder);
    assert_ne!(new.facts().boot_id(), boot);
    let [free, total, _] = balance(&new, Message::MemoryInfo, &[0]).unwrap();
    assert_eq!(free, total);
    let (capped, faulted) = (new.facts().modes(1), new.facts().gpu(2));
    assert_eq!(capped.power_limit_milliwatts, 700_000);
    assert_eq!((faulted.modes.recovery_action, faulted.xid_count, faulted.xids[0].code), (1, 1, 95));
    balance(&new, Message::ContextOpen, &[0]).unwrap();
}

#[test]
fn a_second_ghostd_on_the_same_tray_is_refused_by_name() {
    let daemon = Daemon::start();
    let second = command(daemon.dir.path()).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("another ghostd serves this tray"), "{said}");
    daemon.attach(Role::Reader);
}

#[test]
fn sigterm_tells_everybody_and_leaves_no_socket() {
    let mut daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    kill(Pid::from_raw(daemon.child.id() as i32), Signal::SIGTERM).unwrap();
    assert!(daemon.child.wait().unwrap().success());
    assert!(reader.facts().closing() && !reader.is_alive());
    assert!(!daemon.place().socket.exists() && !daemon.place().dev_root.exists());
}

#[test]
fn a_tray_that_is_not_in_the_rack_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    let out = command(dir.path()).args(["--tray", "9"]).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
}
