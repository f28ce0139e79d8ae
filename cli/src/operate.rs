//! The operator's commands: `power`, `set`, `log`, `version`. Each says one thing to the supervisor or to ghostd.
//! Rules are the model's; here words become `Change`s and back.

use std::process::ExitCode;

use anyhow::bail;
use ghost_model::{Change, CliqueId, GpuIndex, LinkFault, LinkFaultKind, PowerAction};
use serde_json::Value;

use crate::args::{FaultKind, LinkAction, Log, PartitionChange, Power, Set, SetLink, What};
use crate::control::Control;
use crate::found::Found;
use crate::ghostd;
use crate::parts::Parts;
use crate::protocol::{Ask, Phase};
use crate::run_dir::RunDir;
use crate::say;

pub fn power(args: &Power, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let found = Found::needed(run_dir)?;
    let tray = found.tray(&args.tray)?;
    let action = PowerAction::from(args.action);
    let answer = Control::needed(&found.run_dir)?.ask(&Ask::Power { tray, action, force: args.force })?;
    if let Some(state) = answer.rack.and_then(|rack| rack.trays.into_iter().nth(tray)) {
        say::out!("{} is {}", state.name, if state.phase == Phase::Off { "off" } else { "on" });
    }
    Ok(ExitCode::SUCCESS)
}

pub fn set(args: &Set, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let found = Found::needed(run_dir)?;
    match &args.what {
        What::Link(link) => on_tray(&found, &link.tray, &link_changes(link))?,
        What::Partition(partition) => match &partition.change {
            PartitionChange::Assign { tray, gpu, clique } => on_tray(&found, tray, &[assign(*gpu, *clique)])?,
            change => on_every_tray(&found, &partition_change(change))?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn link_changes(args: &SetLink) -> Vec<Change> {
    let (gpu, link) = (args.gpu, args.link);
    match args.state {
        LinkAction::Up => {
            vec![Change::LinkFaultClear { gpu, link }, Change::LinkAdmin { gpu, link, enabled: true }]
        }
        LinkAction::Down => vec![Change::LinkAdmin { gpu, link, enabled: false }],
        LinkAction::Fault => {
            let kind = match args.kind {
                FaultKind::Training => LinkFaultKind::Training,
                FaultKind::SignalLoss => LinkFaultKind::SignalLoss,
                FaultKind::BitErrors => LinkFaultKind::BitErrors,
            };
            vec![Change::LinkFault { gpu, link, fault: LinkFault { kind, sticky: args.sticky } }]
        }
    }
}

fn assign(gpu: GpuIndex, clique: u32) -> Change {
    Change::CliqueAssign { gpu, clique: CliqueId(clique) }
}

fn partition_change(change: &PartitionChange) -> Change {
    match change.clone() {
        PartitionChange::Create { id, name, gpus } => Change::PartitionCreate { partition: Some(id), name, gpus },
        PartitionChange::Delete { id } => Change::PartitionDelete { partition: id },
        PartitionChange::Add { id, gpus } => Change::PartitionAdd { partition: id, gpus },
        PartitionChange::Remove { id, gpus } => Change::PartitionRemove { partition: id, gpus },
        PartitionChange::Assign { gpu, clique, .. } => assign(gpu, clique),
    }
}

fn on_tray(found: &Found, tray: &str, changes: &[Change]) -> anyhow::Result<()> {
    let tray = found.tray(tray)?;
    let ghostd = ghostd::of_tray(&found.tray_dir(tray), &found.rack.trays[tray].name)?;
    let mut events = 0;
    for change in changes {
        events += tell(&found.rack.trays[tray].name, &ghostd.apply(change)?);
    }
    if events == 0 {
        say::out!("{}: it was so already", found.rack.trays[tray].name);
    }
    Ok(())
}

/// Each tray has its own view of the domain, so that each is told. The first refusal ends it: they all think alike.
fn on_every_tray(found: &Found, change: &Change) -> anyhow::Result<()> {
    let (mut told, mut events) = (0, 0);
    for tray in &found.state().trays {
        if tray.phase != Phase::Ready {
            say::note!("{} is not up and was not told; tell it again when it is", tray.name);
            continue;
        }
        events += tell(&tray.name, &ghostd::of_tray(&tray.directory, &tray.name)?.apply(change)?);
        told += 1;
    }
    match (told, events) {
        (0, _) => bail!("no tray is up"),
        (_, 0) => say::out!("it was so already"),
        _ => {}
    }
    Ok(())
}

/// Prints what happened; says how many things did.
fn tell(tray: &str, events: &Value) -> usize {
    let events = events.as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().for_each(|event| say::out!("{tray}: {event}"));
    events.len()
}

pub fn log(args: &Log, run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let found = Found::needed(run_dir)?;
    let only = args.tray.as_deref().map(|tray| found.tray(tray)).transpose()?;
    let mut any = false;
    for (index, tray) in found.rack.trays.iter().enumerate().filter(|(index, _)| only.is_none_or(|only| only == *index))
    {
        for file in ["xid.log.2", "xid.log.1", "xid.log"] {
            let text = std::fs::read_to_string(found.tray_dir(index).join("log").join(file)).unwrap_or_default();
            any |= !text.is_empty();
            text.lines().for_each(|line| say::out!("{}: {line}", tray.name));
        }
    }
    if !any {
        say::note!("no Xid was reported");
    }
    Ok(ExitCode::SUCCESS)
}

pub fn version(run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let parts = Parts::find()?;
    let shown = |path: anyhow::Result<std::path::PathBuf>| match path {
        Ok(path) => path.display().to_string(),
        Err(error) => format!("none: {error:#}"),
    };
    say::out!("ghostrack  {}", env!("CARGO_PKG_VERSION"));
    say::out!("layout     {:016x}", ghost_engine::layout::LAYOUT_HASH);
    say::out!("ghostd     {}", shown(parts.ghostd()));
    say::out!("libraries  {}", shown(parts.libraries()));
    let smi = parts.nvidia_smi().map_or("none".to_owned(), |path| path.display().to_string());
    say::out!("nvidia-smi {smi}");
    say::out!("run dir    {}", run_dir.path().display());
    Ok(ExitCode::SUCCESS)
}
