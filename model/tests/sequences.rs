//! Any sequence of changes keeps the machine lawful, and undoing a fault restores it exactly.
//! Only the public interface is used.

use ghost_model::{
    Change, CliqueId, ClockLock, ComputeMode, EccLocation, EccSeverity, GpuIndex, GpuLocation, HcaIndex, LinkFault,
    LinkFaultKind, LinkIndex, LinkState, Machine, PartitionId, PortIndex, PortRef, PowerAction, PowerState, Profile,
    Rack, SwitchIndex, TrayIndex,
};
use proptest::prelude::*;

fn tray(apply_at_reset: bool) -> Machine {
    let mut text = Rack::embedded("nvl8").expect("embedded").to_owned();
    if apply_at_reset {
        text = text.replace("\"immediate\"", "\"reset\"");
    }
    let rack = Rack::parse(&text, "nvl8").expect("reads");
    Machine::new(&rack, TrayIndex(1), Profile::named("gb200").expect("embedded")).expect("two trays")
}

fn gpu() -> impl Strategy<Value = GpuIndex> {
    (0..5_u8).prop_map(GpuIndex)
}

fn link() -> impl Strategy<Value = LinkIndex> {
    (0..19_u8).prop_map(LinkIndex)
}

fn port() -> impl Strategy<Value = PortRef> {
    (0..3_u16, 0..74_u16).prop_map(|(switch, port)| PortRef { switch: SwitchIndex(switch), port: PortIndex(port) })
}

fn fault() -> impl Strategy<Value = LinkFault> {
    let kinds = vec![LinkFaultKind::Training, LinkFaultKind::SignalLoss, LinkFaultKind::BitErrors];
    (prop::sample::select(kinds), any::<bool>()).prop_map(|(kind, sticky)| LinkFault { kind, sticky })
}

fn partition() -> impl Strategy<Value = PartitionId> {
    prop_oneof![1..4_u16, Just(32766)].prop_map(|id| PartitionId::new(id).expect("in range"))
}

fn gpus() -> impl Strategy<Value = Vec<GpuLocation>> {
    let location =
        (0..3_u16, 0..5_u8).prop_map(|(tray, gpu)| GpuLocation { tray: TrayIndex(tray), gpu: GpuIndex(gpu) });
    prop::collection::vec(location, 0..4)
}

fn of_links() -> impl Strategy<Value = Change> {
    prop_oneof![
        (gpu(), link(), any::<bool>()).prop_map(|(gpu, link, enabled)| Change::LinkAdmin { gpu, link, enabled }),
        (gpu(), link(), fault()).prop_map(|(gpu, link, fault)| Change::LinkFault { gpu, link, fault }),
        (gpu(), link()).prop_map(|(gpu, link)| Change::LinkFaultClear { gpu, link }),
        (gpu(), link(), any::<bool>()).prop_map(|(gpu, link, up)| Change::LinkFarEnd { gpu, link, up }),
        (port(), any::<bool>()).prop_map(|(port, enabled)| Change::PortAdmin { port, enabled }),
        (port(), fault()).prop_map(|(port, fault)| Change::PortFault { port, fault }),
        port().prop_map(|port| Change::PortFaultClear { port }),
        (0..5_u8, any::<bool>()).prop_map(|(hca, enabled)| Change::HcaAdmin { hca: HcaIndex(hca), enabled }),
    ]
}

fn of_partitions() -> impl Strategy<Value = Change> {
    let name = prop::sample::select(vec!["blue", "red", "", "Default Partition"]).prop_map(str::to_owned);
    prop_oneof![
        (prop::option::of(partition()), name, gpus()).prop_map(|(partition, name, gpus)| Change::PartitionCreate {
            partition,
            name,
            gpus
        }),
        partition().prop_map(|partition| Change::PartitionDelete { partition }),
        (partition(), gpus()).prop_map(|(partition, gpus)| Change::PartitionAdd { partition, gpus }),
        (partition(), gpus()).prop_map(|(partition, gpus)| Change::PartitionRemove { partition, gpus }),
        (gpu(), 0..4_u32).prop_map(|(gpu, clique)| Change::CliqueAssign { gpu, clique: CliqueId(clique) }),
    ]
}

