//! What changes do to a tray, one rule at a time; sequences of them are in tests/sequences.rs.

use super::*;
use crate::gpu::{EccLocation, EccSeverity, LinkFault, LinkFaultKind};
use crate::ids::{CliqueId, PartitionId, PortIndex, PortRef, SwitchIndex};
use crate::machine::PowerAction;
use crate::refusal::Quantity;

const GPU: GpuIndex = GpuIndex(2);
const LINK: LinkIndex = LinkIndex(3);
const FAULT: LinkFault = LinkFault { kind: LinkFaultKind::Training, sticky: false };

fn tray() -> Machine {
    tray_of(Rack::embedded("nvl8").unwrap())
}

fn tray_of(text: &str) -> Machine {
    let rack = Rack::parse(text, "rack.toml").unwrap();
    Machine::new(&rack, TrayIndex(0), Profile::named("gb200").unwrap()).unwrap()
}

fn tray_that_waits_for_resets() -> Machine {
    tray_of(&Rack::embedded("nvl8").unwrap().replace("\"immediate\"", "\"reset\""))
}

fn link(tray: &Machine) -> LinkState {
    tray.gpus[GPU.index()].links[LINK.index()].state
}

fn here(gpu: u8) -> GpuLocation {
    GpuLocation { tray: TrayIndex(0), gpu: GpuIndex(gpu) }
}

/// Takes all four GPUs out of the default partition and puts them into a new one.
fn move_all(tray: &mut Machine) -> PartitionId {
    let gpus: Vec<_> = (0..4).map(here).collect();
    tray.apply(&Change::PartitionRemove { partition: PartitionId::DEFAULT, gpus: gpus.clone() }).unwrap();
    tray.apply(&Change::PartitionCreate { partition: None, name: "blue".to_owned(), gpus }).unwrap();
    PartitionId::new(1).unwrap()
}

#[test]
fn a_new_tray_is_whole() {
    let tray = tray();
    assert_eq!((tray.gpus.len(), tray.hcas.len()), (4, 4));
    assert!(tray.gpus.iter().all(|gpu| gpu.links_up() == 18 && !gpu.reset_pending));
    assert!(tray.gpus.iter().all(|gpu| gpu.fabric.clique == CliqueId(32766)));
    assert_eq!(tray.gpus[2].bus_id.to_string(), "0018:01:00.0");
}

#[test]
fn every_link_of_a_rack_ends_in_a_port_of_its_own() {
    for name in ["nvl8", "nvl72"] {
        let domain = Domain::new(&Rack::parse(Rack::embedded(name).unwrap(), name).unwrap());
        let links = (0..18).map(LinkIndex);
        let ports: std::collections::BTreeSet<_> = domain
            .locations()
            .flat_map(|gpu| links.clone().map(move |link| (gpu, link)))
            .filter_map(|(gpu, link)| domain.far_port(gpu, link, 18))
            .collect();
        let all = usize::from(domain.switches) * usize::from(domain.ports_per_switch);
        assert_eq!(ports.len(), all, "{name} uses every port once");
        assert!(ports.iter().all(|port| domain.port(*port).is_ok()));
    }
}

#[test]
fn a_link_disabled_by_the_bmc_reads_down_and_leaves_seventeen() {
    let mut tray = tray();
    let events = tray.apply(&Change::LinkAdmin { gpu: GPU, link: LINK, enabled: false }).unwrap();
    assert_eq!(events, [Event::LinkChanged { gpu: GPU, link: LINK, state: LinkState::Down }]);
    assert_eq!((link(&tray), tray.gpus[2].links_up()), (LinkState::Down, 17));
}

