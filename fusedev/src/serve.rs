//! The loop: one thread, one epoll, sockets in and out, a timer for the beat. It carries frames to the tray and
//! answers back; it knows nothing of what they mean. No peer can make it wait.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use anyhow::Context;
use ghost_engine::clock::now_ns;
use ghost_engine::wire::{self, Frame};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{SockFlag, SockType, accept4};

use crate::ledger::HolderId;
use crate::owners::Owners;
use crate::process;
use crate::session::Session;
use crate::ticker::Ticker;
use crate::tray::Tray;

/// Frames taken from one client before the others have their turn.
const TURN: usize = 16;

/// What a readiness event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Listener,
    Timer,
    Signal,
    Client(u64),
    Pidfd(HolderId),
    /// The first owner dials.
    Dialled,
    /// Owners have asked something.
    Owners,
}

impl Token {
    const SHIFT: u32 = 56;

    fn to_word(self) -> u64 {
        let (kind, id) = match self {
            Token::Listener => (0, 0),
            Token::Timer => (1, 0),
            Token::Signal => (2, 0),
            Token::Client(id) => (3, id),
            Token::Pidfd(HolderId(id)) => (4, id),
            Token::Dialled => (5, 0),
            Token::Owners => (6, 0),
        };
        kind << Token::SHIFT | id
    }

    fn from_word(word: u64) -> Option<Token> {
        let id = word & ((1 << Token::SHIFT) - 1);
        Some(match word >> Token::SHIFT {
            0 => Token::Listener,
            1 => Token::Timer,
            2 => Token::Signal,
            3 => Token::Client(id),
            4 => Token::Pidfd(HolderId(id)),
            5 => Token::Dialled,
            6 => Token::Owners,
            _ => return None,
        })
    }
}

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    session: Session,
}

/// A tray being served.
#[derive(Debug)]
pub struct Server {
    tray: Tray,
    epoll: Epoll,
    listener: OwnedFd,
    owners: Owners,
    ticker: Ticker,
    signals: SignalFd,
    clients: HashMap<u64, Client>,
    last_client: u64,
    /// Kept free so that a connection can be accepted and refused when descriptors run out.
    spare: Option<OwnedFd>,
}

