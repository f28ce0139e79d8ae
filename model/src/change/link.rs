//! NVLinks of this tray's GPUs: configuration, faults, and what fabric says of the far end.
//! Whether a link is up is worked out once for all changes, in machine.rs.

use super::Outcome;
use crate::gpu::{Link, LinkFault};
use crate::ids::{GpuIndex, LinkIndex};
use crate::machine::Machine;
use crate::refusal::Refusal;

pub(super) fn admin(machine: &mut Machine, gpu: GpuIndex, link: LinkIndex, enabled: bool) -> Outcome {
    link_mut(machine, gpu, link)?.enabled = enabled;
    Ok(Vec::new())
}

pub(super) fn fault(machine: &mut Machine, gpu: GpuIndex, link: LinkIndex, fault: Option<LinkFault>) -> Outcome {
    link_mut(machine, gpu, link)?.fault = fault;
    Ok(Vec::new())
}

pub(super) fn far_end(machine: &mut Machine, gpu: GpuIndex, link: LinkIndex, up: bool) -> Outcome {
    link_mut(machine, gpu, link)?.far_end_up = up;
    Ok(Vec::new())
}

fn link_mut(machine: &mut Machine, gpu: GpuIndex, link: LinkIndex) -> Result<&mut Link, Refusal> {
    let links = &mut machine.gpu_mut(gpu)?.links;
    let missing = Refusal::NoSuchLink { link, links: links.len() as u8 };
    links.get_mut(link.index()).ok_or(missing)
}
