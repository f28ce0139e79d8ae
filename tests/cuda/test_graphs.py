"""Graphs by the driver API: nodes and edges by hand, parameters, changes to executable graphs, capture and its rules.

Runs inside an emulated tray (`ghostrack run -- pytest tests/cuda`). Times are simulated: elapsed times
between events are asserted, wall-clock time never is.
"""

import ctypes as c
import os
import subprocess
import sys
import threading

import pytest

MB = 1 << 20
INVALID_VALUE, INVALID_HANDLE, ILLEGAL_STATE, NOT_READY, NOT_SUPPORTED = 1, 400, 401, 600, 801
UNSUPPORTED, INVALIDATED, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, WRONG_THREAD = 900, 901, 903, 904, 905, 906, 908
UPDATE_FAILURE = 910
KERNEL, MEMCPY, MEMSET, HOST, CHILD, EMPTY, WAIT, RECORD, CONDITIONAL = 0, 1, 2, 3, 4, 5, 6, 7, 13
NON_BLOCKING = 1
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
HOST_FUNCTION = c.CFUNCTYPE(None, c.c_void_p)


class Library:
    """libcuda, with every plain integer passed as 64 bits: registers are that wide."""

    def __init__(self):
        self.library = c.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)
        wide = lambda value: c.c_uint64(value) if isinstance(value, int) else value
        return lambda *arguments: function(*map(wide, arguments))


cu = Library()


class Side(c.Structure):
    _fields_ = [(name, c.c_size_t) for name in ("x", "y", "z", "lod")] + [("kind", c.c_uint)] + [
        (name, c.c_uint64) for name in ("host", "device", "array", "reserved", "pitch", "height")]


class Copy(c.Structure):
    _fields_ = [("source", Side), ("target", Side), ("width", c.c_size_t), ("height", c.c_size_t),
                ("depth", c.c_size_t)]


class Fill(c.Structure):
    _fields_ = [("to", c.c_uint64), ("pitch", c.c_size_t), ("value", c.c_uint), ("element", c.c_uint),
                ("width", c.c_size_t), ("height", c.c_size_t)]


class Host(c.Structure):
    _fields_ = [("function", HOST_FUNCTION), ("user", c.c_void_p)]


class Kernel(c.Structure):
    _fields_ = [("function", c.c_void_p), ("grid", c.c_uint * 3), ("block", c.c_uint * 3), ("shared", c.c_uint),
                ("params", c.POINTER(c.c_void_p)), ("extra", c.c_void_p), ("kernel", c.c_void_p),
                ("context", c.c_void_p)]


class Union(c.Union):
    _fields_ = [("words", c.c_uint64 * 29), ("kernel", Kernel), ("fill", Fill), ("host", Host),
                ("handle", c.c_void_p)]


class NodeParams(c.Structure):
    _fields_ = [("kind", c.c_int), ("zero", c.c_int * 3), ("of", Union), ("tail", c.c_uint64)]


class Result(c.Structure):
    _fields_ = [("result", c.c_int), ("node", c.c_void_p), ("source", c.c_void_p)]


class Instantiate(c.Structure):
    _fields_ = [("flags", c.c_uint64), ("stream", c.c_void_p), ("node", c.c_void_p), ("result", c.c_int)]


def ok(code):
    assert code == 0, f"CUresult {code}"


def made(function, *arguments):
    """Calls a function whose first argument takes a handle; returns the handle."""
    handle = c.c_void_p()
    ok(function(c.byref(handle), *arguments))
    return handle


def told(function, handle, kind=c.c_int):
    """Calls a function that answers about a handle."""
    value = kind()
    ok(function(handle, c.byref(value)))
    return value.value


def handles(*nodes):
    return (c.c_void_p * max(len(nodes), 1))(*[node.value for node in nodes])


@pytest.fixture(scope="module", autouse=True)
def context():
    ok(cu.cuInit(0))
    handle = made(cu.cuDevicePrimaryCtxRetain, 0)
    ok(cu.cuCtxSetCurrent(handle))
    yield handle
    ok(cu.cuDevicePrimaryCtxRelease_v2(0))


@pytest.fixture(scope="module")
def memory(context):
    address = c.c_uint64()
    ok(cu.cuMemAlloc_v2(c.byref(address), 4096 * MB))
    yield address.value
    ok(cu.cuMemFree_v2(address.value))


@pytest.fixture
def graph():
    handle = made(cu.cuGraphCreate, 0)
    yield handle
    ok(cu.cuGraphDestroy(handle))


def stream(flags=NON_BLOCKING):
    return made(cu.cuStreamCreate, flags)


def event():
    return made(cu.cuEventCreate, 0)


def recorded(on):
    handle = event()
    ok(cu.cuEventRecord(handle, on))
    return handle


def milliseconds(start, end):
    ok(cu.cuEventSynchronize(end))
    value = c.c_float()
    ok(cu.cuEventElapsedTime_v2(c.byref(value), start, end))
    return value.value


def empty(graph, *after):
    return made(cu.cuGraphAddEmptyNode, graph, handles(*after), len(after))


def fill(graph, to, value, count, *after):
    params = Fill(to, 0, value, 1, count, 1)
    return made(cu.cuGraphAddMemsetNode, graph, handles(*after), len(after), c.byref(params), None)


def host(graph, function, *after):
    params = Host(function, None)
    return made(cu.cuGraphAddHostNode, graph, handles(*after), len(after), c.byref(params))


def executable(graph):
    return made(cu.cuGraphInstantiateWithFlags, graph, 0)


