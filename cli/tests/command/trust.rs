//! Run directories that somebody else could have laid out are refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use crate::harness::Home;

#[test]
fn a_run_directory_behind_a_symbolic_link_is_refused() {
    let home = Home::new();
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    symlink(home.path().join("elsewhere"), home.run_dir()).unwrap();
    for arguments in [&["up"][..], &["run", "--", "true"], &["status"], &["down"]] {
        let said = home.say(arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}: {said:?}");
        assert!(said.err.contains("found a symbolic link"), "{arguments:?}: {said:?}");
    }
    fs::remove_file(home.run_dir()).unwrap();
}

#[test]
fn a_run_directory_that_others_may_write_is_refused() {
    let home = Home::new();
    fs::create_dir(home.run_dir()).unwrap();
    fs::set_permissions(home.run_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let said = home.say(&["up"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("found mode 777"), "{said:?}");
}

/// Only root can give a directory away; another user finds one of root's instead, which is not refused.
#[test]
fn a_run_directory_of_another_user_is_refused() {
    let home = Home::new();
    fs::create_dir(home.run_dir()).unwrap();
    if nix::unistd::geteuid().is_root() {
        chown(home.run_dir(), Some(65_534), None).unwrap();
        let said = home.say(&["up"]);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains("it belongs to user 65534"), "{said:?}");
        chown(home.run_dir(), Some(0), None).unwrap();
    }
}

#[test]
fn only_the_owner_may_ask_the_supervisor_and_only_root_shares_its_trays() {
    let home = Home::new();
    home.must(&["up"]);
    let mode = |path: std::path::PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(home.run_dir().join("rack.sock")), 0o600);
    assert_eq!(mode(home.run_dir().join("tray-0/ghostd.sock")), 0o666);
    let shared = if nix::unistd::geteuid().is_root() { 0o755 } else { 0o700 };
    assert_eq!(mode(home.run_dir()), shared);
}
