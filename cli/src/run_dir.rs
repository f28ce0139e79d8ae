//! The run directory: where it is, whether it can be trusted, what of ours lies in it, and its removal.
//! Nothing here starts or asks a daemon.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, geteuid};

use crate::failure::usage;

/// Names the run directory; set for commands started by `run` and `shell`.
pub const RUN_DIR_VAR: &str = "GHOSTRACK_RUN_DIR";
/// Where root's rack lives, which other users may use.
pub const SYSTEM: &str = "/run/ghostrack";

/// How the scratch directories of commands begin.
const SCRATCH: &str = "ghostrack-run-";

/// A run directory, there or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    path: PathBuf,
    /// Named by the user, so that no other is looked at.
    explicit: bool,
}

impl RunDir {
    /// From `--run-dir`, the environment, or the user's default.
    pub fn find(option: Option<&Path>) -> anyhow::Result<RunDir> {
        RunDir::from(option, geteuid().as_raw(), |name| std::env::var_os(name))
    }

    fn from(option: Option<&Path>, uid: u32, var: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<RunDir> {
        let path_in = |name| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = option.map(Path::to_owned).or_else(|| path_in(RUN_DIR_VAR)) {
            let path = std::path::absolute(&path)
                .map_err(|error| usage(format!("--run-dir {path:?}: {error}; expected a directory")))?;
            return Ok(RunDir { path, explicit: true });
        }
        let runtime = path_in("XDG_RUNTIME_DIR").filter(|dir| dir.is_absolute());
        let path = match (uid, runtime) {
            (0, _) => PathBuf::from(SYSTEM),
            (_, Some(runtime)) => runtime.join("ghostrack"),
            (_, None) => PathBuf::from(format!("/tmp/ghostrack-{uid}")),
        };
        Ok(RunDir { path, explicit: false })
    }

    /// A directory that exists and is named by us.
    pub fn at(path: PathBuf) -> RunDir {
        RunDir { path, explicit: true }
    }

    /// Where a rack to be used may be: this directory, and root's unless the user named one.
    pub fn candidates(&self) -> Vec<RunDir> {
        let system = RunDir::at(PathBuf::from(SYSTEM));
        if self.explicit || self.path == system.path { vec![self.clone()] } else { vec![self.clone(), system] }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn rack_socket(&self) -> PathBuf {
        self.path.join("rack.sock")
    }

    /// The text of the rack file in force.
    pub fn rack_file(&self) -> PathBuf {
        self.path.join("rack.toml")
    }

    /// Locked by the supervisor.
    pub fn lock_file(&self) -> PathBuf {
        self.path.join(".lock")
    }

    pub fn log_dir(&self) -> PathBuf {
        self.path.join("log")
    }

    /// Holds nothing but nvidia-smi and ghostrack.
    pub fn bin(&self) -> PathBuf {
        self.path.join("bin")
    }

    /// Holds nothing but the driver's two public libraries.
    pub fn driver(&self) -> PathBuf {
        self.path.join("driver")
    }

    /// What a rack that was started for one command keeps for that command.
    pub fn of_command(&self) -> PathBuf {
        self.path.join("command")
    }

    pub fn tray(&self, tray: usize) -> PathBuf {
        self.path.join(format!("tray-{tray}"))
    }

    /// Makes the directory if need be, for its owner alone; root's may be entered by everybody.
    pub fn prepare(&self) -> anyhow::Result<()> {
        let mode = if geteuid().is_root() { 0o755 } else { 0o700 };
        if let Some(parent) = self.path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("{}: cannot be made", parent.display()))?;
        }
        match DirBuilder::new().mode(mode).create(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error)
                .with_context(|| format!("{}: cannot be made; --run-dir names another place", self.path.display())),
            _ => self.must_be_trusted(),
        }
    }

    /// Refuses a directory that somebody else could have laid out for us.
    pub fn must_be_trusted(&self) -> anyhow::Result<()> {
        let shown = self.path.display();
        if self.path.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b':' | b';' | b'\n')) {
            return Err(usage(format!(
                "run directory {shown:?}: found a colon, semicolon or line break, which search paths cannot carry"
            )));
        }
        if self.path.to_str().is_none() {
            return Err(usage(format!("run directory {shown:?}: found bytes that are no UTF-8, expected text")));
        }
        let facts = fs::symlink_metadata(&self.path).with_context(|| format!("run directory {shown}"))?;
        let uid = geteuid().as_raw();
        if facts.is_symlink() {
            bail!("run directory {shown}: found a symbolic link, expected a directory of user {uid}");
        }
        if !facts.is_dir() {
            bail!("run directory {shown}: found a file, expected a directory of user {uid}");
        }
        if facts.uid() != uid && facts.uid() != 0 {
            bail!("run directory {shown}: it belongs to user {}, expected user {uid} or root", facts.uid());
        }
        if facts.mode() & 0o022 != 0 {
            bail!(
                "run directory {shown}: found mode {:03o}, expected one that only its owner may write (chmod 700 {shown})",
                facts.mode() & 0o777
            );
        }
        Ok(())
    }

    /// Makes the directories and links that programs started on the rack find their libraries by.
    pub fn make_links(&self, parts: &crate::parts::Parts) -> io::Result<()> {
        fs::create_dir_all(self.bin())?;
        fs::create_dir_all(self.driver())?;
        link(parts.executable(), &self.bin().join("ghostrack"))?;
        if let Some(nvidia_smi) = parts.nvidia_smi() {
            link(&nvidia_smi, &self.bin().join("nvidia-smi"))?;
        }
        let Ok(libraries) = parts.libraries() else {
            return Ok(());
        };
        for library in ["libcuda.so", "libnvidia-ml.so"] {
            let versioned = format!("{library}.1");
            link(&libraries.join(&versioned), &self.driver().join(&versioned))?;
            link(Path::new(&versioned), &self.driver().join(library))?;
        }
        Ok(())
    }

    /// Removes what a rack leaves, then the directory if nothing else is in it.
    pub fn remove(&self) {
        let _ = fs::remove_file(self.rack_socket());
        let _ = fs::remove_file(self.rack_file());
        for dir in [self.log_dir(), self.bin(), self.driver(), self.of_command(), self.path.join("cache")] {
            let _ = fs::remove_dir_all(dir);
        }
        self.remove_trays();
        remove_dirs(&self.path, |name| name.starts_with(SCRATCH));
        // Last: without it the directory is anybody's who starts a rack here.
        let _ = fs::remove_file(self.lock_file());
        let _ = fs::remove_dir(&self.path);
    }

    /// Removes the trays' directories with what they remember.
    pub fn remove_trays(&self) {
        remove_dirs(&self.path, |name| name.strip_prefix("tray-").is_some_and(|rest| rest.parse::<u16>().is_ok()));
    }

    /// How the scratch directory of a command begins that runs as `pid` in the namespace of ours.
    pub fn scratch_prefix(pid: u32) -> String {
        // Two containers may share a run directory, where the same number means two processes.
        let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |facts| facts.ino());
        format!("{SCRATCH}{namespace}-{pid}-")
    }

    /// Removes the scratch directories of commands that were killed.
    pub fn remove_stale_scratch(&self) {
        let namespace = RunDir::scratch_prefix(0);
        let namespace = namespace.trim_end_matches("0-");
        remove_dirs(&self.path, |name| {
            let pid = name.strip_prefix(namespace).and_then(|rest| rest.split('-').next()?.parse::<i32>().ok());
            pid.is_some_and(|pid| pid > 0 && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
        });
    }
}

