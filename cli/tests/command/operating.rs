//! `power`, `set` and `status`: what an operator changes shows, and what cannot be is refused.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use ghost_engine::client::Client;
use ghost_engine::place::Place;
use ghost_engine::wire::{Frame, Message, Role};

use crate::harness::{Home, is_running};

#[test]
fn a_tray_that_is_off_has_no_ghostd_and_takes_no_command_until_it_is_on() {
    let home = Home::new();
    home.must(&["up"]);
    let pid = home.pids()[1];
    assert_eq!(home.must(&["power", "--tray", "1", "off"]).out, "tray-1 is off\n");
    assert!(!is_running(pid));
    let tray = &home.status()["trays"][1];
    assert_eq!((&tray["desired"], &tray["phase"], tray["status"].is_null()), (&"off".into(), &"off".into(), true));
    let said = home.say(&["run", "--tray", "1", "--", "true"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("`ghostrack power --tray 1 on`"), "{said:?}");
    assert_eq!(home.must(&["power", "--tray", "tray-1", "on"]).out, "tray-1 is on\n");
    home.must(&["run", "--tray", "1", "--", "true"]);
}

#[test]
fn a_power_cycle_gives_a_new_ghostd_that_remembers_its_configuration() {
    let home = Home::new();
    home.must(&["up"]);
    home.must(&["set", "link", "--gpu", "2", "--link", "3", "down"]);
    let before = home.pids()[0];
    home.must(&["power", "--tray", "0", "cycle", "--force"]);
    assert_ne!(home.pids()[0], before);
    assert!(!is_running(before));
    let tray = &home.status()["trays"][0];
    assert_eq!(tray["restarts"], 0);
    assert_eq!(tray["status"]["gpus"][2]["links_up"], 17);
}

#[test]
fn a_broken_link_is_whole_again_when_it_is_set_up() {
    let home = Home::new();
    home.must(&["up"]);
    let links_up = || home.status()["trays"][1]["status"]["gpus"][0]["links_up"].clone();
    let set =
        |words: &[&str]| home.must(&[&["set", "link", "--tray", "1", "--gpu", "0", "--link", "5"], words].concat());
    set(&["fault", "--kind", "signal-loss", "--sticky"]);
    assert_eq!(links_up(), 17);
    set(&["up"]);
    assert_eq!(links_up(), 18);
    let said = home.say(&["set", "link", "--gpu", "0", "--link", "18", "down"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("no link 18: a GPU has 18"), "{said:?}");
}

#[test]
fn a_partition_is_the_same_on_every_tray() {
    let home = Home::new();
    home.must(&["up"]);
    home.must(&["set", "partition", "remove", "32766", "0:0", "1:0"]);
    home.must(&["set", "partition", "create", "5", "pair", "0:0", "1:0"]);
    let status = home.status();
    for tray in [0, 1] {
        assert_eq!(status["trays"][tray]["status"]["gpus"][0]["partition"], 5, "tray {tray}");
        assert_eq!(status["trays"][tray]["status"]["gpus"][1]["partition"], 32766, "tray {tray}");
    }
}

#[test]
fn the_table_names_every_tray_and_gpu() {
    let home = Home::new();
    home.must(&["up"]);
    let table = home.must(&["status"]).out;
    assert_eq!(table.lines().filter(|line| line.contains("18/18")).count(), 8, "{table}");
    assert!(table.contains("rung: plain tree"), "{table}");
}

#[test]
fn an_xid_is_in_the_log_of_its_tray() {
    let home = Home::new();
    home.must(&["up"]);
    assert_eq!(home.must(&["log"]).out, "");
    let tray = home.run_dir().join("tray-1");
    let place = Place { socket: tray.join("ghostd.sock"), dev_root: tray.join("dev") };
    let operator = Client::attach(place, Role::Operator).unwrap();
    let xid = r#"{"change":"xid","gpu":2,"code":94,"pid":null,"time_ns":0}"#;
    operator.ask(Frame::ask(Message::Apply, &[]).with_data(xid)).unwrap();
    let log = home.must(&["log"]).out;
    assert!(log.starts_with("tray-1: ") && log.contains("NVRM: Xid (PCI:0018:01:00): 94"), "{log}");
    assert_eq!(home.must(&["log", "--tray", "0"]).out, "");
}

#[test]
fn a_bmc_that_says_one_line_and_closes_gets_its_answer_when_the_tray_is_so() {
    let home = Home::new();
    home.must(&["up"]);
    let mut bmc = UnixStream::connect(home.run_dir().join("rack.sock")).unwrap();
    bmc.write_all(b"{\"ask\":\"power\",\"tray\":0,\"action\":\"off\"}\n").unwrap();
    bmc.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    bmc.read_to_string(&mut answer).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["ok"], &answer["rack"]["trays"][0]["phase"]), (&true.into(), &"off".into()));
}
