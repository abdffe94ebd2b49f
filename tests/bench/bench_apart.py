"""Copies of elements that are a few elements apart, on either side, next to NumPy's and PyTorch's of the same memory.

GB/s count the elements that are copied. Viaduct and NumPy use one thread for as little as this, PyTorch all it has.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import numpy
import viaduct as via
from bench_python import Call, medians, row

try:
    import torch
except ImportError:
    torch = None

TYPES = ("uint8", "uint16", "float32", "float64", "complex128")
STEPS = ((2, 1), (3, 1), (1, 2), (1, 3), (1, 5), (2, 2), (3, 2), (5, 1), (-1, 1), (2, -1))
SIZES = (1 << 16, 1 << 20)  # bytes that are copied
TURNS = 9


def elements(dtype: str, nbytes: int, step: int, first: int) -> numpy.ndarray:
    """So many bytes of elements, each `step` of them after the one before."""
    count = nbytes // numpy.dtype(dtype).itemsize
    whole = numpy.resize(numpy.arange(first, first + 97).astype(dtype), count * abs(step))
    return whole[::step]


def calls_of(dst: numpy.ndarray, src: numpy.ndarray) -> dict[str, Call]:
    our_dst, our_src = via.asarray(dst), via.asarray(src)
    calls: dict[str, Call] = {
        "viaduct": lambda: via.copyto(our_dst, our_src),
        "numpy": lambda: numpy.copyto(dst, src),
    }
    if torch is not None and all(step > 0 for step in (*dst.strides, *src.strides)):
        torch_dst, torch_src = torch.from_numpy(dst), torch.from_numpy(src)
        calls["torch"] = lambda: torch_dst.copy_(torch_src)
    return calls


def rates_of(dtype: str, nbytes: int, steps: tuple[int, int]) -> dict[str, float]:
    dst, src = (elements(dtype, nbytes, step, first) for first, step in enumerate(steps))
    calls = calls_of(dst, src)
    for name, call in calls.items():
        dst[...] = 0
        call()
        if not numpy.array_equal(dst, src):
            raise AssertionError(f"{name} copies {dtype} of steps {steps} otherwise than NumPy")
    return {name: nbytes / time for name, time in medians(calls, turns=TURNS).items()}


def mean_row(dtype: str, found: list[dict[str, float]]) -> dict[str, Any]:
    means = {name: statistics.geometric_mean(rates[name] for rates in found) for name in ("viaduct", "numpy")}
    case = f"{dtype}, a few elements apart, geometric mean of {len(found)}"
    return row(case, "GB/s", means, {"peer": "numpy", "at_least": 1.0})


def rows() -> list[dict[str, Any]]:
    found = []
    for dtype in TYPES:
        cases = list(itertools.product(SIZES, STEPS))
        rates = [rates_of(dtype, nbytes, steps) for nbytes, steps in cases]
        found += [
            row(f"{dtype}, {nbytes >> 10} KiB, [::{steps[0]}] = [::{steps[1]}]", "GB/s", each, None)
            for (nbytes, steps), each in zip(cases, rates, strict=True)
        ]
        found.append(mean_row(dtype, rates))
    return found
