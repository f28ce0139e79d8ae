//! What cargo says about this workspace.
//! It reads only; nothing here builds.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The answer of `cargo metadata`.
#[derive(Debug)]
pub struct Workspace {
    metadata: Value,
}

/// One package of the dependency tree.
#[derive(Debug)]
pub struct Package<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub version: &'a str,
    /// The licence expression; packages with a licence file only have none.
    pub licence: Option<&'a str>,
    pub manifest: PathBuf,
    /// Names of what it depends on, of every kind and target.
    pub dependencies: Vec<&'a str>,
    /// Whether it belongs to this repository.
    pub is_ours: bool,
}

impl Workspace {
    /// Asks cargo, with every feature on.
    pub fn read() -> Result<Self> {
        let mut cargo = Command::new(cargo());
        cargo.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
        let output = cargo.output().context("cargo metadata did not start")?;
        if !output.status.success() {
            bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let metadata =
            serde_json::from_slice(&output.stdout).context("cargo metadata wrote something else than JSON")?;
        Ok(Self { metadata })
    }

    /// Where the repository is.
    pub fn root(&self) -> PathBuf {
        self.path("workspace_root")
    }

    /// Where cargo builds.
    pub fn target(&self) -> PathBuf {
        self.path("target_directory")
    }

    /// Every package that some target of some member needs.
    pub fn packages(&self) -> Vec<Package<'_>> {
        let members = strings(&self.metadata["workspace_members"]);
        list(&self.metadata["packages"]).iter().map(|package| read(package, &members)).collect()
    }

    fn path(&self, key: &str) -> PathBuf {
        text(&self.metadata[key]).into()
    }
}

/// The cargo that runs this task.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn read<'a>(package: &'a Value, members: &[&str]) -> Package<'a> {
    let id = text(&package["id"]);
    Package {
        id,
        name: text(&package["name"]),
        version: text(&package["version"]),
        licence: package["license"].as_str(),
        manifest: text(&package["manifest_path"]).into(),
        dependencies: list(&package["dependencies"]).iter().map(|edge| text(&edge["name"])).collect(),
        is_ours: members.contains(&id),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn strings(value: &Value) -> Vec<&str> {
    list(value).iter().map(text).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
