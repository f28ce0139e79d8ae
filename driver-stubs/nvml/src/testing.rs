//! A tray for unit tests: a facts page published by the test itself, seen by this thread only.
//! No socket, no ghostd, no global state, so tests run side by side.

use std::cell::Cell;
use std::sync::Mutex;

use ghost_engine::facts::{Publisher, Reader};
use ghost_engine::layout::Facts;
use ghost_model::Profile;

use crate::session::Tray;

#[path = "../tests/common/facts.rs"]
mod facts;

thread_local! {
    static TRAY: Cell<Option<&'static Tray>> = const { Cell::new(None) };
}

/// The tray of this thread's test.
pub fn current() -> Option<&'static Tray> {
    TRAY.get()
}

/// The publishing end.
pub struct Bench {
    publisher: Mutex<Publisher>,
}

impl Bench {
    pub fn edit(&self, edit: impl FnOnce(&mut Facts)) {
        self.publisher.lock().unwrap().publish(edit);
    }

    pub fn alarm(&self) {
        self.publisher.lock().unwrap().alarm();
    }

    /// ghostd goes away in good order.
    pub fn close(&self) {
        self.publisher.lock().unwrap().close();
    }
}

/// An idle GB200 tray of four GPUs, then `edit`.
pub fn tray(edit: impl FnOnce(&mut Facts)) -> Bench {
    tray_seeing(vec![0, 1, 2, 3], edit)
}

/// The same, seen by a process that may open only some nodes.
pub fn tray_seeing(visible: Vec<u8>, edit: impl FnOnce(&mut Facts)) -> Bench {
    let profile = Profile::named("gb200").unwrap();
    let mut publisher = Publisher::new(7, &serde_json::to_string(profile).unwrap()).unwrap();
    publisher.publish(|page| {
        facts::idle(page, profile);
        edit(page);
    });
    let reader = Reader::new(publisher.fd()).unwrap();
    TRAY.set(Some(Box::leak(Box::new(Tray::of_page(reader, visible).unwrap()))));
    Bench { publisher: Mutex::new(publisher) }
}
