//! Licences and sources of every dependency against the list in deny.toml.
//! The same list serves `cargo deny` where that is installed; this task needs nothing installed.

use crate::workspace::{Package, Workspace};
use anyhow::{Context, Result, bail};
use std::fs;

/// The one place dependencies come from, as cargo names it in a package id.
const REGISTRY: &str = "registry+";

/// Lists dependencies that no allowed licence covers or that come from elsewhere.
pub fn run() -> Result<()> {
    let workspace = Workspace::read()?;
    let path = workspace.root().join("deny.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let allowed = allow_list(&text).context("deny.toml has no `allow = [ ... ]` under [licenses]")?;
    let packages = workspace.packages();
    let foreign: Vec<_> = packages.iter().filter(|package| !package.is_ours).collect();
    let wrong: Vec<_> = foreign.iter().filter_map(|package| objection(package, &allowed)).collect();
    if !wrong.is_empty() {
        bail!("dependencies that deny.toml does not allow:\n  {}", wrong.join("\n  "));
    }
    println!("licences: {} dependencies, all allowed", foreign.len());
    Ok(())
}

fn objection(package: &Package<'_>, allowed: &[&str]) -> Option<String> {
    let Package { name, version, .. } = package;
    if !package.id.starts_with(REGISTRY) {
        return Some(format!("{name} {version} does not come from the registry: {}", package.id));
    }
    match package.licence {
        None => Some(format!("{name} {version} states no licence")),
        Some(licence) if !satisfied(licence, allowed) => Some(format!("{name} {version}: {licence}")),
        Some(_) => None,
    }
}

/// The strings of `allow = [...]` in the `[licenses]` section.
fn allow_list(deny: &str) -> Option<Vec<&str>> {
    let section = deny.split_once("[licenses]")?.1;
    let list = section.split_once("allow = [")?.1.split_once(']')?.0;
    Some(list.split('"').skip(1).step_by(2).collect())
}

/// Whether an SPDX expression can be met: any side of OR, all sides of AND, AND binding tighter.
/// `/` is the old spelling of OR.
fn satisfied(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    either(&mut words, allowed)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut met = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= both(words, allowed);
    }
    met
}

fn both(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = either(words, allowed);
        words.next();
        return met;
    }
    let mut name = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: &[&str] = &["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];

    #[test]
    fn one_allowed_side_of_an_or_is_enough() {
        for expression in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(GPL-3.0 OR MIT) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR X",
        ] {
            assert!(satisfied(expression, ALLOWED), "{expression}");
        }
    }

    #[test]
    fn every_side_of_an_and_is_needed() {
        for expression in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR X) AND (Y OR Z)", "", "GPL-2.0 WITH LLVM-exception"] {
            assert!(!satisfied(expression, ALLOWED), "{expression}");
        }
    }

    #[test]
    fn the_list_is_read_from_its_section() {
        let text = "[bans]\nallow = [\"no\"]\n[licenses]\nallow = [\n  \"MIT\",\n  \"ISC\",\n]\n";
        assert_eq!(allow_list(text), Some(vec!["MIT", "ISC"]));
    }
}
