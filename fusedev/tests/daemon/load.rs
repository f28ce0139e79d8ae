//! A load in the instruments: it shows, it is shared, and it goes when the process goes.

use ghost_engine::wire::Role;

use crate::harness::{Daemon, play, until};

#[test]
fn a_busy_process_shows_in_every_instrument_and_is_gone_after_its_end() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let idle = reader.facts().live(0);
    assert!((150_000..=180_000).contains(&idle.power_instant_milliwatts) && idle.sm_clock_mhz == 120);
    let mut worker = play("compute", &daemon);
    until("load", || {
        let live = reader.facts().live(0);
        live.gpu_utilization > 60 && live.power_average_milliwatts > 700_000 && live.sm_clock_mhz > 1_900
    });
    assert!(reader.facts().processes(0)[0].gpu_utilization > 50);
    assert_eq!(reader.facts().live(1).gpu_utilization, 0);
    until("energy", || reader.facts().live(0).energy_millijoules > idle.energy_millijoules + 1_000_000);
    until("warmth", || reader.facts().live(0).temperature_millicelsius > idle.temperature_millicelsius + 1_000);
    worker.kill();
    until("quiet", || {
        let live = reader.facts().live(0);
        live.gpu_utilization == 0 && live.sm_clock_mhz == 120 && live.clocks_event_reasons == 1
    });
}

#[test]
fn two_busy_processes_share_one_gpu() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let first = play("compute lightly", &daemon);
    until("one", || reader.facts().live(0).busy_holders == 1);
    let mut second = play("compute lightly", &daemon);
    until("two", || reader.facts().live(0).busy_holders == 2);
    until("shares", || {
        let listed = reader.facts().processes(0);
        let shares: Vec<u32> = listed.iter().map(|p| p.gpu_utilization).collect();
        assert!(shares.iter().sum::<u32>() <= 101, "{shares:?}");
        shares.len() == 2 && shares.iter().all(|share| *share >= 30) && reader.facts().live(0).gpu_utilization > 80
    });
    second.kill();
    until("one again", || reader.facts().live(0).busy_holders == 1 && reader.facts().processes(0).len() == 1);
    assert_eq!(reader.facts().processes(0)[0].pid, first.pid());
}
