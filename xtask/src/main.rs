//! Build and check tasks of this repository: `cargo xtask <task>`.
//! It uses no crate of the workspace and changes no source file.

mod arrows;
mod bench;
mod coverage;
mod elf;
mod libraries;
mod licences;
mod stubs;
mod verify;
mod workspace;

use anyhow::Result;
use clap::Parser;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "Build and check tasks of this repository")]
enum Task {
    /// Build the daemons, the command and every library with its soname and symbol versions
    Stubs(stubs::Options),
    /// Check the built libraries: sonames, versions, exports, imports of programs, redirection
    Verify(verify::Options),
    /// Open libraries and list what is mapped (used by verify)
    #[command(hide = true)]
    Probe { names: Vec<String> },
    /// Count the functions of each library that have a handler
    Coverage(coverage::Options),
    /// Measure the budgets of the design and print them beside their targets
    Bench,
    /// The part of `bench` that runs inside the rack
    #[command(hide = true)]
    BenchInside,
    /// Fail on an edge between workspace crates that the design does not allow
    Arrows,
    /// Fail on a dependency whose licence is not in deny.toml
    Licences,
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Stubs(options) => stubs::run(&options),
        Task::Verify(options) => verify::run(&options),
        Task::Probe { names } => verify::probe(&names),
        Task::Coverage(options) => coverage::run(&options),
        Task::Bench => bench::run(),
        Task::BenchInside => bench::run_inside(),
        Task::Arrows => arrows::run(),
        Task::Licences => licences::run(),
    }
}
