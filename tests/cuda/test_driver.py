"""The driver API itself, called by ctypes: rules of streams, events, host functions, capture and handles.

Runs inside an emulated tray (`ghostrack run -- pytest tests/cuda`). Times are simulated: elapsed times
between events are asserted, wall-clock time never is.
"""

import ctypes as c
import threading
import time

import pytest

MB = 1 << 20
NOT_READY, INVALID_VALUE, INVALID_HANDLE, OUT_OF_MEMORY = 600, 1, 400, 2
NON_BLOCKING = 1
HOST_FUNCTION = c.CFUNCTYPE(None, c.c_void_p)

cu = c.CDLL("libcuda.so.1")
cu.cuMemAlloc_v2.argtypes = [c.POINTER(c.c_uint64), c.c_size_t]
cu.cuMemFree_v2.argtypes = [c.c_uint64]
cu.cuMemsetD8Async.argtypes = [c.c_uint64, c.c_ubyte, c.c_size_t, c.c_void_p]
cu.cuMemsetD32Async.argtypes = [c.c_uint64, c.c_uint, c.c_size_t, c.c_void_p]
cu.cuMemcpyHtoD_v2.argtypes = [c.c_uint64, c.c_void_p, c.c_size_t]
cu.cuMemcpyDtoH_v2.argtypes = [c.c_void_p, c.c_uint64, c.c_size_t]
cu.cuMemcpyDtoDAsync_v2.argtypes = [c.c_uint64, c.c_uint64, c.c_size_t, c.c_void_p]
for name in ("cuStreamSynchronize", "cuStreamQuery", "cuStreamDestroy_v2", "cuEventSynchronize", "cuEventQuery",
             "cuEventDestroy_v2", "cuCtxSetCurrent", "cuGraphDestroy", "cuGraphExecDestroy"):
    getattr(cu, name).argtypes = [c.c_void_p]
for name in ("cuEventRecord", "cuGraphLaunch"):
    getattr(cu, name).argtypes = [c.c_void_p, c.c_void_p]
cu.cuStreamWaitEvent.argtypes = [c.c_void_p, c.c_void_p, c.c_uint]
cu.cuLaunchHostFunc.argtypes = [c.c_void_p, HOST_FUNCTION, c.c_void_p]
cu.cuEventElapsedTime_v2.argtypes = [c.POINTER(c.c_float), c.c_void_p, c.c_void_p]


def ok(code):
    assert code == 0, f"CUresult {code}"


@pytest.fixture(scope="module", autouse=True)
def context():
    handle = c.c_void_p()
    ok(cu.cuInit(0))
    ok(cu.cuDevicePrimaryCtxRetain(c.byref(handle), 0))
    ok(cu.cuCtxSetCurrent(handle))
    yield handle
    ok(cu.cuDevicePrimaryCtxRelease_v2(0))


def stream(flags=0):
    handle = c.c_void_p()
    ok(cu.cuStreamCreate(c.byref(handle), flags))
    return handle


def event(flags=0):
    handle = c.c_void_p()
    ok(cu.cuEventCreate(c.byref(handle), flags))
    return handle


def recorded(on):
    handle = event()
    ok(cu.cuEventRecord(handle, on))
    return handle


def milliseconds(start, end):
    ok(cu.cuEventSynchronize(end))
    value = c.c_float()
    ok(cu.cuEventElapsedTime_v2(c.byref(value), start, end))
    return value.value


@pytest.fixture(scope="module")
def memory(context):
    address = c.c_uint64()
    ok(cu.cuMemAlloc_v2(c.byref(address), 4096 * MB))
    yield address.value
    ok(cu.cuMemFree_v2(address.value))


def work(on, memory, times=20):
    """A few milliseconds of memory traffic."""
    for _ in range(times):
        ok(cu.cuMemsetD8Async(memory, 0, 4096 * MB, on))


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the state never came"
        time.sleep(0.005)


