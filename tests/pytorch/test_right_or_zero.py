"""Small operations against the CPU on random shapes, types and views: the control operations are right, others right or zero."""

import random

import pytest
import torch

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
LENGTHS = [1, 2, 3, 5, 7, 16, 33]


def tensor(noise, dtype=None, shape=None):
    """Small whole numbers, in a third of all cases as a view of something larger."""
    dtype = dtype or noise.choice([*INTEGERS, *FLOATS, torch.bool])
    shape = shape or [noise.choice(LENGTHS) for _ in range(noise.choice([1, 1, 2, 3]))]
    low = 0 if dtype in (torch.uint8, torch.bool) else -5
    count = torch.Size(shape).numel()
    x = torch.tensor([noise.randint(low, 5) for _ in range(count)]).reshape(shape).to(dtype)
    way = noise.random()
    if way < 0.2 and x.dim() > 1:
        return x.transpose(0, 1)
    if way < 0.35 and x.shape[0] > 1:
        return x[::2] if way < 0.28 else x[1:]
    return x


def unary(name):
    return lambda noise: (tensor(noise), getattr(torch, name))


def binary(name):
    def make(noise):
        x = tensor(noise)
        y = tensor(noise, x.dtype, [1]) if noise.random() < 0.5 else x.clone().flip(0)
        return (x, y), getattr(torch, name)

    return make


def with_number(name):
    def make(noise):
        number = noise.choice([1, 2, 3, 2.5])
        return tensor(noise), lambda x: getattr(torch, name)(x, number)

    return make


def reduction(name):
    def make(noise):
        x = tensor(noise)
        dim = noise.choice([None, *range(x.dim())])

        def run(x):
            out = getattr(torch, name)(x) if dim is None else getattr(torch, name)(x, dim)
            return out if isinstance(out, torch.Tensor) else out[0]

        return x, run

    return make


def along(name):
    """Operations that must be told a dimension."""

    def run(x):
        out = getattr(torch, name)(x, 0)
        return out if isinstance(out, torch.Tensor) else out[0]

    return lambda noise: (tensor(noise), run)


def cat(noise):
    x = tensor(noise)
    dim = noise.randrange(x.dim())
    return (x, x.clone(), x.flip(0)), lambda *parts: torch.cat(parts, dim)


def cast(noise):
    dtype = noise.choice([*INTEGERS, *FLOATS, torch.bool])
    x = tensor(noise, noise.choice([*INTEGERS, *FLOATS]))
    return x.clamp(0, 5), lambda x: x.to(dtype)


def pick(noise):
    x = tensor(noise)
    index = torch.tensor([noise.randrange(x.shape[0]) for _ in range(noise.choice([1, 3, 10]))])
    return (x, index), lambda x, index: x[index]


def choose(noise):
    x = tensor(noise)
    mask = torch.tensor([noise.random() < 0.5 for _ in range(x.numel())]).reshape(x.shape)
    return (mask, x, x.flip(0)), torch.where


def assign(noise):
    def run(x):
        y = x.clone()
        y[:1] = y[-1:].clone()
        return y

    return tensor(noise), run


NAMES = {
    unary: "abs neg isfinite isnan logical_not clone square relu zeros_like ones_like",
    binary: "add mul eq ne lt le gt ge maximum minimum logical_and logical_or",
    with_number: "add mul eq ne lt le gt ge",
    reduction: "sum max min amax amin any all mean argmax argmin count_nonzero",
}
RIGHT = {f"{kind.__name__} {name}": kind(name) for kind, names in NAMES.items() for name in names.split()}
RIGHT |= {"cat": cat, "cast": cast, "pick": pick, "choose": choose, "assign": assign}
RIGHT_OR_ZERO = {
    f"{kind.__name__} {name}": kind(name)
    for kind, names in {
        unary: "exp sqrt tril nonzero unique bincount",
        with_number: "pow floor_divide remainder",
        reduction: "prod std median",
        along: "sort cumsum logsumexp cummax",
    }.items()
    for name in names.split()
}


def answers(make, noise):
    """What the CPU and the GPU say, or None where the CPU refuses the types."""
    operands, run = make(noise)
    operands = operands if isinstance(operands, tuple) else (operands,)
    try:
        expected = run(*operands)
    except (RuntimeError, NotImplementedError):
        return None
    return expected, run(*(x.cuda() for x in operands)).cpu(), operands


def same(one, other):
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(one, other) or (
        one.is_floating_point() and torch.allclose(one, other, rtol=1e-2, atol=1e-3, equal_nan=True)
    )


def rounds(make, accept):
    noise = random.Random(1)
    for _ in range(40):
        found = answers(make, noise)
        if found:
            expected, got, operands = found
            assert accept(expected, got), (
                f"{[(x.dtype, x.shape, x.stride()) for x in operands]}: expected {expected}, got {got}"
            )


@pytest.mark.parametrize("name", RIGHT)
def test_a_control_operation_agrees_with_the_cpu(name):
    rounds(RIGHT[name], same)


@pytest.mark.parametrize("name", RIGHT_OR_ZERO)
def test_any_other_operation_agrees_with_the_cpu_or_reads_zero(name):
    rounds(RIGHT_OR_ZERO[name], lambda expected, got: got.count_nonzero() == 0 or same(expected, got))
