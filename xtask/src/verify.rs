//! The built libraries as a program meets them: names, versions, exports, and the redirection.
//! It runs no CUDA function; what the functions do is the libraries' own tests' business.

use crate::elf::{Elf, Symbol};
use crate::libraries::{Kind, LIBRARIES, Library};
use crate::stubs::Profile;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a stub may need: nothing a container's base system lacks.
const BASE: &[&str] = &["libc.so.6", "libgcc_s.so.1", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];

#[derive(Debug, Args)]
pub struct Options {
    /// Cargo profile
    #[arg(long, value_enum, default_value_t = Profile::Release)]
    profile: Profile,
    /// Where the libraries are [default: target/PROFILE/lib]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Programs and libraries whose imports from ours must all be there, e.g. libtorch_cuda.so
    #[arg(value_name = "FILE")]
    against: Vec<PathBuf>,
}

/// Checks every library; says all that is wrong.
pub fn run(options: &Options) -> Result<()> {
    let folder = match &options.out {
        Some(folder) => folder.clone(),
        None => Workspace::read()?.target().join(options.profile.directory()).join("lib"),
    };
    let folder =
        fs::canonicalize(&folder).with_context(|| format!("{}: run `cargo xtask stubs` first", folder.display()))?;
    let elves =
        LIBRARIES.iter().map(|row| Ok((row, Elf::read(&folder.join(row.soname))?))).collect::<Result<Vec<_>>>()?;
    let mut wrong: Vec<_> = elves.iter().flat_map(|(row, elf)| faults(row, elf)).collect();
    for file in &options.against {
        wrong.extend(unmet(file, &Elf::read(file)?, &elves));
    }
    wrong.extend(not_redirected(&folder)?);
    if !wrong.is_empty() {
        bail!("{}:\n  {}", folder.display(), wrong.join("\n  "));
    }
    let exports: usize = elves.iter().map(|(_, elf)| elf.exports().count()).sum();
    println!(
        "{}: {} libraries, {exports} exports, names, versions and redirection as declared",
        folder.display(),
        elves.len()
    );
    Ok(())
}

fn faults(row: &Library, elf: &Elf) -> Vec<String> {
    let mut faults = Vec::new();
    if elf.soname.as_deref() != Some(row.soname) {
        faults.push(format!("soname is {:?}", elf.soname));
    }
    if elf.has_text_relocations {
        faults.push("has text relocations".to_owned());
    }
    let allowed = if row.kind == Kind::Bare { &[] } else { BASE };
    faults
        .extend(elf.needed.iter().filter(|name| !allowed.contains(&name.as_str())).map(|name| format!("needs {name}")));
    let surplus = elf.exports().filter(|symbol| !row.exports.iter().any(|pattern| matches(pattern, &symbol.name)));
    faults.extend(surplus.map(|symbol| format!("exports {}", symbol.name)));
    let misversioned = elf.exports().filter(|symbol| symbol.version.as_deref() != row.node);
    faults.extend(misversioned.map(|symbol| format!("{} has version {:?}", symbol.name, symbol.version)));
    faults.into_iter().map(|fault| format!("{}: {fault}", row.soname)).collect()
}

/// Imports of `file` that belong to one of our libraries and are not exported there.
fn unmet(file: &Path, elf: &Elf, ours: &[(&Library, Elf)]) -> Vec<String> {
    let exported: HashSet<_> =
        ours.iter().flat_map(|(_, elf)| elf.exports()).map(|symbol| (&symbol.name, &symbol.version)).collect();
    let nodes: HashSet<_> = LIBRARIES.iter().filter_map(|row| row.node).collect();
    let needed: Vec<_> =
        ours.iter().map(|(row, _)| *row).filter(|row| elf.needed.iter().any(|name| name == row.soname)).collect();
    let concerns_us = |symbol: &&Symbol| match &symbol.version {
        Some(version) => nodes.contains(version.as_str()),
        None => needed
            .iter()
            .any(|row| row.node.is_none() && row.exports.iter().any(|pattern| matches(pattern, &symbol.name))),
    };
    let unmet = elf.imports().filter(concerns_us).filter(|symbol| !exported.contains(&(&symbol.name, &symbol.version)));
    unmet
        .map(|symbol| {
            format!("{} needs {}@{}", file.display(), symbol.name, symbol.version.as_deref().unwrap_or("(none)"))
        })
        .collect()
}

