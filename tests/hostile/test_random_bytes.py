"""Noise on everything a client can write: ghostd keeps serving and its figures stay sane."""

import mmap
import os
import random

import wire
from racks import until


def ghostd_socket(rack):
    return rack.run_dir / "tray-0" / "ghostd.sock"


def sane(rack):
    gpus = rack.tray()["gpus"]
    return all(g["gpu_utilization_percent"] <= 100 and g["power_milliwatts"] <= 1_200_000 for g in gpus)


def shout(path, noise, rounds):
    """Packets of noise, and noise behind a head that looks right."""
    for _ in range(rounds):
        try:
            with wire.Client(path) as client:
                if noise.random() < 0.5:
                    client.hello(noise.choice([wire.READER, wire.HOLDER]))
                for _ in range(20):
                    body = noise.randbytes(noise.randrange(300))
                    if noise.random() < 0.5:
                        client.socket.send(body or b"\0")
                    else:
                        # Without an answer wanted, so that nobody has to read; changes are another test's.
                        message = noise.choice([number for number in range(20) if number != wire.APPLY])
                        client.send(message, [noise.getrandbits(64) for _ in range(6)], body, seq=0)
        except OSError:
            continue


def test_noise_on_the_socket_is_survived(rack):
    pid, idle = rack.ghostd_pid(), rack.gpu()["memory_used_bytes"]
    holder = rack.holder("--gib", 10)
    shout(ghostd_socket(rack), random.Random(2), 300)
    assert holder.say("sync") == "0"
    assert rack.ghostd_pid() == pid and sane(rack)
    holder.finish()
    until("memory is as before", lambda: rack.gpu()["memory_used_bytes"] == idle)


def test_noise_in_a_process_page_is_survived(rack):
    pid, noise = rack.ghostd_pid(), random.Random(3)
    holder = rack.holder("--gib", 10)
    with wire.Client(ghostd_socket(rack)) as client:
        reply = client.hello(wire.HOLDER)
        page = mmap.mmap(reply.fds[1], os.fstat(reply.fds[1]).st_size)
        client.ask(wire.PAGE_MAPPED)
        assert client.ask(wire.CONTEXT_OPEN, (0,)).status == wire.OK
        for _ in range(100):
            page[64:] = noise.randbytes(len(page) - 64)
            assert sane(rack)
        assert holder.say("sync") == "0"
        page.close()
    assert rack.ghostd_pid() == pid
    assert rack.smi()["power.draw"] <= 1200
