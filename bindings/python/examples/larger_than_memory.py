"""A file larger than memory, worked on by blocks on the GPU, and the results written to another one.

`python larger_than_memory.py [IN.npy OUT.npy]`; without files it makes one in a temporary folder. However large the file
is, the memory that it takes is that of four blocks, which is printed. Compared with the usual loop: numpy.memmap, a copy of each
slice to the GPU, the work, a copy back, one after the other. Without a GPU the blocks are host memory, worked on by NumPy.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import viaduct as via
from pointer_source import DEVICE, ON_GPU, optional, optional_on_gpu, say, say_where

COLUMNS = 1024
ROWS = 32 << 10  # 128 MiB
BLOCK_ROWS = 1 << 10


def work_of(numpy: ModuleType) -> tuple[str, Any]:
    """The library that does the arithmetic: CuPy on a GPU, else NumPy."""
    if not ON_GPU:
        return "NumPy", numpy
    cupy = optional_on_gpu("cupy", "CuPy", lambda cupy: cupy.is_available())
    return ("CuPy", cupy) if cupy is not None else ("nobody, so the blocks are copied as they are", None)


def make_file(path: Path) -> None:
    """0, 1, 2 ... in every column; by blocks too."""
    with via.open(path, "w", dtype="float32", shape=(ROWS, COLUMNS)) as file:
        block = via.empty((BLOCK_ROWS, COLUMNS), "float32")
        for start in range(0, ROWS, BLOCK_ROWS):
            for row in range(BLOCK_ROWS):
                block[row].fill(start + row)
            file[start : start + len(block)].write(block)


def by_viaduct(library: Any, source: Path, target: Path) -> None:
    """The next blocks arrive, and the results of the last leave, while one is worked on."""
    for block in via.stream_blocks(source, BLOCK_ROWS, DEVICE, output=target):
        if library is not None:
            values = library.from_dlpack(block.array)
            values *= 2
            values += 1
        block.write(block.array)


def in_the_usual_way(numpy: Any, library: Any, source: Path, target: Path) -> None:
    read = numpy.load(source, mmap_mode="r")
    written = numpy.lib.format.open_memmap(target, "w+", read.dtype, read.shape)
    for start in range(0, len(read), BLOCK_ROWS):
        values = library.asarray(read[start : start + BLOCK_ROWS]) * 2 + 1
        written[start : start + BLOCK_ROWS] = library.asnumpy(values) if ON_GPU else values
    written.flush()


def timed(name: str, run: Callable[[], None], nbytes: int) -> None:
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    say(f"  {name}: {nbytes >> 20} MiB read and written in {seconds:.2f} s")


def peak_memory() -> int:
    """The most that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def is_right(numpy: Any, source: Path, target: Path, changed: bool) -> bool:
    read, written = numpy.load(source, mmap_mode="r"), numpy.load(target, mmap_mode="r")
    rows = numpy.linspace(0, len(read) - 1, 9).astype(int)
    return bool(all((written[row] == (read[row] * 2 + 1 if changed else read[row])).all() for row in rows))


def run(source: Path, target: Path) -> None:
    numpy = optional("numpy", "NumPy")
    if numpy is None:
        return
    name, library = work_of(numpy)
    nbytes = source.stat().st_size
    say(f"  the arithmetic is done by {name}")
    before = peak_memory()
    timed("Viaduct, by blocks", lambda: by_viaduct(library, source, target), nbytes)
    say(f"  host memory that it took: {(peak_memory() - before) >> 20} MiB")
    say(f"  the results are {'right' if is_right(numpy, source, target, library is not None) else 'WRONG'}")
    if library is not None:
        timed("numpy.memmap, slice by slice", lambda: in_the_usual_way(numpy, library, source, target), nbytes)


def main() -> None:
    say_where("the blocks are host memory, and NumPy's arithmetic serves")
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.npy"
        make_file(source)
        run(source, Path(folder) / "out.npy")


if __name__ == "__main__":
    main()
