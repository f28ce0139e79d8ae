"""Unmodified PyTorch on the rack this suite was started on (`ghostrack run -- pytest tests/pytorch`)."""

import gc
import os
import subprocess
import sys

import pytest
import torch


def pytest_sessionstart(session):
    if not torch.cuda.is_available():
        pytest.exit("torch sees no GPU; run the suite by `make suites AREAS=pytorch`", returncode=2)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """Ends each test with work done and cached memory given back, so that a failure stays with its test."""
    yield
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


@pytest.fixture
def python():
    """Runs a program in a process of its own on the same rack; gives its output."""

    def run(code, *arguments, code_expected=0, **env):
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code_expected, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    return run
