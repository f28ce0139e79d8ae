//! A tray without a ghostd: one page of facts that stands still, served on a socket as ghostd would.
//! It takes no change in earnest; it only remembers what was said.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ghost_engine::client::with_short_path;
use ghost_engine::facts::Publisher;
use ghost_engine::layout::{Facts, LAYOUT_HASH};
use ghost_engine::wire::{self, Frame, Message, Status};
use ghost_model::Profile;

/// A directory with a socket and device nodes, and the thread that serves it.
#[derive(Debug)]
pub struct StillTray {
    pub directory: PathBuf,
    pub publisher: Mutex<Publisher>,
    pub said: Mutex<Vec<String>>,
    /// What every change is answered.
    pub answer: Mutex<Status>,
}

impl StillTray {
    /// Serves an idle tray with `nodes` device nodes in `directory`.
    pub fn serve(directory: &Path, nodes: usize, edit: impl FnOnce(&mut Facts)) -> io::Result<Arc<StillTray>> {
        let profile = Profile::named("gb200").expect("the profile ships with the model");
        let json = serde_json::to_string(profile).expect("a profile is plain data");
        let mut publisher = Publisher::new(std::process::id().into(), &json)?;
        publisher.publish(|page| {
            crate::facts::idle(page, profile);
            edit(page);
        });
        std::fs::create_dir_all(directory.join("dev"))?;
        for minor in 0..nodes {
            std::fs::write(directory.join(format!("dev/nvidia{minor}")), "")?;
        }
        let listener = listen(&directory.join("ghostd.sock"))?;
        let tray = Arc::new(StillTray {
            directory: directory.to_owned(),
            publisher: Mutex::new(publisher),
            said: Mutex::default(),
            answer: Mutex::new(Status::Ok),
        });
        let serving = Arc::clone(&tray);
        std::thread::spawn(move || serving.accept(&listener));
        Ok(tray)
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.join("ghostd.sock")
    }

    fn accept(self: Arc<Self>, listener: &OwnedFd) {
        loop {
            // SAFETY: plain call on a listening socket.
            let fd = unsafe { libc::accept(listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut()) };
            if fd < 0 {
                return;
            }
            // SAFETY: just made by accept, owned by nobody else.
            let peer = unsafe { OwnedFd::from_raw_fd(fd) };
            let tray = Arc::clone(&self);
            std::thread::spawn(move || while tray.answer_one(peer.as_raw_fd()).unwrap_or(false) {});
        }
    }

    /// False when the peer has gone.
    fn answer_one(&self, peer: RawFd) -> io::Result<bool> {
        let Some(asked) = wire::receive(peer, false)? else { return Ok(false) };
        let mut reply = Frame::default();
        (reply.head.id, reply.head.seq) = (asked.head.id, asked.head.seq);
        let mut fds = Vec::new();
        match Message::from_id(asked.head.id) {
            Some(Message::Hello) => {
                reply.head.args = [std::process::id().into(), 4, 1, LAYOUT_HASH, 0, 0];
                fds.push(self.publisher.lock().unwrap().fd());
            }
            Some(Message::Apply) => {
                self.said.lock().unwrap().push(String::from_utf8_lossy(&asked.data).into_owned());
                reply.head.status = *self.answer.lock().unwrap() as i32;
            }
            _ => {}
        }
        if asked.head.seq != 0 {
            wire::send(peer, reply.head, &[], &fds, false)?;
        }
        Ok(true)
    }
}

fn listen(path: &Path) -> io::Result<OwnedFd> {
    // SAFETY: plain call.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, owned by nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    with_short_path(path, |address, len| {
        // SAFETY: `address` is a filled-in sockaddr_un of `len` bytes.
        let bound = unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(address).cast(), len) };
        // SAFETY: plain call on our socket.
        if bound == 0 && unsafe { libc::listen(fd.as_raw_fd(), 64) } == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    })?;
    Ok(fd)
}