def launched(exec_, on):
    ok(cu.cuGraphLaunch(exec_, on))
    ok(cu.cuStreamSynchronize(on))


def read(address, count=8):
    target = (c.c_ubyte * count)()
    ok(cu.cuMemcpyDtoH_v2(target, address, count))
    return list(target)


def write(address, values):
    ok(cu.cuMemcpyHtoD_v2(address, (c.c_ubyte * len(values))(*values), len(values)))


def nodes_of(graph, function=None):
    function, count = function or cu.cuGraphGetNodes, c.c_size_t()
    ok(function(graph, None, c.byref(count)))
    places = (c.c_void_p * max(count.value, 1))()
    ok(function(graph, places, c.byref(count)))
    return [place for place in places[:count.value]]


# Nodes and edges.


def test_nodes_know_their_kind_their_graph_and_their_neighbours(graph):
    first, second = empty(graph), empty(graph)
    third = empty(graph, first, second)
    assert nodes_of(graph) == [first.value, second.value, third.value]
    assert nodes_of(graph, cu.cuGraphGetRootNodes) == [first.value, second.value]
    assert nodes_of(third, cu.cuGraphNodeGetDependencies) == [first.value, second.value]
    assert nodes_of(first, cu.cuGraphNodeGetDependentNodes) == [third.value]
    assert told(cu.cuGraphNodeGetType, third) == EMPTY
    assert told(cu.cuGraphNodeGetContainingGraph, third, c.c_void_p) == graph.value
    assert [told(cu.cuGraphNodeGetLocalId, node, c.c_uint) for node in (first, second, third)] == [0, 1, 2]
    assert len({told(cu.cuGraphNodeGetToolsId, node, c.c_uint64) for node in (first, second, third)}) == 3
    other = made(cu.cuGraphCreate, 0)
    assert told(cu.cuGraphGetId, graph, c.c_uint) != told(cu.cuGraphGetId, other, c.c_uint)
    ok(cu.cuGraphDestroy(other))


def test_edges_are_added_listed_with_their_annotation_and_removed(graph):
    first, second = empty(graph), empty(graph)
    data = (c.c_ubyte * 8)(1, 0, 1)
    ok(cu.cuGraphAddDependencies_v2(graph, handles(first), handles(second), data, 1))
    assert cu.cuGraphAddDependencies(graph, handles(first), handles(second), 1) == INVALID_VALUE
    source, target, found, count = handles(first), handles(first), (c.c_ubyte * 8)(), c.c_size_t(1)
    ok(cu.cuGraphGetEdges_v2(graph, source, target, found, c.byref(count)))
    assert (source[0], target[0], list(found), count.value) == (first.value, second.value, list(data), 1)
    ok(cu.cuGraphRemoveDependencies_v2(graph, handles(first), handles(second), data, 1))
    ok(cu.cuGraphGetEdges_v2(graph, None, None, None, c.byref(count)))
    assert count.value == 0
    assert cu.cuGraphRemoveDependencies(graph, handles(first), handles(second), 1) == INVALID_VALUE


def test_a_list_of_nodes_is_filled_up_with_null_and_cut_short(graph):
    first, second = empty(graph), empty(graph)
    places, count = (c.c_void_p * 4)(7, 7, 7, 7), c.c_size_t(4)
    ok(cu.cuGraphGetNodes(graph, places, c.byref(count)))
    assert (list(places), count.value) == ([first.value, second.value, None, None], 2)
    count.value = 1
    ok(cu.cuGraphGetNodes(graph, places, c.byref(count)))
    assert (places[0], count.value) == (first.value, 1)


def test_a_destroyed_node_takes_its_edges_with_it_and_is_refused(graph):
    first = empty(graph)
    second = empty(graph, first)
    ok(cu.cuGraphDestroyNode(first))
    assert nodes_of(graph, cu.cuGraphGetRootNodes) == [second.value]
    kind = c.c_int()
    assert cu.cuGraphNodeGetType(first, c.byref(kind)) == INVALID_VALUE
    assert cu.cuGraphDestroyNode(first) == INVALID_VALUE


def test_nodes_of_a_destroyed_graph_are_refused_even_when_another_takes_its_place():
    gone = made(cu.cuGraphCreate, 0)
    node, kind = empty(gone), c.c_int()
    ok(cu.cuGraphDestroy(gone))
    assert cu.cuGraphNodeGetType(node, c.byref(kind)) == INVALID_VALUE
    again = made(cu.cuGraphCreate, 0)
    empty(again)
    assert cu.cuGraphNodeGetType(node, c.byref(kind)) == INVALID_VALUE
    assert cu.cuGraphAddEmptyNode(c.byref(c.c_void_p()), again, handles(node), 1) == INVALID_VALUE
    assert cu.cuGraphDestroy(gone) == INVALID_VALUE
    for odd in (None, 3, 0xdead, 0x1800_0000_0000_0fff, 2**64 - 1):
        assert cu.cuGraphNodeGetType(c.c_void_p(odd), c.byref(kind)) == INVALID_VALUE
    ok(cu.cuGraphDestroy(again))


def test_a_cycle_is_no_executable_graph(graph):
    first = empty(graph)
    second = empty(graph, first)
    ok(cu.cuGraphAddDependencies(graph, handles(second), handles(first), 1))
    params = Instantiate()
    assert cu.cuGraphInstantiateWithParams(c.byref(c.c_void_p()), graph, c.byref(params)) == INVALID_VALUE
    assert params.result == 2


