//! Which room may use which: every edge between workspace crates against the design's table.
//! Edges to crates outside the workspace are the licence check's business.

use crate::workspace::{Package, Workspace};
use anyhow::{Result, bail};
use std::path::Path;

/// A room, by the folder its crate lives in, and the rooms it may use. The first row whose
/// folder matches decides, so a narrower folder stands before a wider one.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("engine", &["model"]),
    ("owners", &["model", "engine"]),
    ("driver-stubs/abi", &[]),
    ("driver-stubs/table", &[]),
    ("driver-stubs/blas", &["driver-stubs/abi", "driver-stubs/table"]),
    ("driver-stubs/nvidia-smi", &["model", "engine"]),
    ("driver-stubs", STUB),
    ("preload", &["model", "engine"]),
    ("fusedev", &["model", "engine", "owners"]),
    ("bmc", &["model", "engine", "owners"]),
    ("fabric", &["model", "engine", "owners"]),
    ("telemetry", &["model", "engine"]),
    ("cli", &["model", "engine", "owners"]),
    ("tests", &[]),
    ("xtask", &[]),
];

/// What a library may use: how a function is declared, libcuda's private table, what the two BLAS
/// libraries share. Never another library: each carries its own statics.
const STUB: &[&str] = &["model", "engine", "driver-stubs/abi", "driver-stubs/table", "driver-stubs/blas"];

/// Checks every edge and lists those that are not allowed.
pub fn run() -> Result<()> {
    let workspace = Workspace::read()?;
    let root = workspace.root();
    let packages = workspace.packages();
    let ours: Vec<_> = packages.iter().filter(|package| package.is_ours).map(|package| room(package, &root)).collect();
    let wrong: Vec<_> = ours.iter().flat_map(|from| surplus(from, &ours)).collect();
    if !wrong.is_empty() {
        bail!("arrows the design does not have:\n  {}\nthe table is xtask/src/arrows.rs", wrong.join("\n  "));
    }
    println!("arrows: {} crates, every edge allowed", ours.len());
    Ok(())
}

#[derive(Debug)]
struct Room<'a> {
    name: &'a str,
    folder: String,
    uses: &'a [&'a str],
}

fn room<'a>(package: &'a Package<'a>, root: &Path) -> Room<'a> {
    let folder = package.manifest.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let folder = folder.unwrap_or(Path::new("")).to_string_lossy().into_owned();
    Room { name: package.name, folder, uses: &package.dependencies }
}

fn surplus(from: &Room<'_>, ours: &[Room<'_>]) -> Vec<String> {
    let Some((_, allowed)) = ARROWS.iter().find(|(folder, _)| within(&from.folder, folder)) else {
        return vec![format!("{} ({}) is in no room of the table", from.name, from.folder)];
    };
    let used = ours.iter().filter(|room| from.uses.contains(&room.name));
    used.filter(|to| !allowed.contains(&to.folder.as_str()))
        .map(|to| format!("{} -> {}", from.folder, to.folder))
        .collect()
}

fn within(folder: &str, room: &str) -> bool {
    folder.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(folder: &'static str, uses: &'static [&'static str]) -> Room<'static> {
        Room { name: folder, folder: folder.to_owned(), uses }
    }

    #[test]
    fn a_stub_uses_abi_engine_and_model() {
        let ours = [
            room("driver-stubs/nvml", &["driver-stubs/abi", "engine", "model", "libc"]),
            room("driver-stubs/abi", &[]),
            room("engine", &[]),
            room("model", &[]),
        ];
        assert!(surplus(&ours[0], &ours).is_empty());
    }

    #[test]
    fn one_stub_on_another_or_the_model_on_anything_is_an_error() {
        let ours = [
            room("driver-stubs/cudart", &["driver-stubs/cuda"]),
            room("driver-stubs/cuda", &[]),
            room("model", &["engine"]),
            room("engine", &[]),
        ];
        assert_eq!(surplus(&ours[0], &ours), ["driver-stubs/cudart -> driver-stubs/cuda"]);
        assert_eq!(surplus(&ours[2], &ours), ["model -> engine"]);
    }

    #[test]
    fn a_crate_outside_every_room_is_an_error() {
        let ours = [room("modelling", &[])];
        assert_eq!(surplus(&ours[0], &ours), ["modelling (modelling) is in no room of the table"]);
    }
}
