"""The first copy of a process, next to those of others: between pageable memory and a GPU the driver's and PyTorch's, on
the host NumPy's.

    python tests/bench/bench_first.py [--json FILE]

Each copy has a process of its own, in which the memory and the context are there and nothing has been copied.
Milliseconds until the bytes have arrived, the median of several processes.
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
UP, DOWN, HOST = "pageable to device", "device to pageable", "on the host"
SIZES = (4, 8, 16, 64, 256)  # MiB
ROWS = 2048  # of a transposed array of float32
MIB = 1 << 20


def copy_by_viaduct(way: str, mebibytes: int, transposed: bool) -> Callable[[], None]:
    import numpy
    import viaduct as via

    if way == HOST:
        dst, src = map(via.asarray, arrays_on_host(mebibytes))
        return lambda: via.copy(dst, src)
    shape = (mebibytes * MIB // 4 // ROWS, ROWS)
    host = via.asarray(numpy.ones(shape[::-1] if transposed else shape, "f4"))
    device = via.empty(shape, "f4", device="cuda:0")
    device = device.T if transposed else device
    return lambda: via.copy(device, host) if way == UP else via.copy(host, device)


def copy_by_driver(way: str, mebibytes: int, transposed: bool) -> Callable[[], None]:
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
            driver.cuMemcpyHtoD_v2(device, host, count) if way == UP else driver.cuMemcpyDtoH_v2(host, device, count)
        )
        if failed or driver.cuCtxSynchronize():
            raise RuntimeError("the driver's copy failed")

    return copy


def copy_by_torch(way: str, mebibytes: int, transposed: bool) -> Callable[[], None]:
    import torch

    shape = (mebibytes * MIB // 4 // ROWS, ROWS)
    host = torch.ones(shape[::-1] if transposed else shape)
    device = torch.empty(shape, device="cuda")
    device = device.T if transposed else device
    torch.cuda.synchronize()

    def copy() -> None:
        device.copy_(host) if way == UP else host.copy_(device)
        torch.cuda.synchronize()

    return copy


def arrays_on_host(mebibytes: int) -> tuple[Any, Any]:
    import numpy

    return numpy.zeros(mebibytes * MIB, "u1") + numpy.uint8(1), numpy.ones(mebibytes * MIB, "u1")


def copy_by_numpy(way: str, mebibytes: int, transposed: bool) -> Callable[[], None]:
    del way, transposed
    import numpy

    dst, src = arrays_on_host(mebibytes)
    return lambda: numpy.copyto(dst, src)


MAKERS = {"viaduct": copy_by_viaduct, "driver": copy_by_driver, "torch": copy_by_torch, "numpy": copy_by_numpy}


def time_first(library: str, way: str, mebibytes: int, transposed: bool) -> float:
    copy = MAKERS[library](way, mebibytes, transposed)
    start = time.perf_counter()
    copy()
    return (time.perf_counter() - start) * 1e3


def first_of_process(library: str, way: str, mebibytes: int, transposed: bool) -> float:
    words = [library, way, str(mebibytes), str(int(transposed))]
    return float(subprocess.check_output([sys.executable, __file__, "--first", *words]))


def measure(peer: str, way: str, mebibytes: int, transposed: bool = False) -> dict[str, Any]:
    """A row, from processes in turns."""
    from bench_python import row

    taken: dict[str, list[float]] = {"viaduct": [], peer: []}
    for _ in range(TURNS):
        for library, times in taken.items():
            times.append(first_of_process(library, way, mebibytes, transposed))
    medians = {library: statistics.median(times) for library, times in taken.items()}
    case = f"{way}, {mebibytes} MiB{' transposed' if transposed else ''}"
    return row(case, "ms", medians, {"peer": peer, "at_most": 1.0})


def rows() -> list[dict[str, Any]]:
    found = []
    for way in (UP, DOWN):
        found += [measure("driver", way, mebibytes) for mebibytes in SIZES]
        found.append(measure("torch", way, 16, transposed=True))
    return found + [measure("numpy", HOST, mebibytes) for mebibytes in SIZES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    parser.add_argument("--first", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.first is not None:
        library, way, mebibytes, transposed = asked.first
        print(time_first(library, way, int(mebibytes), bool(int(transposed))))
        return
    import bench

    found = rows()
    bench.show(found)
    if asked.json:
        report = {"machine": bench.describe_machine("gpu"), "commit": bench.find_commit(), "rows": found}
        asked.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
