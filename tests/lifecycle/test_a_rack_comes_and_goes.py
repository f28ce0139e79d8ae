"""A rack comes up, serves whoever may use it, and goes without a trace."""

import os
import pathlib
import shutil
import stat
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


@pytest.fixture
def world_readable(tmp_path_factory):
    """A copy of what is built, the example and the Python in use, that any user may read and run."""
    place = tmp_path_factory.mktemp("world")
    for folder in (place, *place.parents):
        if folder.owner() == pathlib.Path.home().owner() and folder != pathlib.Path("/tmp"):
            folder.chmod(folder.stat().st_mode | stat.S_IROTH | stat.S_IXOTH)
    built = place / "built"
    (built / "lib").mkdir(parents=True)
    for program in ("ghostrack", "ghostd", "ghost-nvidia-smi"):
        shutil.copy(BUILD / program, built)
    for library in (BUILD / "lib").glob("lib*.so*"):
        shutil.copy(library, built / "lib")
    for file in (ROOT / "examples/train_single.py", HOLDER):
        shutil.copy(file, place)
    return place


def as_nobody(*words):
    return ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "env", "-i", f"PATH={PATH}", *map(str, words)]


def readable_by_nobody(path):
    return subprocess.run(as_nobody("test", "-r", path), check=False).returncode == 0


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@root_only
def test_a_user_without_root_or_environment_uses_the_driver(new_rack, world_readable, tmp_path_factory):
    home = tmp_path_factory.mktemp("nobody")
    os.chown(home, NOBODY, NOBODY)
    rack = new_rack(ghostrack=world_readable / "built/ghostrack", prefix=as_nobody(), env={})
    rack.run_dir = home / "rack"
    rack.prefix[-1] = str(rack.run_dir)
    rack.up()
    answer = rack.run("/usr/bin/python3", world_readable / "holder.py", "--gib", 2)
    assert answer.stdout.startswith("ready"), answer.stderr
    assert rack.must("run", "--", "nvidia-smi", "-L").count("GB200") == 4
    assert rack.command("down").returncode == 0
    until("nothing is left", lambda: not left_of(rack.run_dir))


@root_only
def test_a_user_without_root_or_environment_trains(new_rack, world_readable, tmp_path_factory):
    environment = pathlib.Path(sys.prefix)
    if not readable_by_nobody(environment / "bin/python"):
        environment = copy_of_environment(environment, world_readable)
    home = tmp_path_factory.mktemp("nobody")
    os.chown(home, NOBODY, NOBODY)
    rack = new_rack(ghostrack=world_readable / "built/ghostrack", prefix=as_nobody(f"HOME={home}"), env={})
    rack.run_dir = home / "rack"
    rack.prefix[-1] = str(rack.run_dir)
    small = "--steps 3 --batch 2 --length 128 --width 256 --depth 2 --heads 4 --vocabulary 512".split()
    done = rack.run(environment / "bin/python", world_readable / "train_single.py", *small)
    assert done.returncode == 0 and "TFLOP/s" in done.stdout, done.stdout + done.stderr
    until("nothing is left", lambda: not left_of(rack.run_dir))


def copy_of_environment(environment, place):
    """Hard links where the file system allows them: the wheels are gigabytes."""
    target = place / "venv"
    subprocess.run(["cp", "-al", environment, target], check=False, stderr=subprocess.DEVNULL)
    if not (target / "bin/python").exists():
        subprocess.run(["cp", "-a", environment, target], check=True)
    return target
