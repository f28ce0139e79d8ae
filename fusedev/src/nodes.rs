//! The plain tree of a tray: the directory with sockets, device files and logs, on the rung of the ladder that needs
//! no mount and no privilege. It makes and removes files; it serves nothing.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where everything of one tray lies.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Makes the directories and the device files of `minors`.
    pub fn make(root: &Path, minors: &[u32]) -> io::Result<Tree> {
        let tree = Tree { root: root.to_owned() };
        fs::create_dir_all(tree.dev())?;
        fs::create_dir_all(tree.log())?;
        let names = minors.iter().map(|minor| format!("nvidia{minor}"));
        for name in names.chain(["nvidiactl".to_owned(), "nvidia-uvm".to_owned()]) {
            let path = tree.dev().join(&name);
            fs::write(&path, format!("Stand-in for /dev/{name} of an emulated tray. Opening it does nothing.\n"))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        }
        Ok(tree)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn dev(&self) -> PathBuf {
        self.root.join("dev")
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

    /// Changes of the machine, kept over restarts.
    pub fn journal(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Removes what `make` made and the sockets; the journal and the logs stay.
    pub fn remove(&self) {
        let _ = fs::remove_file(self.socket());
        let _ = fs::remove_file(self.owners_socket());
        if let Ok(entries) = fs::read_dir(self.dev()) {
            entries.flatten().for_each(|entry| drop(fs::remove_file(entry.path())));
        }
        let _ = fs::remove_dir(self.dev());
    }
}