def test_a_clone_has_the_same_shape_and_knows_its_originals(graph):
    first = empty(graph)
    second = empty(graph, first)
    clone = made(cu.cuGraphClone, graph)
    copy = made(cu.cuGraphNodeFindInClone, second, clone)
    assert copy.value in nodes_of(clone) and copy.value != second.value
    assert len(nodes_of(copy, cu.cuGraphNodeGetDependencies)) == 1
    assert cu.cuGraphNodeFindInClone(c.byref(copy), second, graph) == INVALID_VALUE
    ok(cu.cuGraphDestroy(clone))


# Kinds of nodes and their parameters.


def test_fills_and_copies_act_on_kept_data_at_every_launch_in_their_order(graph, memory):
    first = fill(graph, memory, 5, 8)
    copy = Copy(Side(kind=2, device=memory), Side(kind=2, device=memory + 64), 4, 1, 1)
    second = made(cu.cuGraphAddMemcpyNode, graph, handles(first), 1, c.byref(copy), None)
    fill(graph, memory, 6, 2, second)
    assert [told(cu.cuGraphNodeGetType, node) for node in (first, second)] == [MEMSET, MEMCPY]
    exec_, on = executable(graph), stream()
    for _ in range(2):
        write(memory, [1] * 8)
        write(memory + 64, [2] * 8)
        launched(exec_, on)
        assert read(memory) == [6] * 2 + [5] * 6
        assert read(memory + 64) == [5] * 4 + [2] * 4
    ok(cu.cuGraphExecDestroy(exec_))


def test_a_box_is_copied_row_by_row(graph, memory):
    write(memory, list(range(64)))
    write(memory + 64, [0] * 64)
    copy = Copy(Side(x=1, y=1, kind=2, device=memory, pitch=8, height=4),
                Side(kind=2, device=memory + 64, pitch=16, height=2), 3, 2, 2)
    made(cu.cuGraphAddMemcpyNode, graph, handles(), 0, c.byref(copy), None)
    exec_, on = executable(graph), stream()
    launched(exec_, on)
    target = read(memory + 64, 64)
    assert [target[at:at + 3] for at in (0, 16, 32, 48)] == [[9, 10, 11], [17, 18, 19], [41, 42, 43], [49, 50, 51]]
    ok(cu.cuGraphExecDestroy(exec_))


def test_parameters_read_back_and_change_for_later_executable_graphs(graph, memory):
    node, found = fill(graph, memory, 5, 8), Fill()
    before = executable(graph)
    ok(cu.cuGraphMemsetNodeGetParams(node, c.byref(found)))
    assert (found.to, found.value, found.element, found.width, found.height) == (memory, 5, 1, 8, 1)
    found.value = 9
    ok(cu.cuGraphMemsetNodeSetParams(node, c.byref(found)))
    after, on = executable(graph), stream()
    launched(before, on)
    assert read(memory) == [5] * 8
    launched(after, on)
    assert read(memory) == [9] * 8
    assert cu.cuGraphMemcpyNodeGetParams(node, c.byref(Copy())) == INVALID_VALUE
    for exec_ in (before, after):
        ok(cu.cuGraphExecDestroy(exec_))


def test_nodes_are_added_by_the_union_and_read_back_by_it(graph, memory):
    params = NodeParams(kind=MEMSET)
    params.of.fill = Fill(memory, 0, 3, 1, 8, 1)
    node = made(cu.cuGraphAddNode_v2, graph, None, None, 0, c.byref(params))
    assert told(cu.cuGraphNodeGetType, node) == MEMSET
    params.of.fill.value = 4
    ok(cu.cuGraphNodeSetParams(node, c.byref(params)))
    found = NodeParams()
    ok(cu.cuGraphNodeGetParams(node, c.byref(found)))
    assert (found.kind, found.of.fill.to, found.of.fill.value) == (MEMSET, memory, 4)
    params.kind = EMPTY
    assert cu.cuGraphNodeSetParams(node, c.byref(params)) == INVALID_VALUE
    exec_, on = executable(graph), stream()
    launched(exec_, on)
    assert read(memory) == [4] * 8
    ok(cu.cuGraphExecDestroy(exec_))


def test_conditional_nodes_and_graph_memory_are_refused(graph):
    params = NodeParams(kind=CONDITIONAL)
    assert cu.cuGraphAddNode_v2(c.byref(c.c_void_p()), graph, None, None, 0, c.byref(params)) == NOT_SUPPORTED
    assert cu.cuGraphConditionalHandleCreate(c.byref(c.c_uint64()), graph, None, 0, 0) == NOT_SUPPORTED
    params.kind = 99
    assert cu.cuGraphAddNode_v2(c.byref(c.c_void_p()), graph, None, None, 0, c.byref(params)) == INVALID_VALUE
    value = c.c_uint64(7)
    for attribute in range(4):
        ok(cu.cuDeviceGetGraphMemAttribute(0, attribute, c.byref(value)))
        assert value.value == 0
    ok(cu.cuDeviceSetGraphMemAttribute(0, 1, c.byref(value)))
    assert cu.cuDeviceSetGraphMemAttribute(0, 0, c.byref(value)) == INVALID_VALUE
    ok(cu.cuDeviceGraphMemTrim(0))


@pytest.fixture(scope="module")
def kernel(context):
    text = b"""
        .version 8.6
        .target sm_100
        .address_size 64
        .visible .entry nobody_runs_this(.param .u64 to, .param .u32 count) { ret; }
    """
    module = made(cu.cuModuleLoadData, text)
    yield made(cu.cuModuleGetFunction, module, b"nobody_runs_this")
    ok(cu.cuModuleUnload(module))


