//! Attach and memory: what a holder is told, and what everybody else sees of it.

use ghost_engine::client::{Client, Failure};
use ghost_engine::wire::{Message, Role, Status};

use crate::harness::{Daemon, balance, until};

const GIB: u64 = 1 << 30;

#[test]
fn a_holder_attaches_and_its_memory_shows_in_the_facts_and_in_the_status() {
    let daemon = Daemon::start();
    let holder = daemon.attach(Role::Holder);
    assert_eq!(holder.pid(), std::process::id());
    assert_eq!(holder.facts().tray().gpu_count, 4);
    let [free, total, context] = balance(&holder, Message::ContextOpen, &[1]).unwrap();
    assert_eq!(free, total - context);
    let [_, _, used] = balance(&holder, Message::MemoryTake, &[1, GIB]).unwrap();
    assert_eq!(used, context + GIB);
    let reader = daemon.attach(Role::Reader);
    until("memory in the facts", || reader.facts().live(1).memory_used_bytes == used);
    let listed = reader.facts().processes(1);
    assert_eq!((listed.len(), listed[0].pid, listed[0].used_bytes), (1, std::process::id(), used));
    let status = daemon.status();
    assert_eq!(status["holders"][0]["used_bytes"], used);
    assert_eq!(status["gpus"][1]["memory_used_bytes"], used);
    let [free, ..] = balance(&holder, Message::ContextClose, &[1]).unwrap();
    assert_eq!(free, total);
}

#[test]
fn memory_that_is_not_there_is_refused_with_true_numbers() {
    let daemon = Daemon::start();
    let holder = daemon.attach(Role::Holder);
    let [free, ..] = balance(&holder, Message::ContextOpen, &[0]).unwrap();
    balance(&holder, Message::MemoryTake, &[0, free]).unwrap();
    let other = daemon.attach(Role::Holder);
    let refused = balance(&other, Message::MemoryTake, &[0, 1]).unwrap_err();
    assert!(matches!(refused, Failure::Answer(Status::OutOfMemory, _)), "{refused:?}");
    balance(&holder, Message::MemoryGive, &[0, GIB]).unwrap();
    balance(&other, Message::MemoryTake, &[0, GIB]).unwrap();
}

#[test]
fn a_reader_has_no_memory_and_a_tray_has_no_ninth_gpu() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let status = |client: &Client, message, args: &[u64]| match balance(client, message, args) {
        Err(Failure::Answer(status, _)) => status,
        other => panic!("{other:?}"),
    };
    assert_eq!(status(&reader, Message::MemoryTake, &[0, 1]), Status::Denied);
    assert_eq!(status(&reader, Message::MemoryInfo, &[9]), Status::NoSuchGpu);
    assert_eq!(status(&reader, Message::PageMapped, &[]), Status::Malformed);
    assert_eq!(balance(&reader, Message::MemoryInfo, &[0]).unwrap()[2], 0);
}

#[test]
fn a_holder_that_leaves_gives_everything_back() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let holder = daemon.attach(Role::Holder);
    balance(&holder, Message::ContextOpen, &[2]).unwrap();
    until("memory taken", || reader.facts().live(2).memory_used_bytes > 0);
    drop(holder);
    until("memory back", || reader.facts().live(2).memory_used_bytes == 0 && reader.facts().processes(2).is_empty());
}
