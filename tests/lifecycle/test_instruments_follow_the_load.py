"""nvidia-smi before, during and after a load: power, clocks, memory, temperature, utilisation."""

import sys

from racks import until

LOAD = """
import sys, torch
x = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(x)
torch.empty(50 << 30, dtype=torch.uint8, device="cuda")
print("started", torch.cuda.memory_reserved() >> 20, flush=True)
while True:
    for _ in range(200):
        torch.mm(x, x, out=out)
    torch.cuda.synchronize()
"""

# Half of each period busy, as the events of the program itself measure it; prints the share.
HALF = """
import time, torch
x = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(x)
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
torch.mm(x, x, out=out)
torch.cuda.synchronize()
while True:
    began, busy = time.monotonic(), 0
    while time.monotonic() - began < 3:
        start.record()
        for _ in range(60):
            torch.mm(x, x, out=out)
        end.record()
        end.synchronize()
        elapsed = start.elapsed_time(end) / 1e3
        busy += elapsed
        time.sleep(elapsed)
    print(busy / (time.monotonic() - began), flush=True)
"""


def idle(figures):
    return figures["utilization.gpu"] == 0 and 150 <= figures["power.draw"] <= 180 and figures["clocks.sm"] == 120


def loaded(figures):
    return figures["utilization.gpu"] > 60 and figures["power.draw"] > 500 and figures["clocks.sm"] > 1000


def test_an_idle_gpu_draws_150_to_180_watts_at_120_mhz_in_p0(shared_rack):
    for gpu in range(4):
        figures = shared_rack.smi(gpu)
        assert idle(figures) and figures["pstate"] == "P0", figures
        assert 20 <= figures["temperature.gpu"] <= 45


def test_a_load_shows_at_once_and_goes_at_once_but_for_the_heat(rack):
    cool = rack.smi()
    load = rack.start(sys.executable, "-c", LOAD)
    reserved_mib = int(load.read_line().split()[1])
    until("the GPU is loaded", lambda: loaded(rack.smi()))
    memory = rack.smi()["memory.used"] - cool["memory.used"]
    assert reserved_mib < memory < reserved_mib + 2048
    listed = rack.query("pid,used_memory,process_name", what="compute-apps")
    assert len(listed) == 1 and "python" in listed[0]["process_name"]
    until("the GPU is warm", lambda: rack.smi()["temperature.gpu"] >= cool["temperature.gpu"] + 8)
    assert idle(rack.smi(gpu=1))
    load.finish()
    after = until("the GPU is idle", lambda: (now := rack.smi())["utilization.gpu"] == 0 and now)
    assert after["memory.used"] == cool["memory.used"]
    assert after["temperature.gpu"] > cool["temperature.gpu"]
    assert rack.query("pid", what="compute-apps") == []
    until("power is back", lambda: idle(rack.smi()))
    until("the heat is gone", lambda: rack.smi()["temperature.gpu"] <= cool["temperature.gpu"] + 1)


def test_utilisation_agrees_with_the_busy_time_of_the_program(rack):
    half = rack.start(sys.executable, "-c", HALF)

    def agrees():
        share = 100 * float(half.read_line())
        seen = rack.smi()["utilization.gpu"]
        return 30 < share < 60 and abs(seen - share) <= 12

    until("nvidia-smi and the program agree", agrees)


def test_energy_grows_with_the_load(rack):
    def energy():
        return rack.gpu()["energy_millijoules"]

    before = energy()
    rack.start(sys.executable, "-c", LOAD).read_line()
    until("two kilojoules are spent", lambda: energy() - before > 2_000_000)