impl Server {
    /// Takes over the tray and its listening socket. SIGTERM and SIGINT are blocked from here on.
    pub fn new(tray: Tray, listener: OwnedFd, owners: Owners) -> anyhow::Result<Server> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGTERM);
        set.add(Signal::SIGINT);
        set.thread_block().context("block SIGTERM and SIGINT")?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("make an epoll")?;
        let ticker = Ticker::new(now_ns())?;
        let spare = open_null();
        let server =
            Server { tray, epoll, listener, owners, ticker, signals, clients: HashMap::new(), last_client: 0, spare };
        server.watch(&server.listener, Token::Listener)?;
        server.watch(server.ticker.timer(), Token::Timer)?;
        server.watch(&server.signals, Token::Signal)?;
        server.watch(&server.owners.wake(), Token::Owners)?;
        if let Some(listener) = server.owners.listener() {
            server.watch(listener, Token::Dialled)?;
        }
        Ok(server)
    }

    /// Serves until SIGTERM or SIGINT.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        loop {
            let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(error) => return Err(error).context("wait for events"),
            };
            for event in &events[..count] {
                if Token::from_word(event.data()) == Some(Token::Signal) {
                    self.tray.close();
                    return Ok(());
                }
                self.turn(event.data());
            }
        }
    }

    fn turn(&mut self, word: u64) {
        match Token::from_word(word) {
            Some(Token::Listener) => self.accept(),
            Some(Token::Timer) => self.tick(),
            Some(Token::Client(id)) => self.serve_client(id),
            Some(Token::Pidfd(id)) => self.release(id),
            Some(Token::Dialled) => self.start_owners(),
            Some(Token::Owners) => self.owners.serve(&mut self.tray, now_ns()),
            Some(Token::Signal) | None => {}
        }
        self.after_turn();
    }

    /// Whatever the turn was about: who must go goes, and owners hear what changed.
    fn after_turn(&mut self) {
        for evicted in self.tray.take_evicted() {
            self.release(evicted);
        }
        let news = std::mem::take(&mut self.tray.news);
        self.owners.tell(&news);
        self.repace();
    }

    fn start_owners(&mut self) {
        if let Some(listener) = self.owners.listener() {
            let _ = self.epoll.delete(listener);
        }
        if let Err(error) = self.owners.start() {
            tracing::error!(%error, "owners cannot be served");
        }
    }

    fn tick(&mut self) {
        let now = now_ns();
        let due = match self.ticker.fired(now) {
            Ok(due) => due,
            Err(error) => return tracing::error!(%error, "the telemetry timer cannot be set"),
        };
        self.tray.set_behind(due.behind_ns);
        if due.sweep {
            for id in self.tray.holders.gone() {
                self.release(id);
            }
            let done = now_ns();
            self.ticker.sweep_took(done - now, done);
        }
        if due.telemetry {
            self.tray.tick(now);
            self.owners.telemetry(&self.tray, now);
        } else {
            self.tray.watch_busy(now);
        }
    }

    /// Lets the timer run as fast as what is going on needs.
    fn repace(&mut self) {
        let pace = self.tray.pace();
        if let Err(error) = self.ticker.set_pace(pace, now_ns()) {
            tracing::error!(%error, "the telemetry timer cannot be set");
        }
    }

    fn accept(&mut self) {
        let socket = match accept4(self.listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK) {
            // SAFETY: just accepted, owned by nobody else.
            Ok(fd) => unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) },
            Err(nix::errno::Errno::EMFILE | nix::errno::Errno::ENFILE) => return self.shed(),
            Err(_) => return,
        };
        let Ok(peer) = process::credentials(socket.as_raw_fd()) else {
            return;
        };
        if !self.tray.peers.connect(peer.uid) {
            tracing::warn!(uid = peer.uid, "connection refused: this user has as many as it may");
            return;
        }
        self.last_client += 1;
        let id = self.last_client;
        if self.watch(&socket, Token::Client(id)).is_err() {
            self.tray.peers.disconnect(peer.uid);
            return;
        }
        self.clients.insert(id, Client { socket, session: Session::new(peer) });
    }

    /// No descriptor left: closes the oldest waiting connection instead of spinning on it.
    fn shed(&mut self) {
        self.spare = None;
        // SAFETY: a freshly accepted descriptor is owned by nobody else; it is closed at once.
        let shed = accept4(self.listener.as_raw_fd(), SockFlag::SOCK_CLOEXEC)
            .map(|fd| unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
        drop(shed);
        self.spare = open_null();
        tracing::warn!("connection refused: no descriptors left");
    }

    fn serve_client(&mut self, id: u64) {
        for _ in 0..TURN {
            let Some(client) = self.clients.get(&id) else {
                return;
            };
            match wire::receive(client.socket.as_raw_fd(), true) {
                Ok(Some(frame)) => self.answer(id, &frame),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(None) | Err(_) => return self.drop_client(id),
            }
        }
    }

    fn answer(&mut self, id: u64, frame: &Frame) {
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let had_page = client.session.holder.is_some();
        let answer = self.tray.handle(&mut client.session, frame);
        let sent = match answer.head(frame) {
            Some(head) => wire::send(client.socket.as_raw_fd(), head, &answer.data, &answer.fds, true).is_ok(),
            None => true,
        };
        let new_holder = client.session.holder.filter(|_| !had_page);
        let fine = sent && new_holder.is_none_or(|holder| self.watch_holder(id, holder));
        if !fine {
            self.drop_client(id);
        }
    }

    /// Watches the new holder's process; false if it is gone already.
    fn watch_holder(&mut self, client: u64, id: HolderId) -> bool {
        let (Some(client), Some(holder)) = (self.clients.get(&client), self.tray.holders.get_mut(id)) else {
            return false;
        };
        let pidfd = match process::pidfd(client.socket.as_raw_fd(), holder.peer.pid) {
            Ok(pidfd) => pidfd,
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => return true,
            Err(_) => return false,
        };
        let event = EpollEvent::new(EpollFlags::EPOLLIN, Token::Pidfd(id).to_word());
        let watched = self.epoll.add(&pidfd, event).is_ok();
        holder.pidfd = Some(pidfd);
        watched
    }

    fn drop_client(&mut self, id: u64) {
        if let Some(client) = self.clients.remove(&id) {
            self.tray.peers.disconnect(client.session.peer.uid);
            self.tray.hang_up(&client.session);
            drop(client);
        }
    }

    /// The holder is gone: frees everything and closes its connection, which forked children may still have open.
    fn release(&mut self, id: HolderId) {
        self.tray.release(id);
        let connection = self.clients.iter().find(|(_, c)| c.session.holder == Some(id)).map(|(id, _)| *id);
        if let Some(connection) = connection {
            self.drop_client(connection);
        }
    }

    fn watch(&self, fd: &impl AsFd, token: Token) -> nix::Result<()> {
        self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, token.to_word()))
    }
}

fn open_null() -> Option<OwnedFd> {
    std::fs::File::open("/dev/null").ok().map(OwnedFd::from)
}

/// Binds the tray's socket, in the place of a dead ghostd's. The caller has the lock of the directory.
pub fn listen(path: &std::path::Path, kind: SockType, mode: u32) -> anyhow::Result<OwnedFd> {
    use nix::sys::stat::{Mode, umask};
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{}: cannot replace a stale socket", path.display()));
        }
        _ => {}
    }
    // By the mask, so that there is no moment at which more may connect than shall.
    let others = umask(Mode::from_bits_truncate(!mode & 0o777));
    let bound = bind(path, kind);
    umask(others);
    bound.with_context(|| format!("{}: cannot listen here", path.display()))
}

/// A listening, non-blocking socket; long paths go through /proc/self/fd.
fn bind(path: &std::path::Path, kind: SockType) -> io::Result<OwnedFd> {
    use nix::sys::socket::{AddressFamily, Backlog, listen, socket};
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = socket(AddressFamily::Unix, kind, flags, None)?;
    let raw: RawFd = fd.as_raw_fd();
    ghost_engine::client::with_short_path(path, |address, len| {
        // SAFETY: `address` is a filled-in sockaddr_un of `len` bytes.
        match unsafe { libc::bind(raw, std::ptr::from_ref(address).cast(), len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })?;
    listen(&fd, Backlog::MAXCONN)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_trip_through_epoll() {
        let all = [
            Token::Listener,
            Token::Timer,
            Token::Signal,
            Token::Client(9),
            Token::Pidfd(HolderId(7)),
            Token::Dialled,
            Token::Owners,
        ];
        for token in all {
            assert_eq!(Token::from_word(token.to_word()), Some(token));
        }
        assert_eq!(Token::from_word(u64::MAX), None);
    }
}
