//! The plans of this process, by the number that is their handle.
//! It plans nothing.

use crate::Error;
use crate::transform::Transform;
use ghost_blas::Stream;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A `cufftHandle`.
pub type Handle = i32;

/// What a handle stands for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `None` until one of the functions that make a plan was called.
    pub transform: Option<Transform>,
    pub stream: Stream,
    pub allocates: bool,
    pub work_area: u64,
    /// `cufftProperty` 1 and 2.
    pub properties: [i64; 2],
}

impl Plan {
    /// A plan as `cufftCreate` leaves it.
    pub fn new() -> Plan {
        Plan { transform: None, stream: Stream::default(), allocates: true, work_area: 0, properties: [0; 2] }
    }
}

#[derive(Debug)]
struct Store {
    next: Handle,
    plans: BTreeMap<Handle, Plan>,
}

static STORE: Mutex<Store> = Mutex::new(Store { next: 1, plans: BTreeMap::new() });

/// Adds a plan; its handle is not one that was given before.
pub fn add(plan: Plan) -> Handle {
    let mut store = STORE.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = store.next;
    store.next = store.next.wrapping_add(1).max(1);
    store.plans.insert(handle, plan);
    handle
}

/// Looks at, or changes, a plan.
pub fn with<R>(handle: Handle, look: impl FnOnce(&mut Plan) -> R) -> Result<R, Error> {
    let mut store = STORE.lock().unwrap_or_else(PoisonError::into_inner);
    store.plans.get_mut(&handle).map(look).ok_or(Error::InvalidPlan)
}

/// Takes a plan away.
pub fn remove(handle: Handle) -> Result<(), Error> {
    let mut store = STORE.lock().unwrap_or_else(PoisonError::into_inner);
    store.plans.remove(&handle).map(|_| ()).ok_or(Error::InvalidPlan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destroyed_plan_is_invalid() {
        let handle = add(Plan::new());
        assert_eq!(with(handle, |plan| plan.allocates), Ok(true));
        assert_eq!((remove(handle), remove(handle)), (Ok(()), Err(Error::InvalidPlan)));
        assert_ne!(add(Plan::new()), handle);
    }
}
