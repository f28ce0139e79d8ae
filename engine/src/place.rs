//! Which tray a process belongs to: a socket, and a directory whose device nodes say which GPUs it sees.
//! It decides from the environment once and never from anything another user can write.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names the tray's socket; set by `ghostrack run`, `env` and `shell`.
pub const SOCKET_VAR: &str = "GHOSTRACK_SOCKET";
/// Names the directory with this process's device nodes.
pub const DEV_ROOT_VAR: &str = "GHOSTRACK_DEV_ROOT";
/// Where an installed tray's ghostd listens.
pub const SYSTEM_SOCKET: &str = "/run/ghostrack/tray/ghostd.sock";

/// A tray as one process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub socket: PathBuf,
    pub dev_root: PathBuf,
}

impl Place {
    /// From the environment of this process.
    pub fn find() -> Place {
        Place::from(|name| std::env::var_os(name))
    }

    fn from(var: impl Fn(&str) -> Option<OsString>) -> Place {
        let path = |name| var(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let socket = path(SOCKET_VAR).unwrap_or_else(|| PathBuf::from(SYSTEM_SOCKET));
        let beside = || socket.parent().unwrap_or(Path::new("/")).join("dev");
        let dev_root = path(DEV_ROOT_VAR).unwrap_or_else(beside);
        Place { socket, dev_root }
    }

    /// Whether the node of `minor` exists here and this process may open it.
    pub fn may_open(&self, minor: u32) -> bool {
        use std::os::unix::ffi::OsStringExt;
        let path = self.dev_root.join(format!("nvidia{minor}")).into_os_string().into_vec();
        let Ok(path) = std::ffi::CString::new(path) else {
            return false;
        };
        // SAFETY: `path` is a valid C string.
        unsafe { libc::access(path.as_ptr(), libc::R_OK | libc::W_OK) == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_looked_for_beside_the_socket_unless_told_otherwise() {
        let place = Place::from(|name| (name == SOCKET_VAR).then(|| "/x/tray-1/ghostd.sock".into()));
        assert_eq!(place.dev_root, Path::new("/x/tray-1/dev"));
        assert!(!place.may_open(0));
    }
}
