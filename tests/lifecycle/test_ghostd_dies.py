"""ghostd is killed under running programs: they get errors, and new ones work after the restart."""

import sys

from racks import kill, until

TORCH_LOOP = """
import sys, torch
x = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
print("started", flush=True)
try:
    while True:
        for _ in range(20):
            x @ x
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0], flush=True)
"""


def restarted(rack, old, tray=0):
    """The new ghostd's pid once it serves."""

    def probe():
        pid = rack.ghostd_pid(tray)
        return pid if pid and pid != old and rack.tray(tray) else None

    return until("ghostd is back", probe)


def test_calls_of_a_running_program_fail_and_do_not_hang(rack):
    holder = rack.holder("--gib", 10)
    old = rack.ghostd_pid()
    kill(old)
    assert int(holder.say("poll")) != 0


def test_a_training_loop_ends_with_an_error(rack):
    loop = rack.start(sys.executable, "-c", TORCH_LOOP)
    assert loop.read_line() == "started"
    kill(rack.ghostd_pid())
    assert "error" in loop.read_line().lower()


def test_new_programs_work_after_the_restart(rack):
    old = rack.ghostd_pid()
    kill(old)
    restarted(rack, old)
    assert rack.python("import torch; print(torch.tensor([1, 2], device='cuda').tolist())").strip() == "[1, 2]"
    assert len(rack.query("uuid")) == 4


def test_memory_of_programs_from_before_is_free_after_the_restart(rack):
    idle = rack.gpu()["memory_used_bytes"]
    rack.holder("--gib", 100)
    old = rack.ghostd_pid()
    kill(old)
    restarted(rack, old)
    until("the memory is free", lambda: rack.gpu()["memory_used_bytes"] == idle)


def test_the_other_tray_does_not_notice(rack):
    holder = rack.holder("--gib", 10, tray=1)
    old = rack.ghostd_pid(0)
    kill(old)
    restarted(rack, old)
    assert holder.say("sync") == "0"


def test_a_broken_link_is_still_broken_after_the_restart(rack):
    rack.must("set", "link", "--gpu", 1, "--link", 3, "fault", "--sticky")
    old = rack.ghostd_pid()
    assert rack.gpu(1)["links_up"] == 17
    kill(old)
    restarted(rack, old)
    assert rack.gpu(1)["links_up"] == 17
