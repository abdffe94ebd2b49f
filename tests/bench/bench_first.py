"""The first copy of a process between pageable memory and a GPU, next to the driver's and PyTorch's.

    python tests/bench/bench_first.py [--json FILE]

Each copy has a process of its own, in which the context is there and nothing has been copied. Milliseconds until the
bytes have arrived, the median of several processes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TURNS = 3
SIZES = (4, 8, 16, 64, 256)  # MiB
ROWS = 2048  # of a transposed array of float32
MIB = 1 << 20


def copy_by_viaduct(to_device: bool, mebibytes: int, transposed: bool) -> Callable[[], None]:
    import numpy
    import viaduct as via

    shape = (mebibytes * MIB // 4 // ROWS, ROWS)
    host = via.asarray(numpy.ones(shape[::-1] if transposed else shape, "f4"))
    device = via.empty(shape, "f4", device="cuda:0")
    device = device.T if transposed else device
    return lambda: via.copy(device, host) if to_device else via.copy(host, device)


def copy_by_driver(to_device: bool, mebibytes: int, transposed: bool) -> Callable[[], None]:
    del transposed  # the driver's copies have adjacent bytes
    driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(mebibytes * MIB)
    context, device = ctypes.c_void_p(), ctypes.c_uint64()
    host = (ctypes.c_char * count.value)()
    ctypes.memset(host, 1, count.value)
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    if driver.cuMemAlloc_v2(ctypes.byref(device), count) != 0:
        raise MemoryError

    def copy() -> None:
        failed = (
            driver.cuMemcpyHtoD_v2(device, host, count) if to_device else driver.cuMemcpyDtoH_v2(host, device, count)
        )
        if failed or driver.cuCtxSynchronize():
            raise RuntimeError("the driver's copy failed")

    return copy


def copy_by_torch(to_device: bool, mebibytes: int, transposed: bool) -> Callable[[], None]:
    import torch

    shape = (mebibytes * MIB // 4 // ROWS, ROWS)
    host = torch.ones(shape[::-1] if transposed else shape)
    device = torch.empty(shape, device="cuda")
    device = device.T if transposed else device
    torch.cuda.synchronize()

    def copy() -> None:
        device.copy_(host) if to_device else host.copy_(device)
        torch.cuda.synchronize()

    return copy


MAKERS = {"viaduct": copy_by_viaduct, "driver": copy_by_driver, "torch": copy_by_torch}


def time_first(library: str, to_device: bool, mebibytes: int, transposed: bool) -> float:
    copy = MAKERS[library](to_device, mebibytes, transposed)
    start = time.perf_counter()
    copy()
    return (time.perf_counter() - start) * 1e3


def first_of_process(library: str, to_device: bool, mebibytes: int, transposed: bool) -> float:
    words = [library, str(int(to_device)), str(mebibytes), str(int(transposed))]
    return float(subprocess.check_output([sys.executable, __file__, "--first", *words]))


def measure(libraries: tuple[str, ...], to_device: bool, mebibytes: int, transposed: bool) -> dict[str, float]:
    """In turns."""
    taken: dict[str, list[float]] = {library: [] for library in libraries}
    for _ in range(TURNS):
        for library in libraries:
            taken[library].append(first_of_process(library, to_device, mebibytes, transposed))
    return {library: statistics.median(times) for library, times in taken.items()}


def rows() -> list[dict[str, Any]]:
    from bench_python import row

    found = []
    for to_device in (True, False):
        way = "pageable to device" if to_device else "device to pageable"
        for mebibytes in SIZES:
            times = measure(("viaduct", "driver"), to_device, mebibytes, False)
            found.append(row(f"{way}, {mebibytes} MiB", "ms", times, {"peer": "driver", "at_most": 1.0}))
        times = measure(("viaduct", "torch"), to_device, 16, True)
        found.append(row(f"{way}, 16 MiB transposed", "ms", times, {"peer": "torch", "at_most": 1.0}))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    parser.add_argument("--first", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.first is not None:
        library, *numbers = asked.first
        to_device, mebibytes, transposed = map(int, numbers)
        print(time_first(library, bool(to_device), mebibytes, bool(transposed)))
        return
    import bench

    found = rows()
    bench.show(found)
    if asked.json:
        report = {"machine": bench.describe_machine("gpu"), "commit": bench.find_commit(), "rows": found}
        asked.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
