//! Whole programs and daemons: how long they take, how much memory they use.
//! It reads the kernel's own accounting and starts only what it stops.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Build, Row, nanoseconds};

/// Time and memory of starting racks.
pub fn start_up(build: &Build, run_dir: &Path) -> Result<Vec<Row>> {
    Ok(vec![
        rack(build, run_dir, "nvl8", "`ghostrack up` NVL8 to ready, memory of all", "<= 1 s, <= 150 MiB")?,
        rack(build, run_dir, "nvl72", "`ghostrack up` NVL72 to ready, memory of all", "<= 5 s, <= 400 MiB")?,
    ])
}

fn rack(build: &Build, run_dir: &Path, name: &str, what: &'static str, target: &'static str) -> Result<Row> {
    let start = Instant::now();
    let up = quiet(build.ghostrack(run_dir).args(["up", "--rack", name]))?;
    let took = start.elapsed();
    let memory = processes_under(run_dir).iter().filter_map(|pid| pss_kib(*pid)).sum::<u64>();
    quiet(build.ghostrack(run_dir).arg("down"))?;
    let measured = if up { format!("{:.2} s, {} MiB", took.as_secs_f64(), memory / 1024) } else { "failed".to_owned() };
    Ok(Row::new(what, target, measured))
}

/// ghostd with nothing to do.
pub fn idle(_build: &Build, run_dir: &Path) -> Result<Vec<Row>> {
    let Some(pid) = processes_under(run_dir).into_iter().find(|pid| is_ghostd(*pid)) else {
        return Ok(vec![Row::new("ghostd idle: CPU, memory", "<= 0.3 %, <= 8 MiB", "no ghostd found")]);
    };
    std::thread::sleep(Duration::from_secs(1));
    let before = cpu_ns(pid).unwrap_or(0);
    let start = Instant::now();
    std::thread::sleep(Duration::from_secs(5));
    let spent = cpu_ns(pid).unwrap_or(0).saturating_sub(before);
    let percent = spent as f64 * 100.0 / start.elapsed().as_nanos() as f64;
    let memory = pss_kib(pid).unwrap_or(0) as f64 / 1024.0;
    Ok(vec![Row::new("ghostd idle: CPU, memory", "<= 0.3 %, <= 8 MiB", format!("{percent:.2} %, {memory:.1} MiB PSS"))])
}

/// Programs under the redirection.
pub fn programs(build: &Build, run_dir: &Path) -> Result<Vec<Row>> {
    let mut rows = vec![start_cost(build)?, smi(build, run_dir)?];
    rows.extend(eager(build, run_dir)?);
    Ok(rows)
}

/// What the audit library adds to `true`, in pairs so that the machine's drift cancels out.
fn start_cost(build: &Build) -> Result<Row> {
    let audit = build.libraries.join("libghostrack-redirect.so");
    let mut extra: Vec<i64> = Vec::new();
    for _ in 0..200 {
        let plain = timed(&mut Command::new("true"))?;
        let audited = timed(Command::new("true").env("LD_AUDIT", &audit))?;
        extra.push(audited.as_nanos() as i64 - plain.as_nanos() as i64);
    }
    extra.sort_unstable();
    let middle = extra[extra.len() / 2].max(0) as u64;
    Ok(Row::new("extra start-up of a process under the redirection", "<= 0.2 ms", nanoseconds(middle)))
}

fn smi(build: &Build, run_dir: &Path) -> Result<Row> {
    let inner = "import resource,subprocess,time\n\
        t=[]\n\
        for _ in range(20):\n a=time.perf_counter_ns(); subprocess.run(['nvidia-smi'],stdout=subprocess.DEVNULL,check=True); t.append(time.perf_counter_ns()-a)\n\
        print(sorted(t)[10], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let out = build.ghostrack(run_dir).args(["run", "--", "python3", "-c", inner]).output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut words = text.split_whitespace().filter_map(|w| w.parse::<u64>().ok());
    let measured = match (words.next(), words.next()) {
        (Some(ns), Some(kib)) => format!("{}, {} MiB", nanoseconds(ns), kib / 1024),
        _ => "failed".to_owned(),
    };
    Ok(Row::new("whole `nvidia-smi`", "<= 20 ms, <= 15 MiB", measured))
}

/// Eager PyTorch against the meta device.
fn eager(build: &Build, run_dir: &Path) -> Result<Vec<Row>> {
    let Some(python) = &build.python else {
        return Ok(vec![Row::new("PyTorch x.add_(1) against meta", ">= 1.4x", "no .venv with torch: run `make test`")]);
    };
    let script = "import torch,time\n\
        def rate(d):\n x=torch.zeros(4,device=d)\n best=0\n for _ in range(5):\n  a=time.perf_counter()\n  for _ in range(20000): x.add_(1)\n  best=max(best,20000/(time.perf_counter()-a))\n return best\n\
        print(int(rate('cuda')),int(rate('meta')))";
    let out = build.ghostrack(run_dir).args(["run", "--"]).arg(python).args(["-c", script]).output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut words = text.split_whitespace().filter_map(|w| w.parse::<u64>().ok());
    let measured = match (words.next(), words.next()) {
        (Some(cuda), Some(meta)) if meta > 0 => {
            format!("{:.2}x ({} k/s against {} k/s)", cuda as f64 / meta as f64, cuda / 1000, meta / 1000)
        }
        _ => "failed".to_owned(),
    };
    let plain = timed(Command::new(python).args(["-c", "import torch"]))?;
    let inside = timed(build.ghostrack(run_dir).args(["run", "--"]).arg(python).args(["-c", "import torch"]))?;
    let import = format!("{:.2} s inside, {:.2} s outside", inside.as_secs_f64(), plain.as_secs_f64());
    Ok(vec![
        Row::new("PyTorch x.add_(1) a second against the meta device", ">= 1.4x", measured),
        Row::new("`import torch`", "-", import),
    ])
}

fn quiet(command: &mut Command) -> Result<bool> {
    Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success())
}

fn timed(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().context("a program to time cannot be started")?;
    Ok(start.elapsed())
}

/// Pids whose command line names the run directory.
fn processes_under(run_dir: &Path) -> Vec<u32> {
    let wanted = run_dir.to_string_lossy().into_owned();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| contains(&c, wanted.as_bytes())))
        .filter(|pid| *pid != std::process::id())
        .collect()
}

fn contains(hay: &[u8], needle: &[u8]) -> bool {
    hay.windows(needle.len()).any(|w| w == needle)
}

fn is_ghostd(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "ghostd")
}

fn pss_kib(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    text.lines().find(|l| l.starts_with("Pss:"))?.split_whitespace().nth(1)?.parse().ok()
}

fn cpu_ns(pid: u32) -> Option<u64> {
    std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}
