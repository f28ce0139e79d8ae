//! The command line: every subcommand, its arguments, its examples.
//! Nothing is decided here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ghost_model::{GpuIndex, GpuLocation, LinkIndex, PartitionId, PowerAction, TrayIndex};

/// A GB200 rack on this machine, minus the GPUs.
#[derive(Debug, Parser)]
#[command(name = "ghostrack", version, after_help = OVERVIEW)]
pub struct Arguments {
    /// Run directory of the rack [default: $GHOSTRACK_RUN_DIR, else as `ghostrack --help` says]
    #[arg(long, global = true, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

const OVERVIEW: &str = "Examples:
  ghostrack run -- python train.py      one command on an emulated tray, nothing else to do
  ghostrack up                          a rack that stays; then
  ghostrack run --tray 1 -- nvidia-smi
  ghostrack status
  ghostrack down
Run directory: --run-dir, else $GHOSTRACK_RUN_DIR, else /run/ghostrack for root, and for others
$XDG_RUNTIME_DIR/ghostrack or /tmp/ghostrack-UID. Who has no rack of his own uses root's, if one is up.
Exit codes: 0 done, 1 failed, 2 wrong usage; `run` gives the command's own.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the rack and leave it running
    Up(Up),
    /// Stop the rack and remove all it made
    #[command(after_help = "Examples:
  ghostrack down
  ghostrack down --run-dir /tmp/second
Processes that still use the GPUs are counted; their CUDA calls fail from then on.")]
    Down,
    /// Run a command on a tray, starting a rack for it if none is up
    Run(Run),
    /// Show trays, GPUs and who uses them
    Status(Status),
    /// Print the variables of a tray for `eval`
    Env(Env),
    /// Open a shell on a tray, starting a rack for it if none is up
    Shell(Shell),
    /// List functions that programs called and that are not implemented
    #[command(after_help = "Examples:
  ghostrack missing
Lines are: count, library, function; most called first. Without a rack that is up, they are those of the last `ghostrack run`.")]
    Missing,
    /// Switch a tray on, off, or off and on
    Power(Power),
    /// Change a link or the NVLink partitions
    Set(Set),
    /// Show the Xids of all trays
    Log(Log),
    /// Print versions and where the parts are
    #[command(after_help = "Examples:
  ghostrack version")]
    Version,
    #[command(hide = true)]
    Supervise(Supervise),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack up
  ghostrack up --rack nvl72
  ghostrack up --rack my-rack.toml --run-dir /tmp/second    beside the first
  ghostrack up --foreground                                 until Ctrl-C; log on standard error
A rack that is up already is left as it is (exit code 0).")]
pub struct Up {
    /// Rack file (TOML), or the name of a rack that ships with ghostrack (nvl8, nvl72)
    #[arg(long, value_name = "FILE|NAME", default_value = crate::rack_source::DEFAULT)]
    pub rack: PathBuf,
    /// Stay in the foreground and take the rack down at Ctrl-C
    #[arg(long)]
    pub foreground: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack run -- python train.py
  ghostrack run --gpus 2 -- torchrun --nproc-per-node 2 train.py
  ghostrack run --tray 1 nvidia-smi
  ghostrack run --rack my-rack.toml -- ./job.sh             on a rack of its own
The exit code is the command's; 128 + N when signal N ended it, 127 when it was not found, 126 when it cannot run.
Unless set already, TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR and PYTORCH_KERNEL_CACHE_PATH point below
~/.cache/ghostrack, so that no cache made on an emulated GPU is used on a real one.")]
pub struct Run {
    #[command(flatten)]
    pub tray: OnTray,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Which tray, and how much of it.
#[derive(Debug, Args)]
pub struct OnTray {
    /// Tray by index or name
    #[arg(long, value_name = "N", default_value = "0")]
    pub tray: String,
    /// Only the first K GPUs of the tray
    #[arg(long, value_name = "K")]
    pub gpus: Option<u8>,
    /// Start a rack from this file or name for this command, even if one is up
    #[arg(long, value_name = "FILE|NAME")]
    pub rack: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = STATUS_HELP)]
pub struct Status {
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

const STATUS_HELP: &str = "Examples:
  ghostrack status
  ghostrack status --json | jq '.trays[].status.gpus[].power_milliwatts'
With --json, fields may be added and are never renamed:
  up          whether a rack is up here
  run_dir     the run directory
  rack        name of the rack, or null
  supervisor  its pid, or null where this user may not ask it
  trays[]     tray, name, gpus, directory, desired (on|off), phase (off|starting|ready|stopping|waiting), pid,
              restarts, last_exit, and status: ghostd's own (null while it does not run):
              rung, rung_reason, version, boot_id, uptime_seconds, host_behind_milliseconds, power_on,
              missing_count, unredirected[], holders[] (gpu, pid, uid, name, used_bytes, ...),
              gpus[] (index, uuid, memory_used_bytes, gpu_utilization_percent, power_milliwatts,
              temperature_millicelsius, links_up, links[], clique, partition, xid_count, ...)";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  eval \"$(ghostrack env)\"
  eval \"$(ghostrack env --tray 1)\"
The rack must be up (`ghostrack up`). A new shell is without the variables.")]
pub struct Env {
    /// Tray by index or name
    #[arg(long, value_name = "N", default_value = "0")]
    pub tray: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack shell
  ghostrack shell --tray tray-1 --gpus 1")]
pub struct Shell {
    #[command(flatten)]
    pub tray: OnTray,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack power --tray 1 off            its processes see errors
  ghostrack power --tray 1 on
  ghostrack power --tray 0 cycle --force  as pulling the plug: ghostd is killed")]
pub struct Power {
    /// Tray by index or name
    #[arg(long, value_name = "N")]
    pub tray: String,
    /// What to do
    #[arg(value_enum)]
    pub action: Action,
    /// Do not ask ghostd to end, kill it
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Action {
    On,
    Off,
    Cycle,
}

impl From<Action> for PowerAction {
    fn from(action: Action) -> PowerAction {
        match action {
            Action::On => PowerAction::On,
            Action::Off => PowerAction::Off,
            Action::Cycle => PowerAction::Cycle,
        }
    }
}

#[derive(Debug, Args)]
pub struct Set {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Subcommand)]
pub enum What {
    /// Bring an NVLink up, take it down, or break it
    Link(SetLink),
    /// Create, change or delete an NVLink partition, or assign a clique
    Partition(SetPartition),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack set link --tray 0 --gpu 2 --link 3 down
  ghostrack set link --tray 0 --gpu 2 --link 3 fault --kind signal-loss --sticky
  ghostrack set link --tray 0 --gpu 2 --link 3 up        enabled, and any fault cleared")]
pub struct SetLink {
    /// Tray by index or name
    #[arg(long, value_name = "N", default_value = "0")]
    pub tray: String,
    /// GPU of the tray, from 0
    #[arg(long, value_name = "G", value_parser = |text: &str| text.parse().map(GpuIndex))]
    pub gpu: GpuIndex,
    /// Link of the GPU, from 0
    #[arg(long, value_name = "L", value_parser = |text: &str| text.parse().map(LinkIndex))]
    pub link: LinkIndex,
    /// What becomes of it
    #[arg(value_enum)]
    pub state: LinkAction,
    /// What breaks, with `fault`
    #[arg(long, value_enum, default_value_t = FaultKind::Training)]
    pub kind: FaultKind,
    /// The fault outlives resets and power cycles, with `fault`
    #[arg(long)]
    pub sticky: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LinkAction {
    Up,
    Down,
    Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FaultKind {
    Training,
    SignalLoss,
    BitErrors,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack set partition remove 32766 0:0 0:1           GPUs are written TRAY:GPU
  ghostrack set partition create 1 left 0:0 0:1
  ghostrack set partition add 1 1:0
  ghostrack set partition delete 1
  ghostrack set partition assign --tray 0 --gpu 1 7      clique 7, whatever the partition says
Changes of partitions go to every tray that is on. 32766 is the partition every GPU starts in.")]
pub struct SetPartition {
    #[command(subcommand)]
    pub change: PartitionChange,
}

#[derive(Clone, Debug, Subcommand)]
pub enum PartitionChange {
    /// Make a partition of GPUs that are in none
    Create {
        /// From 1 to 32765
        #[arg(value_parser = partition)]
        id: PartitionId,
        /// What it is called
        name: String,
        /// Its GPUs, such as 0:3
        #[arg(value_parser = location, value_name = "TRAY:GPU")]
        gpus: Vec<GpuLocation>,
    },
    /// Delete a partition; its GPUs are then in none
    Delete {
        /// From 1 to 32766
        #[arg(value_parser = partition)]
        id: PartitionId,
    },
    /// Put GPUs that are in none into a partition
    Add {
        /// From 1 to 32766
        #[arg(value_parser = partition)]
        id: PartitionId,
        /// GPUs, such as 0:3
        #[arg(value_parser = location, value_name = "TRAY:GPU", required = true)]
        gpus: Vec<GpuLocation>,
    },
    /// Take GPUs out of a partition
    Remove {
        /// From 1 to 32766
        #[arg(value_parser = partition)]
        id: PartitionId,
        /// GPUs, such as 0:3
        #[arg(value_parser = location, value_name = "TRAY:GPU", required = true)]
        gpus: Vec<GpuLocation>,
    },
    /// Tell a GPU its clique
    Assign {
        /// Tray by index or name
        #[arg(long, value_name = "N", default_value = "0")]
        tray: String,
        /// GPU of the tray, from 0
        #[arg(long, value_name = "G", value_parser = |text: &str| text.parse().map(GpuIndex))]
        gpu: GpuIndex,
        /// The clique's number
        clique: u32,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ghostrack log
  ghostrack log --tray 1")]
pub struct Log {
    /// Only this tray, by index or name
    #[arg(long, value_name = "N")]
    pub tray: Option<String>,
}

#[derive(Debug, Args)]
pub struct Supervise {
    #[arg(long)]
    pub rack: PathBuf,
    #[arg(long)]
    pub lifeline: bool,
}

fn partition(text: &str) -> Result<PartitionId, String> {
    let id = text.parse().ok().and_then(PartitionId::new);
    id.ok_or_else(|| format!("expected a partition from 1 to {}", PartitionId::DEFAULT))
}

fn location(text: &str) -> Result<GpuLocation, String> {
    let parts = text.split_once(':').and_then(|(tray, gpu)| Some((tray.parse().ok()?, gpu.parse().ok()?)));
    let (tray, gpu) = parts.ok_or("expected TRAY:GPU, such as 0:3")?;
    Ok(GpuLocation { tray: TrayIndex(tray), gpu: GpuIndex(gpu) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_follows_the_command_belongs_to_it() {
        let parsed = Arguments::try_parse_from(["ghostrack", "run", "--tray", "1", "sh", "-c", "x", "--run-dir", "d"]);
        let parsed = parsed.unwrap();
        let Command::Run(run) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!((run.tray.tray.as_str(), run.command.len(), parsed.run_dir), ("1", 5, None));
    }

    #[test]
    fn gpus_of_the_domain_are_written_tray_colon_gpu() {
        assert_eq!(location("1:3"), Ok(GpuLocation { tray: TrayIndex(1), gpu: GpuIndex(3) }));
        assert!(location("13").is_err() && location("a:b").is_err() && partition("0").is_err());
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Arguments::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let below: Vec<_> = command.get_subcommands().collect();
            let leaves = if below.is_empty() { vec![command] } else { below };
            for leaf in leaves {
                let help = leaf.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Examples:\n") && help.contains(leaf.get_name()), "{}", leaf.get_name());
            }
        }
    }
}