def test_a_stream_is_busy_until_its_simulated_end(memory):
    on = stream(NON_BLOCKING)
    work(on, memory, 100)
    assert cu.cuStreamQuery(on) == NOT_READY
    ok(cu.cuStreamSynchronize(on))
    ok(cu.cuStreamQuery(on))
    ok(cu.cuStreamDestroy_v2(on))


def test_elapsed_time_grows_with_the_work_between_two_events(memory):
    on = stream(NON_BLOCKING)
    start = recorded(on)
    work(on, memory, 10)
    middle = recorded(on)
    work(on, memory, 20)
    end = recorded(on)
    first, second = milliseconds(start, middle), milliseconds(middle, end)
    assert second == pytest.approx(2 * first, rel=0.05)


def test_an_event_never_recorded_is_complete_and_has_no_time():
    fresh = event()
    ok(cu.cuEventQuery(fresh))
    ok(cu.cuEventSynchronize(fresh))
    ok(cu.cuStreamWaitEvent(None, fresh, 0))
    assert cu.cuEventElapsedTime_v2(c.byref(c.c_float()), fresh, fresh) == INVALID_HANDLE


def test_events_without_timing_have_no_elapsed_time():
    on = stream()
    silent = event(2)
    ok(cu.cuEventRecord(silent, on))
    ok(cu.cuEventSynchronize(silent))
    assert cu.cuEventElapsedTime_v2(c.byref(c.c_float()), silent, silent) == INVALID_HANDLE


def test_a_waiting_stream_starts_after_the_record_made_before_the_wait(memory):
    first, second = stream(NON_BLOCKING), stream(NON_BLOCKING)
    start = recorded(first)
    work(first, memory, 10)
    gate = recorded(first)
    ok(cu.cuStreamWaitEvent(second, gate, 0))
    work(first, memory, 50)
    ok(cu.cuEventRecord(gate, first))
    passed = recorded(second)
    assert milliseconds(start, passed) < milliseconds(start, gate) / 3


def test_the_legacy_stream_waits_for_blocking_streams_and_they_for_it(memory):
    blocking, free = stream(), stream(NON_BLOCKING)
    start = recorded(blocking)
    work(blocking, memory, 20)
    after = recorded(blocking)
    legacy = recorded(None)
    aside = recorded(free)
    assert milliseconds(start, legacy) == pytest.approx(milliseconds(start, after), rel=0.05)
    assert milliseconds(start, aside) < milliseconds(start, legacy) / 3
    work(None, memory, 20)
    behind = recorded(blocking)
    assert milliseconds(legacy, behind) > milliseconds(start, after) * 0.8


def test_a_host_function_runs_in_order_and_holds_what_is_behind_it(memory):
    on = stream(NON_BLOCKING)
    gate, seen = threading.Event(), []

    @HOST_FUNCTION
    def hold(_):
        gate.wait(20)
        seen.append("host")

    work(on, memory, 1)
    ok(cu.cuLaunchHostFunc(on, hold, None))
    ok(cu.cuMemsetD32Async(memory, 7, 4, on))
    behind = recorded(on)
    other = stream(NON_BLOCKING)
    ok(cu.cuStreamWaitEvent(other, behind, 0))
    last = recorded(other)
    assert cu.cuEventQuery(last) == NOT_READY and not seen
    gate.set()
    ok(cu.cuEventSynchronize(last))
    assert seen == ["host"]


def test_the_legacy_stream_queues_behind_a_host_function_of_a_blocking_stream(memory):
    on = stream()
    gate = threading.Event()
    hold = HOST_FUNCTION(lambda _: gate.wait(20) and None)
    ok(cu.cuLaunchHostFunc(on, hold, None))
    legacy = recorded(None)
    assert cu.cuEventQuery(legacy) == NOT_READY
    gate.set()
    ok(cu.cuEventSynchronize(legacy))
    ok(cu.cuCtxSynchronize())


