//! What a shared library says of itself, as binutils' readelf prints it.
//! It reads; what is right or wrong is decided in verify.rs.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The dynamic part of one ELF file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Elf {
    pub soname: Option<String>,
    pub needed: Vec<String>,
    pub has_text_relocations: bool,
    pub symbols: Vec<Symbol>,
}

/// One dynamic symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub version: Option<String>,
    pub is_defined: bool,
    /// Weak symbols may stay undefined.
    pub is_weak: bool,
}

impl Elf {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let mut readelf = Command::new("readelf");
        readelf.args(["--wide", "--dynamic", "--dyn-syms"]).arg(path).env("LC_ALL", "C");
        let output = readelf.output().context("readelf did not start; it comes with binutils")?;
        if !output.status.success() {
            bail!("readelf cannot read {}", path.display());
        }
        Ok(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    fn parse(text: &str) -> Self {
        let mut elf = Self::default();
        for line in text.lines() {
            if let Some(name) = bracketed(line, "Library soname:") {
                elf.soname = Some(name);
            } else if let Some(name) = bracketed(line, "Shared library:") {
                elf.needed.push(name);
            } else if line.contains("(TEXTREL)") {
                elf.has_text_relocations = true;
            } else {
                elf.symbols.extend(symbol(line));
            }
        }
        elf
    }

    /// Symbols other files can bind to; the version nodes themselves left out.
    pub fn exports(&self) -> impl Iterator<Item = &Symbol> {
        let is_node = |symbol: &Symbol| symbol.version.as_deref() == Some(&symbol.name);
        self.symbols.iter().filter(move |symbol| symbol.is_defined && !is_node(symbol))
    }

    /// Symbols it needs from elsewhere.
    pub fn imports(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(|symbol| !symbol.is_defined && !symbol.is_weak)
    }
}

fn bracketed(line: &str, label: &str) -> Option<String> {
    let (_, rest) = line.split_once(label)?;
    Some(rest.trim().trim_start_matches('[').trim_end_matches(']').to_owned())
}

/// `Num: Value Size Type Bind Vis Ndx Name@@Version`.
fn symbol(line: &str) -> Option<Symbol> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let [number, _value, _size, _kind, bind, _visibility, section, full, ..] = fields[..] else { return None };
    number.strip_suffix(':')?.parse::<u32>().ok()?;
    let (name, version) = full.split_once('@').map_or((full, None), |(name, version)| (name, Some(version)));
    Some(Symbol {
        name: name.to_owned(),
        version: version.map(|version| version.trim_start_matches('@').to_owned()).or_else(|| node(section, full)),
        is_defined: section != "UND",
        is_weak: bind == "WEAK",
    })
}

/// An absolute symbol is a version node and carries its own name as version.
fn node(section: &str, name: &str) -> Option<String> {
    (section == "ABS").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libcudart.so.13]
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND dlopen@GLIBC_2.34 (2)
     2: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__
     3: 0000000000005060    16 FUNC    GLOBAL DEFAULT   12 cudaMalloc@@libcudart.so.13
     4: 0000000000000000     0 OBJECT  GLOBAL DEFAULT  ABS libcudart.so.13@@libcudart.so.13
";

    #[test]
    fn readelfs_columns_are_understood() {
        let elf = Elf::parse(TEXT);
        assert_eq!((elf.soname.as_deref(), elf.needed.len()), (Some("libcudart.so.13"), 1));
        let exports: Vec<_> = elf.exports().map(|symbol| (symbol.name.as_str(), symbol.version.as_deref())).collect();
        assert_eq!(exports, [("cudaMalloc", Some("libcudart.so.13"))]);
        let imports: Vec<_> = elf.imports().map(|symbol| (symbol.name.as_str(), symbol.version.as_deref())).collect();
        assert_eq!(imports, [("dlopen", Some("GLIBC_2.34"))]);
    }
}
