//! Numbers a profiler pushes on a thread, so that it finds its own operations again. Nothing is recorded here.

use crate::{Cupti, Error};
use ghost_abi::MaybeOut;
use std::cell::RefCell;

ghost_abi::rows! { Cupti;
    fn cuptiActivityPushExternalCorrelationId(kind: i32, id: u64) => push;
    fn cuptiActivityPopExternalCorrelationId(kind: i32, last: MaybeOut<u64>) => pop_to;
}

/// `CUpti_ExternalCorrelationKind` counts 1 to 5.
const KINDS: usize = 6;

thread_local! {
    static STACKS: RefCell<[Vec<u64>; KINDS]> = const { RefCell::new([const { Vec::new() }; KINDS]) };
}

pub fn push(kind: i32, id: u64) -> Result<(), Error> {
    with_stack(kind, |stack| stack.push(id))
}

pub fn pop(kind: i32) -> Result<u64, Error> {
    with_stack(kind, Vec::pop)?.ok_or(Error::QueueEmpty)
}

fn pop_to(kind: i32, last: MaybeOut<u64>) -> Result<(), Error> {
    last.set(pop(kind)?);
    Ok(())
}

/// Hands each kind's latest number of this thread to `each`.
pub fn tops(mut each: impl FnMut(u32, u64)) {
    // A thread that is ending has none.
    let _ = STACKS.try_with(|stacks| {
        for (kind, stack) in stacks.borrow().iter().enumerate() {
            if let Some(id) = stack.last() {
                each(kind as u32, *id);
            }
        }
    });
}

fn with_stack<R>(kind: i32, work: impl FnOnce(&mut Vec<u64>) -> R) -> Result<R, Error> {
    let kind = usize::try_from(kind).ok().filter(|kind| *kind != 0).ok_or(Error::InvalidParameter)?;
    STACKS.with_borrow_mut(|stacks| stacks.get_mut(kind).map(work)).ok_or(Error::InvalidParameter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_ids_come_back_in_reverse_order_by_kind() {
        assert_eq!(
            [push(3, 7), push(3, 8), push(4, 9), push(0, 1), push(6, 1)].map(|pushed| pushed.is_ok()),
            [true, true, true, false, false]
        );
        let mut seen = Vec::new();
        tops(|kind, id| seen.push((kind, id)));
        assert_eq!(seen, [(3, 8), (4, 9)]);
        assert_eq!([pop(3), pop(4), pop(3), pop(3)], [Ok(8), Ok(9), Ok(7), Err(Error::QueueEmpty)]);
    }
}