/// A version script pattern: a name, or its beginning and `*`.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |beginning| name.starts_with(beginning))
}

/// Opens every library in a fresh process under the redirection: by soname, by a path where
/// nothing lies, and as a wheel's bundled copy. Each must come out of `folder`.
fn not_redirected(folder: &Path) -> Result<Vec<String>> {
    let stubs: Vec<_> = LIBRARIES.iter().filter(|row| row.kind == Kind::Stub).map(|row| row.soname).collect();
    let names = stubs.iter().flat_map(|soname| {
        [(*soname).to_owned(), format!("/nowhere/{soname}"), soname.replacen(".so", ".0123abcd.so", 1)]
    });
    let mut probe = Command::new(std::env::current_exe()?);
    probe.arg("probe").args(names).env_clear().env("LD_AUDIT", folder.join("libghostrack-redirect.so"));
    let output = probe.output().context("the probe did not start")?;
    let answer = String::from_utf8_lossy(&output.stdout);
    let mut wrong: Vec<_> =
        String::from_utf8_lossy(&output.stderr).lines().map(|line| format!("redirection: {line}")).collect();
    let mapped: HashSet<_> = answer.lines().collect();
    let absent = stubs.iter().filter(|soname| !mapped.contains(folder.join(soname).to_string_lossy().as_ref()));
    wrong.extend(absent.map(|soname| format!("redirection: {soname} was not mapped from there")));
    Ok(wrong)
}

/// The other side of `not_redirected`: opens the names, prints what is mapped.
pub fn probe(names: &[String]) -> Result<()> {
    for name in names {
        let path = CString::new(name.as_str())?;
        // SAFETY: a NUL-terminated string; our libraries run nothing when loaded.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            eprintln!("{name} cannot be opened");
        }
    }
    let maps = fs::read_to_string("/proc/self/maps")?;
    let files: HashSet<_> = maps.lines().filter_map(|line| Some(&line[line.find('/')?..])).collect();
    files.iter().for_each(|file| println!("{file}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(soname: &str) -> &'static Library {
        LIBRARIES.iter().find(|row| row.soname == soname).expect("a row")
    }

    fn symbol(name: &str, version: Option<&str>, is_defined: bool) -> Symbol {
        Symbol { name: name.to_owned(), version: version.map(str::to_owned), is_defined, is_weak: false }
    }

    #[test]
    fn a_surplus_export_and_a_wrong_version_are_named() {
        let elf = Elf {
            soname: Some("libcudart.so.13".to_owned()),
            symbols: vec![
                symbol("cudaFree", Some("libcudart.so.13"), true),
                symbol("rust_begin", Some("libcudart.so.13"), true),
                symbol("cudaMalloc", None, true),
            ],
            ..Elf::default()
        };
        assert_eq!(
            faults(library("libcudart.so.13"), &elf),
            ["libcudart.so.13: exports rust_begin", "libcudart.so.13: cudaMalloc has version None"]
        );
    }

    #[test]
    fn an_import_we_do_not_export_is_named_with_its_version() {
        let ours = [(library("libnccl.so.2"), Elf { symbols: vec![symbol("ncclSend", None, true)], ..Elf::default() })];
        let program = Elf {
            needed: vec!["libnccl.so.2".to_owned()],
            symbols: vec![
                symbol("ncclSend", None, false),
                symbol("ncclRecv", None, false),
                symbol("cudaFree", Some("libcudart.so.13"), false),
                symbol("puts", Some("GLIBC_2.2.5"), false),
            ],
            ..Elf::default()
        };
        assert_eq!(
            unmet(Path::new("p"), &program, &ours),
            ["p needs ncclRecv@(none)", "p needs cudaFree@libcudart.so.13"]
        );
    }
}
