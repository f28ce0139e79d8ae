//! Kernels and variables of a cubin: an ELF image whose `.nv.info` sections describe each kernel in attributes.
//! Code sections are never read.
//!
//! Attribute numbers are those that public disassemblers print; only those that a kernel's limits
//! and parameters need are read.

use std::collections::HashMap;

use super::bytes::{u16_at, u32_at};
use super::elf::{self, Elf, Section, Symbol};
use super::{BadImage, Image, KernelInfo, Param};

const MACHINE_CUDA: u16 = 190;
/// In a function symbol's `other`: it can be launched.
const OTHER_ENTRY: u8 = 0x10;
const FUNCTION: u8 = 2;
const OBJECT: u8 = 1;
/// From this ABI version on, the architecture stands in bits 8 to 15 of the flags, before in bits 0 to 7.
const WIDE_FLAGS_ABI: u8 = 8;

const MAX_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const FRAME_SIZE: u8 = 0x11;
const PARAMETER: u8 = 0x17;
const PARAMETER_BYTES: u8 = 0x19;
const REGISTERS: u8 = 0x2f;
/// As `PARAMETER`, for parameters too large for it.
const LARGE_PARAMETER: u8 = 0x45;

/// Reads a cubin that a GPU of `architecture` runs.
pub fn read(image: &[u8], architecture: u32) -> Result<Image, BadImage> {
    let elf = elf::parse(image).ok_or(BadImage::Malformed)?;
    if elf.machine != MACHINE_CUDA {
        return Err(BadImage::Unrecognised);
    }
    let have = if elf.abi_version >= WIDE_FLAGS_ABI { elf.flags >> 8 & 0xff } else { elf.flags & 0xff };
    if have / 10 != architecture / 10 || have > architecture {
        return Err(BadImage::NoBinaryForGpu);
    }
    let module = Module::of(&elf);
    let mut loaded = Image::default();
    for symbol in elf.symbols() {
        if symbol.kind == FUNCTION && symbol.other & OTHER_ENTRY != 0 {
            loaded.add(module.kernel(&symbol, have));
        } else if symbol.kind == OBJECT && elf.section_of(&symbol).is_some_and(holds_variables) {
            loaded.globals.insert(symbol.name.to_owned(), symbol.bytes);
        }
    }
    Ok(loaded)
}

fn holds_variables(section: &Section) -> bool {
    matches!(section.name, ".nv.global" | ".nv.global.init" | ".nv.constant3")
}

/// What must be known of the whole image before its kernels can be described.
#[derive(Default)]
struct Module<'a> {
    /// Sections of one kernel by its name.
    attributes: HashMap<&'a str, &'a [u8]>,
    code: HashMap<&'a str, u32>,
    shared: HashMap<&'a str, u64>,
    /// By symbol.
    registers: HashMap<u32, u32>,
    frames: HashMap<u32, u32>,
    constant_bytes: u64,
}

impl<'a> Module<'a> {
    fn of(elf: &Elf<'a>) -> Module<'a> {
        let mut module = Module::default();
        for section in &elf.sections {
            if let Some(name) = section.name.strip_prefix(".nv.info.") {
                module.attributes.insert(name, section.content);
            } else if let Some(name) = section.name.strip_prefix(".text.") {
                module.code.insert(name, section.info);
            } else if let Some(name) = section.name.strip_prefix(".nv.shared.") {
                module.shared.insert(name, section.bytes);
            } else if section.name == ".nv.constant3" {
                module.constant_bytes = section.bytes;
            } else if section.name == ".nv.info" {
                module.read_totals(section.content);
            }
        }
        module
    }

    fn read_totals(&mut self, content: &[u8]) {
        for attribute in attributes(content) {
            let (Some(symbol), Some(value)) = (u32_at(attribute.payload, 0), u32_at(attribute.payload, 4)) else {
                continue;
            };
            match attribute.number {
                REGISTERS => self.registers.insert(symbol, value),
                FRAME_SIZE => self.frames.insert(symbol, value),
                _ => None,
            };
        }
    }

    fn kernel(&self, symbol: &Symbol, architecture: u32) -> KernelInfo {
        // Before the attribute existed, the count stood in the high byte of the code section's info.
        let in_code = self.code.get(symbol.name).map_or(0, |info| info >> 24);
        let mut kernel = KernelInfo {
            name: symbol.name.to_owned(),
            registers: self.registers.get(&symbol.index).copied().unwrap_or(in_code),
            local_bytes: self.frames.get(&symbol.index).copied().unwrap_or(0),
            static_shared_bytes: self.shared.get(symbol.name).map_or(0, |&bytes| saturate(bytes)),
            constant_bytes: saturate(self.constant_bytes),
            binary_version: architecture,
            ..KernelInfo::default()
        };
        describe(&mut kernel, self.attributes.get(symbol.name).copied().unwrap_or(&[]));
        kernel
    }
}

fn saturate(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn describe(kernel: &mut KernelInfo, content: &[u8]) {
    let mut params: Vec<(u16, Param)> = Vec::new();
    for attribute in attributes(content) {
        match attribute.number {
            PARAMETER | LARGE_PARAMETER => params.extend(parameter(&attribute)),
            PARAMETER_BYTES => kernel.param_bytes = u32::from(attribute.value),
            MAX_THREADS | REQUIRED_THREADS => kernel.max_threads = threads(attribute.payload).unwrap_or(0),
            _ => {}
        }
    }
    params.sort_by_key(|&(ordinal, _)| ordinal);
    // A layout with a hole or an overlap is no layout.
    let dense = params.iter().zip(0..).all(|(&(ordinal, _), place)| ordinal == place);
    let end = params.iter().try_fold(0, |end, (_, param)| (param.offset >= end).then_some(param.offset + param.bytes));
    if let (true, Some(end)) = (dense, end) {
        kernel.params = params.into_iter().map(|(_, param)| param).collect();
        kernel.param_bytes = kernel.param_bytes.max(end);
    }
}

fn parameter(attribute: &Attribute) -> Option<(u16, Param)> {
    let payload = attribute.payload;
    let bytes = match attribute.number {
        LARGE_PARAMETER => u32::from(u16_at(payload, 8)?),
        _ => u32_at(payload, 8)? >> 18,
    };
    Some((u16_at(payload, 4)?, Param { offset: u32::from(u16_at(payload, 6)?), bytes }))
}

fn threads(payload: &[u8]) -> Option<u32> {
    let [x, y, z] = [u32_at(payload, 0)?, u32_at(payload, 4)?, u32_at(payload, 8)?];
    x.max(1).checked_mul(y.max(1))?.checked_mul(z.max(1))
}

struct Attribute<'a> {
    number: u8,
    /// The value of an attribute without a payload.
    value: u16,
    payload: &'a [u8],
}

/// Attributes: u8 format, u8 number, u16 value or, in format 4, length of the payload that follows.
fn attributes(content: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let mut rest = content;
    std::iter::from_fn(move || {
        let value = u16_at(rest, 2)?;
        let (format, number) = (rest[0], rest[1]);
        let end = 4 + if format == 4 { usize::from(value) } else { 0 };
        let payload = rest.get(4..end)?;
        rest = &rest[end..];
        Some(Attribute { number, value, payload })
    })
}
