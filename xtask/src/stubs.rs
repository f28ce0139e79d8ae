//! Building everything a tray runs: cargo once, then one link for each shared library.
//! cargo cannot version symbols in a cdylib, so the crates are archives and the link is ours.

use crate::libraries::{Kind, LIBRARIES, Library, PROGRAMS};
use crate::workspace::{Workspace, cargo};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Cargo profile of the bare libraries: no unwinding, so no standard library is needed.
const BARE_PROFILE: &str = "bare";

#[derive(Debug, Args)]
pub struct Options {
    /// Cargo profile
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// Where the libraries go [default: target/PROFILE/lib]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these packages or sonames; all libraries and programs when none is given
    #[arg(value_name = "NAME")]
    only: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    Release,
    Dev,
}

impl Profile {
    fn cargo_name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Dev => "dev",
        }
    }

    /// Its folder under the target directory.
    pub fn directory(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Dev => "debug",
        }
    }
}

/// Builds what `options` name and links what changed.
pub fn run(options: &Options) -> Result<()> {
    let target = Workspace::read()?.target();
    let built = target.join(options.profile.directory());
    let out = options.out.clone().unwrap_or_else(|| built.join("lib"));
    let libraries: Vec<_> = LIBRARIES.iter().filter(|library| options.wants(library)).collect();
    let programs: Vec<_> = PROGRAMS.iter().copied().filter(|name| options.names(name)).collect();
    if libraries.is_empty() && programs.is_empty() {
        bail!("nothing is called {}; names are packages or sonames of xtask/src/libraries.rs", options.only.join(", "));
    }
    let of_kind = |kind| libraries.iter().filter(move |row| row.kind == kind).map(|row| row.package);
    compile(options.profile.cargo_name(), of_kind(Kind::Stub).chain(programs).collect())?;
    compile(BARE_PROFILE, of_kind(Kind::Bare).collect())?;

    let scripts = target.join("version-scripts");
    fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    fs::create_dir_all(&scripts).with_context(|| format!("cannot create {}", scripts.display()))?;
    let mut linked = 0;
    for library in &libraries {
        let archives = match library.kind {
            Kind::Stub => built.clone(),
            Kind::Bare => target.join(BARE_PROFILE),
        };
        let link = Link {
            archive: archives.join(library.archive()),
            script: scripts.join(format!("{}.map", library.soname)),
            output: out.join(library.soname),
            strip: options.profile == Profile::Release,
            library,
        };
        linked += usize::from(link.refresh()?);
    }
    println!("{}: {} libraries, {linked} linked anew", out.display(), libraries.len());
    Ok(())
}

impl Options {
    fn wants(&self, library: &Library) -> bool {
        self.names(library.package) || self.only.iter().any(|name| name == library.soname)
    }

    fn names(&self, package: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == package)
    }
}

fn compile(profile: &str, packages: Vec<&str>) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(cargo());
    command.args(["build", "--profile", profile]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    run_command(command)
}

/// One shared library to be made from its archive.
#[derive(Debug)]
struct Link<'a> {
    library: &'a Library,
    archive: PathBuf,
    script: PathBuf,
    output: PathBuf,
    strip: bool,
}

impl Link<'_> {
    /// Links unless the output is newer than all it is made of; says whether it did.
    fn refresh(&self) -> Result<bool> {
        write_if_changed(&self.script, &self.library.version_script())?;
        let made = modified(&self.output);
        let inputs = [
            modified(&self.archive),
            modified(&self.script),
            std::env::current_exe().ok().and_then(|xtask| modified(&xtask)),
        ];
        if made.is_some() && inputs.iter().all(|input| *input < made) {
            return Ok(false);
        }
        // Linked beside and renamed: a process that has the old file mapped keeps it whole.
        let fresh = self.output.with_file_name(format!(".{}.new", self.library.soname));
        run_command(self.command(&fresh))?;
        fs::rename(&fresh, &self.output).with_context(|| format!("cannot write {}", self.output.display()))?;
        Ok(true)
    }

    fn command(&self, output: &Path) -> Command {
        let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
        cc.args(["-shared", "-o"]).arg(output);
        cc.arg(format!("-Wl,-soname,{}", self.library.soname));
        cc.arg(format!("-Wl,--version-script={}", self.script.display()));
        // Calls inside a library stay inside; a text relocation is an error; a library with
        // threads and thread-local destructors is never unmapped.
        cc.args(["-Wl,-Bsymbolic", "-Wl,-z,text", "-Wl,-z,relro", "-Wl,-z,noexecstack", "-Wl,-z,nodelete"]);
        cc.args(["-Wl,--gc-sections", "-Wl,--no-undefined", "-Wl,--as-needed", "-Wl,--hash-style=gnu", "-Wl,-O1"]);
        if self.strip {
            cc.arg("-Wl,--strip-all");
        }
        if self.library.kind == Kind::Bare {
            cc.arg("-nostdlib");
        }
        cc.arg("-Wl,--whole-archive").arg(&self.archive).arg("-Wl,--no-whole-archive");
        if self.library.kind == Kind::Stub {
            cc.args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
        }
        cc
    }
}

fn run_command(mut command: Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{name} did not start; is it installed?"))?;
    if !status.success() {
        bail!("failed ({status}): {command:?}");
    }
    Ok(())
}

fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}
