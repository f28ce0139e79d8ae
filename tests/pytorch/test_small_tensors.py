"""Small tensors hold what was put and computed into them; big ones read zero (docs/limits.md)."""

import random

import pytest
import torch

DEVICE = "cuda"


def on_gpu(values, dtype=None):
    return torch.tensor(values, device=DEVICE, dtype=dtype)


def test_a_tensor_reads_back_what_it_was_made_of():
    assert on_gpu([3, 1, 2]).tolist() == [3, 1, 2]


DTYPES = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_survives_the_way_there_and_back(dtype):
    values = torch.arange(100).to(dtype)
    assert torch.equal(values.to(DEVICE).cpu(), values)


def test_booleans_survive_the_way_there_and_back():
    assert on_gpu([True, False, True]).tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32], ids=str)
def test_arange_counts(dtype):
    assert torch.arange(5, device=DEVICE, dtype=dtype).tolist() == [0, 1, 2, 3, 4]
    assert torch.arange(10, 0, -3, device=DEVICE, dtype=dtype).tolist() == [10, 7, 4, 1]


def test_zeros_ones_and_full_hold_their_value():
    assert torch.zeros(3, device=DEVICE).tolist() == [0, 0, 0]
    assert torch.ones(3, device=DEVICE).tolist() == [1, 1, 1]
    assert torch.full((2, 2), 7, device=DEVICE).tolist() == [[7, 7], [7, 7]]
    assert torch.full((3,), 2.5, device=DEVICE, dtype=torch.bfloat16).tolist() == [2.5] * 3


def test_fill_and_zero_write_in_place():
    x = on_gpu([1.0, 2.0])
    assert x.fill_(4).tolist() == [4, 4]
    assert x.zero_().tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=str)
def test_cat_joins(dtype):
    joined = torch.cat([on_gpu([1, 2], dtype), on_gpu([3], dtype), on_gpu([4, 5, 6], dtype)])
    assert joined.tolist() == [1, 2, 3, 4, 5, 6]


def test_stack_joins_along_a_new_dimension():
    assert torch.stack([on_gpu([1, 2]), on_gpu([3, 4])]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32], ids=str)
def test_reductions_are_right(dtype):
    x = on_gpu([3, 1, 4, 1, 5], dtype)
    assert x.max().item() == 5
    assert x.min().item() == 1
    assert x.sum().item() == 14


def test_the_largest_of_longs_is_right_as_object_collectives_need():
    assert on_gpu([17, 4_000_000_000]).max().item() == 4_000_000_000


def test_comparisons_are_right():
    x, y = on_gpu([1, 2, 3]), on_gpu([3, 2, 1])
    assert (x == y).tolist() == [False, True, False]
    assert (x != y).tolist() == [True, False, True]
    assert (x < y).tolist() == [True, False, False]
    assert (x >= 2).tolist() == [False, True, True]
    assert torch.equal(x, x.clone()) and not torch.equal(x, y)


def test_all_and_any_are_right():
    x = on_gpu([1, 0, 1])
    assert x.any().item() and not x.all().item()
    assert not (x > 5).any().item() and (x < 5).all().item()


def test_finite_values_are_finite():
    assert torch.isfinite(on_gpu([1.0, -2.0])).all().item()
    assert not torch.isfinite(on_gpu([1.0, float("inf")])).all().item()
    assert torch.isnan(on_gpu([1.0, float("nan")])).tolist() == [False, True]


def test_casts_keep_values():
    x = on_gpu([1, 2, 3])
    for dtype in (torch.float32, torch.int32, torch.bfloat16, torch.float64):
        assert x.to(dtype).tolist() == [1, 2, 3]


def test_elementwise_arithmetic_on_small_tensors_is_right():
    x, y = on_gpu([1, 2, 3]), on_gpu([10, 20, 30])
    assert (x + y).tolist() == [11, 22, 33]
    assert (y - x).tolist() == [9, 18, 27]
    assert (x * 2).tolist() == [2, 4, 6]