def launch_of(kernel, to, count, blocks=1):
    """Parameters of a launch, with the arguments kept beside them."""
    arguments = c.c_uint64(to), c.c_uint(count)
    pointers = (c.c_void_p * 2)(*[c.addressof(argument) for argument in arguments])
    params = Kernel(kernel.value, (blocks, 1, 1), (32, 1, 1), 0, c.cast(pointers, c.POINTER(c.c_void_p)))
    params.kept = arguments, pointers
    return params


def arguments_of(params):
    to, count = params.params[0], params.params[1]
    return c.c_uint64.from_address(to).value, c.c_uint.from_address(count).value


def test_a_kernel_node_keeps_its_arguments_by_value(graph, kernel, memory):
    params, found = launch_of(kernel, memory, 8), Kernel()
    node = made(cu.cuGraphAddKernelNode_v2, graph, None, 0, c.byref(params))
    params.kept[0][1].value = 99
    ok(cu.cuGraphKernelNodeGetParams_v2(node, c.byref(found)))
    assert (found.function, list(found.grid), list(found.block)) == (kernel.value, [1, 1, 1], [32, 1, 1])
    assert arguments_of(found) == (memory, 8)
    first = Kernel()
    ok(cu.cuGraphKernelNodeGetParams(node, c.byref(first)))
    assert arguments_of(first) == (memory, 8) and first.kernel is None
    exec_, on = executable(graph), stream()
    write(memory, [1] * 8)
    write(memory + MB, [1] * 8)
    launched(exec_, on)
    assert (read(memory), read(memory + MB)) == ([0] * 8, [1] * 8)
    ok(cu.cuGraphExecKernelNodeSetParams_v2(exec_, node, c.byref(launch_of(kernel, memory + MB, 8))))
    write(memory, [1] * 8)
    launched(exec_, on)
    assert (read(memory), read(memory + MB)) == ([1] * 8, [0] * 8)
    ok(cu.cuGraphExecDestroy(exec_))


def test_a_kernel_node_is_checked_as_a_launch_is(graph, kernel, memory):
    params = launch_of(kernel, memory, 8, blocks=0)
    assert cu.cuGraphAddKernelNode_v2(c.byref(c.c_void_p()), graph, None, 0, c.byref(params)) == INVALID_VALUE
    params = launch_of(kernel, memory, 8)
    params.block[0] = 4096
    assert cu.cuGraphAddKernelNode_v2(c.byref(c.c_void_p()), graph, None, 0, c.byref(params)) == INVALID_VALUE
    params = launch_of(c.c_void_p(0xdead), memory, 8)
    assert cu.cuGraphAddKernelNode_v2(c.byref(c.c_void_p()), graph, None, 0, c.byref(params)) == INVALID_VALUE
    assert nodes_of(graph) == []


def test_launch_attributes_of_kernel_nodes_are_kept_and_copied(graph, kernel, memory):
    add = lambda: made(cu.cuGraphAddKernelNode_v2, graph, None, 0, c.byref(launch_of(kernel, memory, 8)))
    first, second = add(), add()
    priority, found = (c.c_uint64 * 8)(5), (c.c_uint64 * 8)(1)
    ok(cu.cuGraphKernelNodeGetAttribute(first, 8, found))
    assert list(found) == [0] * 8
    ok(cu.cuGraphKernelNodeSetAttribute(first, 8, priority))
    ok(cu.cuGraphKernelNodeCopyAttributes(second, first))
    ok(cu.cuGraphKernelNodeGetAttribute(second, 8, found))
    assert found[0] == 5
    assert cu.cuGraphKernelNodeSetAttribute(empty(graph), 8, priority) == INVALID_VALUE


def test_a_child_graph_is_the_parents_own_copy_and_runs_inline(graph, memory):
    child = made(cu.cuGraphCreate, 0)
    inner = fill(child, memory, 1, 8)
    first = fill(graph, memory, 2, 8)
    node = made(cu.cuGraphAddChildGraphNode, graph, handles(first), 1, child)
    fill(graph, memory + 4, 3, 4, node)
    found = made(lambda place, node: cu.cuGraphChildGraphNodeGetGraph(node, place), node)
    assert found.value != child.value and len(nodes_of(found)) == 1
    assert told(cu.cuGraphNodeGetType, node) == CHILD
    assert cu.cuGraphDestroy(found) == INVALID_VALUE
    ok(cu.cuGraphDestroy(child))
    exec_, on = executable(graph), stream()
    launched(exec_, on)
    assert read(memory) == [1] * 4 + [3] * 4
    params = Fill(memory, 0, 8, 1, 4, 1)
    ok(cu.cuGraphExecMemsetNodeSetParams(exec_, c.c_void_p(nodes_of(found)[0]), c.byref(params), None))
    assert cu.cuGraphExecMemsetNodeSetParams(exec_, inner, c.byref(params), None) == INVALID_VALUE
    launched(exec_, on)
    assert read(memory) == [8] * 4 + [3] * 4
    ok(cu.cuGraphExecDestroy(exec_))


def test_event_nodes_record_and_wait_at_every_launch(graph, memory):
    gate, mark, on, other = event(), event(), stream(), stream()
    waits = made(cu.cuGraphAddEventWaitNode, graph, None, 0, gate)
    node = made(cu.cuGraphAddEventRecordNode, graph, handles(waits), 1, mark)
    assert told(cu.cuGraphEventRecordNodeGetEvent, node, c.c_void_p) == mark.value
    exec_ = executable(graph)
    start = recorded(other)
    for _ in range(10):
        ok(cu.cuMemsetD8Async(memory, 0, 4096 * MB, other))
    ok(cu.cuEventRecord(gate, other))
    ok(cu.cuGraphLaunch(exec_, on))
    assert milliseconds(start, mark) == pytest.approx(milliseconds(start, gate), rel=0.01)
    ok(cu.cuGraphExecDestroy(exec_))


