//! The tray's side of the protocol. It turns a session into requests and a way to answer; what a request does is the
//! tray's to decide, in its own thread. A slow owner is cut off, never waited for.

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::{Request as Call, Response, Status, Streaming};

use crate::proto::from_owner::Message as Ask;
use crate::proto::from_tray::Message;
use crate::proto::owner_server::{Owner, OwnerServer};
use crate::proto::{FromOwner, FromTray, Hello};

/// Messages a slow owner may be behind.
const BACKLOG: usize = 256;

/// One session of one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// What owners want of the tray.
#[derive(Debug)]
pub enum Request {
    /// A session begins; answer with a welcome.
    Opened { session: SessionId, hello: Hello, outlet: Outlet },
    /// Make these changes, answer with an outcome under this id.
    Change { session: SessionId, id: u64, changes: Vec<String> },
    /// The owner has gone. What it asserted stays in force.
    Closed { session: SessionId },
}

/// The way back to one owner. Dropping it ends the session.
#[derive(Clone, Debug)]
pub struct Outlet(mpsc::Sender<Result<FromTray, Status>>);

impl Outlet {
    /// Sends without waiting; false if the owner is gone or too far behind.
    pub fn offer(&self, message: Message) -> bool {
        self.0.try_send(Ok(FromTray { message: Some(message) })).is_ok()
    }
}

/// Serves owners on a listening socket until the process ends; blocks its thread. `deliver` takes requests to the
/// tray and returns false when the tray is no more.
pub fn serve(listener: UnixListener, deliver: impl Fn(Request) -> bool + Send + Sync + 'static) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    listener.set_nonblocking(true)?;
    runtime.block_on(async move {
        let incoming = UnixListenerStream::new(tokio::net::UnixListener::from_std(listener)?);
        let door = Door { deliver: Arc::new(deliver), last: AtomicU64::new(0) };
        tonic::transport::Server::builder().add_service(OwnerServer::new(door)).serve_with_incoming(incoming).await?;
        Ok(())
    })
}

/// Owners cannot be served.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's message is its documentation")]
pub enum Failure {
    #[error("the owners' socket cannot be used")]
    Socket(#[from] std::io::Error),
    #[error("the owners' service has stopped")]
    Service(#[from] tonic::transport::Error),
}

type Deliver = Arc<dyn Fn(Request) -> bool + Send + Sync>;

struct Door {
    deliver: Deliver,
    last: AtomicU64,
}

#[tonic::async_trait]
impl Owner for Door {
    type SessionStream = ReceiverStream<Result<FromTray, Status>>;

    async fn session(&self, call: Call<Streaming<FromOwner>>) -> Result<Response<Self::SessionStream>, Status> {
        let mut asks = call.into_inner();
        let hello = match asks.message().await? {
            Some(FromOwner { message: Some(Ask::Hello(hello)), .. }) => hello,
            _ => return Err(Status::failed_precondition("the first message must be Hello")),
        };
        let session = SessionId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answers) = mpsc::channel(BACKLOG);
        let opened = Request::Opened { session, hello, outlet: Outlet(sender.clone()) };
        if !(self.deliver)(opened) {
            return Err(Status::unavailable("the tray is going away"));
        }
        tokio::spawn(listen(session, asks, Arc::clone(&self.deliver), sender.downgrade()));
        Ok(Response::new(ReceiverStream::new(answers)))
    }
}

/// Hands on what the owner says until either end is gone.
async fn listen(
    session: SessionId,
    mut asks: Streaming<FromOwner>,
    deliver: Deliver,
    outlet: mpsc::WeakSender<Result<FromTray, Status>>,
) {
    while let Ok(Some(FromOwner { id, message })) = asks.message().await {
        let changes = match message {
            Some(Ask::Change(change)) => vec![change],
            Some(Ask::Assertion(assertion)) => assertion.changes,
            Some(Ask::Hello(_)) | None => break,
        };
        // The tray has dropped its outlet: this owner was too slow.
        if outlet.strong_count() == 0 || !deliver(Request::Change { session, id, changes }) {
            break;
        }
    }
    deliver(Request::Closed { session });
}
