//! The `ghostrack` command: a rack on this machine, and commands on its trays. Each subcommand is a module.
//! It talks to daemons over their sockets and never opens the shared pages for writing.

mod args;
mod child;
mod control;
mod environment;
mod failure;
mod found;
mod ghostd;
mod missing;
mod operate;
mod parts;
mod protocol;
mod rack_source;
mod run;
mod run_dir;
mod say;
mod session;
mod spawn;
mod status;
mod supervise;
mod supervisor;
mod up;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use run_dir::RunDir;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    dispatch(&arguments).unwrap_or_else(|error| failure::report(&error))
}

fn dispatch(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let run_dir = RunDir::find(arguments.run_dir.as_deref())?;
    match &arguments.command {
        Command::Up(args) => up::up(args, &run_dir),
        Command::Down => up::down(&run_dir),
        Command::Run(args) => run::run(args, &run_dir),
        Command::Status(args) => status::run(args, &run_dir),
        Command::Env(args) => run::env(args, &run_dir),
        Command::Shell(args) => run::shell(args, &run_dir),
        Command::Missing => missing::run(&run_dir),
        Command::Power(args) => operate::power(args, &run_dir),
        Command::Set(args) => operate::set(args, &run_dir),
        Command::Log(args) => operate::log(args, &run_dir),
        Command::Version => operate::version(&run_dir),
        Command::Supervise(args) => Ok(supervise::run(args, run_dir)),
    }
}
