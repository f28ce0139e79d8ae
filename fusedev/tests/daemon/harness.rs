//! Starts the real ghostd in a scratch directory and attaches to it. It asserts nothing itself.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ghost_engine::client::{Client, Failure};
use ghost_engine::place::Place;
use ghost_engine::wire::{Frame, Message, Role};

/// A running ghostd; killed on drop.
pub struct Daemon {
    pub dir: tempfile::TempDir,
    pub child: Child,
}

impl Daemon {
    pub fn start() -> Daemon {
        let dir = tempfile::tempdir().unwrap();
        let child = spawn(dir.path());
        Daemon { dir, child }
    }

    pub fn place(&self) -> Place {
        Place { socket: self.dir.path().join("ghostd.sock"), dev_root: self.dir.path().join("dev") }
    }

    pub fn attach(&self, role: Role) -> Client {
        Client::attach(self.place(), role).unwrap()
    }

    pub fn status(&self) -> serde_json::Value {
        let client = self.attach(Role::Operator);
        serde_json::from_slice(&client.read_all(Message::Status).unwrap()).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ghostd"));
    command.args(["--rack", "nvl8", "--tray", "0", "--run-dir"]).arg(dir);
    command
}

fn spawn(dir: &Path) -> Child {
    let mut child = command(dir).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// Asks about one GPU; the three numbers of a balance.
pub fn balance(client: &Client, message: Message, args: &[u64]) -> Result<[u64; 3], Failure> {
    let reply = client.ask(Frame::ask(message, args))?;
    Ok([reply.head.args[0], reply.head.args[1], reply.head.args[2]])
}

/// Polls for a state; gives up after a minute, so that a test fails instead of hanging.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never came: {what}");
}
