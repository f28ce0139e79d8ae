//! How much one user may have of us: connections and holders, counted by uid.
//! Knows no socket; it must not decide what a peer may do, only how often.

use std::collections::HashMap;

/// Most of each kind one user may have at a time.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub connections: usize,
    pub holders: usize,
}

impl Caps {
    /// Caps that fit into `descriptors` open files: a connection costs one, a holder one more.
    pub fn within(descriptors: usize) -> Caps {
        let share = descriptors / 3;
        Caps { connections: share.clamp(16, 4096), holders: share.clamp(16, 1024) }
    }
}

/// What a user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    connections: usize,
    holders: usize,
}

/// The counts of all users.
#[derive(Debug)]
pub struct Peers {
    caps: Caps,
    by_uid: HashMap<u32, Count>,
}

impl Peers {
    pub fn new(caps: Caps) -> Peers {
        Peers { caps, by_uid: HashMap::new() }
    }

    /// Counts one more connection, unless the user has its fill.
    pub fn connect(&mut self, uid: u32) -> bool {
        let cap = self.caps.connections;
        take(&mut self.by_uid.entry(uid).or_default().connections, cap)
    }

    /// Counts one more holder, unless the user has its fill.
    pub fn hold(&mut self, uid: u32) -> bool {
        let cap = self.caps.holders;
        take(&mut self.by_uid.entry(uid).or_default().holders, cap)
    }

    pub fn disconnect(&mut self, uid: u32) {
        self.give(uid, |count| &mut count.connections);
    }

    pub fn release(&mut self, uid: u32) {
        self.give(uid, |count| &mut count.holders);
    }

    fn give(&mut self, uid: u32, which: impl Fn(&mut Count) -> &mut usize) {
        if let Some(count) = self.by_uid.get_mut(&uid) {
            let slot = which(count);
            *slot = slot.saturating_sub(1);
            if *count == Count::default() {
                self.by_uid.remove(&uid);
            }
        }
    }
}

fn take(slot: &mut usize, cap: usize) -> bool {
    let room = *slot < cap;
    *slot += usize::from(room);
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_at_its_cap_takes_nothing_from_another() {
        let mut peers = Peers::new(Caps { connections: 2, holders: 1 });
        assert!(peers.connect(7) && peers.connect(7) && !peers.connect(7));
        assert!(peers.connect(8));
        assert!(peers.hold(7) && !peers.hold(7));
        peers.disconnect(7);
        assert!(peers.connect(7));
    }

    #[test]
    fn users_who_left_are_forgotten() {
        let mut peers = Peers::new(Caps::within(1024));
        assert!(peers.connect(7) && peers.hold(7));
        peers.release(7);
        peers.disconnect(7);
        assert!(peers.by_uid.is_empty());
    }
}
