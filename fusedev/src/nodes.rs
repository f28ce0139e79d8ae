//! The plain tree of a tray: the directory with sockets, device files and logs, on the rung of the ladder that needs
//! no mount and no privilege. It makes and removes files; it serves nothing.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::procfs::ProcFile;

/// The tray's directory, taken: one ghostd at a time. The lock goes with its holder, however that ends; its file goes
/// when this is dropped.
#[derive(Debug)]
pub struct TrayLock {
    file: Flock<fs::File>,
    path: PathBuf,
}

impl Drop for TrayLock {
    fn drop(&mut self) {
        // Still locked: whoever waits for the name sees that its file is gone.
        if is_same(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes the tray's directory, or says that it is taken.
///
/// What is locked is a file that only its owner can open: a directory can be locked by everybody who may read it.
pub fn lock(root: &Path) -> anyhow::Result<TrayLock> {
    let path = root.join(".lock");
    loop {
        let file = open_lock(&path).with_context(|| format!("{}: cannot be opened", path.display()))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            // A ghostd that ended meanwhile has removed the file that was locked here.
            Ok(file) if is_same(&file, &path) => return Ok(TrayLock { file, path }),
            Ok(_) => {}
            Err((_, Errno::EWOULDBLOCK)) => anyhow::bail!(
                "{}: another ghostd serves this tray; stop it first, or choose another --run-dir",
                root.display()
            ),
            Err((_, error)) => return Err(error).with_context(|| format!("{}: cannot be locked", path.display())),
        }
    }
}

fn open_lock(path: &Path) -> io::Result<fs::File> {
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

fn is_same(open: &fs::File, path: &Path) -> bool {
    let id = |facts: &fs::Metadata| (facts.dev(), facts.ino());
    matches!((&open.metadata(), &fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(a) == id(b))
}

/// Where everything of one tray lies.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    /// Files of ours that go when the tray goes.
    made: Vec<PathBuf>,
}

impl Tree {
    /// Makes the directories, the device files of `minors`, and the files of /proc/driver/nvidia.
    pub fn make(root: &Path, minors: &[u32], proc_files: &[ProcFile]) -> io::Result<Tree> {
        let mut tree = Tree { root: root.to_owned(), made: Vec::new() };
        fs::create_dir_all(tree.log())?;
        let names = minors.iter().map(|minor| format!("nvidia{minor}"));
        for name in names.chain(["nvidiactl".to_owned(), "nvidia-uvm".to_owned()]) {
            let text = format!("Stand-in for /dev/{name} of an emulated tray. Opening it does nothing.\n");
            tree.put(tree.dev().join(&name), &text, 0o666)?;
        }
        for file in proc_files {
            tree.put(tree.proc_files().join(&file.path), &file.text, 0o444)?;
        }
        Ok(tree)
    }

    /// A file anybody may open, to write only if `mode` says so. Never in the place of anything but a plain file: a real device stays what it is.
    fn put(&mut self, path: PathBuf, text: &str, mode: u32) -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => {
                let message = format!("{}: exists and is no plain file; choose another --run-dir", path.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
            }
            // An older one may be read-only.
            Ok(_) => fs::remove_file(&path)?,
            Err(_) => {}
        }
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        self.made.push(path);
        Ok(())
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn dev(&self) -> PathBuf {
        self.root.join("dev")
    }

    /// What a process sees as /proc/driver/nvidia.
    pub fn proc_files(&self) -> PathBuf {
        self.root.join("proc/driver/nvidia")
    }

    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    pub fn socket(&self) -> PathBuf {
        self.root.join("ghostd.sock")
    }

    pub fn owners_socket(&self) -> PathBuf {
        self.root.join("owners.sock")
    }

    /// The state of the hardware, kept over restarts.
    pub fn journal(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Removes the sockets and what `make` made; state and logs stay.
    pub fn remove(&self) {
        let sockets = [self.socket(), self.owners_socket()];
        for path in sockets.iter().chain(&self.made) {
            let _ = fs::remove_file(path);
        }
        for path in self.made.iter().rev() {
            // Directories that are empty now, up to the tray's own.
            let above = path.ancestors().skip(1).take_while(|dir| *dir != self.root);
            above.for_each(|dir| drop(fs::remove_dir(dir)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tray_that_goes_leaves_only_what_is_not_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let version = ProcFile { path: "version".to_owned(), text: "x".to_owned() };
        let tree = Tree::make(dir.path(), &[0, 1], &[version]).unwrap();
        assert!(tree.dev().join("nvidia1").is_file() && tree.proc_files().join("version").is_file());
        fs::write(dir.path().join("dev/mine"), "").unwrap();
        tree.remove();
        assert!(dir.path().join("dev/mine").exists() && !dir.path().join("dev/nvidia1").exists());
        assert!(!dir.path().join("proc").exists());
    }

    #[test]
    fn what_is_no_plain_file_is_never_covered() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("dev")).unwrap();
        std::os::unix::fs::symlink("/dev/null", dir.path().join("dev/nvidia0")).unwrap();
        let refused = Tree::make(dir.path(), &[0], &[]).unwrap_err();
        assert!(refused.to_string().contains("no plain file"), "{refused}");
    }

    #[test]
    fn the_lock_is_a_file_of_its_owner_alone_and_goes_with_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let held = lock(dir.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(lock(dir.path()).unwrap_err().to_string().contains("another ghostd"));
        drop(held);
        assert!(!path.exists());
        drop(lock(dir.path()).unwrap());
    }

    #[test]
    fn a_lock_on_the_directory_itself_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        let _other = Flock::lock(fs::File::open(dir.path()).unwrap(), FlockArg::LockExclusiveNonblock).unwrap();
        lock(dir.path()).unwrap();
    }

    #[test]
    fn a_lock_that_is_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join(".lock")).unwrap();
        assert!(lock(dir.path()).is_err() && !dir.path().join("elsewhere").exists());
    }
}
