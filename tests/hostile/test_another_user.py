"""A user without rights may use a rack that is open to all, and change nothing that is not its own."""

import json
import mmap
import os
import pathlib
import socket
import stat

import pytest
import wire
from racks import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

CHANGES = [
    {"change": "link_admin", "gpu": 0, "link": 3, "enabled": False},
    {"change": "power_limit", "gpu": 0, "milliwatts": 900_000},
    {"change": "xid", "gpu": 0, "code": 79, "pid": None, "time_ns": 1},
    {"change": "gpu_reset", "gpu": 0},
    {"change": "tray_power", "action": "off"},
    {"change": "partition_delete", "partition": 32766},
]


def ghostd_socket(rack, tray=0):
    return rack.run_dir / f"tray-{tray}" / "ghostd.sock"


def state(rack):
    """What a change could have changed."""
    return [
        {
            key: gpu[key]
            for key in ("lost", "links_up", "power_limit_milliwatts", "xid_count", "partition", "reset_pending")
        }
        for gpu in rack.tray()["gpus"]
    ]


def apply(path, role, change):
    with wire.Client(path) as client:
        client.hello(role)
        return client.ask(wire.APPLY, data=json.dumps(change).encode()).status


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["change"])
@pytest.mark.parametrize("role", [wire.READER, wire.OPERATOR], ids=["reader", "operator"])
def test_a_change_is_denied_and_nothing_changes(open_rack, change, role):
    before = state(open_rack)
    assert wire.as_user(apply, ghostd_socket(open_rack), role, change) == wire.DENIED
    assert state(open_rack) == before


def test_the_one_who_runs_the_rack_may_change_it(open_rack):
    assert apply(ghostd_socket(open_rack), wire.OPERATOR, CHANGES[0]) == wire.OK
    assert state(open_rack)[0]["links_up"] == 17


def connects(path):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as client:
            try:
                client.connect(str(path))
                return True
            except PermissionError:
                return False
            except OSError:
                continue
    return False


def writable_or_open_to(path):
    """Every file and socket below that this user can write, replace or connect to."""
    found = []
    for folder, folders, files in os.walk(path):
        for name in [*folders, *files]:
            file = pathlib.Path(folder, name)
            mode = file.lstat().st_mode
            if stat.S_ISLNK(mode):
                continue
            if connects(file) if stat.S_ISSOCK(mode) else os.access(file, os.W_OK):
                found.append(str(file.relative_to(path)))
    return sorted(found)


def test_nothing_but_the_trays_own_door_and_devices_is_open_to_others(open_rack):
    found = wire.as_user(writable_or_open_to, open_rack.run_dir)
    allowed = {"rack.sock"} | {f"tray-{tray}/ghostd.sock" for tray in (0, 1)}
    others = [name for name in found if name not in allowed and "/dev/" not in name]
    assert not others
    assert {f"tray-{tray}/ghostd.sock" for tray in (0, 1)} <= set(found)


def test_power_is_denied(open_rack):
    done = wire.as_user(run_as_is, [*open_rack.prefix, "power", "--tray", "0", "off"])
    assert done != 0
    assert open_rack.tray() is not None


def run_as_is(words):
    import subprocess

    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False).returncode
    except PermissionError:
        return 126


def attempts_on_the_facts(path):
    """Every way to write the page that all instruments read; gives those that worked."""
    with wire.Client(path) as client:
        facts = client.hello(wire.READER).fds[0]
        size = os.fstat(facts).st_size
        again = f"/proc/self/fd/{facts}"
        ways = {
            "write": lambda: os.pwrite(facts, b"x", 0),
            "truncate": lambda: os.ftruncate(facts, 0),
            "grow": lambda: os.ftruncate(facts, 2 * size),
            "map for writing": lambda: mmap.mmap(facts, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
            "reopen and write": lambda: os.pwrite(os.open(again, os.O_RDWR), b"x", 0),
            "reopen and truncate": lambda: os.truncate(again, 0),
            "reopen and map": lambda: mmap.mmap(
                os.open(again, os.O_RDWR), size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE
            ),
        }
        worked = []
        for name, way in ways.items():
            try:
                way()
                worked.append(name)
            except OSError:
                pass
        assert mmap.mmap(facts, size, mmap.MAP_SHARED, mmap.PROT_READ)[:1]
        return worked


def test_the_facts_page_cannot_be_written_or_resized(open_rack):
    assert wire.as_user(attempts_on_the_facts, ghostd_socket(open_rack)) == []


def hold_and_give_too_much(path):
    """A holder of another user that gives back what it never took."""
    with wire.Client(path) as client:
        client.hello(wire.HOLDER)
        client.send(wire.PAGE_MAPPED)
        client.receive()
        answers = [client.ask(wire.CONTEXT_OPEN, (0,)).status]
        answers += [client.ask(wire.MEMORY_GIVE, (0, bytes_)).status for bytes_ in (1 << 30, 1 << 40, (1 << 64) - 1)]
        return answers, client.ask(wire.MEMORY_INFO, (0,)).args[:3]


def test_memory_of_another_user_cannot_be_given_away(open_rack):
    holder = open_rack.holder("--gib", 100)
    until("it is held", lambda: open_rack.gpu()["memory_used_bytes"] > 100 << 30)
    before = open_rack.gpu()["memory_used_bytes"]
    _, (free, total, _) = wire.as_user(hold_and_give_too_much, ghostd_socket(open_rack))
    assert free <= total - (100 << 30)
    until("the liar is gone", lambda: open_rack.gpu()["memory_used_bytes"] == before)
    assert holder.say("sync") == "0"


def hoard(path, connections):
    """Opens connections, says hello on each, keeps all; how many were accepted."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept, accepted = [], 0
    for _ in range(connections):
        try:
            client = wire.Client(path)
            kept.append(client)
            accepted += client.hello(wire.READER).status == wire.OK
        except OSError:
            break
    return accepted


def test_connections_of_one_user_are_capped_and_others_get_in(open_rack):
    path = ghostd_socket(open_rack)
    assert 0 < wire.as_user(hoard, path, 10_000) < 10_000
    with wire.Client(path) as client:
        assert client.hello(wire.READER).status == wire.OK
