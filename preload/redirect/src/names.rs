//! Which library names are redirected: an allow-list of basenames.
//! nvrtc and nvJitLink are not on it: they are compilers and stay the real ones.

/// One emulated library: its name up to `.so`, and its soname.
#[derive(Debug)]
struct Entry {
    stem: &'static [u8],
    soname: &'static [u8],
    releases: Releases,
}

/// Which endings after `.so` name this library.
#[derive(Debug, Clone, Copy)]
enum Releases {
    /// The driver's: one library for every release, so any ending or none.
    Any,
    /// One major release: `.13`, or `.13.` and more digits.
    Major(&'static [u8]),
}

const fn driver(stem: &'static str, soname: &'static str) -> Entry {
    Entry { stem: stem.as_bytes(), soname: soname.as_bytes(), releases: Releases::Any }
}

const fn toolkit(stem: &'static str, soname: &'static str, major: &'static str) -> Entry {
    Entry { stem: stem.as_bytes(), soname: soname.as_bytes(), releases: Releases::Major(major.as_bytes()) }
}

const ENTRIES: &[Entry] = &[
    driver("libcuda", "libcuda.so.1"),
    driver("libnvidia-ml", "libnvidia-ml.so.1"),
    toolkit("libcudart", "libcudart.so.13", ".13"),
    toolkit("libcublas", "libcublas.so.13", ".13"),
    toolkit("libcublasLt", "libcublasLt.so.13", ".13"),
    toolkit("libcudnn", "libcudnn.so.9", ".9"),
    toolkit("libnccl", "libnccl.so.2", ".2"),
    toolkit("libcusparse", "libcusparse.so.12", ".12"),
    toolkit("libcusolver", "libcusolver.so.12", ".12"),
    toolkit("libcusparseLt", "libcusparseLt.so.0", ".0"),
    toolkit("libcufft", "libcufft.so.12", ".12"),
    toolkit("libcurand", "libcurand.so.10", ".10"),
    toolkit("libnvjpeg", "libnvjpeg.so.13", ".13"),
    toolkit("libcupti", "libcupti.so.13", ".13"),
    toolkit("libcufile", "libcufile.so.0", ".0"),
    toolkit("libnvshmem_host", "libnvshmem_host.so.3", ".3"),
];

/// Digits in the tag a wheel repair tool puts into the name of a bundled copy.
const TAG: usize = 8;

/// The soname of the stub that stands in for the library a name or path names.
pub fn stub_of(asked: &[u8]) -> Option<&'static [u8]> {
    let start = asked.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let name = asked.get(start..)?.strip_prefix(b"lib")?;
    let at = name.windows(3).position(|three| three == b".so")?;
    let (stem, ending) = (untagged(name.get(..at)?), name.get(at + 3..)?);
    let entry = ENTRIES.iter().find(|entry| entry.stem.strip_prefix(b"lib") == Some(stem))?;
    entry.releases.include(ending).then_some(entry.soname)
}

/// `cudart.3eda8113` and `cudart-3eda8113` are `cudart`.
fn untagged(stem: &[u8]) -> &[u8] {
    match stem.len().checked_sub(TAG + 1).and_then(|at| stem.split_at_checked(at)) {
        Some((bare, [b'.' | b'-', tag @ ..])) if tag.iter().all(u8::is_ascii_hexdigit) => bare,
        _ => stem,
    }
}

impl Releases {
    fn include(self, ending: &[u8]) -> bool {
        let numbers = |text: &[u8]| text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        match self {
            Releases::Any => numbers(ending),
            Releases::Major(major) => match ending.strip_prefix(major) {
                Some([]) => true,
                Some(more @ [b'.', ..]) => numbers(more),
                _ => false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stub(name: &str) -> Option<&'static str> {
        stub_of(name.as_bytes()).map(|soname| core::str::from_utf8(soname).expect("ASCII"))
    }

    #[test]
    fn a_soname_a_path_and_a_full_version_name_the_same_stub() {
        for name in [
            "libcudart.so.13",
            "/a/b.so/lib/libcudart.so.13",
            "x/libcudart.so.13.2.86",
            "libcudart.3eda8113.so.13",
            "libcudart-3eda8113.so.13.2.75",
        ] {
            assert_eq!(stub(name), Some("libcudart.so.13"), "{name}");
        }
        assert_eq!(stub("libcublasLt.so.13"), Some("libcublasLt.so.13"));
        assert_eq!(stub("libnvjpeg.0123abcd.so.13"), Some("libnvjpeg.so.13"));
        assert_eq!(stub("libcurand.so.10.4.5"), Some("libcurand.so.10"));
    }

    #[test]
    fn the_driver_is_one_library_for_every_release() {
        for name in ["libcuda.so", "libcuda.so.1", "/usr/lib/libcuda.so.580.95.05"] {
            assert_eq!(stub(name), Some("libcuda.so.1"), "{name}");
        }
        assert_eq!(stub("libnvidia-ml.so"), Some("libnvidia-ml.so.1"));
    }

    #[test]
    fn everything_else_keeps_its_name() {
        for name in [
            "libcudart.so.12",
            "libcudart.so",
            "libcudart.so.130",
            "libcudart.so.13.x",
            "libnvrtc.so.13",
            "libnvJitLink.so.13",
            "libcuda.so.1.bak",
            "libcudnn_graph.so.9",
            "libc.so.6",
            "cudart.so.13",
            "libcudart.xyz.so.13",
            "libcudart.3eda811g.so.13",
            "/libcuda.so.1/",
            "",
            "lib",
            "lib.so",
        ] {
            assert_eq!(stub(name), None, "{name}");
        }
    }
}
