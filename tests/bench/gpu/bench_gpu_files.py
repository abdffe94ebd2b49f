"""Files to and from one GPU, next to CuPy, torch and KvikIO. GB/s; the parties take turns; medians.

As bench_files has it: VIADUCT_BENCH_FOLDER, VIADUCT_BENCH_FILE_BYTES (4 GiB by default), what a cold file is, and what
the disk alone gives. KvikIO reads cold files directly, and cached ones not. The limit of cached reads is a copy from pinned memory.
"""

from __future__ import annotations

import functools
import importlib
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("VIADUCT_BENCH_FILE_BYTES", str(4 << 30))

import bench_files as files
import numpy
import viaduct as via
from bench_python import row


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, cupy, kvikio = peer("torch"), peer("cupy"), peer("kvikio.defaults") and peer("kvikio")
torch = torch if torch is not None and torch.cuda.is_available() else None

DEVICE = "cuda:0"
NBYTES = files.NBYTES
THREADS = (1, 8, 16, 32)
COLD_THREADS = (16,)
SLICE = 1 << 20

Call = Callable[[], Any]


def synchronized(call: Call) -> Call:
    def work() -> Any:
        made = call()
        via.Stream.legacy.synchronize()
        return made

    return work


def cupy_readers(path: Path) -> dict[str, Call]:
    target = cupy.empty(NBYTES, cupy.uint8)

    def by_slices() -> None:
        mapped = numpy.memmap(path, numpy.uint8, "r")
        for start in range(0, NBYTES, SLICE):
            target[start : start + SLICE] = cupy.asarray(mapped[start : start + SLICE])

    return {
        "memmap, cp.asarray": lambda: cupy.asarray(numpy.memmap(path, numpy.uint8, "r")),
        "memmap, cp.asarray by 1 MiB": by_slices,
        "np.fromfile, cp.asarray": lambda: cupy.asarray(numpy.fromfile(path, numpy.uint8)),
    }


def torch_readers(path: Path) -> dict[str, Call]:
    return {
        "torch.from_file": lambda: torch.from_file(str(path), False, NBYTES, dtype=torch.uint8).to(DEVICE),
    }


def read_kvikio(path: Path, target: Any, threads: int, direct: bool) -> None:
    settings = {"num_threads": threads, "auto_direct_io_read": direct}
    with kvikio.defaults.set(settings), kvikio.CuFile(str(path), "r") as file:
        file.read(target)


def kvikio_readers(path: Path, direct: bool) -> dict[str, Call]:
    target = cupy.empty(NBYTES, cupy.uint8)
    return {
        f"KvikIO, {threads} threads": functools.partial(read_kvikio, path, target, threads, direct)
        for threads in (COLD_THREADS if direct else THREADS)
    }


def readers(path: Path, cold: bool = False) -> dict[str, Call]:
    """Where the disk is the limit for all, of the peers that map pages one is enough."""
    file = via.open(path)
    target = via.empty((NBYTES,), "uint8", device=DEVICE)
    cases: dict[str, Call] = {"viaduct": lambda: file.read(target)}
    if cupy is not None:
        theirs = cupy_readers(path)
        cases |= {"memmap, cp.asarray": theirs["memmap, cp.asarray"]} if cold else theirs
        cases |= kvikio_readers(path, cold) if kvikio is not None else {}
    cases |= torch_readers(path) if torch is not None and not cold else {}
    return {name: synchronized(call) for name, call in cases.items()}


def pinned_rate() -> float:
    source = via.empty((1 << 30,), "uint8", memory="pinned", device=DEVICE)
    target = via.empty((1 << 30,), "uint8", device=DEVICE)
    return files.rates({"pinned": synchronized(lambda: via.copyto(target, source))}, 1 << 30)["pinned"]


def best_of(found: dict[str, float], prefix: str) -> dict[str, float]:
    """KvikIO at its best setting alone, under one name."""
    those = {name: rate for name, rate in found.items() if name.startswith(prefix)}
    rest = {name: rate for name, rate in found.items() if name not in those}
    return rest | ({prefix: max(those.values())} if those else {})


def cached_rows(path: Path) -> list[dict[str, Any]]:
    size = f"{NBYTES >> 20} MiB"
    files.warm(path)
    cached = best_of(files.rates(readers(path), NBYTES), "KvikIO")
    name = f"cached file -> GPU, {size}"
    return [
        files.limited_row(f"{name}; pinned rate", cached, pinned_rate(), 0.8),
        row(f"{name}; memmap", "GB/s", cached, {"peer": "memmap, cp.asarray by 1 MiB", "at_least": 4.0}),
        row(f"{name}; KvikIO", "GB/s", cached, {"peer": "KvikIO", "at_least": 1.0}),
    ]


