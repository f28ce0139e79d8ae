//! Rack files that are read and rack files that are refused; nothing here touches the disk.

use proptest::prelude::*;

use super::*;

const SMALL: &str = "name = \"small\"\n\n[[tray]]\ngpus = 4\n\n[[switch]]\n";

fn refusal(text: &str) -> RackError {
    Rack::parse(text, "rack.toml").unwrap_err()
}

#[test]
fn every_embedded_rack_reads() {
    for (name, text) in Rack::EMBEDDED {
        let rack = Rack::parse(text, name).unwrap();
        assert_eq!(rack.name, *name);
    }
    let nvl72 = Rack::parse(NVL72, "nvl72").unwrap();
    assert_eq!((nvl72.trays.len(), nvl72.switches.len()), (18, 9));
}

#[test]
fn what_is_left_out_listens_on_loopback() {
    let rack = Rack::parse(SMALL, "rack.toml").unwrap();
    assert!(rack.trays[0].bmc.ip().is_loopback() && rack.trays[0].exporter.ip().is_loopback());
    assert!(rack.fabric.address.ip().is_loopback() && rack.switches[0].bmc.ip().is_loopback());
    assert_eq!(rack.trays[0].name, "tray-0");
    assert_eq!(rack.domain.default_clique, CliqueId(32766));
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    let error = refusal("name = \"a\"\n[[tray]]\ngpus = 4\ncolour = 3\n");
    assert_eq!((error.line, error.key.as_str()), (Some(4), "colour"));
    assert!(error.expected.contains("gpus"), "{error}");
}

#[test]
fn a_wrong_type_is_refused_with_what_was_found() {
    let error = refusal("name = \"a\"\n[[tray]]\ngpus = \"four\"\n");
    assert_eq!((error.line, error.key.as_str()), (Some(3), "gpus"));
    assert!(error.found.contains("four"), "{error}");
}

#[test]
fn a_missing_key_is_named() {
    let error = refusal("name = \"a\"\n[[tray]]\nslot = 1\n");
    assert_eq!((error.key.as_str(), error.found.as_str()), ("gpus", "nothing"));
    assert_eq!(refusal("name = \"a\"\n").key, "tray");
}

#[test]
fn a_value_out_of_range_is_refused_in_its_own_tray() {
    let error = refusal("name = \"a\"\n[[tray]]\ngpus = 4\n[[tray]]\n\ngpus = 99\n");
    assert_eq!(error.to_string(), "rack.toml:6: `tray.gpus`: found 99, expected 1 to 16");
}

#[test]
fn an_unknown_profile_is_refused_with_those_there_are() {
    let error = refusal("name = \"a\"\n[[tray]]\ngpus = 4\nprofile = \"gb900\"\n");
    assert_eq!(error.to_string(), "rack.toml:4: `tray.profile`: found `gb900`, expected one of: gb200");
}

#[test]
fn a_profile_that_every_tray_takes_is_refused_where_it_stands() {
    let error = refusal("name = \"a\"\nprofile = \"gb900\"\n[[tray]]\ngpus = 4\n");
    assert_eq!((error.line, error.key.as_str()), (Some(2), "profile"));
}

#[test]
fn two_listeners_on_one_address_are_refused() {
    let text = "name = \"a\"\n[[tray]]\ngpus = 4\nbmc = \"127.0.0.1:1\"\nexporter = \"127.0.0.1:1\"\n";
    assert_eq!((refusal(text).line, refusal(text).key.as_str()), (Some(5), "tray.exporter"));
    assert!(Rack::parse(&text.replace(":1\"", ":0\""), "rack.toml").is_ok());
}

#[test]
fn a_switch_without_ports_enough_is_refused() {
    let error = refusal("name = \"a\"\n[[tray]]\ngpus = 4\n[[switch]]\nports_per_chip = 35\n");
    assert_eq!((error.line, error.key.as_str()), (Some(5), "switch.ports_per_chip"));
}

#[test]
fn names_that_would_leave_a_directory_are_refused() {
    for name in ["../a", "", ".", "a/b", "-a"] {
        assert_eq!(refusal(&SMALL.replace("small", name)).key, "name", "{name}");
    }
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    assert_eq!(refusal("name = \"a\"\n[[tray\n").line, Some(2));
}

proptest! {
    #[test]
    fn no_damage_to_a_rack_file_panics_and_every_refusal_points_into_it(
        start in any::<prop::sample::Index>(),
        removed in 0..40_usize,
        inserted in "[-\\[\\]=\"{}0-9a-z.,\n\u{fc} ]{0,6}",
    ) {
        let chars: Vec<char> = NVL8.chars().collect();
        let start = start.index(chars.len());
        let rest = &chars[(start + removed).min(chars.len())..];
        let text: String = chars[..start].iter().copied().chain(inserted.chars()).chain(rest.iter().copied()).collect();
        if let Err(error) = Rack::parse(&text, "rack.toml") {
            prop_assert!(error.line.is_none_or(|line| (1..=text.lines().count() + 1).contains(&line)), "{}", error);
            prop_assert!(!error.found.is_empty() && !error.expected.is_empty());
        }
    }
}
