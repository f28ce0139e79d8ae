"""Many racks, many processes: they do not meet, and ghostd does not grow."""

import pytest
from racks import left_of, until


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def test_racks_of_different_run_directories_do_not_meet(new_rack):
    one, other = new_rack().up(), new_rack().up()
    holder = one.holder("--gib", 50)
    until("it is listed on the one", lambda: holder.holder_pid in one.pids())
    assert not other.pids()
    one.must("set", "link", "--gpu", 0, "--link", 1, "down")
    assert (one.gpu()["links_up"], other.gpu()["links_up"]) == (17, 18)
    one.down()
    assert other.gpu()["links_up"] == 18


def test_twenty_processes_share_a_gpu_and_leave_it_clean(rack):
    idle = rack.gpu()["memory_used_bytes"]
    holders = [rack.holder("--gib", 2) for _ in range(20)]
    pids = {holder.holder_pid for holder in holders}
    until("all are listed", lambda: rack.pids() == pids)
    assert all(holder.say("sync") == "0" for holder in holders)
    for holder in holders:
        holder.finish()
    until("all is free", lambda: rack.gpu()["memory_used_bytes"] == idle and not rack.pids())


def churn(rack, rounds):
    for _ in range(rounds):
        rack.holder("--gib", 1).finish()
    until("all are gone", lambda: not rack.pids())
    return resident_kib(rack.ghostd_pid())


def test_ghostd_does_not_grow_with_the_processes_it_has_seen(rack):
    before = churn(rack, 30)
    assert churn(rack, 60) - before < 1024


@pytest.mark.long
def test_fifty_racks_in_a_row_leave_nothing(new_rack):
    for _ in range(50):
        rack = new_rack().up()
        rack.holder("--gib", 1)
        assert rack.down().returncode == 0
        until("nothing is left", lambda rack=rack: not left_of(rack.run_dir))


@pytest.mark.long
def test_ghostd_does_not_grow_with_a_thousand_processes(rack):
    before = churn(rack, 100)
    assert churn(rack, 1000) - before < 1024
