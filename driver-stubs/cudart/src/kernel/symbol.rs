//! Where a registered variable lives and how large it is.
//! Copies to and from one are in `memory/copy.rs`.

use crate::Cudart;
use crate::codes::Error;
use crate::registry::REGISTRY;
use crate::types::*;
use ghost_abi::Out;

ghost_abi::rows! { Cudart;
    fn cudaGetSymbolAddress(address: Out<Ptr>, symbol: Ptr) => address;
    fn cudaGetSymbolSize(bytes: Out<usize>, symbol: Ptr) => bytes;
}

fn address(address: Out<Ptr>, symbol: Ptr) -> Result<(), Error> {
    address.check()?;
    Ok(address.set(REGISTRY.symbol(symbol)?.0)?)
}

fn bytes(bytes: Out<usize>, symbol: Ptr) -> Result<(), Error> {
    bytes.check()?;
    Ok(bytes.set(REGISTRY.symbol_bytes(symbol)?)?)
}
