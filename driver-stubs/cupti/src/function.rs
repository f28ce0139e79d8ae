//! Callback numbers of driver and runtime functions, both ways. The tables are generated; this only looks things up.

use crate::generated::{driver, runtime};
use ghost_table::trace::Domain;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::OnceLock;

/// Name of a function, as the library that has it counts them (`cudaMalloc_v3020`).
pub fn name(domain: u32, number: u32) -> Option<&'static CStr> {
    let names = names(domain)?;
    names.get(number as usize).copied().filter(|name| !name.is_empty())
}

/// Number of an exported function; 0 = profilers have none for it.
pub fn number(domain: u32, exported: &CStr) -> u32 {
    static NUMBERS: [OnceLock<HashMap<&'static [u8], u32>>; 2] = [const { OnceLock::new() }; 2];
    let (Some(names), Some(numbers)) = (names(domain), NUMBERS.get((domain as usize).wrapping_sub(1))) else {
        return 0;
    };
    let numbers = numbers.get_or_init(|| {
        // A later number of one name is its present form.
        names.iter().zip(0..).map(|(name, number)| (plain(name.to_bytes()), number)).collect()
    });
    numbers.get(known_as(exported.to_bytes())).copied().unwrap_or(0)
}

/// What compiled code calls to launch counts as the function a program would call; its other inner calls, with two
/// underscores as well, are nobody's business.
fn known_as(exported: &[u8]) -> &[u8] {
    match exported {
        b"__cudaLaunchKernel" => b"cudaLaunchKernel",
        b"__cudaLaunchKernel_ptsz" => b"cudaLaunchKernel_ptsz",
        inner if inner.starts_with(b"__") => b"",
        _ => exported,
    }
}

/// A function's name as subscribers see it: what compiled code calls to launch looks like what a program would call.
pub fn shown(exported: &CStr) -> &CStr {
    let bytes = exported.to_bytes_with_nul();
    bytes.strip_prefix(b"__").and_then(|plain| CStr::from_bytes_with_nul(plain).ok()).unwrap_or(exported)
}

fn names(domain: u32) -> Option<&'static [&'static CStr]> {
    match domain {
        d if d == Domain::Driver as u32 => Some(driver::NAMES),
        d if d == Domain::Runtime as u32 => Some(runtime::NAMES),
        _ => None,
    }
}

/// Without the version the runtime's names end with (`_v3020`); `_v2` belongs to the name.
fn plain(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    match name[..name.len() - digits].strip_suffix(b"_v") {
        Some(plain) if digits >= 4 => plain,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_header() {
        assert_eq!((number(2, c"cudaLaunchKernel"), number(2, c"cudaMemcpyAsync")), (211, 41));
        assert_eq!((number(1, c"cuLaunchKernel"), number(1, c"cuMemcpyHtoD_v2")), (307, 276));
        assert_eq!((number(2, c"cudaNothing"), number(3, c"cudaMalloc")), (0, 0));
        assert_eq!((number(2, c"__cudaLaunchKernel"), number(2, c"__cudaPopCallConfiguration")), (211, 0));
    }

    #[test]
    fn a_number_leads_to_the_versioned_name() {
        assert_eq!(name(2, 211), Some(c"cudaLaunchKernel_v7000"));
        assert_eq!((name(1, 307), name(1, 0), name(1, 9999), name(9, 1)), (Some(c"cuLaunchKernel"), None, None, None));
    }

    #[test]
    fn an_inner_launch_is_shown_as_a_launch() {
        assert_eq!((shown(c"__cudaLaunchKernel"), shown(c"cudaMalloc")), (c"cudaLaunchKernel", c"cudaMalloc"));
    }

    #[test]
    fn only_a_long_version_is_cut_off() {
        let plain = |name| plain(name) as &[u8];
        assert_eq!(plain(b"cudaMalloc_v3020"), b"cudaMalloc");
        assert_eq!(plain(b"cudaGetDeviceProperties_v2_v12000"), b"cudaGetDeviceProperties_v2");
        assert_eq!(plain(b"cuMemcpyHtoD_v2"), b"cuMemcpyHtoD_v2");
    }
}
