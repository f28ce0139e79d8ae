//! Builds what the tests start, and runs `ghostrack` in a scratch home. It asserts nothing itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A scratch home with a run directory that nobody else uses. Its rack goes down on drop.
pub struct Home {
    dir: TempDir,
}

/// What a finished command said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Home {
    pub fn new() -> Home {
        build();
        let dir = tempfile::Builder::new().prefix("ghostrack-test-").tempdir().unwrap();
        std::fs::create_dir(dir.path().join("runtime")).unwrap();
        Home { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn run_dir(&self) -> PathBuf {
        self.path().join("rack")
    }

    /// Where a rack for one command is made, and nothing else.
    pub fn runtime(&self) -> PathBuf {
        self.path().join("runtime")
    }

    /// `ghostrack`, with an environment that is only this home's.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_ghostrack")), arguments)
    }

    /// As `command`, for a copy of the program elsewhere.
    pub fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.path()).env("XDG_RUNTIME_DIR", self.runtime());
        command.env("GHOSTRACK_RUN_DIR", self.run_dir()).env("GHOSTRACK_LIB_DIR", libraries());
        command
    }

    pub fn say(&self, arguments: &[&str]) -> Said {
        Said::from(self.command(arguments).output().unwrap())
    }

    /// As `say`, and it must succeed.
    pub fn must(&self, arguments: &[&str]) -> Said {
        let said = self.say(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
        said
    }

    pub fn status(&self) -> Value {
        serde_json::from_str(&self.say(&["status", "--json"]).out).unwrap()
    }

    /// The supervisor's pid and every ghostd's.
    pub fn pids(&self) -> Vec<i32> {
        let status = self.status();
        let trays = status["trays"].as_array().unwrap().iter().map(|tray| &tray["pid"]);
        let all = trays.chain([&status["supervisor"]]);
        all.map(|pid| i32::try_from(pid.as_i64().unwrap()).unwrap()).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.command(&["down"]).output();
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Whether a process runs; one that only waits to be buried does not.
pub fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

/// Polls for a state; gives up after a minute, so that a test fails instead of hanging.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never came: {what}");
}

fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ghostrack")).parent().unwrap()
}

fn libraries() -> PathBuf {
    target().join("cli-tests/lib")
}

/// ghostd beside the command, and the redirection that commands are started under.
fn build() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let is_release = target().ends_with("release");
        let profile = if is_release { "release" } else { "dev" };
        cargo(&["build", "--quiet", "--package", "ghostd", "--profile", profile]);
        let out = libraries();
        let out = out.to_str().unwrap();
        cargo(&[
            "run",
            "--quiet",
            "--package",
            "xtask",
            "--",
            "stubs",
            "--profile",
            "dev",
            "--out",
            out,
            "ghost-redirect",
        ]);
    });
}

fn cargo(arguments: &[&str]) {
    let output = Command::new(env!("CARGO")).args(arguments).output().unwrap();
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
