//! One connection as the tray sees it: who is there, what it has said so far, what is still to be read.
//! It knows no descriptor of the connection itself.

use ghost_engine::wire::{Frame, Head, MAX_DATA, Status};
use std::os::fd::RawFd;

use crate::ledger::HolderId;
use crate::process::Credentials;

/// A connection's state.
#[derive(Debug)]
pub struct Session {
    pub peer: Credentials,
    /// Hello was answered Ok.
    pub greeted: bool,
    /// Set when the peer asked for a process page.
    pub holder: Option<HolderId>,
    /// A long answer being read piece by piece, so that the pieces fit together.
    long: Vec<u8>,
}

impl Session {
    pub fn new(peer: Credentials) -> Session {
        Session { peer, greeted: false, holder: None, long: Vec::new() }
    }

    /// The piece of a long text at `offset`; the text is made anew when reading starts over.
    pub fn piece(&mut self, offset: u64, make: impl FnOnce() -> Vec<u8>) -> Answer {
        if offset == 0 {
            self.long = make();
        }
        let total = self.long.len();
        let start = usize::try_from(offset).unwrap_or(total).min(total);
        let end = total.min(start + MAX_DATA);
        let answer = Answer::ok(&[total as u64]).with_data(&self.long[start..end]);
        if end == total {
            self.long = Vec::new();
        }
        answer
    }
}

/// What ghostd says to a frame.
#[derive(Debug)]
pub struct Answer {
    pub status: Status,
    pub args: [u64; 6],
    pub data: Vec<u8>,
    /// Descriptors of the tray's, to be sent along.
    pub fds: Vec<RawFd>,
}

impl Answer {
    pub fn ok(args: &[u64]) -> Answer {
        let mut answer = Answer::refuse(Status::Ok, "");
        answer.args[..args.len()].copy_from_slice(args);
        answer
    }

    /// Anything but Ok, with the reason as text.
    pub fn refuse(status: Status, reason: impl AsRef<str>) -> Answer {
        Answer { status, args: [0; 6], data: reason.as_ref().as_bytes().to_vec(), fds: Vec::new() }
    }

    pub fn with_data(mut self, data: &[u8]) -> Answer {
        self.data = data[..data.len().min(MAX_DATA)].to_vec();
        self
    }

    /// The head of the reply to `ask`; `None` if the asker wants none.
    pub fn head(&self, ask: &Frame) -> Option<Head> {
        let Head { id, seq, .. } = ask.head;
        (seq != 0).then_some(Head { id, seq, status: self.status as i32, len: 0, args: self.args })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_arrives_whole_although_it_changes_meanwhile() {
        let mut session = Session::new(Credentials { pid: 1, uid: 1 });
        let text: Vec<u8> = (0..MAX_DATA * 2 + 5).map(|i| i as u8).collect();
        let mut read = Vec::new();
        loop {
            let piece = session.piece(read.len() as u64, || text.clone());
            read.extend_from_slice(&piece.data);
            if read.len() as u64 >= piece.args[0] {
                break;
            }
        }
        assert_eq!(read, text);
        assert!(session.piece(u64::MAX, Vec::new).data.is_empty());
    }
}
