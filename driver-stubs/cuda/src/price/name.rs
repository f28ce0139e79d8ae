//! What a mangled name says without demangling it: the function's own identifier and the sizes of its types.
//! It resolves no substitution: `S4_` is taken for the last class type that was read.

/// A mangled (Itanium ABI) or plain name.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// All of it.
    pub all: &'a str,
    /// The function's identifier without its namespaces: `softmax_warp_forward`.
    pub base: &'a str,
    /// What follows the identifier: its template arguments, then its parameters.
    pub rest: &'a str,
}

impl<'a> Name<'a> {
    pub fn of(all: &'a str) -> Name<'a> {
        let plain = Name { all, base: all, rest: "" };
        let Some(mut rest) = all.strip_prefix("_Z") else { return plain };
        rest = rest.strip_prefix('N').unwrap_or(rest);
        let mut base = "";
        loop {
            rest = rest.trim_start_matches(['L', 'K']);
            if let Some(after) = rest.strip_prefix("St") {
                rest = after;
            } else if let Some((identifier, after)) = identifier(rest) {
                (base, rest) = (identifier, after);
            } else if base.is_empty() {
                return plain;
            } else {
                return Name { all, base, rest };
            }
        }
    }

    pub fn has(&self, part: &str) -> bool {
        self.all.contains(part)
    }

    /// What follows `marker`, if it occurs.
    pub fn after(&self, marker: &str) -> Option<&'a str> {
        self.all.find(marker).map(|at| &self.all[at + marker.len()..])
    }

    /// Sizes in bytes of the function's first four template arguments that are types; 0 = there is none.
    /// Literal arguments (`Li4E`, `Lb0E`) and classes that are no element types are passed over.
    pub fn template_types(&self) -> [u8; 4] {
        let mut sizes = [0; 4];
        let Some(mut rest) = self.rest.strip_prefix('I') else { return sizes };
        let mut reader = Types::new(self.all);
        let mut found = 0;
        while found < sizes.len() {
            if rest.starts_with('L') {
                let Some(end) = rest.find('E') else { break };
                rest = &rest[end + 1..];
            } else if let Some(after) = tag(rest) {
                rest = after;
            } else if let Some((bytes, after)) = reader.next(rest) {
                sizes[found] = bytes;
                found += 1;
                rest = after;
            } else {
                break;
            }
        }
        sizes
    }
}

/// What follows a class in a namespace that has no arguments and is no element type, such as `NS0_3VarE`.
fn tag(rest: &str) -> Option<&str> {
    let mut rest = rest.strip_prefix('N')?;
    loop {
        if rest.starts_with('S') {
            rest = &rest[rest.find('_')? + 1..];
        } else if let Some(after) = rest.strip_prefix('E') {
            return Some(after);
        } else {
            let (identifier, after) = identifier(rest)?;
            if class(identifier).is_some() || identifier == "complex" || identifier == "OpaqueType" {
                return None;
            }
            rest = after;
        }
    }
}

/// `<length><identifier>` at the start of a mangled name.
pub fn identifier(rest: &str) -> Option<(&str, &str)> {
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = rest[..digits].parse().ok()?;
    let end = digits.checked_add(length)?;
    Some((rest.get(digits..end)?, rest.get(end..)?))
}

/// The decimal number at the start.
pub fn number(rest: &str) -> Option<u32> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Class types of tensors as they stand in names.
const CLASSES: [(&str, u8); 8] = [
    ("8BFloat16", 2),
    ("4Half", 2),
    ("7complexIf", 8),
    ("7complexId", 16),
    ("6half_t", 2),
    ("10bfloat16_t", 2),
    ("Float8_", 1),
    ("float_e", 1),
];

/// Reads types one after another and remembers what a substitution stands for.
#[derive(Debug)]
pub struct Types {
    substitute: u8,
}

impl Types {
    /// Until a class type is read, a substitution is the first class type that occurs anywhere in `all`.
    pub fn new(all: &str) -> Types {
        let first = CLASSES.iter().filter_map(|(class, bytes)| Some((all.find(class)?, *bytes))).min();
        Types { substitute: first.map_or(4, |(_, bytes)| bytes) }
    }

