"""Streams run side by side, events order and time them."""

import itertools

import pytest
import torch
from support import timed


@pytest.fixture
def matrix():
    return torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)


def test_an_event_behind_work_is_not_complete_at_once_and_is_after_waiting(matrix):
    event = torch.cuda.Event()
    for _ in range(200):
        matrix @ matrix
    event.record()
    assert not event.query()
    event.synchronize()
    assert event.query()


def test_an_event_that_was_never_recorded_is_complete():
    assert torch.cuda.Event().query()


def test_a_stream_is_busy_until_its_work_is_done(matrix):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(200):
            matrix @ matrix
    assert not stream.query()
    stream.synchronize()
    assert stream.query()


def test_a_device_synchronize_waits_for_every_stream(matrix):
    streams = [torch.cuda.Stream() for _ in range(4)]
    for stream in streams:
        with torch.cuda.stream(stream):
            for _ in range(20):
                matrix @ matrix
    torch.cuda.synchronize()
    assert all(stream.query() for stream in streams)


def test_a_stream_that_waits_for_an_event_starts_after_it(matrix):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    done, begun = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(first):
        for _ in range(50):
            matrix @ matrix
        done.record()
    with torch.cuda.stream(second):
        second.wait_event(done)
        begun.record()
    torch.cuda.synchronize()
    assert done.elapsed_time(begun) >= 0


def test_a_side_stream_without_a_wait_does_not_stand_behind_the_other(matrix):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        for _ in range(200):
            matrix @ matrix
    with torch.cuda.stream(second):
        passed = torch.cuda.Event()
        passed.record()
    passed.synchronize()
    assert not first.query()
    torch.cuda.synchronize()


def test_big_products_on_two_streams_take_as_long_as_one_after_another(matrix):
    one_after_another = timed(lambda: [matrix @ matrix for _ in range(40)])
    streams = [torch.cuda.Stream() for _ in range(2)]

    def side_by_side():
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(20):
                    matrix @ matrix
            torch.cuda.current_stream().wait_stream(stream)

    assert timed(side_by_side) == pytest.approx(one_after_another, rel=0.1)


def test_a_copy_overlaps_with_computing(matrix):
    host = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
    target = torch.empty_like(host, device="cuda")
    copies, stream = 4, torch.cuda.Stream()
    copying = timed(lambda: [target.copy_(host, non_blocking=True) for _ in range(copies)])
    products = max(1, round(copying / timed(lambda: matrix @ matrix)))
    computing = timed(lambda: [matrix @ matrix for _ in range(products)])

    def both():
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(copies):
                target.copy_(host, non_blocking=True)
        for _ in range(products):
            matrix @ matrix
        torch.cuda.current_stream().wait_stream(stream)

    assert timed(both) < 0.8 * (copying + computing)


def test_elapsed_time_adds_up_over_events_in_between(matrix):
    events = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
    events[0].record()
    for event in events[1:]:
        for _ in range(10):
            matrix @ matrix
        event.record()
    torch.cuda.synchronize()
    parts = sum(one.elapsed_time(next_one) for one, next_one in itertools.pairwise(events))
    assert events[0].elapsed_time(events[4]) == pytest.approx(parts, rel=0.01)


def test_elapsed_time_of_an_unfinished_event_is_refused(matrix):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(200):
        matrix @ matrix
    end.record()
    with pytest.raises(RuntimeError, match="must be completed"):
        start.elapsed_time(end)
    torch.cuda.synchronize()


def test_stream_priorities_are_accepted():
    low, high = torch.cuda.Stream.priority_range()
    assert high <= low
    assert torch.cuda.Stream(priority=high).priority == high


def test_the_default_stream_waits_for_work_it_was_told_of(matrix):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.full((4,), 5, device="cuda", dtype=torch.int64)
    torch.cuda.current_stream().wait_stream(side)
    x.record_stream(torch.cuda.current_stream())
    assert x.tolist() == [5] * 4
