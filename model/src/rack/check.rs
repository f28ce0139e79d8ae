//! What a rack file must hold beyond its shape.
//! The first fault is reported; nothing is repaired in silence.

use std::collections::BTreeSet;

use super::{GPUS_MAX, Rack, TRAYS_MAX};
use crate::ids::PartitionId;
use crate::profile::Profile;

/// One value that does not fit.
pub(super) struct Fault {
    /// Table it stands in (`tray`), empty for the top of the file.
    pub table: &'static str,
    /// Which of several tables of that name.
    pub nth: usize,
    /// Key in that table.
    pub key: &'static str,
    pub found: String,
    pub expected: String,
}

type Check = Result<(), Fault>;

pub(super) fn first_fault(rack: &Rack) -> Option<Fault> {
    let checks = [top, trays, names, addresses, switches, clique, infiniband, idle];
    checks.iter().find_map(|check| check(rack).err())
}

fn fault(table: &'static str, nth: usize, key: &'static str, found: impl ToString, expected: impl ToString) -> Fault {
    Fault { table, nth, key, found: found.to_string(), expected: expected.to_string() }
}

/// Names become directory and host names.
fn plain(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 63 && name.bytes().all(word) && !name.starts_with(['.', '-'])
}

const PLAIN: &str = "1 to 63 letters, digits, `-`, `_` or `.`, not starting with `-` or `.`";

fn top(rack: &Rack) -> Check {
    if !plain(&rack.name) {
        return Err(fault("", 0, "name", format!("`{}`", rack.name), PLAIN));
    }
    if rack.trays.is_empty() || rack.trays.len() > TRAYS_MAX {
        let found = format!("{} trays", rack.trays.len());
        return Err(fault("", 0, "tray", found, format!("1 to {TRAYS_MAX} trays")));
    }
    Ok(())
}

fn trays(rack: &Rack) -> Check {
    for (nth, tray) in rack.trays.iter().enumerate() {
        if tray.gpus == 0 || tray.gpus > GPUS_MAX {
            return Err(fault("tray", nth, "gpus", tray.gpus, format!("1 to {GPUS_MAX}")));
        }
        let Some(profile) = Profile::named(&tray.profile) else {
            let known = format!("one of: {}", Profile::NAMES.join(", "));
            return Err(fault("tray", nth, "profile", format!("`{}`", tray.profile), known));
        };
        let own = tray.bus_ids.len();
        let distinct: BTreeSet<_> = tray.bus_ids.iter().collect();
        if own != 0 && (own != usize::from(tray.gpus) || distinct.len() != own) {
            let found = format!("{own} addresses, {} different", distinct.len());
            return Err(fault("tray", nth, "bus_ids", found, format!("{} different PCI addresses", tray.gpus)));
        }
        let places = profile.topology.bus_ids.len();
        if own == 0 && usize::from(tray.gpus) > places {
            let expected = format!("at most {places} with profile `{}`, or `bus_ids` for each", profile.name);
            return Err(fault("tray", nth, "gpus", tray.gpus, expected));
        }
    }
    Ok(())
}

fn names(rack: &Rack) -> Check {
    let ib = |table, list: &'_ [super::IbSwitch]| -> Vec<(&'static str, usize, String)> {
        list.iter().enumerate().map(|(nth, switch)| (table, nth, switch.name.clone())).collect()
    };
    let trays = rack.trays.iter().enumerate().map(|(nth, tray)| ("tray", nth, tray.name.clone()));
    let switches = rack.switches.iter().enumerate().map(|(nth, switch)| ("switch", nth, switch.name.clone()));
    let leaves = ib("infiniband.leaf", &rack.infiniband.leaf);
    let spines = ib("infiniband.spine", &rack.infiniband.spine);
    let mut seen = BTreeSet::new();
    for (table, nth, name) in trays.chain(switches).chain(leaves).chain(spines) {
        if !plain(&name) {
            return Err(fault(table, nth, "name", format!("`{name}`"), PLAIN));
        }
        if !seen.insert(name.clone()) {
            return Err(fault(table, nth, "name", format!("`{name}` a second time"), "a name of its own"));
        }
    }
    Ok(())
}

