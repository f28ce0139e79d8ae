//! The graph API: a store of descriptors with checks, and plans that run.
//! What a graph costs is in `graph`.

pub mod answers;
pub mod attribute;
pub mod content;
mod elements;
pub mod run;

use crate::graph::Plan;
use crate::place::Handle;
use crate::{Cudnn, Error};
use attribute::{descriptor, kind};
use content::{Content, Value};
use elements::Elements;
use ghost_abi::{InList, MaybeOut, Out};
use std::sync::Arc;

/// A `cudnnBackendDescriptor_t`.
#[derive(Debug, Default)]
pub struct Descriptor {
    content: Arc<Content>,
    finalized: bool,
    /// Of a finalized execution plan.
    plan: Option<Arc<Plan>>,
}

kept!(Descriptor, b"gh.cnnbe");

type Raw = Handle<Descriptor>;

ghost_abi::rows! { Cudnn;
    fn cudnnBackendCreateDescriptor(kind: i32, descriptor: Out<Raw>) => create;
    fn cudnnBackendDestroyDescriptor(descriptor: Raw) => destroy;
    fn cudnnBackendInitialize(descriptor: Raw) => initialize;
    fn cudnnBackendFinalize(descriptor: Raw) => finalize;
    fn cudnnBackendSetAttribute(descriptor: Raw, name: i32, kind: i32, count: i64, elements: InList<u8>) => set;
    fn cudnnBackendGetAttribute(descriptor: Raw, name: i32, kind: i32, requested: i64, count: MaybeOut<i64>, elements: Elements) => get;
}

fn create(of: i32, handle: Out<Raw>) -> Result<(), Error> {
    handle.check()?;
    if !(0..=descriptor::LAST).contains(&of) {
        return Err(Error::NotSupported);
    }
    let content = Arc::new(Content::new(of));
    Ok(handle.set(Handle::new(Descriptor { content, ..Descriptor::default() }))?)
}

fn destroy(handle: Raw) -> Result<(), Error> {
    handle.end()
}

/// Descriptors are initialized when they are created; this makes one empty again.
fn initialize(handle: Raw) -> Result<(), Error> {
    handle.with(|descriptor| {
        let content = Arc::new(Content::new(descriptor.content.descriptor));
        *descriptor = Descriptor { content, ..Descriptor::default() };
    })
}

fn finalize(handle: Raw) -> Result<(), Error> {
    handle.with(|descriptor| {
        let content = &descriptor.content;
        check(content)?;
        if content.descriptor == descriptor::PLAN {
            descriptor.plan = Some(Arc::new(Plan::of(content).ok_or(Error::NotSupported)?));
        }
        descriptor.finalized = true;
        Ok(())
    })?
}

/// What must hold of a descriptor before it is finalized.
fn check(content: &Content) -> Result<(), Error> {
    let is_set = |name: &i32| content.values.contains_key(name);
    if !attribute::required(content.descriptor).iter().all(is_set) {
        return Err(Error::BadParam);
    }
    let lengths = |a, b| content.integers(a).len() == content.integers(b).len();
    let good = match content.descriptor {
        descriptor::TENSOR => {
            lengths(902, 903)
                && (1..=8).contains(&content.integers(902).len())
                && content.integers(902).iter().all(|&d| d > 0)
        }
        descriptor::VARIANT_PACK => lengths(1000, 1001),
        descriptor::GRAPH => !content.descriptors(801).is_empty(),
        descriptor::ENGINE => content.integer(1301).is_some_and(|index| index >= 0),
        _ => true,
    };
    if good { Ok(()) } else { Err(Error::BadParam) }
}

fn set(handle: Raw, name: i32, of: i32, count: i64, elements: InList<u8>) -> Result<(), Error> {
    let (owner, finalized) = handle.with(|descriptor| (descriptor.content.descriptor, descriptor.finalized))?;
    if finalized {
        return Err(Error::NotInitialized);
    }
    let want = attribute::want(owner, name).ok_or_else(|| refusal(name))?;
    if !want.accepts(of, count) || (count > 0 && elements.is_null()) {
        return Err(Error::BadParam);
    }
    let width = kind::bytes(of).ok_or(Error::BadParam)?;
    let count = usize::try_from(count).map_err(|_| Error::BadParam)?;
    let bytes = elements.get(count.checked_mul(width).ok_or(Error::BadParam)?)?;
    let value = match of {
        kind::DESCRIPTOR => Value::Descriptors(frozen(&bytes)?),
        _ => Value::Plain { kind: of, count, bytes },
    };
    handle.with(|descriptor| {
        Arc::make_mut(&mut descriptor.content).values.insert(name, value);
    })
}

/// Plans, kernel caches and device properties have no form as text here.
fn refusal(name: i32) -> Error {
    if matches!(name, 405 | 2402 | 2702) { Error::NotSupported } else { Error::BadParam }
}

/// The descriptors of an array of handles; each must be finalized.
fn frozen(bytes: &[u8]) -> Result<Vec<Arc<Content>>, Error> {
    let one = |handle: Raw| handle.with(|child| child.finalized.then(|| child.content.clone()))?.ok_or(Error::BadParam);
    bytes.as_chunks::<8>().0.iter().map(|word| one(Handle::from_bytes(*word))).collect()
}

/// Writes at most `requested` elements and says how many there are.
fn get(handle: Raw, name: i32, of: i32, requested: i64, count: MaybeOut<i64>, elements: Elements) -> Result<(), Error> {
    let (content, finalized) = handle.with(|descriptor| (descriptor.content.clone(), descriptor.finalized))?;
    if !finalized {
        return Err(Error::NotInitialized);
    }
    let want = attribute::want(content.descriptor, name).ok_or_else(|| refusal(name))?;
    if !want.reads_as(of) || requested < 0 {
        return Err(Error::BadParam);
    }
    let value = answers::value(&content, name).ok_or(Error::BadParam)?;
    let requested = if elements.is_null() { 0 } else { requested as usize };
    let there = match value {
        Value::Plain { count, bytes, kind: stored } => {
            if stored != of {
                return Err(Error::BadParam);
            }
            let width = kind::bytes(of).ok_or(Error::BadParam)?;
            elements.write(&bytes[..bytes.len().min(requested.min(count) * width)])?;
            count
        }
        Value::Descriptors(list) => {
            fill(&list, requested, &elements)?;
            // Callers take this as how many of their descriptors hold something now.
            if elements.is_null() { list.len() } else { list.len().min(requested) }
        }
    };
    count.set(there as i64);
    Ok(())
}

/// Gives the caller's own descriptors, whose handles stand in the array, what ours hold.
fn fill(list: &[Arc<Content>], requested: usize, elements: &Elements) -> Result<(), Error> {
    for (index, content) in list.iter().enumerate().take(requested) {
        let handle: Raw = Handle::from_bytes(elements.word(index)?);
        handle.with(|descriptor| {
            if descriptor.content.descriptor != content.descriptor {
                return Err(Error::BadParam);
            }
            *descriptor = Descriptor { content: content.clone(), finalized: true, plan: None };
            Ok(())
        })??;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
