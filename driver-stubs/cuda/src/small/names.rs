//! Kernel names, readable: demangled, template arguments and parameter types taken apart.
//! Build hashes go with the demangling, since anonymous namespaces have one spelling there.

/// A demangled kernel: `at::native::reduce_kernel<512, 1, ...>(...)`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// Without return type, template arguments and parameters.
    pub(super) path: String,
    pub(super) arguments: Vec<String>,
    pub(super) parameters: Vec<String>,
}

/// Longer names are not taken apart: they are template monsters of libraries that are not in the table.
const LONGEST_BYTES: usize = 16 << 10;

/// Takes a mangled name apart; `None` for names that are not C++ functions.
pub(super) fn parse(mangled: &str) -> Option<Name> {
    if mangled.len() > LONGEST_BYTES || !mangled.starts_with("_Z") {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(mangled).ok()?;
    split(&symbol.demangle(&cpp_demangle::DemangleOptions::default()).ok()?)
}

fn split(full: &str) -> Option<Name> {
    let full = full.strip_prefix("void ").unwrap_or(full);
    let open =
        top_level(full, |c| c == '<' || c == '(').find(|&at| !full[at..].starts_with("(anonymous namespace)"))?;
    let path = full[..open].to_owned();
    let (arguments, rest) = match full.as_bytes()[open] {
        b'<' => list(&full[open..])?,
        _ => (Vec::new(), &full[open..]),
    };
    let parameters = if rest.starts_with('(') { list(rest)?.0 } else { Vec::new() };
    Some(Name { path, arguments, parameters })
}

/// The parts of a bracketed list at the start of `text`, and what follows it.
pub(super) fn list(text: &str) -> Option<(Vec<String>, &str)> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut from = 1;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if text[at..].starts_with("operator()") {
            chars.nth("perator()".len() - 1);
            continue;
        }
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    let last = text[from..at].trim();
                    if !last.is_empty() {
                        parts.push(last.to_owned());
                    }
                    return Some((parts, &text[at + 1..]));
                }
            }
            ',' if depth == 1 => {
                parts.push(text[from..at].trim().to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Positions outside all brackets (an opening one counts as outside) of characters that `wanted` accepts.
fn top_level(text: &str, wanted: impl Fn(char) -> bool) -> impl Iterator<Item = usize> {
    let mut depth = 0i32;
    let mut skip = 0;
    text.char_indices().filter_map(move |(at, c)| {
        if at < skip {
            return None;
        }
        if text[at..].starts_with("operator()") {
            skip = at + "operator()".len();
            return None;
        }
        let outside = depth == 0;
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
        (outside && wanted(c)).then_some(at)
    })
}

/// A class template or plain type: its last name and its template arguments.
pub(super) fn template(text: &str) -> (&str, Vec<String>) {
    let open = top_level(text, |c| c == '<').last();
    let (path, arguments) = match open.and_then(|at| list(&text[at..]).map(|(arguments, rest)| (at, arguments, rest))) {
        Some((at, arguments, rest)) if rest.trim().is_empty() => (&text[..at], arguments),
        _ => (text, Vec::new()),
    };
    (last_name(path), arguments)
}

fn last_name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// A lambda: the function it stands in, that function's template arguments, its own parameter types and its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lambda {
    pub(super) function: String,
    pub(super) function_arguments: Vec<String>,
    pub(super) parameters: Vec<String>,
    /// 1 for the first lambda of that signature.
    pub(super) number: u32,
    /// Numbers of the lambdas around it, outermost first: PyTorch's dispatch macros make one per type.
    pub(super) around: Vec<u32>,
}

/// Takes the type of a lambda apart: `f(args)::{lambda()#1}::operator()() const::{lambda(float)#2}`.
pub(super) fn lambda(text: &str) -> Option<Lambda> {
    let last = top_level(text, |c| c == '{').last()?;
    let (parameters, number) = closure(&text[last..])?;
    let call = top_level(text, |c| c == '(').find(|&at| !text[at..].starts_with("(anonymous namespace)"))?;
    let (function, function_arguments) = template(&text[..call]);
    let around = top_level(text, |c| c == '{').take_while(|&at| at < last);
    let around = around.filter_map(|at| closure(&text[at..]).map(|(_, number)| number)).collect();
    Some(Lambda { function: function.to_owned(), function_arguments, parameters, number, around })
}

fn closure(text: &str) -> Option<(Vec<String>, u32)> {
    let inside = text.strip_prefix("{lambda")?;
    let (parameters, rest) = list(inside)?;
    let number = rest.strip_prefix('#')?.split('}').next()?.parse().ok()?;
    Some((parameters, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_kernel_comes_apart() {
        let name = parse(
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0EEEviT0_T1_",
        )
        .unwrap();
        assert_eq!(name.path, "at::native::vectorized_elementwise_kernel");
        assert_eq!(name.arguments[1], "at::native::FillFunctor<float>");
        assert_eq!(name.parameters.len(), 3);
        assert_eq!(template(&name.arguments[1]), ("FillFunctor", vec!["float".to_owned()]));
    }

    #[test]
    fn build_hashes_are_gone() {
        let name =
            parse("_ZN2at6native65_GLOBAL__N__30bf7ff7_17_ActivationKernel_cu_00000000_11111_2222221kEPf").unwrap();
        assert_eq!(name.path, "at::native::(anonymous namespace)::k");
    }

    #[test]
    fn nested_functors_come_apart() {
        let (name, arguments) =
            template("at::native::BinaryFunctor<float, float, bool, at::native::(anonymous namespace)::Eq<float> >");
        assert_eq!((name, arguments.len()), ("BinaryFunctor", 4));
        assert_eq!(template(&arguments[3]).0, "Eq");
    }

    #[test]
    fn a_lambda_tells_its_function_and_its_parameters() {
        let found = lambda(
            "at::native::(anonymous namespace)::pow_impl<float, int>(at::TensorIteratorBase&, c10::Scalar \
             const&)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::{lambda(float, bool)#2}",
        )
        .unwrap();
        assert_eq!(found.function, "pow_impl");
        assert_eq!(found.function_arguments, ["float", "int"]);
        assert_eq!(found.parameters, ["float", "bool"]);
        assert_eq!((found.number, found.around), (2, vec![1, 7]));
    }

    #[test]
    fn names_that_are_not_cpp_are_left_alone() {
        assert_eq!(parse("triton_poi_fused_add_0"), None);
    }
}