def test_a_host_function_holds_only_what_comes_after_it(graph, memory):
    release, ran, mark, on = threading.Event(), [], event(), stream()

    @HOST_FUNCTION
    def hold(_):
        release.wait(20)
        ran.append("held")

    held = host(graph, hold)
    beside = fill(graph, memory, 7, 8)
    made(cu.cuGraphAddEventRecordNode, graph, handles(beside), 1, mark)
    fill(graph, memory + 8, 7, 8, held)
    exec_ = executable(graph)
    write(memory, [0] * 16)
    ok(cu.cuGraphLaunch(exec_, on))
    ok(cu.cuEventSynchronize(mark))
    behind = recorded(on)
    assert not ran and cu.cuEventQuery(behind) == NOT_READY and cu.cuStreamQuery(on) == NOT_READY
    ok(cu.cuGraphLaunch(exec_, stream()))
    release.set()
    ok(cu.cuEventSynchronize(behind))
    ok(cu.cuCtxSynchronize())
    assert ran == ["held", "held"] and read(memory, 16) == [7] * 16
    ok(cu.cuGraphExecDestroy(exec_))


def test_host_nodes_run_in_the_order_of_their_edges(graph):
    ran, on = [], stream()
    functions = [HOST_FUNCTION(lambda _, name=name: ran.append(name)) for name in "abcd"]
    first = host(graph, functions[0])
    second, third = host(graph, functions[1], first), host(graph, functions[2], first)
    host(graph, functions[3], second, third)
    exec_ = executable(graph)
    for _ in range(3):
        launched(exec_, on)
        assert ran[0] == "a" and ran[3] == "d" and sorted(ran) == list("abcd")
        ran.clear()
    ok(cu.cuGraphExecDestroy(exec_))


def test_branches_of_a_graph_share_the_device_and_a_chain_adds_up(memory):
    def time_of(chained):
        graph, last = made(cu.cuGraphCreate, 0), ()
        for _ in range(4):
            node = fill(graph, memory, 0, 1024 * MB, *last)
            last = (node,) if chained else ()
        exec_, on = executable(graph), stream()
        start = recorded(on)
        ok(cu.cuGraphLaunch(exec_, on))
        time = milliseconds(start, recorded(on))
        ok(cu.cuGraphExecDestroy(exec_))
        ok(cu.cuGraphDestroy(graph))
        return time

    assert 0 < time_of(False) <= time_of(True) * 1.05


# Executable graphs.


def test_an_executable_graph_never_runs_beside_itself(graph, memory):
    for _ in range(4):
        fill(graph, memory, 0, 4096 * MB)
    exec_, on, other = executable(graph), stream(), stream()
    start = recorded(on)
    ok(cu.cuGraphLaunch(exec_, on))
    ok(cu.cuGraphLaunch(exec_, other))
    once, twice = milliseconds(start, recorded(on)), milliseconds(start, recorded(other))
    assert twice == pytest.approx(2 * once, rel=0.1)
    ok(cu.cuGraphExecDestroy(exec_))


def test_nodes_of_an_executable_graph_are_changed_and_switched_off(graph, memory):
    first, other = fill(graph, memory, 5, 4), fill(graph, memory + 4, 6, 4)
    exec_, on, enabled = executable(graph), stream(), c.c_uint()
    ok(cu.cuGraphNodeSetEnabled(exec_, other, 0))
    ok(cu.cuGraphNodeGetEnabled(exec_, other, c.byref(enabled)))
    assert enabled.value == 0
    params = Fill(memory, 0, 9, 1, 4, 1)
    ok(cu.cuGraphExecMemsetNodeSetParams(exec_, first, c.byref(params), None))
    write(memory, [0] * 8)
    launched(exec_, on)
    assert read(memory) == [9] * 4 + [0] * 4
    assert cu.cuGraphNodeSetEnabled(exec_, empty(graph), 0) == INVALID_VALUE
    flags = c.c_uint64(9)
    ok(cu.cuGraphExecGetFlags(exec_, c.byref(flags)))
    assert flags.value == 0
    ok(cu.cuGraphUpload(exec_, on))
    ok(cu.cuGraphExecDestroy(exec_))
    assert cu.cuGraphLaunch(exec_, on) == INVALID_VALUE


def test_an_update_takes_over_parameters_and_refuses_another_shape(graph, memory):
    first = fill(graph, memory, 1, 8)
    fill(graph, memory, 2, 4, first)
    exec_, on, result = executable(graph), stream(), Result()
    same = made(cu.cuGraphCreate, 0)
    fill(same, memory, 4, 4, fill(same, memory, 3, 8))
    ok(cu.cuGraphExecUpdate_v2(exec_, same, c.byref(result)))
    assert result.result == 0
    launched(exec_, on)
    assert read(memory) == [4] * 4 + [3] * 4
    more = empty(same)
    assert cu.cuGraphExecUpdate_v2(exec_, same, c.byref(result)) == UPDATE_FAILURE
    assert (result.result, result.node) == (2, None)
    ok(cu.cuGraphDestroyNode(more))
    ok(cu.cuGraphDestroyNode(c.c_void_p(nodes_of(same)[1])))
    loose = fill(same, memory, 4, 4)
    assert cu.cuGraphExecUpdate_v2(exec_, same, c.byref(result)) == UPDATE_FAILURE
    assert (result.result, result.node) == (2, loose.value)
    ok(cu.cuGraphDestroyNode(loose))
    kind = empty(same, c.c_void_p(nodes_of(same)[0]))
    assert cu.cuGraphExecUpdate_v2(exec_, same, c.byref(result)) == UPDATE_FAILURE
    assert (result.result, result.node) == (3, kind.value)
    launched(exec_, on)
    assert read(memory) == [4] * 4 + [3] * 4
    ok(cu.cuGraphDestroy(same))
    ok(cu.cuGraphExecDestroy(exec_))


