//! Activity records as profilers read them: newest layout of each kind in CUDA 13.2 (older ones are their prefixes).
//! Plain data; sizes and offsets were taken from a C program over the headers. It decides nothing.

use std::ffi::{c_char, c_void};

/// `CUpti_ActivityKind`, as far as records of it are made.
pub mod kind {
    pub const MEMCPY: u32 = 1;
    pub const MEMSET: u32 = 2;
    pub const KERNEL: u32 = 3;
    pub const DRIVER: u32 = 4;
    pub const RUNTIME: u32 = 5;
    pub const CONCURRENT_KERNEL: u32 = 10;
    pub const MEMCPY2: u32 = 22;
    pub const SYNCHRONIZATION: u32 = 38;
    pub const EXTERNAL_CORRELATION: u32 = 39;
}

/// `CUpti_ChannelType`.
pub mod channel {
    pub const COMPUTE: u32 = 1;
    pub const COPY: u32 = 2;
}

/// A struct of which only the bytes matter once it is filled.
pub trait Layout: Copy {}

macro_rules! layout {
    ($(#[$meta:meta])* $name:ident: $bytes:literal { $($field:ident: $ty:ty),* $(,)? } at { $($at:ident: $offset:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C, align(8))]
        pub struct $name { $(pub $field: $ty),* }

        impl Layout for $name {}

        const _: () = assert!(size_of::<$name>() == $bytes);
        $(const _: () = assert!(std::mem::offset_of!($name, $at) == $offset);)*
    };
}

layout! {
    /// `CUpti_ActivityAPI`.
    Api: 40 {
        kind: u32, callback: u32, start: u64, end: u64, process: u32, thread: u32, correlation: u32, status: u32,
    } at { start: 8, process: 24, correlation: 32 }
}
layout! {
    /// `CUpti_ActivityExternalCorrelation`.
    External: 24 {
        kind: u32, external_kind: u32, external_id: u64, correlation: u32, reserved: u32,
    } at { external_id: 8, correlation: 16 }
}
layout! {
    /// `CUpti_ActivitySynchronization2`.
    Synchronization: 56 {
        kind: u32, of: u32, start: u64, end: u64, correlation: u32, context: u32, stream: u32, event: u32,
        event_record: u64, status: u32, pad: u32,
    } at { correlation: 24, stream: 32, event_record: 40, status: 48 }
}
layout! {
    /// `CUpti_ActivityMemcpy6`.
    Memcpy: 96 {
        kind: u32, direction: u8, from: u8, to: u8, flags: u8, bytes: u64, start: u64, end: u64,
        device: u32, context: u32, stream: u32, correlation: u32, runtime_correlation: u32, pad: u32,
        reserved: *const c_void, graph_node: u64, graph: u32, channel: u32, channel_type: u32,
        device_launched: u8, pad2: [u8; 3], copies: u64,
    } at { bytes: 8, device: 32, correlation: 44, graph_node: 64, channel_type: 80, copies: 88 }
}
layout! {
    /// `CUpti_ActivityMemset4`.
    Memset: 88 {
        kind: u32, value: u32, bytes: u64, start: u64, end: u64,
        device: u32, context: u32, stream: u32, correlation: u32, flags: u16, memory: u16, pad: u32,
        reserved: *const c_void, graph_node: u64, graph: u32, channel: u32, channel_type: u32,
        device_launched: u8, pad2: [u8; 3],
    } at { bytes: 8, device: 32, memory: 50, graph_node: 64, channel_type: 80 }
}
layout! {
    /// `CUpti_ActivityKernel11`.
    Kernel: 224 {
        kind: u32, cache_config: u8, shared_config: u8, registers: u16, cache_requested: u32, cache_executed: u32,
        start: u64, end: u64, completed: u64, device: u32, context: u32, stream: u32,
        grid: [u32; 3], block: [u32; 3], static_shared: u32, dynamic_shared: u32,
        local_per_thread: u32, local_total: u32, correlation: u32, grid_id: i64,
        name: *const c_char, reserved: *const c_void, queued: u64, submitted: u64,
        launch_type: u8, carveout_requested: u8, carveout: u8, pad: u8, shared_executed: u32,
        graph_node: u64, shared_limit: u32, graph: u32, access_policy: *const c_void,
        channel: u32, channel_type: u32, cluster: [u32; 3], cluster_policy: u32,
        local_total_wide: u64, max_cluster: u32, max_active_clusters: u32,
        device_launched: u8, pad3: [u8; 7], priority: i32, pad4: u32,
    } at {
        registers: 6, start: 16, device: 40, grid: 52, block: 64, static_shared: 76, correlation: 92, name: 104,
        queued: 120, launch_type: 136, graph_node: 144, graph: 156, channel: 168, cluster: 176,
        local_total_wide: 192, device_launched: 208, priority: 216,
    }
}

/// Bytes of a record by its kind; `None` = no record of it is made here.
pub fn size_of_kind(of: u32) -> Option<usize> {
    Some(match of {
        kind::MEMCPY => size_of::<Memcpy>(),
        kind::MEMSET => size_of::<Memset>(),
        kind::KERNEL | kind::CONCURRENT_KERNEL => size_of::<Kernel>(),
        kind::DRIVER | kind::RUNTIME => size_of::<Api>(),
        kind::SYNCHRONIZATION => size_of::<Synchronization>(),
        kind::EXTERNAL_CORRELATION => size_of::<External>(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_that_is_made_has_the_size_of_the_header() {
        let sizes = [(1, 96), (2, 88), (3, 224), (4, 40), (5, 40), (10, 224), (38, 56), (39, 24)];
        assert!(sizes.iter().all(|(kind, bytes)| size_of_kind(*kind) == Some(*bytes)));
        assert_eq!((size_of_kind(0), size_of_kind(17)), (None, None));
    }
}
