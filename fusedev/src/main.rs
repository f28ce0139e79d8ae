//! The daemon: reads its arguments, lays out the tray's directory, serves. Everything else is in the library part.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use ghost_engine::clock::now_ns;
use ghost_model::{KernelLog, Rack, TrayIndex};
use ghostd::hardware::Hardware;
use ghostd::journal::Journal;
use ghostd::nodes::{self, Tree};
use ghostd::owners::Owners;
use ghostd::peers::Caps;
use ghostd::procfs;
use ghostd::serve::{self, Server};
use ghostd::tray::Tray;
use ghostd::xid_log::XidLog;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::socket::SockType;

/// One emulated tray: its GPUs, its device files, its control socket.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Rack file (TOML), or the name of a built-in rack.
    #[arg(long, value_name = "FILE|NAME", default_value = "nvl8")]
    rack: String,
    /// Which tray of the rack this is, from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    tray: u16,
    /// The tray's directory: sockets, device files, logs and state live here.
    #[arg(long, value_name = "DIR")]
    run_dir: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log_to_stderr();
    let (rack, hardware) = match hardware(&arguments) {
        Ok(found) => found,
        Err(error) => return fail(2, &error),
    };
    match run(&arguments.run_dir, &rack, hardware) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(1, &error),
    }
}

fn fail(code: u8, error: &anyhow::Error) -> ExitCode {
    eprintln!("ghostd: {error:#}");
    ExitCode::from(code)
}

fn hardware(arguments: &Arguments) -> anyhow::Result<(Rack, Hardware)> {
    let rack = read_rack(&arguments.rack)?;
    let hardware = Hardware::new(&rack, TrayIndex(arguments.tray))?;
    Ok((rack, hardware))
}

fn run(dir: &Path, rack: &Rack, mut hardware: Hardware) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot make the tray's directory", dir.display()))?;
    let _lock = nodes::lock(dir)?;
    let listener = serve::listen(&dir.join("ghostd.sock"), SockType::SeqPacket, 0o666)?;
    let minors: Vec<u32> = (0..hardware.machine.gpus.len() as u32).collect();
    let proc_files = procfs::files(hardware.profile, &hardware.machine);
    let tree =
        Tree::make(dir, &minors, &proc_files).with_context(|| format!("{}: cannot lay out the tray", dir.display()))?;
    let journal = Journal::new(tree.journal());
    journal.restore(&mut hardware);
    let xid_log = XidLog::new(tree.log().join("xid.log"), rack.kmsg == KernelLog::Host);
    let tray = Tray::new(hardware, new_boot_id()?, Caps::within(descriptors()), now_ns())
        .context("make the facts page (memfd_create)")?
        .with_files(journal, xid_log);
    let owners = serve::listen(&tree.owners_socket(), SockType::Stream, 0o600)?;
    let owners = Owners::new(owners.into()).context("make an eventfd")?;
    let mut server = Server::new(tray, listener, owners)?;
    // Whoever started us may have gone; that is no reason not to serve.
    let _ = writeln!(std::io::stdout(), "ready").and_then(|()| std::io::stdout().flush());
    let served = server.run();
    tree.remove();
    served
}

/// A file of this name, or else a rack that ships with the project.
fn read_rack(name: &str) -> anyhow::Result<Rack> {
    match std::fs::read_to_string(name) {
        Ok(text) => Ok(Rack::parse(&text, name)?),
        Err(error) => match Rack::embedded(name) {
            Some(text) => Ok(Rack::parse(text, name)?),
            None => {
                let known: Vec<_> = Rack::EMBEDDED.iter().map(|(name, _)| *name).collect();
                anyhow::bail!("--rack {name}: {error}; expected a rack file or one of: {}", known.join(", "))
            }
        },
    }
}

fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("GHOSTRACK_LOG").unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false).init();
}

/// As many open files as this process may have, from now on.
fn descriptors() -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return 1024;
    };
    let wanted = hard.min(65_536).max(soft);
    let got = if setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok() { wanted } else { soft };
    usize::try_from(got).unwrap_or(usize::MAX)
}

/// Tells this start from every other; never 0.
fn new_boot_id() -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes).context("read /dev/urandom")?;
    Ok(u64::from_ne_bytes(bytes).max(1))
}