def test_host_functions_of_many_streams_all_run():
    ran = []
    add = HOST_FUNCTION(lambda user: ran.append(user))
    streams = [stream(NON_BLOCKING) for _ in range(8)]
    for round_number in range(20):
        for index, on in enumerate(streams):
            ok(cu.cuLaunchHostFunc(on, add, round_number * 8 + index + 1))
    ok(cu.cuCtxSynchronize())
    assert sorted(ran) == list(range(1, 161))
    for index in range(8):
        own = [user for user in ran if (user - 1) % 8 == index]
        assert own == sorted(own)


def test_small_copies_and_memsets_keep_their_bytes(memory):
    source = (c.c_ubyte * 64)(*range(64))
    target = (c.c_ubyte * 128)()
    ok(cu.cuMemcpyHtoD_v2(memory, source, 64))
    ok(cu.cuMemsetD8Async(memory + 16, 9, 8, None))
    ok(cu.cuMemcpyDtoDAsync_v2(memory + 64, memory, 64, None))
    ok(cu.cuMemcpyDtoH_v2(target, memory, 128))
    expected = list(range(16)) + [9] * 8 + list(range(24, 64))
    assert list(target) == expected * 2


def test_freed_memory_never_shows_its_old_bytes():
    first, second = c.c_uint64(), c.c_uint64()
    ok(cu.cuMemAlloc_v2(c.byref(first), 4 * MB))
    ok(cu.cuMemcpyHtoD_v2(first.value, (c.c_ubyte * 64)(*[5] * 64), 64))
    ok(cu.cuMemFree_v2(first.value))
    ok(cu.cuMemAlloc_v2(c.byref(second), 4 * MB))
    target = (c.c_ubyte * 64)(*[1] * 64)
    ok(cu.cuMemcpyDtoH_v2(target, second.value, 64))
    assert list(target) == [0] * 64
    ok(cu.cuMemFree_v2(second.value))


def test_odd_handles_and_addresses_are_errors_and_nothing_else(memory):
    odd = [c.c_void_p(n) for n in (3, 0xdead, 0x1200_0000_0000_0fff, 2**64 - 1)]
    for handle in odd:
        assert cu.cuStreamSynchronize(handle) == INVALID_HANDLE
        assert cu.cuEventQuery(handle) == INVALID_HANDLE
        assert cu.cuGraphLaunch(handle, None) == INVALID_VALUE
    gone = stream()
    ok(cu.cuStreamDestroy_v2(gone))
    assert cu.cuStreamQuery(gone) == INVALID_HANDLE
    assert cu.cuMemFree_v2(0x1234) == INVALID_VALUE
    assert cu.cuMemFree_v2(memory + 512) == INVALID_VALUE
    assert cu.cuMemsetD8Async(memory, 0, 5000 * MB, None) == INVALID_VALUE
    assert cu.cuMemcpyHtoD_v2(memory, None, 16) == INVALID_VALUE
    assert cu.cuMemAlloc_v2(c.byref(c.c_uint64()), 0) == INVALID_VALUE
    assert cu.cuMemAlloc_v2(c.byref(c.c_uint64()), 2**62) == OUT_OF_MEMORY


def test_a_captured_graph_has_its_nodes_and_takes_its_time_at_every_launch(memory):
    on, side = stream(NON_BLOCKING), stream(NON_BLOCKING)
    ok(cu.cuStreamBeginCapture_v2(on, 0))
    work(on, memory, 4)
    fork = recorded(on)
    ok(cu.cuStreamWaitEvent(side, fork, 0))
    work(side, memory, 1)
    join = recorded(side)
    ok(cu.cuStreamWaitEvent(on, join, 0))
    graph, executable, count = c.c_void_p(), c.c_void_p(), c.c_size_t()
    ok(cu.cuStreamEndCapture(on, c.byref(graph)))
    ok(cu.cuGraphGetNodes(graph, None, c.byref(count)))
    assert count.value == 5
    ok(cu.cuGraphInstantiateWithFlags(c.byref(executable), graph, c.c_uint64(0)))
    start = recorded(on)
    ok(cu.cuGraphLaunch(executable, on))
    once = recorded(on)
    ok(cu.cuGraphLaunch(executable, on))
    ok(cu.cuGraphLaunch(executable, on))
    thrice = recorded(on)
    assert milliseconds(once, thrice) == pytest.approx(2 * milliseconds(start, once), rel=0.1)
    ok(cu.cuGraphExecDestroy(executable))
    ok(cu.cuGraphDestroy(graph))


