//! Kernels and variables of PTX text: names, parameters and launch bounds of its entries.
//! It compiles nothing: registers are unknown and local memory is taken as none.

use super::{BadImage, Image, KernelInfo, Param};

/// Parameters lie behind each other, each aligned to its own alignment (PTX ISA, kernel function parameters).
pub fn read(text: &[u8], architecture: u32) -> Result<Image, BadImage> {
    let text = String::from_utf8_lossy(text.split(|&b| b == 0).next().unwrap_or_default());
    let words = words(&text);
    if words.first() != Some(&".version") {
        return Err(BadImage::Unrecognised);
    }
    let mut reader = Reader { words: &words, at: 0, depth: 0, image: Image::default(), kernel: None };
    while let Some(word) = reader.next() {
        reader.step(word, architecture);
    }
    reader.finish_kernel();
    Ok(reader.image)
}

/// Splits into names, numbers and single marks, without comments.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |at| at + 2)
        } else if is_name(first) {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            words.push(&rest[..end]);
            end
        } else {
            words.push(&rest[..first.len_utf8()]);
            first.len_utf8()
        };
        rest = rest[end..].trim_start();
    }
    words
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

struct Reader<'a> {
    words: &'a [&'a str],
    at: usize,
    /// Braces open.
    depth: u32,
    image: Image,
    kernel: Option<KernelInfo>,
}

/// A declared variable: alignment, size and name.
struct Variable<'a> {
    align: u32,
    bytes: u64,
    name: &'a str,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn step(&mut self, word: &str, architecture: u32) {
        match word {
            "{" => self.depth += 1,
            "}" => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.finish_kernel();
                }
            }
            ".entry" if self.depth == 0 => self.entry(architecture),
            ".maxntid" | ".reqntid" => self.bounds(),
            ".shared" => self.shared(),
            ".global" | ".const" if self.depth == 0 => self.global(),
            _ => {}
        }
    }

    fn finish_kernel(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            self.image.add(kernel);
        }
    }

    fn entry(&mut self, architecture: u32) {
        self.finish_kernel();
        let Some(name) = self.next() else { return };
        let mut kernel = KernelInfo { name: name.to_owned(), binary_version: architecture, ..KernelInfo::default() };
        if self.peek() == Some("(") {
            while let Some(word) = self.next() {
                match word {
                    ".param" => self.parameter(&mut kernel),
                    ")" => break,
                    _ => {}
                }
            }
        }
        self.kernel = Some(kernel);
    }

    fn parameter(&mut self, kernel: &mut KernelInfo) {
        let variable = self.variable();
        let bytes = u32::try_from(variable.bytes).unwrap_or(u32::MAX);
        let Some(offset) = kernel.param_bytes.checked_next_multiple_of(variable.align.max(1)) else { return };
        kernel.params.push(Param { offset, bytes });
        kernel.param_bytes = offset.saturating_add(bytes);
    }

    fn bounds(&mut self) {
        let mut product = 1_u32;
        while let Some(number) = self.peek().and_then(|word| word.parse::<u32>().ok()) {
            product = product.saturating_mul(number.max(1));
            self.at += 1;
            if self.peek() == Some(",") {
                self.at += 1;
            }
        }
        if let Some(kernel) = &mut self.kernel {
            kernel.max_threads = product;
        }
    }

    fn shared(&mut self) {
        let variable = self.variable();
        if let Some(kernel) = &mut self.kernel {
            let bytes = u32::try_from(variable.bytes).unwrap_or(u32::MAX);
            kernel.static_shared_bytes = kernel.static_shared_bytes.saturating_add(bytes);
        }
    }

    fn global(&mut self) {
        let variable = self.variable();
        if !variable.name.is_empty() {
            self.image.globals.insert(variable.name.to_owned(), variable.bytes);
        }
    }

    /// Reads a declaration up to the mark that ends it.
    fn variable(&mut self) -> Variable<'a> {
        let mut variable = Variable { align: 0, bytes: 0, name: "" };
        let (mut element, mut count, mut lanes) = (0_u64, 1_u64, 1_u64);
        let mut pointee_align = false;
        while let Some(word) = self.peek() {
            match word {
                "," | ")" | ";" | "=" | "{" | "}" => break,
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                // The alignment after `.ptr` is that of what is pointed to.
                ".ptr" => pointee_align = true,
                ".align" => {
                    self.at += 1;
                    let align = self.peek().and_then(|word| word.parse().ok()).unwrap_or(0);
                    if !pointee_align {
                        variable.align = align;
                    }
                }
                "[" => {
                    self.at += 1;
                    count = count.saturating_mul(self.peek().and_then(|word| word.parse().ok()).unwrap_or(0));
                }
                "]" => {}
                _ if word.starts_with('.') => element = element_bytes(word).unwrap_or(element),
                _ => variable.name = word,
            }
            self.at += 1;
        }
        let element = element * lanes;
        variable.bytes = element.saturating_mul(count);
        if variable.align == 0 {
            variable.align = u32::try_from(element).unwrap_or(1).max(1);
        }
        variable
    }
}

/// Size of a type such as `.u64`; `None` if the word is no type.
fn element_bytes(word: &str) -> Option<u64> {
    let bits = word.get(2..)?;
    if !matches!(word.as_bytes()[1], b'b' | b'u' | b's' | b'f') {
        return None;
    }
    match bits {
        "8" => Some(1),
        "16" => Some(2),
        "32" | "16x2" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    }
}
