"""Our nvidia-smi and NVIDIA's own 550, side by side on tray 0 of the rack this suite runs on (`ghostrack run`).

NVIDIA's program is fetched from Debian's non-free into a scratch folder and never installed; where that is not
possible these tests say why and count as skipped.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
import real_smi

HOLDER = pathlib.Path(__file__).resolve().parent.parent / "holder.py"
OURS = "nvidia-smi"


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    scratch = os.environ.get("GHOSTRACK_REAL_SMI") or tmp_path_factory.mktemp("nvidia-smi")
    try:
        return str(real_smi.fetch(scratch))
    except real_smi.Unavailable as reason:
        pytest.skip(f"NVIDIA's nvidia-smi: {reason}")


@pytest.fixture(params=["ours", "real"])
def smi(request):
    """Both programs, the same questions."""
    return OURS if request.param == "ours" else request.getfixturevalue("real")


def run(program, *words):
    done = subprocess.run([program, *words], text=True, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout


def must(program, *words):
    code, text = run(program, *words)
    assert code == 0, text
    return text


@contextlib.contextmanager
def holders(number, gpu=0):
    """Processes that hold a context on a GPU."""
    words = [sys.executable, str(HOLDER), "--gpu", str(gpu)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(words, **pipes) for _ in range(number)]
    try:
        yield [int(process.stdout.readline().split()[1]) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def test_the_table_lists_four_idle_gpus(smi):
    text = must(smi)
    assert text.count("NVIDIA GB200") == 4 and "No running processes found" in text
    assert all(len(line) in (0, 31, 89, 91) for line in text.splitlines()), text
    for bus_id in ("00000008:01:00.0", "00000009:01:00.0", "00000018:01:00.0", "00000019:01:00.0"):
        assert bus_id in text
    assert len(re.findall(r"1[4-9]\dW / 1200W", text)) == 4 and "/ 189471MiB" in text and "ERR!" not in text


def test_the_list_names_uuids(smi):
    lines = must(smi, "-L").splitlines()
    assert len(lines) == 4
    assert all(re.fullmatch(rf"GPU {n}: NVIDIA GB200 \(UUID: GPU-[0-9a-f-]{{36}}\)", line) for n, line in enumerate(lines))


def test_one_gpu_is_chosen_by_index_uuid_and_address(smi):
    uuid = must(smi, "--query-gpu=uuid", "--format=csv,noheader", "-i", "2").strip()
    for name in ("2", uuid, "0018:01:00.0", "00000018:01:00.0"):
        assert must(smi, "--query-gpu=index,pci.bus_id", "--format=csv,noheader", "-i", name) == "2, 00000018:01:00.0\n"
    assert must(smi, "-i", "2").count("NVIDIA GB200") == 1
    assert run(smi, "-i", "7") == (6, "No devices were found\n")


def test_a_property_that_is_none_is_refused(smi):
    assert run(smi, "--query-gpu=foo", "--format=csv") == (2, 'Field "foo" is not a valid field to query.\n\n')


FIELDS = (
    "index,name,serial,uuid,pci.bus_id,pci.domain,pci.device_id,vbios_version,inforom.img,driver_version,count,pstate,"
    "memory.total,memory.reserved,compute_mode,compute_cap,ecc.mode.current,ecc.errors.uncorrected.volatile.total,"
    "ecc.errors.corrected.volatile.l1_cache,retired_pages.pending,power.limit,power.min_limit,power.max_limit,fan.speed,"
    "clocks.max.sm,clocks.applications.graphics,mig.mode.current,gsp.mode.current,c2c.mode,addressing_mode,display_mode,"
    "pcie.link.gen.max,pcie.link.gen.gpumax,pcie.link.gen.hostmax,pcie.link.width.current,persistence_mode,accounting.mode"
)


@pytest.mark.parametrize("format", ["csv", "csv,noheader", "csv,noheader,nounits"])
def test_both_programs_answer_a_query_alike(real, format):
    words = (f"--query-gpu={FIELDS}", f"--format={format}")
    assert must(OURS, *words) == must(real, *words)


def test_both_programs_list_the_processes_there_are(smi):
    with holders(3) as pids:
        lines = must(smi, "--query-compute-apps=pid,name,used_memory", "--format=csv,noheader").splitlines()
        assert sorted(int(line.split(",")[0]) for line in lines) == sorted(pids)
        assert all(line.endswith(" MiB") and "python" in line for line in lines)
        table = must(smi)
        assert all(re.search(rf"\|\s+0\s+N/A\s+N/A\s+{pid}\s+C\s+\S*python\S*\s+\d+MiB \|", table) for pid in pids), table


def test_fifty_processes_are_all_listed(smi):
    with holders(50, gpu=3) as pids:
        lines = must(smi, "--query-compute-apps=pid", "--format=csv,noheader", "-i", "3").split()
        assert sorted(map(int, lines)) == sorted(pids)
        assert must(smi, "-i", "3").count("MiB |") >= 50


def test_the_long_report_covers_every_group(smi):
    text = must(smi, "-q", "-i", "1")
    for group in ("Product Name", "FB Memory Usage", "ECC Errors", "Remapped Rows", "Module Power Readings", "Fabric"):
        assert f"\n    {group}" in text
    assert "Unknown Error" not in text and "Uninitialized" not in text


def test_topology_and_links_of_the_real_program(real):
    matrix = must(real, "topo", "-m")
    assert matrix.count("NV18") == 12
    assert must(real, "nvlink", "-s", "-i", "0").count("53.125 GB/s") == 18
    assert must(real, "c2c", "-s", "-i", "0").count("44.712 GB/s") == 5


def test_our_report_in_xml_parses_and_names_the_clique():
    import xml.etree.ElementTree as tree

    root = tree.fromstring(must(OURS, "-q", "-x"))
    gpus = root.findall("gpu")
    assert len(gpus) == 4 and root.find("attached_gpus").text == "4"
    assert {gpu.find("fabric/state").text for gpu in gpus} == {"Completed"}
    assert len(gpus[0].findall("supported_clocks/supported_mem_clock/supported_graphics_clock")) == 260


def test_only_gpus_whose_nodes_are_there_are_seen(smi, tmp_path):
    (tmp_path / "nvidia2").touch()
    env = os.environ | {"GHOSTRACK_DEV_ROOT": str(tmp_path)}
    ask = lambda *words: subprocess.run([smi, *words], text=True, capture_output=True, timeout=60, check=False, env=env)
    assert ask("--query-gpu=index,pci.bus_id", "--format=csv,noheader").stdout == "0, 00000018:01:00.0\n"
    (tmp_path / "nvidia2").unlink()
    none = ask()
    assert (none.returncode, none.stdout) == (6, "No devices were found\n")


def test_a_power_limit_set_by_either_program_shows_in_the_other(real):
    for setter, reader, watts in ((OURS, real, "900.00 W"), (real, OURS, "1200.00 W")):
        text = must(setter, "-pl", watts.split(".")[0], "-i", "3")
        assert f"Power limit for GPU 00000019:01:00.0 was set to {watts}" in text
        assert must(reader, "--query-gpu=enforced.power.limit", "--format=csv,noheader", "-i", "3").strip() == watts


def test_without_a_tray_each_program_says_what_the_real_one_says(smi):
    with tempfile.TemporaryDirectory() as nowhere:
        env = os.environ | {"GHOSTRACK_SOCKET": f"{nowhere}/ghostd.sock"}
        done = subprocess.run([smi], text=True, capture_output=True, timeout=60, check=False, env=env)
    assert done.returncode == 9 and "couldn't communicate with the NVIDIA driver" in done.stdout