def test_waiting_for_a_capturing_stream_breaks_the_capture(memory):
    on = stream(NON_BLOCKING)
    ok(cu.cuStreamBeginCapture_v2(on, 0))
    work(on, memory, 1)
    assert cu.cuStreamSynchronize(on) == 900
    graph = c.c_void_p()
    assert cu.cuStreamEndCapture(on, c.byref(graph)) == 901
    assert graph.value is None


def test_a_deep_queue_blocks_the_host_instead_of_growing(memory):
    on = stream(NON_BLOCKING)
    for _ in range(3000):
        ok(cu.cuMemsetD8Async(memory, 0, 16 * MB, on))
    ok(cu.cuStreamSynchronize(on))


def test_memory_info_follows_allocations():
    free, total, less, address = c.c_size_t(), c.c_size_t(), c.c_size_t(), c.c_uint64()
    ok(cu.cuMemGetInfo_v2(c.byref(free), c.byref(total)))
    ok(cu.cuMemAlloc_v2(c.byref(address), 1024 * MB))
    ok(cu.cuMemGetInfo_v2(c.byref(less), c.byref(total)))
    assert free.value - less.value == 1024 * MB
    ok(cu.cuMemFree_v2(address.value))
    ok(cu.cuMemGetInfo_v2(c.byref(less), c.byref(total)))
    assert free.value == less.value


def test_a_stream_waits_for_a_value_the_host_writes(memory):
    on = stream(NON_BLOCKING)
    word = c.c_void_p()
    ok(cu.cuMemHostAlloc(c.byref(word), c.c_size_t(64), 0))
    flag = c.c_uint.from_address(word.value)
    flag.value = 0
    cu.cuStreamWaitValue32_v2.argtypes = [c.c_void_p, c.c_uint64, c.c_uint, c.c_uint]
    cu.cuStreamWriteValue32_v2.argtypes = [c.c_void_p, c.c_uint64, c.c_uint, c.c_uint]
    ok(cu.cuStreamWaitValue32_v2(on, word.value, 3, 0))
    ok(cu.cuStreamWriteValue32_v2(on, word.value + 4, 8, 0))
    behind = recorded(on)
    answer = c.c_uint.from_address(word.value + 4)
    assert cu.cuEventQuery(behind) == NOT_READY and answer.value == 0
    flag.value = 3
    ok(cu.cuEventSynchronize(behind))
    assert answer.value == 8


def test_the_last_reference_to_a_user_object_runs_its_destructor():
    ran = []
    destroy = HOST_FUNCTION(lambda user: ran.append(user))
    held, graph = c.c_void_p(), c.c_void_p()
    ok(cu.cuUserObjectCreate(c.byref(held), c.c_void_p(77), destroy, 1, 1))
    ok(cu.cuGraphCreate(c.byref(graph), 0))
    ok(cu.cuGraphRetainUserObject(graph, held, 1, 0))
    ok(cu.cuUserObjectRelease(held, 1))
    assert not ran
    ok(cu.cuGraphDestroy(graph))
    assert ran == [77]
    assert cu.cuUserObjectRelease(held, 1) == INVALID_VALUE


