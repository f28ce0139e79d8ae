//! What changes do to a tray, one rule at a time; sequences of them are in tests/.

use super::*;
use crate::ids::CliqueId;

fn tray() -> Machine {
    let rack = Rack::parse(Rack::embedded("nvl8").unwrap(), "nvl8").unwrap();
    Machine::new(&rack, TrayIndex(0), Profile::named("gb200").unwrap()).unwrap()
}

#[test]
fn a_new_tray_is_whole() {
    let tray = tray();
    assert_eq!(tray.gpus.len(), 4);
    assert!(
        tray.gpus
            .iter()
            .all(|gpu| gpu.links_up() == 18 && !gpu.reset_pending)
    );
    assert!(
        tray.gpus
            .iter()
            .all(|gpu| gpu.fabric.clique == CliqueId(32766))
    );
}
