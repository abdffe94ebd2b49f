"""Files to and from host memory, beside NumPy and torch. GB/s; the parties take turns; medians.

Files lie in VIADUCT_BENCH_FOLDER, by default where temporary files do. A cold file is one whose pages were just dropped
from the page cache; the limit of cold reads and of durable writes is a direct reader or writer of this module's own, at
its best depth in the same run.
"""

from __future__ import annotations

import mmap
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
import viaduct as via
from bench_python import row

try:
    import torch
except ImportError:
    torch = None

NBYTES = int(os.environ.get("VIADUCT_BENCH_FILE_BYTES", str(1 << 30)))
TURNS = 7
DEPTHS = (1, 4, 8, 16, 32)
PIECE = 1 << 20

Call = Callable[[], Any]


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=os.environ.get("VIADUCT_BENCH_FOLDER"), prefix="viaduct-bench-") as name:
        yield Path(name)


def make_file(path: Path, nbytes: int) -> None:
    block = numpy.random.default_rng(1).integers(0, 256, 64 << 20, dtype=numpy.uint8)
    with path.open("wb") as file:
        for start in range(0, nbytes, block.nbytes):
            file.write(block[: nbytes - start])
        file.flush()
        os.fsync(file.fileno())


def evict(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def warm(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(64 << 20):
            pass


def rates(cases: dict[str, Call], nbytes: int, before: Call = lambda: None, turns: int = TURNS) -> dict[str, float]:
    """The median rate of every case, timed in turns; what a case returns is let go of outside of its time."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(turns):
        for name, call in cases.items():
            before()
            start = time.perf_counter()
            kept = call()
            times[name].append(time.perf_counter() - start)
            del kept
    return {name: nbytes / statistics.median(values) / 1e9 for name, values in times.items()}


# ------------------------------------------------------------------------------------------------ the disk alone


def direct_pieces(path: Path, flags: int, depth: int, move: Callable[[int, mmap.mmap, int], Any]) -> None:
    """Moves the whole file past the page cache, `depth` pieces at a time."""
    handle = os.open(path, flags | os.O_DIRECT)
    starts = iter(range(0, path.stat().st_size, PIECE))

    def work(_: int) -> None:
        buffer = mmap.mmap(-1, PIECE)
        for start in starts:
            move(handle, buffer, start)

    with ThreadPoolExecutor(depth) as pool:
        list(pool.map(work, range(depth)))
    os.close(handle)


def read_direct(path: Path, depth: int) -> None:
    direct_pieces(path, os.O_RDONLY, depth, lambda handle, buffer, start: os.preadv(handle, [buffer], start))


def write_direct(path: Path, depth: int) -> None:
    """A file made anew, its blocks set aside beforehand."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, NBYTES)
    direct_pieces(path, os.O_WRONLY, depth, lambda handle, buffer, start: os.pwritev(handle, [buffer], start))
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def at_every_depth(name: str, move: Callable[[Path, int], None], path: Path) -> dict[str, Call]:
    def at(depth: int) -> Call:
        return lambda: move(path, depth)

    return {f"{name} at depth {depth}": at(depth) for depth in DEPTHS}


def with_limit(found: dict[str, float], name: str) -> tuple[dict[str, float], float]:
    """What is left without the rates of the disk alone, and the best of these."""
    limits = [rate for case, rate in found.items() if case.startswith(name)]
    return {case: rate for case, rate in found.items() if not case.startswith(name)}, max(limits)


def limited_row(case: str, found: dict[str, float], limit: float, part: float) -> dict[str, Any]:
    made = row(case, "GB/s", found, {"limit_at_least": part})
    made["limit"] = limit
    return made


# --------------------------------------------------------------------------------------------------------- rows


def readers(path: Path, nbytes: int) -> dict[str, Call]:
    file = via.open(path)
    target = numpy.zeros(nbytes, numpy.uint8)
    cases: dict[str, Call] = {
        "viaduct": lambda: file.read(),
        "viaduct, same array": lambda: file.read(target),
        "np.fromfile": lambda: numpy.fromfile(path, numpy.uint8),
        "memmap, copied": lambda: numpy.array(numpy.memmap(path, numpy.uint8, "r")),
    }
    if torch is not None:
        cases["torch.from_file, cloned"] = lambda: torch.from_file(str(path), False, nbytes, dtype=torch.uint8).clone()
    return cases


def read_rows(path: Path) -> list[dict[str, Any]]:
    size = f"{NBYTES >> 20} MiB"
    warm(path)
    found = rates(readers(path, NBYTES), NBYTES)
    rows = [row(f"cached file -> new array, {size}", "GB/s", found, {"peer": "np.fromfile", "at_least": 1.3})]
    cases = {**readers(path, NBYTES), **at_every_depth("direct read", read_direct, path)}
    cold, limit = with_limit(rates(cases, NBYTES, before=lambda: evict(path)), "direct read")
    rows.append(limited_row(f"cold file -> new array, {size}", cold, limit, 0.9))
    return rows


def strided_rows(path: Path) -> list[dict[str, Any]]:
    """Every second column of the array gets what the file holds."""
    columns = 4096
    count = NBYTES // 2 // columns
    file = via.open(path)
    target = numpy.zeros((count, 2 * columns), numpy.uint8)
    half = numpy.memmap(path, numpy.uint8, "r")[: count * columns].reshape(count, columns)
    warm(path)
    found = rates(
        {
            "viaduct": lambda: file.read(target[:, ::2]),
            "memmap, copied": lambda: numpy.copyto(target[:, ::2], half),
        },
        count * columns,
    )
    return [row("cached file -> every second column", "GB/s", found, {"peer": "memmap, copied", "at_least": 1.0})]


def write_viaduct(path: Path, source: Any, **options: bool) -> None:
    with via.open(path, "w", dtype="uint8", shape=source.shape, **options) as file:
        file.write(source)


def write_numpy(path: Path, source: Any, durable: bool = False) -> None:
    with path.open("wb") as file:
        source.tofile(file)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def write_rows(where: Path) -> list[dict[str, Any]]:
    size = f"{NBYTES >> 20} MiB"
    source = numpy.ones(NBYTES, numpy.uint8)
    path = where / "written"
    cached = {"viaduct": lambda: write_viaduct(path, source), "tofile": lambda: write_numpy(path, source)}
    rows = [
        row(f"array -> page cache, {size}", "GB/s", rates(cached, NBYTES, turns=5), {"peer": "tofile", "at_least": 1.0})
    ]
    durable: dict[str, Call] = {
        "viaduct": lambda: write_viaduct(path, source, durable=True),
        "viaduct, atomic": lambda: write_viaduct(path, source, durable=True, atomic=True),
        "tofile and fsync": lambda: write_numpy(path, source, durable=True),
        **at_every_depth("direct write", write_direct, path),
    }
    found, limit = with_limit(rates(durable, NBYTES, turns=5), "direct write")
    rows.append(limited_row(f"array -> disk, durable, {size}", found, limit, 0.95))
    return rows


def rows() -> list[dict[str, Any]]:
    with folder() as where:
        path = where / "read"
        make_file(path, NBYTES)
        return [*read_rows(path), *strided_rows(path), *write_rows(where)]


if __name__ == "__main__":
    for found in rows():
        print(found)
