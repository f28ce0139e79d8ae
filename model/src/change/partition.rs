//! NVLink partitions, and the clique that each GPU of this tray takes from its own.
//! A GPU is in one partition at most; the default partition always exists (NMX-C guide).

use std::collections::BTreeSet;

use super::Outcome;
use crate::domain::{Domain, Partition};
use crate::event::Event;
use crate::gpu::Fabric;
use crate::ids::{CliqueId, GpuIndex, GpuLocation, PartitionId};
use crate::machine::Machine;
use crate::rack::NvlinkApply;
use crate::refusal::{Quantity, Refusal};

/// Longest name, bytes of ASCII.
const NAME_MAX: usize = 255;
/// Names no user partition can have.
const RESERVED: [&str; 2] = ["Default Partition", "default-partition"];

pub(super) fn create(
    machine: &mut Machine,
    partition: Option<PartitionId>,
    name: &str,
    gpus: &[GpuLocation],
) -> Outcome {
    let domain = &machine.domain;
    check_name(domain, name)?;
    let id = match partition {
        None => domain.free_partition()?,
        Some(PartitionId::DEFAULT) => return Err(Refusal::PartitionReserved),
        Some(id) if domain.partitions.contains_key(&id) => {
            return Err(Refusal::PartitionExists { partition: id });
        }
        Some(id) => id,
    };
    check_free(domain, gpus)?;
    let members: BTreeSet<_> = gpus.iter().copied().collect();
    machine.domain.partitions.insert(id, Partition { name: name.to_owned(), members });
    Ok(changed(machine, id))
}

pub(super) fn delete(machine: &mut Machine, partition: PartitionId) -> Outcome {
    if partition.is_default() {
        return Err(Refusal::PartitionReserved);
    }
    machine.domain.partitions.remove(&partition).ok_or(Refusal::NoSuchPartition { partition })?;
    Ok(changed(machine, partition))
}

pub(super) fn add(machine: &mut Machine, partition: PartitionId, gpus: &[GpuLocation]) -> Outcome {
    let missing = Refusal::NoSuchPartition { partition };
    let here = &machine.domain.partitions.get(&partition).ok_or(missing.clone())?.members;
    let new: Vec<_> = gpus.iter().copied().filter(|gpu| !here.contains(gpu)).collect();
    check_free(&machine.domain, &new)?;
    if new.is_empty() {
        return Ok(Vec::new());
    }
    machine.domain.partitions.get_mut(&partition).ok_or(missing)?.members.extend(new);
    Ok(changed(machine, partition))
}

pub(super) fn remove(machine: &mut Machine, partition: PartitionId, gpus: &[GpuLocation]) -> Outcome {
    let missing = Refusal::NoSuchPartition { partition };
    gpus.iter().try_for_each(|&gpu| machine.domain.known(gpu))?;
    let members = &mut machine.domain.partitions.get_mut(&partition).ok_or(missing)?.members;
    if let Some(&location) = gpus.iter().find(|gpu| !members.contains(gpu)) {
        return Err(Refusal::GpuNotInPartition { location, partition });
    }
    members.retain(|member| !gpus.contains(member));
    if gpus.is_empty() {
        return Ok(Vec::new());
    }
    Ok(changed(machine, partition))
}

pub(super) fn assign_clique(machine: &mut Machine, gpu: GpuIndex, clique: CliqueId) -> Outcome {
    let apply = machine.domain.nvlink_apply;
    let fabric = &mut machine.gpu_mut(gpu)?.fabric;
    Ok(take_clique(fabric, gpu, clique, apply).into_iter().collect())
}

/// Gives this tray's GPUs what follows from the partitions.
fn changed(machine: &mut Machine, partition: PartitionId) -> Vec<Event> {
    let mut events = vec![Event::PartitionChanged { partition }];
    let domain = &machine.domain;
    for gpu in &mut machine.gpus {
        let now = domain.partition_of(GpuLocation { tray: machine.tray, gpu: gpu.index });
        if now != gpu.fabric.partition {
            gpu.fabric.partition = now;
            events.extend(take_clique(&mut gpu.fabric, gpu.index, domain.clique_of(now), domain.nvlink_apply));
        }
    }
    events
}

/// Takes a clique at once or leaves it pending; the one in force again means that nothing is pending.
fn take_clique(fabric: &mut Fabric, gpu: GpuIndex, clique: CliqueId, apply: NvlinkApply) -> Option<Event> {
    fabric.pending_clique = None;
    if fabric.clique == clique {
        return None;
    }
    match apply {
        NvlinkApply::Reset => {
            fabric.pending_clique = Some(clique);
            None
        }
        NvlinkApply::Immediate => {
            fabric.clique = clique;
            Some(Event::CliqueChanged { gpu, clique })
        }
    }
}

fn check_name(domain: &Domain, name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.len() > NAME_MAX {
        let found = name.len() as i64;
        return Err(Refusal::OutOfRange {
            quantity: Quantity::PartitionNameBytes,
            found,
            min: 1,
            max: NAME_MAX as i64,
        });
    }
    if RESERVED.contains(&name) || !name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(Refusal::PartitionNameInvalid { name: name.to_owned() });
    }
    if domain.partitions.values().any(|partition| partition.name == name) {
        return Err(Refusal::PartitionNameTaken { name: name.to_owned() });
    }
    Ok(())
}

fn check_free(domain: &Domain, gpus: &[GpuLocation]) -> Result<(), Refusal> {
    for &location in gpus {
        domain.known(location)?;
        if let Some(partition) = domain.partition_of(location) {
            return Err(Refusal::GpuInPartition { location, partition });
        }
    }
    Ok(())
}
