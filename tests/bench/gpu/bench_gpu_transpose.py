"""Transposes on one GPU, next to PyTorch's and CuPy's of the same memory. Other layouts are those of layouts_gpu.py.

GB/s count the bytes of the array once. The limit is what a plain copy of as many bytes takes between two places of the
device's memory. Each turn is timed by events around a few copies in a row; the parties take turns, and each begins with
the destination that the one before has left.
"""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import viaduct as via
from bench_python import row


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, cupy = peer("torch"), peer("cupy")

DEVICE = "cuda:0"
TURNS = 9
CALLS = 3
PLAIN_BYTES = 1 << 30


@dataclass
class Case:
    """An array of `shape`, whose first two axes change places."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    least: float  # of the limit


EVEN = (16384, 16384)
ODD = (16381, 16387)
CASES = (
    Case("transpose u8, 16384 x 16384", "uint8", EVEN, 0.85),
    Case("transpose f16, 16384 x 16384", "float16", EVEN, 0.85),
    Case("transpose f32, 16384 x 16384", "float32", EVEN, 0.95),
    Case("transpose f64, 16384 x 16384", "float64", EVEN, 0.95),
    Case("transpose u8, 16381 x 16387", "uint8", ODD, 0.85),
    Case("transpose f16, 16381 x 16387", "float16", ODD, 0.85),
    Case("transpose f32, 16381 x 16387", "float32", ODD, 0.85),
    Case("transpose f64, 16381 x 16387", "float64", ODD, 0.85),
    Case("transpose complex128, 8192 x 8192", "complex128", (8192, 8192), 0.55),
    Case("transpose records of 12 bytes, 8192 x 8192", "float32", (8192, 8192, 3), 0.55),
)


def time_us(call: Callable[[], Any]) -> float:
    """Of one call, by events around a few of them, so that the wait at the end is not counted."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / CALLS


def medians_us(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(TURNS):
        for name, call in calls.items():
            times[name].append(time_us(call))
    return {name: statistics.median(values) for name, values in times.items()}


def plain_rate() -> float:
    """GB/s of a plain copy."""
    src, dst = (torch.ones(PLAIN_BYTES, dtype=torch.uint8, device=DEVICE) for _ in range(2))
    return PLAIN_BYTES / medians_us({"plain": lambda: dst.copy_(src)})["plain"] / 1e3


def filled(case: Case) -> Any:
    """Content that shows what went where."""
    count = math.prod(case.shape)
    dtype = getattr(torch, case.dtype)
    bytes_of = torch.randint(0, 256, (count * dtype.itemsize,), dtype=torch.uint8, device=DEVICE)
    return bytes_of.view(dtype).view(case.shape)


def check(case: Case, dst: Any, src_view: Any) -> None:
    found, expected = (array.contiguous().view(torch.uint8) for array in (dst, src_view))
    if not torch.equal(found, expected):
        raise AssertionError(f"{case.name}: the copy is wrong")


def measure(case: Case, plain: float) -> dict[str, Any]:
    src = filled(case)
    src_view = src.swapaxes(0, 1)
    dst = torch.empty(src_view.shape, dtype=src.dtype, device=DEVICE)
    ours, ours_src = via.from_dlpack(dst), via.from_dlpack(src_view)
    stream = via.Stream.wrap(torch.cuda.current_stream())
    calls: dict[str, Callable[[], Any]] = {"viaduct": lambda: via.copyto(ours, ours_src, stream=stream)}
    calls["viaduct"]()
    check(case, dst, src_view)
    calls["torch"] = lambda: dst.copy_(src_view)
    if cupy is not None:
        # One that both see as the default stream, on which the events are.
        theirs, theirs_src = cupy.from_dlpack(dst), cupy.from_dlpack(src).swapaxes(0, 1)
        calls["CuPy"] = lambda: cupy.copyto(theirs, theirs_src)
    times = medians_us(calls)
    nbytes = dst.numel() * dst.element_size()
    found = row(case.name, "GB/s", {name: nbytes / time / 1e3 for name, time in times.items()}, {})
    found["limit"] = plain
    found["target"] = {"limit_at_least": case.least}
    return found


def rows() -> list[dict[str, Any]]:
    if torch is None or not torch.cuda.is_available():
        return []
    via.copyto(via.empty((1,), "uint8", device=DEVICE), via.empty((1,), "uint8", device=DEVICE))
    plain = plain_rate()
    return [measure(case, plain) for case in CASES]


if __name__ == "__main__":
    for line in rows():
        print(line)
