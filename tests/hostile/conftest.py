"""A rack that any user may reach, as root's is."""

import os
import shutil
import tempfile

import pytest
from racks import Rack


@pytest.fixture
def open_rack():
    folder = tempfile.mkdtemp(prefix="ghostrack-open-")
    os.chmod(folder, 0o755)
    rack = Rack(f"{folder}/rack")
    rack.up()
    yield rack
    rack.down()
    shutil.rmtree(folder, ignore_errors=True)
