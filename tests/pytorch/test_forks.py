"""Processes forked from one that uses CUDA."""

import multiprocessing
import subprocess
import sys

import pytest
import torch

FORK = multiprocessing.get_context("fork")


def use_cuda_in_child(queue):
    try:
        torch.zeros(1, device="cuda")
        queue.put("no error")
    except Exception as error:  # noqa: BLE001 - the child reports whatever it met
        queue.put(f"{type(error).__name__}: {error}")


def call_the_driver(queue):
    import ctypes

    driver, device, free, total = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
    codes = [
        driver.cuDeviceGet(ctypes.byref(device), 0),
        driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)),
        driver.cuCtxSynchronize(),
        driver.cuInit(0),
    ]
    queue.put(codes)


def call_the_runtime(queue):
    import ctypes

    runtime, address = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
    queue.put([runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1024)), runtime.cudaDeviceSynchronize()])


def answer_of_child(work):
    queue = FORK.Queue()
    child = FORK.Process(target=work, args=(queue,))
    child.start()
    answer = queue.get(timeout=120)
    child.join(120)
    assert child.exitcode == 0
    return answer


@pytest.fixture(autouse=True)
def initialised():
    torch.zeros(1, device="cuda")


def test_torch_refuses_cuda_in_a_forked_child():
    assert "Cannot re-initialize CUDA in forked subprocess" in answer_of_child(use_cuda_in_child)


def test_the_driver_says_not_initialized_in_a_forked_child():
    not_initialized = 3
    assert answer_of_child(call_the_driver) == [not_initialized] * 4


def test_the_runtime_says_initialization_error_in_a_forked_child():
    initialization_error = 3
    assert answer_of_child(call_the_runtime) == [initialization_error] * 2


def test_the_parent_goes_on_after_its_child_failed():
    answer_of_child(call_the_driver)
    assert torch.tensor([1, 2], device="cuda").tolist() == [1, 2]


SPAWN = """
import multiprocessing, torch

def work(queue):
    queue.put(torch.tensor([7], device="cuda").item())

if __name__ == "__main__":
    torch.zeros(1, device="cuda")
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    child = spawn.Process(target=work, args=(queue,))
    child.start()
    print(queue.get(timeout=120))
    child.join()
"""


def test_a_spawned_child_has_cuda_of_its_own(tmp_path):
    program = tmp_path / "spawn.py"
    program.write_text(SPAWN)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "7"), done.stderr
