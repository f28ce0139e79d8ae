//! Starts the real ghostd in a scratch directory and attaches to it. It asserts nothing itself.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ghost_engine::client::{Client, Failure};
use ghost_engine::place::Place;
use ghost_engine::wire::{Frame, Message, Role};
use nix::sys::signal::Signal;
use nix::unistd::Pid;

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

    /// kill -9, then a new ghostd on the same directory.
    pub fn restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(self.dir.path());
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

/// Makes a change as the operator.
pub fn change(client: &Client, change: &str) -> Result<serde_json::Value, Failure> {
    let reply = client.ask(Frame::ask(Message::Apply, &[]).with_data(change))?;
    Ok(serde_json::from_slice(&reply.data).unwrap())
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

/// This test program again, as another process that plays `part` (see `parts.rs`) and has said "held".
pub fn play(part: &str, daemon: &Daemon) -> Actor {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "parts::stage", "--nocapture", "--test-threads=1"]);
    command.env(crate::parts::PART, part).env(ghost_engine::place::SOCKET_VAR, daemon.place().socket);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines.map(Result::unwrap).take_while(|line| line != "held").collect();
    let descendant = said.iter().find_map(|line| line.strip_prefix("child ")?.parse().ok());
    Actor { child, descendant }
}

/// A process that plays a part; ended on drop, with its child.
pub struct Actor {
    pub child: Child,
    pub descendant: Option<i32>,
}

impl Actor {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        nix::sys::signal::kill(Pid::from_raw(self.pid() as i32), signal).unwrap();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The process it forked still runs.
    pub fn descendant_lives(&self) -> bool {
        let pid = Pid::from_raw(self.descendant.unwrap());
        nix::sys::signal::kill(pid, None).is_ok()
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(pid) = self.descendant {
            let _ = nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}
