//! Whose the run directory is: one supervisor at a time, told by a locked file that only its owner can open.
//! It makes and removes nothing else.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::run_dir::RunDir;

/// The run directory is somebody's rack already.
#[derive(Debug, thiserror::Error)]
#[error("{0}: a rack is up here already")]
pub struct Occupied(String);

/// The run directory is ours. The lock goes with its holder, however that ends; its file goes when this is dropped.
#[derive(Debug)]
pub struct RackLock {
    file: Flock<File>,
    path: PathBuf,
}

impl Drop for RackLock {
    fn drop(&mut self) {
        // Still locked: whoever waits for the name sees that its file is gone.
        if is_same(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes the run directory for this process, or says that it is taken.
///
/// What is locked is a file: a directory can be locked by everybody who may read it, and anybody may read root's.
pub fn occupy(run_dir: &RunDir) -> anyhow::Result<RackLock> {
    let path = run_dir.lock_file();
    loop {
        run_dir.prepare()?;
        let file = match open(&path) {
            // A rack that ended meanwhile has removed the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.with_context(|| format!("{}: cannot be opened", path.display()))?,
        };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            // A rack that ended meanwhile has removed the file that was locked here.
            Ok(file) if is_same(&file, &path) => return Ok(RackLock { file, path }),
            Ok(_) => {}
            Err((_, Errno::EWOULDBLOCK)) => return Err(Occupied(run_dir.path().display().to_string()).into()),
            Err((_, error)) => bail!("{}: cannot be locked: {error}", path.display()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    let file = options.open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() || facts.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other("exists and is no plain file of this user"));
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

fn is_same(open: &File, path: &Path) -> bool {
    let id = |facts: &fs::Metadata| (facts.dev(), facts.ino());
    matches!((&open.metadata(), &fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(a) == id(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_directory_is_one_racks_and_its_lock_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let run_dir = RunDir::at(dir.path().join("run"));
        let held = occupy(&run_dir).unwrap();
        assert_eq!(fs::metadata(run_dir.lock_file()).unwrap().mode() & 0o777, 0o600);
        assert!(occupy(&run_dir).unwrap_err().is::<Occupied>());
        run_dir.remove();
        assert!(!run_dir.path().exists());
        let next = occupy(&run_dir).unwrap();
        drop(held);
        assert!(run_dir.lock_file().exists(), "the next rack's lock is not the last one's to remove");
        drop(next);
        assert!(!run_dir.lock_file().exists());
    }

    #[test]
    fn a_lock_on_the_directory_itself_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let _other = Flock::lock(File::open(dir.path()).unwrap(), FlockArg::LockExclusiveNonblock).unwrap();
        occupy(&RunDir::at(dir.path().to_owned())).unwrap();
    }
}