def test_a_slice_reads_its_part():
    x = torch.arange(10, device=DEVICE)
    assert x[3:6].tolist() == [3, 4, 5]
    assert x[::2].tolist() == [0, 2, 4, 6, 8]
    assert x[7].item() == 7


def test_an_assignment_to_a_slice_changes_that_part():
    x = torch.zeros(5, device=DEVICE, dtype=torch.int64)
    x[1:3] = on_gpu([7, 8])
    assert x.tolist() == [0, 7, 8, 0, 0]


def test_indexing_by_a_tensor_picks():
    assert on_gpu([10, 20, 30])[on_gpu([2, 0])].tolist() == [30, 10]


def test_copies_between_tensors_keep_values():
    x = on_gpu([1, 2, 3])
    assert x.clone().tolist() == [1, 2, 3]
    y = torch.empty_like(x)
    y.copy_(x)
    assert y.tolist() == [1, 2, 3]


def test_a_copy_is_its_own_object():
    x = on_gpu([1, 2, 3])
    y = x.clone()
    x.zero_()
    assert y.tolist() == [1, 2, 3]


def test_a_transposed_matrix_reads_transposed():
    assert on_gpu([[1, 2], [3, 4]]).t().contiguous().tolist() == [[1, 3], [2, 4]]


def test_big_tensors_read_zero():
    big = torch.full((1 << 24,), 3.0, device=DEVICE)
    assert big[:4].cpu().abs().max().item() in (0.0, 3.0)
    assert not (big @ big).item()
    source = torch.ones(1 << 24)
    assert source.to(DEVICE).cpu().count_nonzero().item() == 0


def test_what_a_product_wrote_reads_zero():
    x = torch.ones(64, 64, device=DEVICE)
    assert (x @ x).cpu().count_nonzero().item() == 0


def test_a_result_over_a_known_tensor_never_shows_the_old_values():
    x = torch.ones(64, 64, device=DEVICE)
    out = torch.full((64, 64), 9.0, device=DEVICE)
    torch.mm(x, x, out=out)
    assert out.cpu().count_nonzero().item() == 0


@pytest.mark.parametrize("seed", range(8))
def test_reused_memory_never_shows_what_an_earlier_owner_wrote(seed):
    """A random life of tensors over the caching allocator: each reads its own bytes, or zeros once a product wrote it."""
    random.seed(seed)
    mark, alive = 0, []
    for _ in range(300):
        step = random.random()
        if step < 0.45 or not alive:
            mark += 1
            count = random.choice([1, 3, 100, 128, 1000])
            alive.append((torch.full((count,), mark, dtype=torch.int32).to(DEVICE), [mark] * count))
        elif step < 0.55:
            side = random.choice([4, 16])
            product = torch.randn(side, side, device=DEVICE) @ torch.randn(side, side, device=DEVICE)
            alive.append((product, [[0.0] * side] * side))
        elif step < 0.65:
            tensor, values = random.choice(alive)
            alive.append((tensor.clone(), values))
        elif step < 0.85:
            alive.pop(random.randrange(len(alive)))
        else:
            tensor, values = random.choice(alive)
            assert tensor.tolist() == values
        if step > 0.99:
            torch.cuda.empty_cache()
    for tensor, values in alive:
        assert tensor.tolist() == values


def test_a_product_in_memory_where_another_tensor_lived_reads_zero():
    left, right = torch.randn(16, 32, device=DEVICE), torch.randn(32, 32, device=DEVICE)
    left @ right
    for _ in range(20):
        old = torch.full((16, 32), 42.0).to(DEVICE)
        address = old.data_ptr()
        del old
        product = left @ right
        if product.data_ptr() == address:
            assert product.cpu().count_nonzero().item() == 0
            return
    pytest.fail("the allocator never reused the address")
