//! The daemon: reads its arguments, lays out the tray's directory, serves. Everything else is in the library part.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use ghost_engine::clock::now_ns;
use ghostd::machine::Machine;
use ghostd::nodes::Tree;
use ghostd::peers::Caps;
use ghostd::serve::{self, Server};
use ghostd::tray::Tray;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

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

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    log_to_stderr();
    let machine = Machine::new(u32::from(arguments.tray));
    std::fs::create_dir_all(&arguments.run_dir)
        .with_context(|| format!("{}: cannot make the tray's directory", arguments.run_dir.display()))?;
    let listener = serve::listen(&arguments.run_dir.join("ghostd.sock"), 0o666)?;
    let minors: Vec<u32> = (0..machine.gpu_count() as u32).collect();
    let tree = Tree::make(&arguments.run_dir, &minors)
        .with_context(|| format!("{}: cannot lay out the tray", arguments.run_dir.display()))?;
    let tray = Tray::new(machine, new_boot_id()?, Caps::within(descriptors()), now_ns())
        .context("make the facts page (memfd_create)")?;
    let mut server = Server::new(tray, listener)?;
    println!("ready");
    std::io::stdout().flush()?;
    let served = server.run();
    tree.remove();
    served
}

fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("GHOSTRACK_LOG").unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
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
