//! Membership in the NVLink domain: cluster UUID, clique, state and health.
//! Two GPUs may use multi-node NVLink when both are completed and cluster and clique are equal.

use ghost_abi::{AnyVersion, Out};
use ghost_engine::layout::GpuFabric;

use crate::structs::{FabricInfo, FabricInfoV2, FabricInfoV3};
use crate::{Answer, Error, Gpu, Nvml};

ghost_abi::rows! { Nvml;
    fn nvmlDeviceGetGpuFabricInfo(gpu: Gpu, info: Out<FabricInfo>) => info;
    fn nvmlDeviceGetGpuFabricInfoV(gpu: Gpu, info: AnyVersion) => info_v;
}

/// The probe has ended and its answers hold.
const COMPLETED: u32 = 3;

/// Before the probe has completed nothing but the state is known.
fn known(fabric: GpuFabric) -> GpuFabric {
    if fabric.state == COMPLETED {
        return fabric;
    }
    GpuFabric { cluster_uuid: [0; 16], clique: 0, health_mask: 0, health_summary: 0, ..fabric }
}

fn info(gpu: Gpu, info: Out<FabricInfo>) -> Answer {
    let fabric = known(gpu.open()?.fabric());
    let GpuFabric { cluster_uuid, clique, state, .. } = fabric;
    Ok(info.set(FabricInfo { cluster_uuid, status: 0, clique, state })?)
}

/// A caller of the second version has no place for the summary, and it is not written.
fn info_v(gpu: Gpu, info: AnyVersion) -> Answer {
    let GpuFabric { cluster_uuid, clique, state, health_mask, health_summary, .. } = known(gpu.open()?.fabric());
    info.word()?;
    if let Some(out) = info.of::<FabricInfoV2>() {
        return Ok(out.set(FabricInfoV2 {
            cluster_uuid,
            status: 0,
            clique,
            state,
            health_mask,
            ..FabricInfoV2::blank()
        })?);
    }
    let out = info.of::<FabricInfoV3>().ok_or(Error::ArgumentVersionMismatch)?;
    let health_summary = health_summary as u8;
    let blank = FabricInfoV3::blank();
    Ok(out.set(FabricInfoV3 { cluster_uuid, status: 0, clique, state, health_mask, health_summary, ..blank })?)
}

#[cfg(test)]
mod tests {
    use ghost_abi::ask;

    use super::*;
    use crate::testing;

    #[test]
    fn a_second_version_caller_keeps_the_bytes_behind_its_struct() {
        testing::tray(|_| ());
        let mut place = [FabricInfoV3 { version: 0xaaaa_aaaa, health_summary: 0xaa, ..FabricInfoV3::blank() }; 2];
        place[0].version = <FabricInfoV2 as ghost_abi::Versioned>::VERSION;
        // SAFETY: the place is larger than the struct its word names.
        let lens = unsafe { AnyVersion::from_raw((&raw mut place).cast()) };
        info_v(Gpu::of(0), lens).unwrap();
        assert_eq!((place[0].clique, place[0].state, place[0].health_mask), (32766, 3, 0b1010_1010));
        assert_eq!((place[0].health_summary, place[1].version), (0xaa, 0xaaaa_aaaa));
    }

    #[test]
    fn before_the_probe_has_completed_there_is_no_clique() {
        testing::tray(|facts| facts.gpus[0].fabric.state = 2);
        let answer = ask(|out| info(Gpu::of(0), out)).unwrap();
        assert_eq!((answer.state, answer.clique, answer.cluster_uuid), (2, 0, [0; 16]));
    }
}
