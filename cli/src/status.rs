//! `ghostrack status`: trays and GPUs as a table, or all of it as JSON.
//! It shows what ghostd and the supervisor say and changes nothing.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::args::Status;
use crate::control::nothing_up;
use crate::found::Found;
use crate::ghostd::{self, GpuStatus, TrayStatus};
use crate::protocol::{Phase, RackState, TrayState};
use crate::run_dir::RunDir;
use crate::say;
use crate::up::rung;

/// A lag that a user need not hear about.
const FINE_MILLISECONDS: u64 = 10;

pub fn run(args: &Status, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let Some(found) = Found::look(run_dir)? else {
        if args.json {
            say::out!("{:#}", json!({"up": false, "run_dir": run_dir.path(), "rack": null, "trays": []}));
        } else {
            say::note!("{}", nothing_up(run_dir));
        }
        return Ok(ExitCode::FAILURE);
    };
    let rack = found.state();
    let trays: Vec<Value> = rack.trays.iter().map(told).collect();
    if args.json {
        say::out!("{:#}", as_json(&rack, &trays));
    } else {
        say::out!("{}", as_table(&rack, &trays).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// ghostd's own status; null while it cannot be asked.
fn told(tray: &TrayState) -> Value {
    if tray.phase != Phase::Ready {
        return Value::Null;
    }
    ghostd::status_soon(&tray.directory).unwrap_or_default()
}

fn as_json(rack: &RackState, told: &[Value]) -> Value {
    let trays = rack.trays.iter().zip(told).map(|(tray, told)| {
        let mut tray = json!(tray);
        tray["status"] = told.clone();
        tray
    });
    let supervisor = Some(rack.pid).filter(|pid| *pid != 0);
    json!({
        "up": true,
        "run_dir": rack.run_dir,
        "rack": rack.name,
        "supervisor": supervisor,
        "trays": trays.collect::<Vec<_>>(),
    })
}

fn as_table(rack: &RackState, told: &[Value]) -> String {
    let statuses: Vec<TrayStatus> =
        told.iter().map(|value| serde_json::from_value(value.clone()).unwrap_or_default()).collect();
    let mut out = format!("rack {} in {}\n", rack.name, rack.run_dir.display());
    if let Some(status) = statuses.iter().find(|status| !status.rung.is_empty()) {
        let _ = writeln!(out, "rung: {}", rung(status));
    }
    let behind = statuses.iter().map(|status| status.host_behind_milliseconds).max().unwrap_or(0);
    if behind >= FINE_MILLISECONDS {
        let _ = writeln!(out, "host behind by {behind} ms");
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    for (tray, status) in rack.trays.iter().zip(&statuses) {
        rows.extend(rows_of(tray, status));
    }
    out.push('\n');
    out.push_str(&aligned(&rows));
    for (tray, status) in rack.trays.iter().zip(&statuses) {
        out.push_str(&notes(tray, status));
    }
    out
}

const HEAD: [&str; 10] = ["tray", "name", "state", "gpu", "util", "memory", "power", "temp", "links", "holders"];

fn rows_of(tray: &TrayState, status: &TrayStatus) -> Vec<[String; HEAD.len()]> {
    let phase = phase(tray.phase);
    if status.gpus.is_empty() {
        let mut row = HEAD.map(|_| String::new());
        [row[0], row[1], row[2]] = [tray.tray.to_string(), tray.name.clone(), phase.to_owned()];
        return vec![row];
    }
    let holders = |index| status.holders.iter().filter(|holder| holder.gpu == index).count();
    status.gpus.iter().map(|gpu| gpu_row(tray, phase, gpu, holders(gpu.index))).collect()
}

fn gpu_row(tray: &TrayState, phase: &str, gpu: &GpuStatus, holders: usize) -> [String; HEAD.len()] {
    const MIB: u64 = 1 << 20;
    [
        tray.tray.to_string(),
        tray.name.clone(),
        if gpu.lost { "lost".to_owned() } else { phase.to_owned() },
        gpu.index.to_string(),
        format!("{} %", gpu.gpu_utilization_percent),
        format!("{} / {} MiB", gpu.memory_used_bytes / MIB, gpu.memory_usable_bytes / MIB),
        format!("{} W", gpu.power_milliwatts / 1000),
        format!("{} C", gpu.temperature_millicelsius / 1000),
        format!("{}/{}", gpu.links_up, gpu.links.len()),
        holders.to_string(),
    ]
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Off => "off",
        Phase::Starting => "starting",
        Phase::Ready => "ready",
        Phase::Stopping => "stopping",
        Phase::Waiting => "restarting",
    }
}

/// What does not fit into a table: who uses the GPUs, and what went wrong.
fn notes(tray: &TrayState, status: &TrayStatus) -> String {
    let mut out = String::new();
    if tray.phase == Phase::Ready && status.gpus.is_empty() {
        let _ = writeln!(out, "{}: its ghostd does not answer", tray.name);
    }
    for holder in &status.holders {
        let _ = writeln!(out, "{} gpu {}: process {} ({})", tray.name, holder.gpu, holder.pid, holder.name);
    }
    if let Some(error) = &status.save_error {
        let _ = writeln!(out, "{}: changes are refused because they cannot be saved: {error}", tray.name);
    }
    if let (true, Some(exit)) = (tray.restarts > 0, &tray.last_exit) {
        let _ = writeln!(out, "{}: restarted {} times; last: {exit}", tray.name, tray.restarts);
    }
    out
}

fn aligned(rows: &[[String; HEAD.len()]]) -> String {
    let widths: [usize; HEAD.len()] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let mut out = String::new();
    for row in rows {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    out
}
