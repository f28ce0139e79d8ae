//! Builds small images for tests: cubins, fat binaries, PTX.
//! Only what the reader looks at is filled in; no instruction is made.

use super::container;

/// A kernel to be built into a cubin.
#[derive(Clone, Debug)]
pub struct Spec {
    pub name: &'static str,
    /// Offset and size.
    pub params: Vec<(u16, u16)>,
    pub registers: u32,
    pub shared: u64,
    pub max_threads: u32,
}

impl Spec {
    pub fn new(name: &'static str, params: &[(u16, u16)]) -> Spec {
        Spec { name, params: params.to_vec(), registers: 32, shared: 0, max_threads: 0 }
    }
}

struct Part {
    name: String,
    kind: u32,
    link: u32,
    info: u32,
    content: Vec<u8>,
    bytes: u64,
}

fn part(name: impl Into<String>, kind: u32, content: Vec<u8>) -> Part {
    let bytes = content.len() as u64;
    Part { name: name.into(), kind, link: 0, info: 0, content, bytes }
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn attribute(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![4, number];
    bytes.extend((payload.len() as u16).to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn value(number: u8, value: u16) -> Vec<u8> {
    let mut bytes = vec![3, number];
    bytes.extend(value.to_le_bytes());
    bytes
}

fn describe(spec: &Spec) -> Vec<u8> {
    let mut bytes = value(0x1b, 255);
    // Real images list the last parameter first.
    for (ordinal, &(offset, size)) in spec.params.iter().enumerate().rev() {
        let place = u32::from(offset) << 16 | ordinal as u32;
        bytes.extend(if size < 1 << 13 {
            attribute(0x17, &words(&[0, place, u32::from(size) << 18 | 0x1f000]))
        } else {
            attribute(0x45, &words(&[0, place, u32::from(size)]))
        });
    }
    if spec.max_threads > 0 {
        bytes.extend(attribute(0x05, &words(&[spec.max_threads, 1, 1])));
    }
    bytes.extend(value(0x19, spec.params.iter().map(|&(offset, size)| offset + size).max().unwrap_or(0)));
    bytes
}

/// A cubin for sm_100 with these kernels and variables (name and size).
pub fn cubin(kernels: &[Spec], globals: &[(&str, u64)]) -> Vec<u8> {
    let mut names = vec![0];
    let mut symbols = vec![0; 24];
    let mut symbol = |name: &str, kind: u8, other: u8, section: u16, bytes: u64| {
        symbols.extend((names.len() as u32).to_le_bytes());
        symbols.extend([0x10 | kind, other]);
        symbols.extend(section.to_le_bytes());
        symbols.extend(0_u64.to_le_bytes());
        symbols.extend(bytes.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    };
    let mut totals = Vec::new();
    let mut later = Vec::new();
    // Sections: null, names, strings, symbols, totals, variables, then two or three a kernel.
    for (&(name, bytes), index) in globals.iter().zip(0_u32..) {
        let _ = index;
        symbol(name, 1, 0, 5, bytes);
    }
    for (kernel, index) in kernels.iter().zip(globals.len() as u32 + 1..) {
        symbol(kernel.name, 2, 0x10, 6, 128);
        totals.extend(attribute(0x2f, &words(&[index, kernel.registers])));
        totals.extend(attribute(0x11, &words(&[index, 16])));
        later.push(part(format!(".nv.info.{}", kernel.name), 0x7000_0000, describe(kernel)));
        later.push(part(format!(".text.{}", kernel.name), 1, vec![0; 128]));
        if kernel.shared > 0 {
            later.push(Part { bytes: kernel.shared, ..part(format!(".nv.shared.{}", kernel.name), 8, Vec::new()) });
        }
    }
    let mut parts = vec![
        part("", 0, Vec::new()),
        part(".shstrtab", 3, Vec::new()),
        part(".strtab", 3, names),
        Part { link: 2, ..part(".symtab", 2, symbols) },
        part(".nv.info", 0x7000_0000, totals),
        Part { bytes: 64, ..part(".nv.global", 8, Vec::new()) },
    ];
    parts.extend(later);
    elf(parts)
}

fn elf(mut parts: Vec<Part>) -> Vec<u8> {
    let mut names = Vec::new();
    let places: Vec<u32> = parts
        .iter()
        .map(|part| {
            let place = names.len() as u32;
            names.extend(part.name.as_bytes());
            names.push(0);
            place
        })
        .collect();
    parts[1].bytes = names.len() as u64;
    parts[1].content = names;
    let mut image = vec![0; 64];
    let mut table = Vec::new();
    for (part, name) in parts.iter().zip(places) {
        table.extend(words(&[name, part.kind]));
        table.extend([0_u64, 0, image.len() as u64, part.bytes].map(u64::to_le_bytes).concat());
        table.extend(words(&[part.link, part.info]));
        table.extend([0_u8; 16]);
        image.extend(&part.content);
    }
    let at = image.len() as u64;
    image.extend(table);
    image[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8]);
    image[18..20].copy_from_slice(&190_u16.to_le_bytes());
    image[40..48].copy_from_slice(&at.to_le_bytes());
    image[48..52].copy_from_slice(&0x0600_6402_u32.to_le_bytes());
    image[60..62].copy_from_slice(&(parts.len() as u16).to_le_bytes());
    image[62..64].copy_from_slice(&1_u16.to_le_bytes());
    image
}

/// One entry of a fat binary: kind (1 PTX, 2 ELF), architecture, flags and content, which is packed if flags say zstd.
pub fn entry(kind: u16, architecture: u32, flags: u64, content: &[u8]) -> Vec<u8> {
    let packed = match flags & container::PACKED_ZSTD {
        0 => content.to_vec(),
        _ => ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest),
    };
    let stored = packed.len().next_multiple_of(8);
    let mut bytes = Vec::new();
    bytes.extend([kind, 0x101].map(u16::to_le_bytes).concat());
    bytes.extend(64_u32.to_le_bytes());
    bytes.extend((stored as u64).to_le_bytes());
    bytes.extend(words(&[packed.len() as u32, 0, 0x0001_0008, architecture, 0, 0]));
    bytes.extend([flags, 0, content.len() as u64].map(u64::to_le_bytes).concat());
    bytes.extend(&packed);
    bytes.resize(64 + stored, 0);
    bytes
}

/// A fat binary of these entries.
pub fn fat_binary(entries: &[Vec<u8>]) -> Vec<u8> {
    let content = entries.concat();
    let mut bytes = container::MAGIC.to_le_bytes().to_vec();
    bytes.extend([1_u16, 16].map(u16::to_le_bytes).concat());
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(content);
    bytes
}