fn addresses(rack: &Rack) -> Check {
    let trays = rack.trays.iter().enumerate();
    let trays =
        trays.flat_map(|(nth, tray)| [("tray", nth, "bmc", tray.bmc), ("tray", nth, "exporter", tray.exporter)]);
    let switches = rack.switches.iter().enumerate().map(|(nth, switch)| ("switch", nth, "bmc", switch.bmc));
    let fabric = [("fabric", 0, "address", rack.fabric.address), ("fabric", 0, "metrics", rack.fabric.metrics)];
    let mut seen = BTreeSet::new();
    for (table, nth, key, address) in trays.chain(switches).chain(fabric) {
        // Port 0 asks the system for a free one, so two of them do not collide.
        if address.port() != 0 && !seen.insert(address) {
            return Err(fault(table, nth, key, format!("{address} a second time"), "an address of its own"));
        }
    }
    Ok(())
}

fn switches(rack: &Rack) -> Check {
    let Some(first) = rack.switches.first() else {
        return Ok(());
    };
    for (nth, switch) in rack.switches.iter().enumerate() {
        if switch.chips == 0 || switch.chips > 16 {
            return Err(fault("switch", nth, "chips", switch.chips, "1 to 16"));
        }
        if switch.ports_per_chip != first.ports_per_chip {
            let expected = format!("{}, as on every switch of a rack", first.ports_per_chip);
            return Err(fault("switch", nth, "ports_per_chip", switch.ports_per_chip, expected));
        }
    }
    let chips: u16 = rack.switches.iter().map(|switch| switch.chips).sum();
    let gpus: u32 = rack.trays.iter().map(|tray| u32::from(tray.gpus)).sum();
    let links = rack.trays.iter().filter_map(|tray| Profile::named(&tray.profile)).map(|profile| profile.nvlink.links);
    let each = u32::from(links.max().unwrap_or(0)).div_ceil(u32::from(chips));
    if gpus * each > u32::from(first.ports_per_chip) {
        let expected = format!("at least {} for {gpus} GPUs over {chips} chips", gpus * each);
        return Err(fault("switch", 0, "ports_per_chip", first.ports_per_chip, expected));
    }
    Ok(())
}

fn clique(rack: &Rack) -> Check {
    let clique = rack.domain.default_clique.0;
    if clique == 0 || clique > u32::from(PartitionId::DEFAULT.get()) {
        return Err(fault("domain", 0, "default_clique", clique, "1 to 32766"));
    }
    Ok(())
}

fn infiniband(rack: &Rack) -> Check {
    let infiniband = &rack.infiniband;
    if infiniband.hcas_per_tray > 16 {
        return Err(fault("infiniband", 0, "hcas_per_tray", infiniband.hcas_per_tray, "0 to 16"));
    }
    if ![100, 200, 400, 800].contains(&infiniband.rate_gbps) {
        return Err(fault("infiniband", 0, "rate_gbps", infiniband.rate_gbps, "100, 200, 400 or 800"));
    }
    let cables = usize::from(infiniband.hcas_per_tray) * rack.trays.len();
    let ports: usize = infiniband.leaf.iter().map(|leaf| usize::from(leaf.ports)).sum();
    if cables > ports && !infiniband.leaf.is_empty() {
        let expected = format!("at most {} with {ports} leaf ports", ports / rack.trays.len());
        return Err(fault("infiniband", 0, "hcas_per_tray", infiniband.hcas_per_tray, expected));
    }
    Ok(())
}

fn idle(rack: &Rack) -> Check {
    match rack.idle.pstate {
        Some(pstate) if pstate > 15 => Err(fault("idle", 0, "pstate", pstate, "0 to 15")),
        _ => Ok(()),
    }
}
