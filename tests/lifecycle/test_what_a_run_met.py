"""Functions without an implementation: they say not supported, and `ghostrack missing` lists who met them."""

import sys

import pytest

CALL = """
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
library, function = sys.argv[1:]
words = (ctypes.c_uint64 * 64)()
print(getattr(ctypes.CDLL(library), function)(words, words, words, words))
"""

# Graphics, virtual machines and the like, which no training job calls; and each library's code for "not supported".
ABSENT = [
    ("libcuda.so.1", "cuTexRefCreate", 801),
    ("libcuda.so.1", "cuGraphicsMapResources", 801),
    ("libcudart.so.13", "cudaGraphicsMapResources", 801),
    ("libnvidia-ml.so.1", "nvmlVgpuInstanceGetEccMode", 3),
    ("libcufft.so.12", "cufftXtSetGPUs", 16),
]


@pytest.mark.parametrize(("library", "function", "not_supported"), ABSENT, ids=lambda value: str(value))
def test_a_function_without_an_implementation_says_so_and_is_listed(shared_rack, library, function, not_supported):
    done = shared_rack.run(sys.executable, "-c", CALL, library, function)
    assert done.stdout.strip() == str(not_supported), done.stdout + done.stderr
    assert "without implementation" in done.stderr
    assert function in shared_rack.must("missing").split()


def test_a_run_that_met_nothing_says_nothing(shared_rack):
    done = shared_rack.run(sys.executable, "-c", "print(1)")
    assert (done.stdout, done.stderr) == ("1\n", "")
