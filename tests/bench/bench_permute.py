"""Permuted copies past the cache, on the host, next to NumPy's, PyTorch's and HPTT's of the same memory.

GB/s count the bytes of the array once. The limit is what a plain copy of as many bytes takes, with memcpy on all
threads. The parties take turns. HPTT is no package: its rows are there where VIADUCT_BENCH_HPTT is the path of a shared
library of it, whose functions in C plan anew with each call, as `via.copyto` does. Its threads wait for one another
busily, so that its rows say something only of a machine that does nothing else.
"""

from __future__ import annotations

import ctypes
import math
import os
import statistics
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy
import viaduct as via
from bench_python import time_once

try:
    import torch
except ImportError:
    torch = None

TURNS = 9
MEMCPY = "memcpy, all threads"
HPTT = "HPTT"
HPTT_TYPES = {"float32": ("sTensorTranspose", ctypes.c_float), "float64": ("dTensorTranspose", ctypes.c_double)}
LEAST_OF_MEMCPY = 0.7


@dataclass(frozen=True)
class Case:
    """An array of `shape`, whose axes become those of a row-major array in the order `axes`."""

    dtype: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    name: str = ""

    def title(self) -> str:
        if self.axes == (1, 0):
            return f"transpose {self.shape[0]} x {self.shape[1]} {self.dtype}"
        return f"{self.name}{self.shape} -> {self.axes} {self.dtype}"

    def target(self) -> dict[str, Any] | None:
        return {"limit_at_least": LEAST_OF_MEMCPY} if self.dtype == "float32" and self.axes == (1, 0) else None


CASES = (
    Case("uint8", (8192, 8192), (1, 0)),
    Case("uint8", (8191, 8209), (1, 0)),
    Case("float16", (8192, 8192), (1, 0)),
    Case("float32", (4096, 4096), (1, 0)),
    Case("float32", (5000, 5003), (1, 0)),
    Case("float64", (4096, 4096), (1, 0)),
    Case("complex128", (3000, 3000), (1, 0)),
    Case("uint8", (256, 512, 512), (2, 1, 0)),
    Case("float32", (256, 256, 512), (2, 1, 0)),
    Case("float32", (256, 256, 512), (0, 2, 1)),
    Case("float32", (256, 256, 512), (1, 0, 2)),
    Case("float64", (201, 210, 203), (2, 0, 1)),
    Case("float32", (16, 64, 128, 128), (0, 2, 3, 1), "NCHW to NHWC, "),
    Case("float32", (16, 128, 128, 64), (0, 3, 1, 2), "NHWC to NCHW, "),
    Case("uint8", (6, 3, 2048, 2048), (0, 2, 3, 1), "NCHW to NHWC, "),
    Case("uint8", (6, 2048, 2048, 3), (0, 3, 1, 2), "NHWC to NCHW, "),
    Case("float16", (60, 90, 70, 110), (3, 1, 0, 2)),
    Case("float64", (60, 90, 50, 40), (2, 3, 1, 0)),
    Case("float32", (17, 33, 65, 31, 29), (4, 2, 0, 3, 1)),
    Case("float64", (24, 30, 28, 26, 22), (4, 3, 2, 1, 0)),
    Case("uint8", (40, 42, 38, 36, 34), (2, 4, 0, 3, 1)),
    Case("float32", (16, 18, 20, 14, 12, 15), (5, 4, 3, 2, 1, 0)),
    Case("float32", (4, 8, 6, 32, 50, 64), (3, 1, 5, 0, 4, 2)),
    Case("float64", (15, 12, 14, 16, 10, 18), (3, 5, 0, 2, 4, 1)),
    Case("float16", (20, 18, 22, 16, 14, 18), (5, 2, 4, 0, 3, 1)),
    Case("complex128", (14, 12, 16, 10, 13, 15), (5, 4, 3, 2, 1, 0)),
)


