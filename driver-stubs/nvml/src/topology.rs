//! How GPUs, CPUs and memory nodes lie to one another.
//! It follows from superchips: two GPUs share a CPU; across superchips they reach each other by NVLink.

use ghost_abi::{InOut, Out, OutList};

use crate::gpu::Device;
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetTopologyCommonAncestor(gpu: Gpu, other: Gpu, level: Out<u32>) => common_ancestor;
    fn nvmlDeviceGetTopologyNearestGpus(gpu: Gpu, level: u32, count: InOut<u32>, list: OutList<Gpu>) => nearest;
    fn nvmlSystemGetTopologyGpuSet(cpu: u32, count: InOut<u32>, list: OutList<Gpu>) => near_cpu;
    fn nvmlDeviceGetP2PStatus(gpu: Gpu, other: Gpu, capability: u32, status: Out<u32>) => p2p;
    fn nvmlDeviceGetCpuAffinity(gpu: Gpu, words: u32, set: OutList<u64>) => cpu_affinity;
    fn nvmlDeviceGetCpuAffinityWithinScope(gpu: Gpu, words: u32, set: OutList<u64>, scope: u32) => cpu_affinity_in;
    fn nvmlDeviceGetMemoryAffinity(gpu: Gpu, words: u32, set: OutList<u64>, scope: u32) => memory_affinity;
    fn nvmlDeviceGetNumaNodeId(gpu: Gpu, node: Out<u32>) => numa_node;
}

/// Common ancestor: the same board, the same CPU, or only the system.
const LEVEL_INTERNAL: u32 = 0;
const LEVEL_NODE: u32 = 40;
const LEVEL_SYSTEM: u32 = 50;
/// Memory nodes that a GPU of a coherent superchip has: one, and seven for MIG instances.
const NODES_OF_A_GPU: u32 = 8;
/// Peer access: possible, and not.
const P2P_OK: u32 = 0;
const P2P_NOT_SUPPORTED: u32 = 5;
/// Words of the largest set that is filled: 65,536 CPUs or nodes, far more than a tray has.
const MOST_WORDS: u32 = 1024;
/// The capability that asks for NVLink rather than PCIe.
const P2P_NVLINK: u32 = 2;

/// How near two GPUs are.
pub fn level(gpu: Device, other: Device) -> u32 {
    if gpu.place() == other.place() {
        LEVEL_INTERNAL
    } else if gpu.superchip() == other.superchip() {
        LEVEL_NODE
    } else {
        LEVEL_SYSTEM
    }
}

fn common_ancestor(gpu: Gpu, other: Gpu, out: Out<u32>) -> Answer {
    Ok(out.set(level(gpu.open()?, other.open()?))?)
}

/// GPUs at exactly this level. A null list asks for the count.
fn nearest(gpu: Gpu, wanted: u32, count: InOut<u32>, list: OutList<Gpu>) -> Answer {
    let device = gpu.open()?;
    if ![0, 10, 20, 30, LEVEL_NODE, LEVEL_SYSTEM].contains(&wanted) {
        return Err(Error::InvalidArgument);
    }
    let near = Device::all()?.filter(|other| other.place() != device.place() && level(device, *other) == wanted);
    give(&count, &list, near.collect())
}

fn near_cpu(cpu: u32, count: InOut<u32>, list: OutList<Gpu>) -> Answer {
    let near = Device::all()?.filter(|device| cpus(*device).contains(&cpu));
    give(&count, &list, near.collect())
}

fn give(count: &InOut<u32>, list: &OutList<Gpu>, found: Vec<Device>) -> Answer {
    let room = count.get()? as usize;
    if !list.is_null() {
        list.fill(room, found.iter().map(|device| device.handle()))?;
    }
    Ok(count.set(found.len() as u32)?)
}

/// Capabilities: 0 read, 1 write, 2 NVLink, 3 atomics, 4 properties.
fn p2p(gpu: Gpu, other: Gpu, capability: u32, status: Out<u32>) -> Answer {
    let (gpu, other) = (gpu.open()?, other.open()?);
    if capability > 5 {
        return Err(Error::InvalidArgument);
    }
    let linked = gpu.links_up() > 0 && other.links_up() > 0;
    Ok(status.set(if capability != P2P_NVLINK || linked { P2P_OK } else { P2P_NOT_SUPPORTED })?)
}

fn cpus(device: Device) -> std::ops::Range<u32> {
    let each = u32::from(device.profile().topology.cpus_per_superchip);
    let first = device.superchip() as u32 * each;
    first..first + each
}

