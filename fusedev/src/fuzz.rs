//! One entry for fuzzers: bytes in, frames and page contents out of them, all fed to a tray without sockets or files.
//! Nothing it does may panic; it judges no answer beyond that the tray stays sound.

use ghost_engine::busy::Writer;
use ghost_engine::layout::{LAYOUT_HASH, MAX_GPUS};
use ghost_engine::wire::{Frame, Head, Message};

use crate::ledger::HolderId;
use crate::process::Credentials;
use crate::session::Session;
use crate::tray::Tray;

/// A tray, some peers, and a clock that runs as the bytes say.
#[derive(Debug)]
pub struct Fuzz {
    tray: Tray,
    sessions: Vec<Session>,
    pages: Vec<(HolderId, Writer)>,
    now_ns: u64,
}

impl Fuzz {
    /// Three peers: root, a user, and one of a foreign pid namespace.
    pub fn new(tray: Tray) -> Fuzz {
        let pid = std::process::id();
        let peers = [(pid, 0), (pid, 1000), (0, 1000)];
        let sessions = peers.map(|(pid, uid)| Session::new(Credentials { pid, uid })).into();
        Fuzz { tray, sessions, pages: Vec::new(), now_ns: 1 }
    }

    /// What one packet of these bytes does. The first byte chooses peer and action; the rest is the frame or the page.
    pub fn packet(&mut self, bytes: &[u8]) {
        let Some((&choice, rest)) = bytes.split_first() else {
            return;
        };
        match choice % 8 {
            0 => self.beat(rest),
            1 => self.scribble(rest),
            2 => self.hang_up(usize::from(choice / 8)),
            _ => self.frame(usize::from(choice / 8), rest),
        }
        self.check();
    }

    fn frame(&mut self, peer: usize, bytes: &[u8]) {
        let word = |i: usize| u64::from_ne_bytes(std::array::from_fn(|j| bytes.get(8 * i + j).copied().unwrap_or(0)));
        // Ids near the known ones, so that most frames mean something.
        let id = (word(0) % 20) as u32;
        let mut args: [u64; 6] = std::array::from_fn(|i| word(i + 1));
        if id == Message::Hello as u32 && word(0) & 0x100 == 0 {
            (args[0], args[1]) = (LAYOUT_HASH, 0);
        }
        args[0] = if id == Message::Hello as u32 { args[0] } else { args[0] % 12 };
        let data = bytes.get(56..).unwrap_or_default().to_vec();
        let head = Head { id, seq: word(0) as u32, status: 0, len: data.len() as u32, args };
        let peers = self.sessions.len();
        let session = &mut self.sessions[peer % peers];
        let had = session.holder;
        let _ = self.tray.handle(session, &Frame { head, data, fds: Vec::new() });
        if let Some(id) = session.holder.filter(|_| had.is_none()) {
            let fd = self.tray.holders.get(id).and_then(crate::holders::Holder::page_fd);
            let writer = fd.and_then(|fd| Writer::new(fd, self.tray.boot_id).ok());
            self.pages.extend(writer.map(|writer| (id, writer)));
        }
        for id in self.tray.take_evicted() {
            self.tray.release(id);
        }
        self.tray.news.clear();
    }

    fn beat(&mut self, bytes: &[u8]) {
        let step: u64 = bytes.iter().take(5).fold(0, |step, b| step << 8 | u64::from(*b));
        self.now_ns = self.now_ns.saturating_add(step);
        self.tray.tick(self.now_ns);
        self.tray.watch_busy(self.now_ns);
    }

    fn scribble(&mut self, bytes: &[u8]) {
        let word = |i: usize| {
            u64::from_ne_bytes(std::array::from_fn(|j| {
                bytes.get((8 * i + j) % bytes.len().max(1)).copied().unwrap_or(0)
            }))
        };
        for (_, page) in &self.pages {
            for gpu in 0..MAX_GPUS {
                page.edit(gpu, |g| {
                    for (i, engine) in g.engines.iter_mut().enumerate() {
                        engine.done.busy_ns = word(i);
                        engine.done.memory_ns = word(i + 1);
                        engine.done.energy_nanojoules = word(i + 2);
                        (engine.open[0].start_ns, engine.open[0].end_ns, engine.open[0].busy_ns) =
                            (word(i + 3), word(i + 4), word(i + 5));
                    }
                    g.link_tx_bytes.fill(word(9));
                    g.hca_rx_bytes.fill(word(10));
                    g.pcie_rx_bytes = word(11);
                });
            }
        }
    }

    fn hang_up(&mut self, peer: usize) {
        let peers = self.sessions.len();
        let session = &mut self.sessions[peer % peers];
        let peer = session.peer;
        let old = std::mem::replace(session, Session::new(peer));
        self.pages.retain(|(id, _)| Some(*id) != old.holder);
        if let Some(id) = old.holder {
            self.tray.release(id);
        }
    }

    /// What must hold whatever was sent.
    fn check(&self) {
        let facts = self.tray.publisher.draft();
        for (gpu, facts) in facts.gpus.iter().enumerate() {
            let usable = self.tray.hardware.profile.memory.usable_bytes();
            assert!(self.tray.ledger.used_bytes(gpu) <= usable, "more memory than there is");
            assert!(facts.live.gpu_utilization <= 100 && facts.live.memory_utilization <= 100, "over 100 %");
            let most = self.tray.hardware.profile.power.limit_max_milliwatts;
            assert!(facts.live.power_instant_milliwatts <= most, "more power than the limit");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvl8;
    use crate::peers::Caps;
    use proptest::prelude::*;

    fn fuzz() -> Fuzz {
        Fuzz::new(Tray::new(nvl8(), 7, Caps { connections: 8, holders: 3 }, 1).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn no_packet_and_no_page_breaks_the_tray(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..120),
        ) {
            let mut fuzz = fuzz();
            packets.iter().for_each(|packet| fuzz.packet(packet));
        }
    }

    #[test]
    fn changes_in_every_order_leave_the_tray_sound() {
        let mut fuzz = fuzz();
        let hello: Vec<u8> = [3u8].into_iter().chain(1u64.to_ne_bytes()).chain([0; 48]).collect();
        fuzz.packet(&hello);
        let changes = [
            r#"{"change":"tray_power","action":"off"}"#,
            r#"{"change":"tray_power","action":"cycle"}"#,
            r#"{"change":"gpu_lost","gpu":3}"#,
            r#"{"change":"xid","gpu":3,"code":95,"pid":4294967295,"time_ns":18446744073709551615}"#,
            r#"{"change":"ecc_errors","gpu":0,"location":"sram","severity":"uncorrected","count":18446744073709551615}"#,
            r#"{"change":"inlet_offset","offset_millidegrees":70000}"#,
            r#"{"change":"clique_assign","gpu":1,"clique":4294967295}"#,
            r#"{"change":"clocks_lock","gpu":0,"min_mhz":120,"max_mhz":2062}"#,
        ];
        for round in 0..64usize {
            let change = changes[(round * 7 + round / 8) % changes.len()];
            let mut packet = vec![3u8];
            packet.extend(u64::from(Message::Apply as u32).to_ne_bytes());
            packet.extend([0; 48]);
            packet.extend(change.as_bytes());
            fuzz.packet(&packet);
            fuzz.packet(&[0, 1, 0, 0, 0, round as u8]);
        }
        assert!(fuzz.tray.hardware.wear.iter().any(|wear| wear.fault_epoch > 0));
    }
}
