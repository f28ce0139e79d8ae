//! `libcufft.so.12`, load-only: it says its version.
//! Everything else answers not supported and is counted.

#![forbid(unsafe_code)]

use ghost_abi::{Out, Version};

mod names;

ghost_abi::library! {
    /// The library.
    pub Cufft { name: "libcufft", not_supported: 16, panic: 5, invalid_argument: 4 }
}

ghost_abi::status! {
    /// Codes that are answered here.
    pub Error for Cufft { InvalidValue = 4 } faults: InvalidValue
}

/// Every row of the library.
pub static TABLE: ghost_abi::Table = &[ROWS, names::ABSENT];

/// The version torch 2.15 was built with.
const VERSION: Version = Version { major: 12, minor: 2, patch: 0 };

ghost_abi::rows! { Cufft;
    fn cufftGetVersion(version: Out<i32>) => get_version;
    fn cufftGetProperty(kind: i32, value: Out<i32>) => property;
}

fn get_version(version: Out<i32>) -> Result<(), Error> {
    let Version { major, minor, patch } = VERSION;
    Ok(version.set(major * 1000 + minor * 100 + patch)?)
}

fn property(kind: i32, value: Out<i32>) -> Result<(), Error> {
    Ok(value.set(VERSION.property(kind).ok_or(Error::InvalidValue)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_abi::ask;

    #[test]
    fn the_version_is_the_one_torch_was_built_with() {
        assert_eq!(ask(get_version), Ok(12_200));
        assert_eq!(ask(|value| property(0, value)), Ok(12));
    }
}
