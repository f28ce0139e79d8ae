//! Attributes of streams: stored as given, 64 bytes each, because nothing here depends on them but their readers.

use ghost_abi::{In, Out};

use crate::stream::{Legacy, Named, PerThread};
use crate::{Cuda, Error, driver, stream};

ghost_abi::rows! { Cuda;
    since 11000 fn cuStreamGetAttribute(stream: Legacy, attribute: u32, value: Out<[u64; 8]>) => get;
    since 11000 fn cuStreamGetAttribute_ptsz(stream: PerThread, attribute: u32, value: Out<[u64; 8]>) => get;
    since 11000 fn cuStreamSetAttribute(stream: Legacy, attribute: u32, value: In<[u64; 8]>) => set;
    since 11000 fn cuStreamSetAttribute_ptsz(stream: PerThread, attribute: u32, value: In<[u64; 8]>) => set;
}

/// Access policy window, synchronisation policy, priority, memory sync domain map and domain (`CUstreamAttrID`).
const KNOWN: [u32; 5] = [1, 3, 8, 9, 10];
const PRIORITY: u32 = 8;

fn get(stream: impl Named, attribute: u32, value: Out<[u64; 8]>) -> Result<(), Error> {
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream.named())?;
    if !KNOWN.contains(&attribute) {
        return Err(Error::InvalidValue);
    }
    let state = core.stream(handle)?;
    let kept = state.attributes.get(&attribute).copied().unwrap_or_default();
    let priority = [u64::from(state.priority as u32), 0, 0, 0, 0, 0, 0, 0];
    Ok(value.set(if attribute == PRIORITY { priority } else { kept })?)
}

fn set(stream: impl Named, attribute: u32, value: In<[u64; 8]>) -> Result<(), Error> {
    let value = value.get()?;
    let mut core = driver::get()?.core();
    let handle = stream::resolve(&mut core, stream.named())?;
    if !KNOWN.contains(&attribute) {
        return Err(Error::InvalidValue);
    }
    let state = core.stream_mut(handle)?;
    if attribute == PRIORITY {
        state.priority = (value[0] as u32 as i32).clamp(-5, 0);
    }
    state.attributes.insert(attribute, value);
    Ok(())
}
