"""Many launches, threads and allocations: nothing grows, nothing tears."""

import threading

import pytest
import torch
from torch import nn


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def grown_by(work, rounds):
    """Bytes of host memory the later rounds took beyond the first ones."""
    for _ in range(rounds):
        work()
    torch.cuda.synchronize()
    before = resident_bytes()
    for _ in range(rounds):
        work()
    torch.cuda.synchronize()
    return resident_bytes() - before


MIB = 1 << 20


def test_launches_take_no_memory_that_stays():
    x = torch.zeros(1 << 20, device="cuda")
    assert grown_by(lambda: x.add_(1), 50_000) < 8 * MIB


def test_small_copies_take_no_memory_that_stays():
    assert grown_by(lambda: torch.tensor([1, 2, 3], device="cuda").tolist(), 10_000) < 8 * MIB


def test_events_and_streams_take_no_memory_that_stays():
    def work():
        stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
        event.record(stream)
        event.synchronize()

    assert grown_by(work, 10_000) < 8 * MIB


def test_training_takes_no_memory_that_stays():
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randn(32, 64, device="cuda")

    def step():
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    assert grown_by(step, 500) < 8 * MIB


def in_threads(work, count):
    errors = []

    def run(number):
        try:
            work(number)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            errors.append(f"thread {number}: {error}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not errors and not any(thread.is_alive() for thread in threads)


def test_eight_threads_on_their_own_streams_keep_their_values_apart():
    def work(number):
        with torch.cuda.stream(torch.cuda.Stream()):
            for round_ in range(200):
                x = torch.full((17,), number * 1000 + round_, device="cuda")
                y = torch.cat([x, x])
                assert y.tolist() == [number * 1000 + round_] * 34

    in_threads(work, 8)


def test_threads_on_different_gpus_do_not_meet():
    def work(number):
        for round_ in range(200):
            x = torch.tensor([number, round_], device=f"cuda:{number % 4}")
            assert x.device.index == number % 4 and x.tolist() == [number, round_]

    in_threads(work, 8)


@pytest.mark.long
def test_a_million_launches_take_no_memory_that_stays():
    x = torch.zeros(1 << 20, device="cuda")
    assert grown_by(lambda: x.add_(1), 1_000_000) < 8 * MIB
