//! `ghostrack missing`: functions that programs called and that have no implementation, from the rack or the last `run`.
//! Lines are `count library function`, as ghostd counts them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::found::Found;
use crate::ghostd;
use crate::protocol::Phase;
use crate::run_dir::RunDir;
use crate::say;

pub fn run(run_dir: &RunDir) -> anyhow::Result<ExitCode> {
    let text = match Found::look(run_dir)? {
        Some(found) => of_rack(&found)?,
        None => of_last_run()?,
    };
    if text.is_empty() {
        say::note!("no function without implementation was called");
    } else {
        say::out!("{}", text.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// All trays' lists as one.
fn of_rack(found: &Found) -> anyhow::Result<String> {
    let mut all = BTreeMap::new();
    for tray in found.state().trays.iter().filter(|tray| tray.phase == Phase::Ready) {
        for (call, count) in counts(&ghostd::of_tray(&tray.directory, &tray.name)?.missing()?) {
            *all.entry(call.to_owned()).or_insert(0) += count;
        }
    }
    Ok(lines(all))
}

fn of_last_run() -> anyhow::Result<String> {
    let file = memory()?;
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("{}: cannot be read", file.display())),
    }
}

/// Keeps the list of the last `run` for when its rack is gone. A user without a home keeps none.
pub fn remember(text: &str) -> anyhow::Result<()> {
    let Ok(file) = memory() else {
        return Ok(());
    };
    let dir = file.parent().context("no directory")?;
    if std::fs::create_dir_all(dir).is_err() {
        return Ok(());
    }
    std::fs::write(&file, text).with_context(|| format!("{}: cannot be written", file.display()))
}

/// `$XDG_STATE_HOME/ghostrack/missing`, else below `~/.local/state`.
fn memory() -> anyhow::Result<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    let state = state.context("no rack is up, and without XDG_STATE_HOME and HOME the last run's list was not kept")?;
    Ok(state.join("ghostrack/missing"))
}

/// What was called between two lists.
pub fn since(now: &str, before: &str) -> String {
    let old: BTreeMap<_, _> = counts(before).collect();
    let grown = counts(now).map(|(call, count)| (call, count.saturating_sub(old.get(call).copied().unwrap_or(0))));
    lines(grown.filter(|(_, count)| *count > 0).map(|(call, count)| (call.to_owned(), count)).collect())
}

fn counts(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| line.split_once(' ')).filter_map(|(count, call)| Some((call, count.parse().ok()?)))
}

fn lines(calls: BTreeMap<String, u64>) -> String {
    let mut rows: Vec<_> = calls.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    rows.iter().map(|(call, count)| format!("{count} {call}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_called_meanwhile_is_listed() {
        let (before, now) = ("5 libcuda cuFoo\n1 libcuda cuBar\n", "5 libcuda cuFoo\n4 libcuda cuBar\n2 libnvml x\n");
        assert_eq!(since(now, before), "3 libcuda cuBar\n2 libnvml x\n");
    }
}
