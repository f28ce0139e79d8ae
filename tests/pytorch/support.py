"""What several files of this suite measure with. It asserts nothing."""

import torch


def timed(work, warm=True):
    """Milliseconds of GPU time of `work` on the current stream; a first run has already opened what it needs."""
    if warm:
        work()
        torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def back_to_back(work, ahead):
    """As `timed`, behind `ahead`, so that the time a launch takes on the host is not in it."""
    work()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    ahead()
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)
