"""Rows by index, next to NumPy's take, PyTorch's index_select and index_copy_, and the driver's batch copy.

    python tests/bench/bench_indexed.py [--json FILE]

Without a device only host memory is measured. The parties take turns; medians of the turns. Bytes are those that are
moved, once. "device" counts the same bytes as "pinned": a copy within a device reads and writes each. The limit is the
rate of as many adjacent bytes, in the same turns. The index is on the device, where PyTorch's has to be; rows of their
own have it on the host, from where PyTorch's program sends it each time.
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
from pathlib import Path
from typing import Any

import numpy
import viaduct as via
from bench_python import row

try:
    import torch
except ImportError:
    torch = None

TURNS = int(os.environ.get("VIADUCT_BENCH_TURNS", "15"))
THREADS = int(os.environ.get("VIADUCT_BENCH_THREADS", "2"))

# Rows copied, rows of the table, bytes of a row.
CASES = [(4096, 65536, 4096), (100_000, 200_000, 512)]
HOST_CASES = [*CASES, (100_000, 1_000_000, 64), (1_000_000, 1_000_000, 8)]

BOUND = "adjacent bytes"
HOST_INDEX = "index on the host"

# Where rows come from and go to, and the part of adjacent bytes' rate that is wanted.
WAYS = [("cuda:0", "cuda:0", 0.7), ("pinned", "cuda:0", 0.8), ("cuda:0", "pinned", 0.8), ("cpu", "cuda:0", 0)]
WORDS = {"cuda:0": "device", "pinned": "pinned", "cpu": "pageable"}

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


def rates(case: tuple[int, int, int], calls: dict[str, Call]) -> dict[str, float]:
    """Returns the GB/s of each party."""
    count, _, nbytes = case
    return {name: count * nbytes / seconds / 1e9 for name, seconds in time_in_turns(calls).items()}


def name_of(case: tuple[int, int, int], where: str) -> str:
    count, table, nbytes = case
    return f"{count} of {table} rows of {nbytes} B, {where}"


def limited_rows(name: str, found: dict[str, float], part: float) -> list[dict[str, Any]]:
    """A row next to adjacent bytes, if a part of their rate is wanted, and one next to the better peer."""
    limit = found.pop(BOUND)
    rows = [row(f"{name}; adjacent bytes", "GB/s", found, {"limit_at_least": part}) | {"limit": limit}] if part else []
    peers = {peer: rate for peer, rate in found.items() if not peer.startswith("viaduct")}
    if peers:
        best = max(peers, key=lambda peer: peers[peer])
        rows.append(row(f"{name}; peers", "GB/s", found, {"peer": best, "at_least": 1.5}))
    return rows


def host_index_row(name: str, found: dict[str, float]) -> list[dict[str, Any]]:
    """Takes the rates of calls whose index is on the host."""
    suffix = f", {HOST_INDEX}"
    taken = {each.removesuffix(suffix): found.pop(each) for each in list(found) if each.endswith(suffix)}
    peer = next((each for each in taken if each != "viaduct"), None)
    target = {"peer": peer, "at_least": 1.5} if peer else None
    return [row(f"{name}{suffix}; peers", "GB/s", taken, target)]


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
            both = rates(case, calls)
            name = f"{name_of(case, 'host')}, {order}"
            found.append(row(name, "GB/s", both, {"peer": "numpy.take", "at_least": 2.0}))
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
    """PyTorch imports no pinned memory by DLPack."""
    return torch.from_dlpack(array) if array.device.startswith("cuda:") else torch.from_numpy(numpy.asarray(array))


def torch_call(dst: via.Array, src: via.Array, index: numpy.ndarray) -> dict[str, Call]:
    """What PyTorch's users write: within a device one call, over the link by way of a gathered tensor."""
    if torch is None or not torch.cuda.is_available():
        return {}
    to, of = (as_torch(array) for array in (dst, src))
    on_host = torch.from_numpy(index)
    rows = on_host.to(of.device)

    def select(rows: Any = rows) -> None:
        if to.device == of.device:
            torch.index_select(of, 0, rows, out=to)
        else:
            to.copy_(of.index_select(0, rows), non_blocking=True)
        torch.cuda.synchronize()

    def select_sent() -> None:
        select(on_host.to(of.device))

    def scatter() -> None:
        to.index_copy_(0, torch.arange(len(rows), device=to.device), of.index_select(0, rows).to(to.device))
        torch.cuda.synchronize()

    calls = {"torch index_select": select, "torch index_copy_": scatter}
    return calls | ({f"torch index_select, {HOST_INDEX}": select_sent} if of.device.type == "cuda" else {})


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

    calls = {"viaduct": now(on_device), "viaduct, prepared": again, f"viaduct, {HOST_INDEX}": now(index)}
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
        for of, to, part in WAYS:
            src = via.asarray(content).copy(of)
            dst = via.empty((count, nbytes), "uint8", device=to)
            index = numbers_for(case, "random")
            both = rates(case, device_calls(dst, src, index) | {BOUND: dense_call(dst, src)})
            name = name_of(case, f"{WORDS[of]} -> {WORDS[to]}")
            found += host_index_row(name, both) + limited_rows(name, both, part)
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
    name = "issue of a prepared copy of 1024 rows of 4096 B"
    return [row(name, "us", {"viaduct": 1e6 * statistics.median(taken)}, {"value_at_most": 6.0})]


def rows() -> list[dict[str, Any]]:
    before = via.num_threads()
    via.set_num_threads(THREADS)
    try:
        return host_rows() + (device_rows() if via.device_count() else [])
    finally:
        via.set_num_threads(before)


def main() -> None:
    import bench

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the rows, the machine and the commit to this file")
    given = parser.parse_args()
    found = rows()
    bench.show(found)
    if given.json:
        machine = bench.describe_machine("gpu" if via.device_count() else "cpu")
        settings = {"threads": THREADS, "turns": TURNS}
        report = {"machine": machine, "commit": bench.find_commit(), "settings": settings, "rows": found}
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
