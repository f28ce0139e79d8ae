"""Fixtures of every suite: racks that go away with the test, and the long tests' switch."""

import pathlib
import shutil
import tempfile

import pytest
from racks import GHOSTRACK, Rack


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also run what is marked `long`")


def pytest_collection_modifyitems(config, items):
    """Leaves the long tests out by deselection: a test that does not run is counted as such, never as passed."""
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    items[:] = [item for item in items if item not in long]
    config.hook.pytest_deselected(items=long)


def pytest_sessionstart(session):
    if not GHOSTRACK.is_file():
        pytest.exit(
            f"{GHOSTRACK} is not there; `make stubs` builds it, GHOSTRACK_BIN names another place", returncode=2
        )


@pytest.fixture
def new_rack(tmp_path):
    """Makes racks in their own run directories; each is down after the test."""
    racks = []

    def make(run_dir=None, **more):
        rack = Rack(run_dir or tmp_path / f"rack-{len(racks)}", **more)
        racks.append(rack)
        return rack

    yield make
    for rack in racks:
        rack.down()


@pytest.fixture
def rack(new_rack):
    """A rack of two trays, up."""
    return new_rack().up()


@pytest.fixture(scope="module")
def shared_rack(tmp_path_factory):
    """One rack for the tests of a file that only look or only use GPUs of their own."""
    rack = Rack(tmp_path_factory.mktemp("shared") / "rack")
    rack.up()
    yield rack
    rack.down()


@pytest.fixture
def open_folder():
    """A folder that every user may enter; pytest's own are closed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ghostrack-open-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