class Memory:
    """Two blocks with all pages touched, the same for all cases; arrays of every party over them."""

    def __init__(self) -> None:
        most = max(math.prod(case.shape) * numpy.dtype(case.dtype).itemsize for case in CASES)
        self.src_bytes, self.dst_bytes = numpy.ones(most, numpy.uint8), numpy.zeros(most, numpy.uint8)

    def arrays(self, case: Case) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The destination, and the view of the source that has its shape."""
        nbytes = math.prod(case.shape) * numpy.dtype(case.dtype).itemsize
        view = self.src_bytes[:nbytes].view(case.dtype).reshape(case.shape).transpose(case.axes)
        return self.dst_bytes[:nbytes].view(case.dtype).reshape(view.shape), view


class Memcpy:
    """The C library's memcpy, each thread with its part."""

    def __init__(self) -> None:
        self.threads = len(os.sched_getaffinity(0))
        self.pool = ThreadPoolExecutor(self.threads)
        self.copy = ctypes.CDLL(None).memcpy
        self.copy.restype, self.copy.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def __call__(self, dst: int, src: int, nbytes: int) -> None:
        each = -(-nbytes // self.threads)
        parts = [
            self.pool.submit(self.copy, dst + at, src + at, min(each, nbytes - at)) for at in range(0, nbytes, each)
        ]
        for part in parts:
            part.result()


def load_hptt() -> ctypes.CDLL | None:
    path = os.environ.get("VIADUCT_BENCH_HPTT")
    if not path:
        print("without HPTT: VIADUCT_BENCH_HPTT is not set", file=sys.stderr)
        return None
    return ctypes.CDLL(path)


def hptt_call(library: ctypes.CDLL, case: Case, dst: numpy.ndarray, src: numpy.ndarray) -> Callable[[], Any]:
    name, scalar = HPTT_TYPES[case.dtype]
    ints = ctypes.c_int * len(case.shape)
    axes, shape = ints(*case.axes), ints(*case.shape)
    addresses = ctypes.c_void_p(src.ctypes.data), ctypes.c_void_p(dst.ctypes.data)
    threads, ndim, row_major = len(os.sched_getaffinity(0)), len(case.shape), 1
    return lambda: library[name](
        axes, ndim, scalar(1), addresses[0], shape, None, scalar(0), addresses[1], None, threads, row_major
    )


def calls_of(case: Case, memory: Memory, memcpy: Memcpy, hptt: ctypes.CDLL | None) -> dict[str, Callable[[], Any]]:
    dst, src = memory.arrays(case)
    our_dst, our_src = via.asarray(dst), via.asarray(src)
    calls: dict[str, Callable[[], Any]] = {
        "viaduct": lambda: via.copyto(our_dst, our_src),
        "numpy": lambda: numpy.copyto(dst, src),
    }
    if torch is not None:
        torch_dst, torch_src = torch.from_numpy(dst), torch.from_numpy(src)
        calls["torch"] = lambda: torch_dst.copy_(torch_src)
    if hptt is not None and case.dtype in HPTT_TYPES:
        calls[HPTT] = hptt_call(hptt, case, dst, src)
    calls[MEMCPY] = lambda: memcpy(dst.ctypes.data, src.ctypes.data, dst.nbytes)
    return calls


def check(case: Case, memory: Memory, calls: dict[str, Callable[[], Any]]) -> None:
    """Every party does the same copy."""
    dst, src = memory.arrays(case)
    memory.src_bytes[:] = numpy.resize(numpy.arange(251, dtype=numpy.uint8), memory.src_bytes.size)
    for name, call in calls.items():
        if name == MEMCPY:
            continue
        dst.view(numpy.uint8)[...] = 0
        call()
        if not numpy.array_equal(dst.view(numpy.uint8), numpy.ascontiguousarray(src).view(numpy.uint8)):
            raise AssertionError(f"{name} copies {case.title()} otherwise than NumPy")


def rates_of(case: Case, calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    nbytes = math.prod(case.shape) * numpy.dtype(case.dtype).itemsize
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            times[name].append(time_once(call, 1))
    return {name: nbytes / statistics.median(values) for name, values in times.items()}


def row(case: str, rates: dict[str, float], target: dict[str, Any] | None) -> dict[str, Any]:
    peers = {name: value for name, value in rates.items() if name not in ("viaduct", MEMCPY)}
    return {
        "case": case,
        "unit": "GB/s",
        "viaduct": rates["viaduct"],
        "peers": peers,
        "limit": rates.get(MEMCPY),
        "target": target,
    }


def mean_row(case: str, found: list[dict[str, float]], peer: str, least: float) -> dict[str, Any]:
    names = ("viaduct", peer, MEMCPY)
    means = {name: statistics.geometric_mean(rates[name] for rates in found) for name in names}
    return row(f"{case}, geometric mean of {len(found)}", means, {"peer": peer, "at_least": least})


def mean_rows(found: list[dict[str, float]]) -> list[dict[str, Any]]:
    rows = [mean_row("permuted on the host", found, "numpy", 4.0)]
    if torch is not None:
        rows.append(mean_row("permuted on the host", found, "torch", 1.0))
    if with_hptt := [rates for rates in found if HPTT in rates]:
        rows.append(mean_row("permuted on the host, 4 and 8 bytes", with_hptt, HPTT, 1.0))
    return rows


def rows() -> list[dict[str, Any]]:
    memory, memcpy, hptt = Memory(), Memcpy(), load_hptt()
    found = []
    for case in CASES:
        calls = calls_of(case, memory, memcpy, hptt)
        check(case, memory, calls)
        found.append(rates_of(case, calls))
    each = [row(case.title(), rates, case.target()) for case, rates in zip(CASES, found, strict=True)]
    return [*each, *mean_rows(found)]