fn of_errors() -> impl Strategy<Value = Change> {
    let location = prop::sample::select(vec![EccLocation::Dram, EccLocation::Sram]);
    let severity = prop::sample::select(vec![EccSeverity::Corrected, EccSeverity::Uncorrected]);
    prop_oneof![
        (gpu(), prop::sample::select(vec![13, 48, 63, 79, 999]), prop::option::of(any::<u32>()), any::<u64>())
            .prop_map(|(gpu, code, pid, time_ns)| Change::Xid { gpu, code, pid, time_ns }),
        gpu().prop_map(|gpu| Change::XidClear { gpu }),
        (gpu(), location, severity, any::<u64>()).prop_map(|(gpu, location, severity, count)| Change::EccErrors {
            gpu,
            location,
            severity,
            count
        }),
        gpu().prop_map(|gpu| Change::EccClear { gpu }),
        (gpu(), any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(gpu, corrected, uncorrected, failure)| {
            Change::RowRemap { gpu, corrected, uncorrected, failure }
        }),
        gpu().prop_map(|gpu| Change::GpuLost { gpu }),
        gpu().prop_map(|gpu| Change::GpuRecovered { gpu }),
    ]
}

fn of_settings() -> impl Strategy<Value = Change> {
    let action = prop::sample::select(vec![PowerAction::On, PowerAction::Off, PowerAction::Cycle]);
    let mode = prop::sample::select(vec![ComputeMode::Default, ComputeMode::ExclusiveProcess, ComputeMode::Prohibited]);
    prop_oneof![
        action.prop_map(|action| Change::TrayPower { action }),
        gpu().prop_map(|gpu| Change::GpuReset { gpu }),
        (gpu(), 0..1_500_000_u32).prop_map(|(gpu, milliwatts)| Change::PowerLimit { gpu, milliwatts }),
        gpu().prop_map(|gpu| Change::PowerLimitReset { gpu }),
        (gpu(), 0..2_200_u32, 0..2_200_u32).prop_map(|(gpu, min_mhz, max_mhz)| Change::ClocksLock {
            gpu,
            min_mhz,
            max_mhz
        }),
        gpu().prop_map(|gpu| Change::ClocksReset { gpu }),
        (gpu(), any::<bool>()).prop_map(|(gpu, enabled)| Change::Persistence { gpu, enabled }),
        (gpu(), mode).prop_map(|(gpu, mode)| Change::ComputeMode { gpu, mode }),
        (gpu(), any::<bool>()).prop_map(|(gpu, enabled)| Change::EccMode { gpu, enabled }),
        any::<i32>().prop_map(|offset_millidegrees| Change::InletOffset { offset_millidegrees }),
    ]
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![of_links(), of_partitions(), of_errors(), of_settings()]
}

/// The laws, worked out from the facts without the model's help.
fn assert_lawful(tray: &Machine) {
    for gpu in &tray.gpus {
        for link in &gpu.links {
            let port_up = tray.domain.ports.iter().all(|port| Some(port.port) != link.far || port.up());
            let here = tray.power == PowerState::On && !gpu.lost;
            let up = here && link.enabled && link.fault.is_none() && link.far_end_up && port_up;
            assert_eq!(link.state == LinkState::Up, up, "{link:?}");
        }
        let location = GpuLocation { tray: tray.tray, gpu: gpu.index };
        let partitions: Vec<_> =
            tray.domain.partitions.iter().filter(|(_, partition)| partition.members.contains(&location)).collect();
        assert!(partitions.len() <= 1);
        assert_eq!(partitions.first().map(|(id, _)| **id), gpu.fabric.partition);
        let limits = &gpu.limits;
        assert!((limits.power_min_milliwatts..=limits.power_max_milliwatts).contains(&limits.power_milliwatts));
        if let Some(ClockLock { min_mhz, max_mhz }) = limits.sm_lock {
            assert!(limits.sm_min_mhz <= min_mhz && min_mhz <= max_mhz && max_mhz <= limits.sm_max_mhz);
        }
        assert!(gpu.xids.len() <= 64 && gpu.fabric.pending_clique != Some(gpu.fabric.clique));
    }
    assert!(tray.domain.partitions.contains_key(&PartitionId::DEFAULT));
}

