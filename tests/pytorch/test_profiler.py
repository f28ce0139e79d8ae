"""torch.profiler on an emulated GPU: its table, its trace, its times and whose work is whose."""

import json
import threading
from collections import Counter

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
ON_DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}


@pytest.fixture
def events(tmp_path):
    """Exports a profile and gives the events of its Chrome trace that last, by category."""

    def read(done):
        path = tmp_path / "trace.json"
        done.export_chrome_trace(str(path))
        found = {}
        for event in json.loads(path.read_text())["traceEvents"]:
            if event.get("ph") == "X":
                found.setdefault(event["cat"], []).append(event)
        return found

    return read


@pytest.fixture
def square():
    matrix = torch.ones(2048, 2048, device="cuda")
    (matrix @ matrix).add_(1)
    torch.cuda.synchronize()
    return matrix


def profiled(work, **options):
    with profile(activities=BOTH, **options) as done:
        work()
        torch.cuda.synchronize()
    return done


def test_the_table_lists_products_and_elementwise_kernels_with_their_time(square):
    done = profiled(lambda: (square @ square).add_(1))
    averages = {row.key: row for row in done.key_averages()}
    assert any("gemm" in key and row.self_device_time_total > 0 for key, row in averages.items())
    assert any("elementwise_kernel" in key and row.self_device_time_total > 0 for key, row in averages.items())
    assert averages["aten::mm"].device_time_total > averages["aten::add_"].device_time_total > 0
    assert "gemm" in done.key_averages().table(sort_by="cuda_time_total")


def test_kernels_last_as_long_as_events_say(square, events):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    ahead = torch.ones(8192, 8192, device="cuda")
    ahead @ ahead

    def work():
        # The host is done asking before the device is done with this, so no launch is waited for.
        ahead @ ahead
        start.record()
        for _ in range(20):
            square @ square
        end.record()

    kernels = [event for event in events(profiled(work))["kernel"] if "gemm" in event["name"]]
    assert len(kernels) == 21
    assert sum(event["dur"] for event in sorted(kernels, key=lambda event: event["ts"])[1:]) == pytest.approx(1000 * start.elapsed_time(end), rel=0.01)


def test_each_piece_of_work_names_the_call_and_the_operation_that_made_it(square, events):
    def work():
        product = square @ square
        product.add_(1)
        product.zero_()
        product.cpu()

    found = events(profiled(work))
    calls = {event["args"]["correlation"]: event for event in found["cuda_runtime"]}
    operations = {event["args"]["External id"]: event["name"] for event in found["cpu_op"]}
    made_by = {}
    for event in (event for kind in ON_DEVICE for event in found[kind]):
        call = calls[event["args"]["correlation"]]
        assert call["ts"] <= event["ts"], "work starts after the call that asked for it"
        made_by[operations[event["args"]["External id"]]] = call["name"]
    assert made_by == {
        "aten::mm": "cudaLaunchKernel",
        "aten::add_": "cudaLaunchKernel",
        "aten::zero_": "cudaMemsetAsync",
        "aten::copy_": "cudaMemcpyAsync",
    }


def test_calls_lie_inside_the_operations_that_make_them(square, events):
    found = events(profiled(lambda: square.add_(1)))
    [operation] = [event for event in found["cpu_op"] if event["name"] == "aten::add_"]
    [call] = [event for event in found["cuda_runtime"] if event["name"] == "cudaLaunchKernel"]
    assert call["tid"] == operation["tid"]
    assert operation["ts"] - 5 <= call["ts"] <= call["ts"] + call["dur"] <= operation["ts"] + operation["dur"] + 5


def test_copies_and_fills_say_how_much_and_which_way(events):
    host = torch.ones(1 << 20, dtype=torch.uint8)
    pinned = host.pin_memory()

    def work():
        there = host.cuda()
        there.copy_(pinned, non_blocking=True)
        there.zero_()
        there.clone()
        there.cpu()

    work()
    found = events(profiled(work))
    names = Counter(event["name"] for event in found["gpu_memcpy"])
    assert names == {
        "Memcpy HtoD (Pageable -> Device)": 1,
        "Memcpy HtoD (Pinned -> Device)": 1,
        "Memcpy DtoD (Device -> Device)": 1,
        "Memcpy DtoH (Device -> Pageable)": 1,
    }
    assert {event["args"]["bytes"] for event in found["gpu_memcpy"] + found["gpu_memset"]} == {1 << 20}


def test_a_kernel_carries_its_stream_grid_and_registers(events):
    side = torch.cuda.Stream()
    tensor = torch.ones(1 << 20, device="cuda")

    def work():
        tensor.mul_(2)
        with torch.cuda.stream(side):
            tensor.mul_(3)

    work()
    first, second = sorted(events(profiled(work))["kernel"], key=lambda event: event["args"]["correlation"])
    assert (first["args"]["stream"], first["args"]["device"]) == (7, 0)
    assert second["args"]["stream"] != 7
    assert first["args"]["grid"][0] * first["args"]["block"][0] > 0
    assert first["args"]["registers per thread"] > 0


