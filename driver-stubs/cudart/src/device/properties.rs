//! `cudaDeviceProp`, filled from the driver's attributes.
//! It knows attribute numbers and offsets, no value.

use crate::Cudart;
use crate::codes::Error;
use crate::driver::forward::cuDeviceGetAttribute;
use crate::driver::*;
use ghost_abi::{Out, Plain, record};

ghost_abi::rows! { Cudart;
    fn cudaGetDeviceProperties(properties: Out<DeviceProperties>, device: i32) => properties;
}

record! {
    /// `cudaDeviceProp` of CUDA 13. Sizes in bytes, the memory bus in bits.
    pub struct DeviceProperties: 1008 bytes {
        pub name: [u8; 256], pub uuid: [u8; 16], pub luid: [u8; 8], pub luid_device_node_mask: u32,
        pub total_global_mem: usize, pub shared_mem_per_block: usize, pub regs_per_block: i32,
        pub warp_size: i32, pub mem_pitch: usize, pub max_threads_per_block: i32,
        pub max_threads_dim: [i32; 3], pub max_grid_size: [i32; 3], pub total_const_mem: usize,
        pub major: i32, pub minor: i32, pub texture_alignment: usize, pub texture_pitch_alignment: usize,
        pub multi_processor_count: i32, pub integrated: i32, pub can_map_host_memory: i32,
        pub max_texture_1d: i32, pub max_texture_1d_mipmap: i32, pub max_texture_2d: [i32; 2],
        pub max_texture_2d_mipmap: [i32; 2], pub max_texture_2d_linear: [i32; 3],
        pub max_texture_2d_gather: [i32; 2], pub max_texture_3d: [i32; 3], pub max_texture_3d_alt: [i32; 3],
        pub max_texture_cubemap: i32, pub max_texture_1d_layered: [i32; 2],
        pub max_texture_2d_layered: [i32; 3], pub max_texture_cubemap_layered: [i32; 2],
        pub max_surface_1d: i32, pub max_surface_2d: [i32; 2], pub max_surface_3d: [i32; 3],
        pub max_surface_1d_layered: [i32; 2], pub max_surface_2d_layered: [i32; 3],
        pub max_surface_cubemap: i32, pub max_surface_cubemap_layered: [i32; 2], pub surface_alignment: usize,
        pub concurrent_kernels: i32, pub ecc_enabled: i32, pub pci_bus_id: i32, pub pci_device_id: i32,
        pub pci_domain_id: i32, pub tcc_driver: i32, pub async_engine_count: i32, pub unified_addressing: i32,
        pub memory_bus_width: i32, pub l2_cache_size: i32, pub persisting_l2_cache_max_size: i32,
        pub max_threads_per_multi_processor: i32, pub stream_priorities_supported: i32,
        pub global_l1_cache_supported: i32, pub local_l1_cache_supported: i32,
        pub shared_mem_per_multiprocessor: usize, pub regs_per_multiprocessor: i32, pub managed_memory: i32,
        pub is_multi_gpu_board: i32, pub multi_gpu_board_group_id: i32, pub host_native_atomic_supported: i32,
        pub pageable_memory_access: i32, pub concurrent_managed_access: i32,
        pub compute_preemption_supported: i32, pub can_use_host_pointer_for_registered_mem: i32,
        pub cooperative_launch: i32, pub shared_mem_per_block_optin: usize,
        pub pageable_memory_access_uses_host_page_tables: i32, pub direct_managed_mem_access_from_host: i32,
        pub max_blocks_per_multi_processor: i32, pub access_policy_max_window_size: i32,
        pub reserved_shared_mem_per_block: usize, pub host_register_supported: i32,
        pub sparse_cuda_array_supported: i32, pub host_register_read_only_supported: i32,
        pub timeline_semaphore_interop_supported: i32, pub memory_pools_supported: i32,
        pub gpu_direct_rdma_supported: i32, pub gpu_direct_rdma_flush_writes_options: u32,
        pub gpu_direct_rdma_writes_ordering: i32, pub memory_pool_supported_handle_types: u32,
        pub deferred_mapping_cuda_array_supported: i32, pub ipc_event_supported: i32, pub cluster_launch: i32,
        pub unified_function_pointers: i32, pub device_numa_config: i32, pub device_numa_id: i32,
        pub mps_enabled: i32, pub host_numa_id: i32, pub gpu_pci_device_id: u32,
        pub gpu_pci_subsystem_id: u32, pub host_numa_multinode_ipc_supported: i32, pub reserved: [i32; 56],
    }
}

fn properties(properties: Out<DeviceProperties>, device: i32) -> Result<(), Error> {
    properties.check()?;
    Ok(properties.set(DeviceProperties {
        name: name(device)?,
        uuid: uuid(device)?,
        total_global_mem: total_bytes(device)?,
        ..by_attributes(device)
    })?)
}

fn name(device: i32) -> Result<[u8; 256], Error> {
    let mut name = [0; 256];
    cuDeviceGetName(name.as_mut_ptr().cast::<std::ffi::c_char>(), name.len() as i32, device)?;
    Ok(name)
}

fn uuid(device: i32) -> Result<[u8; 16], Error> {
    let mut uuid = [0; 16];
    cuDeviceGetUuid_v2(&raw mut uuid, device)?;
    Ok(uuid)
}

fn total_bytes(device: i32) -> Result<usize, Error> {
    let mut bytes = 0;
    cuDeviceTotalMem_v2(&raw mut bytes, device)?;
    Ok(bytes)
}