#[test]
fn a_link_is_up_only_while_both_ends_and_its_gpu_are() {
    let port = tray().gpus[GPU.index()].links[LINK.index()].far.unwrap();
    let pairs = [
        (Change::LinkFault { gpu: GPU, link: LINK, fault: FAULT }, Change::LinkFaultClear { gpu: GPU, link: LINK }),
        (Change::LinkFarEnd { gpu: GPU, link: LINK, up: false }, Change::LinkFarEnd { gpu: GPU, link: LINK, up: true }),
        (Change::PortAdmin { port, enabled: false }, Change::PortAdmin { port, enabled: true }),
        (Change::PortFault { port, fault: FAULT }, Change::PortFaultClear { port }),
        (Change::GpuLost { gpu: GPU }, Change::GpuRecovered { gpu: GPU }),
        (Change::TrayPower { action: PowerAction::Off }, Change::TrayPower { action: PowerAction::On }),
    ];
    for (down, up) in pairs {
        let mut tray = tray();
        tray.apply(&down).unwrap();
        assert_eq!(link(&tray), LinkState::Down, "{down:?}");
        tray.apply(&up).unwrap();
        assert_eq!(link(&tray), LinkState::Up, "{up:?}");
    }
}

#[test]
fn a_port_of_another_tray_changes_no_link_here() {
    let mut tray = tray();
    let port = PortRef { switch: SwitchIndex(1), port: PortIndex(71) };
    let events = tray.apply(&Change::PortAdmin { port, enabled: false }).unwrap();
    assert_eq!(events, [Event::PortChanged { port, up: false }]);
    let beyond = PortRef { switch: SwitchIndex(2), port: PortIndex(0) };
    let refusal = tray.apply(&Change::PortAdmin { port: beyond, enabled: false });
    assert_eq!(refusal, Err(Refusal::NoSuchPort { port: beyond }));
}

#[test]
fn a_sticky_fault_outlives_a_reset_and_another_does_not() {
    for sticky in [false, true] {
        let mut tray = tray();
        let fault = LinkFault { sticky, ..FAULT };
        tray.apply(&Change::LinkFault { gpu: GPU, link: LINK, fault }).unwrap();
        tray.apply(&Change::GpuReset { gpu: GPU }).unwrap();
        assert_eq!(link(&tray) == LinkState::Down, sticky);
    }
}

#[test]
fn a_gpu_takes_its_new_clique_at_once_or_at_its_reset() {
    let mut at_once = tray();
    let id = move_all(&mut at_once);
    assert_eq!(at_once.gpus[0].fabric.clique, CliqueId(u32::from(id.get())));

    let mut later = tray_that_waits_for_resets();
    move_all(&mut later);
    assert_eq!(later.gpus[0].fabric.clique, CliqueId(32766));
    assert!(later.gpus[0].reset_pending);
    let events = later.apply(&Change::GpuReset { gpu: GpuIndex(0) }).unwrap();
    assert!(events.contains(&Event::CliqueChanged { gpu: GpuIndex(0), clique: CliqueId(1) }));
    assert!(!later.gpus[0].reset_pending && later.gpus[1].reset_pending);
}

#[test]
fn a_power_cycle_takes_pending_cliques_too() {
    let mut tray = tray_that_waits_for_resets();
    move_all(&mut tray);
    tray.apply(&Change::TrayPower { action: PowerAction::Cycle }).unwrap();
    assert!(tray.gpus.iter().all(|gpu| gpu.fabric.clique == CliqueId(1) && !gpu.reset_pending));
}

#[test]
fn a_gpu_in_no_partition_reports_no_clique() {
    let mut tray = tray();
    let change = Change::PartitionRemove { partition: PartitionId::DEFAULT, gpus: vec![here(1)] };
    tray.apply(&change).unwrap();
    assert_eq!((tray.gpus[1].fabric.clique, tray.gpus[1].fabric.partition), (CliqueId(0), None));
}

#[test]
fn a_gpu_is_in_one_partition_at_most() {
    let mut tray = tray();
    let change = Change::PartitionCreate { partition: None, name: "blue".to_owned(), gpus: vec![here(0)] };
    let refusal = Refusal::GpuInPartition { location: here(0), partition: PartitionId::DEFAULT };
    assert_eq!(tray.apply(&change), Err(refusal));
}

