//! The variables by which a process finds its tray: what `run` and `shell` set and `env` prints.
//! Values the user has set are kept: lists get our entry in front, caches are left alone.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ghost_engine::place::{DEV_ROOT_VAR, SOCKET_VAR};

use crate::parts::REDIRECT;
use crate::run_dir::RUN_DIR_VAR;

/// Where a process is put.
#[derive(Debug)]
pub struct Seat<'a> {
    pub run_dir: &'a crate::run_dir::RunDir,
    pub tray_dir: PathBuf,
    /// The directory with this process's device nodes.
    pub dev_root: PathBuf,
    /// The stub libraries.
    pub libraries: &'a Path,
    /// Where caches go for a user without a home.
    pub fallback: PathBuf,
}

/// Caches of compiled kernels, which must not mix with those of a real GPU.
const CACHES: [(&str, &str); 3] = [
    ("TORCHINDUCTOR_CACHE_DIR", "torchinductor"),
    ("TRITON_CACHE_DIR", "triton"),
    ("PYTORCH_KERNEL_CACHE_PATH", "torch-kernels"),
];

/// Every variable and its value, given those that are set now.
pub fn variables(seat: &Seat<'_>, var: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    let mut all = vec![
        ("LD_AUDIT", in_front(seat.libraries.join(REDIRECT), set("LD_AUDIT"), is_redirect)),
        ("LD_LIBRARY_PATH", in_front(seat.run_dir.driver(), set("LD_LIBRARY_PATH"), |_| false)),
        (
            "PATH",
            in_front(
                seat.run_dir.bin(),
                Some(set("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())),
                |_| false,
            ),
        ),
        (SOCKET_VAR, seat.tray_dir.join("ghostd.sock").into()),
        (DEV_ROOT_VAR, seat.dev_root.clone().into()),
        (RUN_DIR_VAR, seat.run_dir.path().into()),
    ];
    if set("TRITON_LIBCUDA_PATH").is_none() {
        all.push(("TRITON_LIBCUDA_PATH", seat.libraries.into()));
    }
    let caches = cache_root(&seat.fallback, &set);
    all.extend(
        CACHES.iter().filter(|(name, _)| set(name).is_none()).map(|(name, dir)| (*name, caches.join(dir).into())),
    );
    all
}

/// The caches' directories must exist before PyTorch looks for them. A full disk is PyTorch's to report.
pub fn make_caches(variables: &[(&'static str, OsString)]) {
    for (_, dir) in variables.iter().filter(|(name, _)| CACHES.iter().any(|(cache, _)| cache == name)) {
        let _ = std::fs::create_dir_all(dir);
    }
}

/// Below the user's cache directory if there is a home to write to.
fn cache_root(fallback: &Path, set: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    let absolute = |name| set(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let ours = base.map(|base| base.join("ghostrack")).filter(|dir| std::fs::create_dir_all(dir).is_ok());
    ours.unwrap_or_else(|| fallback.join("cache"))
}

/// The entry, then what was there without it and without what `is_ours`. Empty entries mean something: they stay.
fn in_front(entry: PathBuf, list: Option<OsString>, is_ours: impl Fn(&Path) -> bool) -> OsString {
    let mut out = entry.clone().into_os_string();
    let list = list.unwrap_or_default();
    if list.is_empty() {
        return out;
    }
    for old in std::env::split_paths(&list).filter(|old| *old != entry && !is_ours(old)) {
        out.push(":");
        out.push(old);
    }
    out
}

/// Another build's redirection. Of two, the later in the list would have the last word.
fn is_redirect(library: &Path) -> bool {
    library.file_name() == Some(REDIRECT.as_ref())
}

/// A value that a POSIX shell reads back as it was.
pub fn quoted(value: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut out = vec![b'\''];
    for byte in value.as_bytes() {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::RunDir;

    fn variables_given(vars: &[(&str, &str)]) -> Vec<(&'static str, OsString)> {
        let run_dir = RunDir::at("/r".into());
        let seat = Seat {
            run_dir: &run_dir,
            tray_dir: "/r/tray-0".into(),
            dev_root: "/r/tray-0/dev".into(),
            libraries: Path::new("/l"),
            fallback: "/f".into(),
        };
        variables(&seat, &|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    fn value(all: &[(&'static str, OsString)], name: &str) -> Option<String> {
        all.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string_lossy().into_owned())
    }

    #[test]
    fn lists_keep_what_the_user_has_and_ours_is_there_once() {
        let audit = format!("/mine.so:/other/{REDIRECT}:/l/{REDIRECT}");
        let all = variables_given(&[("LD_AUDIT", &audit), ("PATH", "/r/bin:/bin"), ("LD_LIBRARY_PATH", ":/x")]);
        assert_eq!(value(&all, "LD_AUDIT").unwrap(), format!("/l/{REDIRECT}:/mine.so"));
        assert_eq!(value(&all, "PATH").unwrap(), "/r/bin:/bin");
        assert_eq!(value(&all, "LD_LIBRARY_PATH").unwrap(), "/r/driver::/x");
    }

    #[test]
    fn caches_the_user_chose_are_left_alone_and_others_move_away_from_a_real_gpus() {
        let all = variables_given(&[("TRITON_CACHE_DIR", "/t")]);
        assert_eq!(value(&all, "TRITON_CACHE_DIR"), None);
        assert_eq!(value(&all, "TORCHINDUCTOR_CACHE_DIR").unwrap(), "/f/cache/torchinductor");
    }

    #[test]
    fn a_quoted_value_survives_its_own_quotes() {
        assert_eq!(quoted(OsStr::new("a'b $c")), "'a'\\''b $c'");
    }
}
