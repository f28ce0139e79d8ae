//! A 64-bit little-endian ELF image as sections and symbols.
//! It knows nothing of kernels.

use super::bytes::{range, string_at, u16_at, u32_at, u64_at};

/// "\x7fELF" as a number.
pub const MAGIC: u32 = 0x464c_457f;
pub const HEADER_BYTES: usize = 64;
const SECTION_BYTES: u64 = 64;
const SYMBOL_BYTES: usize = 24;
const NOBITS: u32 = 8;
const SYMTAB: u32 = 2;
/// Above this a section index is not one.
const FIRST_RESERVED_INDEX: u16 = 0xff00;

/// One section.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    pub name: &'a str,
    pub info: u32,
    pub link: u32,
    kind: u32,
    /// Size in memory; NOBITS sections have no content.
    pub bytes: u64,
    /// Empty if the section has none or it is cut short.
    pub content: &'a [u8],
}

/// One symbol.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// Its place in the symbol table.
    pub index: u32,
    pub name: &'a str,
    /// 1 object, 2 function, 3 section.
    pub kind: u8,
    pub other: u8,
    /// `None` if it is not in a section.
    pub section: Option<u16>,
    pub bytes: u64,
}

/// A parsed image.
#[derive(Debug)]
pub struct Elf<'a> {
    pub flags: u32,
    pub abi_version: u8,
    pub machine: u16,
    pub sections: Vec<Section<'a>>,
}

struct Table {
    at: u64,
    count: u64,
    names: u64,
}

/// Where the section table lies. The real counts of a large image are in its section 0, if `image` reaches so far.
fn table(image: &[u8]) -> Option<Table> {
    if u32_at(image, 0)? != MAGIC || image.get(4..6)? != [2, 1] {
        return None;
    }
    let at = u64_at(image, 40)?;
    let (count, names) = (u64::from(u16_at(image, 60)?), u64::from(u16_at(image, 62)?));
    let zero = range(image, at, SECTION_BYTES);
    let count = match zero {
        Some(zero) if count == 0 && at != 0 => u64_at(zero, 32)?,
        _ => count,
    };
    let names = match zero {
        Some(zero) if names == 0xffff => u64::from(u32_at(zero, 40)?),
        _ => names,
    };
    Some(Table { at, count, names })
}

/// End of the section table as far as the header tells (an image with very many sections tells in section 0).
pub fn table_end(header: &[u8]) -> Option<usize> {
    let table = table(header)?;
    usize::try_from(table.at.checked_add(table.count.max(1).checked_mul(SECTION_BYTES)?)?).ok()
}

/// Length of the image whose start up to [`table_end`] is known.
pub fn length(start: &[u8]) -> Option<usize> {
    let table = table(start)?;
    let mut end = table.at.checked_add(table.count.checked_mul(SECTION_BYTES)?)?.max(start.len() as u64);
    let programs = u64::from(u16_at(start, 54)?) * u64::from(u16_at(start, 56)?);
    end = end.max(u64_at(start, 32)?.checked_add(programs)?);
    for index in 0..table.count {
        let Some(header) = range(start, table.at + index * SECTION_BYTES, SECTION_BYTES) else { break };
        if u32_at(header, 4)? != NOBITS {
            end = end.max(u64_at(header, 24)?.checked_add(u64_at(header, 32)?)?);
        }
    }
    usize::try_from(end).ok()
}

/// Reads the section table; sections that are cut short are kept without content.
pub fn parse(image: &[u8]) -> Option<Elf<'_>> {
    let table = table(image)?;
    let headers = range(image, table.at, table.count.checked_mul(SECTION_BYTES)?)?;
    let headers = headers.chunks_exact(SECTION_BYTES as usize);
    let names = content(image, headers.clone().nth(usize::try_from(table.names).ok()?)?)?;
    let sections = headers.map(|header| section(image, names, header)).collect::<Option<Vec<_>>>()?;
    Some(Elf { flags: u32_at(image, 48)?, abi_version: *image.get(8)?, machine: u16_at(image, 18)?, sections })
}

fn section<'a>(image: &'a [u8], names: &'a [u8], header: &[u8]) -> Option<Section<'a>> {
    Some(Section {
        name: string_at(names, u32_at(header, 0)?).unwrap_or(""),
        kind: u32_at(header, 4)?,
        bytes: u64_at(header, 32)?,
        link: u32_at(header, 40)?,
        info: u32_at(header, 44)?,
        content: content(image, header).unwrap_or(&[]),
    })
}

fn content<'a>(image: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    if u32_at(header, 4)? == NOBITS {
        return None;
    }
    range(image, u64_at(header, 24)?, u64_at(header, 32)?)
}

impl<'a> Elf<'a> {
    /// Symbols of the symbol table, in order; those without a readable name are left out.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> {
        let table = self.sections.iter().find(|section| section.kind == SYMTAB);
        let entries = table.map_or(&[][..], |table| table.content);
        let names =
            table.and_then(|table| self.sections.get(table.link as usize)).map_or(&[][..], |names| names.content);
        entries.chunks_exact(SYMBOL_BYTES).zip(0..).filter_map(move |(entry, index)| symbol(entry, index, names))
    }

    /// The section a symbol lies in.
    pub fn section_of(&self, symbol: &Symbol) -> Option<&Section<'a>> {
        self.sections.get(usize::from(symbol.section?))
    }
}

fn symbol<'a>(entry: &[u8], index: u32, names: &'a [u8]) -> Option<Symbol<'a>> {
    let section = u16_at(entry, 6)?;
    Some(Symbol {
        index,
        name: string_at(names, u32_at(entry, 0)?)?,
        kind: entry[4] & 15,
        other: entry[5],
        section: (section != 0 && section < FIRST_RESERVED_INDEX).then_some(section),
        bytes: u64_at(entry, 16)?,
    })
}
