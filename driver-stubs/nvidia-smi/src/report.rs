//! The long report, `-q` as text and `-q -x` as XML: one tree of labels, drawn twice.
//! Labels and tags are those of driver 580 (schema v13); values are `fields`.

use crate::cell::{line, mebibytes};
use crate::fields;
use crate::nvml::Gpu;

/// A line or a group of lines: label in text, tag in XML; an empty label or tag is left out of that form.
#[derive(Debug)]
pub enum Item {
    Leaf(&'static str, &'static str, &'static str),
    Group(&'static str, &'static str, &'static [Item]),
    /// Lists that are made at run time.
    Clocks,
    Processes,
}

use Item::{Clocks, Group, Leaf, Processes};

/// Column at which values start.
const VALUE_COLUMN: usize = 42;

/// Everything about one GPU, in the order of the capture.
#[rustfmt::skip]
const TREE: &[Item] = &[
    Leaf("Product Name", "product_name", "name"),
    Leaf("Product Brand", "product_brand", "brand"),
    Leaf("Product Architecture", "product_architecture", "architecture"),
    Leaf("Display Mode", "display_mode", "display_mode"),
    Leaf("Display Attached", "display_attached", "display_attached"),
    Leaf("Display Active", "display_active", "display_active"),
    Leaf("Persistence Mode", "persistence_mode", "persistence_mode"),
    Leaf("Addressing Mode", "addressing_mode", "addressing_mode"),
    Group("MIG Mode", "mig_mode", &[Leaf("Current", "current_mig", "mig.mode.current"), Leaf("Pending", "pending_mig", "mig.mode.pending")]),
    Leaf("", "mig_devices", "mig_devices"),
    Leaf("Accounting Mode", "accounting_mode", "accounting.mode"),
    Leaf("Accounting Mode Buffer Size", "accounting_mode_buffer_size", "accounting.buffer_size"),
    Group("Driver Model", "driver_model", &[Leaf("Current", "current_dm", "driver_model.current"), Leaf("Pending", "pending_dm", "driver_model.pending")]),
    Leaf("Serial Number", "serial", "serial"),
    Leaf("GPU UUID", "uuid", "uuid"),
    Leaf("GPU PDI", "pdi", "pdi"),
    Leaf("Minor Number", "minor_number", "minor"),
    Leaf("VBIOS Version", "vbios_version", "vbios_version"),
    Leaf("MultiGPU Board", "multigpu_board", "multi_gpu"),
    Leaf("Board ID", "board_id", "board_id"),
    Leaf("Board Part Number", "board_part_number", "board_part"),
    Leaf("GPU Part Number", "gpu_part_number", "gpu_part"),
    Leaf("FRU Part Number", "gpu_fru_part_number", "none"),
    Group("Platform Info", "platformInfo", &[
        Leaf("Chassis Serial Number", "chassis_serial_number", "platform.chassis_serial_number"),
        Leaf("Slot Number", "slot_number", "platform.slot_number"),
        Leaf("Tray Index", "tray_index", "platform.tray_index"),
        Leaf("Host ID", "host_id", "platform.host_id"),
        Leaf("Peer Type", "peer_type", "platform.peer_type"),
        Leaf("Module Id", "module_id", "platform.module_id"),
        Leaf("GPU Fabric GUID", "gpu_fabric_guid", "platform.gpu_fabric_guid"),
    ]),
    Group("Inforom Version", "inforom_version", &[
        Leaf("Image Version", "img_version", "inforom.img"),
        Leaf("OEM Object", "oem_object", "inforom.oem"),
        Leaf("ECC Object", "ecc_object", "inforom.ecc"),
        Leaf("Power Management Object", "pwr_object", "inforom.pwr"),
    ]),
    Group("Inforom BBX Object Flush", "inforom_bbx_flush", &[Leaf("Latest Timestamp", "latest_timestamp", "none"), Leaf("Latest Duration", "latest_duration", "none")]),
    Group("GPU Operation Mode", "gpu_operation_mode", &[Leaf("Current", "current_gom", "gom.current"), Leaf("Pending", "pending_gom", "gom.pending")]),
    Leaf("GPU C2C Mode", "c2c_mode", "c2c.mode"),
    Group("GPU Virtualization Mode", "gpu_virtualization_mode", &[
        Leaf("Virtualization Mode", "virtualization_mode", "virtualization"),
        Leaf("Host VGPU Mode", "host_vgpu_mode", "none"),
        Leaf("vGPU Heterogeneous Mode", "vgpu_heterogeneous_mode", "none"),
    ]),
    Leaf("GPU Recovery Action", "gpu_recovery_action", "gpu_recovery_action"),
    Leaf("GSP Firmware Version", "gsp_firmware_version", "gsp_version"),
    Group("IBMNPU", "ibmnpu", &[Leaf("Relaxed Ordering Mode", "relaxed_ordering_mode", "none")]),
    Group("PCI", "pci", &[
        Leaf("Bus", "pci_bus", "pci.bus"),
        Leaf("Device", "pci_device", "pci.device"),
        Leaf("Domain", "pci_domain", "pci.domain"),
        Leaf("Base Classcode", "pci_base_class", "pci.baseClass"),
        Leaf("Sub Classcode", "pci_sub_class", "pci.subClass"),
        Leaf("Device Id", "pci_device_id", "pci.device_id"),
        Leaf("Bus Id", "pci_bus_id", "pci.bus_id"),
        Leaf("Sub System Id", "pci_sub_system_id", "pci.sub_device_id"),
        Group("GPU Link Info", "pci_gpu_link_info", &[
            Group("PCIe Generation", "pcie_gen", &[
                Leaf("Max", "max_link_gen", "pcie.link.gen.max"),
                Leaf("Current", "current_link_gen", "pcie.link.gen.current"),
                Leaf("Device Current", "device_current_link_gen", "pcie.link.gen.gpucurrent"),
                Leaf("Device Max", "max_device_link_gen", "pcie.link.gen.gpumax"),
                Leaf("Host Max", "max_host_link_gen", "pcie.link.gen.hostmax"),
            ]),
            Group("Link Width", "link_widths", &[Leaf("Max", "max_link_width", "width_max"), Leaf("Current", "current_link_width", "width")]),
        ]),
        Group("Bridge Chip", "pci_bridge_chip", &[Leaf("Type", "bridge_chip_type", "none"), Leaf("Firmware", "bridge_chip_fw", "none")]),
        Leaf("Replays Since Reset", "replay_counter", "replays"),
        Leaf("Replay Number Rollovers", "replay_rollover_counter", "rollovers"),
        Leaf("Tx Throughput", "tx_util", "tx"),
        Leaf("Rx Throughput", "rx_util", "rx"),
        Leaf("Atomic Caps Outbound", "atomic_caps_outbound", "atomics_out"),
        Leaf("Atomic Caps Inbound", "atomic_caps_inbound", "atomics_in"),
    ]),
    Leaf("Fan Speed", "fan_speed", "fan.speed"),
    Leaf("Performance State", "performance_state", "pstate"),
    Group("Clocks Event Reasons", "clocks_event_reasons", &[
        Leaf("Idle", "clocks_event_reason_gpu_idle", "clocks_event_reasons.gpu_idle"),
        Leaf("Applications Clocks Setting", "clocks_event_reason_applications_clocks_setting", "clocks_event_reasons.applications_clocks_setting"),
        Leaf("SW Power Cap", "clocks_event_reason_sw_power_cap", "clocks_event_reasons.sw_power_cap"),
        Leaf("HW Slowdown", "clocks_event_reason_hw_slowdown", "clocks_event_reasons.hw_slowdown"),
        Leaf("    HW Thermal Slowdown", "clocks_event_reason_hw_thermal_slowdown", "clocks_event_reasons.hw_thermal_slowdown"),
        Leaf("    HW Power Brake Slowdown", "clocks_event_reason_hw_power_brake_slowdown", "clocks_event_reasons.hw_power_brake_slowdown"),
        Leaf("Sync Boost", "clocks_event_reason_sync_boost", "clocks_event_reasons.sync_boost"),
        Leaf("SW Thermal Slowdown", "clocks_event_reason_sw_thermal_slowdown", "clocks_event_reasons.sw_thermal_slowdown"),
        Leaf("Display Clock Setting", "clocks_event_reason_display_clocks_setting", "display_clocks"),
    ]),
    Group("Clocks Event Reasons Counters", "clocks_event_reasons_counters", &[
        Leaf("SW Power Capping", "clocks_event_reasons_counters_sw_power_cap", "clocks_event_reasons_counters.sw_power_cap"),
        Leaf("Sync Boost", "clocks_event_reasons_counters_sync_boost", "clocks_event_reasons_counters.sync_boost"),
        Leaf("SW Thermal Slowdown", "clocks_event_reasons_counters_sw_therm_slowdown", "clocks_event_reasons_counters.sw_thermal_slowdown"),
        Leaf("HW Thermal Slowdown", "clocks_event_reasons_counters_hw_therm_slowdown", "clocks_event_reasons_counters.hw_thermal_slowdown"),
        Leaf("HW Power Braking", "clocks_event_reasons_counters_hw_power_brake", "clocks_event_reasons_counters.hw_power_brake_slowdown"),
    ]),
    Leaf("Sparse Operation Mode", "sparse_operation_mode", "none"),
    Group("FB Memory Usage", "fb_memory_usage", &[
        Leaf("Total", "total", "memory.total"),
        Leaf("Reserved", "reserved", "memory.reserved"),
        Leaf("Used", "used", "memory.used"),
        Leaf("Free", "free", "memory.free"),
    ]),
    Group("BAR1 Memory Usage", "bar1_memory_usage", &[Leaf("Total", "total", "bar1.total"), Leaf("Used", "used", "bar1.used"), Leaf("Free", "free", "bar1.free")]),
    Group("Conf Compute Protected Memory Usage", "cc_protected_memory_usage", &[
        Leaf("Total", "total", "protected_memory.total"),
        Leaf("Used", "used", "protected_memory.used"),
        Leaf("Free", "free", "protected_memory.free"),
    ]),
    Leaf("Compute Mode", "compute_mode", "compute_mode"),
    Group("Utilization", "utilization", &[
        Leaf("GPU", "gpu_util", "utilization.gpu"),
        Leaf("Memory", "memory_util", "utilization.memory"),
        Leaf("Encoder", "encoder_util", "utilization.encoder"),
        Leaf("Decoder", "decoder_util", "utilization.decoder"),
        Leaf("JPEG", "jpeg_util", "utilization.jpeg"),
        Leaf("OFA", "ofa_util", "utilization.ofa"),
    ]),
    Group("Encoder Stats", "encoder_stats", &[
        Leaf("Active Sessions", "session_count", "encoder.stats.sessionCount"),
        Leaf("Average FPS", "average_fps", "encoder.stats.averageFps"),
        Leaf("Average Latency", "average_latency", "encoder.stats.averageLatency"),
    ]),
    Group("FBC Stats", "fbc_stats", &[
        Leaf("Active Sessions", "session_count", "capture.sessions"),
        Leaf("Average FPS", "average_fps", "capture.fps"),
        Leaf("Average Latency", "average_latency", "capture.latency"),
    ]),
    Group("DRAM Encryption Mode", "dram_encryption_mode", &[
        Leaf("Current", "current_dram_encryption", "dramEncryption.mode.current"),
        Leaf("Pending", "pending_dram_encryption", "dramEncryption.mode.pending"),
    ]),
    Group("ECC Mode", "ecc_mode", &[Leaf("Current", "current_ecc", "ecc.mode.current"), Leaf("Pending", "pending_ecc", "ecc.mode.pending")]),
    Group("ECC Errors", "ecc_errors", &[
        Group("Volatile", "volatile", &[
            Leaf("SRAM Correctable", "sram_correctable", "sram_volatile_corrected"),
            Leaf("SRAM Uncorrectable Parity", "sram_uncorrectable_parity", "ecc.errors.uncorrected.volatile.sram.parity"),
            Leaf("SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded", "ecc.errors.uncorrected.volatile.sram.secded"),
            Leaf("DRAM Correctable", "dram_correctable", "ecc.errors.corrected.volatile.dram"),
            Leaf("DRAM Uncorrectable", "dram_uncorrectable", "ecc.errors.uncorrected.volatile.dram"),
        ]),
        Group("Aggregate", "aggregate", &[
            Leaf("SRAM Correctable", "sram_correctable", "sram_aggregate_corrected"),
            Leaf("SRAM Uncorrectable Parity", "sram_uncorrectable_parity", "ecc.errors.uncorrected.aggregate.sram.parity"),
            Leaf("SRAM Uncorrectable SEC-DED", "sram_uncorrectable_secded", "ecc.errors.uncorrected.aggregate.sram.secded"),
            Leaf("DRAM Correctable", "dram_correctable", "ecc.errors.corrected.aggregate.dram"),
            Leaf("DRAM Uncorrectable", "dram_uncorrectable", "ecc.errors.uncorrected.aggregate.dram"),
            Leaf("SRAM Threshold Exceeded", "sram_threshold_exceeded", "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded"),
        ]),
        Group("Aggregate Uncorrectable SRAM Sources", "aggregate_uncorrectable_sram_sources", &[
            Leaf("SRAM L2", "sram_l2", "ecc.errors.uncorrected.aggregate.sram.l2"),
            Leaf("SRAM SM", "sram_sm", "ecc.errors.uncorrected.aggregate.sram.sm"),
            Leaf("SRAM Microcontroller", "sram_microcontroller", "ecc.errors.uncorrected.aggregate.sram.mcu"),
            Leaf("SRAM PCIE", "sram_pcie", "ecc.errors.uncorrected.aggregate.sram.pcie"),
            Leaf("SRAM Other", "sram_other", "ecc.errors.uncorrected.aggregate.sram.other"),
        ]),
        Leaf("Channel Repair Pending", "channel_repair_pending", "repair.channel"),
        Leaf("TPC Repair Pending", "tpc_repair_pending", "repair.tpc"),
        Leaf("Unrepairable Memory", "unrepairable_memory", "unrepairable"),
    ]),
    Group("Retired Pages", "retired_pages", &[
        Leaf("Single Bit ECC", "", "retired_pages.single_bit_ecc.count"),
        Leaf("Double Bit ECC", "", "retired_pages.double_bit.count"),
        Group("", "multiple_single_bit_retirement", &[Leaf("", "retired_count", "none"), Leaf("", "retired_pagelist", "none")]),
        Group("", "double_bit_retirement", &[Leaf("", "retired_count", "none"), Leaf("", "retired_pagelist", "none")]),
        Leaf("Pending Page Blacklist", "pending_blacklist", "retired_pages.pending"),
        Leaf("", "pending_retirement", "retired_pages.pending"),
    ]),
    Group("Remapped Rows", "remapped_rows", &[
        Leaf("Correctable Error", "remapped_row_corr", "remapped_rows.correctable"),
        Leaf("", "remapped_row_corr_inactive", "remapped_rows.correctable_inactive"),
        Leaf("Uncorrectable Error", "remapped_row_unc", "remapped_rows.uncorrectable"),
        Leaf("", "remapped_row_unc_inactive", "remapped_rows.uncorrectable_inactive"),
        Leaf("Pending", "remapped_row_pending", "remapped_rows.pending"),
        Leaf("Remapping Failure Occurred", "remapped_row_failure", "remapped_rows.failure"),
        Group("Bank Remap Availability Histogram", "row_remapper_histogram", &[
            Leaf("Max", "row_remapper_histogram_max", "banks.max"),
            Leaf("High", "row_remapper_histogram_high", "banks.high"),
            Leaf("Partial", "row_remapper_histogram_partial", "banks.partial"),
            Leaf("Low", "row_remapper_histogram_low", "banks.low"),
            Leaf("None", "row_remapper_histogram_none", "banks.none"),
        ]),
    ]),
    Group("Temperature", "temperature", &[
        Leaf("GPU Current Temp", "gpu_temp", "temp.gpu"),
        Leaf("GPU T.Limit Temp", "gpu_temp_tlimit", "temp.tlimit"),
        Leaf("GPU Shutdown T.Limit Temp", "gpu_temp_max_tlimit_threshold", "temp.shutdown"),
        Leaf("GPU Slowdown T.Limit Temp", "gpu_temp_slow_tlimit_threshold", "temp.slowdown"),
        Leaf("GPU Max Operating T.Limit Temp", "gpu_temp_max_gpu_tlimit_threshold", "temp.max"),
        Leaf("GPU Target Temperature", "gpu_target_temperature", "none"),
        Leaf("Memory Current Temp", "memory_temp", "temp.memory"),
        Leaf("Memory Max Operating T.Limit Temp", "gpu_temp_max_mem_tlimit_threshold", "temp.memory_max"),
    ]),
    Group("", "supported_gpu_target_temp", &[Leaf("", "gpu_target_temp_min", "none"), Leaf("", "gpu_target_temp_max", "none")]),
    Group("GPU Power Readings", "gpu_power_readings", &[
        Leaf("", "power_state", "pstate"),
        Leaf("Average Power Draw", "average_power_draw", "power.draw.average"),
        Leaf("Instantaneous Power Draw", "instant_power_draw", "power.draw.instant"),
        Leaf("Current Power Limit", "current_power_limit", "enforced.power.limit"),
        Leaf("Requested Power Limit", "requested_power_limit", "power.limit"),
        Leaf("Default Power Limit", "default_power_limit", "power.default_limit"),
        Leaf("Min Power Limit", "min_power_limit", "power.min_limit"),
        Leaf("Max Power Limit", "max_power_limit", "power.max_limit"),
    ]),
    Group("GPU Memory Power Readings", "gpu_memory_power_readings", &[
        Leaf("Average Power Draw", "average_power_draw", "memory_power"),
        Leaf("Instantaneous Power Draw", "instant_power_draw", "memory_power_instant"),
    ]),
    Group("Module Power Readings", "module_power_readings", &[
        Leaf("", "power_state", "pstate"),
        Leaf("Average Power Draw", "average_power_draw", "module.power.draw.average"),
        Leaf("Instantaneous Power Draw", "instant_power_draw", "module.power.draw.instant"),
        Leaf("Current Power Limit", "current_power_limit", "module.enforced.power.limit"),
        Leaf("Requested Power Limit", "requested_power_limit", "module.power.limit"),
        Leaf("Default Power Limit", "default_power_limit", "module.power.default_limit"),
        Leaf("Min Power Limit", "min_power_limit", "module.power.min_limit"),
        Leaf("Max Power Limit", "max_power_limit", "module.power.max_limit"),
    ]),
    Leaf("Power Smoothing", "power_smoothing", "smoothing"),
    Group("Workload Power Profiles", "power_profiles", &[
        Leaf("Requested Profiles", "power_profile_requested_profiles", "none"),
        Leaf("Enforced Profiles", "power_profile_enforced_profiles", "none"),
    ]),
    Group("Clocks", "clocks", &[
        Leaf("Graphics", "graphics_clock", "clocks.current.graphics"),
        Leaf("SM", "sm_clock", "clocks.current.sm"),
        Leaf("Memory", "mem_clock", "clocks.current.memory"),
        Leaf("Video", "video_clock", "clocks.current.video"),
    ]),
    Group("Applications Clocks", "applications_clocks", &[Leaf("Graphics", "graphics_clock", "clocks.applications.graphics"), Leaf("Memory", "mem_clock", "clocks.applications.memory")]),
    Group("Default Applications Clocks", "default_applications_clocks", &[
        Leaf("Graphics", "graphics_clock", "clocks.default_applications.graphics"),
        Leaf("Memory", "mem_clock", "clocks.default_applications.memory"),
    ]),
    Group("Deferred Clocks", "deferred_clocks", &[Leaf("Memory", "mem_clock", "none")]),
    Group("Max Clocks", "max_clocks", &[
        Leaf("Graphics", "graphics_clock", "clocks.max.graphics"),
        Leaf("SM", "sm_clock", "clocks.max.sm"),
        Leaf("Memory", "mem_clock", "clocks.max.memory"),
        Leaf("Video", "video_clock", "clock.video_max"),
    ]),
    Group("Max Customer Boost Clocks", "max_customer_boost_clocks", &[Leaf("Graphics", "graphics_clock", "clock.boost")]),
    Group("Clock Policy", "clock_policy", &[Leaf("Auto Boost", "auto_boost", "none"), Leaf("Auto Boost Default", "auto_boost_default", "none")]),
    Group("Fabric", "fabric", &[
        Leaf("State", "state", "fabric.state"),
        Leaf("Status", "status", "fabric.status"),
        Leaf("CliqueId", "cliqueId", "fabric.cliqueId"),
        Leaf("ClusterUUID", "clusterUuid", "fabric.clusterUuid"),
        Group("Health", "health", &[
            Leaf("Summary", "summary", "fabric.health.summary"),
            Leaf("Bandwidth", "bandwidth", "fabric.health.bandwidth"),
            Leaf("Route Recovery in progress", "route_recovery_in_progress", "fabric.health.route_recovery_in_progress"),
            Leaf("Route Unhealthy", "route_unhealthy", "fabric.health.route_unhealthy"),
            Leaf("Access Timeout Recovery", "access_timeout_recovery", "fabric.health.access_timeout_recovery"),
            Leaf("Incorrect Configuration", "incorrect_configuration", "fabric.health.incorrect_configuration"),
            Leaf("Partition Assigned", "partition_assigned", "partition"),
        ]),
    ]),
    Clocks,
    Processes,
    Group("Capabilities", "capabilities", &[Leaf("EGM", "egm", "egm")]),
];

fn value(gpu: &Gpu<'_>, field: &str) -> String {
    // What no driver but the capture's has counted yet.
    if field.ends_with("_inactive") {
        return "0".to_owned();
    }
    fields::inner(field).map_or_else(|| "N/A".to_owned(), |field| line(&field.read(gpu), field.unit))
}

/// The text of one GPU.
pub fn text(gpu: &Gpu<'_>, bus_id: &str) -> String {
    let mut out = format!("GPU {bus_id}\n");
    TREE.iter().for_each(|item| text_item(gpu, item, 4, &mut out));
    out
}

fn text_line(indent: usize, label: &str, value: &str, out: &mut String) {
    let label = format!("{:indent$}{label}", "");
    *out += &format!("{label:<VALUE_COLUMN$}: {value}\n");
}

fn text_item(gpu: &Gpu<'_>, item: &Item, indent: usize, out: &mut String) {
    match item {
        Leaf("", ..) | Group("", ..) | Clocks => {}
        Leaf(label, _, field) => text_line(indent, label, &value(gpu, field), out),
        Group(label, _, items) => {
            *out += &format!("{:indent$}{label}\n", "");
            items.iter().for_each(|item| text_item(gpu, item, indent + 4, out));
        }
        Processes => text_processes(gpu, indent, out),
    }
}

fn text_processes(gpu: &Gpu<'_>, indent: usize, out: &mut String) {
    let list = gpu.processes().unwrap_or_default();
    if list.is_empty() {
        return text_line(indent, "Processes", "None", out);
    }
    *out += &format!("{:indent$}Processes\n", "");
    for (pid, used) in list {
        text_line(indent + 4, "GPU instance ID", "N/A", out);
        text_line(indent + 4, "Compute instance ID", "N/A", out);
        text_line(indent + 4, "Process ID", &pid.to_string(), out);
        text_line(indent + 8, "Type", "C", out);
        text_line(indent + 8, "Name", &gpu.nvml.process_name(pid).unwrap_or_default(), out);
        text_line(indent + 8, "Used GPU Memory", &format!("{} MiB", mebibytes(used)), out);
    }
}

/// The XML of one GPU.
pub fn xml(gpu: &Gpu<'_>, bus_id: &str) -> String {
    let mut out = format!("\t<gpu id=\"{bus_id}\">\n");
    TREE.iter().for_each(|item| xml_item(gpu, item, 2, &mut out));
    out + "\t</gpu>\n\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn xml_leaf(depth: usize, tag: &str, value: &str, out: &mut String) {
    *out += &format!("{}<{tag}>{}</{tag}>\n", "\t".repeat(depth), escaped(value));
}

fn xml_group(depth: usize, tag: &str, out: &mut String, inside: impl FnOnce(&mut String)) {
    let tabs = "\t".repeat(depth);
    *out += &format!("{tabs}<{tag}>\n");
    inside(out);
    *out += &format!("{tabs}</{tag}>\n");
}

fn xml_item(gpu: &Gpu<'_>, item: &Item, depth: usize, out: &mut String) {
    match item {
        Leaf(_, "", _) => {}
        // The one element whose text stands on a line of its own.
        Leaf(_, "mig_devices", field) => xml_group(depth, "mig_devices", out, |out| {
            *out += &format!("{}{}\n", "\t".repeat(depth + 1), value(gpu, field));
        }),
        Leaf(_, tag, field) => xml_leaf(depth, tag, &xml_value(tag, value(gpu, field)), out),
        Group(_, tag, items) => xml_group(depth, tag, out, |out| {
            items.iter().for_each(|item| xml_item(gpu, item, depth + 1, out));
        }),
        Clocks => xml_group(depth, "supported_clocks", out, |out| xml_clocks(gpu, depth + 1, out)),
        Processes => {
            xml_group(depth, "processes", out, |out| xml_processes(gpu, depth + 1, out));
            xml_group(depth, "accounted_processes", out, |_| ());
        }
    }
}

/// PCI numbers have no `0x` in XML.
fn xml_value(tag: &str, value: String) -> String {
    let bare = tag.starts_with("pci_").then(|| value.strip_prefix("0x")).flatten();
    bare.map_or_else(|| value.clone(), str::to_owned)
}

fn xml_clocks(gpu: &Gpu<'_>, depth: usize, out: &mut String) {
    for memory in gpu.clocks(None).unwrap_or_default() {
        xml_group(depth, "supported_mem_clock", out, |out| {
            xml_leaf(depth + 1, "value", &format!("{memory} MHz"), out);
            for mhz in gpu.clocks(Some(memory)).unwrap_or_default() {
                xml_leaf(depth + 1, "supported_graphics_clock", &format!("{mhz} MHz"), out);
            }
        });
    }
}

fn xml_processes(gpu: &Gpu<'_>, depth: usize, out: &mut String) {
    for (pid, used) in gpu.processes().unwrap_or_default() {
        xml_group(depth, "process_info", out, |out| {
            xml_leaf(depth + 1, "gpu_instance_id", "N/A", out);
            xml_leaf(depth + 1, "compute_instance_id", "N/A", out);
            xml_leaf(depth + 1, "pid", &pid.to_string(), out);
            xml_leaf(depth + 1, "type", "C", out);
            xml_leaf(depth + 1, "process_name", &gpu.nvml.process_name(pid).unwrap_or_default(), out);
            xml_leaf(depth + 1, "used_memory", &format!("{} MiB", mebibytes(used)), out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves<'a>(items: &'a [Item], out: &mut Vec<&'a str>) {
        for item in items {
            match item {
                Leaf(_, _, field) => out.push(field),
                Group(_, _, items) => leaves(items, out),
                Clocks | Processes => {}
            }
        }
    }

    #[test]
    fn every_line_is_a_property_that_exists() {
        let mut names = Vec::new();
        leaves(TREE, &mut names);
        names.retain(|name| fields::inner(name).is_none() && !name.ends_with("_inactive"));
        assert_eq!(names, [""; 0]);
    }

    #[test]
    fn values_start_in_one_column() {
        let mut out = String::new();
        text_line(8, "GPU Max Operating T.Limit Temp", "0 C", &mut out);
        assert_eq!(out, "        GPU Max Operating T.Limit Temp    : 0 C\n");
    }

    #[test]
    fn pci_numbers_lose_their_prefix_in_xml() {
        assert_eq!(xml_value("pci_bus", "0x29".to_owned()), "29");
        assert_eq!(xml_value("pdi", "0x01".to_owned()), "0x01");
        assert_eq!(escaped("a<b>&c"), "a&lt;b&gt;&amp;c");
    }
}
