"""Rows by index, next to NumPy's take, PyTorch's index_select and index_copy_, and the driver's batch copy.

    python tests/bench/bench_indexed.py [--json FILE]

Without a device only host memory is measured. The parties take turns; medians of the turns. Bytes are those that are
moved, once. "device" counts the same bytes as "pinned": a copy within a device reads and writes each.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
import viaduct as via

try:
    import torch
except ImportError:
    torch = None

TURNS = int(os.environ.get("VIADUCT_BENCH_TURNS", "15"))
THREADS = int(os.environ.get("VIADUCT_BENCH_THREADS", "2"))

# Rows copied, rows of the table, bytes of a row.
CASES = [(4096, 65536, 4096), (100_000, 200_000, 512)]
HOST_CASES = [*CASES, (100_000, 1_000_000, 64), (1_000_000, 1_000_000, 8)]

Call = Callable[[], Any]


def time_in_turns(calls: dict[str, Call]) -> dict[str, float]:
    """Returns the median seconds of each party."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn > 0:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def rows_of(where: str, case: tuple[int, int, int], order: str, calls: dict[str, Call]) -> list[dict[str, Any]]:
    count, table, nbytes = case
    return [
        {
            "where": where,
            "rows": count,
            "table": table,
            "row_bytes": nbytes,
            "order": order,
            "party": party,
            "seconds": seconds,
            "gbps": count * nbytes / seconds / 1e9,
        }
        for party, seconds in time_in_turns(calls).items()
    ]


def numbers_for(case: tuple[int, int, int], order: str) -> numpy.ndarray:
    chosen = numpy.random.default_rng(26).permutation(case[1])[: case[0]]
    return numpy.sort(chosen) if order == "sorted" else chosen


# ------------------------------------------------------------------------------------------------ host


def host_rows() -> list[dict[str, Any]]:
    found = []
    for case in HOST_CASES:
        count, table, nbytes = case
        src = numpy.random.default_rng(1).integers(0, 255, (table, nbytes), dtype=numpy.uint8).view("u8")
        out = numpy.zeros((count, src.shape[1]), "u8")
        for order in ("random", "sorted"):
            index = numbers_for(case, order)
            calls: dict[str, Call] = {
                "viaduct": lambda src=src, out=out, index=index: via.copy_indexed(out, None, src, index),
                "numpy.take": lambda src=src, out=out, index=index: numpy.take(src, index, axis=0, out=out),
                "numpy.take, mode=clip": lambda src=src, out=out, index=index: numpy.take(
                    src, index, axis=0, out=out, mode="clip"
                ),
            }
            found += rows_of("host", case, order, calls)
            assert (out == src[index]).all()
    return found


# ------------------------------------------------------------------------------------------------ devices


class Driver:
    """The driver's batch copy, prepared as far as it lets itself be."""

    def __init__(self, dst: via.Array, src: via.Array, index: numpy.ndarray, stream: via.Stream) -> None:
        driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self.call = driver.cuMemcpyBatchAsync_v2
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxSetCurrent(context)  # which the call needs, whatever the stream
        count, nbytes = len(index), src.strides[0]
        address = ctypes.c_uint64 * count
        self.dsts = address(*(dst.ptr + nbytes * k for k in range(count)))
        self.srcs = address(*(src.ptr + nbytes * int(row) for row in index))
        self.sizes = (ctypes.c_size_t * count)(*([nbytes] * count))
        self.attributes = (ctypes.c_int * 6)(1, 0, 0, 0, 0, 0)  # in the order of the stream
        self.first, self.count, self.stream = ctypes.c_size_t(0), ctypes.c_size_t(count), stream

    def __call__(self) -> None:
        status = self.call(
            self.dsts,
            self.srcs,
            self.sizes,
            self.count,
            ctypes.byref(self.attributes),
            ctypes.byref(self.first),
            ctypes.c_size_t(1),
            ctypes.c_void_p(self.stream.handle),
        )
        if status != 0:
            raise RuntimeError(f"cuMemcpyBatchAsync is {status}; expected 0")
        self.stream.synchronize()


def as_torch(array: via.Array) -> Any:
    """PyTorch imports no page-locked memory by DLPack."""
    return torch.from_dlpack(array) if array.device.startswith("cuda:") else torch.from_numpy(numpy.asarray(array))


