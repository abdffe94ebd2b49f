"""Files to and from host memory, next to NumPy and torch. GB/s; the parties take turns; medians.

Files lie in VIADUCT_BENCH_FOLDER, by default where temporary files do. A cold file is one whose pages were just dropped
from the page cache; the limit of cold reads and of durable writes is a direct reader or writer of this module's own
(bench_disk), at its best depth, of those in VIADUCT_BENCH_DEPTHS, in the same run.
"""

from __future__ import annotations

import ctypes
import functools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import viaduct as via
from bench_python import row

try:
    import torch
except ImportError:
    torch = None

NBYTES = int(os.environ.get("VIADUCT_BENCH_FILE_BYTES", str(1 << 30)))
TURNS = int(os.environ.get("VIADUCT_BENCH_TURNS", "7"))
COLD_TURNS = int(os.environ.get("VIADUCT_BENCH_COLD_TURNS", "7"))
DEPTHS = tuple(int(depth) for depth in os.environ.get("VIADUCT_BENCH_DEPTHS", "1 4 8 16 32").split())
PIECE = 1 << 20
HUGE_PAGE = 2 << 20
PAGE = 4096

Call = Callable[[], Any]


class Pieces(NamedTuple):
    """What is moved of a file: so many bytes at a time, from `first` on, `step` apart."""

    nbytes: int
    first: int
    step: int
    count: int


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


def have_memory() -> None:
    """As much as a case takes has just been in use. What nobody used for a second a virtual machine may give back to
    its host, and it costs whoever is next to want it up to 3 s of a core a GiB."""
    numpy.full(NBYTES, 1, numpy.uint8)


def begin_cold(path: Path) -> None:
    evict(path)
    have_memory()


