"""Permuted and strided copies on one GPU, next to PyTorch's and CuPy's of the same memory.

GB/s count the bytes of the array once. The limit is what a copy between two places of the device's memory would take
for as many bytes as the 32-byte sectors have that must be read and written. Each turn is timed by events around a few
copies in a row; the parties take turns, and each begins with the destination that the one before has left.
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
LEAST = 0.55
PLAIN_BYTES = 1 << 30

Index = Callable[[Any], Any]


@dataclass
class Case:
    """An array of `shape`, and the view of it whose elements become a row-major array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    view: Index
    read_again: float = 1.0  # bytes of the sectors that must be read, for each byte of the array
    least: float = LEAST


def permuted(name: str, dtype: str, shape: tuple[int, ...], *axes: int, least: float = LEAST) -> Case:
    return Case(name, dtype, shape, lambda array: permute(array, axes), least=least)


def permute(array: Any, axes: tuple[int, ...]) -> Any:
    return array.permute(axes) if torch is not None and isinstance(array, torch.Tensor) else array.transpose(axes)


CASES = (
    permuted("transpose u8, 16384 x 16384", "uint8", (16384, 16384), 1, 0, least=0.7),
    permuted("transpose f16, 16384 x 16384", "float16", (16384, 16384), 1, 0, least=0.7),
    permuted("transpose f32, 16384 x 16384", "float32", (16384, 16384), 1, 0),
    permuted("transpose f64, 16384 x 16384", "float64", (16384, 16384), 1, 0),
    permuted("f32 (512, 512, 1024) to (2, 1, 0)", "float32", (512, 512, 1024), 2, 1, 0),
    permuted("f32, 6 axes of 24, reversed", "float32", (24,) * 6, 5, 4, 3, 2, 1, 0),
    permuted("f32, 6 axes of 24, mixed", "float32", (24,) * 6, 5, 3, 1, 4, 2, 0),
    permuted("f32 (37, 43, 29, 51, 47) to (4, 2, 0, 3, 1)", "float32", (37, 43, 29, 51, 47), 4, 2, 0, 3, 1),
    permuted("f32 NCHW to NHWC, 64 x 3 x 1024 x 1024", "float32", (64, 3, 1024, 1024), 0, 2, 3, 1),
    permuted("f32 NHWC to NCHW, 64 x 1024 x 1024 x 3", "float32", (64, 1024, 1024, 3), 0, 3, 1, 2),
    permuted("f32 NCHW to NHWC, 32 x 64 x 256 x 256", "float32", (32, 64, 256, 256), 0, 2, 3, 1),
    permuted("f32 NHWC to NCHW, 32 x 256 x 256 x 64", "float32", (32, 256, 256, 64), 0, 3, 1, 2),
    Case("f32, every 2nd column of 16384 x 32768", "float32", (16384, 32768), lambda array: array[:, ::2], 2.0),
    Case("f32, every 2nd row of 32768 x 16384", "float32", (32768, 16384), lambda array: array[::2]),
    Case("f32, 16384 inner columns of 20480", "float32", (16384, 20480), lambda array: array[:, 2048:-2048]),
    permuted("f32 (1024, 512, 512) to (1, 0, 2)", "float32", (1024, 512, 512), 1, 0, 2),
    permuted("f16 (128, 2048, 2048) to (0, 2, 1)", "float16", (128, 2048, 2048), 0, 2, 1, least=0.7),
    permuted("transpose u8, 16381 x 16387", "uint8", (16381, 16387), 1, 0),
    permuted("transpose f16, 16381 x 16387", "float16", (16381, 16387), 1, 0),
    permuted("transpose f32, 16381 x 16387", "float32", (16381, 16387), 1, 0),
    permuted("transpose complex128, 8192 x 8192", "complex128", (8192, 8192), 1, 0),
    permuted("transpose records of 12 bytes, 8192 x 8192", "float32", (8192, 8192, 3), 1, 0, 2),
    permuted("u8 NCHW to NHWC, 64 x 3 x 2048 x 2048", "uint8", (64, 3, 2048, 2048), 0, 2, 3, 1),
    permuted("u8 NHWC to NCHW, 64 x 2048 x 2048 x 3", "uint8", (64, 2048, 2048, 3), 0, 3, 1, 2),
    Case("u8, every 2nd column of 16384 x 32768", "uint8", (16384, 32768), lambda array: array[:, ::2], 2.0),
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
    """Bytes read and written in a microsecond by a plain copy."""
    src, dst = (torch.ones(PLAIN_BYTES, dtype=torch.uint8, device=DEVICE) for _ in range(2))
    return 2 * PLAIN_BYTES / medians_us({"plain": lambda: dst.copy_(src)})["plain"]


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
    src_view = case.view(src)
    dst = torch.empty(src_view.shape, dtype=src.dtype, device=DEVICE)
    ours, ours_src = via.from_dlpack(dst), via.from_dlpack(src_view)
    stream = via.Stream.wrap(torch.cuda.current_stream())
    calls: dict[str, Callable[[], Any]] = {"viaduct": lambda: via.copyto(ours, ours_src, stream=stream)}
    calls["viaduct"]()
    check(case, dst, src_view)
    calls["torch"] = lambda: dst.copy_(src_view)
    if cupy is not None:
        # One that both see as the default stream, on which the events are.
        theirs, theirs_src = cupy.from_dlpack(dst), case.view(cupy.from_dlpack(src))
        calls["CuPy"] = lambda: cupy.copyto(theirs, theirs_src)
    times = medians_us(calls)
    nbytes = dst.numel() * dst.element_size()
    found = row(case.name, "GB/s", {name: nbytes / time / 1e3 for name, time in times.items()}, {})
    found["limit"] = nbytes / (nbytes * (1 + case.read_again) / plain) / 1e3
    found["target"] = {"limit_at_least": case.least}
    return found


def mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def summary(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Geometric means over all cases: of the part of the limit, and of the times that the peers are behind."""
    of_limit = {"viaduct": mean([line["viaduct"] / line["limit"] for line in found])}
    for name in found[0]["peers"]:
        of_limit[name] = mean([line["peers"][name] / line["limit"] for line in found])
    total = row("permuted and strided on a GPU, mean part of the limit", "", of_limit, {})
    total["limit"] = 1.0
    lines = [total | {"target": {"limit_at_least": 0.8}}]
    lines += [total | {"target": {"peer": name, "at_least": 2.7}} for name in of_limit if name != "viaduct"]
    return lines


def rows() -> list[dict[str, Any]]:
    if torch is None or not torch.cuda.is_available():
        return []
    via.copyto(via.empty((1,), "uint8", device=DEVICE), via.empty((1,), "uint8", device=DEVICE))
    plain = plain_rate()
    found = [measure(case, plain) for case in CASES]
    return found + summary(found)


if __name__ == "__main__":
    for line in rows():
        print(line)