#[test]
fn partitions_keep_their_ids_and_names_apart() {
    let mut tray = tray();
    let create = |partition, name: &str| Change::PartitionCreate { partition, name: name.to_owned(), gpus: vec![] };
    tray.apply(&create(None, "blue")).unwrap();
    let one = PartitionId::new(1).unwrap();
    assert_eq!(tray.apply(&create(Some(one), "red")), Err(Refusal::PartitionExists { partition: one }));
    let taken = Refusal::PartitionNameTaken { name: "blue".to_owned() };
    assert_eq!(tray.apply(&create(None, "blue")), Err(taken));
    let reserved = Some(PartitionId::DEFAULT);
    assert_eq!(tray.apply(&create(reserved, "red")), Err(Refusal::PartitionReserved));
    assert!(tray.apply(&create(None, "Default Partition")).is_err());
    assert!(tray.apply(&create(None, "bl\u{fc}e")).is_err());
    let default = Change::PartitionDelete { partition: PartitionId::DEFAULT };
    assert_eq!(tray.apply(&default), Err(Refusal::PartitionReserved));
}

#[test]
fn a_power_limit_out_of_range_is_refused_with_the_range() {
    let mut tray = tray();
    let refusal = tray.apply(&Change::PowerLimit { gpu: GPU, milliwatts: 1_200_001 }).unwrap_err();
    assert_eq!(refusal.to_string(), "power limit in milliwatts 1200001: expected 200000 to 1200000");
    tray.apply(&Change::PowerLimit { gpu: GPU, milliwatts: 600_000 }).unwrap();
    assert_eq!(tray.gpus[2].limits.power_milliwatts, 600_000);
    tray.apply(&Change::TrayPower { action: PowerAction::Cycle }).unwrap();
    assert_eq!(tray.gpus[2].limits.power_milliwatts, 1_200_000);
}

#[test]
fn locked_clocks_hold_the_ceiling_until_a_reset() {
    let mut tray = tray();
    tray.apply(&Change::ClocksLock { gpu: GPU, min_mhz: 1000, max_mhz: 1500 }).unwrap();
    assert_eq!(tray.gpus[2].sm_ceiling_mhz(), 1500);
    let backwards = Change::ClocksLock { gpu: GPU, min_mhz: 1500, max_mhz: 1000 };
    let range = Refusal::OutOfRange { quantity: Quantity::SmClockMhz, found: 1000, min: 1500, max: 2062 };
    assert_eq!(tray.apply(&backwards), Err(range));
    tray.apply(&Change::GpuReset { gpu: GPU }).unwrap();
    assert_eq!(tray.gpus[2].sm_ceiling_mhz(), 2062);
}

#[test]
fn the_ring_keeps_the_last_64_xids() {
    let mut tray = tray();
    for time_ns in 0..70 {
        tray.apply(&Change::Xid { gpu: GPU, code: 13, pid: Some(1), time_ns }).unwrap();
    }
    let xids = &tray.gpus[2].xids;
    assert_eq!((xids.len(), xids[0].time_ns, xids[63].time_ns), (64, 6, 69));
}

#[test]
fn an_xid_calls_for_what_its_code_calls_for() {
    let action = |code| {
        let mut tray = tray();
        tray.apply(&Change::Xid { gpu: GPU, code, pid: None, time_ns: 0 }).unwrap();
        (tray.gpus[2].recovery_action(), tray.gpus[2].lost)
    };
    assert_eq!(action(31), (RecoveryAction::None, false));
    assert_eq!(action(48), (RecoveryAction::Reset, false));
    assert_eq!(action(79), (RecoveryAction::Reboot, true));
}

#[test]
fn a_lost_gpu_is_back_after_a_power_cycle() {
    let mut tray = tray();
    tray.apply(&Change::GpuLost { gpu: GPU }).unwrap();
    assert_eq!(tray.apply(&Change::GpuReset { gpu: GPU }), Err(Refusal::GpuLost { gpu: GPU }));
    tray.apply(&Change::TrayPower { action: PowerAction::Cycle }).unwrap();
    assert!(!tray.gpus[2].lost && link(&tray) == LinkState::Up);
}

