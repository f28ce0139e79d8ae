"""A process that holds GPU memory through the CUDA driver alone: holder.py [--gpu N] [--gib G] [--children K]

It prints `ready PID`, then answers each line of its input: `poll` calls the driver until it fails and prints the code,
`sync` calls it once, `quit` ends. It uses no runtime library and no PyTorch, so that it starts at once.
"""

import argparse
import ctypes
import os
import signal
import sys
import time


class Driver:
    """Calls by name; a code other than 0 is an exception unless asked for."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")

    def code(self, name, *arguments):
        return getattr(self.lib, name)(*arguments)

    def call(self, name, *arguments):
        code = self.code(name, *arguments)
        if code != 0:
            raise SystemExit(f"{name}: {code}")


def hold(driver, gpu, gib):
    """A current context on the GPU and one allocation in it; its address."""
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    driver.call("cuInit", 0)
    driver.call("cuDeviceGet", ctypes.byref(device), gpu)
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.call("cuCtxSetCurrent", context)
    if gib:
        driver.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(gib << 30))
    return memory


def children(count):
    """Forked children that keep everything they inherited and sleep."""
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os.close(0)
            os.close(1)
            while True:
                signal.pause()
        pids.append(pid)
    return pids


def probe(driver, memory):
    """One round through ghostd and one through the stream: the first code that is not 0."""
    other, word = ctypes.c_uint64(), ctypes.c_uint32()
    free = driver.code("cuMemAlloc_v2", ctypes.byref(other), ctypes.c_size_t(1 << 20))
    if free == 0:
        free = driver.code("cuMemFree_v2", other)
    copy = driver.code("cuMemcpyDtoH_v2", ctypes.byref(word), memory, ctypes.c_size_t(4)) if memory.value else 0
    return free or copy or driver.code("cuCtxSynchronize")


def until_it_fails(driver, memory):
    while True:
        code = probe(driver, memory)
        if code != 0:
            return code
        time.sleep(0.01)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--gib", type=int, default=1)
    parser.add_argument("--children", type=int, default=0)
    args = parser.parse_args()
    driver = Driver()
    memory = hold(driver, args.gpu, args.gib)
    pids = children(args.children)
    print("ready", os.getpid(), *pids, flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        answer = until_it_fails if line.strip() == "poll" else probe
        print(answer(driver, memory), flush=True)


if __name__ == "__main__":
    main()
