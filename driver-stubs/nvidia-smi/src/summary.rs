//! The default table in the layout of driver 580.
//! Gathering is one function, drawing the rest: drawing asks no library.

use crate::cell::{Cell, mebibytes};
use crate::fields;
use crate::nvml::{Failure, Gpu, NOT_SUPPORTED};

/// A GPU's three lines.
#[derive(Clone, Debug)]
pub struct Row {
    pub index: Cell,
    pub name: Cell,
    pub persistence: Cell,
    pub bus_id: Cell,
    pub display: Cell,
    pub ecc: Cell,
    pub fan: Cell,
    pub temperature: Cell,
    pub state: Cell,
    pub draw: Cell,
    pub cap: Cell,
    pub used: Cell,
    pub total: Cell,
    pub utilization: Cell,
    pub compute: Cell,
    pub mig: Cell,
    pub processes: Result<Vec<Process>, Failure>,
}

/// A line of the second table.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    pub used: u64,
}

/// The table, and the failure that ended it early.
#[derive(Debug)]
pub struct Drawn {
    pub text: String,
    pub failure: Option<Failure>,
}

const FULL: usize = 89;
const RULE: &str = "+-----------------------------------------+------------------------+----------------------+\n";
const HEAD: &str = "\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
";
const PROCESS_HEAD: &str = "\
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
";
/// Longest process name; of a longer one the end is shown.
const NAME_WIDTH: usize = 35;
const ERR: &str = "ERR!";

impl Row {
    pub fn read(gpu: &Gpu<'_>) -> Row {
        let field = |name: &str| fields::find(name).map_or_else(|| Ok(String::new()), |field| field.read(gpu));
        Row {
            index: field("index"),
            name: field("name"),
            persistence: field("persistence_mode"),
            bus_id: field("pci.bus_id"),
            display: field("display_active"),
            ecc: field("ecc.errors.uncorrected.volatile.total"),
            fan: field("fan.speed"),
            temperature: field("temperature.gpu"),
            state: field("pstate"),
            draw: gpu.u32(c"nvmlDeviceGetPowerUsage").map(|milliwatts| (milliwatts / 1000).to_string()),
            cap: gpu.u32(c"nvmlDeviceGetEnforcedPowerLimit").map(|milliwatts| (milliwatts / 1000).to_string()),
            used: field("memory.used"),
            total: field("memory.total"),
            utilization: field("utilization.gpu"),
            compute: field("compute_mode"),
            mig: field("mig.mode.current"),
            processes: gpu.processes().map(|list| list.into_iter().map(|row| Process::read(gpu, row)).collect()),
        }
    }

    fn lines(&self) -> String {
        let index = or(&self.index, |index| format!("{index:>4} "), " ERR!");
        let persistence = or(&self.persistence, |mode| on_off(mode, "On ", "Off"), ERR);
        let display = or(&self.display, |mode| on_off(mode, "On ", "Off"), ERR);
        let fan = or(&self.fan, |percent| format!("{percent}%"), "N/A");
        let temperature = or(&self.temperature, |celsius| format!("{celsius}C"), ERR);
        let state = or(&self.state, |state| format!("{state:>6}"), " ERR! ");
        let (draw, cap) = (or(&self.draw, |w| format!("{w}W"), ERR), or(&self.cap, |w| format!("{w}W"), "ERR! "));
        let utilization = or(&self.utilization, |percent| format!("{percent}%"), ERR);
        let compute = or(&self.compute, |mode| short_mode(mode).to_owned(), ERR);
        let (name, bus, mig) = (plain(&self.name), plain(&self.bus_id), plain(&self.mig));
        let (memory, ecc) = (self.memory(), plain(&self.ecc));
        format!(
            "|{index} {name:<30.30}{persistence:>4} |   {bus:<16}{display:>4} |{ecc:>21} |\n\
             |{fan:>4}{temperature:>6}{state}{draw:>16} / {cap:>5} |{memory}|{utilization:>8}{compute:>13} |\n\
             |{:41}|{:24}|{mig:>21} |\n",
            "", ""
        )
    }

    fn memory(&self) -> String {
        match (&self.used, &self.total) {
            (Ok(used), Ok(total)) => format!("{:>11} / {:>9} ", format!("{used}MiB"), format!("{total}MiB")),
            (Err(failure), _) | (_, Err(failure)) => format!(" {:<23.23}", failure.words),
        }
    }
}

impl Process {
    fn read(gpu: &Gpu<'_>, (pid, used): (u32, u64)) -> Process {
        let name = gpu.nvml.process_name(pid).unwrap_or_else(|_| "[Not Found]".to_owned());
        Process { pid, name, used }
    }

    fn line(&self, index: &str) -> String {
        let (name, used) = (cut(&self.name), format!("{}MiB", mebibytes(self.used)));
        let line = format!("{index:>5}   N/A  N/A{:>16}      C   {name:<NAME_WIDTH$}{used:>11}", self.pid);
        format!("|{line:<FULL$}|\n")
    }
}