def torch_call(dst: via.Array, src: via.Array, index: numpy.ndarray) -> dict[str, Call]:
    """What PyTorch's users write: within a device one call, over the link by way of a gathered tensor."""
    if torch is None or not torch.cuda.is_available():
        return {}
    to, of = (as_torch(array) for array in (dst, src))
    rows = torch.from_numpy(index).to(of.device)

    def select() -> None:
        if to.device == of.device:
            torch.index_select(of, 0, rows, out=to)
        else:
            to.copy_(of.index_select(0, rows), non_blocking=True)
        torch.cuda.synchronize()

    def scatter() -> None:
        to.index_copy_(0, torch.arange(len(rows), device=to.device), of.index_select(0, rows).to(to.device))
        torch.cuda.synchronize()

    return {"torch index_select": select, "torch index_copy_": scatter}


def device_calls(dst: via.Array, src: via.Array, index: numpy.ndarray) -> dict[str, Call]:
    stream = via.Stream()
    on_device = via.asarray(index).copy("cuda:0")
    prepared = via.Batch()
    prepared.add_indexed(dst, None, src, index)

    def now(rows: Any) -> Call:
        def call() -> None:
            via.copy_indexed(dst, None, src, rows, stream=stream)
            stream.synchronize()

        return call

    def again() -> None:
        prepared.run(stream)
        stream.synchronize()

    calls = {"viaduct": now(index), "viaduct, index on the device": now(on_device), "viaduct, prepared": again}
    try:
        calls["cuMemcpyBatchAsync"] = Driver(dst, src, index, stream)
        calls["cuMemcpyBatchAsync"]()
    except (AttributeError, OSError, RuntimeError) as error:
        print(f"left out: {error}", file=sys.stderr)
        calls.pop("cuMemcpyBatchAsync", None)
    return calls | torch_call(dst, src, index)


def check(dst: via.Array, src: via.Array, index: numpy.ndarray) -> None:
    after, before = (numpy.asarray(a.copy("cpu")) for a in (dst, src))
    assert (after == before[index]).all()


def dense_call(dst: via.Array, src: via.Array) -> Call:
    """As many adjacent bytes: the bound."""
    stream, part = via.Stream(), src[: dst.shape[0]]

    def call() -> None:
        via.copy(dst, part, stream=stream)
        stream.synchronize()

    return call


def device_rows() -> list[dict[str, Any]]:
    found = []
    for case in CASES:
        count, table, nbytes = case
        content = numpy.random.default_rng(1).integers(0, 255, (table, nbytes), dtype=numpy.uint8)
        for to, of in (("cuda:0", "cuda:0"), ("cuda:0", "pinned"), ("pinned", "cuda:0"), ("cuda:0", "cpu")):
            src = via.asarray(content).copy(of)
            dst = via.empty((count, nbytes), "uint8", device=to)
            index = numbers_for(case, "random")
            calls = device_calls(dst, src, index) | {"adjacent bytes": dense_call(dst, src)}
            found += rows_of(f"{of} -> {to}", case, "random", calls)
            via.copy_indexed(dst, None, src, index)
            check(dst, src, index)
    return found + issue_rows()


def issue_rows() -> list[dict[str, Any]]:
    """Microseconds that a prepared copy takes to be queued."""
    src, dst = (via.empty((1024, 4096), "uint8", device="cuda:0") for _ in range(2))
    batch, stream, calls = via.Batch(), via.Stream(), 200
    batch.add_indexed(dst, None, src, list(range(1024)))
    taken = []
    for _ in range(TURNS):
        start = time.perf_counter()
        for _ in range(calls):
            batch.run(stream)
        taken.append((time.perf_counter() - start) / calls)
        stream.synchronize()
    return [{"where": "issue", "party": "viaduct, prepared", "rows": 1024, "seconds": statistics.median(taken)}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    given = parser.parse_args()
    via.set_num_threads(THREADS)
    found = host_rows() + (device_rows() if via.device_count() else [])
    for one in found:
        print(
            f"{one['where']:<18} {one['rows']:>8} rows {one.get('row_bytes', ''):>5} B {one.get('order', ''):<7}"
            f" {one['party']:<30} {one['seconds'] * 1e6:>10.1f} us {one.get('gbps', 0):>8.2f} GB/s"
        )
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"threads": THREADS, "turns": TURNS, "rows": found}, file, indent=1)


if __name__ == "__main__":
    main()
