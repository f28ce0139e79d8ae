"""Training as people write it: optimizers, mixed precision, loaders."""

import os
import pathlib
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/train_single.py"


def model_and_batch():
    model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 8)).cuda()
    return model, torch.randn(32, 64, device="cuda")


WAYS = {
    "AdamW foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "AdamW fused": lambda p: torch.optim.AdamW(p, fused=True),
    "AdamW for-loop": lambda p: torch.optim.AdamW(p, foreach=False, fused=False),
    "AdamW capturable": lambda p: torch.optim.AdamW(p, capturable=True),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD fused": lambda p: torch.optim.SGD(p, lr=0.1, fused=True),
    "Adagrad": lambda p: torch.optim.Adagrad(p),
    "RMSprop": lambda p: torch.optim.RMSprop(p),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_optimizer_steps(way):
    model, x = model_and_batch()
    optimizer = WAYS[way](model.parameters())
    for _ in range(3):
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("foreach", [True, False])
def test_gradients_are_clipped_without_complaint(foreach):
    model, x = model_and_batch()
    model(x).sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True, foreach=foreach)
    assert norm.item() >= 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_computes_in_the_smaller_type(dtype):
    model, x = model_and_batch()
    with torch.autocast("cuda", dtype=dtype):
        out = model(x)
    assert out.dtype == dtype
    out.float().sum().backward()
    assert model[0].weight.grad.dtype == torch.float32


def test_a_grad_scaler_scales_steps_and_keeps_a_scale():
    model, x = model_and_batch()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=1000)
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    assert scaler.get_scale() == 1024.0


def test_checkpointing_recomputes():
    from torch.utils.checkpoint import checkpoint

    model, x = model_and_batch()
    checkpoint(model, x, use_reentrant=False).sum().backward()
    assert model[0].weight.grad is not None


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_pins_its_batches(workers):
    data = TensorDataset(torch.arange(64).reshape(32, 2))
    loader = DataLoader(data, batch_size=8, pin_memory=True, num_workers=workers)
    seen = []
    for (batch,) in loader:
        assert batch.is_pinned()
        seen += batch.to("cuda", non_blocking=True).flatten().tolist()
    assert seen == list(range(64))


def test_workers_forked_after_cuda_is_initialised_deliver():
    torch.zeros(1, device="cuda")
    loader = DataLoader(TensorDataset(torch.arange(100)), batch_size=10, num_workers=3, multiprocessing_context="fork")
    assert sorted(torch.cat([batch for (batch,) in loader]).tolist()) == list(range(100))


def test_a_cuda_graph_replays():
    x = torch.zeros(8, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            x + 1
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
    x.fill_(4)
    graph.replay()
    torch.cuda.synchronize()
    assert y.shape == (8,)


def test_a_compiled_function_runs(python, tmp_path):
    code = """
import torch
function = torch.compile(lambda x: (x * 2 + 1).relu().sum(-1))
x = torch.randn(256, 256, device="cuda", requires_grad=True)
function(x).sum().backward()
torch.cuda.synchronize()
print(tuple(function(x).shape), tuple(x.grad.shape))
"""
    caches = {name: str(tmp_path) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
    assert python(code, **caches) == "(256,) (256, 256)"


def test_the_example_trains():
    small = "--steps 3 --batch 2 --length 128 --width 256 --depth 2 --heads 4 --vocabulary 512".split()
    done = subprocess.run(
        [sys.executable, EXAMPLE, *small], env=os.environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "3 steps" in done.stdout and "TFLOP/s" in done.stdout
    assert "Warning" not in done.stderr, done.stderr
