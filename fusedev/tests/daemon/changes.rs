//! Changes through the socket: who may, what they show, what forbids them.

use std::io::Read;

use ghost_engine::client::Failure;
use ghost_engine::wire::{Frame, Message, Role, Status};

use crate::harness::{Daemon, balance, change};

#[test]
fn a_fault_shows_in_the_facts_in_the_log_and_wakes_waiters() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    let alarm = operator.facts().alarm().load(std::sync::atomic::Ordering::Acquire);
    let events = change(&operator, r#"{"change":"xid","gpu":0,"code":79,"pid":null,"time_ns":0}"#).unwrap();
    assert_eq!(events[0]["event"], "xid");
    assert_ne!(operator.facts().alarm().load(std::sync::atomic::Ordering::Acquire), alarm);
    let modes = operator.facts().modes(0);
    assert_eq!((modes.lost, modes.recovery_action, modes.fault_xid), (1, 2, 79));
    let mut log = String::new();
    std::fs::File::open(daemon.dir.path().join("log/xid.log")).unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("NVRM: Xid (PCI:0008:01:00): 79, pid='<unknown>'"), "{log}");
    let holder = daemon.attach(Role::Holder);
    let refused = balance(&holder, Message::ContextOpen, &[0]).unwrap_err();
    assert!(matches!(refused, Failure::Answer(Status::GpuLost, _)), "{refused:?}");
    balance(&holder, Message::ContextOpen, &[1]).unwrap();
}

#[test]
fn a_link_the_fabric_calls_down_is_not_in_the_link_mask() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    let mask = || operator.ask(Frame::ask(Message::Links, &[2])).unwrap().head.args[0];
    assert_eq!(mask(), (1 << 18) - 1);
    change(&operator, r#"{"change":"link_far_end","gpu":2,"link":3,"up":false}"#).unwrap();
    assert_eq!(mask(), ((1 << 18) - 1) & !(1 << 3));
    assert_eq!(daemon.status()["gpus"][2]["links_up"], 17);
}

#[test]
fn what_the_model_refuses_is_refused_with_its_reason() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    let Err(Failure::Answer(Status::Refused, reason)) =
        change(&operator, r#"{"change":"power_limit","gpu":0,"milliwatts":5}"#)
    else {
        panic!("a limit of 5 mW was accepted");
    };
    let reason: serde_json::Value = serde_json::from_slice(&reason).unwrap();
    assert_eq!(reason["refusal"], "out_of_range");
    assert!(reason["message"].as_str().unwrap().contains("expected 200000 to 1200000"), "{reason}");
    let malformed = change(&operator, r#"{"change":"explode"}"#).unwrap_err();
    assert!(matches!(malformed, Failure::Answer(Status::Malformed, _)));
}

#[test]
fn a_gpu_in_use_is_not_reset() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    let holder = daemon.attach(Role::Holder);
    balance(&holder, Message::ContextOpen, &[0]).unwrap();
    let reset = r#"{"change":"gpu_reset","gpu":0}"#;
    let refused = change(&operator, reset).unwrap_err();
    assert!(matches!(&refused, Failure::Answer(Status::Refused, reason) if reason.starts_with(b"{")), "{refused:?}");
    balance(&holder, Message::ContextClose, &[0]).unwrap();
    change(&operator, reset).unwrap();
}

#[test]
fn compute_modes_keep_processes_out() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    let holder = daemon.attach(Role::Holder);
    change(&operator, r#"{"change":"compute_mode","gpu":0,"mode":"prohibited"}"#).unwrap();
    let refused = balance(&holder, Message::ContextOpen, &[0]).unwrap_err();
    assert!(matches!(refused, Failure::Answer(Status::Busy, _)));
    change(&operator, r#"{"change":"compute_mode","gpu":0,"mode":"exclusive_process"}"#).unwrap();
    let other = crate::harness::play("hold", &daemon);
    let Err(Failure::Answer(Status::Busy, reason)) = balance(&holder, Message::ContextOpen, &[0]) else {
        panic!("two processes in exclusive mode");
    };
    assert!(String::from_utf8(reason).unwrap().contains(&other.pid().to_string()));
}

#[test]
fn a_tray_that_is_switched_off_lets_go_of_its_holders() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    let holder = daemon.attach(Role::Holder);
    balance(&holder, Message::ContextOpen, &[0]).unwrap();
    change(&operator, r#"{"change":"tray_power","action":"off"}"#).unwrap();
    assert!(matches!(balance(&holder, Message::MemoryInfo, &[0]), Err(Failure::Gone)));
    assert_eq!(operator.facts().live(0).memory_used_bytes, 0);
    assert_eq!(operator.facts().tray().power_on, 0);
}
