//! The plain tree of a tray: the directory with sockets, device files and logs, on the rung of the ladder that needs
//! no mount and no privilege. It makes and removes files; it serves nothing.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::procfs::ProcFile;

/// The tray's directory, locked: one ghostd at a time. The lock goes with its holder, however that ends.
pub fn lock(root: &Path) -> anyhow::Result<Flock<fs::File>> {
    let dir = fs::File::open(root).with_context(|| format!("{}: cannot open the tray's directory", root.display()))?;
    match Flock::lock(dir, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock),
        Err((_, Errno::EWOULDBLOCK)) => anyhow::bail!(
            "{}: another ghostd serves this tray; stop it first, or choose another --run-dir",
            root.display()
        ),
        Err((_, error)) => Err(error).with_context(|| format!("{}: cannot lock the tray's directory", root.display())),
    }
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
}
