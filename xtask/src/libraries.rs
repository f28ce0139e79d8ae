//! Which shared library comes from which crate, under which soname and symbol version.
//! A new library is one row here; nothing else in xtask names one.

/// One shared library.
#[derive(Debug)]
pub struct Library {
    /// Its package.
    pub package: &'static str,
    /// Its file name, which is its soname.
    pub soname: &'static str,
    /// Its one symbol version, where the real library has one (facts: `readelf -V`).
    pub node: Option<&'static str>,
    /// What it exports: version script patterns. Everything else is local.
    pub exports: &'static [&'static str],
    /// What it is made for.
    pub kind: Kind,
}

/// How a library is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rust with its standard library: unwinds, links libc.
    Stub,
    /// No standard library, no libc, no other library at all.
    Bare,
}

/// Our own exports in libcuda, beside NVIDIA's names.
const CUDA: &[&str] = &["cu*", "ghostrack_*"];

/// Every library, the driver first.
pub const LIBRARIES: &[Library] = &[
    plain("ghost-cuda", "libcuda.so.1", CUDA),
    plain("ghost-nvml", "libnvidia-ml.so.1", &["nvml*"]),
    versioned("ghost-cudart", "libcudart.so.13", &["cuda*", "__cuda*"]),
    versioned("ghost-cublas", "libcublas.so.13", &["cublas*"]),
    versioned("ghost-cublaslt", "libcublasLt.so.13", &["cublas*"]),
    versioned("ghost-cudnn", "libcudnn.so.9", &["cudnn*"]),
    plain("ghost-nccl", "libnccl.so.2", &["nccl*", "pnccl*"]),
    versioned("ghost-cusparse", "libcusparse.so.12", &["cusparse*"]),
    versioned("ghost-cusolver", "libcusolver.so.12", &["cusolver*"]),
    plain("ghost-cusparselt", "libcusparseLt.so.0", &["cusparseLt*"]),
    versioned("ghost-cufft", "libcufft.so.12", &["cufft*"]),
    versioned("ghost-curand", "libcurand.so.10", &["curand*"]),
    versioned("ghost-nvjpeg", "libnvjpeg.so.13", &["nvjpeg*"]),
    versioned("ghost-cupti", "libcupti.so.13", &["cupti*"]),
    plain("ghost-cufile", "libcufile.so.0", &["cuFile*"]),
    Library { node: Some("NVSHMEM"), ..plain("ghost-nvshmem", "libnvshmem_host.so.3", &["nvshmem*"]) },
    Library {
        kind: Kind::Bare,
        ..plain("ghost-redirect", "libghostrack-redirect.so", &["la_version", "la_objsearch"])
    },
];

/// The packages whose executables stand beside the libraries.
pub const PROGRAMS: &[&str] = &["ghostd", "ghostrack", "ghost-nvidia-smi"];

const fn plain(package: &'static str, soname: &'static str, exports: &'static [&'static str]) -> Library {
    Library { package, soname, node: None, exports, kind: Kind::Stub }
}

const fn versioned(package: &'static str, soname: &'static str, exports: &'static [&'static str]) -> Library {
    Library { package, soname, node: Some(soname), exports, kind: Kind::Stub }
}

impl Library {
    /// The archive cargo makes of it.
    pub fn archive(&self) -> String {
        format!("lib{}.a", self.package.replace('-', "_"))
    }

    /// The linker's version script.
    pub fn version_script(&self) -> String {
        let exports: String = self.exports.iter().map(|pattern| format!(" {pattern};")).collect();
        format!("{} {{ global:{exports} local: *; }};\n", self.node.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_versioned_library_exports_its_prefixes_under_its_node() {
        let row = LIBRARIES.iter().find(|row| row.soname == "libcudart.so.13").expect("a row");
        assert_eq!(row.version_script(), "libcudart.so.13 { global: cuda*; __cuda*; local: *; };\n");
        assert_eq!(row.archive(), "libghost_cudart.a");
    }

    #[test]
    fn an_unversioned_library_still_hides_everything_else() {
        let row = LIBRARIES.iter().find(|row| row.soname == "libnccl.so.2").expect("a row");
        assert_eq!(row.version_script(), " { global: nccl*; pnccl*; local: *; };\n");
    }
}
