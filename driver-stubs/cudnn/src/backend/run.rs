//! Running a plan: its operations go onto the handle's stream, and what they write reads zero.
//! It prices nothing: the plan has its operations ready.

use super::attribute::descriptor;
use super::content::Content;
use super::{Descriptor, Raw};
use crate::graph::Plan;
use crate::handle::Context;
use crate::place::Handle;
use crate::{Cudnn, Error};
use ghost_abi::Out;
use ghost_table::Range;
use std::sync::Arc;

ghost_abi::rows! { Cudnn;
    fn cudnnBackendExecute(handle: Handle<Context>, plan: Raw, pack: Raw) => execute;
    fn cudnnGetExecutionPlanWorkspaceSize(handle: Handle<Context>, plan: Raw, pack: Raw, bytes: Out<usize>) => workspace;
}

fn execute(handle: Handle<Context>, plan: Raw, pack: Raw) -> Result<(), Error> {
    let stream = handle.value()?.stream;
    let plan = plan_of(plan)?;
    let pack = pack_of(pack)?;
    let addresses = Addresses { ids: pack.integers(1000), pointers: pack.integers(1001) };
    for step in &plan.steps {
        let ranges: Vec<Range> = step.writes.iter().filter_map(|&(id, bytes)| addresses.range(id, bytes)).collect();
        step.work.run(stream, &ranges)?;
    }
    Ok(())
}

fn workspace(handle: Handle<Context>, plan: Raw, pack: Raw, bytes: Out<usize>) -> Result<(), Error> {
    handle.value()?;
    plan_of(plan)?;
    pack_of(pack)?;
    Ok(bytes.set(0)?)
}

fn plan_of(plan: Raw) -> Result<Arc<Plan>, Error> {
    let of = |descriptor: &mut Descriptor| match descriptor.content.descriptor {
        descriptor::PLAN => descriptor.plan.clone().ok_or(Error::NotInitialized),
        _ => Err(Error::BadParam),
    };
    plan.with(of)?
}

fn pack_of(pack: Raw) -> Result<Arc<Content>, Error> {
    let of = |descriptor: &mut Descriptor| match descriptor.content.descriptor {
        descriptor::VARIANT_PACK if descriptor.finalized => Ok(descriptor.content.clone()),
        descriptor::VARIANT_PACK => Err(Error::NotInitialized),
        _ => Err(Error::BadParam),
    };
    pack.with(of)?
}

/// Where the tensors of a graph are.
struct Addresses {
    ids: Vec<i64>,
    pointers: Vec<i64>,
}

impl Addresses {
    fn range(&self, id: i64, bytes: u64) -> Option<Range> {
        let index = self.ids.iter().position(|&known| known == id)?;
        let address = *self.pointers.get(index)? as u64;
        (address != 0 && bytes != 0).then_some(Range { address, bytes })
    }
}