fn cut(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME_WIDTH {
        return name.to_owned();
    }
    let end: String = letters[letters.len() - (NAME_WIDTH - 3)..].iter().collect();
    format!("...{end}")
}

/// A value as `show` writes it; "N/A" where there is none; `err` where it could not be read.
fn or(cell: &Cell, show: impl FnOnce(&str) -> String, err: &str) -> String {
    match cell {
        Ok(value) => show(value),
        Err(failure) if failure.code == NOT_SUPPORTED => "N/A".to_owned(),
        Err(_) => err.to_owned(),
    }
}

fn plain(cell: &Cell) -> String {
    or(cell, str::to_owned, ERR)
}

fn on_off(mode: &str, on: &str, off: &str) -> String {
    if mode == "Enabled" { on.to_owned() } else { off.to_owned() }
}

fn short_mode(mode: &str) -> &str {
    match mode {
        "Exclusive_Process" => "E. Process",
        "Exclusive_Thread" => "E. Thread",
        other => other,
    }
}

/// Both tables. `time` is the line above them.
pub fn draw(time: &str, driver: &str, cuda: &str, rows: &[Row]) -> Drawn {
    let bar = format!("+{}+\n", "-".repeat(FULL));
    let title = format!(" NVIDIA-SMI {driver:<23}Driver Version: {driver:<15}CUDA Version: {cuda:<9}");
    let mut text = format!("{time:<31}\n{bar}|{title}|\n{RULE}{HEAD}");
    for row in rows {
        text += &row.lines();
        text += RULE;
    }
    text += &format!("\n{bar}{PROCESS_HEAD}");
    let failure = rows.iter().find_map(|row| row.index.clone().err());
    if failure.is_some() {
        text += "Failed to query device index\n";
        return Drawn { text, failure };
    }
    let lines: Vec<String> = rows.iter().flat_map(process_lines).collect();
    match lines.is_empty() {
        true => text += &format!("|{:<FULL$}|\n", "  No running processes found"),
        false => text += &lines.concat(),
    }
    text += &bar;
    Drawn { text, failure }
}

fn process_lines(row: &Row) -> Vec<String> {
    let index = plain(&row.index);
    row.processes.iter().flatten().map(|process| process.line(&index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(text: &str) -> Cell {
        Ok(text.to_owned())
    }

    fn row(index: &str) -> Row {
        Row {
            index: ok(index),
            name: ok("NVIDIA GB200"),
            persistence: ok("Enabled"),
            bus_id: ok("00000008:01:00.0"),
            display: ok("Disabled"),
            ecc: ok("0"),
            fan: Err(Failure { code: NOT_SUPPORTED, words: "Not Supported".to_owned() }),
            temperature: ok("29"),
            state: ok("P0"),
            draw: ok("162"),
            cap: ok("1200"),
            used: ok("0"),
            total: ok("189471"),
            utilization: ok("0"),
            compute: ok("Default"),
            mig: ok("Disabled"),
            processes: Ok(Vec::new()),
        }
    }

    fn draw_all(rows: &[Row]) -> Drawn {
        draw("Mon Nov 30 21:24:17 2026", "580.95.05", "13.0", rows)
    }

    #[test]
    fn an_idle_gpu() {
        insta::assert_snapshot!(draw_all(&[row("0")]).text.replace(' ', "·"));
    }

    #[test]
    fn a_loaded_gpu_and_a_limited_one() {
        let process = |pid, name: &str| Process { pid, name: name.to_owned(), used: 28_234 << 20 };
        let long = "/home/somebody/miniconda3/envs/training/bin/python3.11";
        let (used, total, utilization) = (ok("32362"), ok("189471"), ok("100"));
        let busy = Row {
            used,
            total,
            utilization,
            draw: ok("1127"),
            processes: Ok(vec![process(10309, "./gpu_burn"), process(4_194_304, long)]),
            ..row("0")
        };
        let (persistence, compute, cap) = (ok("Disabled"), ok("Exclusive_Process"), ok("800"));
        insta::assert_snapshot!(
            draw_all(&[busy, Row { persistence, compute, cap, ..row("1") }]).text.replace(' ', "·")
        );
    }

    #[test]
    fn a_gpu_lost_while_it_is_read_shows_errors_and_ends_the_list() {
        let lost = || Err(Failure { code: 15, words: "GPU is lost".to_owned() });
        let lost = Row {
            index: lost(),
            name: lost(),
            persistence: lost(),
            bus_id: lost(),
            display: lost(),
            ecc: lost(),
            temperature: lost(),
            state: lost(),
            draw: lost(),
            cap: lost(),
            used: lost(),
            total: lost(),
            utilization: lost(),
            compute: lost(),
            mig: lost(),
            ..row("1")
        };
        let drawn = draw_all(&[row("0"), lost]);
        assert_eq!(drawn.failure.unwrap().code, 15);
        insta::assert_snapshot!(drawn.text.replace(' ', "·"));
    }
}
