"""A rack that any user may reach, as root's is."""

import pytest


@pytest.fixture
def open_rack(open_folder, new_rack):
    return new_rack(run_dir=open_folder / "rack").up()
