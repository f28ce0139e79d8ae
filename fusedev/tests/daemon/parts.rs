//! What this test program plays when a test starts it again as another process. Each part ends by waiting to be killed.

use std::os::unix::process::CommandExt;

use ghost_engine::busy::Work;
use ghost_engine::client::Client;
use ghost_engine::clock::now_ns;
use ghost_engine::place::Place;
use ghost_engine::wire::{Message, Role};

use crate::harness::balance;

/// Names the part.
pub const PART: &str = "GHOSTD_TEST_PART";
/// What every part takes on GPU 0, beside its context.
pub const HELD_BYTES: u64 = 100 << 30;

/// Plays the part of the environment; as a test of its own it has no part and no lines.
#[test]
fn stage() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let client = Client::attach(Place::find(), Role::Holder).unwrap();
    balance(&client, Message::ContextOpen, &[0]).unwrap();
    if part != "compute lightly" {
        balance(&client, Message::MemoryTake, &[0, HELD_BYTES]).unwrap();
    }
    match part.as_str() {
        "hold" => held(),
        "fork" => {
            fork();
            held();
        }
        "fork and exec" => {
            fork();
            println!("\nheld");
            // The child keeps our socket open, so its end never shows; only the page is gone.
            panic!("{}", std::process::Command::new("sleep").arg("1000").exec());
        }
        "close descriptors" => {
            // SAFETY: plain call; what it closes under us is the point.
            unsafe { libc::close_range(3, u32::MAX, 0) };
            held();
        }
        "compute" | "compute lightly" => compute(&client),
        other => panic!("no such part: {other}"),
    }
}

fn held() -> ! {
    println!("\nheld");
    loop {
        std::thread::park();
    }
}

/// A child that does nothing, but has inherited every descriptor.
fn fork() {
    // SAFETY: the child only calls pause, which is async-signal-safe.
    match unsafe { libc::fork() } {
        0 => loop {
            // SAFETY: plain call.
            unsafe { libc::pause() };
        },
        pid => println!("\nchild {pid}"),
    }
}

/// Keeps GPU 0 busy, 800 W above idle, never more than 40 ms ahead.
fn compute(client: &Client) -> ! {
    println!("\nheld");
    let mut end_ns = now_ns();
    loop {
        let start_ns = end_ns.max(now_ns());
        end_ns = start_ns + 20_000_000;
        let work = Work { start_ns, end_ns, memory_ns: 10_000_000, energy_nanojoules: 800_000 * 20_000 };
        client.page().unwrap().add(0, 0, now_ns(), work);
        while now_ns() + 20_000_000 < end_ns {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}
