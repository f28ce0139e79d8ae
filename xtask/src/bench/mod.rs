//! `cargo xtask bench`: the budgets of the design, each with what this machine measures now.
//! It prints and never fails on a number: benches inform, tests judge.

mod inside;
mod outside;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One line of the table.
#[derive(Debug)]
pub struct Row {
    pub what: &'static str,
    pub target: &'static str,
    pub measured: String,
}

impl Row {
    pub fn new(what: &'static str, target: &'static str, measured: impl Into<String>) -> Row {
        Row { what, target, measured: measured.into() }
    }

    fn print(&self) {
        println!("{:<58} {:<22} {}", self.what, self.target, self.measured);
    }
}

/// What the bench works with.
#[derive(Debug)]
pub struct Build {
    pub programs: PathBuf,
    pub libraries: PathBuf,
    pub python: Option<PathBuf>,
}

impl Build {
    fn find() -> Result<Build> {
        let programs = std::env::current_exe()?.parent().context("no folder of this program")?.join("../release");
        let programs = programs.canonicalize().context("target/release is missing: run `make stubs` first")?;
        let libraries = programs.join("lib");
        if !libraries.join("libcuda.so.1").exists() {
            bail!("{} holds no libcuda.so.1: run `make stubs` first", libraries.display());
        }
        let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
        let python = std::env::var_os("GHOSTRACK_PYTHON").map(PathBuf::from).or_else(|| venv.exists().then_some(venv));
        Ok(Build { programs, libraries, python })
    }

    pub fn ghostrack(&self, run_dir: &Path) -> Command {
        let mut command = Command::new(self.programs.join("ghostrack"));
        command.env("GHOSTRACK_RUN_DIR", run_dir).stdin(Stdio::null());
        command
    }
}

/// The whole table.
pub fn run() -> Result<()> {
    let build = Build::find()?;
    println!("{:<58} {:<22} here, now", "what", "target");
    let run_dir = std::env::temp_dir().join(format!("ghostrack-bench-{}", std::process::id()));
    outside::start_up(&build, &run_dir)?.iter().for_each(Row::print);
    let up = build.ghostrack(&run_dir).arg("up").stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    if !up.success() {
        bail!("`ghostrack up` failed in {}", run_dir.display());
    }
    let measured = with_rack(&build, &run_dir);
    build.ghostrack(&run_dir).arg("down").stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    measured
}

fn with_rack(build: &Build, run_dir: &Path) -> Result<()> {
    outside::idle(build, run_dir)?.iter().for_each(Row::print);
    let me = std::env::current_exe()?;
    let inside = build.ghostrack(run_dir).args(["run", "--"]).arg(me).arg("bench-inside").status()?;
    if !inside.success() {
        bail!("the calls inside the rack could not be measured");
    }
    outside::programs(build, run_dir)?.iter().for_each(Row::print);
    Ok(())
}

/// The part that runs under `ghostrack run`.
pub fn run_inside() -> Result<()> {
    inside::rows()?.iter().for_each(Row::print);
    Ok(())
}

/// Median of samples in nanoseconds, in a unit that reads well.
pub fn median(mut samples: Vec<u64>) -> String {
    samples.sort_unstable();
    samples.get(samples.len() / 2).map_or_else(|| "not measured".to_owned(), |ns| nanoseconds(*ns))
}

pub fn nanoseconds(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}