/// Removes the directories directly in `within` whose names are `ours`.
fn remove_dirs(within: &Path, ours: impl Fn(&str) -> bool) {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(&ours)) {
        let _ = fs::remove_dir_all(entry.path());
    }
}

fn link(to: &Path, at: &Path) -> io::Result<()> {
    match fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(to, at)
}

/// Calls `then` with a name of `path` that fits into a socket address, however long it is.
pub fn with_short_path<T>(path: &Path, then: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    const LONGEST: usize = 107;
    if path.as_os_str().len() <= LONGEST {
        return then(path);
    }
    let parent = fs::File::open(path.parent().unwrap_or(Path::new("/")))?;
    then(&Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(path.file_name().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(option: Option<&str>, uid: u32, vars: &[(&str, &str)]) -> RunDir {
        let var = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        RunDir::from(option.map(Path::new), uid, var).unwrap()
    }

    #[test]
    fn the_option_wins_over_the_variable_and_both_over_the_default() {
        let vars = [(RUN_DIR_VAR, "/v"), ("XDG_RUNTIME_DIR", "/x")];
        assert_eq!(found(Some("/o"), 7, &vars).path(), Path::new("/o"));
        assert_eq!(found(None, 7, &vars).path(), Path::new("/v"));
        assert_eq!(found(None, 7, &vars[1..]).path(), Path::new("/x/ghostrack"));
        assert_eq!(found(None, 7, &[]).path(), Path::new("/tmp/ghostrack-7"));
        assert_eq!(found(None, 0, &vars[1..]).path(), Path::new(SYSTEM));
    }

    #[test]
    fn roots_rack_is_looked_at_unless_a_directory_was_named() {
        assert_eq!(found(None, 7, &[]).candidates().len(), 2);
        assert_eq!(found(Some("/o"), 7, &[]).candidates().len(), 1);
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused_with_its_mode() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = RunDir::at(dir.path().to_owned()).must_be_trusted().unwrap_err().to_string();
        assert!(error.contains("found mode 777"), "{error}");
    }

    #[test]
    fn removal_leaves_what_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = RunDir::at(dir.path().to_owned());
        fs::create_dir_all(run_dir.tray(3)).unwrap();
        fs::create_dir_all(dir.path().join("tray")).unwrap();
        fs::write(run_dir.rack_file(), "").unwrap();
        run_dir.remove();
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["tray"]);
    }

    #[test]
    fn scratch_of_commands_that_are_gone_goes_and_that_of_others_stays() {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = RunDir::at(dir.path().to_owned());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let gone = dir.path().join(RunDir::scratch_prefix(child.id()) + "x");
        let live = dir.path().join(RunDir::scratch_prefix(std::process::id()) + "x");
        let foreign = dir.path().join(format!("{SCRATCH}1-{}-x", child.id()));
        [&gone, &live, &foreign].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
        run_dir.remove_stale_scratch();
        assert!(!gone.exists() && live.exists() && foreign.exists());
        run_dir.remove();
        assert!(!dir.path().exists());
    }
}
