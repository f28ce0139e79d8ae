"""A rack that any user may reach, as root's is."""

import pytest


@pytest.fixture
def open_rack(new_rack, open_folder):
    return new_rack(run_dir=open_folder / "rack").up()
