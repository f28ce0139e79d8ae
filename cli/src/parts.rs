//! Where this build's other parts are: ghostd, nvidia-smi, the libraries. One rule for the build tree and for a package.
//! It looks only; it starts and loads nothing.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::usage;

/// Overrides where the libraries are looked for.
pub const LIB_DIR_VAR: &str = "GHOSTRACK_LIB_DIR";
/// The library that redirects the others; a directory with it is the libraries' directory.
pub const REDIRECT: &str = "libghostrack-redirect.so";

const HOW_TO_BUILD: &str = "`cargo xtask stubs` (or `make stubs`) in the source tree builds everything";

/// This executable's neighbourhood.
#[derive(Clone, Debug)]
pub struct Parts {
    executable: PathBuf,
    beside: PathBuf,
    lib_override: Option<PathBuf>,
}

impl Parts {
    pub fn find() -> anyhow::Result<Parts> {
        let executable = std::env::current_exe().context("/proc/self/exe: cannot tell where this program is")?;
        let lib_override = std::env::var_os(LIB_DIR_VAR).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        Parts::at(executable, lib_override)
    }

    fn at(executable: PathBuf, lib_override: Option<PathBuf>) -> anyhow::Result<Parts> {
        let beside = executable.parent().unwrap_or(Path::new("/")).to_owned();
        let lib_override = lib_override.map(std::path::absolute).transpose()?;
        Ok(Parts { executable, beside, lib_override })
    }

    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// The daemon: beside this program, else where a package puts it, else on PATH.
    pub fn ghostd(&self) -> anyhow::Result<PathBuf> {
        let near = [self.beside.join("ghostd"), self.packaged().join("ghostd")];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).map(|dir| dir.join("ghostd"));
        let found = near.into_iter().chain(on_path).find(|file| file.is_file());
        found.with_context(|| format!("ghostd: not in {} and not on PATH; {HOW_TO_BUILD}", self.beside.display()))
    }

    /// Our nvidia-smi, if it was built.
    pub fn nvidia_smi(&self) -> Option<PathBuf> {
        let files =
            [self.beside.join("nvidia-smi"), self.beside.join("ghost-nvidia-smi"), self.packaged().join("nvidia-smi")];
        files.into_iter().find(|file| file.is_file() && !is_system(file))
    }

    /// The directory with the libraries.
    pub fn libraries(&self) -> anyhow::Result<PathBuf> {
        let places = match &self.lib_override {
            Some(dir) => vec![dir.clone()],
            None => vec![self.beside.join("lib"), self.packaged()],
        };
        if let Some(dir) = places.iter().find(|dir| dir.join(REDIRECT).is_file()) {
            let dir = std::fs::canonicalize(dir).with_context(|| format!("{}: cannot be entered", dir.display()))?;
            return can_be_listed(&dir).map(|()| dir);
        }
        let tried: Vec<_> = places.iter().map(|dir| dir.display().to_string()).collect();
        let why = if self.lib_override.is_some() { format!("{LIB_DIR_VAR}: ") } else { String::new() };
        anyhow::bail!("{why}no {REDIRECT} in {}; {HOW_TO_BUILD}, {LIB_DIR_VAR} names another place", tried.join(", "))
    }

    /// `/usr/lib/ghostrack` for `/usr/bin/ghostrack`.
    fn packaged(&self) -> PathBuf {
        self.beside.parent().unwrap_or(Path::new("/")).join("lib/ghostrack")
    }
}

/// The loader would take a path with a colon for two, find neither, and go on without us.
fn can_be_listed(libraries: &Path) -> anyhow::Result<()> {
    if libraries.as_os_str().as_encoded_bytes().contains(&b':') {
        return Err(usage(format!(
            "libraries' directory {libraries:?}: found a colon, which LD_AUDIT cannot carry; install to another path, \
             or name another with {LIB_DIR_VAR}"
        )));
    }
    Ok(())
}

/// The real thing, which a package of ours never replaces.
fn is_system(file: &Path) -> bool {
    ["/usr/bin/nvidia-smi", "/bin/nvidia-smi"].iter().any(|real| file == Path::new(real))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn libraries_are_beside_the_program_in_a_build_and_under_lib_in_a_package() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for dir in ["target/release/lib", "usr/lib/ghostrack"] {
            fs::create_dir_all(root.join(dir)).unwrap();
            fs::write(root.join(dir).join(REDIRECT), "").unwrap();
        }
        let libraries = |exe| Parts::at(root.join(exe), None).unwrap().libraries().unwrap();
        assert_eq!(libraries("target/release/ghostrack"), root.join("target/release/lib"));
        assert_eq!(libraries("usr/bin/ghostrack"), root.join("usr/lib/ghostrack"));
    }

    #[test]
    fn libraries_that_are_not_there_are_missed_by_name_with_the_command_that_builds_them() {
        let parts = Parts::at("/nowhere/bin/ghostrack".into(), Some("/nowhere/else".into())).unwrap();
        let error = parts.libraries().unwrap_err().to_string();
        assert!(error.contains("/nowhere/else") && error.contains("cargo xtask stubs"), "{error}");
    }

    #[test]
    fn libraries_in_a_path_with_a_colon_are_refused_and_with_a_space_are_not() {
        let root = tempfile::tempdir().unwrap();
        let libraries = |name: &str| {
            let dir = root.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join(REDIRECT), "").unwrap();
            Parts::at("/nowhere/bin/ghostrack".into(), Some(dir)).unwrap().libraries()
        };
        let error = libraries("a:b").unwrap_err().to_string();
        assert!(error.contains("/a:b\"") && error.contains("colon"), "{error}");
        assert!(libraries("a b").is_ok());
    }
}
