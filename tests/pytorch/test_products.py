"""Matrix products in every type, and what networks are made of."""

import pytest
import torch
from support import timed
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


@pytest.fixture
def tf32():
    torch.backends.cuda.matmul.allow_tf32 = True
    yield
    torch.backends.cuda.matmul.allow_tf32 = False


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_product_has_its_shape_and_type(dtype):
    out = torch.randn(64, 128, device="cuda").to(dtype) @ torch.randn(128, 32, device="cuda").to(dtype)
    assert out.shape == (64, 32) and out.dtype == dtype
    assert out.cpu().shape == (64, 32)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_products_of_batches_work(dtype):
    a, b = (torch.randn(8, 32, 32, device="cuda").to(dtype) for _ in range(2))
    assert torch.bmm(a, b).shape == (8, 32, 32)
    assert torch.baddbmm(a, a, b).shape == (8, 32, 32)
    assert torch.einsum("bij,bjk->bik", a, b).shape == (8, 32, 32)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_products_with_vectors_and_sums_work(dtype):
    a, v = torch.randn(16, 16, device="cuda").to(dtype), torch.randn(16, device="cuda").to(dtype)
    assert torch.mv(a, v).shape == (16,)
    assert torch.addmm(a, a, a).shape == (16, 16)
    assert torch.dot(v, v).shape == ()
    assert torch.outer(v, v).shape == (16, 16)


def test_complex_products_work():
    a = torch.zeros(8, 8, dtype=torch.complex64, device="cuda")
    assert (a @ a).dtype == torch.complex64


def test_tf32_is_faster_than_fp32_and_slower_than_bf16(tf32):
    a, out = (torch.empty(4096, 4096, device="cuda") for _ in range(2))
    half, half_out = a.bfloat16(), out.bfloat16()
    fast = timed(lambda: torch.mm(a, a, out=out))
    torch.backends.cuda.matmul.allow_tf32 = False
    slow = timed(lambda: torch.mm(a, a, out=out))
    assert timed(lambda: torch.mm(half, half, out=half_out)) < fast < slow


def test_fp8_products_work_and_are_faster_than_bf16():
    a = torch.empty(8192, 8192, device="cuda", dtype=torch.float8_e4m3fn)
    b = torch.empty(8192, 8192, device="cuda", dtype=torch.float8_e4m3fn).t()
    one = torch.ones((), device="cuda")
    out = torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    assert out.shape == (8192, 8192) and out.dtype == torch.bfloat16
    half, half_out = (torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    eight = timed(lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16))
    assert eight < 0.7 * timed(lambda: torch.mm(half, half, out=half_out))


def test_fp8_products_take_row_wise_scales():
    a = torch.empty(64, 128, device="cuda", dtype=torch.float8_e4m3fn)
    b = torch.empty(32, 128, device="cuda", dtype=torch.float8_e4m3fn).t()
    scales = torch.ones(64, 1, device="cuda"), torch.ones(1, 32, device="cuda")
    out = torch._scaled_mm(a, b, scale_a=scales[0], scale_b=scales[1], out_dtype=torch.bfloat16)
    assert out.shape == (64, 32)


def test_integer_products_work():
    a = torch.zeros(32, 32, dtype=torch.int8, device="cuda")
    assert torch._int_mm(a, a).dtype == torch.int32


class Small(nn.Module):
    """Embedding, linear, GELU, layer norm, dropout, and a head."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.body = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64), nn.LayerNorm(64), nn.Dropout(0.1))
        self.head = nn.Linear(64, 100)

    def forward(self, tokens):
        return self.head(self.body(self.embed(tokens)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_linear_gelu_layer_norm_and_cross_entropy_run_forward_and_backward(dtype):
    model = Small().cuda().to(dtype)
    tokens = torch.randint(100, (4, 16)).cuda()
    loss = F.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten())
    loss.backward()
    assert loss.shape == () and loss.item() == loss.item()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())


@pytest.mark.parametrize(
    "backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_attention_runs_forward_and_backward(backend, dtype):
    q, k, v = (torch.randn(2, 8, 128, 64, device="cuda").to(dtype).requires_grad_() for _ in range(3))
    with sdpa_kernel(backend):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    out.sum().backward()
    assert out.shape == q.shape and q.grad.shape == q.shape


OPERATIONS = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "silu": F.silu,
    "relu": F.relu,
    "rms_norm": lambda x: F.rms_norm(x, (64,)),
    "group_norm": lambda x: F.group_norm(x.unsqueeze(-1), 4),
    "mean": lambda x: x.mean(),
    "norm": lambda x: x.norm(),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(-1).values,
    "topk": lambda x: x.topk(5).values,
    "gather": lambda x: x.gather(1, torch.zeros(64, 64, dtype=torch.int64, device="cuda")),
    "where": lambda x: torch.where(x > 0, x, -x),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0),
    "roll": lambda x: x.roll(1, 0),
    "tril": torch.tril,
    "exp": torch.exp,
    "var": lambda x: x.var(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_runs_forward_and_backward(name):
    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    out = OPERATIONS[name](x)
    out.sum().backward()
    torch.cuda.synchronize()
    assert x.grad.shape == x.shape