#[test]
fn a_tray_that_is_off_takes_configuration_and_nothing_from_its_driver() {
    let mut tray = tray();
    tray.apply(&Change::TrayPower { action: PowerAction::Off }).unwrap();
    assert_eq!(tray.apply(&Change::GpuReset { gpu: GPU }), Err(Refusal::TrayOff));
    assert_eq!(tray.apply(&Change::LinkAdmin { gpu: GPU, link: LINK, enabled: false }), Ok(vec![]));
    tray.apply(&Change::TrayPower { action: PowerAction::On }).unwrap();
    assert_eq!(link(&tray), LinkState::Down);
}

#[test]
fn a_reset_clears_volatile_errors_and_keeps_the_aggregate() {
    let mut tray = tray();
    let (location, severity) = (EccLocation::Dram, EccSeverity::Uncorrected);
    tray.apply(&Change::EccErrors { gpu: GPU, location, severity, count: 3 }).unwrap();
    tray.apply(&Change::RowRemap { gpu: GPU, corrected: 0, uncorrected: 1, failure: false }).unwrap();
    assert!(tray.gpus[2].reset_pending);
    tray.apply(&Change::GpuReset { gpu: GPU }).unwrap();
    let gpu = &tray.gpus[2];
    assert_eq!((gpu.ecc.volatile.dram_uncorrected, gpu.ecc.aggregate.dram_uncorrected), (0, 3));
    assert_eq!((gpu.rows.uncorrected, gpu.rows.pending(), gpu.reset_pending), (1, false, false));
}

#[test]
fn ecc_mode_waits_for_a_reset_and_counts_nothing_while_disabled() {
    let mut tray = tray();
    tray.apply(&Change::EccMode { gpu: GPU, enabled: false }).unwrap();
    assert!(tray.gpus[2].ecc.mode.current && tray.gpus[2].reset_pending);
    tray.apply(&Change::GpuReset { gpu: GPU }).unwrap();
    let (location, severity) = (EccLocation::Sram, EccSeverity::Corrected);
    let errors = Change::EccErrors { gpu: GPU, location, severity, count: 1 };
    assert_eq!(tray.apply(&errors), Err(Refusal::EccDisabled { gpu: GPU }));
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let mut tray = tray();
    let none = GpuIndex(4);
    assert_eq!(tray.apply(&Change::GpuLost { gpu: none }), Err(Refusal::NoSuchGpu { gpu: none, gpus: 4 }));
    let change = Change::LinkAdmin { gpu: GPU, link: LinkIndex(18), enabled: true };
    assert_eq!(tray.apply(&change), Err(Refusal::NoSuchLink { link: LinkIndex(18), links: 18 }));
}

#[test]
fn a_change_that_changes_nothing_tells_nothing() {
    let mut tray = tray();
    for change in [
        Change::LinkAdmin { gpu: GPU, link: LINK, enabled: true },
        Change::PowerLimitReset { gpu: GPU },
        Change::ClocksReset { gpu: GPU },
        Change::XidClear { gpu: GPU },
        Change::EccClear { gpu: GPU },
        Change::TrayPower { action: PowerAction::On },
    ] {
        assert_eq!(tray.apply(&change), Ok(vec![]), "{change:?}");
    }
}

#[test]
fn a_change_is_one_object_tagged_by_its_name() {
    let json = r#"{"change":"link_admin","gpu":2,"link":3,"enabled":false}"#;
    let change = Change::LinkAdmin { gpu: GPU, link: LINK, enabled: false };
    assert_eq!(serde_json::to_string(&change).unwrap(), json);
    assert_eq!(serde_json::from_str::<Change>(json).unwrap(), change);
    let unknown = json.replace("enabled", "enabld");
    assert!(serde_json::from_str::<Change>(&unknown).is_err());
}

#[test]
fn a_machine_reads_back_from_its_json() {
    let mut tray = tray();
    move_all(&mut tray);
    tray.apply(&Change::LinkFault { gpu: GPU, link: LINK, fault: FAULT }).unwrap();
    let json = serde_json::to_string(&tray).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), tray);
}