/// A fault and what clears it, on a GPU that is not otherwise faulted.
fn fault_and_clear() -> impl Strategy<Value = (Change, Change)> {
    let (gpu, link) = ((0..4_u8).prop_map(GpuIndex), (0..18_u8).prop_map(LinkIndex));
    let port =
        (0..2_u16, 0..72_u16).prop_map(|(switch, port)| PortRef { switch: SwitchIndex(switch), port: PortIndex(port) });
    (gpu, link, port, fault(), 0..9_u8, 1..100_u32).prop_map(|(gpu, link, port, fault, which, count)| match which {
        0 => (Change::LinkFault { gpu, link, fault }, Change::LinkFaultClear { gpu, link }),
        1 => (Change::PortFault { port, fault }, Change::PortFaultClear { port }),
        2 => (Change::GpuLost { gpu }, Change::GpuRecovered { gpu }),
        3 => (Change::Xid { gpu, code: 48, pid: None, time_ns: 7 }, Change::XidClear { gpu }),
        4 => {
            let (location, severity) = (EccLocation::Dram, EccSeverity::Uncorrected);
            let errors = Change::EccErrors { gpu, location, severity, count: count.into() };
            (errors, Change::EccClear { gpu })
        }
        5 => {
            let remap = Change::RowRemap { gpu, corrected: count, uncorrected: 0, failure: true };
            (remap, Change::EccClear { gpu })
        }
        6 => (Change::PortAdmin { port, enabled: false }, Change::PortAdmin { port, enabled: true }),
        7 => (Change::LinkAdmin { gpu, link, enabled: false }, Change::LinkAdmin { gpu, link, enabled: true }),
        _ => {
            let inlet = |offset_millidegrees| Change::InletOffset { offset_millidegrees };
            (inlet(count as i32), inlet(0))
        }
    })
}

proptest! {
    #[test]
    fn no_sequence_of_changes_panics_or_breaks_a_law(
        at_reset: bool,
        changes in prop::collection::vec(any_change(), 0..60),
    ) {
        let mut tray = tray(at_reset);
        for change in &changes {
            let before = tray.clone();
            if tray.apply(change).is_err() {
                prop_assert_eq!(&tray, &before, "refused {:?} and changed something", change);
            }
            assert_lawful(&tray);
        }
    }

    #[test]
    fn events_tell_every_link_that_changed(changes in prop::collection::vec(of_links(), 0..40)) {
        let mut tray = tray(false);
        for change in &changes {
            let before = tray.clone();
            let Ok(events) = tray.apply(change) else { continue };
            let told = events.iter().filter(|event| matches!(event, ghost_model::Event::LinkChanged { .. })).count();
            let states = |tray: &Machine| -> Vec<LinkState> {
                tray.gpus.iter().flat_map(|gpu| gpu.links.iter().map(|link| link.state)).collect()
            };
            let differ = states(&before).iter().zip(states(&tray)).filter(|(was, is)| **was != *is).count();
            prop_assert_eq!(told, differ);
        }
    }

    #[test]
    fn clearing_faults_in_any_order_restores_the_machine_exactly(
        settings in prop::collection::vec(of_partitions(), 0..8),
        faults in prop::collection::vec(fault_and_clear(), 0..8),
        order in any::<prop::sample::Index>(),
    ) {
        let mut tray = tray(true);
        for change in &settings {
            let _ = tray.apply(change);
        }
        let original = tray.clone();
        for (fault, _) in &faults {
            // A GPU that is already lost reports nothing more; that fault is then simply not there.
            let _ = tray.apply(fault);
        }
        let turn = if faults.is_empty() { 0 } else { order.index(faults.len()) };
        for (_, clear) in faults[turn..].iter().chain(&faults[..turn]) {
            tray.apply(clear).expect("clearing is never refused");
        }
        prop_assert_eq!(tray, original);
    }

    #[test]
    fn every_change_reads_back_from_its_json(change in any_change()) {
        let json = serde_json::to_string(&change).expect("writes");
        prop_assert_eq!(serde_json::from_str::<Change>(&json).expect("reads"), change);
    }
}
