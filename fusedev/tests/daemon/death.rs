//! How holders end, and that their memory is free at once, whatever they leave behind.

use ghost_engine::wire::Role;
use nix::sys::signal::Signal;

use crate::harness::{Daemon, play, until};
use crate::parts::HELD_BYTES;

#[test]
fn a_killed_holder_frees_100_gib_while_its_forked_child_lives() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let mut holder = play("fork", &daemon);
    assert!(reader.facts().live(0).memory_used_bytes > HELD_BYTES);
    holder.kill();
    until("memory back", || reader.facts().live(0).memory_used_bytes == 0);
    assert!(holder.descendant_lives());
}

#[test]
fn a_holder_that_execs_another_program_is_gone_although_its_child_keeps_the_socket() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let mut holder = play("fork and exec", &daemon);
    until("memory back", || reader.facts().live(0).memory_used_bytes == 0);
    assert!(holder.descendant_lives() && holder.child.try_wait().unwrap().is_none());
}

#[test]
fn a_holder_that_closed_our_descriptor_keeps_its_memory_until_it_ends() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let mut holder = play("close descriptors", &daemon);
    let looked_ns = ghost_engine::clock::now_ns() + 1_500_000_000;
    until("two sweeps", || ghost_engine::clock::now_ns() > looked_ns);
    assert!(reader.facts().live(0).memory_used_bytes > HELD_BYTES);
    holder.kill();
    until("memory back", || reader.facts().live(0).memory_used_bytes == 0);
}

#[test]
fn a_stopped_holder_stays_a_holder() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let holder = play("hold", &daemon);
    holder.signal(Signal::SIGSTOP);
    let looked_ns = ghost_engine::clock::now_ns() + 1_500_000_000;
    until("two sweeps", || ghost_engine::clock::now_ns() > looked_ns);
    let listed = reader.facts().processes(0);
    assert_eq!((listed.len(), listed[0].pid), (1, holder.pid()));
}