/// A bit set of as many words as the caller has, up to a size that only a mistake exceeds.
fn put_set(words: u32, set: &OutList<u64>, members: impl Iterator<Item = u32>) -> Answer {
    if !(1..=MOST_WORDS).contains(&words) {
        return Err(Error::InvalidArgument);
    }
    set.check()?;
    let mut bits = vec![0_u64; words as usize];
    for member in members {
        if let Some(word) = bits.get_mut(member as usize / 64) {
            *word |= 1 << (member % 64);
        }
    }
    Ok(set.set(bits.len(), bits.into_iter())?)
}

fn cpu_affinity(gpu: Gpu, words: u32, set: OutList<u64>) -> Answer {
    put_set(words, &set, cpus(gpu.open()?))
}

/// Scopes: 0 memory node, 1 socket; a superchip's CPU is one of each.
fn cpu_affinity_in(gpu: Gpu, words: u32, set: OutList<u64>, scope: u32) -> Answer {
    if scope > 1 {
        return Err(Error::InvalidArgument);
    }
    cpu_affinity(gpu, words, set)
}

/// The CPU's node and those kept for MIG instances of the superchip's GPUs (captured: 0,3-9,11-17).
fn memory_affinity(gpu: Gpu, words: u32, set: OutList<u64>, scope: u32) -> Answer {
    let device = gpu.open()?;
    if scope > 1 {
        return Err(Error::InvalidArgument);
    }
    let chip = device.superchip() as u32;
    let each = usize::from(device.profile().topology.gpus_per_superchip);
    let gpus = (0..each).map(|n| device.facts().identity(device.superchip() * each + n).numa_node);
    let instances = gpus.flat_map(|node| node + 1..node + NODES_OF_A_GPU);
    put_set(words, &set, instances.chain([chip]))
}

fn numa_node(gpu: Gpu, node: Out<u32>) -> Answer {
    Ok(node.set(gpu.open()?.identity().numa_node)?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    fn bits(call: impl FnOnce(u32, OutList<u64>) -> Answer) -> Vec<u32> {
        let mut words = [0_u64; 3];
        // SAFETY: borrows a live array of as many words as it says.
        let lens = unsafe { OutList::from_raw(words.as_mut_ptr()) };
        call(3, lens).unwrap();
        (0..192).filter(|n| words[*n as usize / 64] & (1 << (n % 64)) != 0).collect()
    }

    #[test]
    fn gpus_of_a_superchip_are_nearer_than_others() {
        testing::tray(|_| ());
        let between = |a, b| ask(|out| common_ancestor(Gpu::of(a), Gpu::of(b), out)).unwrap();
        assert_eq!([between(0, 0), between(0, 1), between(1, 2), between(2, 3)], [0, 40, 50, 40]);
    }

    #[test]
    fn affinity_is_that_of_the_capture() {
        testing::tray(|_| ());
        assert_eq!(bits(|words, set| cpu_affinity(Gpu::of(3), words, set)), (72..144).collect::<Vec<_>>());
        let nodes = bits(|words, set| memory_affinity(Gpu::of(1), words, set, 0));
        assert_eq!(nodes, [0].into_iter().chain(3..=9).chain(11..=17).collect::<Vec<_>>());
        let nodes = bits(|words, set| memory_affinity(Gpu::of(2), words, set, 0));
        assert_eq!(nodes, [1].into_iter().chain(19..=25).chain(27..=33).collect::<Vec<_>>());
    }

    #[test]
    fn a_set_of_absurd_size_is_refused_before_anything_is_written() {
        testing::tray(|_| ());
        let mut words = [7_u64; MOST_WORDS as usize];
        let mut answer = |count| {
            // SAFETY: borrows a live array; sizes beyond it are refused.
            let set = unsafe { OutList::from_raw(words.as_mut_ptr()) };
            (cpu_affinity(Gpu::of(0), count, set), words[MOST_WORDS as usize - 1])
        };
        for count in [0, MOST_WORDS + 1, u32::MAX] {
            assert_eq!(answer(count), (Err(Error::InvalidArgument), 7));
        }
        assert_eq!(answer(MOST_WORDS), (Ok(()), 0));
    }

    #[test]
    fn without_a_link_that_is_up_there_is_no_peer_access_over_nvlink() {
        testing::tray(|facts| facts.gpus[1].links.iter_mut().for_each(|link| link.up = 0));
        let ask_p2p = |capability| ask(|out| p2p(Gpu::of(0), Gpu::of(1), capability, out)).unwrap();
        assert_eq!((ask_p2p(0), ask_p2p(2)), (0, 5));
    }
}
