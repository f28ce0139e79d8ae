"""Trains a small GPT-like transformer on one GPU and prints step time, tokens/s and TFLOP/s.

Plain PyTorch: it runs wherever torch finds a CUDA device.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]


class Block(nn.Module):
    """Attention and a feed-forward network, each behind a layer norm and a residual."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.norm2(x))


class Transformer(nn.Module):
    """Token and position embeddings, blocks, and a projection back to the vocabulary."""

    def __init__(self, vocabulary, length, width, depth, heads):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=float, default=20, help="how long to train (default %(default)s)")
    parser.add_argument("--steps", type=int, help="stop after this many steps, whatever the time")
    parser.add_argument("--batch", type=int, default=16, help="sequences a step (default %(default)s)")
    parser.add_argument("--length", type=int, default=2048, help="tokens a sequence (default %(default)s)")
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=32768)
    return parser.parse_args()


def flops_per_step(args, model):
    """Forward and backward: 6 per weight and token, and the causal half of attention's products."""
    embeddings = (args.vocabulary + args.length) * args.width
    weights = sum(p.numel() for p in model.parameters()) - embeddings
    tokens = args.batch * args.length
    return 6 * tokens * (weights + args.depth * args.length * args.width)


def batches(args):
    """Random text, in pinned memory as a loader would hand it over."""
    source = torch.Generator().manual_seed(0)
    shape = (args.batch, args.length + 1)
    while True:
        yield torch.randint(args.vocabulary, shape, generator=source).pin_memory()


def train_step(model, optimizer, batch):
    inputs, targets = batch[:, :-1], batch[:, 1:]
    with torch.autocast("cuda", dtype=torch.bfloat16), sdpa_kernel(ATTENTION, set_priority=True):
        logits = model(inputs)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss


def train(args, model, optimizer, flops):
    """Trains in rounds; after each prints the mean of its steps. Returns the number of steps."""
    data = batches(args)
    tokens = args.batch * args.length
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begun, done = time.monotonic(), 0
    while time.monotonic() - begun < args.seconds and (args.steps is None or done < args.steps):
        steps = min(1 if done == 0 else 10, (args.steps or done + 10) - done)
        start.record()
        for _ in range(steps):
            loss = train_step(model, optimizer, next(data).to(args.device, non_blocking=True))
        end.record()
        end.synchronize()
        done += steps
        seconds = start.elapsed_time(end) / 1e3 / steps
        print(
            f"step {done:5d}  loss {loss.item():.4f}  {seconds * 1e3:7.1f} ms/step"
            f"  {tokens / seconds:10,.0f} tokens/s  {flops / seconds / 1e12:7.1f} TFLOP/s",
            flush=True,
        )
    return done


def main():
    args = arguments()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device: torch.cuda.is_available() is False")
    torch.cuda.set_device(args.device)
    torch.manual_seed(0)
    with torch.device(args.device):
        model = Transformer(args.vocabulary, args.length, args.width, args.depth, args.heads)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    millions = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name()}: {millions:,.0f} M parameters", flush=True)
    steps = train(args, model, optimizer, flops_per_step(args, model))
    gib = torch.cuda.max_memory_reserved() / 2**30
    print(f"{steps} steps, {gib:.1f} GiB of GPU memory reserved")


if __name__ == "__main__":
    main()
