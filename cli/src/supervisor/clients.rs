//! Those who ask on `rack.sock`: lines in, lines out, and what each still waits for.
//! A client that does not read its answers is dropped; none can make the supervisor wait.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use ghost_model::PowerState;

use crate::protocol::{Answer, Ask, Phase, RackState};

/// Longest line a client may send.
const LONGEST: usize = 64 << 10;
/// A tray that died so often in a row, soon after its start, will not come up by waiting.
pub const HOPELESS: u32 = 3;

/// One connection.
#[derive(Debug)]
pub struct Client {
    pub stream: UnixStream,
    input: Vec<u8>,
    pub waits: Option<Wait>,
    /// It has said all it will; it may still listen.
    pub ended: bool,
    /// It does not listen either.
    gone: bool,
}

/// What an answer waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The tray is as desired, after this many starts at least.
    Power { tray: usize, starts: u32 },
    /// Every tray is as desired; the state told last.
    Follow { told: Option<RackState> },
    /// Every ghostd is gone.
    Stop,
}

impl Client {
    pub fn new(stream: UnixStream) -> io::Result<Client> {
        stream.set_nonblocking(true)?;
        Ok(Client { stream, input: Vec::new(), waits: None, ended: false, gone: false })
    }

    /// The next question, if a whole line is there.
    pub fn next(&mut self) -> Option<Result<Ask, String>> {
        self.fill();
        let end = self.input.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.input.drain(..=end).collect();
        Some(serde_json::from_slice(&line).map_err(|error| format!("not a question: {error}")))
    }

    fn fill(&mut self) {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(n) if n > 0 && self.input.len() <= LONGEST => self.input.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) => return self.ended = true,
                Ok(_) | Err(_) => return self.gone = true,
            }
        }
    }

    /// Nothing more to say to it.
    pub fn is_done(&self) -> bool {
        self.gone || (self.ended && self.waits.is_none())
    }

    pub fn tell(&mut self, answer: &Answer) {
        let mut line = serde_json::to_vec(answer).unwrap_or_default();
        line.push(b'\n');
        self.gone |= self.stream.write_all(&line).is_err();
    }

    /// Answers what it waits for, if that has come.
    pub fn answer_if_due(&mut self, rack: &RackState, starts: &[u32], failures: &[u32]) {
        let answer = match &mut self.waits {
            Some(Wait::Power { tray, starts: at_least }) => {
                power_answer(rack, *tray, starts[*tray] >= *at_least, failures[*tray])
            }
            Some(Wait::Follow { told }) => {
                let settled = rack.trays.iter().all(|tray| tray.settled());
                let hopeless = failures.iter().any(|failures| *failures >= HOPELESS);
                if told.as_ref() != Some(rack) {
                    *told = Some(rack.clone());
                    self.tell(&Answer::rack(rack.clone()));
                }
                if settled || hopeless {
                    self.waits = None;
                }
                None
            }
            Some(Wait::Stop) | None => None,
        };
        if let Some(answer) = answer {
            self.waits = None;
            self.tell(&answer);
        }
    }
}

fn power_answer(rack: &RackState, tray: usize, started: bool, failures: u32) -> Option<Answer> {
    let tray = &rack.trays[tray];
    match (tray.desired, tray.phase) {
        (PowerState::On, Phase::Ready) if started => Some(Answer::rack(rack.clone())),
        (PowerState::Off, Phase::Off) => Some(Answer::rack(rack.clone())),
        (PowerState::On, _) if failures >= HOPELESS => {
            let why = tray.last_exit.as_deref().unwrap_or("ghostd does not start");
            Some(Answer::error(format!("{} does not come up: {why}", tray.name)))
        }
        _ => None,
    }
}