/// One attribute each, by the driver's numbers; one the driver does not know is 0.
fn by_attributes(device: i32) -> DeviceProperties {
    let value = |attribute: i32| {
        let mut value = 0;
        cuDeviceGetAttribute(&raw mut value, attribute, device).map_or(0, |()| value)
    };
    DeviceProperties {
        shared_mem_per_block: value(8) as usize,
        regs_per_block: value(12),
        warp_size: value(10),
        mem_pitch: value(11) as usize,
        max_threads_per_block: value(1),
        max_threads_dim: [value(2), value(3), value(4)],
        max_grid_size: [value(5), value(6), value(7)],
        total_const_mem: value(9) as usize,
        major: value(75),
        minor: value(76),
        texture_alignment: value(14) as usize,
        texture_pitch_alignment: value(51) as usize,
        multi_processor_count: value(16),
        integrated: value(18),
        can_map_host_memory: value(19),
        max_texture_1d: value(21),
        max_texture_1d_mipmap: value(77),
        max_texture_2d: [value(22), value(23)],
        max_texture_2d_mipmap: [value(73), value(74)],
        max_texture_2d_linear: [value(70), value(71), value(72)],
        max_texture_2d_gather: [value(45), value(46)],
        max_texture_3d: [value(24), value(25), value(26)],
        max_texture_3d_alt: [value(47), value(48), value(49)],
        max_texture_cubemap: value(52),
        max_texture_1d_layered: [value(42), value(43)],
        max_texture_2d_layered: [value(27), value(28), value(29)],
        max_texture_cubemap_layered: [value(53), value(54)],
        max_surface_1d: value(55),
        max_surface_2d: [value(56), value(57)],
        max_surface_3d: [value(58), value(59), value(60)],
        max_surface_1d_layered: [value(61), value(62)],
        max_surface_2d_layered: [value(63), value(64), value(65)],
        max_surface_cubemap: value(66),
        max_surface_cubemap_layered: [value(67), value(68)],
        surface_alignment: value(30) as usize,
        concurrent_kernels: value(31),
        ecc_enabled: value(32),
        pci_bus_id: value(33),
        pci_device_id: value(34),
        pci_domain_id: value(50),
        tcc_driver: value(35),
        async_engine_count: value(40),
        unified_addressing: value(41),
        memory_bus_width: value(37),
        l2_cache_size: value(38),
        persisting_l2_cache_max_size: value(108),
        max_threads_per_multi_processor: value(39),
        stream_priorities_supported: value(78),
        global_l1_cache_supported: value(79),
        local_l1_cache_supported: value(80),
        shared_mem_per_multiprocessor: value(81) as usize,
        regs_per_multiprocessor: value(82),
        managed_memory: value(83),
        is_multi_gpu_board: value(84),
        multi_gpu_board_group_id: value(85),
        host_native_atomic_supported: value(86),
        pageable_memory_access: value(88),
        concurrent_managed_access: value(89),
        compute_preemption_supported: value(90),
        can_use_host_pointer_for_registered_mem: value(91),
        cooperative_launch: value(95),
        shared_mem_per_block_optin: value(97) as usize,
        pageable_memory_access_uses_host_page_tables: value(100),
        direct_managed_mem_access_from_host: value(101),
        max_blocks_per_multi_processor: value(106),
        access_policy_max_window_size: value(109),
        reserved_shared_mem_per_block: value(111) as usize,
        host_register_supported: value(99),
        sparse_cuda_array_supported: value(112),
        host_register_read_only_supported: value(113),
        timeline_semaphore_interop_supported: value(114),
        memory_pools_supported: value(115),
        gpu_direct_rdma_supported: value(116),
        gpu_direct_rdma_flush_writes_options: value(117) as u32,
        gpu_direct_rdma_writes_ordering: value(118),
        memory_pool_supported_handle_types: value(119) as u32,
        deferred_mapping_cuda_array_supported: value(121),
        ipc_event_supported: value(125),
        cluster_launch: value(120),
        unified_function_pointers: value(129),
        device_numa_config: value(130),
        device_numa_id: value(131),
        mps_enabled: value(133),
        host_numa_id: value(134),
        gpu_pci_device_id: value(139) as u32,
        gpu_pci_subsystem_id: value(140) as u32,
        host_numa_multinode_ipc_supported: value(143),
        ..DeviceProperties::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Offsets of the C compiler for the header of CUDA 13.2.
    #[test]
    fn fields_lie_where_callers_compiled_with_the_header_look() {
        assert_eq!(offset_of!(DeviceProperties, uuid), 256);
        assert_eq!(offset_of!(DeviceProperties, luid_device_node_mask), 280);
        assert_eq!(offset_of!(DeviceProperties, total_global_mem), 288);
        assert_eq!(offset_of!(DeviceProperties, max_threads_dim), 324);
        assert_eq!(offset_of!(DeviceProperties, multi_processor_count), 384);
        assert_eq!(offset_of!(DeviceProperties, max_texture_3d), 440);
        assert_eq!(offset_of!(DeviceProperties, surface_alignment), 552);
        assert_eq!(offset_of!(DeviceProperties, ecc_enabled), 564);
        assert_eq!(offset_of!(DeviceProperties, shared_mem_per_multiprocessor), 624);
        assert_eq!(offset_of!(DeviceProperties, managed_memory), 636);
        assert_eq!(offset_of!(DeviceProperties, shared_mem_per_block_optin), 672);
        assert_eq!(offset_of!(DeviceProperties, reserved_shared_mem_per_block), 696);
        assert_eq!(offset_of!(DeviceProperties, cluster_launch), 748);
        assert_eq!(offset_of!(DeviceProperties, host_numa_multinode_ipc_supported), 780);
        assert_eq!(offset_of!(DeviceProperties, reserved), 784);
    }
}