def test_stream_ordered_memory_is_kept_by_its_pool_until_somebody_synchronises():
    free, total, now, address, again = c.c_size_t(), c.c_size_t(), c.c_size_t(), c.c_uint64(), c.c_uint64()
    on = stream(NON_BLOCKING)
    cu.cuMemAllocAsync.argtypes = [c.POINTER(c.c_uint64), c.c_size_t, c.c_void_p]
    cu.cuMemFreeAsync.argtypes = [c.c_uint64, c.c_void_p]
    ok(cu.cuMemGetInfo_v2(c.byref(free), c.byref(total)))
    ok(cu.cuMemAllocAsync(c.byref(address), 64 * MB, on))
    ok(cu.cuMemFreeAsync(address.value, on))
    ok(cu.cuMemAllocAsync(c.byref(again), 64 * MB, on))
    assert again.value == address.value
    ok(cu.cuMemFreeAsync(again.value, on))
    ok(cu.cuMemGetInfo_v2(c.byref(now), c.byref(total)))
    assert free.value - now.value == 64 * MB
    ok(cu.cuStreamSynchronize(on))
    ok(cu.cuMemGetInfo_v2(c.byref(now), c.byref(total)))
    assert now.value == free.value


def test_sizes_that_wrap_or_run_over_an_allocation_are_refused(memory):
    small, pinned = c.c_uint64(), c.c_void_p()
    ok(cu.cuMemAlloc_v2(c.byref(small), 4096))
    ok(cu.cuMemHostAlloc(c.byref(pinned), c.c_size_t(4096), 0))
    source = (c.c_ubyte * 8192)()
    for size in (8192, 2**64 - 64, 2**63):
        assert cu.cuMemcpyHtoD_v2(small.value, source, size) == INVALID_VALUE
        assert cu.cuMemcpyDtoH_v2(source, small.value, size) == INVALID_VALUE
        assert cu.cuMemcpyDtoDAsync_v2(small.value, memory, size, None) == INVALID_VALUE
        assert cu.cuMemsetD8Async(pinned.value, 0, size, None) == INVALID_VALUE
    assert cu.cuMemsetD32Async(small.value, 1, 2**62, None) == INVALID_VALUE
    cu.cuMemsetD2D8_v2.argtypes = [c.c_uint64, c.c_size_t, c.c_ubyte, c.c_size_t, c.c_size_t]
    assert cu.cuMemsetD2D8_v2(small.value, 512, 7, 64, 9) == INVALID_VALUE
    assert cu.cuMemsetD2D8_v2(small.value, 512, 7, 64, 2**40) == INVALID_VALUE
    assert cu.cuMemsetD2D8_v2(small.value, 32, 7, 64, 2) == INVALID_VALUE
    ok(cu.cuMemsetD2D8_v2(small.value, 512, 7, 64, 8))
    ok(cu.cuMemFreeHost(pinned))
    ok(cu.cuMemFree_v2(small.value))


def test_a_copy_queued_before_its_memory_is_freed_runs_and_leaves_nothing():
    on, address, again = stream(NON_BLOCKING), c.c_uint64(), c.c_uint64()
    gate = threading.Event()
    hold = HOST_FUNCTION(lambda _: gate.wait(20) and None)
    pinned = c.c_void_p()
    ok(cu.cuMemHostAlloc(c.byref(pinned), c.c_size_t(64), 0))
    c.memset(pinned, 5, 64)
    ok(cu.cuMemAllocAsync(c.byref(address), 1 * MB, on))
    ok(cu.cuLaunchHostFunc(on, hold, None))
    cu.cuMemcpyHtoDAsync_v2.argtypes = [c.c_uint64, c.c_void_p, c.c_size_t, c.c_void_p]
    ok(cu.cuMemcpyHtoDAsync_v2(address.value, pinned, 64, on))
    ok(cu.cuMemFreeAsync(address.value, on))
    gate.set()
    ok(cu.cuStreamSynchronize(on))
    ok(cu.cuMemAllocAsync(c.byref(again), 1 * MB, on))
    target = (c.c_ubyte * 64)()
    ok(cu.cuMemcpyDtoH_v2(target, again.value, 64))
    assert list(target) == [0] * 64
    ok(cu.cuMemFreeAsync(again.value, on))
    ok(cu.cuStreamSynchronize(on))