def test_a_graph_launch_shows_each_of_its_nodes(square, events):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (square @ square).add_(1)
    found = events(profiled(graph.replay))
    [launch] = [event for event in found["cuda_runtime"] if event["name"] == "cudaGraphLaunch"]
    assert len(found["kernel"]) == 2
    assert {event["args"]["correlation"] for event in found["kernel"]} == {launch["args"]["correlation"]}


def test_a_schedule_records_its_active_steps_only(square):
    seen = []
    steps = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(
        activities=BOTH, schedule=steps, record_shapes=True, with_stack=True,
        on_trace_ready=lambda done: seen.append([e for e in done.events() if "gemm" in e.name]),
    ) as done:
        for _ in range(8):
            square @ square
            torch.cuda.synchronize()
            done.step()
    assert [len(kernels) for kernels in seen] == [2, 2]


def test_a_profiler_goes_on_and_off_again_and_again(square):
    counts = []
    for _ in range(20):
        done = profiled(lambda: square.add_(1))
        counts.append(sum("elementwise_kernel" in event.name for event in done.events()))
        square.add_(1)
    assert counts == [1] * 20


def test_many_threads_are_all_heard(square, events):
    def work():
        tensor = torch.ones(64, device="cuda")
        for _ in range(500):
            tensor.add_(1)

    def all_of_them():
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    found = events(profiled(all_of_them))
    assert len(found["kernel"]) >= 2000
    launches = Counter(e["args"]["correlation"] for e in found["cuda_runtime"] if e["name"] == "cudaLaunchKernel")
    assert set(launches.values()) == {1}
    assert {event["args"]["correlation"] for event in found["kernel"]} <= set(launches)


def test_more_records_than_a_buffer_holds_are_all_there(events):
    tensor = torch.ones(1, device="cuda")

    def work():
        for _ in range(30_000):
            tensor.add_(1)

    assert len(events(profiled(work))["kernel"]) == 30_000


def test_waits_show_when_they_are_asked_for(square, events):
    from torch._C._profiler import _ExperimentalConfig

    def work():
        square @ square
        torch.cuda.current_stream().synchronize()

    found = events(profiled(work, experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)))
    assert {"Stream Sync", "Context Sync"} <= {event["name"] for event in found["cuda_sync"]}


def test_ranges_and_nvtx_are_taken(square):
    def work():
        with record_function("of mine"):
            torch.cuda.nvtx.range_push("outer")
            square @ square
            torch.cuda.nvtx.range_pop()
            torch.cuda.nvtx.mark("here")

    averages = {row.key: row for row in profiled(work).key_averages()}
    assert averages["of mine"].device_time_total > 0
    with torch.autograd.profiler.emit_nvtx():
        square @ square


def test_a_subscriber_hears_a_call_begin_and_end(python):
    code = """
import ctypes, torch

class Data(ctypes.Structure):
    _fields_ = [
        ("site", ctypes.c_int), ("name", ctypes.c_char_p), ("arguments", ctypes.c_void_p),
        ("status", ctypes.POINTER(ctypes.c_int)), ("symbol", ctypes.c_char_p), ("context", ctypes.c_void_p),
        ("context_number", ctypes.c_uint), ("kept", ctypes.POINTER(ctypes.c_uint64)), ("correlation", ctypes.c_uint),
    ]

cupti = ctypes.CDLL("libcupti.so.13")
heard = []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Data))
def hear(user, domain, number, data):
    heard.append((domain, number, data[0].site, data[0].name))

tensor = torch.ones(8, device="cuda")
subscriber = ctypes.c_void_p()
assert cupti.cuptiSubscribe(ctypes.byref(subscriber), hear, None) == 0
assert cupti.cuptiEnableCallback(1, subscriber, 2, 211) == 0
tensor.add_(1)
tensor.zero_()
assert cupti.cuptiUnsubscribe(subscriber) == 0
tensor.add_(1)
print(heard)
"""
    assert python(code).endswith("[(2, 211, 0, b'cudaLaunchKernel'), (2, 211, 1, b'cudaLaunchKernel')]")


def test_a_profile_may_end_as_the_process_does(python):
    code = """
import atexit, torch
from torch.profiler import profile, ProfilerActivity
done = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])

@atexit.register
def stop():
    done.stop()
    print(sum("elementwise_kernel" in event.name for event in done.events()))

done.start()
torch.zeros(8, device="cuda").add_(1)
"""
    assert python(code).endswith("1")


def test_a_child_of_a_profiled_process_lives(python):
    code = """
import os, torch
from torch.profiler import profile, ProfilerActivity
tensor = torch.ones(8, device="cuda")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as done:
    tensor.add_(1)
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    torch.cuda.synchronize()
print(sum("elementwise_kernel" in event.name for event in done.events()))
"""
    assert python(code).endswith("1")