def warm(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(64 << 20):
            pass


def rates(cases: dict[str, Call], nbytes: int, before: Call = lambda: None, turns: int = TURNS) -> dict[str, float]:
    """The median rate of every case, timed in turns; what a case returns is released outside of its time."""
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


@functools.cache
def disk() -> Any:
    return ctypes.CDLL(str(Path(os.environ["VIADUCT_BUILD_DIR"]) / "bench" / "bench_disk.so"))


def move_direct(path: Path, writes: bool, depth: int, pieces: Pieces, huge: bool = False) -> None:
    error = disk().move_direct(os.fsencode(path), int(writes), depth, int(huge), *map(ctypes.c_int64, pieces))
    if error:
        raise OSError(error, os.strerror(error), str(path))


def whole(nbytes: int, piece: int = PIECE) -> Pieces:
    return Pieces(piece, 0, piece, nbytes // piece)


def read_direct(path: Path, depth: int, pieces: Pieces | None = None) -> None:
    move_direct(path, False, depth, pieces or whole(path.stat().st_size))


def read_direct_into_huge_pages(path: Path, depth: int) -> None:
    """What is read goes nowhere else, so that a few buffers stay in the processor's cache."""
    move_direct(path, False, depth, whole(path.stat().st_size, HUGE_PAGE), huge=True)


def direct_readers(path: Path) -> dict[str, Call]:
    ordinary = at_every_depth("direct read", read_direct, path)
    return ordinary | at_every_depth("read into huge pages", read_direct_into_huge_pages, path)


def write_direct(path: Path, depth: int) -> None:
    """A file made anew, its blocks set aside beforehand."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, NBYTES)
    move_direct(path, True, depth, whole(NBYTES))


def at_every_depth(name: str, move: Callable[[Path, int], None], path: Path) -> dict[str, Call]:
    return {f"{name} at depth {depth}": functools.partial(move, path, depth) for depth in DEPTHS}


def with_limit(found: dict[str, float], name: str) -> tuple[dict[str, float], float]:
    """What is left without the rates of the disk alone, and the best of these."""
    limits = [rate for case, rate in found.items() if case.startswith(name)]
    return {case: rate for case, rate in found.items() if not case.startswith(name)}, max(limits)


def limited_row(case: str, found: dict[str, float], limit: float, part: float) -> dict[str, Any]:
    made = row(case, "GB/s", found, {"limit_at_least": part})
    made["limit"] = limit
    return made


def cold_rows(case: str, found: dict[str, float]) -> list[dict[str, Any]]:
    """Next to both readers of the disk."""
    found, limit = with_limit(found, "direct read")
    found, huge = with_limit(found, "read into huge pages")
    return [limited_row(case, found, limit, 0.9), limited_row(f"{case}; reader in huge pages", found, huge, 0.9)]


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
    found = rates(readers(path, NBYTES), NBYTES, before=have_memory)
    rows = [row(f"cached file -> new array, {size}", "GB/s", found, {"peer": "np.fromfile", "at_least": 1.3})]
    cases = {**readers(path, NBYTES), **direct_readers(path)}
    cold = rates(cases, NBYTES, before=lambda: begin_cold(path), turns=COLD_TURNS)
    return rows + cold_rows(f"cold file -> new array, {size}", cold)


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


class Columns(NamedTuple):
    """A block of a row-major file's columns: a page of each row, and not on the border of one."""

    path: Path
    rows: int
    row: int = 16384
    first: int = 1000
    count: int = 1024

    def window(self) -> via.File:
        whole = via.open(self.path, dtype="float32", shape=(self.rows, self.row))
        return whole[:, self.first : self.first + self.count]

    def mapped(self) -> Any:
        pages = numpy.memmap(self.path, numpy.float32, "r", shape=(self.rows, self.row))
        return pages[:, self.first : self.first + self.count]

    @property
    def nbytes(self) -> int:
        return self.rows * self.count * 4

    def pages(self) -> Pieces:
        start = self.first * 4 // PAGE * PAGE
        end = -(-(self.first + self.count) * 4 // PAGE) * PAGE
        return Pieces(end - start, start, self.row * 4, self.rows)

    def readers(self) -> dict[str, Call]:
        """The disk alone, at every depth, reads the pages that the block touches."""
        depths = [*DEPTHS, 2 * max(DEPTHS)]
        return {
            f"direct read at depth {depth}": functools.partial(read_direct, self.path, depth, self.pages())
            for depth in depths
        }


def columns_of(path: Path) -> Columns:
    return Columns(path, NBYTES // (Columns._field_defaults["row"] * 4))


def column_rows(path: Path) -> list[dict[str, Any]]:
    block = columns_of(path)
    window, target = block.window(), numpy.zeros((block.rows, block.count), numpy.float32)
    cases: dict[str, Call] = {
        "viaduct": lambda: window.read(target),
        "memmap, copied": lambda: numpy.copyto(target, block.mapped()),
    }
    return column_rows_of(block, cases, "array", "memmap, copied")


def column_rows_of(block: Columns, cases: dict[str, Call], where: str, peer: str) -> list[dict[str, Any]]:
    name = f"file -> {where}, {block.count} of {block.row} columns"
    warm(block.path)
    found = rates(cases, block.nbytes)
    rows = [row(f"cached {name}", "GB/s", found, {"peer": peer, "at_least": 5.0})]
    both = rates({**cases, **block.readers()}, block.nbytes, before=lambda: evict(block.path))
    cold, limit = with_limit(both, "direct read")
    rows.append(limited_row(f"cold {name}; its pages alone", cold, limit, 0.9))
    rows.append(row(f"cold {name}", "GB/s", cold, {"peer": peer, "at_least": 1.2}))
    return rows


def write_viaduct(path: Path, source: Any, **options: bool) -> None:
    with via.open(path, "w", dtype="uint8", shape=source.shape, **options) as file:
        file.write(source)


def write_numpy(path: Path, source: Any, durable: bool = False) -> None:
    with path.open("wb") as file:
        source.tofile(file)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def cached_write_rates(where: Path, cases: dict[str, Callable[[Path], None]]) -> dict[str, float]:
    """Each writes a file of its own: who cuts another's waits until the system, which began to, has written that out."""
    with tempfile.TemporaryDirectory(dir=where) as own:
        calls = {name: functools.partial(write, Path(own) / f"{i}") for i, (name, write) in enumerate(cases.items())}
        return rates(calls, NBYTES, turns=min(TURNS, 5))


def write_rows(where: Path) -> list[dict[str, Any]]:
    size = f"{NBYTES >> 20} MiB"
    source = numpy.ones(NBYTES, numpy.uint8)
    path = where / "written"
    found = cached_write_rates(
        where, {"viaduct": lambda own: write_viaduct(own, source), "tofile": lambda own: write_numpy(own, source)}
    )
    rows = [row(f"array -> page cache, {size}", "GB/s", found, {"peer": "tofile", "at_least": 1.0})]
    durable: dict[str, Call] = {
        "viaduct": lambda: write_viaduct(path, source, durable=True),
        "viaduct, atomic": lambda: write_viaduct(path, source, durable=True, atomic=True),
        "tofile and fsync": lambda: write_numpy(path, source, durable=True),
        **at_every_depth("direct write", write_direct, path),
    }
    found, limit = with_limit(rates(durable, NBYTES, turns=min(TURNS, 5)), "direct write")
    rows.append(limited_row(f"array -> disk, durable, {size}", found, limit, 0.95))
    return rows


def rows() -> list[dict[str, Any]]:
    with folder() as where:
        path = where / "read"
        make_file(path, NBYTES)
        return [*read_rows(path), *strided_rows(path), *column_rows(path), *write_rows(where)]


if __name__ == "__main__":
    for found in rows():
        print(found)