def test_the_picture_of_a_graph_names_nodes_and_edges(graph, memory, tmp_path):
    fill(graph, memory, 2, 4, empty(graph))
    path = tmp_path / "graph.dot"
    ok(cu.cuGraphDebugDotPrint(graph, str(path).encode(), 1))
    text = path.read_text()
    assert text.startswith("digraph") and "->" in text and "Memset" in text
    assert cu.cuGraphDebugDotPrint(graph, b"/nowhere/at/all.dot", 0) == 304


def test_user_objects_live_as_long_as_an_executable_graph_made_from_theirs():
    ran = []
    destroy = HOST_FUNCTION(lambda user: ran.append(user))
    held, graph = made(cu.cuUserObjectCreate, c.c_void_p(77), destroy, 1, 1), made(cu.cuGraphCreate, 0)
    ok(cu.cuGraphRetainUserObject(graph, held, 1, 1))
    first, second = executable(graph), executable(graph)
    ok(cu.cuGraphDestroy(graph))
    ok(cu.cuGraphExecDestroy(first))
    assert not ran
    ok(cu.cuGraphExecDestroy(second))
    assert ran == [77]


# Capture.


class Info:
    def __init__(self, on):
        status, id_, graph, nodes, data, count = (
            c.c_int(), c.c_uint64(), c.c_void_p(), c.POINTER(c.c_void_p)(), c.c_void_p(), c.c_size_t())
        ok(cu.cuStreamGetCaptureInfo_v3(on, c.byref(status), c.byref(id_), c.byref(graph), c.byref(nodes),
                                        c.byref(data), c.byref(count)))
        self.status, self.id, self.graph = status.value, id_.value, graph
        self.nodes = [nodes[index] for index in range(count.value)]


def ended(on):
    graph = c.c_void_p()
    ok(cu.cuStreamEndCapture(on, c.byref(graph)))
    return graph


def broken(on):
    graph = c.c_void_p(7)
    code = cu.cuStreamEndCapture(on, c.byref(graph))
    assert graph.value is None
    return code


def test_a_capture_tells_its_graph_and_the_nodes_that_come_next(memory):
    on = stream()
    assert Info(on).status == 0
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    assert Info(on).nodes == []
    ok(cu.cuMemsetD8Async(memory, 1, 8, on))
    info = Info(on)
    assert info.status == 1 and info.nodes == nodes_of(info.graph)
    aside = empty(info.graph)
    ok(cu.cuStreamUpdateCaptureDependencies(on, handles(aside), 1, 0))
    assert Info(on).nodes == nodes_of(info.graph)
    ok(cu.cuStreamUpdateCaptureDependencies_v2(on, handles(aside), None, 1, 1))
    ok(cu.cuMemsetD8Async(memory, 2, 8, on))
    graph = ended(on)
    assert graph.value == info.graph.value
    assert nodes_of(c.c_void_p(nodes_of(graph)[2]), cu.cuGraphNodeGetDependencies) == [aside.value]
    ok(cu.cuGraphDestroy(graph))


def test_a_capture_into_a_graph_continues_behind_the_nodes_it_is_given(graph, memory):
    first, on = fill(graph, memory, 1, 8), stream()
    ok(cu.cuStreamBeginCaptureToGraph(on, graph, handles(first), None, 1, RELAXED))
    ok(cu.cuMemsetD8Async(memory + 4, 2, 4, on))
    assert cu.cuGraphInstantiateWithFlags(c.byref(c.c_void_p()), graph, 0) == INVALID_VALUE
    assert ended(on).value == graph.value
    exec_ = executable(graph)
    launched(exec_, on)
    assert read(memory) == [1] * 4 + [2] * 4
    ok(cu.cuGraphExecDestroy(exec_))


def test_a_launch_inside_a_capture_becomes_a_child_graph(graph, memory):
    fill(graph, memory, 5, 8)
    inner, on = executable(graph), stream()
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    ok(cu.cuGraphLaunch(inner, on))
    outer = ended(on)
    assert told(cu.cuGraphNodeGetType, c.c_void_p(nodes_of(outer)[0])) == CHILD
    exec_ = executable(outer)
    write(memory, [0] * 8)
    launched(exec_, on)
    assert read(memory) == [5] * 8
    for each in (inner, exec_):
        ok(cu.cuGraphExecDestroy(each))
    ok(cu.cuGraphDestroy(outer))


def test_captured_host_functions_run_at_every_launch():
    ran, on = [], stream()
    add = HOST_FUNCTION(lambda user: ran.append(user))
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    for user in (1, 2, 3):
        ok(cu.cuLaunchHostFunc(on, add, user))
    graph = ended(on)
    exec_ = executable(graph)
    launched(exec_, on)
    launched(exec_, on)
    assert ran == [1, 2, 3, 1, 2, 3]
    ok(cu.cuGraphExecDestroy(exec_))
    ok(cu.cuGraphDestroy(graph))


