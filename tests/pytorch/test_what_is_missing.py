"""What rests on vendor libraries that are only partly there: it works, or it says that it does not.

Never a crash, a hang, or success with values nobody computed beyond the zeros of docs/limits.md.
"""

import pytest
import torch
from torch import nn


def square(n=64):
    return torch.eye(n, device="cuda")


def profiled():
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    ) as seen:
        square() + 1
    return seen.key_averages()


OPERATIONS = {
    "convolution": lambda: nn.Conv2d(3, 8, 3).cuda()(torch.zeros(1, 3, 16, 16, device="cuda")),
    "convolution backward": lambda: (
        nn.Conv2d(3, 8, 3).cuda()(torch.zeros(1, 3, 16, 16, device="cuda")).sum().backward()
    ),
    "batch norm": lambda: nn.BatchNorm2d(8).cuda()(torch.zeros(4, 8, 8, 8, device="cuda")),
    "LSTM": lambda: nn.LSTM(16, 16).cuda()(torch.zeros(4, 2, 16, device="cuda")),
    "GRU": lambda: nn.GRU(16, 16).cuda()(torch.zeros(4, 2, 16, device="cuda")),
    "cholesky": lambda: torch.linalg.cholesky(square()),
    "qr": lambda: torch.linalg.qr(square()),
    "svd": lambda: torch.linalg.svd(square()),
    "eigh": lambda: torch.linalg.eigh(square()),
    "inverse": lambda: torch.linalg.inv(square()),
    "solve": lambda: torch.linalg.solve(square(), square()),
    "determinant": lambda: torch.linalg.det(square()),
    "fft": lambda: torch.fft.fft(square()),
    "rfft2": lambda: torch.fft.rfft2(square()),
    "sparse product": lambda: torch.sparse.mm(square().to_sparse(), square()),
    "sparse csr product": lambda: square().to_sparse_csr() @ square(),
    "profiler": profiled,
    "ctc loss": lambda: nn.CTCLoss()(
        torch.zeros(20, 2, 10, device="cuda").log_softmax(2),
        torch.ones(2, 5, dtype=torch.long),
        torch.full((2,), 20),
        torch.full((2,), 5),
    ),
    "nonzero": lambda: square().nonzero(),
    "unique": lambda: square().unique(),
    "multinomial": lambda: torch.multinomial(torch.ones(10, device="cuda"), 3),
    "randperm": lambda: torch.randperm(100, device="cuda"),
    "embedding bag": lambda: nn.EmbeddingBag(10, 8).cuda()(torch.zeros(2, 3, dtype=torch.long, device="cuda")),
    "interpolation": lambda: nn.functional.interpolate(torch.zeros(1, 1, 8, 8, device="cuda"), scale_factor=2),
    "max pool": lambda: nn.functional.max_pool2d(torch.zeros(1, 1, 8, 8, device="cuda"), 2),
    "grouped product": lambda: torch._grouped_mm(
        torch.zeros(2, 32, 64, device="cuda", dtype=torch.bfloat16),
        torch.zeros(2, 64, 32, device="cuda", dtype=torch.bfloat16),
    ),
    "ipc handle": lambda: square().untyped_storage()._share_cuda_(),
    "nvtx": lambda: torch.cuda.nvtx.mark("here"),
    "green context": lambda: torch.cuda.green_contexts.GreenContext.create(num_sms=8),
    "memory pool": lambda: torch.cuda.MemPool(),
    "sleep": lambda: torch.cuda._sleep(1000),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_it_works_or_says_that_it_does_not(name):
    try:
        OPERATIONS[name]()
        torch.cuda.synchronize()
    except (RuntimeError, NotImplementedError) as error:
        print(f"{name}: {str(error).splitlines()[0]}")
    assert torch.tensor([1, 2], device="cuda").tolist() == [1, 2]