    /// Size of the type at the start, and what follows it; `None` if it is no scalar.
    pub fn next<'a>(&mut self, rest: &'a str) -> Option<(u8, &'a str)> {
        let rest = rest.trim_start_matches(['R', 'K']);
        let first = *rest.as_bytes().first()?;
        match first {
            b'P' => Some((8, self.next(&rest[1..]).map_or(&rest[1..], |(_, after)| after))),
            b'S' => {
                let end = rest.find('_')?;
                rest[1..end].bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).then_some(())?;
                Some((self.substitute, &rest[end + 1..]))
            }
            b'N' => {
                let (bytes, after) = self.nested(&rest[1..])?;
                self.substitute = bytes;
                Some((bytes, after))
            }
            b'0'..=b'9' => {
                let (identifier, after) = identifier(rest)?;
                self.substitute = class(identifier)?;
                Some((self.substitute, after))
            }
            _ => Some((builtin(first)?, &rest[1..])),
        }
    }

    /// A name in a namespace, after its `N`.
    fn nested<'a>(&mut self, mut rest: &'a str) -> Option<(u8, &'a str)> {
        loop {
            if rest.starts_with('S') {
                rest = &rest[rest.find('_')? + 1..];
                continue;
            }
            let (identifier, after) = identifier(rest)?;
            rest = after;
            if identifier == "complex" {
                let (bytes, after) = self.next(rest.strip_prefix('I')?)?;
                return Some((bytes * 2, after.strip_prefix("EE")?));
            }
            if identifier == "OpaqueType" {
                let bytes = number(rest.get(3..)?)?;
                let end = rest.find("EEE")?;
                return Some((u8::try_from(bytes).ok()?, &rest[end + 3..]));
            }
            if let Some(bytes) = class(identifier) {
                return Some((bytes, rest.strip_prefix('E')?));
            }
        }
    }
}

fn builtin(code: u8) -> Option<u8> {
    Some(match code {
        b'a' | b'b' | b'c' | b'h' => 1,
        b's' | b't' => 2,
        b'f' | b'i' | b'j' => 4,
        b'd' | b'l' | b'm' | b'x' | b'y' => 8,
        _ => return None,
    })
}

fn class(identifier: &str) -> Option<u8> {
    Some(match identifier {
        "Half" | "BFloat16" | "half_t" | "bfloat16_t" | "__half" | "__nv_bfloat16" => 2,
        "qint8" | "quint8" | "quint4x2" | "quint2x4" | "float_e4m3_t" | "float_e5m2_t" => 1,
        "qint32" | "tfloat32_t" => 4,
        _ if identifier.starts_with("Float8_") || identifier.starts_with("Float4_") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTMAX: &str = "_ZN43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6320softmax_warp_forwardIN3c108BFloat16ES2_fLi10ELb1ELb0ELi32EEEvPT0_PKT_iiiPKbib";

    #[test]
    fn the_identifier_is_found_behind_its_namespaces() {
        let name = Name::of(SOFTMAX);
        assert_eq!(name.base, "softmax_warp_forward");
        assert_eq!(name.template_types(), [2, 2, 4, 0]);
        assert_eq!(Name::of("triton_poi_fused_add_0").base, "triton_poi_fused_add_0");
        assert_eq!(
            Name::of("_Z40fmha_cutlassB_f32_aligned_64x64_k32_sm50N22X").base,
            "fmha_cutlassB_f32_aligned_64x64_k32_sm50"
        );
    }

    #[test]
    fn literals_between_types_are_passed_over() {
        let name = Name::of(
            "_ZN2at6native43_GLOBAL__N__f71e7945_10_SoftMax_cu_9f978f6319cunn_SoftMaxForwardILi2EdfN3c104HalfENS1_22SoftMaxForwardEpilogueEEEvPT2_PKT0_i",
        );
        assert_eq!(name.base, "cunn_SoftMaxForward");
        assert_eq!(name.template_types(), [8, 4, 2, 0]);
    }

    #[test]
    fn a_class_that_is_no_element_type_is_passed_over() {
        let name = Name::of("_ZN2at6native36batch_norm_collect_statistics_kernelINS0_3VarEN3c104HalfEfdiEEvN5torchE");
        assert_eq!(name.template_types(), [2, 4, 8, 4]);
    }

    #[test]
    fn classes_and_substitutions_have_sizes() {
        let mut types = Types::new("N3c107complexIfEE");
        let sizes = |types: &mut Types, mut rest: &str| {
            let mut sizes = Vec::new();
            while let Some((bytes, after)) = types.next(rest) {
                sizes.push(bytes);
                rest = after;
            }
            sizes
        };
        assert_eq!(
            sizes(&mut types, "N3c107complexIfEES4_fNS_8BFloat16EN2at6native10OpaqueTypeILi16EEEPKfRb"),
            [8, 8, 4, 2, 16, 8, 1]
        );
        assert_eq!(Types::new("N3c1015Float8_e4m3fnuzE").substitute, 1);
        assert_eq!(Types::new("EUlN3c108BFloat16EfN3c104HalfE").substitute, 2);
    }

    #[test]
    fn nonsense_is_survived() {
        for name in [
            "",
            "_Z",
            "_ZN",
            "_ZN99x",
            "_ZN3c10",
            "_Z3fooIS",
            "_Z3fooIN",
            "_Z3fooIN3c107complexI",
            "é",
            "_ZN4é",
            "_Z3fooIN10OpaqueTypeé",
            "_Z3fooIR",
        ] {
            let name = Name::of(name);
            name.template_types();
        }
    }
}