def test_a_side_stream_must_come_back_before_the_end(memory):
    on, side = stream(), stream()
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    ok(cu.cuStreamWaitEvent(side, recorded(on), 0))
    ok(cu.cuMemsetD8Async(memory, 0, 8, side))
    assert Info(side).id == Info(on).id
    assert cu.cuStreamEndCapture(side, c.byref(c.c_void_p())) == UNMATCHED
    assert broken(on) == UNJOINED
    assert Info(side).status == 0


def test_a_capture_may_not_wait_for_work_outside_it():
    on, other = stream(), stream()
    outside = recorded(other)
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    assert cu.cuStreamWaitEvent(on, outside, 0) == ISOLATION
    assert Info(on).status == 2
    assert broken(on) == INVALIDATED


def test_a_captured_event_has_no_time_and_is_not_waited_for():
    on = stream()
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    inside = recorded(on)
    assert cu.cuEventQuery(inside) == 907
    assert cu.cuEventSynchronize(inside) == 907
    ok(cu.cuGraphDestroy(ended(on)))


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_only_a_relaxed_capture_ends_on_another_thread(mode, context):
    on, codes = stream(), []
    ok(cu.cuStreamBeginCapture_v2(on, mode))

    def elsewhere():
        ok(cu.cuCtxSetCurrent(context))
        codes.append(cu.cuStreamEndCapture(on, c.byref(c.c_void_p())))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert codes == [0 if mode == RELAXED else WRONG_THREAD]
    if mode != RELAXED:
        ok(cu.cuGraphDestroy(ended(on)))


def test_other_threads_capture_into_the_same_graph(memory, context):
    on = stream()
    ok(cu.cuStreamBeginCapture_v2(on, GLOBAL))

    def elsewhere():
        ok(cu.cuCtxSetCurrent(context))
        ok(cu.cuMemsetD8Async(memory, 0, 8, on))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    graph = ended(on)
    assert len(nodes_of(graph)) == 1
    ok(cu.cuGraphDestroy(graph))


def test_the_threads_mode_is_swapped():
    mode = c.c_int(RELAXED)
    ok(cu.cuThreadExchangeStreamCaptureMode(c.byref(mode)))
    assert mode.value == GLOBAL
    ok(cu.cuThreadExchangeStreamCaptureMode(c.byref(mode)))
    assert mode.value == RELAXED
    mode.value = 3
    assert cu.cuThreadExchangeStreamCaptureMode(c.byref(mode)) == INVALID_VALUE


def test_the_legacy_stream_does_not_capture_and_is_not_asked_while_a_blocking_stream_does():
    assert cu.cuStreamBeginCapture_v2(None, RELAXED) == UNSUPPORTED
    on, status = stream(0), c.c_int()
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    assert cu.cuStreamBeginCapture_v2(on, RELAXED) == ILLEGAL_STATE
    assert cu.cuStreamIsCapturing(None, c.byref(status)) == IMPLICIT
    ok(cu.cuGraphDestroy(ended(on)))
    ok(cu.cuStreamIsCapturing(None, c.byref(status)))
    assert status.value == 0


# What a capture keeps, and what it forbids.


def captured(on, *calls):
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    for call in calls:
        ok(call())
    graph = ended(on)
    return graph, [c.c_void_p(node) for node in nodes_of(graph)]


def test_captured_nodes_keep_their_parameters(kernel, memory):
    on, params = stream(), launch_of(kernel, memory, 8)
    graph, nodes = captured(
        on,
        lambda: cu.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, on, params.params, None),
        lambda: cu.cuMemcpyDtoDAsync_v2(memory + 64, memory, 8, on),
        lambda: cu.cuMemsetD8Async(memory, 3, 8, on))
    launch, copy, filled = Kernel(), Copy(), Fill()
    ok(cu.cuGraphKernelNodeGetParams_v2(nodes[0], c.byref(launch)))
    assert launch.function == kernel.value and arguments_of(launch) == (memory, 8)
    ok(cu.cuGraphMemcpyNodeGetParams(nodes[1], c.byref(copy)))
    assert (copy.source.device, copy.target.device, copy.width, copy.height) == (memory, memory + 64, 8, 1)
    ok(cu.cuGraphMemsetNodeGetParams(nodes[2], c.byref(filled)))
    assert (filled.to, filled.value, filled.width) == (memory, 3, 8)
    exec_ = executable(graph)
    ok(cu.cuGraphExecKernelNodeSetParams_v2(exec_, nodes[0], c.byref(launch_of(kernel, memory + MB, 8))))
    write(memory, [1] * 8)
    write(memory + MB, [1] * 8)
    launched(exec_, on)
    assert (read(memory), read(memory + 64), read(memory + MB)) == ([3] * 8, [1] * 8, [0] * 8)
    ok(cu.cuGraphExecDestroy(exec_))
    ok(cu.cuGraphDestroy(graph))


def test_external_events_become_nodes():
    on, mark = stream(), event()
    graph, nodes = captured(on, lambda: cu.cuStreamWaitEvent(on, mark, 1),
                            lambda: cu.cuEventRecordWithFlags(mark, on, 1))
    assert [told(cu.cuGraphNodeGetType, node) for node in nodes] == [WAIT, RECORD]
    exec_ = executable(graph)
    launched(exec_, on)
    ok(cu.cuEventSynchronize(mark))
    ok(cu.cuGraphExecDestroy(exec_))
    ok(cu.cuGraphDestroy(graph))


