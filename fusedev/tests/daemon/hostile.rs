//! Clients that mean no good: garbage frames, descriptors, garbage pages, hoarding, deafness. ghostd keeps serving.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use ghost_engine::busy::Work;
use ghost_engine::client::connect;
use ghost_engine::layout::{LAYOUT_HASH, MAX_GPUS};
use ghost_engine::wire::{self, Frame, Message, Role, Status};

use crate::harness::{Daemon, balance, until};

/// A small generator, so that a failure can be repeated.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.next() % most).map(|_| self.next() as u8).collect()
    }
}

fn send_raw(socket: &OwnedFd, bytes: &[u8]) {
    // SAFETY: `bytes` is readable for its length.
    unsafe {
        libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    };
}

fn descriptors_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn hello(socket: &OwnedFd, role: Role) -> Frame {
    let ask = Frame::ask(Message::Hello, &[LAYOUT_HASH, 0, role as u64]);
    wire::send(socket.as_raw_fd(), wire::Head { seq: 1, ..ask.head }, b"/dev", &[], false).unwrap();
    wire::receive(socket.as_raw_fd(), false).unwrap().unwrap()
}

#[test]
fn random_packets_from_64_clients_are_survived_and_leak_nothing() {
    let daemon = Daemon::start();
    let witness = daemon.attach(Role::Holder);
    let before = descriptors_of(daemon.child.id());
    std::thread::scope(|scope| {
        for seed in 1..=64 {
            let socket = daemon.place().socket;
            scope.spawn(move || shout(&socket, seed));
        }
    });
    balance(&witness, Message::ContextOpen, &[0]).unwrap();
    until("descriptors closed", || descriptors_of(daemon.child.id()) <= before);
}

/// Raw noise, well-formed frames of noise, and frames with descriptors.
fn shout(path: &Path, seed: u64) {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15 ^ seed);
    for round in 0..20 {
        let Ok(socket) = connect(path) else { return };
        if round % 2 == 0 {
            hello(&socket, if noise.next().is_multiple_of(2) { Role::Holder } else { Role::Operator });
        }
        for _ in 0..20 {
            let mut ask = Frame::ask(Message::Hello, &[]);
            ask.head.id = (noise.next() % 16) as u32;
            ask.head.seq = noise.next() as u32 % 2;
            // Powers of ten of everything but a real change: those would be an operator's right here.
            ask.head.args = std::array::from_fn(|_| noise.next() >> (noise.next() % 64));
            let data = noise.bytes(200);
            let fds = [socket.as_raw_fd(); 4];
            let carried = &fds[..(noise.next() % 5) as usize];
            let _ = wire::send(socket.as_raw_fd(), ask.head, &data, carried, true);
        }
        send_raw(&socket, &noise.bytes(40_000));
    }
}

#[test]
fn a_client_that_never_reads_its_answers_is_dropped_and_blocks_nobody() {
    let daemon = Daemon::start();
    let deaf = connect(&daemon.place().socket).unwrap();
    hello(&deaf, Role::Operator);
    let ask = Frame::ask(Message::Status, &[]);
    let mut gone = false;
    for _ in 0..100_000 {
        let sent = wire::send(deaf.as_raw_fd(), wire::Head { seq: 9, ..ask.head }, &[], &[], true);
        if sent.is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) {
            gone = true;
            break;
        }
        balance(&daemon.attach(Role::Reader), Message::MemoryInfo, &[0]).unwrap();
    }
    assert!(gone);
}

#[test]
fn a_page_full_of_lies_cannot_exceed_the_hardware() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let liar = daemon.attach(Role::Holder);
    for gpu in 0..4 {
        balance(&liar, Message::ContextOpen, &[gpu]).unwrap();
    }
    let mut noise = Noise(77);
    let samples = reader.facts().gpu(0).sample_count;
    until("ten ticks", || {
        for gpu in 0..MAX_GPUS {
            let page = liar.page().unwrap();
            page.edit(gpu, |g| {
                g.engines.iter_mut().for_each(|e| {
                    e.done.busy_ns = noise.next();
                    e.done.energy_nanojoules = noise.next();
                    e.open[0].end_ns = noise.next();
                });
                g.link_tx_bytes = std::array::from_fn(|_| noise.next());
                g.pcie_tx_bytes = noise.next();
            });
            page.add(
                gpu,
                0,
                0,
                Work { start_ns: 0, end_ns: u64::MAX / 2, memory_ns: u64::MAX / 4, energy_nanojoules: 1 },
            );
        }
        let live = reader.facts().live(0);
        assert!(live.gpu_utilization <= 100 && live.memory_utilization <= 100, "{live:?}");
        assert!(live.power_instant_milliwatts <= 1_200_000 && live.energy_millijoules < 1_200_000 * 100, "{live:?}");
        reader.facts().gpu(0).sample_count >= samples + 10
    });
}

#[test]
fn libraries_of_another_version_are_told_so() {
    let daemon = Daemon::start();
    let socket = connect(&daemon.place().socket).unwrap();
    let ask = Frame::ask(Message::Hello, &[LAYOUT_HASH ^ 1, 0, 0]);
    wire::send(socket.as_raw_fd(), wire::Head { seq: 1, ..ask.head }, &[], &[], false).unwrap();
    let reply = wire::receive(socket.as_raw_fd(), false).unwrap().unwrap();
    assert_eq!((reply.status(), reply.head.args[0]), (Status::OtherLayout, LAYOUT_HASH));
}

#[test]
fn nobody_can_write_or_resize_what_ghostd_hands_out() {
    let daemon = Daemon::start();
    let socket = connect(&daemon.place().socket).unwrap();
    let reply = hello(&socket, Role::Holder);
    let page = std::fs::OpenOptions::new().write(true).open(format!("/proc/self/fd/{}", reply.fds[0].as_raw_fd()));
    if let Ok(page) = page {
        use std::io::Write;
        let mut page = page;
        assert!(page.write(b"x").is_err() && page.set_len(0).is_err());
    }
    // SAFETY: plain call on a descriptor of ours; it must fail.
    assert_ne!(unsafe { libc::ftruncate(reply.fds[1].as_raw_fd(), 0) }, 0);
}
