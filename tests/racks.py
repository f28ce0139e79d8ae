"""Racks, commands and questions for every suite.

It knows the `ghostrack` command and nvidia-smi as a user does; it asserts nothing and reads no state of a daemon's own.
"""

import contextlib
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("GHOSTRACK_BIN", ROOT / "target/release"))
GHOSTRACK = BUILD / "ghostrack"
HOLDER = pathlib.Path(__file__).resolve().parent / "holder.py"
PATIENCE_S = 120


def plain_env(**more):
    """This process's environment without the rack its suite runs on."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("GHOSTRACK_", "CUDA_"))}
    for key in (
        "LD_AUDIT",
        "TRITON_LIBCUDA_PATH",
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "PYTORCH_KERNEL_CACHE_PATH",
    ):
        env.pop(key, None)
    env.update({key: str(value) for key, value in more.items()})
    return env


def until(what, probe, patience_s=PATIENCE_S):
    """Polls `probe` until it gives something true and returns that; the time is only a bound on a hang."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"never came: {what}; last seen: {found!r}")


class Process(subprocess.Popen):
    """A process that talks in lines; ended with all it started when the test ends."""

    def read_line(self):
        line = self.stdout.readline()
        if not line:
            raise AssertionError(f"{self.args}: ended with {self.wait()} before it answered")
        return line.strip()

    def say(self, line):
        self.stdin.write(line + "\n")
        self.stdin.flush()
        return self.read_line()

    def finish(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        for pipe in (self.stdin, self.stdout):
            if pipe:
                pipe.close()


class Rack:
    """One rack in its own run directory."""

    def __init__(self, run_dir, ghostrack=GHOSTRACK, prefix=(), env=None):
        self.run_dir = pathlib.Path(run_dir)
        self.prefix = [*map(str, prefix), str(ghostrack), "--run-dir", str(self.run_dir)]
        self.env = plain_env() if env is None else env
        self.processes = []

    def command(self, *words, **more):
        """`ghostrack WORDS` to its end."""
        more = {
            "env": self.env,
            "text": True,
            "capture_output": True,
            "timeout": 300,
            "stdin": subprocess.DEVNULL,
        } | more
        return subprocess.run([*self.prefix, *map(str, words)], check=False, **more)

    def must(self, *words, **more):
        done = self.command(*words, **more)
        assert done.returncode == 0, (
            f"ghostrack {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done.stdout

    def up(self, *words):
        self.must("up", *words)
        return self

    def down(self):
        for process in self.processes:
            process.finish()
        return self.command("down")

    def run(self, *words, tray=0, **more):
        return self.command("run", "--tray", tray, "--", *words, **more)

    def python(self, code, *arguments, **more):
        """A Python program on tray 0; its standard output, or the test fails with its errors."""
        return self.must("run", "--", sys.executable, "-c", code, *arguments, **more)

    def start(self, *words, tray=0, env=None):
        """A command on a tray that goes on running."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
        words = [*self.prefix, "run", "--tray", str(tray), "--", *map(str, words)]
        process = Process(words, env=self.env | (env or {}), **pipes)
        self.processes.append(process)
        return process

    def holder(self, *words, **more):
        """A process that holds GPU memory through the driver alone, attached and ready."""
        process = self.start(sys.executable, HOLDER, *words, **more)
        process.holder_pid, *process.child_pids = map(int, process.read_line().split()[1:])
        return process

    def status(self):
        return json.loads(self.must("status", "--json"))

    def tray(self, tray=0):
        """ghostd's own status, or None while it does not serve."""
        return self.status()["trays"][tray]["status"]

    def ghostd_pid(self, tray=0):
        return self.status()["trays"][tray]["pid"]

    def gpu(self, gpu=0, tray=0):
        return self.tray(tray)["gpus"][gpu]

    def pids(self, gpu=0, tray=0):
        return {holder["pid"] for holder in self.tray(tray)["holders"] if holder["gpu"] == gpu}

    def query(self, fields, what="gpu", tray=0):
        """nvidia-smi's answer to --query-WHAT as one dictionary a line."""
        fields = fields.split(",")
        text = self.must(
            "run",
            "--tray",
            tray,
            "--",
            "nvidia-smi",
            f"--query-{what}={','.join(fields)}",
            "--format=csv,noheader,nounits",
        )
        return [dict(zip(fields, map(str.strip, row), strict=True)) for row in csv.reader(text.splitlines())]

    def smi(self, gpu=0, tray=0):
        """The live figures of one GPU as nvidia-smi prints them."""
        fields = "utilization.gpu,power.draw,memory.used,temperature.gpu,clocks.sm,pstate"
        return {key: number(value) for key, value in self.query(fields, tray=tray)[gpu].items()}


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def alive(pid):
    """Whether the process still runs; a zombie does not."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def left_of(run_dir):
    """What a rack of this run directory left on the machine, in words."""
    name = str(run_dir)
    left = [f"file {path}" for path in [pathlib.Path(name)] if path.exists()]
    for kind, table in (("mount", "/proc/self/mountinfo"), ("socket", "/proc/net/unix")):
        left += [f"{kind} {line}" for line in pathlib.Path(table).read_text().splitlines() if name in line]
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            maps = (process / "maps").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        program = pathlib.Path(os.fsdecode(words[0])).name
        if program in ("ghostd", "ghostrack") and any(name in os.fsdecode(word) for word in words):
            left.append(f"process {process.name} {words}")
        elif name in maps:
            left.append(f"mapping in process {process.name}")
    return left
