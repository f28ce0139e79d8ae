//! Build and check tasks of this repository: `cargo xtask <task>`.
//! It uses no crate of the workspace and changes no source file.

mod arrows;
mod libraries;
mod licences;
mod stubs;
mod workspace;

use anyhow::Result;
use clap::Parser;

#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Build and check tasks of this repository")]
enum Task {
    /// Build the daemons, the command and every library with its soname and symbol versions
    Stubs(stubs::Options),
    /// Fail on an edge between workspace crates that the design does not allow
    Arrows,
    /// Fail on a dependency whose licence is not in deny.toml
    Licences,
}

fn main() -> Result<()> {
    match Task::parse() {
        Task::Stubs(options) => stubs::run(&options),
        Task::Arrows => arrows::run(),
        Task::Licences => licences::run(),
    }
}
