"""An operation that is not computed (docs/limits.md) writes its result and nothing else: neither its operands nor others.

Flash attention is not among them: its kernels take all pointers in one structure, operands and results alike.
"""

import pytest
import torch
from torch.nn import functional as F

OPERATIONS = {
    "sort": lambda x: x.sort(),
    "argsort": lambda x: x.argsort(),
    "topk": lambda x: x.topk(3),
    "median": lambda x: x.median(),
    "cumsum": lambda x: x.cumsum(0),
    "prod": lambda x: x.prod(),
    "nonzero": lambda x: x.nonzero(),
    "masked select": lambda x: x[x > 2],
    "unique": lambda x: x.unique(),
    "one hot": lambda x: F.one_hot(x, 64),
    "embedding": lambda x: F.embedding(x, torch.zeros(64, 8, device="cuda")),
    "cross entropy": lambda x: F.cross_entropy(torch.zeros(64, 64, device="cuda"), x),
    "scatter": lambda x: torch.zeros(64, dtype=torch.long, device="cuda").scatter_(0, x, x),
    "index put": lambda x: torch.zeros(64, dtype=torch.long, device="cuda").index_put_((x,), x),
    "take": lambda x: x.take(x),
    "gather": lambda x: x.gather(0, x),
    "searchsorted": lambda x: torch.searchsorted(x, x),
    "bincount": lambda x: x.bincount(),
    "roll": lambda x: x.roll(1),
    "tril": lambda x: x.view(8, 8).tril(),
    "gcd": lambda x: torch.gcd(x, x),
}
FLOAT_OPERATIONS = {
    "product": lambda x: x.view(8, 8) @ x.view(8, 8),
    "softmax": lambda x: x.softmax(0),
    "dropout": lambda x: F.dropout(x, 0.5),
    "layer norm": lambda x: F.layer_norm(x, (64,)),
    "standard deviation": lambda x: x.std(),
    "multinomial": lambda x: torch.multinomial(x + 1, 3),
}


def check(operation, values):
    before, x, after = ((values + offset).cuda() for offset in (1000, 0, 2000))
    operation(x)
    assert torch.equal(before.cpu(), values + 1000), "a tensor before the operand changed"
    assert torch.equal(after.cpu(), values + 2000), "a tensor after the operand changed"
    assert torch.equal(x.cpu(), values), "the operand changed"


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_on_integers_changes_no_other_tensor(name):
    check(OPERATIONS[name], torch.arange(64))


@pytest.mark.parametrize("name", FLOAT_OPERATIONS)
def test_an_operation_on_floats_changes_no_other_tensor(name):
    check(FLOAT_OPERATIONS[name], torch.arange(64.0))
