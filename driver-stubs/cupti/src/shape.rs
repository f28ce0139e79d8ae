//! What was heard in the shape of NVIDIA's records, times in the profiler's clock. What is not known is 0.

use crate::clock::Map;
use crate::record::{self, channel, kind};
use ghost_table::trace::{Domain, Memory, NO_STREAM, Record};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub fn api(record: &Record, callback: u32, thread: u32, map: &Map) -> record::Api {
    record::Api {
        kind: if record.detail == Domain::Driver as u32 { kind::DRIVER } else { kind::RUNTIME },
        callback,
        start: map.stamp(record.start_ns),
        end: map.stamp(record.end_ns),
        process: std::process::id(),
        thread,
        correlation: record.correlation,
        status: record.status as u32,
    }
}

pub fn kernel(of: &Record, kind: u32, map: &Map) -> record::Kernel {
    static GRID: AtomicU32 = AtomicU32::new(0);
    record::Kernel {
        kind,
        cache_config: 0,
        shared_config: 0,
        registers: of.registers.min(u16::MAX.into()) as u16,
        cache_requested: 0,
        cache_executed: 0,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        completed: map.stamp(of.end_ns),
        device: of.device,
        context: of.context,
        stream: of.stream,
        grid: of.grid,
        block: of.block,
        static_shared: of.static_shared_bytes,
        dynamic_shared: of.dynamic_shared_bytes,
        local_per_thread: of.local_bytes,
        local_total: 0,
        correlation: of.correlation,
        grid_id: i64::from(GRID.fetch_add(1, Relaxed)) + 1,
        name: of.name,
        reserved: std::ptr::null(),
        queued: 0,
        submitted: 0,
        launch_type: 0,
        carveout_requested: 0,
        carveout: 0,
        pad: 0,
        shared_executed: of.static_shared_bytes.saturating_add(of.dynamic_shared_bytes),
        graph_node: 0,
        shared_limit: 0,
        graph: 0,
        access_policy: std::ptr::null(),
        channel: 0,
        channel_type: channel::COMPUTE,
        cluster: [0; 3],
        cluster_policy: 0,
        local_total_wide: 0,
        max_cluster: 0,
        max_active_clusters: 0,
        device_launched: 0,
        pad3: [0; 7],
        priority: 0,
        pad4: 0,
    }
}

/// `CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC`, which has the same number for fills.
const ASYNC: u8 = 1;

pub fn memcpy(of: &Record, map: &Map) -> record::Memcpy {
    record::Memcpy {
        kind: kind::MEMCPY,
        direction: of.detail as u8,
        from: of.from as u8,
        to: of.to as u8,
        flags: if of.from == Memory::Pageable || of.to == Memory::Pageable { 0 } else { ASYNC },
        bytes: of.bytes,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        device: of.device,
        context: of.context,
        stream: of.stream,
        correlation: of.correlation,
        runtime_correlation: 0,
        pad: 0,
        reserved: std::ptr::null(),
        graph_node: 0,
        graph: 0,
        channel: 0,
        channel_type: channel::COPY,
        device_launched: 0,
        pad2: [0; 3],
        copies: 1,
    }
}

pub fn memset(of: &Record, map: &Map) -> record::Memset {
    record::Memset {
        kind: kind::MEMSET,
        value: of.value,
        bytes: of.bytes,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        device: of.device,
        context: of.context,
        stream: of.stream,
        correlation: of.correlation,
        flags: ASYNC.into(),
        memory: of.to as u16,
        pad: 0,
        reserved: std::ptr::null(),
        graph_node: 0,
        graph: 0,
        channel: 0,
        channel_type: channel::COMPUTE,
        device_launched: 0,
        pad2: [0; 3],
    }
}

pub fn synchronization(of: &Record, map: &Map) -> record::Synchronization {
    record::Synchronization {
        kind: kind::SYNCHRONIZATION,
        of: of.detail,
        start: map.stamp(of.start_ns),
        end: map.stamp(of.end_ns),
        correlation: of.correlation,
        context: of.context,
        stream: if of.stream == NO_STREAM { u32::MAX } else { of.stream },
        event: u32::MAX,
        event_record: 0,
        status: of.status as u32,
        pad: 0,
    }
}