def cold_rows(path: Path) -> list[dict[str, Any]]:
    cases = {**readers(path, cold=True), **files.direct_readers(path)}
    found = files.rates(cases, NBYTES, before=lambda: files.evict(path), turns=files.COLD_TURNS)
    return files.cold_rows(f"cold file -> GPU, {NBYTES >> 20} MiB", best_of(found, "KvikIO"))


def strided_rows(path: Path) -> list[dict[str, Any]]:
    """What the file holds, transposed on the way."""
    edge = 1 << ((NBYTES // 4).bit_length() // 2)
    count = NBYTES // 4 // edge
    file = via.open(path, dtype="float32", shape=(count, edge))
    target = via.empty((edge, count), "float32", device=DEVICE).T
    files.warm(path)
    cases: dict[str, Call] = {"viaduct": lambda: file.read(target)}
    if cupy is not None:
        mapped = numpy.memmap(path, numpy.float32, "r", shape=(count, edge))
        cases["memmap, cp.asarray, transposed"] = lambda: cupy.ascontiguousarray(cupy.asarray(mapped).T)
    found = files.rates({name: synchronized(call) for name, call in cases.items()}, count * edge * 4)
    return [
        row(
            "cached file -> GPU, transposed", "GB/s", found, {"peer": "memmap, cp.asarray, transposed", "at_least": 4.0}
        )
    ]


def column_rows(path: Path) -> list[dict[str, Any]]:
    block = files.columns_of(path)
    window, target = block.window(), via.empty((block.rows, block.count), "float32", device=DEVICE)
    cases: dict[str, Call] = {"viaduct": lambda: window.read(target)}
    if cupy is not None:
        cases["memmap, cp.asarray"] = lambda: cupy.asarray(block.mapped())
    found = {name: synchronized(call) for name, call in cases.items()}
    return files.column_rows_of(block, found, "GPU", "memmap, cp.asarray")


def write_rows(where: Path) -> list[dict[str, Any]]:
    size = f"{NBYTES >> 20} MiB"
    path = where / "written"
    source = via.empty((NBYTES,), "uint8", device=DEVICE)
    source.fill(7)
    cached: dict[str, Callable[[Path], None]] = {"viaduct": lambda own: files.write_viaduct(own, source)}
    durable: dict[str, Call] = {"viaduct": lambda: files.write_viaduct(path, source, durable=True)}
    if cupy is not None:
        theirs = cupy.from_dlpack(source)
        cached["asnumpy, tofile"] = lambda own: files.write_numpy(own, cupy.asnumpy(theirs))
        durable["asnumpy, tofile, fsync"] = lambda: files.write_numpy(path, cupy.asnumpy(theirs), durable=True)
    found = files.cached_write_rates(where, cached)
    rows = [row(f"GPU -> page cache, {size}", "GB/s", found, {"peer": "asnumpy, tofile", "at_least": 1.5})]
    durable |= files.at_every_depth("direct write", files.write_direct, path)
    written, limit = files.with_limit(files.rates(durable, NBYTES, turns=min(files.TURNS, 5)), "direct write")
    rows.append(files.limited_row(f"GPU -> disk, durable, {size}", written, limit, 0.95))
    rows.append(
        row(
            f"GPU -> disk, durable, {size}; tofile",
            "GB/s",
            written,
            {"peer": "asnumpy, tofile, fsync", "at_least": 1.0},
        )
    )
    return rows


def memory_row(path: Path) -> dict[str, Any]:
    """What the process grew by while a file went to the GPU, and back past the page cache."""
    target = via.empty((NBYTES,), "uint8", device=DEVICE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    files.evict(path)
    via.open(path).read(target)
    files.write_viaduct(path.with_name("back"), target, durable=True)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return row(f"memory for {NBYTES >> 20} MiB there and back", "MiB", {"viaduct": grown}, {"value_at_most": 128})


def rows() -> list[dict[str, Any]]:
    with files.folder() as where:
        path = where / "read"
        files.make_file(path, NBYTES)
        return [
            memory_row(path),
            *cached_rows(path),
            *cold_rows(path),
            *strided_rows(path),
            *column_rows(path),
            *write_rows(where),
        ]


if __name__ == "__main__":
    for found in rows():
        print(found)