def unsafe_calls(other, mark):
    address = c.c_uint64()
    yield lambda: cu.cuMemAlloc_v2(c.byref(address), MB)
    yield lambda: cu.cuMemHostAlloc(c.byref(c.c_void_p()), 4096, 0)
    yield lambda: cu.cuEventQuery(mark)
    yield lambda: cu.cuStreamQuery(other)


def test_a_capture_forbids_its_own_thread_what_it_cannot_see_unless_it_is_relaxed():
    on, other = stream(), stream()
    mark = recorded(other)
    for mode in (GLOBAL, THREAD_LOCAL):
        for call in unsafe_calls(other, mark):
            ok(cu.cuStreamBeginCapture_v2(on, mode))
            assert call() == UNSUPPORTED
            assert broken(on) == INVALIDATED
            assert call() in (0, NOT_READY)
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    for call in unsafe_calls(other, mark):
        assert call() in (0, NOT_READY)
    ok(cu.cuGraphDestroy(ended(on)))


@pytest.mark.parametrize("capture,thread,allowed", [
    (GLOBAL, GLOBAL, False), (GLOBAL, THREAD_LOCAL, True), (GLOBAL, RELAXED, True), (THREAD_LOCAL, GLOBAL, True)])
def test_a_global_capture_forbids_other_threads_what_they_do_not_allow_themselves(capture, thread, allowed, context):
    on, other, codes = stream(), stream(), []
    mark = recorded(other)
    ok(cu.cuStreamBeginCapture_v2(on, capture))

    def elsewhere():
        ok(cu.cuCtxSetCurrent(context))
        ok(cu.cuThreadExchangeStreamCaptureMode(c.byref(c.c_int(thread))))
        codes.append(cu.cuEventQuery(mark))

    worker = threading.Thread(target=elsewhere)
    worker.start()
    worker.join()
    if allowed:
        assert codes[0] in (0, NOT_READY)
        ok(cu.cuGraphDestroy(ended(on)))
    else:
        assert codes == [UNSUPPORTED] and broken(on) == INVALIDATED


def test_waiting_for_the_whole_device_breaks_a_capture_of_any_mode():
    on = stream()
    ok(cu.cuStreamBeginCapture_v2(on, RELAXED))
    assert cu.cuCtxSynchronize() == UNSUPPORTED
    assert broken(on) == INVALIDATED
    ok(cu.cuCtxSynchronize())


def test_work_on_the_legacy_stream_breaks_the_capture_of_a_blocking_stream(memory):
    blocking, free = stream(0), stream()
    ok(cu.cuStreamBeginCapture_v2(blocking, RELAXED))
    assert cu.cuMemsetD8Async(memory, 0, 8, None) == IMPLICIT
    assert broken(blocking) == INVALIDATED
    ok(cu.cuStreamBeginCapture_v2(free, RELAXED))
    ok(cu.cuMemsetD8Async(memory, 0, 8, None))
    ok(cu.cuGraphDestroy(ended(free)))


# Unmodified PyTorch.


@pytest.fixture(scope="module")
def torch(context):
    return pytest.importorskip("torch")


def test_a_replayed_addition_adds_at_every_replay_and_not_while_it_is_captured(torch):
    x, graph = torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
    assert x.tolist() == [0] * 8
    for _ in range(3):
        graph.replay()
    assert x.tolist() == [3] * 8


def test_graphs_that_share_a_pool_see_each_others_results(torch):
    pool, x = torch.cuda.graph_pool_handle(), torch.ones(4, device="cuda")
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first, pool=pool):
        doubled = x * 2
    with torch.cuda.graph(second, pool=pool):
        result = doubled + 1
    for value in (1, 5):
        x.fill_(value)
        first.replay()
        second.replay()
        assert result.tolist() == [2 * value + 1] * 4


def test_a_side_stream_is_part_of_its_graph(torch):
    x, y = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
    graph, side = torch.cuda.CUDAGraph(keep_graph=True), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x.add_(2)
        y.add_(1)
        torch.cuda.current_stream().wait_stream(side)
    graph.instantiate()
    graph.replay()
    graph.replay()
    assert (x.tolist(), y.tolist()) == ([4] * 4, [2] * 4)


def test_graphed_callables_run_forward_and_backward(torch):
    module = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).cuda()
    x = torch.randn(8, 16, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(module, (x,))
    for _ in range(3):
        graphed(x).sum().backward()
    torch.cuda.synchronize()
    assert module[0].weight.grad.shape == (16, 16)


def test_memory_taken_inside_a_capture_is_the_graphs(torch):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        large = torch.zeros(64 << 20, device="cuda")
        small = torch.full((4,), 3.0, device="cuda") * 2
    graph.replay()
    assert small.tolist() == [6] * 4 and large[:4].tolist() == [0] * 4


def test_a_compiled_function_replays_graphs_that_are_not_empty(torch, tmp_path):
    code = """
import torch
module = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU()).cuda()
function = torch.compile(module, mode="reduce-overhead")
for _ in range(4):
    torch.compiler.cudagraph_mark_step_begin()
    module.zero_grad(set_to_none=True)
    function(torch.randn(8, 16, device="cuda")).sum().backward()
torch.cuda.synchronize()
manager = torch._inductor.cudagraph_trees.get_container(0).tree_manager
print(sum(len(roots) for roots in manager.roots.values()) > 0)
"""
    caches = {name: str(tmp_path) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | caches, capture_output=True, text=True,
                          timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
    assert "CUDA Graph is empty" not in done.stderr, done.stderr
