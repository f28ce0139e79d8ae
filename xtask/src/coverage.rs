//! How much of each library is implemented, counted from the rows in the sources.
//! It reads text and builds nothing; the sources must compile for the count to mean anything.

use crate::libraries::LIBRARIES;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::Path;

#[derive(Debug, Args)]
pub struct Options {
    /// List the names without a handler instead of counting them
    #[arg(long)]
    absent: bool,
    /// Only this library, by soname or package
    #[arg(value_name = "NAME")]
    library: Option<String>,
}

/// One row as the source declares it.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    name: &'a str,
    is_implemented: bool,
}

/// Prints a line for each library, or its absent names.
pub fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::read()?;
    let packages = workspace.packages();
    let wanted = |name: &str| options.library.as_deref().is_none_or(|asked| asked == name);
    for library in LIBRARIES.iter().filter(|library| wanted(library.soname) || wanted(library.package)) {
        let Some(package) = packages.iter().find(|package| package.name == library.package) else { continue };
        let mut sources = Vec::new();
        read_sources(&package.manifest.with_file_name("src"), &mut sources)?;
        let rows: Vec<_> = sources.iter().flat_map(|source| rows(source)).collect();
        print(library.soname, &rows, options.absent);
    }
    Ok(())
}

fn print(soname: &str, rows: &[Row<'_>], absent: bool) {
    if absent {
        rows.iter().filter(|row| !row.is_implemented).for_each(|row| println!("{soname} {}", row.name));
    } else if !rows.is_empty() {
        let implemented = rows.iter().filter(|row| row.is_implemented).count();
        println!("{soname:<24} {implemented:>5} of {:>5} implemented", rows.len());
    }
}

fn read_sources(folder: &Path, sources: &mut Vec<String>) -> Result<()> {
    let read = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(read)? {
        let path = entry.with_context(read)?.path();
        if path.is_dir() {
            read_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?);
        }
    }
    Ok(())
}

fn rows(source: &str) -> Vec<Row<'_>> {
    let declared = blocks(source, "rows! {").flat_map(|block| block.split(';')).filter_map(declared);
    let absent = blocks(source, "absent! {").flat_map(|block| lines(block).flat_map(str::split_whitespace));
    declared.chain(absent.map(|name| Row { name, is_implemented: false })).collect()
}

/// What stands between `opening` with its library and the closing brace.
fn blocks<'a>(source: &'a str, opening: &'a str) -> impl Iterator<Item = &'a str> {
    source.split(opening).skip(1).filter_map(|rest| {
        let (_library, rest) = rest.split_once(';')?;
        Some(rest.split_once("\n}").or_else(|| rest.split_once('}'))?.0)
    })
}

/// Lines that are not comments.
fn lines(block: &str) -> impl Iterator<Item = &str> {
    block.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// `... fn name(...) ... => handler`.
fn declared(entry: &str) -> Option<Row<'_>> {
    let (_, rest) = lines(entry).find_map(|line| line.split_once("fn "))?;
    let name = rest.split_once('(')?.0.trim();
    Some(Row { name, is_implemented: entry.contains("=>") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_and_without_an_arrow_are_told_apart() {
        let source = "
ghost_abi::rows! { Demo;
    /// A fn, with words; in a comment.
    fn demoA(a: u32,
        b: u32) => a;
    since 12 fn demoB() -> isize = -1;
}
ghost_abi::absent! { Demo; demoC demoD }
ghost_abi::absent! { Demo;
    // a comment
    demoE
}
";
        let row = |name, is_implemented| Row { name, is_implemented };
        let expected =
            [row("demoA", true), row("demoB", false), row("demoC", false), row("demoD", false), row("demoE", false)];
        assert_eq!(rows(source), expected);
    }
}
