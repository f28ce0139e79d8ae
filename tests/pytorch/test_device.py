"""What PyTorch says of the GPUs, and which of them a process sees."""

import pathlib
import re

import pynvml
import pytest
import torch

GIB = 1 << 30


def test_cuda_is_available_with_the_four_gpus_of_a_tray():
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 4


@pytest.mark.parametrize("index", range(4))
def test_the_properties_are_a_gb200s(index):
    properties = torch.cuda.get_device_properties(index)
    assert properties.name == "NVIDIA GB200"
    assert (properties.major, properties.minor) == (10, 0)
    assert properties.multi_processor_count == 152
    assert properties.total_memory == (189471 - 742) << 20
    assert properties.warp_size == 32
    assert properties.max_threads_per_multi_processor == 2048
    assert properties.regs_per_multiprocessor == 65536
    assert properties.shared_memory_per_block_optin == 227 << 10
    assert properties.is_integrated == 0


def test_gpus_have_different_uuids_and_bus_addresses():
    properties = [torch.cuda.get_device_properties(index) for index in range(4)]
    assert len({str(p.uuid) for p in properties}) == 4
    places = [(p.pci_domain_id, p.pci_bus_id, p.pci_device_id) for p in properties]
    assert places == [(8, 1, 0), (9, 1, 0), (0x18, 1, 0), (0x19, 1, 0)]


def test_the_capabilities_are_those_of_compute_10():
    assert torch.cuda.get_device_capability() == (10, 0)
    assert torch.cuda.is_bf16_supported(including_emulation=False)
    assert "sm_100" in torch.cuda.get_arch_list()


def test_each_gpu_reaches_every_other_as_a_peer():
    for one in range(4):
        for other in range(4):
            assert torch.cuda.can_device_access_peer(one, other) == (one != other)


def test_nvml_and_the_driver_agree_on_identity():
    pynvml.nvmlInit()
    for index in range(4):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        properties = torch.cuda.get_device_properties(index)
        assert pynvml.nvmlDeviceGetUUID(handle) == f"GPU-{properties.uuid}"
        assert pynvml.nvmlDeviceGetPciInfo(handle).domain == properties.pci_domain_id
    pynvml.nvmlShutdown()


def test_torchs_own_doors_to_nvml_answer():
    assert 0 <= torch.cuda.utilization(0) <= 100
    assert 100_000 < torch.cuda.power_draw(0) < 1_200_000
    assert 20 <= torch.cuda.temperature(0) <= 90
    assert torch.cuda.clock_rate(0) >= 120
    assert torch.cuda.device_memory_used(0) > 0


def test_free_memory_falls_by_what_is_taken_and_comes_back():
    keep = torch.zeros(1, device="cuda")
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    assert total == torch.cuda.get_device_properties(0).total_memory
    block = torch.empty(10 * GIB, dtype=torch.uint8, device="cuda")
    assert free - torch.cuda.mem_get_info()[0] == 10 * GIB
    del block
    torch.cuda.empty_cache()
    assert torch.cuda.mem_get_info()[0] == free
    assert keep.is_cuda


def test_no_library_of_nvidia_is_mapped_but_the_compilers():
    torch.zeros(1, device="cuda") @ torch.zeros(1, device="cuda")
    torch.linalg.inv(torch.eye(2)).cuda()
    files = {line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if line.count("/")}
    ours = {pathlib.Path(file).name: file for file in files}
    for stem in ("cuda", "cudart", "cublas", "cublasLt", "cudnn", "nccl", "cufft", "cusparse", "cusolver", "nvidia-ml"):
        for name, file in ours.items():
            if re.match(rf"lib{stem}\.so", name):
                assert "site-packages" not in file, f"{file} is NVIDIA's own"
    theirs = [file for file in files if "/site-packages/nvidia/" in file]
    assert all("nvrtc" in file or "nvJitLink" in file for file in theirs), theirs


COUNT = """
import torch
count = torch.cuda.device_count()
print(count, *(torch.cuda.get_device_properties(index).uuid for index in range(count)))
"""


@pytest.mark.parametrize(
    ("value", "seen"),
    [("2", [2]), ("3,1", [3, 1]), ("", []), ("-1", []), ("0,9,1", [0]), ("1,-1,2", [1])],
)
def test_cuda_visible_devices_selects_by_index(python, value, seen):
    answer = python(COUNT, CUDA_VISIBLE_DEVICES=value).split()
    uuids = [str(torch.cuda.get_device_properties(index).uuid) for index in seen]
    assert answer == [str(len(seen)), *uuids]


def test_cuda_visible_devices_selects_by_uuid_and_by_its_beginning(python):
    uuids = [str(torch.cuda.get_device_properties(index).uuid) for index in range(4)]
    whole = f"GPU-{uuids[2]},GPU-{uuids[0]}"
    assert python(COUNT, CUDA_VISIBLE_DEVICES=whole).split() == ["2", uuids[2], uuids[0]]
    assert python(COUNT, CUDA_VISIBLE_DEVICES=f"GPU-{uuids[3][:8]}").split() == ["1", uuids[3]]


USED = """
import pynvml, torch
x = torch.empty(1 << 33, dtype=torch.uint8, device="cuda")
pynvml.nvmlInit()
handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(4)]
print(*(pynvml.nvmlDeviceGetMemoryInfo(handle).used >> 30 for handle in handles))
"""


def test_the_visible_device_is_the_one_that_does_the_work(python):
    used = [int(word) for word in python(USED, CUDA_VISIBLE_DEVICES="2").split()]
    assert used[2] >= 8 and used[2] - used[3] >= 8, used
