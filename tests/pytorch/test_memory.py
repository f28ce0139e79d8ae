"""Pinned memory, copies between host and GPUs, files, and the end of memory."""

import io

import pytest
import torch

GIB = 1 << 30


def test_pinned_memory_is_pinned_and_holds_its_bytes():
    x = torch.arange(10).pin_memory()
    assert x.is_pinned() and x.tolist() == list(range(10))
    assert not torch.arange(10).is_pinned()


def test_a_pinned_tensor_goes_to_the_gpu_and_back_without_blocking():
    x = torch.arange(100).pin_memory()
    there = x.to("cuda", non_blocking=True)
    back = torch.empty(100, dtype=torch.int64, pin_memory=True)
    back.copy_(there, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, x)


def test_a_small_tensor_keeps_its_values_on_the_way_to_a_peer():
    x = torch.tensor([3, 1, 2], device="cuda:0")
    for gpu in (1, 2, 3):
        assert x.to(f"cuda:{gpu}").tolist() == [3, 1, 2]


def test_a_copy_to_a_peer_takes_its_time_on_nvlink():
    x = torch.empty(4 * GIB, dtype=torch.uint8, device="cuda:0")
    y = torch.empty_like(x, device="cuda:1")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    y.copy_(x)
    start.record()
    y.copy_(x)
    end.record()
    end.synchronize()
    gigabytes_a_second = 4 * GIB / start.elapsed_time(end) / 1e6
    assert 600 < gigabytes_a_second < 900


def test_a_copy_from_pinned_memory_takes_its_time_on_c2c():
    host = torch.empty(GIB, dtype=torch.uint8, pin_memory=True)
    there = torch.empty_like(host, device="cuda")
    there.copy_(host, non_blocking=True)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    there.copy_(host, non_blocking=True)
    end.record()
    end.synchronize()
    gigabytes_a_second = GIB / start.elapsed_time(end) / 1e6
    assert 100 < gigabytes_a_second < 450


def test_work_on_each_gpu_stays_there():
    for gpu in range(4):
        with torch.cuda.device(gpu):
            x = torch.ones(3, device="cuda")
            assert x.device.index == gpu and x.tolist() == [1, 1, 1]


def test_the_allocator_counts_what_it_reserves():
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.empty(GIB, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == GIB
    assert torch.cuda.memory_reserved() >= GIB
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() - before >= GIB
    assert "allocated memory" in torch.cuda.memory_summary().lower()


def test_memory_that_is_not_there_raises_out_of_memory_with_true_numbers():
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    with pytest.raises(torch.cuda.OutOfMemoryError) as raised:
        torch.empty(200 * GIB, dtype=torch.uint8, device="cuda")
    said = str(raised.value)
    assert "Tried to allocate 200.00 GiB" in said
    assert f"total capacity of {total / GIB:.2f} GiB" in said
    assert f"of which {free / GIB:.2f} GiB is free" in said
    assert torch.empty(GIB, dtype=torch.uint8, device="cuda").is_cuda


def test_memory_fills_to_the_brim_and_no_further():
    torch.cuda.empty_cache()
    blocks = []
    with pytest.raises(torch.cuda.OutOfMemoryError):
        while True:
            blocks.append(torch.empty(GIB, dtype=torch.uint8, device="cuda:3"))
            assert len(blocks) < 200
    free, total = torch.cuda.mem_get_info(3)
    assert free < GIB and len(blocks) >= total // GIB - 2


def test_a_module_saves_and_loads(tmp_path):
    model = torch.nn.Linear(4, 3).cuda()
    weights = torch.arange(12.0).reshape(3, 4)
    model.load_state_dict({"weight": weights, "bias": torch.ones(3)})
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other = torch.nn.Linear(4, 3).cuda()
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert torch.equal(other.weight.cpu(), weights)


def test_an_optimizers_state_saves_and_loads_onto_another_gpu():
    model = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    state = torch.load(file, map_location="cuda:1", weights_only=True)
    assert {value.device.index for entry in state["state"].values() for value in entry.values() if value.is_cuda} == {1}


@pytest.mark.parametrize("backend", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_the_allocators_other_ways_work_too(python, backend):
    code = """
import torch
x = [torch.full((n,), n, device="cuda") for n in (1, 1000, 100)]
big = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
assert [t[0].item() for t in x] == [1, 1000, 100]
free = torch.cuda.mem_get_info()[0]
del big
torch.cuda.synchronize(); torch.cuda.empty_cache()
print((torch.cuda.mem_get_info()[0] - free) >> 30)
"""
    assert python(code, PYTORCH_ALLOC_CONF=backend) == "2"
