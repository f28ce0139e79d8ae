//! The owner's side of the protocol: one task that keeps a session with one tray alive. After every reconnect it
//! asserts again what its owner last said. A tray that is not there blocks nobody: changes to it fail at once.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use ghost_model::{Change, Event, Machine};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

use crate::proto::from_owner::Message as Ask;
use crate::proto::from_tray::Message;
use crate::proto::owner_client::OwnerClient;
use crate::proto::{Assertion, FromOwner, FromTray, Hello, Outcome, Telemetry};

/// Between two attempts to reach a tray.
const RETRY: Duration = Duration::from_millis(500);
const BACKLOG: usize = 256;

/// What a tray tells its owner.
#[derive(Debug)]
pub enum News {
    /// A session began; the assertion has been sent.
    Connected {
        tray: u32,
        boot_id: u64,
        machine: Box<Machine>,
    },
    /// The tray has gone, or cannot be reached; tried again by itself.
    Disconnected {
        reason: String,
    },
    Event(Event),
    Telemetry(Telemetry),
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant's message is its documentation")]
pub enum NotMade {
    #[error("the tray cannot be reached")]
    Unreachable,
    /// The model's refusal as JSON, with a `message`.
    #[error("refused: {0}")]
    Refused(String),
}

type Asked = (Change, oneshot::Sender<Result<(), NotMade>>);

/// An owner of facts of one tray. Dropping it ends the session.
#[derive(Debug)]
pub struct Owner {
    facts: watch::Sender<Vec<Change>>,
    changes: mpsc::Sender<Asked>,
}

impl Owner {
    /// Starts a task (on the current tokio runtime) that dials `endpoint` and stays. News that nobody takes are dropped.
    pub fn dial(endpoint: Endpoint, hello: Hello) -> (Owner, mpsc::Receiver<News>) {
        let (facts, asserted) = watch::channel(Vec::new());
        let (changes, asked) = mpsc::channel(BACKLOG);
        let (news, heard) = mpsc::channel(BACKLOG);
        tokio::spawn(keep(Session { endpoint, hello, asserted, asked, news }));
        (Owner { facts, changes }, heard)
    }

    /// The tray's socket as an endpoint.
    ///
    /// # Errors
    /// If the path cannot be part of an address.
    pub fn endpoint(socket: &Path) -> Result<Endpoint, tonic::transport::Error> {
        Endpoint::new(format!("unix:{}", socket.display()))
    }

    /// Says what all facts of this owner are from now on; sent at once and after every reconnect.
    pub fn assert(&self, facts: Vec<Change>) {
        self.facts.send_replace(facts);
    }

    /// Asks for one change.
    ///
    /// # Errors
    /// If the tray is not there or refuses.
    pub async fn change(&self, change: Change) -> Result<(), NotMade> {
        let (done, outcome) = oneshot::channel();
        self.changes.send((change, done)).await.map_err(|_| NotMade::Unreachable)?;
        outcome.await.unwrap_or(Err(NotMade::Unreachable))
    }
}

struct Session {
    endpoint: Endpoint,
    hello: Hello,
    asserted: watch::Receiver<Vec<Change>>,
    asked: mpsc::Receiver<Asked>,
    news: mpsc::Sender<News>,
}

/// Sessions one after another until the owner is dropped.
async fn keep(mut session: Session) {
    loop {
        let reason = match session.once().await {
            Ok(()) => return,
            Err(status) => status.to_string(),
        };
        let _ = session.news.try_send(News::Disconnected { reason });
        let retry = tokio::time::sleep(RETRY);
        tokio::pin!(retry);
        loop {
            tokio::select! {
                () = &mut retry => break,
                asked = session.asked.recv() => match asked {
                    Some((_, done)) => drop(done.send(Err(NotMade::Unreachable))),
                    None => return,
                },
            }
        }
    }
}

impl Session {
    /// One session: Ok when the owner is done, an error when the tray is gone.
    async fn once(&mut self) -> Result<(), tonic::Status> {
        let channel = self.endpoint.connect().await.map_err(|error| tonic::Status::from_error(Box::new(error)))?;
        let (out, outgoing) = mpsc::channel(BACKLOG);
        let say = |id, message| FromOwner { id, message: Some(message) };
        let _ = out.send(say(0, Ask::Hello(self.hello.clone()))).await;
        let mut answers = OwnerClient::new(channel).session(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut waiting: HashMap<u64, oneshot::Sender<Result<(), NotMade>>> = HashMap::new();
        let mut last_id = 0;
        self.asserted.mark_changed();
        loop {
            tokio::select! {
                changed = self.asserted.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    let changes = self.asserted.borrow_and_update().iter().map(json).collect();
                    let _ = out.send(say(0, Ask::Assertion(Assertion { changes }))).await;
                }
                asked = self.asked.recv() => match asked {
                    None => return Ok(()),
                    Some((change, done)) => {
                        last_id += 1;
                        waiting.insert(last_id, done);
                        let _ = out.send(say(last_id, Ask::Change(json(&change)))).await;
                    }
                },
                answer = answers.message() => match answer? {
                    None => return Err(tonic::Status::unavailable("the tray has closed the session")),
                    Some(FromTray { message: Some(Message::Outcome(outcome)) }) => settle(&mut waiting, outcome),
                    Some(answer) => self.hear(answer),
                },
            }
        }
    }

    /// Hands news on; what cannot be read is of a newer version and is skipped.
    fn hear(&self, answer: FromTray) {
        let news = match answer.message {
            Some(Message::Welcome(welcome)) => serde_json::from_str(&welcome.machine)
                .ok()
                .map(|machine| News::Connected { tray: welcome.tray, boot_id: welcome.boot_id, machine }),
            Some(Message::Event(event)) => serde_json::from_str(&event).ok().map(News::Event),
            Some(Message::Telemetry(telemetry)) => Some(News::Telemetry(telemetry)),
            Some(Message::Outcome(_)) | None => None,
        };
        if let Some(news) = news {
            let _ = self.news.try_send(news);
        }
    }
}

fn settle(waiting: &mut HashMap<u64, oneshot::Sender<Result<(), NotMade>>>, outcome: Outcome) {
    if let Some(done) = waiting.remove(&outcome.id) {
        let refused = outcome.refused.into_iter().next();
        let _ = done.send(refused.map_or(Ok(()), |refused| Err(NotMade::Refused(refused.reason))));
    }
}

fn json(change: &Change) -> String {
    serde_json::to_string(change).unwrap_or_default()
}
