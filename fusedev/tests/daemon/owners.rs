//! An owner of facts at the real ghostd: what it asserts is in the facts page, what happens reaches it, and a restart
//! of the tray loses nothing.

use ghost_engine::wire::{Message, Role};
use ghost_model::{Change, Event, GpuIndex, LinkIndex, PowerAction};
use ghost_owners::client::{News, NotMade, Owner};
use ghost_owners::proto::{Hello, Telemetry};
use tokio::sync::mpsc;

use crate::harness::{Daemon, balance, change, until};

fn far_end_down() -> Change {
    Change::LinkFarEnd { gpu: GpuIndex(0), link: LinkIndex(3), up: false }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn dial(daemon: &Daemon) -> (Owner, mpsc::Receiver<News>) {
    let endpoint = Owner::endpoint(&daemon.dir.path().join("owners.sock")).unwrap();
    Owner::dial(endpoint, Hello { owner: "fabric".to_owned(), telemetry_milliseconds: 100 })
}

/// The first news that `pick` takes; those before it are skipped.
async fn hear<T>(news: &mut mpsc::Receiver<News>, pick: impl Fn(News) -> Option<T>) -> T {
    let first = async {
        loop {
            if let Some(found) = pick(news.recv().await.unwrap()) {
                return found;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), first).await.expect("never heard")
}

fn telemetry(news: News) -> Option<Telemetry> {
    match news {
        News::Telemetry(telemetry) => Some(telemetry),
        _ => None,
    }
}

#[test]
fn an_asserted_far_end_shows_in_the_facts_and_telemetry_comes_back() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    runtime().block_on(async {
        let (owner, mut news) = dial(&daemon);
        owner.assert(vec![far_end_down()]);
        let links = hear(&mut news, |n| telemetry(n).filter(|t| !t.gpus[0].links[3].up)).await.gpus[0].links.len();
        assert_eq!(links, 18);
    });
    let link = reader.facts().link(0, 3);
    assert_eq!((link.up, link.far_end_up, link.admin_up), (0, 0, 1));
}

#[test]
fn an_owner_asserts_again_after_the_tray_was_killed() {
    let mut daemon = Daemon::start();
    runtime().block_on(async {
        let (owner, mut news) = dial(&daemon);
        let connected = |news| match news {
            News::Connected { boot_id, machine, .. } => Some((boot_id, machine.name.clone())),
            _ => None,
        };
        let (first, name) = hear(&mut news, connected).await;
        assert_eq!(name, "tray-0");
        owner.assert(vec![far_end_down()]);
        hear(&mut news, |n| telemetry(n).filter(|t| !t.gpus[0].links[3].up)).await;
        std::fs::remove_file(daemon.dir.path().join("state.json")).unwrap();
        daemon.restart();
        let (second, _) = hear(&mut news, connected).await;
        assert_ne!(first, second);
        hear(&mut news, |n| telemetry(n).filter(|t| !t.gpus[0].links[3].up)).await;
    });
}

#[test]
fn an_owner_hears_what_other_doors_change_and_what_is_refused() {
    let daemon = Daemon::start();
    let operator = daemon.attach(Role::Operator);
    runtime().block_on(async {
        let (owner, mut news) = dial(&daemon);
        hear(&mut news, |n| matches!(n, News::Connected { .. }).then_some(())).await;
        change(&operator, r#"{"change":"power_limit","gpu":1,"milliwatts":900000}"#).unwrap();
        let event = hear(&mut news, |n| if let News::Event(event) = n { Some(event) } else { None }).await;
        assert_eq!(event, Event::PowerLimitChanged { gpu: GpuIndex(1), milliwatts: 900_000 });
        let refused = owner.change(Change::PowerLimitReset { gpu: GpuIndex(9) }).await.unwrap_err();
        assert!(matches!(&refused, NotMade::Refused(reason) if reason.contains("no_such_gpu")), "{refused}");
        assert_eq!(owner.change(Change::PowerLimitReset { gpu: GpuIndex(1) }).await, Ok(()));
    });
    assert_eq!(operator.facts().modes(1).power_limit_milliwatts, 1_200_000);
}

#[test]
fn a_tray_switched_off_by_its_bmc_lets_go_of_its_holders() {
    let daemon = Daemon::start();
    let reader = daemon.attach(Role::Reader);
    let holder = daemon.attach(Role::Holder);
    balance(&holder, Message::ContextOpen, &[0]).unwrap();
    runtime().block_on(async {
        let (owner, mut news) = dial(&daemon);
        hear(&mut news, |n| matches!(n, News::Connected { .. }).then_some(())).await;
        owner.change(Change::TrayPower { action: PowerAction::Off }).await.unwrap();
    });
    until("memory back", || reader.facts().live(0).memory_used_bytes == 0);
    assert_eq!(reader.facts().tray().power_on, 0);
}

#[test]
fn the_owners_socket_is_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = Daemon::start();
    let mode = std::fs::metadata(daemon.dir.path().join("owners.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
