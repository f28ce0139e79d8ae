"""A rack comes up, serves whoever may use it, and goes without a trace."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from racks import BUILD, HOLDER, ROOT, left_of, until

NOBODY = 65534
PATH = "/usr/local/bin:/usr/bin:/bin"
DEVICES = "import torch; print(torch.cuda.device_count(), torch.tensor([3, 1, 2], device='cuda').tolist())"


def shared_memory():
    return {path.name for path in pathlib.Path("/dev/shm").iterdir()}


def test_down_leaves_no_file_mount_process_or_socket(new_rack):
    before = shared_memory()
    rack = new_rack().up()
    holder = rack.holder("--gib", 10)
    until("the holder is listed", lambda: holder.holder_pid in rack.pids())
    assert holder.say("sync") == "0"
    assert rack.run("nvidia-smi").returncode == 0
    assert holder.say("sync") == "0"
    holder.finish()
    assert rack.command("down").returncode == 0
    until("nothing is left", lambda: not left_of(rack.run_dir))
    assert not {name for name in shared_memory() - before if "ghost" in name}


def test_down_ends_with_a_holder_still_there_and_the_holder_gets_an_error(rack):
    holder = rack.holder("--gib", 10)
    assert rack.command("down").returncode == 0
    assert int(holder.say("poll")) != 0


def test_a_command_without_a_rack_brings_its_own_and_leaves_nothing(new_rack):
    rack = new_rack()
    answer = rack.must("run", "--", "nvidia-smi", "-L")
    assert answer.count("NVIDIA GB200") == 4
    until("nothing is left", lambda: not left_of(rack.run_dir))


def test_the_exit_code_is_the_commands(new_rack):
    assert new_rack().run("sh", "-c", "exit 7").returncode == 7


def test_both_trays_have_four_gpus_and_all_are_different(rack):
    uuids = [row["uuid"] for tray in (0, 1) for row in rack.query("uuid", tray=tray)]
    assert len(uuids) == 8 == len(set(uuids))


def test_identity_survives_a_restart_of_the_rack(new_rack):
    fields = "uuid,serial,pci.bus_id"
    answers = []
    for rack in (new_rack(), new_rack()):
        rack.up()
        answers.append(rack.query(fields))
        rack.down()
    assert answers[0] == answers[1]


def test_gpus_limits_a_command_to_the_first_few(rack):
    assert rack.must("run", "--gpus", "2", "--", sys.executable, "-c", DEVICES).strip() == "2 [3, 1, 2]"


def test_torch_runs_on_one_core(rack):
    answer = rack.must("run", "--", "taskset", "-c", "0", sys.executable, "-c", DEVICES)
    assert answer.strip() == "4 [3, 1, 2]"


def namespaces_work():
    return (
        subprocess.run(["unshare", "--pid", "--mount", "--fork", "true"], check=False, capture_output=True).returncode
        == 0
    )


isolated = pytest.mark.skipif(not namespaces_work(), reason="this machine lets nobody make namespaces")


@isolated
def test_a_rack_without_network_in_namespaces_of_its_own_works(new_rack):
    apart = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--net", "--ipc", "--uts"]
    rack = new_rack(prefix=apart)
    assert rack.python(DEVICES).strip() == "4 [3, 1, 2]"
    until("nothing is left", lambda: not left_of(rack.run_dir))


@isolated
def test_a_process_in_an_inner_pid_namespace_uses_the_rack_outside(rack):
    inside = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", DEVICES]
    assert rack.must("run", "--", *inside).strip() == "4 [3, 1, 2]"


@pytest.fixture
def world_readable(open_folder):
    """A copy of what is built and of the example that any user may read and run."""
    (open_folder / "built/lib").mkdir(parents=True)
    for program in ("ghostrack", "ghostd", "nvidia-smi"):
        shutil.copy(BUILD / program, open_folder / "built")
    for library in (BUILD / "lib").glob("lib*.so*"):
        shutil.copy(library, open_folder / "built/lib")
    for file in (ROOT / "examples/train_single.py", HOLDER):
        shutil.copy(file, open_folder)
    return open_folder


@pytest.fixture
def of_nobody(world_readable, new_rack):
    """A rack to be started by a user without rights, home or environment but PATH and HOME."""
    home = world_readable / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    return new_rack(
        run_dir=home / "rack", ghostrack=world_readable / "built/ghostrack", prefix=as_nobody(f"HOME={home}"), env={}
    )


def as_nobody(*words):
    return [
        "setpriv",
        "--reuid",
        str(NOBODY),
        "--regid",
        str(NOBODY),
        "--clear-groups",
        "env",
        "-i",
        f"PATH={PATH}",
        *map(str, words),
    ]


def readable_by_nobody(path):
    return subprocess.run(as_nobody("test", "-r", path), check=False).returncode == 0


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@root_only
def test_a_user_without_root_or_environment_uses_the_driver(of_nobody, world_readable):
    rack = of_nobody.up()
    answer = rack.run("/usr/bin/python3", world_readable / "holder.py", "--gib", 2)
    assert answer.stdout.startswith("ready"), answer.stderr
    assert rack.must("run", "--", "nvidia-smi", "-L").count("GB200") == 4
    assert rack.command("down").returncode == 0
    until("nothing is left", lambda: not left_of(rack.run_dir))


@root_only
def test_a_user_without_root_or_environment_trains(of_nobody, world_readable):
    environment = pathlib.Path(sys.prefix)
    if not readable_by_nobody(environment / "bin/python"):
        environment = copy_of_environment(environment, world_readable / "venv")
    small = "--steps 3 --batch 2 --length 128 --width 256 --depth 2 --heads 4 --vocabulary 512".split()
    done = of_nobody.run(environment / "bin/python", world_readable / "train_single.py", *small)
    assert done.returncode == 0 and "TFLOP/s" in done.stdout, done.stdout + done.stderr
    until("nothing is left", lambda: not left_of(of_nobody.run_dir))


def copy_of_environment(environment, target):
    """Hard links where the file system allows them: the wheels are gigabytes."""
    linked = subprocess.run(["cp", "-al", environment, target], check=False, stderr=subprocess.DEVNULL)
    if linked.returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", environment, target], check=True)
    return target
