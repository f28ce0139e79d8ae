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
    let _first = play("hold", &daemon);
    assert_eq!(reader.facts().live(0).busy_holders, 0);
    drop(_first);
    until("memory back", || reader.facts().live(0).memory_used_bytes == 0);
    let _one = play("compute", &daemon);
    until("one", || reader.facts().live(0).busy_holders == 1);
}
