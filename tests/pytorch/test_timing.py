"""Simulated time: what events say a piece of work took. Wall-clock time is asserted nowhere."""

import subprocess
import sys

import pytest
import torch
from support import back_to_back, timed

N = 8192
FLOPS = 2 * N**3


@pytest.fixture
def matrices():
    return [torch.empty(N, N, device="cuda", dtype=torch.bfloat16) for _ in range(3)]


def test_two_hundred_products_take_the_sum_of_single_ones_at_1600_teraflops(matrices):
    a, b, out = matrices

    def product():
        torch.mm(a, b, out=out)

    single = min(back_to_back(product, ahead=product) for _ in range(20))
    together = min(back_to_back(lambda: [product() for _ in range(200)], ahead=product) for _ in range(3))
    assert together == pytest.approx(200 * single, rel=0.01)
    assert 1.4e15 < 200 * FLOPS / (together / 1e3) < 1.75e15


def test_an_empty_stretch_between_two_events_takes_next_to_nothing():
    assert 0 <= min(timed(lambda: None) for _ in range(20)) < 0.1


def test_a_memory_bound_kernel_runs_at_the_speed_of_memory():
    x = torch.empty(1 << 32, dtype=torch.uint8, device="cuda").view(torch.bfloat16)
    milliseconds = min(timed(lambda: x.mul_(2)) for _ in range(5))
    terabytes_a_second = 2 * x.nbytes / milliseconds / 1e9
    assert 5 < terabytes_a_second < 8


def test_twice_the_work_takes_twice_the_time(matrices):
    a, b, out = matrices
    half, half_out = a[: N // 2], out[: N // 2]
    whole = min(timed(lambda: torch.mm(a, b, out=out)) for _ in range(10))
    part = min(timed(lambda: torch.mm(half, b, out=half_out)) for _ in range(10))
    assert whole == pytest.approx(2 * part, rel=0.15)


NEIGHBOUR = """
import torch
x = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(x)
print("started", flush=True)
while True:
    for _ in range(100):
        torch.mm(x, x, out=out)
    torch.cuda.synchronize()
"""


def test_two_processes_share_a_gpu(matrices):
    a, b, out = matrices

    def hundred():
        return timed(lambda: [torch.mm(a, b, out=out) for _ in range(100)])

    alone = min(hundred() for _ in range(3))
    with subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdout=subprocess.PIPE, text=True) as neighbour:
        try:
            assert neighbour.stdout.readline() == "started\n"
            shared = [hundred() / alone for _ in range(30)]
        finally:
            neighbour.kill()
    assert sorted(shared)[len(shared) // 2] == pytest.approx(2, rel=0.25), shared
    after = [hundred() / alone for _ in range(10)]
    assert min(after) == pytest.approx(1, rel=0.05), after
