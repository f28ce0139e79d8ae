"""What a process held is free once it is gone, however it went."""

import sys

import pytest
from racks import HOLDER, alive, kill, until

GIB = 1 << 30


def used(rack, gpu=0):
    return rack.gpu(gpu)["memory_used_bytes"]


@pytest.fixture
def children():
    """Pids of forked children to end after the test: they outlive their parent on purpose."""
    pids = []
    yield pids
    for pid in filter(alive, pids):
        kill(pid)


def test_killing_a_holder_of_100_gib_frees_it_though_its_forked_children_live(rack, children):
    idle = used(rack)
    holder = rack.holder("--gib", 100, "--children", 3)
    children += holder.child_pids
    until("100 GiB are held", lambda: used(rack) - idle >= 100 * GIB)
    kill(holder.holder_pid)
    until("the memory is free", lambda: used(rack) == idle)
    assert holder.holder_pid not in rack.pids()
    assert len(children) == 3 and all(map(alive, children))


def test_a_holder_that_ends_by_itself_frees_its_memory(rack):
    idle = used(rack)
    holder = rack.holder("--gib", 20)
    until("20 GiB are held", lambda: used(rack) - idle >= 20 * GIB)
    holder.stdin.write("quit\n")
    holder.stdin.close()
    assert holder.wait(60) == 0
    until("the memory is free", lambda: used(rack) == idle)


def test_a_holder_is_listed_on_its_gpu_alone(rack):
    holder = rack.holder("--gpu", 2, "--gib", 5)
    until("it is listed on GPU 2", lambda: holder.holder_pid in rack.pids(2))
    assert not any(holder.holder_pid in rack.pids(gpu) for gpu in (0, 1, 3))
    rows = rack.query("pid,used_memory,process_name", what="compute-apps")
    assert [int(row["pid"]) for row in rows] == [holder.holder_pid]
    assert int(rows[0]["used_memory"]) >= 5 * 1024
    assert "python" in rows[0]["process_name"]


def test_one_holder_cannot_take_what_another_has(rack):
    rack.holder("--gib", 180)
    out_of_memory = 2
    done = rack.run(sys.executable, HOLDER, "--gib", 10)
    assert f"cuMemAlloc_v2: {out_of_memory}" in done.stderr, done.stdout + done.stderr
